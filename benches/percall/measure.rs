//! Runs the cases, in turns, and counts their instructions.

use std::path::Path;

use super::cases::{CASES, Case, FLOOR, Length, Program, THREADS_FLOOR};
use super::common::{
    Library, Mpi, Usage, installed, median, note, number, output_of, place, processor_model, processors,
};
use super::count::instructions;
use super::figures::{Figures, Floor, Measured, Row};
use super::job::{self, Job, Programs};

pub fn measure(mpi: Mpi, libraries: &[Library], wanted: impl Fn(&Case) -> bool) -> Option<Measured> {
    let usage = Usage::now();
    let rounds = number("ROUNDS", 5);
    let bench = Bench { mpi, programs: Programs::compiled(mpi)?, iterations: number("ITERATIONS", 300_000) };
    let clock = job::floor(mpi)?;
    // What every case is run under: nothing, the floor, each library.
    let under: Vec<Option<&Library>> = [None, Some(&clock)].into_iter().chain(libraries.iter().map(Some)).collect();
    let mut floor = Arm::new(&bench, &FLOOR, None)?;
    let arms_of = |case| under.iter().map(|library| Arm::new(&bench, case, *library)).collect::<Option<Vec<Arm>>>();
    let mut arms: Vec<Vec<Arm>> = CASES.iter().filter(|case| wanted(case)).filter_map(arms_of).collect();
    let threads = arms.iter().any(|arms| arms[0].case.program == Program::Threads);
    let mut threads_floor = Arm::new(&bench, &THREADS_FLOOR, None).filter(|_| threads);
    for _ in 0..rounds {
        floor.run();
        threads_floor.iter_mut().for_each(Arm::run);
        arms.iter_mut().flatten().for_each(Arm::run);
    }
    let others = usage.share_of_others();
    let cases: Vec<&Case> = arms.iter().map(|arms| arms[0].case).collect();
    let counted: Vec<Vec<Option<f64>>> = match installed("valgrind", "valgrind") {
        true => under.iter().map(|library| instructions(mpi, &bench.programs, *library, &cases)).collect(),
        false => vec![vec![None; cases.len()]; under.len()],
    };
    let row = |(at, arms): (usize, Vec<Arm>)| -> Option<Row> {
        let mut figures = arms.iter().zip(&counted).map(|(arm, counted)| arm.figures(counted[at]));
        let (alone, floor) = (figures.next()??, figures.next()?);
        Some(Row { case: arms[0].case, alone, floor, with: figures.collect() })
    };
    Some(Measured {
        processor: processor_model(),
        version: bench.programs.version(mpi)?,
        rounds,
        others,
        floor: Floor { ns: floor.figures(None)?.ns, ticks: floor.remark("ticks")?.parse().ok()? },
        threads_floor_ns: threads_floor.as_ref().and_then(|arm| arm.figures(None)).map(|figures| figures.ns),
        pinned: threads_floor.and_then(|arm| arm.remark("pinned").map(str::to_owned)),
        libraries: libraries.iter().map(|library| library.name.clone()).collect(),
        rows: arms.into_iter().enumerate().filter_map(row).collect(),
    })
}

struct Bench {
    mpi: Mpi,
    programs: Programs,
    iterations: usize,
}

/// A case with a library, or alone.
struct Arm<'a> {
    bench: &'a Bench,
    case: &'static Case,
    job: Job<'a>,
    program: &'a Path,
    fastest_ns: Vec<f64>,
    grown_bytes: Vec<f64>,
    /// Of its last run: `key: value`.
    remarks: Vec<String>,
    failed: bool,
}

impl<'a> Arm<'a> {
    fn new(bench: &'a Bench, case: &'static Case, library: Option<&'a Library>) -> Option<Arm<'a>> {
        if case.program == Program::Pair && processors().len() < 2 {
            return None;
        }
        let job = Job { mpi: bench.mpi, program: case.program, recording: case.recording, library };
        let program = bench.programs.of(case.program)?;
        let (fastest_ns, grown_bytes, remarks) = (Vec::new(), Vec::new(), Vec::new());
        Some(Arm { bench, case, job, program, fastest_ns, grown_bytes, remarks, failed: !job.makes_sense() })
    }

    fn run(&mut self) {
        if self.failed {
            return;
        }
        let (iterations, repetitions) = match self.case.length {
            Length::Share(share, times) => (self.bench.iterations.div_ceil(share), times),
            Length::Fixed(iterations, times) => (iterations, times),
        };
        let mut command = self.job.launcher();
        if matches!(self.case.program, Program::C | Program::Fortran) {
            // Not the first, which serves most interrupts.
            command.args(["taskset", "-c", &processors().last().copied().unwrap_or(0).to_string()]);
        }
        self.job.preload(&mut command);
        command.args(self.job.library.iter().flat_map(|library| &library.launcher)).arg(self.program);
        command.args([self.case.word, &iterations.to_string(), &repetitions.to_string()]);
        let read = output_of(&command, place().path()).and_then(|said| self.read(&said).ok_or(said));
        if let Err(why) = read {
            self.failed = true;
            note(&format!("{} {}: {why}", self.job.library_name(), self.case.name));
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

    fn figures(&self, instructions: Option<f64>) -> Option<Figures> {
        (!self.failed && !self.fastest_ns.is_empty()).then(|| Figures {
            // Whatever disturbs a repetition makes it longer.
            ns: self.fastest_ns.iter().copied().fold(f64::INFINITY, f64::min),
            grown_bytes: median(&self.grown_bytes),
            instructions,
        })
    }
}
