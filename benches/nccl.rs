//! What the module for NCCL costs per call: `cargo bench --bench nccl`
//!
//! One process calls functions in the place of NCCL's that only return (`nccl_floor.c`), with the module and without, in turns. Printed are
//! the fastest of all rounds in nanoseconds per call, and what the module adds. No GPU is needed, and nothing is said of one.
//! Environment: `MPI=openmpi|mpich|both`, `ROUNDS` (default 5).

mod common;

use common::{Arguments, Library, Mpi, Usage, compiled, libraries, note, number, output_of, place};

const USAGE: &str = "cargo bench --bench nccl";

fn main() {
    let arguments = Arguments::read(USAGE, &[]);
    let rounds = number("ROUNDS", 5);
    for mpi in Mpi::wanted() {
        let (Some(program), Some(floor)) = (compiled(mpi, "nccl.c"), compiled(mpi, "nccl_floor.c")) else { continue };
        let commsee = libraries(mpi, &arguments).swap_remove(0).preload;
        let module = commsee.replace("libcommsee.so", "libcommsee_nccl.so");
        let usage = Usage::now();
        let preloads = [floor.display().to_string(), format!("{commsee}:{module}:{}", floor.display())];
        let mut best: [Vec<(String, f64)>; 2] = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (preload, best) in preloads.iter().zip(&mut best) {
                let library = Library { name: String::new(), preload: preload.clone(), launcher: Vec::new() };
                let mut command = mpi.job(1, Some(&library));
                match mpi {
                    Mpi::OpenMpi => command.args(["-x", "COMMSEE_HOOKS=nccl"]),
                    Mpi::Mpich => command.args(["-genv", "COMMSEE_HOOKS", "nccl"]),
                };
                command.arg(&program);
                match output_of(&command, place().path()) {
                    Ok(output) => keep(best, &output),
                    Err(why) => note(&why),
                }
            }
        }
        println!("\n{mpi}, {rounds} rounds, nanoseconds per call:\n");
        println!("  {:<52}{:>8}{:>8}{:>8}", "", "alone", "module", "adds");
        let [alone, with] = &best;
        for ((name, alone), (_, with)) in alone.iter().zip(with) {
            println!("  {name:<52}{alone:>8.1}{with:>8.1}{:>8.1}", with - alone);
        }
        println!("\nBackground load {:.0} %.", usage.share_of_others() * 100.0);
    }
}

/// The least of each figure, in the order of the program.
fn keep(best: &mut Vec<(String, f64)>, output: &str) {
    for (name, ns) in output.lines().filter_map(|line| line.rsplit_once(' ')) {
        let Ok(ns) = ns.parse::<f64>() else { continue };
        match best.iter_mut().find(|(known, _)| known == name) {
            Some((_, least)) => *least = least.min(ns),
            None => best.push((name.to_owned(), ns)),
        }
    }
}
