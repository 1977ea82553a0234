//! No case of `cargo bench --bench percall` takes more instructions than `benches/percall/instructions.csv` says. The counts
//! are those of valgrind's callgrind, which has no clock: they are the same on a busy machine. They depend on the
//! versions of the MPI library and of the compiler: the list holds for these only.

#[path = "../benches/percall/cases.rs"]
#[allow(dead_code)]
mod cases;
#[path = "../benches/common/mod.rs"]
mod common;
#[path = "../benches/percall/count.rs"]
mod count;
#[path = "../benches/percall/job.rs"]
#[allow(dead_code)]
mod job;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, thread};

use self::common::{Library, Mpi, installed};
use ::common::{library, skip};
use cases::{CASES, Case, Program, Recording};
use count::{instructions, is_counted};
use job::Programs;

const HEAD: &str = "\
# Instructions that commsee adds to an iteration of a case (callgrind). tests/instructions.rs fails where they grow by more than 2 %.
# To renew: cargo build --release && UPDATE_INSTRUCTIONS=1 cargo test --release --workspace --test instructions
mpi,rustc,case,instructions
";
/// By how much a case may grow.
const LIMIT: f64 = 1.02;
/// Where handles are addresses, it depends on these how a table is filled: the least of so many counts, each with other addresses,
/// is the same each time.
const COUNTS: usize = 5;
const SHIFT: usize = 1040;

/// By case.
type Counts = BTreeMap<&'static str, f64>;

/// What the list holds for one MPI library.
#[derive(Default)]
struct Listed {
    mpi: String,
    rustc: String,
    counts: BTreeMap<String, f64>,
}

#[test]
fn no_case_takes_more_instructions() {
    if cfg!(debug_assertions) {
        return skip("instructions of a debug build are not judged: cargo test --release");
    }
    if !installed("valgrind", "valgrind") {
        return skip("no instructions are counted: install valgrind");
    }
    let update = env::var_os("UPDATE_INSTRUCTIONS").is_some();
    let rustc = rustc_of(&library());
    let mut listed = read(&fs::read_to_string(list()).expect("the list"));
    let found: Vec<(Listed, Vec<String>)> = thread::scope(|scope| {
        let run = |mpi| {
            let (listed, rustc) = (&listed, &rustc);
            let named = thread::Builder::new().name(format!("instructions under {mpi}"));
            named.spawn_scoped(scope, move || of_library(mpi, rustc, listed, update)).expect("a thread")
        };
        let running: Vec<_> = Mpi::wanted().into_iter().map(run).collect();
        running.into_iter().map(|thread| thread.join().expect("the counts of a library")).collect()
    });
    let (found, complaints): (Vec<Listed>, Vec<Vec<String>>) = found.into_iter().unzip();
    if update {
        // Of another version of the same MPI library nothing is known any more.
        let name = |listed: &Listed| listed.mpi.rsplit_once(' ').expect("name and version").0.to_owned();
        listed.retain(|old| found.iter().all(|new| name(new) != name(old)));
        listed.extend(found);
        listed.sort_by(|a, b| b.mpi.cmp(&a.mpi));
        fs::write(list(), written(&listed)).expect("the list");
    }
    let complaints = complaints.concat();
    assert!(complaints.is_empty(), "{}\nIf that is meant, renew {}", complaints.join("\n"), list().display());
}

/// What was counted, and what is wrong with it.
fn of_library(mpi: Mpi, rustc: &str, listed: &[Listed], update: bool) -> (Listed, Vec<String>) {
    let programs = Programs::compiled(mpi).expect("the programs of benches/");
    let version = programs.version(mpi).expect("the version of the MPI library");
    let mut found = Listed { mpi: version, rustc: rustc.to_owned(), counts: BTreeMap::new() };
    let before = listed.iter().find(|listed| (&listed.mpi, &listed.rustc) == (&found.mpi, &found.rustc));
    if before.is_none() && !update {
        skip(&format!("{} has nothing on {} with rustc {rustc}", list().display(), found.mpi));
        return (found, Vec::new());
    }
    let cases: Vec<&'static Case> = CASES.iter().filter(|case| is_counted(case) && is_judged(mpi, case)).collect();
    let preload = library().display().to_string();
    let commsee = Library { name: "commsee".to_owned(), preload, launcher: Vec::new() };
    let alone = instructions(mpi, &programs, None, &cases, 0);
    let mut least = Counts::new();
    for turn in 0..COUNTS {
        let with = instructions(mpi, &programs, Some(&commsee), &cases, turn * SHIFT);
        let before_this = least.clone();
        for ((case, alone), with) in cases.iter().zip(&alone).zip(with) {
            let (Some(alone), Some(with)) = (alone, with) else {
                // It was built without UCX.
                assert!(
                    alone.is_none() && case.recording == Recording::Module,
                    "{mpi}: {} cannot be counted",
                    case.name
                );
                continue;
            };
            let least = least.entry(case.name).or_insert(f64::INFINITY);
            *least = least.min(with - alone);
        }
        let done =
            if update { least == before_this } else { before.is_some_and(|before| grown(before, &least).is_empty()) };
        if done {
            break;
        }
    }
    let complaints = if update { Vec::new() } else { before.map(|before| grown(before, &least)).unwrap_or_default() };
    found.counts = least.into_iter().map(|(case, count)| (case.to_owned(), count)).collect();
    (found, complaints)
}

fn is_judged(mpi: Mpi, case: &Case) -> bool {
    match (mpi, case.recording) {
        // The first stack of a loop is walked, which takes as long as the program's unwind tables make it.
        (_, Recording::Stacks) => false,
        (Mpi::OpenMpi, Recording::Module) => true,
        // The handles of Open MPI are addresses: where they fall in commsee's tables makes some per cent. MPICH's are numbers, and so are those of
        // requests in Fortran.
        (Mpi::OpenMpi, _) => case.program == Program::Fortran,
        _ => true,
    }
}

/// The cases that take too many.
fn grown(listed: &Listed, counts: &Counts) -> Vec<String> {
    let judge = |(case, count): (&&str, &f64)| match listed.counts.get(*case) {
        None => Some(format!("{}, {case}: not in the list", listed.mpi)),
        // The list has one decimal.
        Some(listed_count) if *count > listed_count * LIMIT + 0.05 => {
            Some(format!("{}, {case}: {count:.1} instructions, {listed_count:.1} in the list", listed.mpi))
        }
        Some(_) => None,
    };
    counts.iter().filter_map(judge).collect()
}

#[test]
fn a_case_that_grows_by_more_than_two_per_cent_is_named() {
    let listed = read(&format!("{HEAD}Open MPI 4.1.4,1.95.0,send,100.0\nOpen MPI 4.1.4,1.95.0,test,1000.0\n"));
    let of = |send, test| grown(&listed[0], &Counts::from([("send", send), ("test", test)]));
    assert_eq!(of(90.0, 1020.0), Vec::<String>::new());
    assert_eq!(of(103.0, 1000.0), ["Open MPI 4.1.4, send: 103.0 instructions, 100.0 in the list"]);
    assert_eq!(of(100.0, 1021.0), ["Open MPI 4.1.4, test: 1021.0 instructions, 1000.0 in the list"]);
    let new = Counts::from([("recv", 1.0)]);
    assert_eq!(grown(&listed[0], &new), ["Open MPI 4.1.4, recv: not in the list"]);
    assert_eq!(
        written(&listed),
        format!("{HEAD}Open MPI 4.1.4,1.95.0,send,100.0\nOpen MPI 4.1.4,1.95.0,test,1000.0\n")
    );
}

fn list() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/percall/instructions.csv")
}

fn read(text: &str) -> Vec<Listed> {
    let mut all: Vec<Listed> = Vec::new();
    for line in text.lines().skip(HEAD.lines().count()) {
        let fields: Vec<&str> = line.split(',').collect();
        let [mpi, rustc, case, count] = fields[..] else { panic!("benches/percall/instructions.csv: {line}") };
        if all.last().is_none_or(|listed| (listed.mpi.as_str(), listed.rustc.as_str()) != (mpi, rustc)) {
            all.push(Listed { mpi: mpi.to_owned(), rustc: rustc.to_owned(), ..Listed::default() });
        }
        let count = count.parse().expect("a number of instructions");
        all.last_mut().expect("one").counts.insert(case.to_owned(), count);
    }
    all
}

/// In the order of the cases.
fn written(all: &[Listed]) -> String {
    let mut text = HEAD.to_owned();
    for Listed { mpi, rustc, counts } in all {
        let place = |case: &str| CASES.iter().position(|known| known.name == case);
        let mut counts: Vec<(&String, &f64)> = counts.iter().collect();
        counts.sort_by_key(|(case, _)| place(case));
        for (case, count) in counts {
            writeln!(text, "{mpi},{rustc},{case},{count:.1}").expect("text");
        }
    }
    text
}

/// The compiler that built a library says so in it.
fn rustc_of(library: &Path) -> String {
    let bytes = fs::read(library).expect("the library");
    let text = String::from_utf8_lossy(&bytes);
    let said = text.split("rustc version ").nth(1).expect("a section .comment");
    said.split_whitespace().next().expect("a version").to_owned()
}
