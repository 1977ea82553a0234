#!/usr/bin/env python3
"""Packs an installation of commsee as a wheel.   usage: wheel.py ROOT VERSION ARCH OUT

The same installation gives the same wheel, bit by bit: files are sorted, and have the time of SOURCE_DATE_EPOCH. `pip` puts `through` into
`bin` and the libraries into `lib` beside it, where `through` looks for them.
"""
import base64
import hashlib
import os
import pathlib
import stat
import sys
import time
import zipfile

SOURCES = pathlib.Path(__file__).parents[2]
# Of an installation, where it goes: a wheel's scheme, and what of the path is kept below it.
SCHEMES = [("bin/", "scripts/", ""), ("lib/", "data/", "lib/"), ("include/", "data/", "include/"), ("share/", "data/", "share/")]
LEFT_OUT = ("lib/libcommsee.a", "share/commsee/", "share/doc/", "share/modulefiles/", "lib/pkgconfig/")

METADATA = """Metadata-Version: 2.1
Name: commsee
Version: {version}
Summary: Profiles MPI programs by communicator, without a rebuild
License: MIT OR Apache-2.0
License-File: LICENSE-APACHE
License-File: LICENSE-MIT
Keywords: MPI,profiler,HPC,communicator,NCCL,UCX
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: System :: Benchmark
Requires-Python: >=3.8
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Description-Content-Type: text/markdown

{readme}"""


def files_of(root):
    """Names in the wheel, with contents and whether they may be executed."""
    package = "commsee-{version}"
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        name = path.relative_to(root).as_posix()
        if name.startswith(LEFT_OUT):
            continue
        for begin, scheme, below in SCHEMES:
            if name.startswith(begin):
                executable = bool(path.stat().st_mode & stat.S_IXUSR)
                yield f"{package}.data/{scheme}{below}{name[len(begin):]}", path.read_bytes(), executable
    for path in sorted((SOURCES / "python/commsee").glob("*.py")):
        yield f"commsee/{path.name}", path.read_bytes(), False


def main():
    root, version, arch, out = sys.argv[1:]
    tag = f"py3-none-manylinux2014_{arch}"
    readme = (SOURCES / "README.md").read_text()
    wheel = f"Wheel-Version: 1.0\nGenerator: commsee\nRoot-Is-Purelib: false\nTag: {tag}\n"
    info = f"commsee-{version}.dist-info"
    files = [(name.format(version=version), data, executable) for name, data, executable in files_of(pathlib.Path(root))]
    files += [(f"{info}/{name}", (SOURCES / name).read_bytes(), False) for name in ("LICENSE-APACHE", "LICENSE-MIT")]
    files.append((f"{info}/METADATA", METADATA.format(version=version, readme=readme).encode(), False))
    files.append((f"{info}/WHEEL", wheel.encode(), False))
    record = []
    for name, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}\n")
    record.append(f"{info}/RECORD,,\n")
    files.append((f"{info}/RECORD", "".join(record).encode(), False))
    date = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]
    path = pathlib.Path(out) / f"commsee-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data, executable in files:
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
            archive.writestr(entry, data)
    print(path)


main()
