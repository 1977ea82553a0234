//! Where in the code calls are made, as programs log it themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Launch, Mpi, Run, answer, check, execute, fetched, library, root};
use serde_json::Value;

/// Rank, label of the communicator, operation, function, line.
type Place = (u64, String, String, String, u64);
/// Calls, bytes sent, bytes received.
type Counts = (u64, u64, u64);
type Log = BTreeMap<Place, Counts>;

fn add(log: &mut Log, place: Place, (calls, sent, received): Counts) {
    let counts = log.entry(place).or_default();
    *counts = (counts.0 + calls, counts.1 + sent, counts.2 + received);
}

/// What the program says that it does: `@ rank label operation function line sent received`.
fn logged(text: &str) -> Log {
    let mut log = Log::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("@ ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [rank, label, op, function, line, sent, received] = words[..] else { panic!("{line}") };
        let number = |word: &str| word.parse().expect("a number");
        let place = (number(rank), label.to_owned(), op.to_owned(), function.to_owned(), number(line));
        add(&mut log, place, (1, number(sent), number(received)));
    }
    assert!(!log.is_empty(), "{text}");
    log
}

fn through(profile: &Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(common::through());
    let done = execute(command.args(arguments).arg(profile).args(["--format", "json"]));
    assert!(done.status.success(), "{arguments:?}: {}{}", done.stdout, done.stderr);
    serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", done.stdout))
}

/// The program's own names of communicators.
fn labels(profile: &Path) -> BTreeMap<String, String> {
    let named = "SELECT comm, CASE WHEN comm = 'W0.0' THEN 'WORLD' WHEN comm GLOB 'S*' THEN 'SELF' ELSE coalesce(label, comm) END \
                 FROM communicators";
    answer(profile, named).iter().filter_map(|line| line.split_once('|')).map(|(a, b)| (a.into(), b.into())).collect()
}

/// What `--sites` says, all of it in the file of this name.
fn seen(profile: &Path, file: &str) -> Log {
    seen_of(profile, file, |_| true)
}

fn seen_of(profile: &Path, file: &str, is_wanted: impl Fn(&str) -> bool) -> Log {
    let labels = labels(profile);
    let mut log = Log::new();
    let answer = through(profile, &["sites", "-a"]);
    let rows = answer["sites"].as_array().expect("an array").iter();
    for row in rows.filter(|row| is_wanted(row["op"].as_str().unwrap_or_default())) {
        let text = |field: &str| row[field].as_str().unwrap_or_else(|| panic!("no {field}: {row}")).to_owned();
        let number = |field: &str| row[field].as_u64().unwrap_or_else(|| panic!("no {field}: {row}"));
        let site = text("site");
        let (at, line) = site.rsplit_once(':').unwrap_or_else(|| panic!("no line: {row}"));
        assert_eq!(at, file, "{row}");
        let place = (
            number("rank"),
            labels[&text("comm")].clone(),
            text("op"),
            own_name(&text("function")),
            line.parse().unwrap(),
        );
        add(&mut log, place, (number("calls"), number("bytes_sent"), number("bytes_recv")));
    }
    log
}

/// A function's name as the language has it in `__func__` and the like: without a namespace, a class, arguments.
fn own_name(function: &str) -> String {
    let bare = function.split('(').next().unwrap_or(function);
    // Lambdas are operators of a type without a name.
    if function.contains("{lambda") || function.contains("operator()") {
        return "operator()".to_owned();
    }
    bare.rsplit([':', '.']).next().unwrap_or(bare).to_owned()
}

fn compiled(mpi: Mpi, folder: &Path, source: &str, flags: &[&str]) -> PathBuf {
    mpi.demand();
    let programs = root().join("tests/programs");
    let compiler = match source.ends_with(".cpp") {
        true => mpi.compiler().replace("mpicc", "mpicxx"),
        false => mpi.compiler().to_owned(),
    };
    let program = folder.join("program");
    let made = execute(
        Command::new(&compiler)
            .args(["-g", "-Wno-stringop-overflow", "-Wno-stringop-overread", "-pthread"])
            .args(flags)
            .arg(programs.join(source))
            .arg("-o")
            .arg(&program),
    );
    assert!(made.status.success(), "{compiler} {source}:\n{}", made.stderr);
    program
}

fn holds(mpi: Mpi, source: &str, flags: &[&str], frames: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compiled(mpi, folder.path(), source, flags);
    let log = folder.path().join("log");
    let launch = Launch::of(mpi, program).preload(library()).ranks(4).variable("COMMSEE_SITES", frames);
    let run = launch.variable("LINES_LOG", log.to_str().expect("a path in UTF-8")).run().succeeded();
    let what = format!("{mpi} {flags:?} {frames}");
    compare(&logged(&std::fs::read_to_string(&log).expect("the log")), &seen(&run.profile_path(), source), &what);
    check_sums(&run.profile_path(), &what);
}

/// In both directions.
fn compare(logged: &Log, seen: &Log, what: &str) {
    for (place, counts) in logged {
        assert_eq!(seen.get(place), Some(counts), "{what}: {place:?}");
    }
    for (place, counts) in seen {
        assert_eq!(logged.get(place), Some(counts), "{what}: {place:?}");
    }
}

/// Of programs that do not log all calls: those of operations that they do.
fn compare_logged(run: &Run, file: &str, what: &str) {
    let logged = logged(&run.stdout);
    let operations: BTreeSet<&str> = logged.keys().map(|(_, _, op, ..)| op.as_str()).collect();
    compare(&logged, &seen_of(&run.profile_path(), file, |op| operations.contains(op)), what);
}

/// A function that ends in a call may leave its frame to what it calls: then nobody knows that it was there.
const FRAMES: &str = "-fno-optimize-sibling-calls";

#[test]
fn each_line_of_a_c_program_made_the_calls_that_it_logs() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich] {
        holds(mpi, "lines.c", &["-O0"], "1");
        holds(mpi, "lines.c", &["-O2", "-fomit-frame-pointer", FRAMES], "1");
        holds(mpi, "lines.c", &["-O3", "-no-pie", "-fno-pie", FRAMES], "8");
    }
}

#[test]
fn calls_that_a_program_leaves_by_a_jump_are_charged_to_their_own_lines() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich] {
        for frames in ["1", "2"] {
            holds(mpi, "lines_left.c", &["-O1", FRAMES], frames);
        }
    }
}

/// A call over several requests is counted before it leaves its level, above which another one may have been left. With a timeline it takes the full path.
#[test]
fn waits_behind_those_that_a_program_leaves_by_a_jump_are_charged_to_their_own_lines() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = compiled(mpi, folder.path(), "lines_waits.c", &["-O1", FRAMES]);
        for trace in ["0", "1"] {
            let launch = Launch::of(mpi, program.clone()).preload(library()).variable("COMMSEE_SITES", "1");
            let run = launch.variable("COMMSEE_TRACE", trace).run().succeeded();
            compare_logged(&run, "lines_waits.c", &format!("{mpi} timeline {trace}"));
        }
    }
}

#[test]
fn each_line_of_a_cpp_program_made_the_calls_that_it_logs() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich] {
        holds(mpi, "lines.cpp", &["-O0"], "1");
        holds(mpi, "lines.cpp", &["-O2", FRAMES], "3");
    }
}

#[test]
fn each_line_of_a_fortran_program_made_the_calls_that_it_logs() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich] {
        for interface in ["1", "2", "3"] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let source = root().join("tests/programs/lines.F90");
            let program = folder.path().join("program");
            // Optimized, gfortran gives calls the first line of their procedure.
            let flags = ["-g", "-O0", "-ffree-line-length-none", "-fallow-argument-mismatch"];
            let mut compiler = Command::new(mpi.fortran_compiler());
            compiler.args(flags).arg(format!("-DINTERFACE={interface}")).arg("-J").arg(folder.path());
            let made = execute(compiler.arg(source).arg("-o").arg(&program));
            assert!(made.status.success(), "{}", made.stderr);
            let launch = Launch::of(mpi, program).preload(library()).ranks(4).variable("COMMSEE_SITES", "1");
            compare_logged(&launch.run().succeeded(), "lines.F90", &format!("{mpi} interface {interface}"));
        }
    }
}

/// Under the wheel of mpi4py, which `./test` fetches to where `COMMSEE_MPI4PY_WHEEL` says.
#[test]
fn each_line_of_a_python_program_made_the_calls_that_it_logs() {
    let Some(wheel) = fetched("COMMSEE_MPI4PY_WHEEL") else { return };
    let script = root().join("tests/programs/lines.py");
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Debian calls MPICH's library by another name than MPICH does.
    let link = folder.path().join("libmpi.so.12");
    std::os::unix::fs::symlink(common::library_file(Mpi::Mpich), &link).expect("a link");
    let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
    for (mpi, abi) in [(Mpi::OpenMpi, "openmpi"), (Mpi::Mpich, "mpich")] {
        for frames in ["1", "4"] {
            let mut launch = Launch::of(mpi, common::interpreter()).preload(library()).ranks(4);
            launch = launch.arguments(&[&text(&script)]).variable("PYTHONPATH", &text(&wheel));
            launch = launch.variable("MPI4PY_MPIABI", abi).variable("COMMSEE_SITES", frames);
            if mpi == Mpi::Mpich {
                launch = launch.variable("MPI4PY_LIBMPI", &text(&link));
                launch = launch.variable("LD_LIBRARY_PATH", &text(folder.path()));
            }
            compare_logged(&launch.run().succeeded(), "lines.py", &format!("{mpi} Python {frames}"));
        }
    }
}

/// A timeline has the site of each call.
#[test]
fn events_have_the_sites_of_their_calls() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = compiled(mpi, folder.path(), "lines.c", &["-O1"]);
        let launch = Launch::of(mpi, program).preload(library()).ranks(2).variable("COMMSEE_SITES", "2");
        let run = launch.variable("COMMSEE_TRACE", "1").run().succeeded();
        let events =
            "SELECT op, site, rank, count(*) FROM event WHERE kind = 0 GROUP BY op, site, rank ORDER BY op, site, rank";
        // The begin and the end of MPI, and its control, are no events.
        let calls = "SELECT op, site, rank, sum(calls) FROM call_site WHERE op IN (SELECT op FROM event) \
                     GROUP BY op, site, rank ORDER BY op, site, rank";
        let path = run.profile_path();
        assert_eq!(answer(&path, events), answer(&path, calls), "{mpi}");
        assert!(answer(&path, events).len() > 30, "{mpi}");
    }
}

/// Counts by call site add up to what is counted without, and nothing else is counted otherwise.
#[test]
fn whatever_is_counted_is_counted_at_a_site() {
    for (at, mpi) in Mpi::ALL.into_iter().enumerate() {
        let programs = [
            ("p2p", 2, &[][..]),
            ("collectives", 4, &[]),
            ("completion", 4, &[]),
            ("creators", 4, &[]),
            ("persistent", 2, &[]),
            ("rma", 4, &[]),
            ("io", 2, &[]),
            ("nested", 2, &[]),
            ("requests", 2, &[]),
            ("phases", 2, &[]),
            ("alternating", 2, &["2000"]),
            ("turns", 2, &["100"]),
        ];
        for (program_at, (program, ranks, arguments)) in programs.into_iter().enumerate() {
            // By turns, so that each is counted both ways.
            let frames = ["1", "3"][(at + program_at) % 2];
            let launch = Launch::new(mpi, program).ranks(ranks).with_windows();
            let run = launch.arguments(arguments).variable("COMMSEE_SITES", frames).run().succeeded();
            check(&run);
            check_sums(&run.profile_path(), &format!("{mpi} {program} {frames}"));
        }
    }
}

/// Call sites that take turns, of which a thread remembers many at once.
#[test]
fn sends_that_take_turns_are_counted_at_their_sites() {
    for mpi in Mpi::ALL {
        for (ranks, orders) in [(1, "1500"), (2, "150")] {
            let launch = Launch::new(mpi, "turns").ranks(ranks).arguments(&[orders]).variable("COMMSEE_SITES", "1");
            let run = launch.run().succeeded();
            check(&run);
            let mut made: Vec<u64> =
                run.stdout.lines().filter_map(|line| line.strip_suffix(" sends")?.parse().ok()).collect();
            made.sort_unstable();
            let of_sites =
                "SELECT sum(calls) FROM call_sites WHERE op = 'MPI_Send' AND rank = 0 GROUP BY id ORDER BY 1";
            let counted = answer(&run.profile_path(), of_sites);
            let made: Vec<String> = made.iter().map(u64::to_string).collect();
            assert_eq!((made.len(), counted), (16, made), "{mpi}, {ranks} ranks");
        }
    }
}

fn check_sums(profile: &Path, what: &str) {
    // The view `profile` has [v,w] forms in the first bucket, whatever their size.
    let cells = "(SELECT c.name AS comm, o.name AS op, b.lo AS bucket_lo, h.name AS phase, x.rank, x.calls, x.bytes_sent, x.bytes_recv \
                 FROM cells x JOIN communicator c ON c.id = x.comm JOIN operation o ON o.id = x.op JOIN bucket b ON b.id = x.bucket \
                 JOIN phase h ON h.id = x.phase)";
    let sums = |table: &str, key: &str| {
        let of = "sum(calls), sum(bytes_sent), sum(bytes_recv)";
        answer(profile, &format!("SELECT {key}, {of} FROM {table} GROUP BY {key} ORDER BY {key}"))
    };
    let by_size = "comm, op, bucket_lo, coalesce(phase, ''), rank";
    assert_eq!(sums("call_sites", by_size), sums(cells, by_size), "{what}");
    let by_op = "comm, op, coalesce(phase, ''), rank";
    assert_eq!(sums("call_sites", by_op), sums("profile", by_op), "{what}");
}
