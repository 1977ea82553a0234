//! What views and filters of a large profile cost: `cargo bench --bench queries [-- --ranks 1024 --comms 103 --phases 1]`
//!
//! Makes a profile in which every rank called 4 or 5 operations on every communicator, runs `through` on it several times
//! per line, and prints the median of the times, the most memory that a run held, the lines it printed, and where SQLite
//! found the numbers: in the `summary`, in `cells by rowid`, or by a `scan` of the cells. Environment: `ROUNDS` (default 5).

#[path = "../through/cli/tests/it/summed.rs"]
#[allow(dead_code)]
mod summed;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::time::Instant;
use std::{env, fs, io};

use clap::Parser;
use commsee::calls::{CALLS, outside_span};
use rusqlite::{Connection, params};

use summed::{Cells, Counted, Key};
use through::Cli;
use through_core::document::Format;
use through_core::query::catalog::Catalog;
use through_core::query::filter::Filter;
use through_core::query::open::Profile;
use through_core::query::source::Source;

const CASES: [&[&str]; 31] = [
    &[],
    &["--top=0"],
    &["--comm=W0.0"],
    &["--op=Allreduce"],
    &["-p"],
    &["--bytes=1K:"],
    &["--phase="],
    &["--rank=5"],
    &["--rank=0-15"],
    &["--time=0.05:"],
    &["--time=0.02:0.03"],
    &["--rank=0-15", "--op=Allreduce", "--time=0.01:"],
    &["--format=csv"],
    &["-u"],
    &["-u", "--comm=W0.0"],
    &["-u", "--op=Allreduce"],
    &["-u", "--rank=5"],
    &["-e"],
    &["-e", "--comm=W0.0"],
    &["-e", "--op=Allreduce"],
    &["--phases"],
    &["-a", "--comm=W0.0"],
    &["-a", "--rank=5"],
    &["-a"],
    &["-a", "--sort=time"],
    &["-a", "--format=csv"],
    &["-a", "--format=json"],
    &["waits"],
    &["waits", "--format=csv"],
    &["advise"],
    &["report"],
];

#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 1024)]
    ranks: i64,
    #[arg(long, default_value_t = 103)]
    comms: i64,
    #[arg(long, default_value_t = 1)]
    phases: i64,
    /// Only makes the profile. What a process holds counts for those that it starts, so another one does this.
    #[arg(long, hide = true)]
    make: Option<PathBuf>,
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    if let Some(path) = &arguments.make {
        make(path, &arguments);
        return Ok(());
    }
    let path = workplace().join("queries.db");
    let _ = fs::remove_file(&path);
    let made = Command::new(env::current_exe()?).arg("--make").arg(&path).args(env::args().skip(1)).status()?;
    if !made.success() {
        exit(2);
    }
    let profile = Profile::open(&path).expect("a profile");
    let cells: Vec<i64> = profile.query("SELECT count(*) FROM cell", vec![], |row| row.get(0)).expect("a number");
    let bytes = fs::metadata(&path)?.len();
    println!("{} ranks, {} communicators: {} cells, {bytes} bytes", arguments.ranks, arguments.comms, cells[0]);
    println!("  {:<44} {:>8} {:>8} {:>8}  found in", "through", "ms", "MiB", "lines");
    for words in CASES {
        let runs: Vec<(f64, f64)> = (0..rounds()).map(|_| run(&path, words)).collect::<io::Result<_>>()?;
        let most = runs.iter().map(|(_, mib)| *mib).fold(0.0, f64::max);
        let mut times: Vec<f64> = runs.into_iter().map(|(ms, _)| ms).collect();
        times.sort_by(f64::total_cmp);
        let (median, lines) = (times[times.len() / 2], BufReader::new(File::open(output())?).lines().count());
        println!("  {:<44} {median:>8.1} {most:>8.1} {lines:>8}  {}", words.join(" "), found(&profile, words));
    }
    Ok(())
}

/// Milliseconds, and the most memory in MiB.
fn run(path: &Path, words: &[&str]) -> io::Result<(f64, f64)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_through"));
    let start = Instant::now();
    let (name, options) = words.split_at(usize::from(is_command(words)));
    command.current_dir(workplace()).args(name).arg(path).args(options);
    #[allow(clippy::zombie_processes)] // wait4 waits.
    let child = command.stdout(File::create(output())?).spawn()?;
    let mut status = 0;
    // SAFETY: all zeroes are a value of the structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to what the call fills; the child is waited for here only.
    let waited = unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) };
    let ms = start.elapsed().as_secs_f64() * 1e3;
    assert!(waited > 0 && status == 0, "{words:?} ended with status {status}");
    Ok((ms, usage.ru_maxrss as f64 / 1024.0))
}

/// Whether it is a command of its own, whose name stands before the profile.
fn is_command(words: &[&str]) -> bool {
    words.first().is_some_and(|word| !word.starts_with('-'))
}

/// Where the numbers of a view come from.
fn found(profile: &Profile, words: &[&str]) -> &'static str {
    if is_command(words) {
        return "several";
    }
    let show = Cli::parse_from(["through"].iter().chain(words)).show;
    let catalog = Catalog::read(profile).expect("a catalog");
    let filter = Filter::resolve(&show.select.selection(), &catalog).expect("a filter");
    let source = Source::new(profile, &catalog, &filter);
    let with_sums = |single| vec![source.groups(single), source.spreads().map_or_else(|| source.parts(), Ok)];
    let relations = match show.view.0.name {
        "cells" => vec![source.rows()],
        "ranks" if filter.selects_cells() => vec![source.parts()],
        "ranks" => vec![],
        "phases" => vec![source.groups_by_phase(), source.parts()],
        "communicators" => with_sums(show.output.format() != Format::Table),
        _ if show.output.format() != Format::Table => with_sums(true),
        _ => vec![source.groups(false)],
    };
    let plans = relations.into_iter().map(|relation| {
        let relation = relation.expect("a query");
        profile.plan(&relation.sql, relation.values).expect("a plan")
    });
    let plan = plans.collect::<Vec<_>>().join("\n");
    match &plan {
        plan if plan.contains("SCAN x") || plan.contains("SCAN cell") => "scan",
        plan if plan.contains("SEARCH x USING INTEGER PRIMARY KEY") => "cells by rowid",
        plan if plan.contains("SCAN t") || plan.contains(" c") => "summary",
        _ => "processes",
    }
}

fn make(path: &Path, arguments: &Arguments) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN").unwrap();
    db.execute_batch(&commsee::profile::SCHEMA).unwrap();
    db.execute_batch(
        "INSERT INTO metadata VALUES ('command', './app'), ('detail', 'rank'); INSERT INTO creator VALUES \
         ('W', 'MPI_COMM_WORLD'), ('d', 'MPI_Comm_dup'); INSERT INTO bucket VALUES (0, 0, 128), (1, 128, 1024), \
         (2, 1024, 8192), (3, 8192, NULL); INSERT INTO communicator (id, name, time_ranks, time_ns) VALUES \
         (0, '-', 0, 0), (1, '*', 0, 0)",
    )
    .unwrap();
    let ranks = arguments.ranks;
    db.execute("INSERT INTO members VALUES (1, ?)", [format!("0-{}", ranks - 1)]).unwrap();
    for phase in 0..arguments.phases {
        let name = if phase == 0 { String::new() } else { format!("phase {phase}") };
        db.execute("INSERT INTO phase VALUES (?, ?)", params![phase, name]).unwrap();
    }
    let names = ["MPI_Allreduce", "MPI_Bcast", "MPI_Isend", "MPI_Irecv", "MPI_Waitall"];
    let numbers = names.map(|name| CALLS.iter().position(|call| call.name == name).expect("a call"));
    for number in numbers {
        let call = &CALLS[number];
        db.execute("INSERT INTO operation VALUES (?, ?, ?)", params![number as i64, call.name, call.class.name()])
            .unwrap();
    }
    let mut cells = Cells::default();
    let mut mpi_ns = vec![0; ranks as usize];
    // Numbers that differ, and are the same in every run.
    let mut state = 1u64;
    let mut random = |most: i64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64 % most
    };
    for number in 0..arguments.comms {
        let comm = number + 2;
        let name = if number == 0 { "W0.0".to_owned() } else { format!("d0.{number}") };
        let sql = "INSERT INTO communicator (id, name, letter, size, remote_size, root_rank, freed, members, time_ranks, \
                   time_ns) VALUES (?1, ?2, substr(?2, 1, 1), ?3, 0, 0, 0, 1, 0, 0)";
        db.execute(sql, params![comm, name, ranks]).unwrap();
        let operations = 4 + number as usize % 2;
        for (op, bucket) in numbers.iter().map(|op| *op as i64).zip([0, 1, 2, 2, 0]).take(operations) {
            let usual_ns = 1_000_000 + random(50_000_000);
            for (rank, mpi_ns) in (0..ranks).zip(&mut mpi_ns) {
                for phase in 0..arguments.phases {
                    let calls = if bucket == 2 { 100 + random(4) } else { 100 };
                    let time_ns = usual_ns + random(usual_ns);
                    *mpi_ns += time_ns;
                    let (time_min_ns, time_max_ns) = (Some(time_ns / calls / 2), Some(time_ns / calls * 3));
                    let (bytes_sent, bytes_recv) = (calls * 512 * bucket, 512 * bucket);
                    let counted =
                        Counted { calls, failed: 0, bytes_sent, bytes_recv, time_ns, time_min_ns, time_max_ns };
                    cells.add(Key { comm, op, bucket, phase: Some(phase) }, rank, counted);
                }
            }
        }
    }
    cells.store(&db, "rank", |rank| rank, |op| outside_span(op as u16));
    for (rank, mpi_ns) in (0..ranks).zip(mpi_ns) {
        let sql = "INSERT INTO process (rank, host, pid, wall_ns, mpi_ns, state) VALUES (?, ?, ?, ?, ?, 'finished')";
        db.execute(sql, params![rank, format!("n{}", rank / 64), rank + 100, mpi_ns * 2, mpi_ns]).unwrap();
    }
    db.pragma_update(None, "user_version", commsee::profile::SCHEMA_VERSION).unwrap();
    db.execute_batch("COMMIT").unwrap();
}

fn workplace() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn output() -> PathBuf {
    workplace().join("queries.out")
}

fn rounds() -> usize {
    env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).filter(|rounds| *rounds > 0).unwrap_or(5)
}
