//! Writes what the table of calls tells, into `$OUT_DIR`:
//!
//! - `shells.rs`: the exported C functions. Each finds its real function and hands over to its body.
//! - `fortran.rs`: the exported Fortran entry points. Each translates what is recorded, and hands over to the same body.
//! - `bodies.rs`: what a call records. The bodies of functions that the table marks `hand` stand in `src/wrappers/`.

mod body;
mod fortran;
mod shell;
mod table;

use std::path::Path;
use std::{env, fs};

use vocabulary::calls::{CALLS, Shape};

fn main() {
    println!("cargo:rerun-if-changed=../calls.table");
    println!("cargo:rerun-if-changed=build");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, text: String| fs::write(Path::new(&out).join(name), text).expect("write into OUT_DIR");
    let wrapped = || CALLS.iter().filter(|call| call.shape != Shape::Own);
    write("shells.rs", wrapped().map(shell::write).collect());
    write("fortran.rs", CALLS.iter().map(fortran::write).collect());
    write("bodies.rs", wrapped().filter(|call| call.shape != Shape::Hand).map(body::write).collect());
}
