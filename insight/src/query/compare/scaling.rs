//! Runs on different numbers of ranks: the efficiencies of each (<https://pop-coe.eu/node/69>), and how the work of all ranks grows. The work
//! tells strong from weak scaling: with a fixed problem it stays, with a problem of fixed size on each rank it grows as the ranks do.

use std::collections::BTreeMap;

use through_core::query::ledger::Factors;

use super::aligned::Aligned;
use super::run::Run;

#[derive(Clone, Debug)]
pub struct Scaling {
    /// Whether the work of all ranks grows more like their number than it stays.
    pub is_weak: bool,
    /// In the order of their numbers of ranks.
    pub sizes: Vec<Scaled>,
    /// Those with most time first.
    pub families: Vec<Family>,
}

/// The runs on one number of ranks, by the one with the median run time.
#[derive(Clone, Debug)]
pub struct Scaled {
    pub ranks: u64,
    pub runs: usize,
    /// Place of the run that stands for them.
    pub run: usize,
    pub run_time_ns: i64,
    pub working_ns: i128,
    pub mpi_ns: i128,
    pub factors: Factors,
    /// By the work of all ranks on the fewest ranks: with a fixed problem, and with one of fixed size on each rank.
    pub strong: Option<f64>,
    pub weak: Option<f64>,
}

/// MPI time on communicators that one call made, in a run of each number of ranks.
#[derive(Clone, Debug)]
pub struct Family {
    pub comm: String,
    pub label: Option<String>,
    /// The mean over the ranks.
    pub times_s: Vec<f64>,
}

impl Scaling {
    /// Nothing: all runs are on the same number of ranks.
    pub fn of(runs: &[Run]) -> Option<Scaling> {
        let mut by_ranks: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (at, run) in runs.iter().enumerate().filter(|(_, run)| run.ranks > 0) {
            by_ranks.entry(run.ranks).or_default().push(at);
        }
        if by_ranks.len() < 2 {
            return None;
        }
        let median = |places: &mut Vec<usize>| {
            places.sort_by_key(|at| runs[*at].run_time_ns);
            places[(places.len() - 1) / 2]
        };
        let chosen: Vec<(usize, usize)> =
            by_ranks.into_values().map(|mut places| (places.len(), median(&mut places))).collect();
        let first = &runs[chosen[0].1];
        let sizes: Vec<Scaled> = chosen.iter().map(|(count, at)| scaled(runs, *at, *count, first)).collect();
        let grown = |of: fn(&Scaled) -> f64| sizes.last().map_or(1.0, of) / of(&sizes[0]);
        let work = grown(|size| size.working_ns as f64).ln();
        let is_weak = work / grown(|size| size.ranks as f64).ln() >= 0.5;
        let families = families(&chosen.iter().map(|(_, at)| &runs[*at]).collect::<Vec<_>>());
        Some(Scaling { is_weak, sizes, families })
    }

    pub fn computation(&self, size: &Scaled) -> Option<f64> {
        if self.is_weak { size.weak } else { size.strong }
    }

    /// Parallel efficiency times computation scaling.
    pub fn global(&self, size: &Scaled) -> Option<f64> {
        Some(size.factors.parallel_efficiency? * self.computation(size)?)
    }
}

fn scaled(runs: &[Run], at: usize, count: usize, first: &Run) -> Scaled {
    let run = &runs[at];
    let strong = (run.working_ns > 0).then(|| first.working_ns as f64 / run.working_ns as f64);
    Scaled {
        ranks: run.ranks,
        runs: count,
        run: at,
        run_time_ns: run.run_time_ns,
        working_ns: run.working_ns,
        mpi_ns: run.mpi_ns,
        factors: run.factors,
        strong,
        weak: strong.map(|strong| strong * run.ranks as f64 / first.ranks as f64),
    }
}

fn families(runs: &[&Run]) -> Vec<Family> {
    let aligned = Aligned::of(runs, 0);
    let units: Vec<_> = (0..runs.len()).map(|run| aligned.of_comms(run)).collect();
    let mut families: Vec<Family> = Vec::new();
    for unit in 0..aligned.units.len() {
        let Some(first) = (0..runs.len()).find_map(|run| aligned.first(unit, run, runs[run])) else { continue };
        let time = |(run, units): (&&Run, &std::collections::HashMap<usize, usize>)| {
            let own = run.cells.iter().filter(|cell| units.get(&cell.comm) == Some(&unit));
            run.per_rank_s(own.map(|cell| cell.time_ns).sum())
        };
        let times_s = runs.iter().zip(&units).map(time).collect();
        families.push(Family { comm: first.name.clone(), label: first.label.clone(), times_s });
    }
    let all = |family: &Family| family.times_s.iter().sum::<f64>();
    families.retain(|family| all(family) > 0.0);
    families.sort_by(|a, b| all(b).total_cmp(&all(a)));
    families
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(ranks: u64, run_time_ns: i64, working_ns: i128) -> Run {
        let factors = Factors { parallel_efficiency: Some(0.5), ..Factors::default() };
        Run { ranks, run_time_ns, working_ns, factors, ..Run::default() }
    }

    #[test]
    fn the_work_tells_strong_from_weak() {
        let strong = Scaling::of(&[run(8, 30, 110), run(2, 100, 100), run(4, 60, 105)]).unwrap();
        assert!(!strong.is_weak);
        assert_eq!(
            strong.sizes.iter().map(|size| (size.ranks, size.run)).collect::<Vec<_>>(),
            [(2, 1), (4, 2), (8, 0)]
        );
        assert_eq!(strong.computation(&strong.sizes[2]), Some(100.0 / 110.0));
        assert_eq!(strong.global(&strong.sizes[0]), Some(0.5));
        let weak = Scaling::of(&[run(2, 100, 100), run(8, 120, 500)]).unwrap();
        assert!(weak.is_weak);
        assert_eq!(weak.computation(&weak.sizes[1]), Some(0.8));
    }

    #[test]
    fn the_median_run_stands_for_its_number_of_ranks() {
        assert!(Scaling::of(&[run(4, 1, 1), run(4, 2, 1)]).is_none());
        let found = Scaling::of(&[run(2, 30, 9), run(2, 10, 9), run(2, 20, 9), run(4, 5, 9)]).unwrap();
        assert_eq!((found.sizes[0].runs, found.sizes[0].run), (3, 2));
    }
}
