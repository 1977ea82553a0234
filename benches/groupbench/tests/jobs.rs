//! Real jobs, under the MPI library that this was compiled for. No test asks how long anything took.

#[allow(dead_code)]
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{PROGRAM, alone, built, done, is_open_mpi, launcher, launcher_words, once, profiled, right, run};
use rusqlite::Connection;

const ALL: &str =
    "twosided,persistent,put,get,shared,scatter,alltoall,alltoallv,partitioned,shared/twosided,twosided/put";

#[test]
fn mpi_gives_the_level_of_thread_support_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.db");
    for level in ["single", "funneled", "serialized", "multiple"] {
        let words = ["-g", "1", "--bytes", "8", "--reps", "7", "--thread-level", level, "-o", file.to_str().unwrap()];
        run(2, &words).succeeded();
        let opened = Connection::open(&file).unwrap();
        let latest = "SELECT value FROM bench_environment WHERE key = 'thread_level' ORDER BY run DESC LIMIT 1";
        assert_eq!(opened.query_row(latest, [], |row| row.get::<_, String>(0)).unwrap(), level);
    }
}

#[test]
fn every_library_moves_every_pattern() {
    let words = [
        "-g",
        "2",
        "-k",
        "1:",
        "--family",
        "rail,fan,dense,self",
        "--direction",
        "uni,bi,omni,in",
        "--bytes",
        "0,1001",
        "--library",
        ALL,
    ];
    let (rows, left_out) = right(4, &words);
    let libraries: BTreeSet<&str> = rows.iter().map(|row| row[5].as_str()).collect();
    let expected: BTreeSet<&str> = ALL.split(',').filter(|name| *name != "partitioned" || !is_open_mpi()).collect();
    assert!(expected.is_subset(&libraries), "{libraries:?}");
    // What was measured and what was left out is all that there is: 3 families × 4 directions − 1 (fan omni) + self, 2 k, 2 sizes, 11 libraries.
    let said = left_out.lines().filter(|line| line.contains("left out:")).count();
    assert_eq!(rows.len() + said, 12 * 2 * 2 * 11);
    // Patterns that messages can do at all can be done by messages.
    for name in ["twosided", "persistent", "put", "get", "shared", "alltoallv", "shared/twosided", "twosided/put"] {
        assert_eq!(rows.iter().filter(|row| row[5] == name).count(), 12 * 2 * 2, "{name}");
    }
}

#[test]
fn other_numbers_of_ranks_and_groups() {
    for (ranks, g) in [(2, "1"), (6, "2"), (8, "4")] {
        right(
            ranks,
            &["-g", g, "--family", "rail,dense", "--direction", "omni", "--bytes", "1001", "--library", "twosided,put"],
        );
    }
    // One rank is left over.
    right(5, &["-g", "2", "--family", "fan", "--bytes", "100", "--library", "twosided,alltoallv,shared,get"]);
}

#[test]
fn ways_to_begin_together_and_cold_buffers() {
    for (sync, ranks) in [("barrier", 3), ("dissemination", 3), ("window", 2)] {
        let words = ["-g", "1", "--sync", sync, "--bytes", "64", "--reps", "8", "--format", "csv", "--cold"];
        let rows = run(ranks, &words).succeeded().rows().len();
        // On a busy machine a rank may come late to many windows: then it ends with what it has.
        assert!(rows == 8 || sync == "window" && rows > 0, "{sync}: {rows}");
    }
}

#[test]
fn columns_are_those_that_are_promised() {
    let words = ["-g", "1", "--bytes", "8", "--reps", "7", "--warm-up", "1", "--format", "csv"];
    let samples = run(2, &words).succeeded();
    assert_eq!(
        samples.stdout.lines().next(),
        Some("family,direction,n,g,k,library,bytes,step,launch,rep,time_s,wrong")
    );
    let rows = samples.rows();
    assert_eq!(rows.len(), 7);
    for (rep, row) in rows.iter().enumerate() {
        assert_eq!(row[..10].join(","), format!("rail,uni,2,1,1,twosided,8,0,0,{rep}"));
        assert!(row[10].parse::<f64>().unwrap() > 0.0);
    }
    let summary = run(2, &[&words[..], &["--summary"]].concat()).succeeded();
    assert_eq!(
        summary.stdout.lines().next(),
        Some(
            "family,direction,n,g,k,library,bytes,step,min_s,median_s,ci_lo_s,ci_hi_s,mean_s,p95_s,p99_s,max_s,reps,stopped,oversubscribed,wrong"
        )
    );
    let rows = summary.rows();
    assert_eq!(rows.len(), 1);
    let number = |column: usize| rows[0][column].parse::<f64>().unwrap();
    // min, interval, median, p95, p99, max stand in their order.
    let order = [8, 10, 9, 11, 15].map(number);
    assert!(order.is_sorted(), "{rows:?}");
    assert!([9, 13, 14, 15].map(number).is_sorted(), "{rows:?}");
    assert_eq!(rows[0][16..18], ["7", "reps"]);
}

#[test]
fn a_file_of_measurements_has_runs_results_and_samples() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.db");
    let words = ["-g", "2", "-k", "1:2", "--bytes", "8,64", "--reps", "7", "-o", file.to_str().unwrap()];
    run(4, &words).succeeded();
    run(4, &words).succeeded();
    let opened = Connection::open(&file).unwrap();
    let number = |query: &str| opened.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("SELECT count(*) FROM bench_run WHERE state = 'complete' AND ranks = 4 AND hosts = 1"), 2);
    assert_eq!(number("SELECT group_concat(launch) = '0,1' FROM (SELECT launch FROM bench_run ORDER BY id)"), 1);
    assert_eq!(number("SELECT count(*) FROM bench_result WHERE reps = 7 AND wrong = 0 AND half_trip_s > 0"), 8);
    assert_eq!(number("SELECT count(*) FROM bench_sample"), 8 * 7);
    assert_eq!(number("SELECT count(*) FROM bench_rank WHERE group_no = rank / 2 AND group_rank = rank % 2"), 8);
    // rail k=1: ranks 0 and 2; k=2: all four. Two sizes, two launches.
    assert_eq!(number("SELECT count(*) FROM bench_rank_time"), 2 * 2 * (2 + 4));
    assert_eq!(number("SELECT count(*) FROM bench_environment WHERE key = 'mpi' AND value LIKE '%MPI%'"), 2);
    assert_eq!(number("SELECT count(*) FROM bench_environment WHERE key = 'thread_level' AND value = 'single'"), 2);
    let ordered = "SELECT count(*) FROM bench_result WHERE min_s <= ci_lo_s AND ci_lo_s <= median_s AND median_s <= ci_hi_s AND ci_hi_s <= max_s
                   AND p95_s <= p99_s AND span_s > 0 AND skew_s >= 0";
    assert_eq!(number(ordered), 8);
    assert_eq!(
        number(
            "SELECT count(*) FROM bench_result WHERE bytes = 64 AND k = 2 AND total_bytes = 128 AND group_bytes = 128 AND rank_bytes = 64"
        ),
        2
    );
}

#[test]
fn an_interrupted_run_keeps_what_it_has_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.db");
    let words = [
        "run",
        "-g",
        "1",
        "--bytes",
        "1:64K",
        "--library",
        "twosided,persistent,put",
        "--reps",
        "20",
        "-o",
        file.to_str().unwrap(),
    ];
    let guard = alone();
    let mut job = launcher(2).arg(PROGRAM).args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let results = || {
        let opened = Connection::open(&file).ok()?;
        opened.query_row("SELECT count(*) FROM bench_result", [], |row| row.get::<_, i64>(0)).ok()
    };
    let begun = Instant::now();
    while results().unwrap_or(0) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(120), "no result comes");
        std::thread::sleep(Duration::from_millis(2));
    }
    // SAFETY: a child that was not waited for.
    unsafe { libc::kill(job.id() as i32, libc::SIGTERM) };
    let _ = job.wait();
    drop(guard);
    let kept = results().unwrap();
    assert!(kept > 0);
    let opened = Connection::open(&file).unwrap();
    // The last result may be there before the run is over.
    let state: String = opened.query_row("SELECT state FROM bench_run", [], |row| row.get(0)).unwrap();
    if state != "complete" {
        run(2, &[&words[1..], &["--resume"]].concat()).succeeded();
    }
    let number = |query: &str| opened.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("SELECT count(DISTINCT bytes || library) FROM bench_result WHERE reps = 20"), 51);
    assert_eq!(number("SELECT count(*) FROM bench_result"), 51);
    assert_eq!(number("SELECT count(*) FROM bench_run"), 1);
    // There is nothing left to go on with.
    let again = run(2, &[&words[1..], &["--resume"]].concat());
    assert_eq!(again.status, Some(2), "{}", again.stderr);
    assert!(again.stderr.contains("no interrupted run with these options"), "{}", again.stderr);
}

#[test]
fn launches_are_started_by_the_program_itself() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.db");
    let _alone = alone();
    let mut command = Command::new(PROGRAM);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1").stdin(Stdio::null());
    command.args([
        "run",
        "--launcher",
        &launcher_words(2).join(" "),
        "--launches",
        "3",
        "-g",
        "1",
        "--bytes",
        "8",
        "--reps",
        "6",
    ]);
    assert_eq!(command.arg("-o").arg(&file).output().unwrap().status.code(), Some(0));
    let opened = Connection::open(&file).unwrap();
    let launches: i64 =
        opened.query_row("SELECT count(DISTINCT launch) FROM bench_sample", [], |row| row.get(0)).unwrap();
    assert_eq!(launches, 3);
}

#[test]
fn what_cannot_be_done_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (foreign, pattern, missing) = (path("foreign.db"), path("pattern.csv"), path("missing"));
    fs::write(&foreign, "no database").unwrap();
    fs::write(&pattern, "src,dst,bytes\n0,7,1\n").unwrap();
    for (words, expected) in [
        (vec!["--family", "fan", "--direction", "omni", "-g", "1"], "fan has no omnidirectional form"),
        (vec!["-g", "1", "-k", "2"], "-k 2 of groups of 1 ranks"),
        (vec!["-g", "2", "-n", "2"], "start 4 ranks or more"),
        (vec!["--groups", "node"], "needs two or more"),
        (vec!["--groups", &missing, "-g", "1"], "node, numa, socket"),
        (vec!["-g", "1", "--bytes", "40T"], "nothing could be measured"),
        (vec!["-g", "1", "-o", &foreign], "no file of measurements; it is left as it is"),
        (vec!["--pattern", &pattern], "8 ranks, and there are 2"),
        (vec!["--pattern", &missing], "No such file"),
        (vec!["-g", "1", "--family", "self", "--library", "scatter", "--bytes", "8"], "nothing could be measured"),
    ] {
        let done = run(2, &words);
        assert_eq!(done.status, Some(2), "{words:?}: {}{}", done.stdout, done.stderr);
        let said =
            done.stderr.lines().filter(|line| line.starts_with("groupbench: ") && line.contains(expected)).count();
        assert_eq!(said, 1, "{words:?}: {}", done.stderr);
    }
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "no database");
}

#[test]
fn where_there_is_no_gpu_that_is_said() {
    if std::path::Path::new("/dev/nvidiactl").exists() {
        eprintln!("left out: a machine without a GPU (this one has one)");
        return;
    }
    // An MPI library without CUDA, as Debian's are, would not even be given memory of a GPU that is there.
    for (library, more, why) in [
        ("nccl", None, ""),
        ("shared@gpu", None, ""),
        (
            "twosided@gpu",
            None,
            "the MPI library reports no CUDA support; if it is CUDA-aware, pass --cuda-aware (rank 0)",
        ),
        ("nccl/twosided", None, "the MPI library reports no CUDA support"),
        ("twosided@gpu", Some("--cuda-aware"), "memory of a GPU: "),
    ] {
        let libraries = format!("{library},twosided");
        let mut words = vec!["-g", "1", "--bytes", "8", "--library", &libraries];
        words.extend(more);
        let done = run(2, &once(&words)).succeeded();
        assert_eq!(done.rows().len(), 1, "{library}");
        let left: Vec<&str> = done.stderr.lines().filter(|line| line.contains("left out:")).collect();
        let named = format!(" {library} 8: ");
        assert!(left.len() == 1 && left[0].contains(&named) && left[0].contains(why), "{library}: {}", done.stderr);
    }
}

#[test]
fn planted_faults_are_found() {
    let example = std::path::Path::new(PROGRAM).parent().unwrap().join("examples/planted");
    let _alone = alone();
    // How well a barrier works here is chance: nothing is asked of the flag where no skew is planted.
    for (fault, expected) in [("none", "wrong=0 "), ("wrong", "wrong=1 "), ("skew", "wrong=0 flag=skew")] {
        let done = done(launcher(2).arg(&example).arg(fault).output().unwrap()).succeeded();
        assert!(done.stdout.starts_with(expected), "{fault}: {}", done.stdout);
    }
}

/// Source, destination and bytes of what was sent over the communicator of that label.
fn matrix(profile: &std::path::Path, label: &str) -> BTreeMap<(i64, i64), i64> {
    let opened = Connection::open(profile).unwrap();
    let mut statement = opened
        .prepare(
            "SELECT src, dst, sum(bytes) FROM matrix JOIN communicators USING (comm) WHERE label = ? GROUP BY 1, 2",
        )
        .unwrap();
    let rows = statement.query_map([label], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?))).unwrap();
    rows.map(|row| row.unwrap()).filter(|(_, bytes)| *bytes > 0).collect()
}

#[test]
fn a_profile_counts_the_bytes_of_the_pattern() {
    let folder = tempfile::tempdir().unwrap();
    for library in ["twosided", "persistent"] {
        let words = [
            PROGRAM,
            "run",
            "-g",
            "2",
            "-k",
            "2",
            "--family",
            "dense",
            "--direction",
            "omni",
            "--bytes",
            "1001",
            "--library",
            library,
            "--format",
            "json",
        ];
        let Some((done, profile)) = profiled(4, &words, folder.path()) else { return };
        let said: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        let executions = said["results"][0]["executions"].as_i64().unwrap();
        assert!(executions >= 8, "{executions}");
        let pattern = groupbench::pattern::Family::Dense
            .pairs(groupbench::pattern::Direction::Omni, groupbench::pattern::Shape { n: 2, g: 2 }, 2, 1001)
            .unwrap();
        let expected: BTreeMap<_, _> = pattern
            .into_iter()
            .map(|(source, to, bytes)| ((source as i64, to as i64), bytes as i64 * executions))
            .collect();
        assert_eq!(matrix(&profile, "groupbench"), expected, "{library}");
    }
}

#[test]
fn an_application_is_replayed_cell_by_cell() {
    let installed = |name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).exists())
    };
    // Debian's LAMMPS is one of Open MPI.
    if !is_open_mpi() || !installed("lmp") {
        eprintln!("left out: LAMMPS replayed (it is a program of Open MPI, package lammps)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let input = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/inputs/lennard_jones.lmp");
    let Some((_, profile)) = profiled(4, &["lmp", "-log", "none", "-in", input], folder.path()) else { return };
    let application = folder.path().join("application.db");
    fs::rename(&profile, &application).unwrap();
    let text = Command::new(built("through").unwrap())
        .arg("traffic")
        .arg(&application)
        .args(["--format", "csv"])
        .output()
        .unwrap();
    assert!(text.status.success());
    let pattern = folder.path().join("pattern.csv");
    fs::write(&pattern, &text.stdout).unwrap();
    let words = [
        PROGRAM,
        "run",
        "--pattern",
        pattern.to_str().unwrap(),
        "--groups",
        "g=2",
        "--reps",
        "1",
        "--warm-up",
        "0",
        "--no-verify",
        "--format",
        "csv",
    ];
    let (_, replayed) = profiled(4, &words, folder.path()).unwrap();
    let opened = Connection::open(&application).unwrap();
    let mut statement = opened.prepare("SELECT src, dst, sum(bytes) FROM matrix GROUP BY 1, 2").unwrap();
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?))).unwrap();
    let expected: BTreeMap<(i64, i64), i64> = rows.map(|row| row.unwrap()).filter(|(_, bytes)| *bytes > 0).collect();
    assert!(expected.len() >= 8, "{expected:?}");
    assert_eq!(matrix(&replayed, "groupbench"), expected);
}

#[test]
#[ignore = "heavy: messages above 2 GiB need 9 GiB of memory"]
fn messages_above_two_gibibytes_arrive() {
    right(2, &["-g", "1", "--bytes", "2200M", "--library", "twosided,persistent,put,get,shared"]);
}
