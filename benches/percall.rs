//! What one MPI call costs with and without commsee:
//! `cargo bench --bench percall [-- [--against LIB.so]… [--through COMMAND]…]`
//!
//! Runs each case of `percall/cases.rs` in a process of its own, alternately alone, with a library that only reads the
//! clock (the floor of the case), and under each library, several times, and prints what is added: the instructions,
//! where valgrind is installed; the overhead in nanoseconds (difference of the fastest repetitions); and that as a ratio
//! to both floors: to what two readings of the time-stamp counter and one addition cost in a loop of nothing else, times
//! the calls of the case, and to what the library that only reads the clock adds to the same case. A case in which a
//! library crashes or hangs shows `-`.
//!
//! `{mpi}` in LIB.so (or LIB.so:LIB.so), and in the COMMAND of a tool that starts programs itself, stands for `openmpi`
//! or `mpich`; `--only CASE,CASE` measures some cases, `--markdown` prints a table for the documentation, `--csv FILE`
//! also writes the figures to a file, and `--combine FILE FILE…` prints those of several machines instead of measuring: each
//! row from the machine least favourable to commsee.
//! Environment: `MPI=openmpi|mpich|both`, `ROUNDS` (default 5), `ITERATIONS` (default 300000).

#[path = "percall/cases.rs"]
mod cases;
#[path = "percall/combine.rs"]
mod combine;
mod common;
#[path = "percall/count.rs"]
mod count;
#[path = "percall/figures.rs"]
mod figures;
#[path = "percall/job.rs"]
mod job;
#[path = "percall/measure.rs"]
mod measure;
#[path = "percall/saved.rs"]
mod saved;
#[path = "percall/table.rs"]
mod table;

use combine::{Combined, combine};
use common::{Arguments, Mpi, libraries};

const USAGE: &str = "cargo bench --bench percall [-- [--markdown] [--csv FILE] [--only CASE,CASE] [--against LIB.so]… \
                     [--through COMMAND]… | [--markdown] [--only CASE,CASE] --combine FILE FILE…]";

fn main() {
    let arguments = Arguments::read(USAGE, &[]);
    let print = |combined: &Combined| match arguments.markdown {
        true => table::markdown(combined),
        false => table::text(combined),
    };
    if !arguments.combine.is_empty() {
        let read = |file| saved::read(file).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
        let mut all: Vec<_> = arguments.combine.iter().flat_map(read).collect();
        all.retain(|measured| Mpi::wanted().iter().any(|mpi| mpi.is(&measured.version)));
        all.iter_mut().for_each(|measured| measured.rows.retain(|row| arguments.wants(row.case.name)));
        return combine(all).iter().for_each(print);
    }
    let mut all = Vec::new();
    for mpi in Mpi::wanted() {
        let libraries = libraries(mpi, &arguments);
        let Some(measured) = measure::measure(mpi, &libraries, |case| arguments.wants(case.name)) else { continue };
        combine(vec![measured.clone()]).iter().for_each(print);
        all.push(measured);
    }
    if let Some(file) = &arguments.csv {
        saved::write(file, &all).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}
