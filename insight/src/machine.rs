//! Calls that take longer than the machine needs for them, by measurements of it.

use std::path::PathBuf;

use commsee::ranks::Ranks;
use through_core::Error;
use through_core::advise::{Confidence, Finding, Gain, Run, Topic, filters, on};
use through_core::query;
use through_core::query::filter::Filter;
use through_core::text::units;

use crate::named::once;
use crate::query::bench::Measurements;
use crate::query::roofline::{Basis, Entry, Verdict, roofline};

/// What this rule says, as `advise::TOPICS`.
pub const TOPICS: &[Topic] = &[Topic {
    name: "below-machine",
    title: "{op} on {comm} is slower than the machine allows",
    text: "Calls {size}{at} take {least} over all ranks even without possible waiting, {times} times the {possible} measured on this machine.",
    advice: "Compare algorithms (through tune), transports (through run --hooks ucx) and where the ranks are placed.",
    more: "Fewer and larger messages help if latency dominates. Other jobs may have used the network at the same time.",
    rule: "Even the shortest call takes at least twice the measured time of a message or exchange, or four times the bound of a collective. Needs `--bench FILE`.",
    source: "bounds: explanation/roofline.md; no library reaches the bounds of collectives at every size",
    ..Topic::PLAIN
}];

/// So many times what was measured. Bounds of collectives are not reached by any library at every size.
const TIMES: f64 = 2.0;
const TIMES_COLLECTIVE: f64 = 4.0;

/// By files of measurements; nothing is found without any.
pub fn find(run: &Run, files: &[PathBuf]) -> Result<Vec<Finding>, Error> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    Ok(below(run, &Measurements::open(&once(files))?)?)
}

pub fn below(run: &Run, bench: &Measurements) -> Result<Vec<Finding>, query::Error> {
    let mut findings = Vec::new();
    for entry in &roofline(&run.profile, &run.catalog, &Filter::default(), bench)? {
        let Verdict::Compared { floor_ns, basis, .. } = entry.verdict else { continue };
        // What may be waiting is not held against the machine.
        let (Some(gap_ns), Some(shortest_ns)) = (entry.gap_min_ns(), entry.shortest_ns) else { continue };
        let least_ns = floor_ns.saturating_add(gap_ns);
        let times = least_ns as f64 / floor_ns.max(1) as f64;
        let allowed = if basis == Basis::Collective { TIMES_COLLECTIVE } else { TIMES };
        if floor_ns <= 0 || times < allowed {
            continue;
        }
        let part = gap_ns as f64 / entry.time_ns.max(1) as f64;
        let spent = run.spent(entry.comm, &[entry.op].into())?;
        let size = size(run, entry);
        let condition = format!("{}{}", on(run, entry.comm, entry.op), size.sql);
        findings.push(
            Finding {
                ranks: Ranks::default(),
                confidence: Confidence::Bound,
                gain: Gain::spent(spent).part(part),
                command: format!("{}{}", filters(run, entry.comm, entry.op), size.option),
                ..Finding::of(&TOPICS[0])
            }
            .on(entry.comm, Some(entry.op))
            .with(
                "seconds of the shortest call",
                shortest_ns as f64 / 1e9,
                floor_ns as f64 / 1e9 / entry.calls.max(1) as f64 * allowed,
                format!("SELECT min(time_min_s) FROM profile WHERE {condition}"),
            )
            .with(
                "seconds in these calls",
                entry.time_ns as f64 / 1e9,
                floor_ns as f64 / 1e9,
                format!("SELECT sum(time_s) FROM profile WHERE {condition}"),
            )
            .word("size", size.words)
            .word("times", format!("{times:.1}"))
            .word("least", units::time(least_ns))
            .word("possible", units::time(floor_ns)),
        );
    }
    Ok(findings)
}

struct Size {
    words: String,
    sql: String,
    option: String,
}

/// In words, in SQL, and as an option: the size class.
fn size(run: &Run, entry: &Entry) -> Size {
    match entry.bucket.and_then(|bucket| Some((bucket, run.catalog.buckets.get(&bucket)?))) {
        Some((number, bucket)) => Size {
            words: format!("with {} bytes", units::bucket(bucket.lo, bucket.hi)),
            sql: format!(" AND bucket_lo = {}", bucket.lo),
            option: format!(" --bucket {number}"),
        },
        None => Size { words: "over all sizes".to_owned(), sql: String::new(), option: String::new() },
    }
}
