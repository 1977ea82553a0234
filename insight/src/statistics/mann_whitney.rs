//! The test of Wilcoxon, Mann and Whitney: whether two samples come from one distribution. <https://doi.org/10.1214/aoms/1177730491>

use statrs::function::erf::erfc;

use super::ranks::{doubled, ties};

/// So many values are counted out; of more the normal approximation is off by less than a tenth of a per cent. Counts of so many are whole in a double.
const MOST_COUNTED: usize = 50;

/// The two-sided p-value: how often equal programs would differ by as much, or more. Exact for up to 50 values, also where some are equal.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks = doubled(&all);
    let sum: u32 = ranks[..a.len()].iter().sum();
    match all.len() <= MOST_COUNTED {
        true => counted(&ranks, a.len(), sum),
        false => approximated(&ranks, a.len(), b.len(), sum),
    }
}

/// The least p-value that so many runs can lead to: 2 / C(a + b, a).
pub fn least_p(a: usize, b: usize) -> f64 {
    let (few, all) = (a.min(b), a + b);
    let ways = (0..few).fold(1.0, |ways, at| ways * (all - at) as f64 / (at + 1) as f64);
    (2.0 / ways).min(1.0)
}

/// How often the sum of the ranks is as far from its mean, of all ways to draw `drawn` of these ranks.
fn counted(ranks: &[u32], drawn: usize, sum: u32) -> f64 {
    let ways = sums(ranks, drawn);
    // The mean of the doubled sum is drawn · (n + 1).
    let mean = (drawn * (ranks.len() + 1)) as i64;
    let off = (i64::from(sum) - mean).abs();
    let (mut all, mut beyond) = (0.0, 0.0);
    for (sum, ways) in ways.iter().enumerate() {
        all += ways;
        if (sum as i64 - mean).abs() >= off {
            beyond += ways;
        }
    }
    beyond / all
}

/// In how many ways so many of the ranks have each sum.
fn sums(ranks: &[u32], drawn: usize) -> Vec<f64> {
    let most: usize = ranks.iter().map(|rank| *rank as usize).sum();
    let mut ways = vec![vec![0.0; most + 1]; drawn + 1];
    ways[0][0] = 1.0;
    for rank in ranks {
        let rank = *rank as usize;
        for count in (1..=drawn).rev() {
            let (fewer, these) = ways.split_at_mut(count);
            for sum in rank..=most {
                these[0][sum] += fewer[count - 1][sum - rank];
            }
        }
    }
    ways.swap_remove(drawn)
}

/// With the correction for ties, and for the normal distribution being continuous.
fn approximated(ranks: &[u32], a: usize, b: usize, sum: u32) -> f64 {
    let (a, b) = (a as f64, b as f64);
    let n = a + b;
    let tied: f64 = ties(ranks).into_iter().map(|equal| (equal as f64).powi(3) - equal as f64).sum();
    let variance = a * b / 12.0 * ((n + 1.0) - tied / (n * (n - 1.0)));
    let off = ((f64::from(sum) - a * (n + 1.0)) / 2.0).abs() - 0.5;
    if variance <= 0.0 || off <= 0.0 {
        return 1.0;
    }
    erfc(off / variance.sqrt() / std::f64::consts::SQRT_2).min(1.0)
}

/// The most differences that may be cut off at each end of all differences between the samples for an interval of their shift at a confidence:
/// one less than the number of the one it begins with.
pub fn cut_off(a: usize, b: usize, level: f64) -> Option<usize> {
    if a + b > MOST_COUNTED {
        let (a, b) = (a as f64, b as f64);
        let deviation = (a * b * (a + b + 1.0) / 12.0).sqrt();
        let normal = statrs::function::erf::erfc_inv(level) * std::f64::consts::SQRT_2;
        let cut = (a * b / 2.0 - normal * deviation - 0.5).floor();
        return (cut >= 0.0).then_some(cut as usize);
    }
    let ranks: Vec<u32> = (1..=(a + b) as u32).map(|rank| 2 * rank).collect();
    let ways = sums(&ranks, a);
    let all: f64 = ways.iter().sum();
    let least = a * (a + 1);
    let mut below = 0.0;
    let mut cut = None;
    for u in 0..=a * b {
        below += ways.get(least + 2 * u).copied().unwrap_or(0.0);
        if below / all > level / 2.0 {
            break;
        }
        cut = Some(u);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::Random;

    fn run(from: usize, to: usize) -> Vec<f64> {
        (from..to).map(|value| value as f64).collect()
    }

    #[track_caller]
    fn close(value: f64, expected: f64, within: f64) {
        assert!((value - expected).abs() <= within, "{value} is not {expected}");
    }

    /// 2/C(n + m, n), as benchstat and others state it.
    #[test]
    fn the_least_p_values_are_those_of_the_tables() {
        for (a, b, p) in
            [(2, 2, 0.333), (3, 3, 0.1), (4, 4, 0.0286), (5, 5, 0.00794), (3, 5, 0.0357), (2, 8, 0.0444), (1, 1, 1.0)]
        {
            close(least_p(a, b), p, 0.0005);
            close(mann_whitney(&run(0, a), &run(100, 100 + b)), least_p(a, b), 1e-12);
        }
    }

    /// The example of R's `wilcox.test`: Hollander & Wolfe, tritiated water, of which R says W = 35, p = 0.2544.
    #[test]
    fn a_published_example() {
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
        close(mann_whitney(&at_term, &earlier), 0.2544, 0.0001);
    }

    /// Critical values of U of the tables, two-sided 5 %: 23 for 10 and 10, 127 for 20 and 20.
    #[test]
    fn critical_values_are_those_of_the_tables() {
        for (a, b, critical) in [(4, 4, 0), (5, 5, 2), (6, 6, 5), (7, 9, 12), (8, 8, 13), (10, 10, 23), (20, 20, 127)] {
            assert_eq!(cut_off(a, b, 0.05), Some(critical), "{a} and {b}");
        }
        assert_eq!(cut_off(3, 3, 0.05), None);
    }

    /// By hand: of the C(4, 2) = 6 ways to draw two of the ranks 1, 2.5, 2.5, 4, four are as far from the mean as 1 + 2.5.
    #[test]
    fn equal_values_are_counted_out() {
        close(mann_whitney(&[1.0, 2.0], &[2.0, 3.0]), 4.0 / 6.0, 1e-12);
        close(mann_whitney(&[7.0; 5], &[7.0; 5]), 1.0, 1e-12);
        close(mann_whitney(&[0.0; 4], &[1.0; 4]), 2.0 / 70.0, 1e-12);
        assert_eq!(mann_whitney(&[], &[1.0]), 1.0);
    }

    /// Against a count of all ways one by one.
    #[test]
    fn counting_is_the_same_as_enumerating() {
        let mut random = Random::new(7);
        for _ in 0..50 {
            let (a, b) = (2 + random.below(4), 2 + random.below(4));
            let values: Vec<f64> = (0..a + b).map(|_| random.below(5) as f64).collect();
            let ranks = doubled(&values);
            let mean = (a * (a + b + 1)) as i64;
            let off = |sum: i64| (sum - mean).abs();
            let own = off(ranks[..a].iter().map(|rank| i64::from(*rank)).sum());
            let (mut all, mut beyond) = (0, 0);
            for set in (0u32..1 << (a + b)).filter(|set| set.count_ones() as usize == a) {
                let sum = (0..a + b).filter(|at| set & 1 << at != 0).map(|at| i64::from(ranks[at])).sum();
                all += 1;
                beyond += i32::from(off(sum) >= own);
            }
            close(mann_whitney(&values[..a], &values[a..]), f64::from(beyond) / f64::from(all), 1e-12);
        }
    }

    /// Where both are known.
    #[test]
    fn the_approximation_is_close() {
        let mut random = Random::new(3);
        for _ in 0..20 {
            let a: Vec<f64> = (0..25).map(|_| random.normal()).collect();
            let b: Vec<f64> = (0..25).map(|_| (random.normal() + 0.5).round()).collect();
            let all: Vec<f64> = a.iter().chain(&b).copied().collect();
            let ranks = doubled(&all);
            let sum = ranks[..25].iter().sum();
            close(approximated(&ranks, 25, 25, sum), counted(&ranks, 25, sum), 0.006);
        }
    }
}
