# Sourced by ./test: mpi4py from source, once for each MPI library, with the tests that come with it.

# A version whose tests run under MPI 3.1 and 4.0, and with Python 3.11.
mpi4py_version=4.0.3

# build_mpi4py FOLDER MPI…: what is missing of FOLDER/source and FOLDER/MPI is made; fails where it cannot be had.
build_mpi4py() (
    folder=$1
    shift
    mkdir -p "$folder"
    if [ ! -d "$folder/source" ]; then
        new=$(mktemp -d)
        trap 'rm -rf "$new"' EXIT
        python3 -m pip download -q --no-deps --no-binary :all: -d "$new" "mpi4py==$mpi4py_version" &&
            tar xf "$new/mpi4py-$mpi4py_version.tar.gz" -C "$new" &&
            mv "$new/mpi4py-$mpi4py_version" "$folder/source" || return 1
    fi
    for mpi; do
        [ -d "$folder/$mpi/mpi4py" ] && continue
        rm -rf "${folder:?}/$mpi"
        # Its one large file takes 20 seconds to compile without optimization, and many minutes with.
        CFLAGS="-O0 -g0" MPICC=mpicc.$mpi python3 -m pip install -q --no-deps --no-cache-dir \
            --target "$folder/$mpi" "$folder/source" || return 1
    done
)
