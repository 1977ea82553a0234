//! What the run gains if a finding is fixed, in run time: the one measure of all findings. What several claim counts once.

use std::collections::{BTreeMap, BTreeSet};

use super::run::Run;

/// Time by communicator, operation and rank.
pub type Cells = BTreeMap<(i64, i64, i64), i64>;

/// How the run gets shorter by the time that ranks no longer spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// By as much as any rank spends, if the others have as much to wait for it.
    #[default]
    Spent,
    /// Members wait for the last one: they gain the mean, since what makes one late is done by all if it is spread.
    Together,
    /// By as much as the rank waits that waits longest.
    Longest,
    Known(i64),
}

#[derive(Clone, Debug, Default)]
pub struct Gain {
    pub basis: Basis,
    pub cells: Cells,
    /// Ranks whose work moves, which bounds nothing: the late ones, or all of a group that shares it.
    pub moved: BTreeSet<i64>,
}

impl Gain {
    pub fn spent(cells: Cells) -> Gain {
        Gain { cells, ..Gain::default() }
    }

    pub fn known(ns: i64) -> Gain {
        Gain { basis: Basis::Known(ns), ..Gain::default() }
    }

    /// What the members of a communicator wait in an operation for those that come last.
    pub fn together(cells: Cells, members: impl IntoIterator<Item = i64>) -> Gain {
        Gain { basis: Basis::Together, cells, moved: members.into_iter().collect() }
    }

    /// What ranks wait for others, which come in time if their work moves.
    pub fn longest(cells: Cells, late: impl IntoIterator<Item = i64>) -> Gain {
        Gain { basis: Basis::Longest, cells, moved: late.into_iter().collect() }
    }

    /// Such a part of it.
    pub fn part(mut self, part: f64) -> Gain {
        self.cells.values_mut().for_each(|ns| *ns = (*ns as f64 * part) as i64);
        self
    }

    pub fn is_waiting(&self) -> bool {
        matches!(self.basis, Basis::Together | Basis::Longest)
    }

    /// Over all ranks.
    pub fn sum_ns(&self) -> i64 {
        self.cells.values().fold(0, |sum, ns| sum.saturating_add(*ns))
    }

    /// What each rank spends or waits.
    pub fn by_rank(&self) -> BTreeMap<i64, i64> {
        let mut by_rank: BTreeMap<i64, i64> = BTreeMap::new();
        for ((.., rank), ns) in &self.cells {
            let sum = by_rank.entry(*rank).or_default();
            *sum = sum.saturating_add(*ns);
        }
        by_rank
    }

    /// With that of the same finding elsewhere, or of one that it explains.
    pub fn add(&mut self, other: &Gain) {
        for (cell, ns) in &other.cells {
            let own = self.cells.entry(*cell).or_default();
            *own = (*own).max(*ns);
        }
        self.moved.extend(&other.moved);
        if let (Basis::Known(ns), Basis::Known(more)) = (&mut self.basis, other.basis) {
            *ns = ns.saturating_add(more);
        }
    }
}

/// What of the run nobody has claimed.
pub struct Budget {
    run_ns: i64,
    /// In MPI, and after the end of its run.
    by_rank: BTreeMap<i64, i64>,
    claimed: Cells,
}

impl Budget {
    pub fn of(run: &Run) -> Budget {
        let run_ns = run.ledger.run_time_ns;
        let idle = |wall_ns: i64, mpi_ns: i64| mpi_ns.saturating_add(run_ns.saturating_sub(wall_ns)).max(0);
        let by_rank = run.catalog.processes.iter().map(|process| (process.rank, idle(process.wall_ns, process.mpi_ns)));
        Budget { run_ns, by_rank: by_rank.collect(), claimed: Cells::new() }
    }

    /// How much shorter the run gets, at most, beyond what was taken.
    pub fn gain_ns(&self, gain: &Gain) -> i64 {
        let mut left: BTreeMap<i64, i64> = BTreeMap::new();
        for (cell, ns) in &gain.cells {
            // Of two claims on one call the smaller may be part of the larger.
            let claimed_ns = self.claimed.get(cell).copied().unwrap_or_default();
            let sum = left.entry(cell.2).or_default();
            *sum = sum.saturating_add(ns.saturating_sub(claimed_ns).max(0));
        }
        let most_ns = left.values().copied().max().unwrap_or_default();
        let gained_ns = match gain.basis {
            Basis::Spent | Basis::Longest => most_ns,
            Basis::Together => {
                let sum_ns: i128 = left.values().map(|ns| i128::from(*ns)).sum();
                (sum_ns / gain.moved.len().max(1) as i128) as i64
            }
            // What is worked longer somewhere, others wait for.
            Basis::Known(ns) => ns.saturating_sub(self.claimed_for(gain)),
        };
        // A rank that is not in MPI does not get faster by it, unless the work of all is spread anew.
        let others = self.by_rank.iter().filter(|(rank, _)| !gain.moved.contains(rank)).map(|(_, ns)| *ns);
        let sum_ns: i128 = left.values().map(|ns| i128::from(*ns)).sum();
        let spread_ns = (sum_ns / self.by_rank.len().max(1) as i128) as i64;
        let bound_ns = others.min().unwrap_or(i64::MAX).max(spread_ns);
        gained_ns.min(bound_ns).min(self.run_ns).max(0)
    }

    pub fn take(&mut self, gain: &Gain, gained_ns: i64) {
        self.run_ns -= gained_ns;
        for (rank, ns) in &mut self.by_rank {
            if !gain.moved.contains(rank) {
                *ns -= gained_ns;
            }
        }
        for (cell, ns) in &gain.cells {
            let claimed = self.claimed.entry(*cell).or_default();
            *claimed = (*claimed).max(*ns);
        }
    }

    /// Of its cells, in the mean over the ranks whose work moves.
    fn claimed_for(&self, gain: &Gain) -> i64 {
        let claimed = gain.cells.keys().filter_map(|cell| self.claimed.get(cell)).map(|ns| i128::from(*ns));
        (claimed.sum::<i128>() / gain.moved.len().max(1) as i128) as i64
    }
}
