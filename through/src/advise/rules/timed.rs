//! What rules about waits of a timeline have in common: who waits in one call, for whom, and how long.

use std::collections::{BTreeMap, BTreeSet};

use commsee::ranks::Ranks;

use super::noise;
use crate::advise::finding::{Ceiling, Confidence, Finding};
use crate::advise::gain::{Cells, Gain};
use crate::advise::run::{Run, filters, on};
use crate::query::waiting::{State, Waited};
use crate::text::units;

/// Of the waiting beyond what is for any other rank: the ranks that make up so much of it are named.
const NAMED: f64 = 0.8;
/// Of all the waiting: ranks of less than so much are not those of most of it.
const MOST: f64 = 0.5;

/// An operation on a communicator.
pub struct Call<'a> {
    pub comm: i64,
    pub op: i64,
    pub waits: Vec<&'a Waited>,
}

/// Calls in which ranks wait in one of these states.
pub fn calls<'a>(run: &'a Run, states: &[State]) -> Vec<Call<'a>> {
    let mut by_call: BTreeMap<(i64, i64), Vec<&Waited>> = BTreeMap::new();
    for waited in run.timed.iter().flat_map(|timed| &timed.waited) {
        if states.contains(&waited.state) {
            by_call.entry((waited.comm, waited.op)).or_default().push(waited);
        }
    }
    by_call.into_iter().map(|((comm, op), waits)| Call { comm, op, waits }).collect()
}

impl Call<'_> {
    pub fn waiting_ns(&self) -> i64 {
        self.waits.iter().fold(0, |sum, waited| sum.saturating_add(waited.wait_ns))
    }

    /// What all such findings say.
    pub fn finding(&self, run: &Run, topic: &str) -> Finding {
        let Call { comm, op, waits } = self;
        let times = waits.iter().fold(0u64, |sum, waited| sum.saturating_add(waited.times)).max(1);
        let each_ns = self.waiting_ns() / i64::try_from(times).unwrap_or(i64::MAX);
        let waiters: BTreeSet<i64> = waits.iter().map(|waited| waited.rank).collect();
        let time_ns = run.sums.get(&(*comm, *op)).map_or(0, |sum| sum.time_ns);
        let waiting = match waiters.len() {
            1 => "1 rank waits".to_owned(),
            more => format!("{more} ranks wait"),
        };
        let mean_ns = self.waiting_ns() / waiters.len().max(1) as i64;
        Finding {
            confidence: Confidence::Timeline,
            gain: Gain::longest(self.cells(), waits.iter().map(|waited| waited.late_rank)),
            ceiling: self.ceiling(run),
            command: format!("waits {}", filters(run, *comm, *op)),
            ..Finding::new(topic)
        }
        .on(*comm, Some(*op))
        .with(
            "time in the calls, seconds of all ranks",
            time_ns as f64 / 1e9,
            0.01 * run.ledger.whole_ns() as f64 / 1e9,
            format!("SELECT sum(time_s) FROM profile WHERE {}", on(run, *comm, *op)),
        )
        .word("waiting", format!("{}{}", units::time(mean_ns), if waiters.len() > 1 { " each" } else { "" }))
        .word("mean", units::time(mean_ns))
        .word("each", units::time(each_ns))
        .word("waiters", waiting)
    }

    fn cells(&self) -> Cells {
        let mut cells = Cells::new();
        for waited in &self.waits {
            let sum = cells.entry((self.comm, self.op, waited.rank)).or_default();
            *sum = sum.saturating_add(waited.wait_ns);
        }
        cells
    }

    /// Of the pair that waits most: short waits of others say nothing of it.
    fn ceiling(&self, run: &Run) -> Option<Ceiling> {
        let most = self.waits.iter().max_by_key(|waited| waited.wait_ns)?;
        let times = most.times.clamp(1, i64::MAX as u64) as i64;
        noise::ceiling(run, self.comm, self.op, times, most.wait_ns / times)
    }

    /// The few ranks that most of the waiting is for; none where it is for many. On a busy machine all wait a little for any rank, which adds up.
    pub fn awaited(&self) -> Ranks {
        let mut by_rank: BTreeMap<i64, i128> = BTreeMap::new();
        for waited in &self.waits {
            *by_rank.entry(waited.late_rank).or_default() += i128::from(waited.wait_ns);
        }
        let mut awaited: Vec<(i64, i128)> = by_rank.into_iter().collect();
        awaited.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        let any_ns = if awaited.len() > 1 { awaited[awaited.len() / 2].1 } else { 0 };
        let beyond = |ns: i128| (ns - any_ns).max(0);
        let beyond_ns: i128 = awaited.iter().map(|(_, ns)| beyond(*ns)).sum();
        let (mut named_ns, mut of_named_ns) = (0, 0);
        let mut late = Vec::new();
        for (rank, ns) in awaited {
            if named_ns as f64 >= NAMED * beyond_ns as f64 {
                break;
            }
            named_ns += beyond(ns);
            of_named_ns += ns;
            late.push(rank);
        }
        let is_most = of_named_ns as f64 >= MOST * self.waiting_ns() as f64;
        if is_most { named(late.into_iter()) } else { Ranks::default() }
    }
}

pub fn named(ranks: impl Iterator<Item = i64>) -> Ranks {
    ranks.filter_map(|rank| u32::try_from(rank).ok()).collect()
}

/// `: rank 2`, after a title that need not name anybody.
pub fn appended(ranks: &Ranks) -> String {
    match ranks.count() {
        0 => String::new(),
        1 => format!(": rank {ranks}"),
        _ => format!(": ranks {ranks}"),
    }
}
