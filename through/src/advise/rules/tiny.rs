//! One-sided and file accesses of few bytes each.

use std::collections::{BTreeMap, BTreeSet};

use crate::advise::finding::{Finding, Level};
use crate::advise::gain::Gain;
use crate::advise::run::{Run, filters, on};
use crate::query::Error;
use crate::query::files::{OfFile, of_files};
use crate::query::operations::Operations;
use crate::text::escape::visible;
use crate::text::units;

/// Drishti's thresholds of small requests: more than a tenth, and more than a thousand.
const SHARE: f64 = 0.1;
const CALLS: i64 = 1000;
/// Periscope's bound of small messages.
pub const ONE_SIDED_BYTES: u64 = 1000;
/// A block of most file systems is larger; Drishti's megabyte is a stripe of parallel ones.
const FILE_BYTES: u64 = 4096;
/// For each call of a rank that ends an epoch. A flush ends none.
const PER_STEP: f64 = 4.0;

pub const ONE_SIDED: &[&str] = &["MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Rput", "MPI_Rget", "MPI_Raccumulate"];
const SYNCHRONIZING: &[&str] = &["MPI_Win_fence", "MPI_Win_complete", "MPI_Win_unlock", "MPI_Win_unlock_all"];
/// Each rank by itself: what is collective the library puts together.
const FILE: &[&str] = &[
    "MPI_File_read",
    "MPI_File_write",
    "MPI_File_read_at",
    "MPI_File_write_at",
    "MPI_File_iread",
    "MPI_File_iwrite",
    "MPI_File_iread_at",
    "MPI_File_iwrite_at",
    "MPI_File_read_shared",
    "MPI_File_write_shared",
];

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let mut findings = of_kind(run, "tiny-file-accesses", FILE, FILE_BYTES, |_, _| true)?;
    findings.extend(of_kind(run, "tiny-one-sided", ONE_SIDED, ONE_SIDED_BYTES, are_many_a_step)?);
    Ok(findings)
}

fn are_many_a_step(run: &Run, sum: &Operations) -> bool {
    // Where each is completed by itself, that costs more, and is said.
    if super::flush::flushes(run, sum).is_some() {
        return false;
    }
    let ends = run.ops(SYNCHRONIZING);
    let steps = run.sums.values().filter(|end| end.comm == sum.comm && ends.contains(&end.op));
    let steps = steps.map(|end| end.calls as f64 / f64::from(end.ranks.max(1))).sum::<f64>();
    sum.calls as f64 / f64::from(sum.ranks.max(1)) >= PER_STEP * steps.max(1.0)
}

fn of_kind(
    run: &Run,
    topic: &'static str,
    names: &[&str],
    limit: u64,
    is_meant: fn(&Run, &Operations) -> bool,
) -> Result<Vec<Finding>, Error> {
    let ops = run.ops(names);
    let bytes = |row: &Operations| row.bytes_sent.saturating_add(row.bytes_recv);
    let mut tiny: BTreeMap<(i64, i64), (i64, u64, i64)> = BTreeMap::new();
    let mut buckets: BTreeMap<(i64, i64), BTreeSet<i64>> = BTreeMap::new();
    for row in run.operations.iter().filter(|row| ops.contains(&row.op)) {
        if bytes(row) <= limit.saturating_mul(row.calls.max(0) as u64) {
            buckets.entry((row.comm, row.op)).or_default().insert(row.bucket);
            let sum = tiny.entry((row.comm, row.op)).or_default();
            *sum =
                (sum.0.saturating_add(row.calls), sum.1.saturating_add(bytes(row)), sum.2.saturating_add(row.time_ns));
        }
    }
    let of_files = if tiny.is_empty() { Vec::new() } else { of_files(&run.profile, &ops)? };
    let mut findings = Vec::new();
    for ((comm, op), (calls, size, time_ns)) in tiny {
        let Some(sum) = run.sums.get(&(comm, op)) else { continue };
        let share = calls as f64 / sum.calls.max(1) as f64;
        if calls <= CALLS || share <= SHARE || !is_meant(run, sum) {
            continue;
        }
        let is_tiny = |of_file: &&OfFile| {
            let buckets = buckets.get(&(comm, op));
            (of_file.comm, of_file.op) == (comm, op) && buckets.is_some_and(|buckets| buckets.contains(&of_file.bucket))
        };
        let to_files = to_files(of_files.iter().filter(is_tiny));
        let view = if to_files.is_empty() { "" } else { "--files " };
        let of_size = format!(
            "(SELECT sum(calls) AS calls, sum(bytes_sent + bytes_recv) AS bytes FROM profile WHERE {} GROUP BY bucket_lo)",
            on(run, comm, op)
        );
        let tiny_sql = format!("sum(iif(bytes <= {limit} * calls, calls, 0))");
        findings.push(
            Finding {
                gain: Gain::spent(run.spent(comm, &[op].into())?).part(time_ns as f64 / sum.time_ns.max(1) as f64),
                floor: Some(Level::Info),
                command: format!("{view}{}", filters(run, comm, op)),
                ..Finding::new(topic)
            }
            .on(comm, Some(op))
            .with("tiny accesses", calls as f64, CALLS as f64, format!("SELECT {tiny_sql} FROM {of_size}"))
            .with(
                "their part of all accesses",
                share,
                SHARE,
                format!("SELECT {tiny_sql} * 1.0 / sum(calls) FROM {of_size}"),
            )
            .word("calls", calls.to_string())
            .word("share", units::percent(share, 1.0))
            .word("size", units::bytes((size as f64 / calls as f64).round() as u64))
            .word("time", units::time(time_ns))
            // A name may be anything.
            .word("files", to_files),
        );
    }
    Ok(findings)
}

/// ` to out.dat and 2 other files`: the one that most of the accesses are to comes first. Nothing where the profile does not know.
fn to_files<'a>(of_files: impl Iterator<Item = &'a OfFile>) -> String {
    let mut calls: BTreeMap<i64, (i64, Option<&str>)> = BTreeMap::new();
    for of_file in of_files {
        let sum = calls.entry(of_file.file).or_insert((0, of_file.name.as_deref()));
        sum.0 = sum.0.saturating_add(of_file.calls);
    }
    let first = calls.values().max_by_key(|(calls, _)| *calls).and_then(|(_, name)| *name).map(visible);
    match (first, calls.len()) {
        (None, _) => String::new(),
        (Some(first), 1) => format!(" to {first}"),
        (Some(first), several) => format!(" to {first} and {}", units::count(several as u64 - 1, "other file")),
    }
}
