#!/usr/bin/env bash
# The inputs of the fuzz targets are one archive, corpus.tar.gz; fuzzers work on its folder.   usage: fuzz/corpus.sh unpack|pack
set -euo pipefail
cd "$(dirname "$0")"

case "${1-}" in
    unpack) tar -xzf corpus.tar.gz ;;
    # The same inputs give the same bytes, whoever packs them and when.
    pack) tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=a=rX,u+w --format=ustar -cf - corpus | gzip -9n > corpus.tar.gz ;;
    *) echo "usage: fuzz/corpus.sh unpack|pack" >&2; exit 2 ;;
esac
