//! Where the run time of all ranks went: the POP efficiencies (<https://pop-coe.eu/node/69>, in the multiplicative form that TALP prints), and a
//! ledger of what is missing to 1. A profile cannot tell serialisation from transfer, since it has no times of single events.
//!
//! With P ranks, T the longest run time, w the run time of a rank and m its MPI time:
//! P·T = Σ (w − m) + Σ m + Σ (T − w), which is working, MPI by communicator, operation and phase, and ranks that ended early.

use std::collections::{BTreeMap, BTreeSet};

use super::catalog::{Catalog, NO_COMM, Process};
use super::source::{Relation, Source};
use super::unreturned::unreturned;
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub ranks: u64,
    /// Of the rank that ran longest.
    pub run_time_ns: i64,
    /// Outside of MPI, over all ranks.
    pub working_ns: i128,
    /// The part of it for want of a processor, where that is known: an estimate.
    pub unscheduled_ns: i128,
    /// MPI time, the heaviest entries first, with that of calls that have not returned.
    pub entries: Vec<Entry>,
    /// Of calls that have not returned, over all ranks.
    pub unreturned_ns: i128,
    /// From the end of each rank to that of the last one, over all ranks.
    pub end_skew_ns: i128,
    pub factors: Factors,
}

/// MPI time of all ranks in one operation on one communicator in one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub comm: i64,
    /// Nothing: MPI time of ranks that is in none of their counters, since these were lost, or rounded.
    pub op: Option<i64>,
    pub phase: i64,
    pub time_ns: i128,
}

/// Fractions of 1; none where nobody worked. Each is the product of those that are said to make it up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Factors {
    /// The load balance times the communication efficiency.
    pub parallel_efficiency: Option<f64>,
    /// The mean over the maximum of the working time: balance inside nodes times balance between them.
    pub load_balance: Option<f64>,
    /// The largest mean of a node over the maximum of a rank.
    pub load_balance_in_nodes: Option<f64>,
    /// The mean over all ranks over the largest mean of a node.
    pub load_balance_between_nodes: Option<f64>,
    /// The maximum of the working time over the run time.
    pub communication_efficiency: Option<f64>,
}

impl Ledger {
    /// What shares are shares of: ranks times run time.
    pub fn whole_ns(&self) -> i128 {
        i128::from(self.ranks) * i128::from(self.run_time_ns)
    }

    /// MPI time that is in no counter.
    pub fn unexplained_ns(&self) -> i128 {
        self.entries.iter().filter(|entry| entry.op.is_none()).map(|entry| entry.time_ns).sum()
    }

    /// What is missing to the whole: MPI, and ranks that ended early.
    pub fn lost_ns(&self) -> i128 {
        self.whole_ns() - self.working_ns
    }
}

/// Of all ranks, or of some: of these the ledger is that of a run of theirs alone.
pub fn ledger(profile: &Profile, catalog: &Catalog, ranks: Option<&BTreeSet<i64>>) -> Result<Ledger, Error> {
    let is_meant = |process: &&Process| ranks.is_none_or(|ranks| ranks.contains(&process.rank));
    let processes: Vec<&Process> = catalog.processes.iter().filter(is_meant).collect();
    let filter = Filter { ranks: ranks.cloned(), is_phased: catalog.phases.len() > 1, ..Filter::default() };
    let mut sums = in_cells(profile, catalog, &filter)?;
    let sum = |time: fn(&Process) -> i64| processes.iter().map(|process| i128::from(time(process))).sum::<i128>();
    let (wall_ns, mpi_ns) = (sum(|process| process.wall_ns), sum(|process| process.mpi_ns));
    let unreturned_ns = sum(|process| process.unreturned_ns);
    let unexplained_ns = mpi_ns - unreturned_ns - sums.values().sum::<i128>();
    for call in unreturned(profile)? {
        if filter.has_rank(call.rank) && !catalog.is_outside_span(call.op) {
            *sums.entry((call.comm, call.op, 0)).or_default() += i128::from(call.time_ns);
        }
    }
    let entry = |((comm, op, phase), time_ns)| Entry { comm, op: Some(op), phase, time_ns };
    let mut entries: Vec<Entry> = sums.into_iter().filter(|(_, time_ns)| *time_ns != 0).map(entry).collect();
    if unexplained_ns != 0 {
        entries.push(Entry { comm: NO_COMM, op: None, phase: 0, time_ns: unexplained_ns });
    }
    entries.sort_by_key(|entry| (std::cmp::Reverse(entry.time_ns), entry.comm, entry.op, entry.phase));
    let run_time_ns = processes.iter().map(|process| process.wall_ns).max().unwrap_or_default();
    let ranks = processes.len() as u64;
    Ok(Ledger {
        ranks,
        run_time_ns,
        working_ns: wall_ns - mpi_ns,
        unscheduled_ns: sum(|process| process.unscheduled_ns),
        unreturned_ns,
        entries,
        end_skew_ns: i128::from(ranks) * i128::from(run_time_ns) - wall_ns,
        factors: factors(&processes, run_time_ns, |process| process.wall_ns.saturating_sub(process.mpi_ns)),
    })
}

/// By communicator, operation and phase.
type Sums = BTreeMap<(i64, i64, i64), i128>;

fn in_cells(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Sums, Error> {
    let Relation { sql, values } = Source::new(profile, catalog, filter).groups_by_phase()?;
    let mut sums = Sums::new();
    profile.query::<(), ()>(&format!("SELECT comm, op, phase, time_ns FROM ({sql})"), values, |row| {
        let (comm, op, time_ns): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(3)?);
        let phase = row.get::<_, Option<i64>>(2)?.unwrap_or(0);
        if !catalog.is_outside_span(op) {
            *sums.entry((comm, op, phase)).or_default() += i128::from(time_ns);
        }
        Ok(())
    })?;
    Ok(sums)
}

/// By what a process works.
pub fn factors(processes: &[&Process], run_time_ns: i64, work_ns: fn(&Process) -> i64) -> Factors {
    let working = |process: &Process| work_ns(process) as f64;
    let mut nodes: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for process in processes {
        let (sum, count) = nodes.entry(&process.host).or_default();
        (*sum, *count) = (*sum + working(process), *count + 1.0);
    }
    let sum: f64 = processes.iter().map(|process| working(process)).sum();
    let mean = sum / processes.len().max(1) as f64;
    let most = processes.iter().map(|process| working(process)).fold(f64::MIN, f64::max);
    let most_of_nodes = nodes.values().map(|(sum, count)| sum / count).fold(f64::MIN, f64::max);
    let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    Factors {
        parallel_efficiency: ratio(mean, run_time_ns as f64),
        load_balance: ratio(mean, most),
        load_balance_in_nodes: ratio(most_of_nodes, most),
        load_balance_between_nodes: ratio(mean, most_of_nodes),
        communication_efficiency: ratio(most, run_time_ns as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(rank: i64, host: &str, wall_ns: i64, mpi_ns: i64) -> Process {
        Process::new(rank, host.to_owned(), 1, wall_ns, mpi_ns, "finished".to_owned())
    }

    /// The worked example of TALP's documentation has two nodes of two ranks, as here, with other times.
    #[test]
    fn factors_are_products_of_theirs() {
        let processes =
            [process(0, "a", 100, 20), process(1, "a", 100, 60), process(2, "b", 90, 60), process(3, "b", 100, 80)];
        let factors = factors(&processes.iter().collect::<Vec<_>>(), 100, Process::work_ns);
        // Working: 80, 40, 30, 20; mean 42.5, means of nodes 60 and 25.
        let close = |factor: Option<f64>, expected: f64| assert!((factor.unwrap() - expected).abs() < 1e-12);
        close(factors.parallel_efficiency, 0.425);
        close(factors.load_balance, 42.5 / 80.0);
        close(factors.load_balance_in_nodes, 60.0 / 80.0);
        close(factors.load_balance_between_nodes, 42.5 / 60.0);
        close(factors.communication_efficiency, 0.8);
    }

    #[test]
    fn nobody_works_nowhere() {
        assert_eq!(factors(&[], 0, Process::work_ns), Factors::default());
        let waits = process(0, "a", 5, 9);
        assert_eq!(factors(&[&waits], 5, Process::work_ns).load_balance, None);
    }
}
