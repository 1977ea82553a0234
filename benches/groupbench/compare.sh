#!/usr/bin/env bash
# Holds groupbench against other programs on the same two processors: NetPIPE, and a ping-pong in C (ping_pong.c), by nonblocking calls, as groupbench's are, and
# by blocking ones. Prints half the round trip by each, in microseconds, groupbench's with its interval, and the ratios. Needs Open MPI, netpipe-openmpi, and what was built before:
#   MPICC=mpicc.openmpi cargo build --release -p groupbench --target-dir target/groupbench/openmpi
# usage: benches/groupbench/compare.sh [REPETITIONS]
set -euo pipefail
cd "$(dirname "$0")/../.."
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpicc.openmpi -O2 -o "$work/ping_pong" benches/groupbench/ping_pong.c
launch=(mpirun.openmpi --bind-to core --map-by core -n 2)
sizes=(8 64 1024 8192 65536 262144 1048576 4194304)
list=$(IFS=,; echo "${sizes[*]}")

for repetition in $(seq "${1:-3}"); do
    # There and back are two steps that depend on each other.
    "${launch[@]}" target/groupbench/openmpi/release/groupbench run -g 1 --steps 'rail:uni>rail:in' --bytes "$list" --max-time 1 \
        --format csv --summary 2>/dev/null >"$work/groupbench.$repetition"
    "${launch[@]}" "$work/ping_pong" nonblocking 1000 "${sizes[@]}" >"$work/c.$repetition"
    "${launch[@]}" "$work/ping_pong" blocking 1000 "${sizes[@]}" >"$work/blocking.$repetition"
    "${launch[@]}" NPopenmpi -l 8 -u 4194304 -p 0 -o "$work/netpipe.$repetition" >/dev/null 2>&1
done

python3 - "$work" "${1:-3}" "${sizes[@]}" <<'PYTHON'
import csv, statistics, sys
work, repetitions, sizes = sys.argv[1], int(sys.argv[2]), [int(size) for size in sys.argv[3:]]
ours, c, blocking, netpipe = {}, {}, {}, {}
for repetition in range(1, repetitions + 1):
    for row in csv.DictReader(open(f"{work}/groupbench.{repetition}")):
        half = [float(row[name]) / 2 for name in ("ci_lo_s", "median_s", "ci_hi_s")]
        ours.setdefault(int(row["bytes"]), []).append(half)
    for name, times in (("c", c), ("blocking", blocking)):
        for line in open(f"{work}/{name}.{repetition}"):
            size, seconds = line.split()
            times.setdefault(int(size), []).append(float(seconds))
    for line in open(f"{work}/netpipe.{repetition}"):
        size, _, seconds = line.split()[:3]
        netpipe.setdefault(int(size), []).append(float(seconds))
print(f"{'bytes':>8} {'groupbench':>11} {'from':>9} {'to':>9} {'C':>9} {'blocking':>9} {'NetPIPE':>9} {'/ C':>6} {'/ blocking':>11} {'/ NetPIPE':>10}")
for size in sizes:
    low, median, high = (statistics.median(values) for values in zip(*ours[size]))
    other, waiting = statistics.median(c[size]), statistics.median(blocking[size])
    near = min(netpipe, key=lambda at: abs(at - size)) if netpipe else None
    pipe = statistics.median(netpipe[near]) if near and abs(near - size) <= 0.1 * size else float("nan")
    micro = [1e6 * value for value in (median, low, high, other, waiting, pipe)]
    print(f"{size:8} {micro[0]:11.2f} {micro[1]:9.2f} {micro[2]:9.2f} {micro[3]:9.2f} {micro[4]:9.2f} {micro[5]:9.2f} {median / other:6.2f} {median / waiting:11.2f} {median / pipe:10.2f}")
PYTHON
