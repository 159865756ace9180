#!/usr/bin/env bash
# Downloads the wheels of 100 popular Python packages by name with pip (about 220 MB, from the package index that pip is
# set up for) and runs `exhibit list` on each: ordinary archives by many writers. Prints every refused one with its
# codes, then how many were accepted; fails below 97. Not part of `cargo test`: it needs a network.
#
# usage: tests/peers/wheels.sh [FOLDER]    wheels are kept in FOLDER, and not fetched again where it has 100
# EXHIBIT names the binary; the default is target/release/exhibit.
set -euo pipefail

exhibit=$(realpath "${EXHIBIT:-$(dirname "$0")/../../target/release/exhibit}")
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"

names=(
    numpy pandas scipy requests urllib3 boto3 botocore setuptools wheel pip certifi idna charset-normalizer
    six python-dateutil typing-extensions packaging PyYAML s3transfer cryptography cffi pycparser attrs
    jmespath click MarkupSafe Jinja2 rsa pyasn1 protobuf grpcio google-api-core pytz tzdata colorama Pillow
    matplotlib contourpy scikit-learn joblib threadpoolctl Flask Werkzeug itsdangerous Django sqlparse
    SQLAlchemy greenlet psycopg2-binary pydantic pydantic-core annotated-types fastapi starlette uvicorn h11
    httpx httpcore anyio sniffio aiohttp multidict yarl frozenlist aiosignal pytest pluggy iniconfig tomli
    coverage mypy mypy-extensions black ruff flake8 isort pylint astroid rich pygments markdown-it-py mdurl
    tqdm filelock fsspec virtualenv distlib platformdirs lxml beautifulsoup4 soupsieve psutil jsonschema
    rpds-py ipython docutils Sphinx networkx sympy uv
)

if [ "$(find "$folder" -name '*.whl' | wc -l)" -lt 100 ]; then
    printf '%s\n' "${names[@]}" |
        xargs -n 10 pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d "$folder"
fi

cd "$folder"
"$exhibit" list --format json ./*.whl > listings.jsonl || true
python3 - <<'PYTHON'
import json
import sys

listings = [json.loads(line) for line in open("listings.jsonl")]
accepted = [listing for listing in listings if listing["verdict"] == "accept"]
for listing in listings:
    if listing["verdict"] != "accept":
        codes = sorted({finding["code"] for finding in listing["findings"]})
        print(listing["file"], " ".join(codes) or listing["error"])
print(f"{len(accepted)} of {len(listings)} accepted")
sys.exit(len(listings) < 100 or len(accepted) < 97)
PYTHON
