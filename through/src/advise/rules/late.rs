//! Ranks that the others wait for: always the same, or another one each time.

use super::noise;
use crate::advise::finding::{Ceiling, Confidence, Finding};
use crate::advise::gain::Gain;
use crate::advise::run::{Run, filters, on};
use crate::query::Error;
use crate::query::waiting::{Group, Member, Pattern};
use crate::text::units;

/// Of the run time of the members.
const CHANGING_SHARE: f64 = 0.10;
const CHANGING_CALL_NS: i64 = 1_000_000;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for group in run.waits.iter().flatten() {
        findings.extend(match group.pattern() {
            Some(Pattern::Same) => same(run, group, "late-rank"),
            Some(Pattern::Changing | Pattern::Mixed) => changing(run, group),
            None => None,
        });
    }
    Ok(findings)
}

/// The same ranks come late each time.
pub fn same(run: &Run, group: &Group, topic: &str) -> Option<Finding> {
    let late = group.late_ranks();
    let waiters = group.members.len().saturating_sub(late.len()) as i64;
    if late.is_empty() || 2 * late.len() > group.members.len() {
        return None;
    }
    let (comm, op) = (group.comm, group.op);
    let waiting_ns = group.min_ns();
    let exact_ns = exact_ns(run, group);
    let sql = format!(
        "SELECT sum(w) FROM (SELECT sum(time_s) - count(*) * min(time_s) AS w FROM (SELECT bucket_lo, rank, sum(time_s) AS time_s \
         FROM profile WHERE {} GROUP BY bucket_lo, rank) GROUP BY bucket_lo)",
        on(run, comm, op)
    );
    let confidence = if exact_ns.is_some() { Confidence::Timeline } else { Confidence::Bound };
    let (source, bound) = told(confidence, "at least ");
    let told_ns = exact_ns.unwrap_or(waiting_ns);
    Some(
        Finding {
            confidence,
            ceiling: timed_ceiling(run, group, &late).unwrap_or_else(|| ceiling(run, group, waiting_ns, waiters)),
            gain: gain(run, group, |member| member.min_ns),
            command: format!("waits {}", filters(run, comm, op)),
            ranks: late.into_iter().filter_map(|rank| u32::try_from(rank).ok()).collect(),
            ..Finding::new(topic)
        }
        .on(comm, Some(op))
        .with(
            "time beyond that of the rank with the least, seconds of all members",
            waiting_ns as f64 / 1e9,
            0.5 * group.max_ns() as f64 / 1e9,
            sql,
        )
        .word("source", source)
        .word("waiting", format!("{bound}{}", units::time(told_ns / waiters.max(1)))),
    )
}

/// Counters tell a bound: ranks do not leave a call at once, so that a timeline may tell less.
fn told(confidence: Confidence, bound: &'static str) -> (&'static str, &'static str) {
    match confidence {
        Confidence::Timeline => ("timeline", ""),
        _ => ("counters", bound),
    }
}

/// By a timeline, or as counters bound it.
fn gain(run: &Run, group: &Group, bound: fn(&Member) -> i64) -> Gain {
    let (comm, op) = (group.comm, group.op);
    let cells = match run.told(comm, op) {
        Some(_) => run.waited(comm, op).into_iter().map(|(rank, ns)| ((comm, op, rank), ns)).collect(),
        None => group.members.iter().map(|member| ((comm, op, member.rank), bound(member))).collect(),
    };
    Gain::together(cells, group.members.iter().map(|member| member.rank))
}

fn changing(run: &Run, group: &Group) -> Option<Finding> {
    let members = group.members.len() as i64;
    let waiting_ns = exact_ns(run, group).unwrap_or_else(|| group.max_ns());
    let each_ns = waiting_ns / members.max(1) / group.calls.max(1);
    // Another rank without a processor each time looks the same, in a short call also if it lacks one in MPI.
    let of_rank_ns = waiting_ns / members.max(1);
    let is_short = waiting_ns / (members - 1).max(1) / group.calls.max(1) < noise::SLICES_NS;
    let machine_ns = if is_short { run.machine_ns() } else { run.unscheduled_ns() };
    let part = 1.0 - (machine_ns as f64 / of_rank_ns.max(1) as f64).min(1.0);
    if run.share(of_rank_ns - machine_ns) < CHANGING_SHARE || each_ns < CHANGING_CALL_NS {
        return None;
    }
    let (comm, op) = (group.comm, group.op);
    let confidence = if exact_ns(run, group).is_some() { Confidence::Timeline } else { Confidence::Bound };
    let (source, bound) = told(confidence, "up to ");
    Some(
        Finding {
            confidence,
            ceiling: ceiling(run, group, waiting_ns, members - 1),
            gain: gain(run, group, |member| member.max_ns).part(part),
            command: format!("waits {}", filters(run, comm, op)),
            ..Finding::new("changing-late-rank")
        }
        .on(comm, Some(op))
        .with(
            "time in the calls, seconds of all members",
            group.time_ns as f64 / 1e9,
            CHANGING_SHARE * (members * run.ledger.run_time_ns) as f64 / 1e9,
            format!("SELECT sum(time_s) FROM profile WHERE {}", on(run, comm, op)),
        )
        .word("source", source)
        .word("waiting", format!("{bound}{}", units::time(waiting_ns / members.max(1))))
        .word("each", units::time(each_ns)),
    )
}

/// Of so many ranks that wait in each call.
fn ceiling(run: &Run, group: &Group, waiting_ns: i64, waiters: i64) -> Option<Ceiling> {
    let each_ns = waiting_ns / waiters.max(1) / group.calls.max(1);
    noise::ceiling(run, group.comm, group.op, group.calls, each_ns)
}

/// By what a timeline tells: of the pair that waits most for one of the late ranks, since short waits say nothing of the long ones beside them.
fn timed_ceiling(run: &Run, group: &Group, late: &[i64]) -> Option<Option<Ceiling>> {
    let waited = run.told(group.comm, group.op)?.filter(|waited| late.contains(&waited.late_rank));
    let most = waited.max_by_key(|waited| waited.wait_ns)?;
    let times = most.times.clamp(1, i64::MAX as u64) as i64;
    Some(noise::ceiling(run, group.comm, group.op, times, most.wait_ns / times))
}

/// What a timeline says of all of its calls, if none is missing.
fn exact_ns(run: &Run, group: &Group) -> Option<i64> {
    Some(run.told(group.comm, group.op)?.fold(0i64, |sum, waited| sum.saturating_add(waited.wait_ns)))
}
