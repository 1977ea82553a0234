# Sourced by ./test: mpi4py from source, once for each MPI library, with the tests that come with it.

# A version whose tests run under MPI 3.1 and 4.0, and with Python 3.11.
mpi4py_version=4.0.3

# source_of PACKAGE -d FOLDER: its source. pip asks for its metadata, and mpi4py compiles its one large file for that: which takes
# 20 seconds without optimization, and many minutes with.
source_of() { CFLAGS="-O0 -g0" python3 -m pip download -q --no-deps --no-binary :all: "$@"; }

# is_linked_with MPI FOLDER: whether mpi4py is there, and needs that library.
is_linked_with() {
    case $1 in openmpi) library=libmpi.so ;; mpich) library=libmpich.so ;; esac
    grep -qF "$library" "$2"/MPI.*.so 2>/dev/null
}

# build_mpi4py FOLDER MPI…: what is missing of FOLDER/source and FOLDER/MPI is made; fails where it cannot be had.
build_mpi4py() (
    folder=$1
    shift
    mkdir -p "$folder"
    if [ ! -d "$folder/source" ]; then
        new=$(mktemp -d)
        trap 'rm -rf "$new"' EXIT
        source_of "mpi4py==$mpi4py_version" -d "$new" &&
            tar xf "$new/mpi4py-$mpi4py_version.tar.gz" -C "$new" &&
            mv "$new/mpi4py-$mpi4py_version" "$folder/source" || return 1
    fi
    # Also of those that are not asked for: tests take what is there.
    for mpi in openmpi mpich; do
        is_linked_with "$mpi" "$folder/$mpi/mpi4py" || rm -rf "${folder:?}/$mpi"
    done
    for mpi; do
        [ -d "$folder/$mpi" ] && continue
        # What was built for another library would be taken for built.
        rm -rf "${folder:?}/source/build"
        CFLAGS="-O0 -g0" MPICC=mpicc.$mpi python3 -m pip install -q --no-deps --no-cache-dir \
            --target "$folder/$mpi" "$folder/source" || return 1
    done
)

# What everybody installs today: one file for all MPI libraries, which asks each of them what it has.
mpi4py_wheel_version=4.1.2

# fetch_mpi4py_wheel FOLDER: FOLDER/mpi4py, and its tests in FOLDER/test; fails where they cannot be had.
fetch_mpi4py_wheel() (
    folder=$1
    [ -d "$folder/test" ] && return
    new=$(mktemp -d)
    trap 'rm -rf "$new"' EXIT
    python3 -m pip download -q --no-deps -d "$new" --only-binary :all: "mpi4py==$mpi4py_wheel_version" &&
        source_of "mpi4py==$mpi4py_wheel_version" -d "$new" &&
        python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])' "$new"/mpi4py-*.whl "$new/wheel" &&
        tar xf "$new/mpi4py-$mpi4py_wheel_version.tar.gz" -C "$new" || return 1
    rm -rf "$folder"
    mkdir -p "$folder"
    mv "$new/wheel/mpi4py" "$folder/mpi4py" && mv "$new/mpi4py-$mpi4py_wheel_version/test" "$folder/test"
)
