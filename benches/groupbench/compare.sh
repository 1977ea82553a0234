#!/usr/bin/env bash
# Holds groupbench against other programs on the same two processors: a ping-pong in C (ping_pong.c), by nonblocking calls, as groupbench's are, and by blocking ones, and
# NetPIPE. Prints half the round trip in microseconds, twice: of single round trips, each after a barrier, and of 16 in a row, as NetPIPE does them. All of them are launched in turn,
# since one launch differs from the next by more than executions do; each number is the median of the launches with its 95 % interval, and = stands where the interval
# overlaps groupbench's. Each message of a pattern has memory of its own: 16 large ones fit no cache, so that they are left out in the second table. Needs Open MPI, netpipe-openmpi, and what was built before:
#   MPICC=mpicc.openmpi cargo build --release -p groupbench --target-dir target/groupbench/openmpi
# usage: benches/groupbench/compare.sh [LAUNCHES] [BYTES…]
set -euo pipefail
cd "$(dirname "$0")/../.."
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launches=${1:-11}
sizes=("${@:2}")
[ ${#sizes[@]} -gt 0 ] || sizes=(8 64 1024 8192 65536 262144 1048576 4194304)
trips=16
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpicc.openmpi -O2 -o "$work/ping_pong" benches/groupbench/ping_pong.c
mpi=(mpirun.openmpi --bind-to core --map-by core -n 2)
list=$(IFS=,; echo "${sizes[*]}")

# There and back are two steps that depend on each other.
there_and_back='rail:uni>rail:in'
in_a_row=$there_and_back
for _ in 1 2 3 4; do in_a_row="$in_a_row>$in_a_row"; done
groupbench() {
    "${mpi[@]}" target/groupbench/openmpi/release/groupbench run -g 1 --steps "$1" --bytes "$list" --max-time 1 --format csv --summary 2>/dev/null
}

for launch in $(seq "$launches"); do
    groupbench "$there_and_back" >"$work/groupbench.1.$launch"
    groupbench "$in_a_row" >"$work/groupbench.$trips.$launch"
    for count in 1 $trips; do
        "${mpi[@]}" "$work/ping_pong" nonblocking 1000 $count "${sizes[@]}" >"$work/C.$count.$launch"
        "${mpi[@]}" "$work/ping_pong" blocking 1000 $count "${sizes[@]}" >"$work/blocking.$count.$launch"
    done
    "${mpi[@]}" NPopenmpi -l 8 -u "${sizes[-1]}" -p 0 -o "$work/NetPIPE.$trips.$launch" >/dev/null 2>&1
done

python3 - "$work" "$launches" "$trips" "${sizes[@]}" <<'PYTHON'
import csv, math, sys

work, launches, trips, sizes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), [int(size) for size in sys.argv[4:]]


def times(program, count, launch, size):
    path = f"{work}/{program}.{count}.{launch}"
    if program == "groupbench":
        return [float(row["median_s"]) / 2 / count for row in csv.DictReader(open(path)) if int(row["bytes"]) == size]
    rows = [line.split() for line in open(path)]
    # The third column of NetPIPE's, which does not have every size.
    return [float(row[-1]) for row in rows if int(row[0]) == size]


def interval(values):
    """Median, and the order statistics that hold it with 95 %."""
    values = sorted(values)
    n = len(values)
    beyond, rank = 0.0, 0
    while rank < n // 2 and beyond + math.comb(n, rank) / 2**n <= 0.025:
        beyond += math.comb(n, rank) / 2**n
        rank += 1
    low, high = (values[rank - 1], values[n - rank]) if rank > 0 else (values[0], values[-1])
    return values[n // 2], low, high


for count, title in ((1, "single round trips"), (trips, f"{trips} round trips in a row")):
    programs = ["groupbench", "C", "blocking"] + (["NetPIPE"] if count > 1 else [])
    print(f"{title}\n{'bytes':>8}" + "".join(f" {name:>29}" for name in programs) + "  groupbench to C, blocking, NetPIPE")
    for size in (size for size in sizes if count == 1 or size <= 65536):
        line, ratios, ours = f"{size:8}", [], None
        for program in programs:
            values = [time for launch in range(1, launches + 1) for time in times(program, count, launch, size)]
            if not values:
                line += f" {'-':>29}"
                continue
            median, low, high = interval(values)
            ours = ours or (median, low, high)
            agrees = "=" if low <= ours[2] and high >= ours[1] else " "
            line += f"  {1e6 * median:8.2f} [{1e6 * low:7.2f}, {1e6 * high:7.2f}]{agrees}"
            ratios.append(ours[0] / median)
        print(line + "  " + " ".join(f"{ratio:.2f}" for ratio in ratios[1:]))
PYTHON
