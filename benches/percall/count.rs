//! Counts the instructions of cases with valgrind's callgrind. Those of one program and environment are counted in one
//! process, one after the other, because a start of an MPI program under valgrind takes seconds. Only what happens
//! inside of the timed loops is counted: beginning and end of an MPI program differ by tens of thousands of
//! instructions from run to run.

use std::fs;
use std::path::Path;

use super::cases::{CYCLES, Case, Length, Program, Recording, THREADS};
use super::common::{Library, Mpi, note, output_of, place};
use super::job::{Job, Programs};

/// Iterations of a case: each of 64 communicators has its turn three times.
const ITERATIONS: u32 = 192;

/// Has the C library keep what is freed, in reach of a few instructions. Otherwise it looks for room, and how long depends on what was freed
/// before: one duplication took 200 instructions more in one process than in another.
const ALLOCATOR: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=2000");

/// By which a program in C tells callgrind when to begin (benches/timing.h).
const HEADER: &str = "/usr/include/valgrind/callgrind.h";

/// Whether a count would tell anything.
pub fn is_counted(case: &Case) -> bool {
    // Ranks that wait for each other spin. The longest case is a shorter one again.
    case.program != Program::Pair && case.length != Length::Fixed(CYCLES, 1)
}

/// Instructions per iteration, of one thread; in the order of the cases.
pub fn instructions(
    mpi: Mpi,
    programs: &Programs,
    library: Option<&Library>,
    cases: &[&'static Case],
) -> Vec<Option<f64>> {
    let mut found = vec![None; cases.len()];
    let job = |case: &Case| Job { mpi, program: case.program, recording: environment(mpi, case, library), library };
    let launches = library.is_some_and(|library| !library.launcher.is_empty()); // its command would be counted
    let countable = |at: &usize| !launches && is_counted(cases[*at]) && job(cases[*at]).makes_sense();
    let mut left: Vec<usize> = (0..cases.len()).filter(countable).collect();
    while let Some(first) = left.first() {
        let job = job(cases[*first]);
        let alike =
            |at: &usize| (cases[*at].program, environment(mpi, cases[*at], library)) == (job.program, job.recording);
        let (group, others): (Vec<usize>, Vec<usize>) = left.into_iter().partition(alike);
        left = others;
        let mut words: Vec<&str> = Vec::new();
        for at in &group {
            if !words.contains(&cases[*at].word) {
                words.push(cases[*at].word);
            }
        }
        let mut counts = count(&job, programs, &words);
        if counts.is_none() && words.len() > 1 {
            // A library that fails in one case is measured in the others.
            counts = Some(words.iter().map(|word| count(&job, programs, &[word])?[0]).collect());
        }
        for at in group {
            let word = words.iter().position(|word| *word == cases[at].word).expect("a word of the group");
            found[at] = counts.as_ref().and_then(|counts| counts[word]);
        }
    }
    found
}

/// What sets a process apart. Without a library all variables come to the same, and a pause needs none.
fn environment(mpi: Mpi, case: &Case, library: Option<&Library>) -> Recording {
    match case.recording {
        Recording::Module if mpi == Mpi::OpenMpi => Recording::Module, // over UCX then
        recording if library.is_some() && recording.variable().is_some() => recording,
        _ => Recording::On,
    }
}

/// None where the program fails; a count is none where callgrind leaves none.
fn count(job: &Job, programs: &Programs, words: &[&str]) -> Option<Vec<Option<f64>>> {
    let mut command = job.launcher();
    command.env(ALLOCATOR.0, ALLOCATOR.1);
    if job.mpi == Mpi::OpenMpi {
        // Otherwise it looks for events every ten milliseconds.
        command.args(["--mca", "mpi_event_tick_rate", "0"]);
    }
    job.preload(&mut command);
    command.args(["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=counted"]);
    if job.program != Program::Fortran && Path::new(HEADER).exists() {
        command.arg("--instr-atstart=no"); // the program says when
    }
    command.args(["--toggle-collect=timed_loop*", "--dump-before=say_result*"]);
    command.arg(programs.of(job.program)?).args([words.join(","), ITERATIONS.to_string(), "1".to_owned()]);
    let threads = if job.program == Program::Threads { THREADS } else { 1 };
    if threads > 1 {
        command.arg("in_turn");
    }
    let folder = place();
    if let Err(why) = output_of(&command, folder.path()) {
        note(&format!("instructions of {} {}: {why}", job.library_name(), words.join(",")));
        return None;
    }
    // `counted.1` has what came before the first result, and so on.
    let per_iteration =
        |number| Some(total(&folder.path().join(format!("counted.{number}")))? / f64::from(ITERATIONS * threads));
    Some((1..=words.len()).map(per_iteration).collect())
}

fn total(file: &Path) -> Option<f64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}
