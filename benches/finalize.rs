//! What commsee costs at the end:
//! `cargo bench --bench finalize [-- [--ranks N] [--comms N] [--against LIB.so]… [--through COMMAND]…]`
//!
//! A job makes communicators by `MPI_Comm_dup` and `MPI_Comm_split` in turn, calls four operations on each, and keeps
//! them or frees them at once. Alternately alone and under each library, several times. Printed are the medians over
//! rounds of what the library adds: seconds in `MPI_Finalize` (of the rank that needs longest, wall clock), memory at
//! its peak (of the rank that has most), and the bytes of the files it leaves.
//! Environment: `MPI=openmpi|mpich|both`, `ROUNDS` (default 5).

mod common;

use std::fs;
use std::path::Path;

use common::{
    Arguments, Library, Mpi, Usage, bytes_in, compiled, libraries, median, note, number, output_of, place, processors,
};

const USAGE: &str = "cargo bench --bench finalize [-- [--ranks N] [--comms N] [--markdown] [--only kept|freed]
       [--against LIB.so]… [--through COMMAND]…]";

fn main() {
    let arguments = Arguments::read(USAGE, &[("--ranks", 8), ("--comms", 1000)]);
    let (ranks, rounds) = (arguments.number("--ranks"), number("ROUNDS", 5));
    for mpi in Mpi::wanted() {
        let Some(program) = compiled(mpi, "finalize.c") else { continue };
        let libraries = libraries(mpi, &arguments);
        println!(
            "\n{mpi}, {ranks} ranks on {} processors{}, {rounds} rounds:\n",
            processors().len(),
            waiting(mpi, ranks)
        );
        header(arguments.markdown);
        let usage = Usage::now();
        for fate in ["kept", "freed"].into_iter().filter(|fate| arguments.wants(fate)) {
            let job = Job { mpi, program: &program, ranks, communicators: arguments.number("--comms"), fate };
            for (library, added) in libraries.iter().zip(job.added(&libraries, rounds)) {
                row(arguments.markdown, &job, library, added);
            }
        }
        println!("\nBackground load {:.0} %.", usage.share_of_others() * 100.0);
    }
}

/// How ranks that wait leave the processors to others, in both arms.
fn waiting(mpi: Mpi, ranks: usize) -> &'static str {
    match mpi {
        _ if ranks <= processors().len() => "",
        Mpi::OpenMpi => " (mpi_yield_when_idle)",
        Mpi::Mpich => " (yielding through tests/programs/yield.c)",
    }
}

struct Job<'a> {
    mpi: Mpi,
    program: &'a Path,
    ranks: usize,
    communicators: usize,
    fate: &'static str,
}

/// What one run needed: of the slowest and of the largest rank.
struct Needs {
    finalize_s: f64,
    peak_mib: f64,
    profile_kib: f64,
}

/// What a library adds, and the time it adds to.
struct Added {
    alone_s: f64,
    finalize_s: f64,
    peak_mib: f64,
    profile_kib: f64,
}

impl Job<'_> {
    /// By library; none where it failed.
    fn added(&self, libraries: &[Library], rounds: usize) -> Vec<Option<Added>> {
        let mut pairs: Vec<Option<Vec<(f64, Needs)>>> = libraries.iter().map(|_| Some(Vec::new())).collect();
        for _ in 0..rounds {
            let alone = match self.run(None) {
                Ok(alone) => alone,
                Err(why) => {
                    note(&format!("{} without any library: {why}", self.fate));
                    return libraries.iter().map(|_| None).collect();
                }
            };
            for (library, pairs) in libraries.iter().zip(&mut pairs) {
                let Some(known) = pairs else { continue };
                match self.run(Some(library)) {
                    Ok(with) => known.push((
                        alone.finalize_s,
                        Needs {
                            finalize_s: with.finalize_s - alone.finalize_s,
                            peak_mib: with.peak_mib - alone.peak_mib,
                            profile_kib: with.profile_kib - alone.profile_kib,
                        },
                    )),
                    Err(why) => {
                        note(&format!("{} {}: {why}", library.name, self.fate));
                        *pairs = None;
                    }
                }
            }
        }
        let middle = |pairs: Vec<(f64, Needs)>| {
            let of = |pick: fn(&(f64, Needs)) -> f64| median(&pairs.iter().map(pick).collect::<Vec<_>>());
            Added {
                alone_s: of(|pair| pair.0),
                finalize_s: of(|pair| pair.1.finalize_s),
                peak_mib: of(|pair| pair.1.peak_mib),
                profile_kib: of(|pair| pair.1.profile_kib),
            }
        };
        pairs.into_iter().map(|pairs| pairs.map(middle)).collect()
    }

    fn run(&self, library: Option<&Library>) -> Result<Needs, String> {
        // The ranks' words lie apart from what the library leaves.
        let (results, left) = (place(), place());
        let mut command = self.mpi.job(self.ranks, library);
        command.arg(self.program).args([&self.communicators.to_string(), self.fate]).arg(results.path());
        output_of(&command, left.path())?;
        let mut needs = Needs { finalize_s: 0.0, peak_mib: 0.0, profile_kib: bytes_in(left.path()) as f64 / 1024.0 };
        for rank in 0..self.ranks {
            let said = fs::read_to_string(results.path().join(rank.to_string())).map_err(|error| error.to_string())?;
            let (ns, kib) = said.trim().split_once(' ').ok_or("a rank was cut short")?;
            let number = |text: &str| text.parse::<f64>().map_err(|error| error.to_string());
            needs.finalize_s = needs.finalize_s.max(number(ns)? / 1e9);
            needs.peak_mib = needs.peak_mib.max(number(kib)? / 1024.0);
        }
        Ok(needs)
    }
}

fn header(markdown: bool) {
    if markdown {
        println!(
            "| communicators | library | `MPI_Finalize` alone | added | memory added | profile |\n|---|---|---|---|---|---|"
        );
    } else {
        println!(
            "  {:<16} {:<20} {:>16} {:>10} {:>14} {:>12}",
            "communicators", "library", "finalize alone", "added", "memory added", "profile"
        );
    }
}

fn row(markdown: bool, job: &Job, library: &Library, added: Option<Added>) {
    let communicators = format!("{} {}", job.communicators, job.fate);
    let [alone, finalize, peak, profile] = match added {
        Some(added) => [
            format!("{:.3} s", added.alone_s),
            format!("{:.3} s", added.finalize_s),
            format!("{:.1} MiB", added.peak_mib),
            format!("{:.0} KiB", added.profile_kib),
        ],
        None => ["-"; 4].map(str::to_owned),
    };
    let name = &library.name;
    if markdown {
        println!("| {communicators} | {name} | {alone} | {finalize} | {peak} | {profile} |");
    } else {
        println!("  {communicators:<16} {name:<20} {alone:>16} {finalize:>10} {peak:>14} {profile:>12}");
    }
}
