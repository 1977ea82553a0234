#!/usr/bin/env bash
# What needs a GPU: counts of the module for NCCL against the program's own, algorithms against NCCL's log, and what the module costs. Two
# processes on one GPU, NCCL over sockets. Ten minutes at most.   usage: tests/gpu.sh   (exit status 77: there is no GPU, nothing was tested)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
. scripts/ccl.sh

if ! command -v nvidia-smi >/dev/null 2>&1 || ! nvidia-smi -L >/dev/null 2>&1; then
    echo "SKIPPED: no NVIDIA GPU here. NOTHING WAS TESTED." >&2
    exit 77
fi
nvidia-smi -L
need mpicc.mpich libmpich-dev mpirun.mpich mpich || { say_how "$missing"; exit 1; }
fetch_ccl "$PWD/target/ccl"
nccl=$PWD/target/ccl/nccl-$nccl_version
cargo build --release
release=$PWD/target/release

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpicc.mpich -O2 -Wall -Wextra tests/programs/nccl_gpu.c -o "$work/nccl_gpu" "$nccl/libnccl.so.2" -Wl,-rpath,"$nccl" -ldl

# job NAME [VARIABLE=VALUE …]: two processes that look like two hosts to NCCL; standard output in NAME.out.
job() {
    local name=$1
    shift
    # shellcheck disable=SC2016 # each process's own
    env "$@" NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING NCCL_DEBUG_FILE="$work/$name.%p.log" \
        timeout 240 mpirun.mpich -n 2 sh -c 'NCCL_HOSTID=host$PMI_RANK exec "$0"' "$work/nccl_gpu" >"$work/$name.out"
}
profiled() { job "$1" LD_PRELOAD="$release/libcommsee.so:$release/libcommsee_nccl.so" COMMSEE_HOOKS=nccl COMMSEE_OUT="$work/$1.db" "${@:2}"; }

job alone
profiled counted
profiled kernels COMMSEE_NCCL=kernels

ask() { "$release/through" sql "$1" "$work/$2.db" --format csv | tail -n +2; }
status=0
expect() {
    if [ "$2" = "$3" ]; then echo "ok: $1"; else echo "FAILED: $1: wanted '$2', found '$3'" >&2; status=1; fi
}
sums="SELECT function || ' ' || sum(calls) || ' ' || sum(bytes) FROM transfers WHERE layer LIKE 'nccl%' AND role = 'message' AND function"
# Each rank makes 5 + 50 AllReduce of 8 sizes.
expect "calls of AllReduce" "ncclAllReduce 880" "$(ask "SELECT function || ' ' || sum(calls) FROM transfers WHERE layer = 'nccl' AND function = 'ncclAllReduce'" counted)"
expect "Broadcast" "ncclBroadcast 6 12000" "$(ask "$sums = 'ncclBroadcast'" counted)"
expect "AllGather" "ncclAllGather 4 3200" "$(ask "$sums = 'ncclAllGather'" counted)"
expect "Send" "ncclSend 2 2400" "$(ask "$sums = 'ncclSend'" counted)"
expect "Recv" "ncclRecv 2 2400" "$(ask "$sums = 'ncclRecv'" counted)"
expect "one communicator" "nccl:i0.0 2" "$(ask "SELECT comm || ' ' || size FROM communicators WHERE layer = 'nccl'" counted)"
expect "times of kernels" 880 "$(ask "SELECT sum(calls) FROM transfers WHERE layer = 'nccl-kernel' AND function = 'ncclAllReduce'" kernels)"
echo "algorithms that the plugin was told:"
ask "SELECT protocol || ' ' || sum(calls) FROM transfers WHERE layer = 'nccl' AND function = 'ncclAllReduce' GROUP BY protocol" counted
echo "algorithms in NCCL's log:"
grep -ho 'AllReduce.*Algo.*proto.*' "$work"/counted.*.log | sort | uniq -c | sort -rn | head -20 || true

echo "AllReduce, microseconds from the call to the end of its stream, and ratios to the run alone:"
printf '%12s %10s %8s %8s\n' bytes alone counted kernels
while read -r _ bytes alone; do
    of() { awk -v bytes="$bytes" '$1 == "us" && $2 == bytes { print $3 }' "$work/$1.out"; }
    awk -v bytes="$bytes" -v alone="$alone" -v counted="$(of counted)" -v kernels="$(of kernels)" \
        'BEGIN { printf "%12d %10.2f %8.3f %8.3f\n", bytes, alone, counted / alone, kernels / alone }'
done < <(grep '^us' "$work/alone.out")
exit $status
