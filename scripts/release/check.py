#!/usr/bin/env python3
"""Checks that files load where the C library is old.   usage: check.py GLIBC FILE…

Fails where one needs a newer version of glibc's symbols, or a library that not every system has.
"""
import re
import subprocess
import sys

LIBRARIES = re.compile(r"lib(c|m|pthread|dl|rt|gcc_s)\.so\.\d+|ld-linux-[\w-]+\.so\.\d+")


def version(text):
    return tuple(int(part) for part in text.split("."))


def troubles(file, newest):
    told = subprocess.run(["objdump", "-p", file], capture_output=True, text=True, check=True).stdout
    for needed in re.findall(r"NEEDED\s+(\S+)", told):
        if not LIBRARIES.fullmatch(needed):
            yield f"needs {needed}"
    for found in sorted(set(re.findall(r"GLIBC_([\d.]+)", told)), key=version):
        if version(found) > version(newest):
            yield f"needs glibc {found}"


def main():
    newest, *files = sys.argv[1:]
    all_troubles = [f"{file}: {trouble}" for file in files for trouble in troubles(file, newest)]
    for trouble in all_troubles:
        print(f"release: {trouble}: it would not load on systems with glibc {newest}", file=sys.stderr)
    sys.exit(1 if all_troubles else 0)


main()
