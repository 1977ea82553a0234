//! Compiles what Rust's bindings of MPI lack, with the compiler wrapper of the MPI library that they are made for.

fn main() {
    println!("cargo:rerun-if-changed=src/mpi/shim.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    let library = build_probe_mpi::probe().unwrap_or_else(|errors| {
        for error in errors {
            println!("cargo:warning={error}");
        }
        panic!("no MPI library: set MPICC to its compiler wrapper, such as MPICC=mpicc.openmpi");
    });
    let mut build = cc::Build::new();
    match &library.mpicc {
        Some(mpicc) => build.compiler(mpicc),
        None => build.includes(&library.include_paths),
    };
    build.file("src/mpi/shim.c").compile("groupbench_shim");
    println!("cargo:rustc-env=GROUPBENCH_MPICC={}", library.mpicc.as_deref().unwrap_or("pkg-config"));
}
