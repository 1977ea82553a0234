//! Runs the cases, in turns, and counts their instructions.

use std::path::PathBuf;
use std::process::Command;

use super::cases::{CASES, CYCLES, Case, FLOOR, Length, Program, Recording, THREADS, THREADS_FLOOR};
use super::common::{
    Library, Mpi, Usage, compiled, installed, median, note, number, output_of, place, processor_model, processors,
};
use super::figures::{Figures, Floor, Measured, Row};

const FLOOR_LIBRARY: &str = "floor";

pub fn measure(mpi: Mpi, libraries: &[Library], wanted: impl Fn(&Case) -> bool) -> Option<Measured> {
    let usage = Usage::now();
    let rounds = number("ROUNDS", 5);
    let bench = Bench {
        mpi,
        c: compiled(mpi, "percall.c")?,
        threads: compiled(mpi, "percall_threads.c"),
        fortran: compiled(mpi, "percall.F90"),
        iterations: number("ITERATIONS", 300_000),
        valgrind: installed("valgrind", "valgrind"),
    };
    let clock = Library {
        name: FLOOR_LIBRARY.to_owned(),
        preload: compiled(mpi, "percall_floor.c")?.display().to_string(),
        launcher: Vec::new(),
    };
    let mut floor = Arm::new(&bench, &FLOOR, None)?;
    let mut arms: Vec<Vec<Arm>> = CASES
        .iter()
        .filter(|case| wanted(case))
        .filter_map(|case| {
            let arms = [None, Some(&clock)].into_iter().chain(libraries.iter().map(Some));
            arms.map(|library| Arm::new(&bench, case, library)).collect()
        })
        .collect();
    let threads = arms.iter().any(|arms| arms[0].case.program == Program::Threads);
    let mut threads_floor = Arm::new(&bench, &THREADS_FLOOR, None).filter(|_| threads);
    for _ in 0..rounds {
        floor.run();
        threads_floor.iter_mut().for_each(Arm::run);
        arms.iter_mut().flatten().for_each(Arm::run);
    }
    let others = usage.share_of_others();
    let row = |arms: Vec<Arm>| -> Option<Row> {
        let mut figures = arms.iter().map(Arm::figures);
        let (alone, floor) = (figures.next()??, figures.next()?);
        Some(Row { case: arms[0].case, alone, floor, with: figures.collect() })
    };
    Some(Measured {
        processor: processor_model(),
        version: floor.remark("version")?.to_owned(),
        rounds,
        others,
        floor: Floor { ns: floor.figures()?.ns, ticks: floor.remark("ticks")?.parse().ok()? },
        threads_floor_ns: threads_floor.as_ref().and_then(Arm::figures).map(|figures| figures.ns),
        pinned: threads_floor.and_then(|arm| arm.remark("pinned").map(str::to_owned)),
        libraries: libraries.iter().map(|library| library.name.clone()).collect(),
        rows: arms.into_iter().filter_map(row).collect(),
    })
}

struct Bench {
    mpi: Mpi,
    c: PathBuf,
    threads: Option<PathBuf>,
    fortran: Option<PathBuf>,
    iterations: usize,
    valgrind: bool,
}

/// A case with a library, or alone.
struct Arm<'a> {
    bench: &'a Bench,
    case: &'static Case,
    library: Option<&'a Library>,
    program: &'a PathBuf,
    fastest_ns: Vec<f64>,
    grown_bytes: Vec<f64>,
    /// Of its last run: `key: value`.
    remarks: Vec<String>,
    failed: bool,
}

impl<'a> Arm<'a> {
    fn new(bench: &'a Bench, case: &'static Case, library: Option<&'a Library>) -> Option<Arm<'a>> {
        let program = match case.program {
            Program::C => &bench.c,
            Program::Pair if processors().len() >= 2 => &bench.c,
            Program::Pair => return None,
            Program::Threads => bench.threads.as_ref()?,
            Program::Fortran => bench.fortran.as_ref()?,
        };
        // Nobody else knows the variables: to measure another library under them would be to measure it twice.
        let knows = |library: &&Library| ["commsee", FLOOR_LIBRARY].contains(&library.name.as_str());
        let failed = case.recording.variable().is_some() && !library.as_ref().is_none_or(knows);
        let (fastest_ns, grown_bytes) = (Vec::new(), Vec::new());
        Some(Arm { bench, case, library, program, fastest_ns, grown_bytes, remarks: Vec::new(), failed })
    }

    fn run(&mut self) {
        if self.failed {
            return;
        }
        let (iterations, repetitions) = match self.case.length {
            Length::Share(share, times) => (self.bench.iterations.div_ceil(share), times),
            Length::Fixed(iterations, times) => (iterations, times),
        };
        let mut command = self.job();
        if matches!(self.case.program, Program::C | Program::Fortran) {
            // Not the first, which serves most interrupts.
            command.args(["taskset", "-c", &processors().last().copied().unwrap_or(0).to_string()]);
        }
        self.preload(&mut command);
        command.args(self.library.iter().flat_map(|library| &library.launcher)).arg(self.program);
        self.arguments(&mut command, iterations, repetitions);
        let read = output_of(&command, place().path()).and_then(|said| self.read(&said).ok_or(said));
        if let Err(why) = read {
            self.failed = true;
            note(&format!("{} {}: {why}", self.name(), self.case.name));
        }
    }

    /// Up to the program.
    fn job(&self) -> Command {
        let mpi = self.bench.mpi;
        let mut command = mpi.unbound(if self.case.program == Program::Pair { 2 } else { 1 });
        if (mpi, self.case.recording) == (Mpi::OpenMpi, Recording::Module) {
            command.args(["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]);
        }
        command
    }

    /// Through env, so that only the program has it.
    fn preload(&self, command: &mut Command) {
        let Some(library) = self.library else { return };
        let mut preload = library.preload.clone();
        if self.case.recording == Recording::Module && library.name == "commsee" {
            preload += &format!(":{}", preload.replace("libcommsee.so", "libcommsee_ucx.so"));
        }
        command.arg("env").arg(format!("LD_PRELOAD={preload}"));
    }

    fn arguments(&self, command: &mut Command, iterations: usize, repetitions: usize) {
        command.args([self.case.word, &iterations.to_string(), &repetitions.to_string()]);
        if self.case.recording == Recording::Paused {
            command.arg("paused");
        }
        command.envs(self.case.recording.variable());
        if self.case.recording == Recording::Module {
            command.env("UCX_TLS", "posix,self");
        }
    }

    fn read(&mut self, said: &str) -> Option<()> {
        self.remarks = said.lines().filter_map(|line| line.strip_prefix("# ")).map(str::to_owned).collect();
        let line = said.lines().find_map(|line| line.strip_prefix(self.case.word)?.strip_prefix(','))?;
        let (fastest_ns, grown_bytes) = line.split_once(',')?;
        self.fastest_ns.push(fastest_ns.trim().parse().ok()?);
        self.grown_bytes.push(grown_bytes.trim().parse().ok()?);
        Some(())
    }

    fn remark(&self, key: &str) -> Option<&str> {
        self.remarks.iter().find_map(|remark| remark.strip_prefix(key)?.strip_prefix(": "))
    }

    fn figures(&self) -> Option<Figures> {
        (!self.failed && !self.fastest_ns.is_empty()).then(|| Figures {
            // Whatever disturbs a repetition makes it longer.
            ns: self.fastest_ns.iter().copied().fold(f64::INFINITY, f64::min),
            grown_bytes: median(&self.grown_bytes),
            instructions: self.bench.valgrind.then(|| self.instructions()).flatten(),
        })
    }

    /// Instructions per iteration, of all threads. Only what happens inside of the timed loop is counted: beginning and
    /// end of an MPI program differ by tens of thousands of instructions from run to run.
    fn instructions(&self) -> Option<f64> {
        if self.library.is_some_and(|library| !library.launcher.is_empty()) {
            return None; // its command would be counted, not the program
        }
        if self.case.program == Program::Pair || self.case.length == Length::Fixed(CYCLES, 1) {
            return None; // ranks that wait for each other spin; and the same again
        }
        let iterations = if self.case.calls > 2 { 200 } else { 1000 };
        let mut command = self.job();
        self.preload(&mut command);
        command.args(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=counted"]);
        command.arg("--toggle-collect=timed_loop*").arg(self.program);
        self.arguments(&mut command, iterations, 1);
        let folder = place();
        output_of(&command, folder.path()).ok()?;
        let counted = std::fs::read_to_string(folder.path().join("counted")).ok()?;
        let count: f64 = counted.split("Collected :").nth(1)?.split_whitespace().next()?.parse().ok()?;
        let threads = if self.case.program == Program::Threads { THREADS } else { 1 };
        Some(count / (iterations as f64 * f64::from(threads)))
    }

    fn name(&self) -> &str {
        self.library.map_or("alone", |library| &library.name)
    }
}
