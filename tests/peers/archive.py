"""Writes the current folder, or a part of it, to the ZIP named second, in the way named first."""

import os
import shutil
import sys
import zipfile

TWO = ["a.txt", "sub/numbers.txt"]


class Unseekable:
    """A file that can't go back: zipfile then writes data descriptors."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, data):
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def add_all(archive):
    for folder, folders, files in sorted(os.walk(".")):
        for name in sorted(folders + files):
            archive.write(os.path.join(folder, name))


def streamed_into(archive, name, **options):
    with open(name, "rb") as source, archive.open(name, "w", **options) as target:
        shutil.copyfileobj(source, target)


def main(way, path):
    deflated = zipfile.ZIP_DEFLATED
    if way == "stored":
        add_all(zipfile.ZipFile(path, "w"))
    elif way == "deflated":
        add_all(zipfile.ZipFile(path, "w", deflated))
    elif way == "strings":
        with zipfile.ZipFile(path, "w", deflated) as archive:
            for name in TWO:
                archive.writestr(name, open(name, "rb").read())
    elif way == "unseekable":
        with zipfile.ZipFile(Unseekable(path), "w", deflated) as archive:
            add_all(archive)
    elif way == "unseekable stored":
        with zipfile.ZipFile(Unseekable(path), "w") as archive:
            archive.write(TWO[0])
    elif way in ("zip64", "unseekable zip64"):
        with zipfile.ZipFile(path if way == "zip64" else Unseekable(path), "w", deflated) as archive:
            for name in TWO:
                streamed_into(archive, name, force_zip64=True)
    elif way == "comment":
        with zipfile.ZipFile(path, "w", deflated) as archive:
            archive.comment = "Ein schöner Kommentar".encode()
            for name in TWO:
                archive.write(name)
    elif way == "appended":
        with zipfile.ZipFile(path, "w", deflated) as archive:
            archive.write(TWO[0])
        with zipfile.ZipFile(path, "a", deflated) as archive:
            archive.write(TWO[1])
    elif way == "empty":
        zipfile.ZipFile(path, "w").close()
    elif way == "make_archive":
        shutil.make_archive(path, "zip", ".")
        os.rename(path + ".zip", path)
    elif way == "bzip2":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
            archive.write(TWO[1])
    else:
        with zipfile.ZipFile(path, "w") as archive:
            for number in range(int(way)):
                archive.writestr(f"{number}", "")


main(sys.argv[1], sys.argv[2])
