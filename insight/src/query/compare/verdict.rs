//! Which changes of times are more than chance.

use super::entry::{Change, Verdict};
use crate::statistics::{LEVEL, Shift, holm, least_p, mann_whitney, shift};

/// With fewer runs a side, no test tells anything from chance: of three and three the least p-value is 0.1.
pub const LEAST_RUNS: usize = 4;
/// Entries that hardly change the run time are not asked for.
const MOST_TESTED: usize = 100;

/// One quantity by itself; the runs of the first side come first.
pub fn alone(seconds: &[f64], number: usize) -> Change {
    let (a, b) = seconds.split_at(number);
    let shift = shift(a, b);
    if a.len().min(b.len()) < LEAST_RUNS {
        return Change { shift, ..Change::default() };
    }
    let p = mann_whitney(a, b);
    Change { p: Some(p), shift, verdict: Some(verdict(p <= LEVEL, shift)) }
}

/// Of all entries together. Few runs have coarse p-values, which would use up 5 % to the last: then more than ten of 200 pairs of equal programs had
/// a false verdict every other time.
const LEVEL_OF_ALL: f64 = 0.03;

/// How many entries so many runs can tell from chance: each more that is tested makes all tests stricter (Holm).
pub fn testable(a: usize, b: usize) -> usize {
    if a.min(b) < LEAST_RUNS {
        return 0;
    }
    ((LEVEL_OF_ALL / least_p(a, b)).floor() as usize).clamp(1, MOST_TESTED)
}

/// Many together. Tested are the entries whose runs fall most clearly into a lower and an upper group as large as the sides are. Since that does not ask
/// which side a run is of, it does not make false verdicts more likely.
pub fn together(entries: &[Vec<f64>], number: usize) -> Vec<Change> {
    let mut changes: Vec<Change> = entries
        .iter()
        .map(|seconds| Change { shift: shift(&seconds[..number], &seconds[number..]), ..Change::default() })
        .collect();
    let runs = entries.first().map_or(0, Vec::len);
    let most = testable(number, runs.saturating_sub(number));
    if most == 0 {
        return changes;
    }
    let gap = |seconds: &[f64]| {
        let mut sorted = seconds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |lower: usize| sorted[lower] - sorted[lower - 1];
        at(number).max(at(sorted.len() - number))
    };
    let gaps: Vec<f64> = entries.iter().map(|seconds| gap(seconds)).collect();
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|a, b| gaps[*b].total_cmp(&gaps[*a]));
    let tested = &order[..most.min(order.len())];
    let p_values: Vec<f64> =
        tested.iter().map(|at| mann_whitney(&entries[*at][..number], &entries[*at][number..])).collect();
    changes.iter_mut().for_each(|change| change.verdict = Some(Verdict::NotTested));
    for (at, p) in tested.iter().zip(holm(&p_values)) {
        let change = &mut changes[*at];
        change.p = Some(p);
        change.verdict = Some(verdict(p <= LEVEL_OF_ALL, change.shift));
    }
    changes
}

fn verdict(is_certain: bool, shift: Option<Shift>) -> Verdict {
    match shift.map_or(0.0, |shift| shift.shift) {
        shift if is_certain && shift > 0.0 => Verdict::Slower,
        shift if is_certain && shift < 0.0 => Verdict::Faster,
        _ => Verdict::NotSignificant,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_runs_test_few_entries() {
        let numbers = [(3, 9), (4, 4), (5, 5), (6, 6), (10, 10)].map(|(a, b)| testable(a, b));
        assert_eq!(numbers, [0, 1, 3, 13, 100]);
    }

    #[test]
    fn few_runs_have_no_verdict() {
        let change = alone(&[1.0, 2.0, 3.0, 11.0, 12.0, 13.0], 3);
        assert_eq!((change.p, change.verdict, change.shift.unwrap().shift), (None, None, 10.0));
        let change = alone(&[1.0, 2.0, 3.0, 4.0, 11.0, 12.0, 13.0, 14.0], 4);
        assert_eq!((change.p.map(|p| (p * 1000.0).round()), change.verdict), (Some(29.0), Some(Verdict::Slower)));
    }

    #[test]
    fn what_moves_is_tested() {
        let still = vec![0.0, 5.0, 10.0, 15.0, 0.0, 5.0, 10.0, 15.0];
        let moves = vec![1.0, 1.1, 1.2, 1.3, 9.0, 9.1, 9.2, 9.3];
        let changes = together(&[still, moves], 4);
        let verdicts: Vec<_> = changes.iter().map(|change| change.verdict.unwrap()).collect();
        assert_eq!(verdicts, [Verdict::NotTested, Verdict::Slower]);
    }
}
