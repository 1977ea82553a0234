#!/usr/bin/env bash
# Draws the pictures of the documentation anew, from real runs: docs/pictures/. Needs MPI and Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$browser" ] || { echo "pictures: no Chromium was found; on Debian: apt-get install chromium" >&2; exit 1; }
mpicc=$(command -v mpicc.openmpi || command -v mpicc) mpirun=$(command -v mpirun.openmpi || command -v mpirun)
options=()
case "$("$mpirun" --version 2>&1)" in
    *"Open MPI"* | *OpenRTE* | *PRRTE*) options=(--oversubscribe --mca mpi_yield_when_idle 1) ;;
esac

cargo build --release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
through=$PWD/target/release/through out=$PWD/docs/pictures examples=$PWD/examples
mkdir -p "$out"
cd "$work"

"$mpicc" -O2 -g -o clouds "$examples/clouds.c"
"$through" run -o clouds.db -- "$mpirun" -n 4 "${options[@]}" ./clouds
"$through" report clouds.db -o clouds.html

# picture FILE PAGE WIDTH HEIGHT
picture() {
    # As root it cannot have a sandbox.
    "$browser" --headless --no-sandbox --hide-scrollbars --force-device-scale-factor=1 --window-size="$3,$4" \
        --virtual-time-budget=5000 --user-data-dir="$work/browser" --screenshot="$work/$1" "file://$work/$2" 2>/dev/null
    cp "$work/$1" "$out/$1"
}
picture report.png clouds.html 1280 1240
