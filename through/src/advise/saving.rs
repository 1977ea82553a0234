//! By how much the run gets shorter at most.

use std::collections::BTreeMap;

use super::run::{OfRank, Run};

/// What ranks would no longer spend, by rank: of several communicators it adds up before it is compared over the ranks.
#[derive(Clone, Debug)]
pub enum Saving {
    Known(i64),
    /// Of their own time: the rank that is then last decides.
    Spent(BTreeMap<i64, i64>),
    /// For others, who get faster as well: no rank gains more than the one that waits most.
    Waited(BTreeMap<i64, i64>),
}

impl Default for Saving {
    fn default() -> Saving {
        Saving::Known(0)
    }
}

impl Saving {
    pub fn spent(ranks: &[OfRank]) -> Saving {
        Saving::part_of(ranks, 1.0)
    }

    /// Of what ranks spend, so much.
    pub fn part_of(ranks: &[OfRank], part: f64) -> Saving {
        let of_rank =
            |rank: &OfRank| (rank.rank, if part == 1.0 { rank.time_ns } else { (rank.time_ns as f64 * part) as i64 });
        Saving::Spent(ranks.iter().map(of_rank).collect())
    }

    pub fn add(&mut self, other: Saving) {
        match (self, other) {
            (Saving::Spent(sums), Saving::Spent(others)) | (Saving::Waited(sums), Saving::Waited(others)) => {
                for (rank, ns) in others {
                    let sum = sums.entry(rank).or_default();
                    *sum = sum.saturating_add(ns);
                }
            }
            (Saving::Known(ns), Saving::Known(other)) => *ns = ns.saturating_add(other),
            // A rule knows one kind.
            _ => {}
        }
    }

    pub fn gain_bound_ns(&self, run: &Run) -> i64 {
        match self {
            Saving::Known(ns) => *ns,
            Saving::Spent(by_rank) => run.gain_ns(by_rank),
            Saving::Waited(by_rank) => by_rank.values().copied().max().unwrap_or_default(),
        }
    }
}
