//! Whether two things go together: Pearson's coefficient, if on a line, and Spearman's, if only up and down together.

use statrs::function::beta::beta_reg;

use super::ranks::doubled;
use super::{Interval, LEVEL};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlation {
    pub r: f64,
    /// At 95 %; nothing of fewer than four pairs.
    pub interval: Option<Interval>,
    /// Two-sided, of no correlation; nothing of fewer than three pairs.
    pub p: Option<f64>,
}

/// Up to so many pairs the p-value of Spearman's coefficient is exact: of more, all orders are too many to go through.
const MOST_COUNTED: usize = 9;

/// With Fisher's interval. Nothing where one of the two is always the same.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<Correlation> {
    pearson_within(x, y, &vec![0; x.len()])
}

/// Of what is left when the mean of each group is taken away: whether the two go together inside of groups.
pub fn pearson_within(x: &[f64], y: &[f64], groups: &[usize]) -> Option<Correlation> {
    let (x, _) = centred(x, groups);
    let (y, used) = centred(y, groups);
    let r = coefficient(&x, &y)?;
    let free = used.free();
    Some(Correlation { r, interval: interval(r, free, 1.0), p: p_of_t(r, free) })
}

/// With the interval of Bonett and Wright: <https://doi.org/10.1007/BF02294183>. Exact up to 9 pairs.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<Correlation> {
    let found = spearman_within(x, y, &vec![0; x.len()])?;
    match x.len() <= MOST_COUNTED {
        true => Some(Correlation { p: (x.len() > 2).then(|| counted(&doubled(x), &doubled(y))), ..found }),
        false => Some(found),
    }
}

/// The same with ranks inside of each group.
pub fn spearman_within(x: &[f64], y: &[f64], groups: &[usize]) -> Option<Correlation> {
    let ranked = |values: &[f64]| {
        let mut ranks = vec![0.0; values.len()];
        for members in members(groups) {
            let own: Vec<f64> = members.iter().map(|at| values[*at]).collect();
            for (at, rank) in members.iter().zip(doubled(&own)) {
                ranks[*at] = f64::from(rank);
            }
        }
        ranks
    };
    let (x, used) = centred(&ranked(x), groups);
    let (y, _) = centred(&ranked(y), groups);
    let r = coefficient(&x, &y)?;
    let free = used.free();
    Some(Correlation { r, interval: interval(r, free, 1.0 + r * r / 2.0), p: p_of_t(r, free) })
}

/// Pairs, and groups that took a mean from them.
struct Used {
    pairs: usize,
    groups: usize,
}

impl Used {
    /// Degrees of freedom of the t distribution: the pairs less the means and the slope.
    fn free(&self) -> usize {
        self.pairs.saturating_sub(self.groups + 1)
    }
}

fn members(groups: &[usize]) -> Vec<Vec<usize>> {
    let mut numbers = groups.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    let of = |number: &usize| (0..groups.len()).filter(|at| groups[*at] == *number).collect();
    numbers.iter().map(of).collect()
}

/// Less the mean of their group. A group of one says nothing.
fn centred(values: &[f64], groups: &[usize]) -> (Vec<f64>, Used) {
    let mut centred = vec![0.0; values.len()];
    let mut used = Used { pairs: 0, groups: 0 };
    for members in members(groups).into_iter().filter(|members| members.len() > 1) {
        let mean = members.iter().map(|at| values[*at]).sum::<f64>() / members.len() as f64;
        members.iter().for_each(|at| centred[*at] = values[*at] - mean);
        used = Used { pairs: used.pairs + members.len(), groups: used.groups + 1 };
    }
    (centred, used)
}

fn coefficient(x: &[f64], y: &[f64]) -> Option<f64> {
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (both, of_x, of_y) = (sum(x, y), sum(x, x), sum(y, y));
    (of_x > 0.0 && of_y > 0.0).then(|| (both / (of_x.sqrt() * of_y.sqrt())).clamp(-1.0, 1.0))
}

/// Fisher's: the inverse hyperbolic tangent of r is about normal, with 1/(n - 3) for its variance.
fn interval(r: f64, free: usize, wider: f64) -> Option<Interval> {
    let deviation = (wider / free.checked_sub(1).filter(|left| *left > 0)? as f64).sqrt();
    let normal = statrs::function::erf::erfc_inv(LEVEL) * std::f64::consts::SQRT_2;
    let at = |sign: f64| (r.atanh() + sign * normal * deviation).tanh();
    Some(if r.abs() < 1.0 { Interval { low: at(-1.0), high: at(1.0) } } else { Interval { low: r, high: r } })
}

/// That t = r √(free / (1 - r²)) is as large, in Student's distribution.
fn p_of_t(r: f64, free: usize) -> Option<f64> {
    // t² / (free + t²) is r².
    let beyond = (1.0 - r * r).max(0.0);
    (free > 0).then(|| if beyond == 0.0 { 0.0 } else { beta_reg(free as f64 / 2.0, 0.5, beyond) })
}

/// How often the sum of products of ranks is as far from its mean, of all orders of the one against the other.
fn counted(x: &[u32], y: &[u32]) -> f64 {
    let n = x.len();
    let sum = |order: &[u32]| x.iter().zip(order).map(|(x, y)| i64::from(*x) * i64::from(*y)).sum::<i64>();
    let total = |ranks: &[u32]| ranks.iter().map(|rank| i64::from(*rank)).sum::<i64>();
    // Times n, so that the mean is whole.
    let mean = total(x) * total(y);
    let off = (n as i64 * sum(y) - mean).abs();
    // Of each set of y that the first of x were paired with: in how many ways, by the sum so far.
    let most: usize = x.iter().map(|x| *x as usize).max().unwrap_or(0) * total(y) as usize;
    let mut ways: Vec<Vec<u32>> = vec![Vec::new(); 1 << n];
    ways[0] = vec![0; most + 1];
    ways[0][0] = 1;
    for set in 1usize..1 << n {
        let paired = x[set.count_ones() as usize - 1] as usize;
        let mut own = vec![0; most + 1];
        for at in (0..n).filter(|at| set & 1 << at != 0) {
            let add = paired * y[at] as usize;
            let before = &ways[set & !(1 << at)];
            own[add..].iter_mut().zip(before).for_each(|(own, before)| *own += before);
        }
        ways[set] = own;
    }
    let (mut all, mut beyond) = (0u64, 0u64);
    for (sum, ways) in ways[(1 << n) - 1].iter().enumerate() {
        all += u64::from(*ways);
        if (n as i64 * sum as i64 - mean).abs() >= off {
            beyond += u64::from(*ways);
        }
    }
    beyond as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::Random;

    #[track_caller]
    fn close(value: f64, expected: f64, within: f64) {
        assert!((value - expected).abs() <= within, "{value} is not {expected}");
    }

    /// 0.92 of 40 runs is from 0.85 to 0.96, of 10 runs from 0.69 to 0.98.
    #[test]
    fn intervals_are_fishers() {
        for (runs, low, high) in [(40, 0.85, 0.96), (10, 0.69, 0.98)] {
            let found = interval(0.92, runs - 2, 1.0).unwrap();
            close(found.low, low, 0.005);
            close(found.high, high, 0.005);
        }
        assert_eq!(interval(0.5, 1, 1.0), None);
    }

    /// Critical values of the tables, two-sided 5 %: 0.632 of 10 pairs, 0.444 of 20, 0.312 of 40.
    #[test]
    fn critical_values_are_those_of_the_tables() {
        for (pairs, r) in [(10, 0.6319), (20, 0.4438), (40, 0.3120)] {
            close(p_of_t(r, pairs - 2).unwrap(), 0.05, 0.0001);
        }
    }

    /// Anscombe's first set: <https://doi.org/10.1080/00031305.1973.10478966>. R: r = 0.8164205, p = 0.00217, from 0.4243912 to 0.9506933.
    #[test]
    fn a_published_example() {
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let found = pearson(&x, &y).unwrap();
        close(found.r, 0.8164205, 1e-7);
        close(found.p.unwrap(), 0.00217, 1e-5);
        close(found.interval.unwrap().low, 0.4243912, 1e-6);
        close(found.interval.unwrap().high, 0.9506933, 1e-6);
        close(spearman(&x, &y).unwrap().r, 0.8181818, 1e-7);
    }

    /// 4 runs that agree are as likely as 2 in 24, 5 as 2 in 120.
    #[test]
    fn the_least_p_values_are_those_of_the_tables() {
        let run = |count: usize| (0..count).map(|value| value as f64).collect::<Vec<_>>();
        for (runs, p) in [(4, 2.0 / 24.0), (5, 2.0 / 120.0), (6, 2.0 / 720.0), (9, 2.0 / 362_880.0)] {
            let falling: Vec<f64> = run(runs).iter().map(|value| -value.powi(3)).collect();
            let found = spearman(&run(runs), &falling).unwrap();
            close(found.r, -1.0, 1e-12);
            close(found.p.unwrap(), p, 1e-12);
        }
    }

    /// Critical values of the tables, two-sided: 0.886 of 6 pairs is 3.3 %, 0.738 of 8 is 4.6 %.
    #[test]
    fn orders_are_counted_out() {
        let at = |values: &[i32]| values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>();
        let found = spearman(&at(&[1, 2, 3, 4, 5, 6]), &at(&[2, 1, 3, 4, 6, 5])).unwrap();
        close(found.r, 1.0 - 6.0 * 4.0 / 210.0, 1e-12);
        close(found.p.unwrap(), 0.0333, 0.0001);
        let found = spearman(&at(&[1, 2, 3, 4, 5, 6, 7, 8]), &at(&[3, 1, 2, 6, 5, 4, 8, 7])).unwrap();
        assert!(found.p.unwrap() < 0.05);
        // With ties: 3 values, two of them equal: of 6 orders each of three sums comes twice.
        let found = spearman(&at(&[1, 2, 3]), &at(&[1, 1, 2])).unwrap();
        close(found.p.unwrap(), 4.0 / 6.0, 1e-12);
    }

    #[test]
    fn what_does_not_change_goes_with_nothing() {
        assert_eq!(pearson(&[1.0, 2.0, 3.0], &[5.0; 3]), None);
        assert_eq!(spearman(&[1.0; 3], &[1.0, 2.0, 3.0]), None);
        assert_eq!(pearson(&[], &[]), None);
    }

    /// Two configurations that differ in both, in each of which nothing goes together.
    #[test]
    fn groups_are_looked_at_inside() {
        let mut random = Random::new(11);
        let groups: Vec<usize> = (0..200).map(|at| at % 2).collect();
        let of = |random: &mut Random, groups: &[usize]| -> Vec<f64> {
            groups.iter().map(|group| 10.0 * *group as f64 + random.normal()).collect()
        };
        let (x, y) = (of(&mut random, &groups), of(&mut random, &groups));
        assert!(pearson(&x, &y).unwrap().r > 0.9);
        let within = pearson_within(&x, &y, &groups).unwrap();
        assert!(
            within.interval.unwrap().holds(0.0) && spearman_within(&x, &y, &groups).unwrap().r.abs() < 0.2,
            "{within:?}"
        );
    }

    /// Of samples of two normal distributions with a known r, 95 in 100 intervals hold it.
    #[test]
    fn intervals_hold_what_is_known() {
        let mut random = Random::new(5);
        for known in [0.0, 0.6, 0.92] {
            let holds = (0..1000)
                .filter(|_| {
                    let x: Vec<f64> = (0..20).map(|_| random.normal()).collect();
                    let rest = (1.0f64 - known * known).sqrt();
                    let y: Vec<f64> = x.iter().map(|x| known * x + rest * random.normal()).collect();
                    pearson(&x, &y).unwrap().interval.unwrap().holds(known)
                })
                .count();
            assert!((930..=970).contains(&holds), "{holds} at {known}");
        }
    }
}
