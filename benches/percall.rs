//! What one MPI call costs with and without commsee: `cargo bench --bench percall [-- --against LIB.so]…`
//!
//! Runs `benches/percall.c` on one rank, pinned to a core, alternately alone and under each library, several times, and
//! prints per case the overhead in nanoseconds (difference of the medians over rounds of each round's fastest
//! repetition), as a ratio to the floor (what two readings of the time-stamp counter and one addition cost in the same
//! run), and the instructions that the library adds per iteration, counted by callgrind where valgrind is installed.
//! Environment: `MPI=openmpi|mpich|both`, `ROUNDS` (default 5), `ITERATIONS` (default 300000).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::{env, fs};

const CASES: &[&str] = &[
    "floor",
    "send_proc_null",
    "iprobe",
    "test_null",
    "sendrecv_self",
    "allreduce_self",
    "allreduce_dup",
    "isend_irecv_waitall_self",
    "isend_irecv_waitall_64_comms",
    "32_isend_32_irecv_waitall",
    "dup_free",
];

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    let mut libraries = vec![("commsee".to_owned(), commsee())];
    for pair in arguments.chunks(2) {
        match pair {
            [flag, path] if flag == "--against" => libraries.push((stem(path), PathBuf::from(path))),
            _ => {
                eprintln!("usage: cargo bench --bench percall [-- --against LIB.so]…");
                exit(2);
            }
        }
    }
    let wanted = env::var("MPI").unwrap_or_else(|_| "both".to_owned());
    for mpi in ["openmpi", "mpich"].into_iter().filter(|mpi| wanted == "both" || wanted == *mpi) {
        if let Some(program) = compile(mpi) {
            measure(mpi, &program, &libraries);
        }
    }
}

fn measure(mpi: &str, program: &Path, libraries: &[(String, PathBuf)]) {
    let rounds = number("ROUNDS", 5);
    let mut alone: Table = Table::new();
    let mut with: Vec<Table> = vec![Table::new(); libraries.len()];
    for _ in 0..rounds {
        run(program, None, &mut alone);
        libraries.iter().zip(&mut with).for_each(|((_, library), table)| run(program, Some(library), table));
    }
    let floor = median(&alone["floor"]);
    println!("\n{mpi}: {rounds} rounds, one core; floor {floor:.1} ns");
    for ((name, library), table) in libraries.iter().zip(&with) {
        println!("  {name}");
        println!(
            "    {:<30} {:>10} {:>10} {:>12} {:>8} {:>13}",
            "case", "alone ns", "with ns", "overhead ns", "× floor", "instructions"
        );
        for case in CASES.iter().skip(1) {
            let (before, after) = (median(&alone[*case]), median(&table[*case]));
            let added = match (instructions(program, case, Some(library)), instructions(program, case, None)) {
                (Some(with), Some(without)) => format!("+{}", with - without),
                _ => "-".to_owned(),
            };
            let over = after - before;
            // The floor of a case is one pair of time stamps per call in it.
            let ratio = over / (floor * calls_in(case));
            println!("    {case:<30} {before:>10.1} {after:>10.1} {over:>12.1} {ratio:>8.2} {added:>13}");
        }
    }
}

/// Fastest repetition of each case, one entry per round.
type Table = BTreeMap<String, Vec<f64>>;

fn run(program: &Path, library: Option<&Path>, table: &mut Table) {
    let iterations = number("ITERATIONS", 300_000).to_string();
    let mut command = Command::new("taskset");
    command.args(["-c", "1"]).arg(program).args(["all", &iterations, "5"]);
    let output = prepare(&mut command, library).output().expect("taskset (package util-linux) runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let columns: Vec<&str> = line.split(',').collect();
        if let [case, _, fastest, _] = columns[..] {
            table.entry(case.to_owned()).or_default().push(fastest.parse().expect("a number"));
        }
    }
}

/// Instructions per iteration, from two runs of different length.
fn instructions(program: &Path, case: &str, library: Option<&Path>) -> Option<i64> {
    let count = |iterations: i64| -> Option<i64> {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
        command.args([case, &(iterations * divisor(case)).to_string(), "1"]);
        let output = prepare(&mut command, library).output().ok()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        said.split("Collected :").nth(1)?.split_whitespace().next()?.parse().ok()
    };
    let (short, long) = (200, 1200);
    Some((count(long)? - count(short)?) / (long - short))
}

fn prepare<'a>(command: &'a mut Command, library: Option<&Path>) -> &'a mut Command {
    command.current_dir(workplace()).env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("COMMSEE_LOG", "off").env("COMMSEE_OUT", workplace().join("percall.db")).env_remove("LD_PRELOAD");
    let _ = fs::remove_file(workplace().join("percall.db"));
    match library {
        Some(library) => command.env("LD_PRELOAD", library),
        None => command,
    }
}

/// The program divides its iterations for its longer cases.
fn divisor(case: &str) -> i64 {
    match case {
        "32_isend_32_irecv_waitall" => 40,
        "dup_free" => 200,
        _ => 1,
    }
}

fn calls_in(case: &str) -> f64 {
    match case {
        "isend_irecv_waitall_self" | "isend_irecv_waitall_64_comms" => 3.0,
        "32_isend_32_irecv_waitall" => 65.0,
        "dup_free" => 2.0,
        _ => 1.0,
    }
}

fn compile(mpi: &str) -> Option<PathBuf> {
    let (source, program) = (root().join("benches/percall.c"), workplace().join(format!("percall-{mpi}")));
    let compiler = format!("mpicc.{mpi}");
    match Command::new(&compiler).arg("-O2").arg("-w").arg("-o").arg(&program).arg(source).status() {
        Ok(status) if status.success() => Some(program),
        _ => {
            eprintln!("{compiler} is not there or fails: {mpi} is left out");
            None
        }
    }
}

fn commsee() -> PathBuf {
    let library = root().join("target/release/libcommsee.so");
    assert!(library.exists(), "run cargo build --release first");
    library
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn workplace() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn stem(path: &str) -> String {
    Path::new(path).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn number(variable: &str, default: usize) -> usize {
    env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
