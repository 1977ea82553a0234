//! Runs the cases, in turns, and counts their instructions.

use std::path::PathBuf;
use std::process::Command;

use super::cases::{CASES, Case, FLOOR, Length, Program, Recording, THREADS, THREADS_FLOOR};
use super::common::{Library, Mpi, Usage, compiled, installed, median, note, number, output_of, place, processors};

/// What one iteration of a case costs.
pub struct Figures {
    pub ns: f64,
    pub grown_bytes: f64,
    pub instructions: Option<f64>,
}

pub struct Row {
    pub case: &'static Case,
    pub alone: Figures,
    /// By library; none where it failed.
    pub with: Vec<Option<Figures>>,
}

pub struct Measured {
    pub mpi: Mpi,
    pub rounds: usize,
    /// The share of the processors' time that went to other work on the machine.
    pub others: f64,
    pub floor_ns: f64,
    pub threads_floor_ns: Option<f64>,
    /// As the threads say it.
    pub pinned: Option<String>,
    pub rows: Vec<Row>,
}

impl Measured {
    /// What the cheapest wrapper would add to one iteration of a case.
    pub fn floor_ns(&self, case: &Case) -> Option<f64> {
        let floor = if case.program == Program::Threads { self.threads_floor_ns? } else { self.floor_ns };
        Some(floor * f64::from(case.calls))
    }
}

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
    let mut floor = Arm::new(&bench, &FLOOR, None)?;
    let mut arms: Vec<Vec<Arm>> = CASES
        .iter()
        .filter(|case| wanted(case))
        .filter_map(|case| {
            let alone = Arm::new(&bench, case, None)?;
            let with = libraries.iter().filter_map(|library| Arm::new(&bench, case, Some(library)));
            Some([alone].into_iter().chain(with).collect())
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
    let row = |mut arms: Vec<Arm>| -> Option<Row> {
        let with = arms.split_off(1).iter().map(Arm::figures).collect();
        Some(Row { case: arms[0].case, alone: arms[0].figures()?, with })
    };
    Some(Measured {
        mpi,
        rounds,
        others,
        floor_ns: floor.figures()?.ns,
        threads_floor_ns: threads_floor.as_ref().and_then(Arm::figures).map(|figures| figures.ns),
        pinned: threads_floor.and_then(|arm| arm.remark),
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
    remark: Option<String>,
    failed: bool,
}

impl<'a> Arm<'a> {
    fn new(bench: &'a Bench, case: &'static Case, library: Option<&'a Library>) -> Option<Arm<'a>> {
        let program = match case.program {
            Program::C => &bench.c,
            Program::Threads => bench.threads.as_ref()?,
            Program::Fortran => bench.fortran.as_ref()?,
        };
        // Nobody else knows the variable: to measure another library under it would be to measure it twice.
        let failed = case.recording == Recording::Disabled && library.is_some_and(|library| library.name != "commsee");
        let (fastest_ns, grown_bytes) = (Vec::new(), Vec::new());
        Some(Arm { bench, case, library, program, fastest_ns, grown_bytes, remark: None, failed })
    }

    fn run(&mut self) {
        if self.failed {
            return;
        }
        let (iterations, repetitions) = match self.case.length {
            Length::Share(share, times) => (self.bench.iterations.div_ceil(share), times),
            Length::Fixed(iterations, times) => (iterations, times),
        };
        let mut command = self.bench.mpi.single();
        if self.case.program != Program::Threads {
            // Not the first, which serves most interrupts.
            command.args(["taskset", "-c", &processors().last().copied().unwrap_or(0).to_string()]);
        }
        if let Some(library) = self.library {
            // Through env, so that only the program has it.
            command.arg("env").arg(format!("LD_PRELOAD={}", library.preload)).args(&library.launcher);
        }
        command.arg(self.program);
        self.arguments(&mut command, iterations, repetitions);
        let read = output_of(&command, place().path()).and_then(|said| self.read(&said).ok_or(said));
        if let Err(why) = read {
            self.failed = true;
            note(&format!("{} {}: {why}", self.name(), self.case.name));
        }
    }

    fn arguments(&self, command: &mut Command, iterations: usize, repetitions: usize) {
        command.args([self.case.word, &iterations.to_string(), &repetitions.to_string()]);
        match self.case.recording {
            Recording::On => {}
            Recording::Paused => _ = command.arg("paused"),
            Recording::Disabled => _ = command.env("COMMSEE_DISABLE", "1"),
        }
    }

    fn read(&mut self, said: &str) -> Option<()> {
        self.remark = said.lines().find_map(|line| line.strip_prefix("# ")).map(str::to_owned);
        let line = said.lines().find_map(|line| line.strip_prefix(self.case.word)?.strip_prefix(','))?;
        let (fastest_ns, grown_bytes) = line.split_once(',')?;
        self.fastest_ns.push(fastest_ns.trim().parse().ok()?);
        self.grown_bytes.push(grown_bytes.trim().parse().ok()?);
        Some(())
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
        let iterations = if self.case.calls > 2 { 200 } else { 1000 };
        let mut command = self.bench.mpi.single();
        if let Some(library) = self.library {
            command.arg("env").arg(format!("LD_PRELOAD={}", library.preload));
        }
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
