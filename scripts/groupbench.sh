# Sourced by ./test: the benchmark of groups under an MPI library. For Open MPI what ./test has built serves it as well; the others have
# target directories of their own.

# What its bindings are made with: the library, which is not libclang-cpp, and the headers that belong to it.
has_libclang() {
    [ -n "${LIBCLANG_PATH-}" ] && return 0
    local places=(/usr/lib/llvm-*/lib /usr/lib64 /usr/lib)
    compgen -G "/usr/lib*/clang/*/include/stddef.h" >/dev/null || compgen -G "/usr/lib/llvm-*/lib/clang/*/include/stddef.h" >/dev/null || return 1
    local place
    for place in "${places[@]}"; do
        compgen -G "$place/libclang.so*" >/dev/null && return 0
        compgen -G "$place/libclang-[0-9]*.so*" >/dev/null && return 0
    done
    return 1
}

# for_groupbench LIBRARY COMMAND [ARGUMENTS…]: a command of cargo, for a library such as openmpi.
for_groupbench() {
    local library=$1 command=$2
    shift 2
    local where=(-p groupbench --release)
    [ "$library" = openmpi ] || where+=(--target-dir "target/groupbench/$library")
    MPICC=mpicc.$library cargo "$command" "${where[@]}" "$@"
}
