//! What a process needs until `MPI_Init` has returned: `cargo bench --bench start [-- [--against LIB.so]… [--through COMMAND]…]`
//!
//! A job of one rank with each library and without one in turn. Printed is the difference of the medians: from `exec` to `main`, in `MPI_Init`,
//! and how much larger the process is then. *Resident* counts all pages of the library's file that the kernel has mapped, which all
//! processes of a machine share; *private* are those that each process has for itself.
//! Environment: `MPI=openmpi|mpich|both`, `ROUNDS` (default 21).

mod common;

use std::fs;
use std::path::Path;

use common::{Arguments, Library, Mpi, compiled, libraries, median, note, number, output_of, place};

const USAGE: &str = "cargo bench --bench start [-- [--against LIB.so]… [--through COMMAND]…]";
const QUANTITIES: usize = 5;

fn main() {
    let arguments = Arguments::read(USAGE, &[]);
    let rounds = number("ROUNDS", 21);
    for mpi in Mpi::wanted() {
        let Some(program) = compiled(mpi, "start.c") else { continue };
        let libraries = libraries(mpi, &arguments);
        let ways: Vec<Option<&Library>> = [None].into_iter().chain(libraries.iter().map(Some)).collect();
        let mut runs = vec![Vec::new(); ways.len()];
        for _ in 0..rounds {
            for (way, runs) in ways.iter().zip(&mut runs) {
                match run(mpi, &program, *way) {
                    Ok(needs) => runs.push(needs),
                    Err(why) => note(&format!("{}: {why}", way.map_or("no library", |library| &library.name))),
                }
            }
        }
        println!("\n{mpi}, 1 rank, medians of {rounds} runs:\n");
        println!(
            "| library | `exec` to `main` | `MPI_Init` | resident | of that shared fairly | private |\n|---|---|---|---|---|---|"
        );
        let medians = |runs: &Vec<[f64; QUANTITIES]>| {
            [0, 1, 2, 3, 4].map(|at| median(&runs.iter().map(|needs| needs[at]).collect::<Vec<_>>()))
        };
        let alone = medians(&runs[0]);
        row("none", alone, "");
        for (way, runs) in ways.iter().zip(&runs).skip(1) {
            let with = medians(runs);
            row(&way.expect("a library").name, [0, 1, 2, 3, 4].map(|at| with[at] - alone[at]), "+");
        }
    }
}

fn run(mpi: Mpi, program: &Path, library: Option<&Library>) -> Result<[f64; QUANTITIES], String> {
    // The program's words lie apart from what the library leaves.
    let (results, left) = (place(), place());
    let result = results.path().join("needs");
    let mut command = mpi.job(1, library);
    command.arg(program).arg(&result);
    output_of(&command, left.path())?;
    let said = fs::read_to_string(&result).map_err(|error| error.to_string())?;
    let numbers: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().map_err(|_| "it was cut short".to_owned())
}

fn row(name: &str, [load_ns, init_ns, resident_kib, proportional_kib, private_kib]: [f64; QUANTITIES], sign: &str) {
    println!(
        "| {name} | {sign}{:.2} ms | {sign}{:.2} ms | {sign}{resident_kib:.0} KiB | {sign}{proportional_kib:.0} KiB | {sign}{private_kib:.0} KiB |",
        load_ns / 1e6,
        init_ns / 1e6
    );
}
