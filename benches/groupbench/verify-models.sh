#!/usr/bin/env bash
# Holds the models of bandwidth against truths that are known: four hosts, which are namespaces of this machine, each with one network interface that `tc`
# limits to RATE. Which ranks of a group share a host is chosen, so the model that `through bench model` must find is known, and so is f: RATE less the
# headers of TCP. Needs root, iproute2, Open MPI, and what was built before:
#   cargo build --release; MPICC=mpicc.openmpi cargo build --release -p groupbench --target-dir target/groupbench/openmpi
set -euo pipefail
cd "$(dirname "$0")/../.."
rate=${RATE:-200mbit}
top=$PWD
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

if [ "${1-}" = --inside ]; then
    for host in 1 2 3 4; do vssh "node$host" "tc qdisc add dev eth0 root tbf rate $rate burst 64kb latency 200ms"; done
    # Ranks 0 and 1 are on node1, 2 and 3 on node2, and so on: a group has two hosts.
    measure() { # NAME GROUP GROUP
        printf '%s\n' "$2" "$3" >"$VC_STATE/groups"
        mpirun.openmpi --mca plm_rsh_agent vssh --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 \
            --mca oob_tcp_if_include 10.77.0.0/24 --mca mpi_yield_when_idle 1 --oversubscribe -H node1:2,node2:2,node3:2,node4:2 -n 8 \
            "$top/target/groupbench/openmpi/release/groupbench" run --groups "$VC_STATE/groups" --family rail -k 1: --bytes 512K \
            --reps 8 --warm-up 2 -o "$VC_STATE/$1.db" >/dev/null
        echo
        echo "$1, f = $rate:"
        "$top/target/release/through" bench model "$VC_STATE/$1.db" --format csv | cut -d, -f8-
    }
    measure packed-2 0,1,2,3 4,5,6,7
    measure round-robin-2 0,2,1,3 4,6,5,7
    measure bijective 0,2 4,6
else
    exec tests/cluster/vcluster.sh 4 benches/groupbench/verify-models.sh --inside
fi
