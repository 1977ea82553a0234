#!/usr/bin/env bash
# What needs a GPU: what the modules for GPUs and for NCCL count against what programs know that they did, algorithms against NCCL's log, what
# groupbench moves between GPUs, where libclang is there to build it, and what the modules cost. Processes may share one GPU; NCCL goes over sockets. Two minutes.
#
#   tests/gpu.sh                  builds and tests here; exit status 77: there is no GPU, nothing was tested
#   tests/gpu.sh --pack FOLDER    puts what is built into FOLDER, for a node without network or compilers: FOLDER/gpu.sh tests there
#
# MPICC (mpicc.mpich) builds, MPIRUN (mpirun.mpich) starts; NCCL names the folder of libnccl.so.2, else one is fetched. KEEP names a new folder for what
# the runs leave. AWARE names the folder of a UCX that knows CUDA, such as that of the wheel libucx-cu12: MPICH over it is given a GPU's memory, too. recorder.c says how tests/inputs/nccl/ was recorded, with the same program.
set -euo pipefail
own=$(cd "$(dirname "$0")" && pwd)

pack() {
    local folder
    mkdir -p "$1"
    folder=$(cd "$1" && pwd)
    set -- "$folder"
    cd "$own/.."
    . scripts/packages.sh
    . scripts/ccl.sh
    . scripts/groupbench.sh
    if [ -z "${MPICC-}" ]; then
        need mpicc.mpich libmpich-dev mpirun.mpich mpich || { say_how "$missing"; exit 1; }
    fi
    if [ -z "${NCCL-}" ]; then
        fetch_ccl "$PWD/target/ccl"
        NCCL=$PWD/target/ccl/nccl-$nccl_version
    fi
    cargo build --release
    cp target/release/lib{commsee,commsee_gpu,commsee_nccl,commsee_ucx}.so target/release/through tests/gpu.sh "$1"
    "${MPICC:-mpicc.mpich}" -O2 -Wall -Wextra tests/programs/nccl_gpu.c -o "$1/nccl_gpu" "$NCCL/libnccl.so.2" -ldl
    "${MPICC:-mpicc.mpich}" -O2 -Wall -Wextra tests/programs/gpu_copies.c -o "$1/gpu_copies" -ldl -lpthread
    "${MPICC:-mpicc.mpich}" -O2 -Wall -Wextra tests/programs/gpu_aware.c -o "$1/gpu_aware" -ldl
    if has_libclang; then
        MPICC=${MPICC:-mpicc.mpich} cargo build --release -p groupbench --target-dir target/groupbench/gpu
        cp target/groupbench/gpu/release/groupbench "$1"
    fi
    local version
    for version in 4 5 6; do
        cc -O2 -Wall -Wextra -DVERSION=$version -shared -fPIC tests/programs/recorder.c -o "$1/librecorder$version.so"
    done
}

if [ "${1-}" = --pack ]; then
    pack "$2"
    exit
fi
if ! command -v nvidia-smi >/dev/null 2>&1 || ! nvidia-smi -L >/dev/null 2>&1; then
    echo "SKIPPED: no NVIDIA GPU here. NOTHING WAS TESTED." >&2
    exit 77
fi
nvidia-smi -L
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ ! -e "$own/nccl_gpu" ]; then
    pack "$work"
    own=$work
elif [[ $own == *[\ :]* ]]; then
    # LD_PRELOAD is split there.
    ln -s "$own" "$work/packed"
    own=$work/packed
fi
[ -z "${NCCL-}" ] || export LD_LIBRARY_PATH=$NCCL${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
keep=${KEEP:-$work}
mkdir -p "$keep"

# job NAME RANKS [VARIABLE=VALUE …] -- PROGRAM ARGUMENTS: processes that look like hosts to NCCL; standard output in NAME.out.
job() {
    local name=$1 ranks=$2 variables=()
    shift 2
    while [ "$1" != -- ]; do variables+=("$1"); shift; done
    local program=$own/$2
    shift 2
    # shellcheck disable=SC2016 # each process's own
    env "${variables[@]}" NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING NCCL_DEBUG_FILE="$keep/$name.%p.log" \
        timeout 60 "${MPIRUN:-mpirun.mpich}" -n "$ranks" sh -c 'NCCL_HOSTID=host$PMI_RANK exec "$@"' sh "$program" "$@" >"$keep/$name.out"
}
# counted MODULES NAME RANKS …: the same with modules.
counted() {
    local modules=$1 name=$2 ranks=$3 module preload=$own/libcommsee.so
    shift 3
    for module in ${modules//,/ }; do preload+=:$own/libcommsee_$module.so; done
    job "$name" "$ranks" LD_PRELOAD="$preload" COMMSEE_HOOKS="$modules" COMMSEE_OUT="$keep/$name.db" "$@"
}
ask() { "$own/through" sql "$1" "$keep/$2.db" --format csv | tail -n +2; }

status=0
fail() { echo "FAILED: $*" >&2; status=1; }
# same WHAT WANTED FOUND, files.
same() {
    if [ ! -s "$2" ]; then
        fail "$1: there is nothing to compare with"
    elif diff "$2" "$3" >"$keep/difference"; then
        echo "ok: $1 ($(wc -l <"$2") rows)"
    else
        fail "$1: < is wanted, > is what the profile has"
        head -40 "$keep/difference" >&2
    fi
}
# check NAME QUERY: the rows of a run, but for calls and bytes, against what its program has told.
check() {
    cat "$keep/$1".truth.* | awk -F'|' '{ bytes = $NF; sub(/[|][^|]*$/, ""); calls[$0]++; sums[$0] += bytes }
        END { for (key in calls) printf "%s|%d|%.0f\n", key, calls[key], sums[key] }' | sort >"$keep/$1.wanted"
    ask "$2" "$1" | sort >"$keep/$1.found"
    same "$1" "$keep/$1.wanted" "$keep/$1.found"
}
of_nccl="SELECT coalesce(layer_comm, '-') || '|' || layer || '|' || function || '|' || coalesce(scope, '') || '|' || src || '|' || coalesce(dst, '-') || '|' ||
         sum(calls) || '|' || sum(bytes) FROM transfers WHERE layer IN ('nccl', 'nccl-rx') GROUP BY layer_comm, layer, function, scope, src, dst"
of_gpu="SELECT coalesce(comm, '-') || '|' || coalesce(op, '-') || '|' || function || '|' || protocol || '|' || sum(calls) || '|' || sum(bytes)
        FROM transfers WHERE layer = 'gpu' GROUP BY comm, op, function, protocol"

for ranks in 2 3; do
    job "copies-alone$ranks" $ranks -- gpu_copies counts "$keep/copies-alone$ranks" || fail "gpu_copies without commsee, $ranks ranks"
    counted gpu "copies$ranks" $ranks -- gpu_copies counts "$keep/copies$ranks.truth" && check "copies$ranks" "$of_gpu" || fail "copies, $ranks ranks"
    job "alone$ranks" $ranks -- nccl_gpu counts "$keep/alone$ranks" || fail "nccl_gpu without commsee, $ranks ranks"
    counted nccl "counts$ranks" $ranks -- nccl_gpu counts "$keep/counts$ranks.truth" && check "counts$ranks" "$of_nccl" || fail "counts, $ranks ranks"
    counted nccl "past$ranks" $ranks -- nccl_gpu past "$keep/past$ranks.truth" && check "past$ranks" "$of_nccl" || fail "past, $ranks ranks"
done
counted gpu,nccl all 2 COMMSEE_NCCL=kernels,proxies COMMSEE_TRACE=1 -- nccl_gpu counts "$keep/all.truth" && check all "$of_nccl" || fail "all modules"

# Each message is copied once between the two, or to memory of the host and from there: in the calls that are given it, and all else outside of them.
if [ -n "${AWARE-}" ]; then
    aware=(LD_LIBRARY_PATH="$AWARE${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ucx)
    messages=$((3 * 5 * (8 + 64 + 512 + 4096 + 32768 + 262144 + 2097152)))
    printf '%s\n' "W0.0|DtoD|$messages" >"$keep/between.wanted"
    printf '%s\n' "W0.0|DtoH|$messages" "W0.0|HtoD|$messages" >"$keep/staged.wanted"
    of_program="SELECT '-|-|' || function || '|' || protocol || '|' || sum(calls) || '|' || sum(bytes)
                FROM transfers WHERE layer = 'gpu' AND op = '-' GROUP BY function, protocol"
    of_library="SELECT comm || '|' || function || '|' || sum(bytes) FROM transfers WHERE layer = 'gpu' AND op <> '-' GROUP BY comm, function"
    by_route="comm || '|' || op || '|' || src || '|' || dst || '|' || sum(calls) || '|' || sum(bytes)"
    for way in between staged; do
        with=("${aware[@]}")
        [ $way = between ] || with+=(UCX_TLS=^cuda_ipc)
        job aware-alone 2 "${with[@]}" -- gpu_aware "$keep/aware-alone" || fail "gpu_aware without commsee, $way"
        for modules in gpu gpu,ucx; do
            name=aware-$way-${modules/,/-}
            counted $modules "$name" 2 "${with[@]}" -- gpu_aware "$keep/$name.truth" && check "$name" "$of_program" || fail "gpu_aware with $modules, $way"
            ask "$of_library" "$name" | sort >"$keep/$name.library"
            same "$name, in MPI calls" "$keep/$way.wanted" "$keep/$name.library"
            if [ $modules = gpu,ucx ]; then
                ask "SELECT $by_route FROM matrix GROUP BY comm, op, src, dst" "$name" | sort >"$keep/$name.wanted"
                ask "SELECT $by_route FROM transfers WHERE layer = 'ucp' AND op <> '-' AND function NOT LIKE '%flush%' GROUP BY comm, op, src, dst" \
                    "$name" | sort >"$keep/$name.found"
                same "$name, messages of UCX" "$keep/$name.wanted" "$keep/$name.found"
            fi
            found=$("$own/through" advise "$keep/$name.db" --format json | grep -c staged-gpu-messages || true)
            [ "$way $found" = "staged 1" ] || [ "$way $found" = "between 0" ] || fail "$name: through advise finds staged messages $found times"
        done
    done
fi

# Contents are checked by groupbench itself: status 1, bytes arrived wrong. An MPI library that is not CUDA-aware is given no memory of a GPU.
benched() { # NAME RANKS ROWS LEFT-OUT OPTION…
    local name=$1 ranks=$2 rows=$3 left=$4 found
    shift 4
    if job "$name" "$ranks" "${over[@]}" -- groupbench run --bytes 8,1000,64K,4M --max-reps 20 --format csv --summary "$@" 2>"$keep/$name.err"; then
        found="$(($(wc -l <"$keep/$name.out") - 1)) rows, $(grep -c 'left out:' "$keep/$name.err" || true) left out"
        [ "$found" = "$rows rows, $left left out" ] && echo "ok: $name ($found)" && return
    fi
    fail "$name: wanted $rows rows, $left left out: $(cat "$keep/$name.out" "$keep/$name.err")"
}
over=()
if [ -e "$own/groupbench" ]; then
    benched bench-nccl 2 20 0 -g 1 --library nccl --family rail,dense,self --direction uni,omni
    benched bench-presets 3 12 0 -g 1 --library nccl --preset allreduce-ring,halo,particles
    benched bench-mixed 4 4 16 -g 2 --library nccl,nccl/twosided,shared/nccl,nccl/shared,nccl/alltoall --stripe
    benched bench-aware 2 4 16 -g 1 --library nccl,twosided@gpu,put@gpu,alltoallv@gpu,shared@gpu
    if [ -n "${AWARE-}" ]; then
        over=("${aware[@]}")
        benched bench-over-ucx 2 12 0 -g 1 --library twosided@gpu,put@gpu,alltoallv@gpu --cuda-aware
        benched bench-groups-over-ucx 4 4 0 -g 2 --library nccl/twosided --cuda-aware
    fi
fi

repetitions=30
job alone 2 -- nccl_gpu times $repetitions
counted nccl counted 2 -- nccl_gpu times $repetitions
counted nccl kernels 2 COMMSEE_NCCL=kernels -- nccl_gpu times $repetitions
counted nccl proxies 2 COMMSEE_NCCL=proxies -- nccl_gpu times $repetitions
job again 2 -- nccl_gpu times $repetitions
calls=$((2 * (8 * (5 + repetitions) + 2000)))
echo "ncclAllReduce|$calls" >"$keep/wanted"
ask "SELECT concat_ws('|', function, sum(calls)) FROM transfers WHERE layer = 'nccl-kernel' GROUP BY function" kernels >"$keep/found"
same "times of kernels" "$keep/wanted" "$keep/found"

# Rank 0's log has a line for each call.
sed -n 's/.*AllReduce: [0-9]* Bytes -> Algo \(.*\) proto \(.*\) channel{Lo..Hi}={\(.*\)[.][.]\(.*\)}.*/\1 \2 \3 \4/p' "$keep"/counted.*.log |
    awk '{ calls[$1 "/" $2 " x" $4 - $3 + 1] += 2 } END { for (how in calls) print how "|" calls[how] }' | sort >"$keep/wanted"
ask "SELECT protocol || '|' || sum(calls) FROM transfers WHERE layer = 'nccl' AND function = 'ncclAllReduce' GROUP BY protocol" counted | sort >"$keep/found"
same "algorithms, as in NCCL's log" "$keep/wanted" "$keep/found"
# A ring of two ranks sends each byte once; LL sends a flag with each word.
ask "SELECT src || '|' || protocol || '|' || (sum(bytes) * CASE WHEN protocol LIKE '%/LL %' THEN 2 ELSE 1 END) FROM transfers
     WHERE layer = 'nccl' AND function = 'ncclAllReduce' GROUP BY src, protocol" proxies | sort >"$keep/wanted"
ask "SELECT src || '|' || protocol || '|' || sum(bytes) FROM transfers WHERE layer = 'nccl-proxy' GROUP BY src, protocol" proxies | sort >"$keep/found"
same "bytes that proxies sent" "$keep/wanted" "$keep/found"

echo "AllReduce, microseconds from the call to the end of its stream, ratios to the run alone, and microseconds of its kernel:"
printf '%12s %10s %8s %8s %8s %8s %10s\n' bytes alone again counted kernels proxies kernel
while read -r what bytes alone; do
    [ "$what" = enqueue ] && alone=$bytes
    of() { awk -v what="$what" -v bytes="$bytes" '$1 == what && (what == "enqueue" || $2 == bytes) { print $NF }' "$keep/$1.out"; }
    kernel=$(ask "SELECT round(1e6 * sum(time_s) / sum(calls), 2) FROM transfers WHERE layer = 'nccl-kernel' AND bucket_lo <= $bytes
                  AND bucket_hi > $bytes" kernels 2>/dev/null || true)
    awk -v what="$what" -v bytes="$bytes" -v alone="$alone" -v again="$(of again)" -v counted="$(of counted)" -v kernels="$(of kernels)" \
        -v proxies="$(of proxies)" -v kernel="$kernel" \
        'BEGIN { printf "%12s %10.2f %8.3f %8.3f %8.3f %8.3f %10s\n", what == "us" ? bytes : "ns a call", alone, again / alone,
                 counted / alone, kernels / alone, proxies / alone, what == "us" ? kernel : "" }'
done <"$keep/alone.out"
for run in alone counted again; do
    case $run in
    counted) counted gpu "copy-$run" 1 -- gpu_copies times 50 ;;
    *) job "copy-$run" 1 -- gpu_copies times 50 ;;
    esac
    echo "nanoseconds of a copy of 4 KiB, $run: $(cat "$keep/copy-$run.out")"
done
exit $status
