#!/usr/bin/env bash
# Times exhibit beside other programs that read the same archives and folders, and prints medians and ratios.
#   benches/peers.sh [FOLDER]     FOLDER keeps the measured trees (default: a temporary one)
# Peers that are not installed are left out. Nothing is asserted: times on shared machines wobble.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${RUNS:-5}
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"

cargo build --release --locked --quiet
exhibit=$PWD/target/release/exhibit
[ -d "$folder/entries" ] || cargo bench --locked --quiet --bench generate -- "$folder" >/dev/null

# Median wall time in milliseconds of a command, over $runs runs after one to warm the page cache.
median() {
  "$@" >/dev/null 2>&1 || { echo failed; return; }
  for _ in $(seq "$runs"); do
    local start end
    start=$(date +%s%N)
    "$@" >/dev/null 2>&1
    end=$(date +%s%N)
    echo $(((end - start) / 1000000))
  done | sort -n | sed -n "$(((runs + 1) / 2))p"
}

row() {
  local what=$1 own=$2 bytes=$3 name=$4
  shift 4
  command -v "$1" >/dev/null || { printf '%-10s %-24s not installed\n' "$what" "$name"; return; }
  local took
  took=$(median "$@")
  if [ "$took" = failed ]; then printf '%-10s %-24s failed\n' "$what" "$name"; return; fi
  awk -v what="$what" -v name="$name" -v took="$took" -v own="$own" -v bytes="$bytes" 'BEGIN {
    if (took < 1) took = 1; if (own < 1) own = 1
    printf "%-10s %-24s %6d ms %8.0f MB/s   %5.2f x exhibit\n", what, name, took, bytes / 1e3 / took, took / own }'
}

sums() { (cd "$1" && sha256sum --quiet -c "$2"); }
export -f sums

printf '%s runs each, medians; peers inflate and check CRCs, exhibit also compares headers and hashes SHA-256\n' "$runs"
for tree in many few entries; do
  archive=$folder/$tree.zip
  bytes=$(du -sb --apparent-size "$folder/$tree" | cut -f1)
  own=$(median "$exhibit" list "$archive")
  row "$tree.zip" "$own" "$bytes" 'exhibit list' "$exhibit" list "$archive"
  row "$tree.zip" "$own" "$bytes" 'exhibit verify-export' "$exhibit" verify-export --inventory-only "$archive"
  row "$tree.zip" "$own" "$bytes" 'unzip -tqq' unzip -tqq "$archive"
  row "$tree.zip" "$own" "$bytes" '7z t' 7z t "$archive"
  row "$tree.zip" "$own" "$bytes" 'python3 zipfile -t' python3 -m zipfile -t "$archive"
  row "$tree.zip" "$own" "$bytes" 'bsdtar -xO' bsdtar -xOf "$archive"
  own=$(median "$exhibit" verify-export --inventory-only "$folder/$tree")
  row "$tree/" "$own" "$bytes" 'exhibit verify-export' "$exhibit" verify-export --inventory-only "$folder/$tree"
  [ -f "$folder/$tree.sums" ] ||
    (cd "$folder/$tree" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) >"$folder/$tree.sums"
  row "$tree/" "$own" "$bytes" 'sha256sum -c' bash -c 'sums "$@"' - "$folder/$tree" "$folder/$tree.sums"
done

printf '\npeak memory of exhibit verify-export --inventory-only\n'
for tree in many few entries; do
  for path in "$folder/$tree.zip" "$folder/$tree"; do
    command -v /usr/bin/time >/dev/null || continue
    /usr/bin/time -f '%M KiB' "$exhibit" verify-export --inventory-only "$path" 2>&1 >/dev/null | sed "s|^|$(basename "$path") |"
  done
done
