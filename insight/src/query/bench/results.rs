//! What was measured, launches taken together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use commsee::bench::{Interval, Summary};
use rusqlite::{Connection, Row};

/// What makes a measurement the same as another.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    pub family: String,
    pub direction: String,
    /// Groups, and ranks of each.
    pub n: u64,
    pub g: u64,
    pub library: String,
    pub buffers: String,
    /// Whether a message leaves its host: groups of as many ranks may lie on one host or on several.
    pub crosses_hosts: bool,
    /// Ranks of each group that are active.
    pub k: u64,
    pub bytes: u64,
    /// Of its steps the one that was measured alone, from 1; 0: the whole.
    pub step: u64,
}

impl Case {
    /// The pattern that it is a step of.
    pub fn whole(&self) -> Case {
        Case { step: 0, ..self.clone() }
    }
}

/// A case as one launch had it.
pub struct Part {
    launch: usize,
    case: Case,
    measured: Measured,
    samples_s: Vec<f64>,
}

#[derive(Clone, Debug)]
pub struct Measured {
    pub case: Case,
    /// Steps that depend on each other.
    pub steps: u64,
    pub messages: u64,
    pub message_bytes: u64,
    pub total_bytes: u64,
    pub group_bytes: u64,
    pub rank_bytes: u64,
    /// Seconds of the slowest rank.
    pub time_s: Summary,
    /// Of a whole whose steps were measured: the sum of the medians of its steps, each alone.
    pub steps_s: Option<f64>,
    /// From the first start to the last end, and between the first start and the last: medians.
    pub span_s: f64,
    pub skew_s: f64,
    pub launches: usize,
    pub reps: u64,
    pub stopped: BTreeSet<String>,
    pub is_oversubscribed: bool,
    /// Bytes or messages that were not as they should be.
    pub wrong: u64,
    pub half_trip_s: Option<f64>,
    /// Why the numbers are not to be believed.
    pub flag: Option<String>,
}

impl Measured {
    /// The bytes that bandwidth is told of: of the busiest group, or of the busiest rank where no message leaves its group.
    pub fn carried_bytes(&self) -> u64 {
        if self.group_bytes > 0 { self.group_bytes } else { self.rank_bytes }
    }

    /// In bytes per second; nothing where nothing was carried.
    pub fn bandwidth(&self) -> Option<f64> {
        self.bandwidth_at(self.time_s.median)
    }

    pub fn bandwidth_at(&self, time_s: f64) -> Option<f64> {
        (time_s > 0.0 && self.carried_bytes() > 0).then(|| self.carried_bytes() as f64 / time_s)
    }

    /// What its steps would take longer one after the other, without overlap.
    pub fn gained_s(&self) -> Option<f64> {
        Some(self.steps_s? - self.time_s.median)
    }

    /// Half the width of the interval over the median.
    pub fn noise(&self) -> Option<f64> {
        let median = self.time_s.median;
        let width = self.time_s.interval.map(|interval| interval.high - interval.low)?;
        (median > 0.0).then(|| width / 2.0 / median)
    }

    /// Whether other conclusions may rest on it.
    pub fn is_sound(&self) -> bool {
        self.wrong == 0 && self.flag.is_none()
    }
}

/// `{step}`: files from before steps were measured have no such column.
const SQL: &str = "SELECT id, run, family, direction, n, g, k, library, buffers, bytes, {step}, steps, messages, message_bytes, total_bytes, \
     group_bytes, rank_bytes, crosses_hosts, min_s, median_s, ci_lo_s, ci_hi_s, mean_s, p95_s, p99_s, max_s, span_s, skew_s, \
     reps, stopped, oversubscribed, wrong, half_trip_s, flag FROM bench_result ORDER BY run, id";

/// All that a file has; its launches are numbered from `first`.
pub fn parts(db: &Connection, first: usize) -> rusqlite::Result<Vec<Part>> {
    let runs: Vec<i64> = db
        .prepare("SELECT id FROM bench_run ORDER BY id")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut samples: HashMap<i64, Vec<f64>> = HashMap::new();
    let mut statement = db.prepare("SELECT result, time_s FROM bench_sample")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let time_s: f64 = row.get(1)?;
        if time_s.is_finite() {
            samples.entry(row.get(0)?).or_default().push(time_s);
        }
    }
    let read = |row: &Row| {
        let (id, run): (i64, i64) = (row.get("id")?, row.get("run")?);
        let measured = measured(row)?;
        Ok(Part {
            launch: first + runs.binary_search(&run).unwrap_or(runs.len()),
            case: measured.case.clone(),
            samples_s: samples.get(&id).cloned().unwrap_or_default(),
            measured,
        })
    };
    let has_step = "SELECT count(*) FROM pragma_table_info('bench_result') WHERE name = 'step'";
    let has_step: bool = db.query_row(has_step, [], |row| row.get(0))?;
    let sql = SQL.replace("{step}", if has_step { "step" } else { "0 AS step" });
    db.prepare(&sql)?.query_map([], read)?.collect()
}

fn measured(row: &Row) -> rusqlite::Result<Measured> {
    let bound = (row.get::<_, Option<f64>>("ci_lo_s")?, row.get::<_, Option<f64>>("ci_hi_s")?);
    let count = |name| Ok::<u64, rusqlite::Error>(row.get::<_, i64>(name)?.max(0).unsigned_abs());
    let reps = count("reps")?;
    Ok(Measured {
        case: Case {
            family: row.get("family")?,
            direction: row.get("direction")?,
            n: count("n")?,
            g: count("g")?,
            k: count("k")?,
            library: row.get("library")?,
            buffers: row.get("buffers")?,
            crosses_hosts: row.get("crosses_hosts")?,
            bytes: count("bytes")?,
            step: count("step")?,
        },
        steps: count("steps")?,
        steps_s: None,
        messages: count("messages")?,
        message_bytes: count("message_bytes")?,
        total_bytes: count("total_bytes")?,
        group_bytes: count("group_bytes")?,
        rank_bytes: count("rank_bytes")?,
        time_s: Summary {
            samples: usize::try_from(reps).unwrap_or(usize::MAX),
            min: row.get("min_s")?,
            median: row.get("median_s")?,
            interval: bound.0.zip(bound.1).map(|(low, high)| Interval { low, high }),
            mean: row.get("mean_s")?,
            p95: row.get("p95_s")?,
            p99: row.get("p99_s")?,
            max: row.get("max_s")?,
        },
        span_s: row.get("span_s")?,
        skew_s: row.get("skew_s")?,
        launches: 1,
        reps,
        stopped: BTreeSet::from([row.get("stopped")?]),
        is_oversubscribed: row.get("oversubscribed")?,
        wrong: count("wrong")?,
        half_trip_s: row.get("half_trip_s")?,
        flag: row.get("flag")?,
    })
}

/// One for each case. A launch is a factor of its own: see [`Summary::of_launches`].
pub fn merged(parts: Vec<Part>) -> Vec<Measured> {
    let mut cases: BTreeMap<Case, Vec<Part>> = BTreeMap::new();
    for part in parts {
        cases.entry(part.case.clone()).or_default().push(part);
    }
    with_steps(cases.into_values().filter_map(of_launches).collect())
}

/// Wholes with the sums of their steps, where each of them was measured.
fn with_steps(mut results: Vec<Measured>) -> Vec<Measured> {
    let mut sums: BTreeMap<Case, (u64, f64)> = BTreeMap::new();
    for row in results.iter().filter(|row| row.case.step > 0 && row.wrong == 0) {
        let (steps, sum_s) = sums.entry(row.case.whole()).or_default();
        (*steps, *sum_s) = (*steps + 1, *sum_s + row.time_s.median);
    }
    for row in results.iter_mut().filter(|row| row.case.step == 0 && row.wrong == 0) {
        row.steps_s = sums.get(&row.case).filter(|(steps, _)| *steps == row.steps).map(|(_, sum_s)| *sum_s);
    }
    results
}

fn of_launches(parts: Vec<Part>) -> Option<Measured> {
    let mut samples: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for part in &parts {
        samples.entry(part.launch).or_default().extend(&part.samples_s);
    }
    let launches: Vec<Vec<f64>> = samples.into_values().collect();
    let mut parts = parts.into_iter();
    let first = parts.next()?.measured;
    let rest: Vec<Measured> = parts.map(|part| part.measured).collect();
    let all = || [&first].into_iter().chain(&rest);
    let median = |of: fn(&Measured) -> Option<f64>| {
        Summary::of(&all().filter_map(of).collect::<Vec<_>>()).map(|summary| summary.median)
    };
    let (flagged, total) = (all().filter(|part| part.flag.is_some()).count(), all().count());
    Some(Measured {
        // Of a file whose samples were taken out, what they were summed up to.
        time_s: Summary::of_launches(&launches).unwrap_or(first.time_s),
        span_s: median(|part| Some(part.span_s)).unwrap_or(first.span_s),
        skew_s: median(|part| Some(part.skew_s)).unwrap_or(first.skew_s),
        half_trip_s: median(|part| part.half_trip_s),
        launches: launches.len(),
        reps: all().fold(0, |sum, part| sum.saturating_add(part.reps)),
        stopped: all().flat_map(|part| part.stopped.clone()).collect(),
        is_oversubscribed: all().any(|part| part.is_oversubscribed),
        wrong: all().fold(0, |sum, part| sum.saturating_add(part.wrong)),
        // Of half the launches or more: one that was disturbed does not spoil the others.
        flag: all().find_map(|part| part.flag.clone()).filter(|_| 2 * flagged >= total),
        ..first.clone()
    })
}
