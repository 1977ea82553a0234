# Sourced by ./demo and ./test: sees to it that commands are there, from packages where that is permitted.

# need COMMAND PACKAGE [COMMAND PACKAGE …]: installs what is missing through apt, or sets $missing to the packages' names.
need() {
    missing=""
    while [ $# -gt 1 ]; do
        command -v "$1" >/dev/null 2>&1 || case " $missing " in *" $2 "*) ;; *) missing="$missing $2" ;; esac
        shift 2
    done
    missing=${missing# }
    [ -z "$missing" ] && return 0
    command -v apt-get >/dev/null 2>&1 || return 1
    if [ "$(id -u)" = 0 ]; then as_root=""; elif sudo -n true 2>/dev/null; then as_root="sudo"; else return 1; fi
    echo "installing with apt: $missing" >&2
    # shellcheck disable=SC2086 # one word per package
    { $as_root apt-get update -q && $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends $missing; } >&2 || return 1
    missing=""
}

# Tells how to get MPI where it cannot be installed for the user.
say_how() {
    cat >&2 <<EOF
Missing: $*
Install them, then run this again:
  Debian, Ubuntu   sudo apt-get install $*
  Fedora, RHEL     sudo dnf install openmpi-devel mpich-devel   (then: module load mpi/openmpi-x86_64)
  Spack            spack install openmpi && spack load openmpi
EOF
}

need_rust() {
    if ! command -v cargo >/dev/null 2>&1 || ! command -v cc >/dev/null 2>&1; then
        echo "Rust and a C compiler are needed: install rustup (or the packages rustc and cargo) and gcc." >&2
        exit 1
    fi
}

# Open MPI refuses to start as root unless told twice.
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
