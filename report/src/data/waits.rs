//! Waiting by communicator, operation and rank: exact where there is a timeline, else bounds from the counters.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use through_core::advise::Run;
use through_core::query::waiting::Timed;
use through_core::text::units;

use super::lists::Lists;
use crate::pack::Columns;

/// Rows of ranks; those of the operations in which least was waited are left out.
const MOST_ROWS: usize = 20_000;

/// At least and at most, by communicator and operation, then by rank.
type Waits = BTreeMap<(i64, i64), BTreeMap<i64, (i64, i64)>>;

fn waited(run: &Run) -> Waits {
    let mut waits: Waits = BTreeMap::new();
    let is_whole = run.timed.as_ref().is_some_and(Timed::is_whole);
    if !is_whole {
        for group in run.waits.iter().flatten() {
            let ranks = group.members.iter().map(|member| (member.rank, (member.min_ns, member.max_ns)));
            waits.entry((group.comm, group.op)).or_default().extend(ranks);
        }
    }
    let is_known: std::collections::BTreeSet<(i64, i64)> = waits.keys().copied().collect();
    for one in run.timed.iter().flat_map(|timed| &timed.waited) {
        let key = (one.comm, one.op);
        if !is_known.contains(&key) {
            let (least, most) = waits.entry(key).or_default().entry(one.rank).or_default();
            *least = least.saturating_add(one.wait_ns);
            *most = most.saturating_add(one.wait_ns);
        }
    }
    waits.retain(|_, ranks| ranks.values().any(|(_, most)| *most > 0));
    waits
}

/// Over all ranks.
pub fn bounds_ns(run: &Run) -> (i128, i128) {
    let waits = waited(run);
    let all = || waits.values().flat_map(BTreeMap::values);
    (all().map(|(least, _)| i128::from(*least)).sum(), all().map(|(_, most)| i128::from(*most)).sum())
}

pub fn waits(run: &Run, lists: &Lists, caps: &mut Vec<String>) -> Option<Value> {
    let waits = waited(run);
    let mut groups: Vec<_> = waits.iter().collect();
    groups.sort_by_key(|(_, ranks)| std::cmp::Reverse(ranks.values().map(|(_, most)| i128::from(*most)).sum::<i128>()));
    let all = groups.len();
    let mut rows = 0;
    groups.retain(|(_, ranks)| {
        rows += ranks.len();
        rows <= MOST_ROWS
    });
    if groups.len() < all {
        let left = units::count((all - groups.len()) as u64, "operation on a communicator");
        caps.push(format!("Waiting of single ranks is left out for the {left} with the least waiting."));
    }
    if let Some(timed) = run.timed.as_ref().filter(|timed| !timed.is_whole()) {
        caps.push(format!(
            "{}: waiting from the timeline covers only the end of the run. through run --trace=64M keeps more.",
            timed.lost()
        ));
    }
    let mut caused: BTreeMap<i64, i64> = BTreeMap::new();
    for one in run.timed.iter().flat_map(|timed| &timed.waited) {
        let sum = caused.entry(one.late_rank).or_default();
        *sum = sum.saturating_add(one.wait_ns);
    }
    let rows: Vec<(usize, usize, i64, i64, i64)> = groups
        .into_iter()
        .flat_map(|((comm, op), ranks)| {
            let (comm, op) = (lists.comm(*comm), lists.op(*op));
            ranks.iter().map(move |(rank, (least, most))| (comm, op, *rank, *least, *most))
        })
        .collect();
    let mut columns = Columns::default();
    columns.add_differences("comm", rows.iter().map(|row| row.0 as i64));
    columns.add_differences("op", rows.iter().map(|row| row.1 as i64));
    columns.add_differences("rank", rows.iter().map(|row| row.2));
    columns.add("least_ns", rows.iter().map(|row| row.3));
    columns.add("more_ns", rows.iter().map(|row| row.4.saturating_sub(row.3)));
    let is_timed = run.timed.as_ref().is_some_and(Timed::is_whole);
    (!rows.is_empty()).then(|| {
        json!({
            "exact": is_timed,
            "waits": columns.finish(),
            "caused_ns": caused.into_iter().take(MOST_ROWS).collect::<Vec<_>>(),
        })
    })
}
