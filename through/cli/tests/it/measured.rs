//! Makes files of measurements.

use std::path::Path;

use commsee::bench::model::Model;
use commsee::bench::{Summary, schema};
use rusqlite::{Connection, params};

/// A file of measurements in the making.
pub struct Bench {
    db: Connection,
    launch: i64,
}

/// What is measured.
#[derive(Clone, Copy)]
pub struct Pattern {
    pub family: &'static str,
    pub direction: &'static str,
    pub n: i64,
    pub g: i64,
    pub k: i64,
    pub library: &'static str,
    pub bytes: i64,
    /// That is measured alone, from 1; 0: the whole. And how many there are.
    pub step: i64,
    pub steps: i64,
    /// All messages, and the size of the largest.
    pub messages: i64,
    pub message_bytes: i64,
    pub group_bytes: i64,
    pub crosses_hosts: bool,
}

/// What is found out about it.
#[derive(Clone, Copy, Default)]
pub struct Found {
    pub half_trip_s: Option<f64>,
    pub wrong: i64,
    pub flag: Option<&'static str>,
}

impl Bench {
    pub fn new(path: &Path) -> Bench {
        let db = Connection::open(path).unwrap();
        db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").unwrap();
        schema::create(&db).unwrap();
        Bench { db, launch: 0 }
    }

    /// One that is there.
    pub fn of(path: &Path) -> Bench {
        Bench { db: Connection::open(path).unwrap(), launch: 0 }
    }

    /// What is added from now on belongs to a launch on two hosts, eight ranks in two groups.
    pub fn launch(&mut self, mpi: &str, is_oversubscribed: bool) {
        self.launch += 1;
        let sql = "INSERT INTO bench_run VALUES (?1, ?1, '2026-11-21T07:15:00Z', 'groupbench', 'f', 'complete', 7, 8, 2, 'node', 'clock', 1.5e-7, ?2)";
        self.db.execute(sql, params![self.launch, is_oversubscribed]).unwrap();
        let sql = "INSERT INTO bench_environment VALUES (?1, 'mpi', ?2), (?1, 'cpu', 'a processor')";
        self.db.execute(sql, params![self.launch, mpi]).unwrap();
        for rank in 0..8 {
            let sql = "INSERT INTO bench_rank VALUES (?1, ?2, 'node' || (?2 / 4), '0-3', ?2 / 4, ?2 % 4)";
            self.db.execute(sql, params![self.launch, rank]).unwrap();
        }
    }

    pub fn set(&self, sql: &str) {
        self.db.execute_batch(sql).unwrap();
    }

    pub fn result(&mut self, pattern: Pattern, times_s: &[f64], found: Found) {
        let summary = Summary::of(times_s).unwrap();
        let interval = summary.interval;
        let sql = "INSERT INTO bench_result (run, family, direction, n, g, k, library, bytes, step, steps, messages, message_bytes, total_bytes, \
                   group_bytes, rank_bytes, crosses_hosts, buffers, min_s, median_s, ci_lo_s, ci_hi_s, mean_s, p95_s, p99_s, max_s, span_s, \
                   skew_s, reps, executions, stopped, oversubscribed, wrong, half_trip_s, flag) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?25, ?26, ?9, ?10, \
                   ?9 * ?10, ?11, ?10, ?12, 'host', ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?14, 1e-8, ?21, ?21 + 3, 'interval', 0, ?22, ?23, ?24)";
        let values = params![
            self.launch,
            pattern.family,
            pattern.direction,
            pattern.n,
            pattern.g,
            pattern.k,
            pattern.library,
            pattern.bytes,
            pattern.messages,
            pattern.message_bytes,
            pattern.group_bytes,
            pattern.crosses_hosts,
            summary.min,
            summary.median,
            interval.map(|interval| interval.low),
            interval.map(|interval| interval.high),
            summary.mean,
            summary.p95,
            summary.p99,
            summary.max,
            times_s.len() as i64,
            found.wrong,
            found.half_trip_s,
            found.flag,
            pattern.step,
            pattern.steps
        ];
        self.db.execute(sql, values).unwrap();
        let id = self.db.last_insert_rowid();
        for (rep, time_s) in times_s.iter().enumerate() {
            let sql = "INSERT INTO bench_sample VALUES (?1, ?2, ?3, ?4, ?4, 1e-8, 0)";
            self.db.execute(sql, params![id, self.launch, rep as i64, time_s]).unwrap();
        }
    }
}

/// One message, by two groups of one rank.
pub fn message(bytes: i64, crosses_hosts: bool) -> Pattern {
    Pattern {
        family: "rail",
        direction: "uni",
        n: 2,
        g: 1,
        k: 1,
        library: "MPI point-to-point",
        bytes,
        step: 0,
        steps: 1,
        messages: 1,
        message_bytes: bytes,
        group_bytes: bytes,
        crosses_hosts,
    }
}

/// `k` of four ranks in each of two groups, to the other group.
pub fn rail(k: i64, bytes: i64) -> Pattern {
    Pattern { g: 4, k, messages: k, group_bytes: k * bytes, ..message(bytes, true) }
}

/// A message split over two ranks of each group: 400 µs, and by the step 100, 300 and 100 µs.
pub fn striped(bench: &mut Bench) {
    let whole = Pattern { family: "rail striped", g: 2, messages: 6, steps: 3, ..message(1 << 20, true) };
    for (step, time_s) in [(0, 400e-6), (1, 100e-6), (2, 300e-6), (3, 100e-6)] {
        let steps = if step > 0 { 1 } else { 3 };
        bench.result(Pattern { step, steps, ..whole }, &around(time_s, 10.0), Found::default());
    }
}

/// A block between each two of so many ranks.
pub fn exchange(ranks: i64, block_bytes: i64, crosses_hosts: bool) -> Pattern {
    Pattern {
        family: "dense",
        direction: "omni",
        n: ranks,
        library: "MPI_Alltoall",
        messages: ranks * (ranks - 1),
        group_bytes: (ranks - 1) * block_bytes,
        ..message(block_bytes, crosses_hosts)
    }
}

/// Eleven samples around a time, by as many thousandths.
pub fn around(time_s: f64, thousandths: f64) -> Vec<f64> {
    (-5..=5).map(|step| time_s * (1.0 + f64::from(step) / 5.0 * thousandths / 1000.0)).collect()
}

/// How long a message takes: 1 µs and 10 GB/s inside a host, 2 µs and 5 GB/s between hosts.
pub fn message_s(bytes: i64, crosses_hosts: bool) -> f64 {
    let (latency_s, bandwidth) = if crosses_hosts { (2e-6, 5e9) } else { (1e-6, 10e9) };
    latency_s + bytes as f64 / bandwidth
}

/// A machine with two NICs for four ranks, which take them in pairs.
pub fn machine(path: &Path) {
    measured(path, "Open MPI v4.1.4", 1.0);
}

/// The same with another library, with which patterns of several messages take longer.
pub fn updated(path: &Path) {
    measured(path, "Open MPI v5.0.3", 1.2);
}

fn measured(path: &Path, mpi: &str, slower: f64) {
    let mut bench = Bench::new(path);
    bench.launch(mpi, false);
    for crosses_hosts in [false, true] {
        for bytes in [1, 1024, 65_536, 1 << 20] {
            let time_s = message_s(bytes, crosses_hosts);
            let found = Found { half_trip_s: (bytes == 1).then_some(time_s), ..Found::default() };
            bench.result(message(bytes, crosses_hosts), &around(time_s, 10.0), found);
        }
    }
    let model = Model::Packed { p: 2 };
    for k in 1..=4 {
        let time_s = (k << 20) as f64 / (5e9 * model.scale(k as u64)) * if k > 1 { slower } else { 1.0 };
        bench.result(rail(k, 1 << 20), &around(time_s, 10.0), Found::default());
    }
    for bytes in [64, 4096] {
        bench.result(exchange(4, bytes, true), &around(8e-6, 10.0), Found::default());
    }
}
