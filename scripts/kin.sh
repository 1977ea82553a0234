# Sourced by ./test: MPI libraries with the ABI of MPICH, as PyPI has them. Intel MPI's are large.

mpich_kin=(4.3.2)
mpich_kin_heavy=(4.2.3)
intel_mpi_version=2021.19.0

# fetch_kin FOLDER [--heavy]: FOLDER/NAME-VERSION with bin and lib each; fails where the first cannot be had.
fetch_kin() (
    folder=$1
    new=$(mktemp -d)
    trap 'rm -rf "$new"' EXIT
    # get PACKAGE VERSION NAME
    get() {
        [ -x "$folder/$3-$2/bin/mpiexec" ] && return
        python3 -m pip download -q --no-deps --only-binary :all: -d "$new" "$1==$2" &&
            python3 -c 'import glob, sys, zipfile; zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0]).extractall(sys.argv[1])' "$new" &&
            chmod +x "$new"/*.data/data/bin/* && mkdir -p "$folder" && rm -rf "${folder:?}/$3-$2" && mv "$new"/*.data/data "$folder/$3-$2" &&
            rm -rf "${new:?}"/*
    }
    for version in "${mpich_kin[@]}"; do get mpich "$version" mpich || return 1; done
    [ "${2-}" = --heavy ] || return 0
    for version in "${mpich_kin_heavy[@]}"; do get mpich "$version" mpich || return 1; done
    get impi-rt "$intel_mpi_version" intel
)
