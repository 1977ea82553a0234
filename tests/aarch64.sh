#!/usr/bin/env bash
# Runs tests whose programs, MPI libraries and profiler are those of AArch64, under QEMU's emulation of user programs: the tests themselves, the launchers and `through` are this
# machine's. Needs an x86-64 machine with Debian's packages, and rustup. Any test of this folder or of profiled/ that preloads libcommsee.so into programs of its own may be named:
# docs/contributing/tests.md lists those that pass.   usage: tests/aarch64.sh [TEST …]   (default: p2p)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
need qemu-aarch64-static qemu-user-static aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu aarch64-linux-gnu-gfortran gfortran-aarch64-linux-gnu \
    mpirun.openmpi openmpi-bin mpirun.mpich mpich || { say_how "$missing"; exit 1; }
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(p2p)

# The libraries of AArch64, in a folder of their own: packages are unpacked, not installed.
here=$PWD/target/aarch64
root=$here/root
libraries=$root/usr/lib/aarch64-linux-gnu
if [ ! -d "$root" ]; then
    mkdir -p "$here/apt/lists/partial" "$here/apt/cache/archives/partial"
    : >"$here/apt/status"
    options=(-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Install-Recommends=0 -o "Dir::State=$here/apt" -o "Dir::State::status=$here/apt/status"
        -o "Dir::Cache=$here/apt/cache" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update -q
    apt-get "${options[@]}" install -y -q --download-only mpich libmpich-dev openmpi-bin libopenmpi-dev
    for package in "$here"/apt/cache/archives/*.deb; do dpkg -x "$package" "$root.new"; done
    mv "$root.new" "$root"
    rm -rf "$here/apt"
fi

# Compilers and launchers of the names that the tests know.
bin=$here/bin
mkdir -p "$bin"
tool() { cat >"$bin/$1" && chmod +x "$bin/$1"; }
for library in openmpi mpich; do
    case $library in
        openmpi) includes=$libraries/openmpi/include c=libmpi.so.40 fortran="libmpi_usempif08.so.40 libmpi_usempi_ignore_tkr.so.40 libmpi_mpifh.so.40 libmpi.so.40" ;;
        mpich) includes=$root/usr/include/aarch64-linux-gnu/mpich c=libmpich.so.12 fortran="libmpichfort.so.12 libmpich.so.12" ;;
    esac
    # What these libraries need themselves is found when a program starts.
    link="-Wl,--unresolved-symbols=ignore-in-shared-libs -Wl,--allow-shlib-undefined"
    places() { for name in "$@"; do printf '"%s" ' "$libraries/$name"; done; }
    tool mpicc.$library <<END
#!/bin/sh
exec aarch64-linux-gnu-gcc "-I$includes" "\$@" $link $(places $c)
END
    tool mpifort.$library <<END
#!/bin/sh
exec aarch64-linux-gnu-gfortran "-I$includes" "-I$libraries/fortran/gfortran-mod-15/$library" "\$@" $link $(places $fortran)
END
    # Whatever is first of AArch64 runs in the emulator.
    tool mpirun.$library <<END
#!/bin/bash
words=()
is_found=
for word; do
    if [ -z "\$is_found" ] && [ -f "\$word" ] && [ "\$(od -An -j18 -N2 -tu2 "\$word" | tr -d ' ')" = 183 ] && [[ "\$word" != *.so ]]; then
        is_found=1
        words+=("$(command -v qemu-aarch64-static)" -L "$root")
    fi
    words+=("\$word")
done
exec $(command -v mpirun.$library) "\${words[@]}"
END
done
tool cc <<'END'
#!/bin/sh
exec aarch64-linux-gnu-gcc "$@"
END

# The tests of this machine, beside the profiler of the other one.
cargo build --release -p through --target-dir "$here/target"
modules=() programs=()
for test in "${tests[@]}"; do
    if [ -f "tests/profiled/$test.rs" ]; then modules+=("$test::"); else programs+=(--test "$test"); fi
done
chosen() {
    local status=0
    [ ${#modules[@]} -eq 0 ] || cargo test --release -p commsee --target-dir "$here/target" --no-fail-fast --test profiled "$@" -- "${modules[@]}" || status=1
    [ ${#programs[@]} -eq 0 ] || cargo test --release -p commsee --target-dir "$here/target" --no-fail-fast "${programs[@]}" "$@" || status=1
    return $status
}
chosen --no-run
rustup target add aarch64-unknown-linux-gnu
CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc \
    cargo build --release -p commsee-profiler --target aarch64-unknown-linux-gnu --target-dir "$here/target"
cp "$here/target/aarch64-unknown-linux-gnu/release/"libcommsee.{so,a} "$here/target/release/"

# The emulator does not know the call by which processes copy from one another.
# Over TCP, which UCX takes in the emulator, MPICH 4.0.2 hangs in MPI_Finalize also without commsee.
PATH=$bin:$PATH UCX_TLS=posix,self OMPI_MCA_btl_vader_single_copy_mechanism=none chosen
