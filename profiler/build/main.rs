//! Writes what the table of calls tells, into `$OUT_DIR`:
//!
//! - `shells.rs`: the exported C functions. Each finds its real function and hands over to its body.
//! - `fortran.rs`: the exported Fortran entry points. Each translates what is recorded, and hands over to the same body.
//! - `linked.rs`: the table of functions of an MPI library that is linked statically.
//! - `hidden.s`: what hides the indirect functions of `libcommsee.a` from the loader.
//! - `bodies.rs`: what a call records. The bodies of functions that the table marks `hand` stand in `src/wrappers/`.

mod body;
mod fortran;
mod hidden;
mod linked;
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
    let shells: String = wrapped().map(shell::write).collect();
    let entries: String = CALLS.iter().map(fortran::write).collect();
    let by_hand = ["MPI_Session_init", "MPI_Session_finalize"].map(str::to_owned);
    let optional: Vec<String> = optional(&shells).chain(optional(&entries)).chain(by_hand).collect();
    write("shells.rs", shells);
    write("fortran.rs", entries);
    let linked = linked::write(Path::new("src"), &optional);
    write("linked.rs", linked.table);
    write("absent.ld", linked.script);
    println!("cargo:rustc-cdylib-link-arg={out}/absent.ld");
    hidden::compile(Path::new(&out), &optional);
    write("bodies.rs", wrapped().filter(|call| call.shape != Shape::Hand).map(body::write).collect());
}

/// The names of the functions that not every library has.
fn optional(text: &str) -> impl Iterator<Item = String> {
    let in_c = text.lines().filter_map(|line| line.strip_prefix("where_present! { late ")?.split(" fn ").nth(1));
    let in_fortran = text.lines().filter_map(|line| line.strip_prefix("fortran_entry! { late "));
    in_c.chain(in_fortran).filter_map(|rest| Some(rest.split(['(', ',']).next()?.to_owned()))
}
