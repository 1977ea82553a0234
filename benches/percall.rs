//! What one MPI call costs with and without commsee:
//! `cargo bench --bench percall [-- [--against LIB.so]… [--through COMMAND]…]`
//!
//! Runs each case of `percall/cases.rs` in a process of its own on one rank, alternately alone and under each library,
//! several times, and prints the overhead in nanoseconds (difference of the fastest repetitions), as a ratio to the
//! floor (what two readings of the time-stamp counter and one addition cost in the same setting), and the instructions
//! that the library adds per iteration, where valgrind is installed. A case in which a library crashes or hangs shows
//! `-`.
//!
//! `{mpi}` in LIB.so (or LIB.so:LIB.so), and in the COMMAND of a tool that starts programs itself, stands for `openmpi`
//! or `mpich`; `--only CASE,CASE` measures some cases, `--markdown` prints a table for the documentation.
//! Environment: `MPI=openmpi|mpich|both`, `ROUNDS` (default 5), `ITERATIONS` (default 300000).

#[path = "percall/cases.rs"]
mod cases;
mod common;
#[path = "percall/measure.rs"]
mod measure;
#[path = "percall/table.rs"]
mod table;

use common::{Arguments, Mpi, libraries};

fn main() {
    let usage =
        "cargo bench --bench percall [-- [--markdown] [--only CASE,CASE] [--against LIB.so]… [--through COMMAND]…]";
    let arguments = Arguments::read(usage, &[]);
    for mpi in Mpi::wanted() {
        let libraries = libraries(mpi, &arguments);
        let Some(measured) = measure::measure(mpi, &libraries, |case| arguments.wants(case.name)) else { continue };
        match arguments.markdown {
            true => table::markdown(&measured, &libraries),
            false => table::text(&measured, &libraries),
        }
    }
}
