//! NCCL looks for its profiler plugin by the name `libnccl-profiler.so`. A library that is loaded already answers to its SONAME, so no
//! variable and no file of that name is needed.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnccl-profiler.so");
}
