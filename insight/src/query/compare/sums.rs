//! What each run did in each entry, and what changed from the one side to the other.

use std::collections::BTreeMap;

use super::aligned::Aligned;
use super::entry::What;
use super::reason::Side;
use super::run::{Cell, Run};

/// What one run did in one entry.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    pub calls: i64,
    /// Of all ranks together.
    pub rank_calls: i64,
    pub bytes: u128,
    pub time_ns: i128,
    /// How many ranks the run had.
    pub ranks: u64,
    even_ns: Option<i128>,
    floor_ns: Option<i128>,
    is_synchronising: bool,
    is_there: bool,
}

impl Sum {
    fn new(run: &Run) -> Sum {
        Sum { ranks: run.ranks, ..Sum::default() }
    }

    fn add(&mut self, cell: &Cell) {
        let added = |sum: Option<i128>, part: Option<i128>| if self.is_there { Some(sum? + part?) } else { part };
        (self.even_ns, self.floor_ns) = (added(self.even_ns, cell.even_ns), added(self.floor_ns, cell.floor_ns));
        self.calls = self.calls.saturating_add(cell.calls.max(0));
        self.rank_calls = self.rank_calls.saturating_add(cell.rank_calls.max(0));
        self.bytes = self.bytes.saturating_add(cell.bytes);
        self.time_ns += cell.time_ns;
        self.is_synchronising = cell.is_synchronising;
        self.is_there = true;
    }

    /// The least that was waited, and the most.
    fn waiting_ns(&self) -> (Option<i128>, Option<i128>) {
        let above = |least: Option<i128>| least.filter(|_| self.is_synchronising).map(|least| self.time_ns - least);
        (above(self.even_ns), above(self.floor_ns))
    }
}

/// By entry and run.
pub fn sums(runs: &[&Run], aligned: &Aligned) -> BTreeMap<What, Vec<Sum>> {
    let of_time = |run: &Run, time_ns| Sum { time_ns, is_there: true, ..Sum::new(run) };
    let whole = |time: fn(&Run) -> i128| runs.iter().map(|run| of_time(run, time(run))).collect::<Vec<_>>();
    let mut sums = BTreeMap::from([
        (What::Working, whole(|run| run.working_ns)),
        (What::Unexplained, whole(|run| run.unexplained_ns)),
        (What::EndSkew, whole(|run| run.end_skew_ns)),
    ]);
    sums.retain(|what, sums| *what == What::Working || sums.iter().any(|sum| sum.time_ns != 0));
    for (number, run) in runs.iter().enumerate() {
        let units = aligned.of_comms(number);
        for cell in &run.cells {
            let Some(unit) = units.get(&cell.comm) else { continue };
            let what = What::Calls { unit: *unit, op: cell.op.clone() };
            sums.entry(what).or_insert_with(|| runs.iter().map(|run| Sum::new(run)).collect())[number].add(cell);
        }
    }
    sums
}

/// The means over the runs of one side.
pub fn side(sums: &[Sum]) -> Side {
    let there: Vec<&Sum> = sums.iter().filter(|sum| sum.is_there).collect();
    let mean = |of: &dyn Fn(&Sum) -> f64| there.iter().map(|sum| of(sum)).sum::<f64>() / sums.len().max(1) as f64;
    let known = |of: &dyn Fn(&Sum) -> Option<i128>| {
        let is_known = !there.is_empty() && there.iter().all(|sum| of(sum).is_some());
        is_known.then(|| mean(&|sum| of(sum).unwrap_or(0) as f64))
    };
    Side {
        time_ns: mean(&|sum| sum.time_ns as f64),
        ranks: sums.iter().map(|sum| sum.ranks as f64).sum::<f64>() / sums.len().max(1) as f64,
        calls: mean(&|sum| sum.rank_calls as f64),
        bytes: mean(&|sum| sum.bytes as f64),
        waiting_ns: known(&|sum| sum.waiting_ns().0),
        waiting_most_ns: known(&|sum| sum.waiting_ns().1),
    }
}

/// Means over runs are no whole nanoseconds: each entry is rounded so that the sum of all so far is right.
pub struct Rounding {
    runs: [i128; 2],
    /// Of what was rounded.
    pub rounded: i128,
    /// Times both numbers of runs.
    exact: i128,
}

impl Rounding {
    pub fn new(a: usize, b: usize) -> Rounding {
        Rounding { runs: [a, b].map(|runs| runs.max(1) as i128), rounded: 0, exact: 0 }
    }

    /// The change of an entry from the one side to the other.
    pub fn next(&mut self, a: &[Sum], b: &[Sum]) -> i128 {
        let [of_a, of_b] = self.runs;
        let sum = |sums: &[Sum]| sums.iter().map(|sum| sum.time_ns).sum::<i128>();
        self.exact += sum(b) * of_a - sum(a) * of_b;
        // To the nearest; halves upwards.
        let rounded = (2 * self.exact + of_a * of_b).div_euclid(2 * of_a * of_b);
        let change = rounded - self.rounded;
        self.rounded = rounded;
        change
    }
}

/// The middle one of each side; of an even number the lower of two.
pub fn middle(sums: &[Sum], of: impl Fn(&Sum) -> u128) -> u128 {
    let mut values: Vec<u128> = sums.iter().map(of).collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// Whether all runs of one side have more than all of the other.
pub fn are_apart(a: &[Sum], b: &[Sum], of: impl Fn(&Sum) -> (u128, u128)) -> bool {
    // Fractions, compared without rounding.
    let less = |a: (u128, u128), b: (u128, u128)| a.0.saturating_mul(b.1) < b.0.saturating_mul(a.1);
    let all = |below: &[Sum], above: &[Sum]| below.iter().all(|low| above.iter().all(|high| less(of(low), of(high))));
    all(a, b) || all(b, a)
}
