//! What commsee costs a whole application:
//! `cargo bench --bench applications [-- [--against LIB.so]… [--through COMMAND]…]`
//!
//! Runs LAMMPS and HPC Challenge with and without the library in pairs, of which every other one begins with it, and
//! prints medians and interquartile ranges of the jobs' wall-clock times, launcher included, and the median of the
//! ratios within pairs with a confidence interval that assumes nothing about their distribution. Says so where others
//! kept the processors busy meanwhile.
//! Environment: `PAIRS` (default 10).

mod common;

use std::fs;
use std::path::Path;
use std::time::Instant;

use common::{
    Arguments, Interval, Library, Mpi, Usage, installed, interval_of_median, libraries, median, note, number,
    output_of, place, quantile,
};

struct Application {
    name: &'static str,
    command: &'static str,
    package: &'static str,
    arguments: &'static [&'static str],
    /// A file of `benches/applications/`, and the name under which the application looks for it.
    input: (&'static str, &'static str),
}

/// As Debian has them: linked with Open MPI.
const APPLICATIONS: [Application; 2] = [
    Application {
        name: "LAMMPS",
        command: "lmp",
        package: "lammps",
        arguments: &["-log", "none", "-in", "in.lmp"],
        input: ("lennard_jones.lmp", "in.lmp"),
    },
    Application {
        name: "HPC Challenge",
        command: "hpcc",
        package: "hpcc",
        arguments: &[],
        input: ("hpcc.txt", "hpccinf.txt"),
    },
];

/// As many as the smallest machines have processors: ranks that wait for their turn measure the system's scheduler.
const RANKS: usize = 2;
/// A rank that has lost its processor holds up all others: with more work beside it, times are no longer those of the
/// job.
const BUSY: f64 = 0.05;

fn main() {
    let usage =
        "cargo bench --bench applications [-- [--markdown] [--only lmp|hpcc] [--against LIB.so]… [--through COMMAND]…]";
    let arguments = Arguments::read(usage, &[]);
    let pairs = number("PAIRS", 10);
    println!("\nopenmpi, {RANKS} ranks, {pairs} pairs of runs:\n");
    if arguments.markdown {
        println!("| application | library | alone | with | with ÷ without | |\n|---|---|---|---|---|---|");
    }
    for application in
        APPLICATIONS.iter().filter(|each| arguments.wants(each.command) && installed(each.command, each.package))
    {
        for library in libraries(Mpi::OpenMpi, &arguments) {
            match application.compare(&library, pairs) {
                Ok(times) => times.print(application, &library, arguments.markdown),
                Err(why) => note(&format!("{} with {}: {why}", application.name, library.name)),
            }
        }
    }
}

/// Seconds, by pair.
struct Times {
    alone: Vec<f64>,
    with: Vec<f64>,
    /// Share of the processors' time that went to anything else on the machine meanwhile.
    others: f64,
}

impl Application {
    fn compare(&self, library: &Library, pairs: usize) -> Result<Times, String> {
        let mut times = Times { alone: Vec::new(), with: Vec::new(), others: 0.0 };
        // Whatever is read from a disk is in memory afterwards.
        self.run(None)?;
        let usage = Usage::now();
        for pair in 0..pairs {
            for with in [pair % 2 == 1, pair % 2 == 0] {
                match with {
                    true => times.with.push(self.run(Some(library))?),
                    false => times.alone.push(self.run(None)?),
                }
            }
        }
        times.others = usage.share_of_others();
        Ok(times)
    }

    fn run(&self, library: Option<&Library>) -> Result<f64, String> {
        let folder = place();
        let (from, to) = self.input;
        let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/applications").join(from);
        fs::copy(input, folder.path().join(to)).map_err(|error| error.to_string())?;
        let mut command = Mpi::OpenMpi.job(RANKS, library);
        command.arg(self.command).args(self.arguments);
        let begin = Instant::now();
        output_of(&command, folder.path())?;
        Ok(begin.elapsed().as_secs_f64())
    }
}

impl Times {
    fn print(&self, application: &Application, library: &Library, markdown: bool) {
        let ratios: Vec<f64> = self.with.iter().zip(&self.alone).map(|(with, alone)| with / alone).collect();
        let ratio = median(&ratios);
        let (interval, verdict) = match interval_of_median(&ratios) {
            Some(Interval { low, high, confidence }) => (
                format!("{low:.3} to {high:.3} ({:.0} %)", confidence * 100.0),
                match () {
                    () if self.others > BUSY => "the machine was too busy to tell",
                    () if low > 1.0 => "slower, beyond the noise",
                    () if high < 1.0 => "faster, beyond the noise: something else differs",
                    () => "no difference beyond the noise",
                },
            ),
            None => ("no interval".to_owned(), "too few pairs to tell: take six or more"),
        };
        let spread = |times: &[f64]| {
            format!("{:.2} s ({:.2} to {:.2})", median(times), quantile(times, 0.25), quantile(times, 0.75))
        };
        let (alone, with, name) = (spread(&self.alone), spread(&self.with), application.name);
        let others = format!("background load {:.0} %", self.others * 100.0);
        if markdown {
            println!("| {name} | {} | {alone} | {with} | {ratio:.3}, {interval} | {verdict}; {others} |", library.name);
        } else {
            println!("  {name} with {}", library.name);
            println!("    alone {alone}, with {with}; median and interquartile range");
            println!("    with ÷ without, by pair: median {ratio:.3}, {interval}: {verdict}; {others}");
        }
    }
}
