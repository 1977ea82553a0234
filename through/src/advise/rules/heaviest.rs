//! The call that takes most, where nothing that was found explains it: silence would say that all is well.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::advise::finding::{Ceiling, Cost, Finding, Level};
use crate::advise::run::{Run, filters, on};
use crate::text::units;

/// Of the run time of all ranks, MPI: POP takes a parallel efficiency of 0.8 for acceptable.
const MPI: f64 = 0.2;
/// And the call, on communicators that were made alike.
const CALL: f64 = 0.05;

pub fn find(run: &Run, findings: &[Finding]) -> Option<Finding> {
    let mpi_ns: i128 = run.ledger.entries.iter().map(|entry| entry.time_ns).sum();
    let head = |comm: i64| run.families.find(comm).map_or(comm, |family| family.first());
    let mut calls: BTreeMap<(i64, i64), BTreeMap<i64, i128>> = BTreeMap::new();
    for entry in &run.ledger.entries {
        if let Some(op) = entry.op {
            *calls.entry((head(entry.comm), op)).or_default().entry(entry.comm).or_default() += entry.time_ns;
        }
    }
    let sum = |comms: &BTreeMap<i64, i128>| comms.values().sum::<i128>();
    let ((first, op), comms) = calls.into_iter().max_by_key(|(call, comms)| (sum(comms), Reverse(*call)))?;
    let time_ns = sum(&comms);
    let explains = |finding: &Finding| {
        let is_of_call = match (finding.comm, finding.op) {
            (None, _) => true,
            (Some(comm), of) => head(comm) == first && of.is_none_or(|of| of == op),
        };
        is_of_call && 2 * finding.severity_ns >= time_ns
    };
    if run.share(mpi_ns) < MPI || run.share(time_ns) < CALL || findings.iter().any(explains) {
        return None;
    }
    let (comm, _) = comms.iter().max_by_key(|(comm, ns)| (**ns, Reverse(**comm)))?;
    let own_ns = run.sums.get(&(*comm, op)).map_or(0, |sum| sum.time_ns);
    let others: BTreeSet<i64> = comms.keys().copied().filter(|other| other != comm).collect();
    let filters = filters(run, *comm, op);
    let is_partial = run.timed.as_ref().is_some_and(|timed| !timed.is_whole());
    let (known, next, command) = match waited_ns(run, &comms, op) {
        _ if is_partial => (
            "counters alone cannot tell why, and the timeline lacks its beginning".to_owned(),
            "Record a timeline that keeps all of a short run (COMMSEE_TRACE=64M): through waits then tells who waits for whom, also in point-to-point calls.",
            filters,
        ),
        None => (
            "counters alone cannot tell why".to_owned(),
            "Record a timeline of a short run (COMMSEE_TRACE=1): through waits then tells who waits for whom, also in point-to-point calls.",
            filters,
        ),
        Some(0) => {
            ("the timeline tells of no waiting in it".to_owned(), "through export perfetto shows the calls.", filters)
        }
        Some(waited_ns) => (
            format!("by the timeline {} of it is waiting", units::time(waited_ns)),
            "through waits tells who waits for whom.",
            format!("waits {filters}"),
        ),
    };
    Some(
        Finding {
            severity_ns: time_ns,
            cost: Cost::UpTo,
            // Nobody knows whether anything is wrong.
            ceiling: Some(Ceiling { level: Level::Info, why: "" }),
            others,
            command,
            ..Finding::new("heaviest-call")
        }
        .on(*comm, Some(op))
        .with(
            "seconds in these calls on the communicator",
            own_ns as f64 / 1e9,
            CALL * run.ledger.whole_ns() as f64 / 1e9,
            format!("SELECT coalesce(sum(time_s), 0) FROM profile WHERE {}", on(run, *comm, op)),
        )
        .word("share", units::percent(run.share(time_ns), 1.0))
        .word("mpi", units::percent(run.share(mpi_ns), 1.0))
        .word("known", known)
        .word("next", next),
    )
}

/// Nothing: there is no timeline.
fn waited_ns(run: &Run, comms: &BTreeMap<i64, i128>, op: i64) -> Option<i64> {
    let waited = run.timed.as_ref()?.waited.iter();
    let waited = waited.filter(|waited| waited.op == op && comms.contains_key(&waited.comm));
    Some(waited.fold(0i64, |sum, waited| sum.saturating_add(waited.wait_ns)))
}
