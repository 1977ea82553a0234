//! What a communicator costs in memory and in the profile:
//! `cargo bench --bench memory [-- [--few N] [--many N] [--against LIB.so]… [--through COMMAND]…]`
//!
//! A job of one rank duplicates `MPI_COMM_SELF` and calls four operations on each duplicate, a few times and many times.
//! Printed is the slope between both, less that of the program alone: bytes resident before `MPI_Finalize`, at the peak in
//! it, and in the files it leaves. So nothing counts that does not grow. Medians over rounds.
//! Environment: `MPI=openmpi|mpich|both`, `ROUNDS` (default 3).

mod common;

use std::fs;
use std::path::Path;

use common::{Arguments, Library, Mpi, bytes_in, compiled, libraries, median, note, number, output_of, place};

const USAGE: &str = "cargo bench --bench memory [-- [--few N] [--many N] [--markdown] [--only kept|freed]
       [--against LIB.so]… [--through COMMAND]…]";

fn main() {
    let arguments = Arguments::read(USAGE, &[("--few", 1000), ("--many", 9000)]);
    let (few, many, rounds) = (arguments.number("--few"), arguments.number("--many"), number("ROUNDS", 3));
    for mpi in Mpi::wanted() {
        let Some(program) = compiled(mpi, "memory.c") else { continue };
        println!("\n{mpi}, 1 rank, slope between {few} and {many} communicators, {rounds} rounds:\n");
        header(arguments.markdown);
        for fate in ["kept", "freed"].into_iter().filter(|fate| arguments.wants(fate)) {
            let job = Job { mpi, program: &program, few, many, fate };
            let Some(alone) = job.slope(None, rounds) else { continue };
            for library in libraries(mpi, &arguments) {
                let with = job.slope(Some(&library), rounds);
                row(arguments.markdown, fate, &library.name, with.map(|with| with.less(&alone)));
            }
        }
    }
}

struct Job<'a> {
    mpi: Mpi,
    program: &'a Path,
    few: usize,
    many: usize,
    fate: &'static str,
}

/// Of a process: bytes, and seconds in `MPI_Finalize`.
struct Needs {
    resident: f64,
    peak: f64,
    profile: f64,
    finalize_s: f64,
}

impl Needs {
    fn less(&self, other: &Needs) -> Needs {
        Needs {
            resident: self.resident - other.resident,
            peak: self.peak - other.peak,
            profile: self.profile - other.profile,
            finalize_s: self.finalize_s - other.finalize_s,
        }
    }
}

impl Job<'_> {
    /// Bytes a communicator, and the seconds that many take longer than few. None where a run failed.
    fn slope(&self, library: Option<&Library>, rounds: usize) -> Option<Needs> {
        let mut slopes = Vec::new();
        for _ in 0..rounds {
            match (self.run(library, self.few), self.run(library, self.many)) {
                (Ok(few), Ok(many)) => slopes.push(many.less(&few)),
                (Err(why), _) | (_, Err(why)) => {
                    let name = library.map_or("no library", |library| &library.name);
                    note(&format!("{} with {name}: {why}", self.fate));
                    return None;
                }
            }
        }
        let of = |pick: fn(&Needs) -> f64| median(&slopes.iter().map(pick).collect::<Vec<_>>());
        let communicators = (self.many - self.few) as f64;
        Some(Needs {
            resident: of(|needs| needs.resident) / communicators,
            peak: of(|needs| needs.peak) / communicators,
            profile: of(|needs| needs.profile) / communicators,
            finalize_s: of(|needs| needs.finalize_s),
        })
    }

    fn run(&self, library: Option<&Library>, communicators: usize) -> Result<Needs, String> {
        // The program's words lie apart from what the library leaves.
        let (results, left) = (place(), place());
        let result = results.path().join("needs");
        let mut command = self.mpi.job(1, library);
        command.arg(self.program).args([&communicators.to_string(), self.fate]).arg(&result);
        output_of(&command, left.path())?;
        let said = fs::read_to_string(&result).map_err(|error| error.to_string())?;
        let numbers: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [resident_kib, peak_kib, finalize_ns] = numbers[..] else { return Err("it was cut short".to_owned()) };
        Ok(Needs {
            resident: resident_kib * 1024.0,
            peak: peak_kib * 1024.0,
            profile: bytes_in(left.path()) as f64,
            finalize_s: finalize_ns / 1e9,
        })
    }
}

fn header(markdown: bool) {
    if markdown {
        println!(
            "| communicators | library | resident | peak in `MPI_Finalize` | profile | `MPI_Finalize` |\n|---|---|---|---|---|---|"
        );
    } else {
        println!(
            "  {:<14} {:<20} {:>10} {:>10} {:>10} {:>14}",
            "communicators", "library", "resident", "peak", "profile", "MPI_Finalize"
        );
    }
}

fn row(markdown: bool, fate: &str, library: &str, needs: Option<Needs>) {
    let [resident, peak, profile, finalize] = match needs {
        Some(needs) => [
            format!("{:.0} B", needs.resident),
            format!("{:.0} B", needs.peak),
            format!("{:.0} B", needs.profile),
            format!("+{:.3} s", needs.finalize_s),
        ],
        None => ["-"; 4].map(str::to_owned),
    };
    if markdown {
        println!("| {fate} | {library} | {resident} | {peak} | {profile} | {finalize} |");
    } else {
        println!("  {fate:<14} {library:<20} {resident:>10} {peak:>10} {profile:>10} {finalize:>14}");
    }
}
