//! One rank that sends to all others by hand.

use std::collections::{BTreeMap, BTreeSet};

use super::funnel::{End, MESSAGES, RANKS, SHARE};
use crate::advise::finding::Finding;
use crate::advise::run::Run;
use crate::query::Error;

/// Messages and bytes from one rank, by the member that they go to.
type Ends = BTreeMap<i64, (i64, i64)>;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let sends: BTreeSet<i64> = run.catalog.operations.keys().copied().filter(|op| run.class(*op) == "p2p").collect();
    let mut by_comm: BTreeMap<i64, BTreeMap<i64, Ends>> = BTreeMap::new();
    run.profile.query::<(), ()>(
        "SELECT comm, src, dst, calls, bytes, op FROM edge WHERE src <> dst",
        vec![],
        |row| {
            let is_send = sends.contains(&row.get(5)?);
            if is_send {
                let ends = by_comm.entry(row.get(0)?).or_default().entry(row.get(1)?).or_default();
                let sum = ends.entry(row.get(2)?).or_default();
                *sum = (sum.0.saturating_add(row.get(3)?), sum.1.saturating_add(row.get(4)?));
            }
            Ok(())
        },
    )?;
    let mut findings = Vec::new();
    for (comm, sources) in by_comm {
        let of = |ends: &Ends| ends.values().fold(0i64, |sum, (messages, _)| sum.saturating_add(*messages));
        let all = sources.values().map(of).fold(0i64, i64::saturating_add);
        let Some((root, ends)) = sources.iter().max_by_key(|(_, ends)| of(ends)) else { continue };
        let share = of(ends) as f64 / all.max(1) as f64;
        let size = run.comm(comm).and_then(|comm| comm.size).unwrap_or_default();
        let is_to_all = ends.len() as u64 + 1 == size && ends.values().all(|end| Some(end) == ends.values().next());
        if size < RANKS || !is_to_all || share < SHARE || all < MESSAGES || *root < 0 {
            continue;
        }
        let end = End { rank: *root, share, messages: all, column: "src" };
        findings.push(end.finding("one-to-all", "messages from one rank", run, comm, &sends)?);
    }
    Ok(findings)
}
