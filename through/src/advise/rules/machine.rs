//! Calls that take longer than the machine needs for them, by measurements of it.

use commsee::ranks::Ranks;

use crate::advise::finding::{Confidence, Cost, Finding};
use crate::advise::run::{Run, filters, on};
use crate::advise::saving::Saving;
use crate::query::Error;
use crate::query::roofline::{Basis, Entry, Verdict};
use crate::text::units;

/// So many times what was measured. Bounds of collectives are not reached by any library at every size.
const TIMES: f64 = 2.0;
const TIMES_COLLECTIVE: f64 = 4.0;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for entry in &run.roofline {
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
        let spent = run.of_ranks(entry.comm, &[entry.op].into())?;
        let size = size(run, entry);
        let condition = format!("{}{}", on(run, entry.comm, entry.op), size.sql);
        findings.push(
            Finding {
                severity_ns: gap_ns.into(),
                ranks: Ranks::default(),
                confidence: Confidence::Bound,
                cost: Cost::AtLeast,
                saving: Saving::part_of(&spent, part),
                command: format!("{}{}", filters(run, entry.comm, entry.op), size.option),
                ..Finding::new("below-machine")
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
