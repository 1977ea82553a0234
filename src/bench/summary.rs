//! Numbers that stand for many samples. Times are not normal, so all of them are order statistics but the mean
//! (Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems, SC 2015, rules 5 and 6).

/// Bounds of a median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// Samples in few numbers, in the unit of the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub samples: usize,
    pub min: f64,
    pub median: f64,
    /// Of the median, at 95 %; none under six samples, where no two of them bound it with that confidence.
    pub interval: Option<Interval>,
    pub mean: f64,
    /// The smallest sample that at least 95 % are not above.
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

/// How often an interval may miss its median.
const MISSED: f64 = 0.05;

impl Summary {
    /// `None` without samples. Those that are no number are not allowed.
    pub fn of(samples: &[f64]) -> Option<Summary> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        Some(Summary {
            samples: sorted.len(),
            min: first,
            median: middle(&sorted),
            interval: interval(&sorted),
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
            p95: quantile(&sorted, 0.95),
            p99: quantile(&sorted, 0.99),
            max: last,
        })
    }

    /// Several launches of the same measurement. A launch is a factor: what differs between launches (placement, memory, neighbours) does not average out
    /// within one. So the median is that of the launches' medians, and the interval spans theirs as well: at 95 % from six launches on, else all of them.
    pub fn of_launches(launches: &[Vec<f64>]) -> Option<Summary> {
        let all: Vec<f64> = launches.iter().flatten().copied().collect();
        let pooled = Summary::of(&all)?;
        let mut medians: Vec<f64> =
            launches.iter().filter_map(|samples| Summary::of(samples)).map(|summary| summary.median).collect();
        if medians.len() < 2 {
            return Some(pooled);
        }
        medians.sort_unstable_by(f64::total_cmp);
        let between = interval(&medians).unwrap_or(Interval { low: medians[0], high: medians[medians.len() - 1] });
        let hull =
            |within: Interval| Interval { low: within.low.min(between.low), high: within.high.max(between.high) };
        Some(Summary { median: middle(&medians), interval: pooled.interval.map(hull), ..pooled })
    }

    /// Whether the interval lies within this part of the median on both sides: 0.025 for ±2.5 %.
    pub fn is_within(&self, part: f64) -> bool {
        self.interval.is_some_and(|interval| {
            let width = part * self.median;
            self.median - interval.low <= width && interval.high - self.median <= width
        })
    }
}

fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) }
}

fn quantile(sorted: &[f64], part: f64) -> f64 {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// The narrowest pair of samples, equally far from both ends, that has the median between it with at least 95 %: how many samples lie below the median is
/// binomial with 1/2 (Le Boudec, Performance Evaluation of Computer and Communication Systems, 2.2).
fn interval(sorted: &[f64]) -> Option<Interval> {
    let below = outside(sorted.len())?;
    Some(Interval { low: sorted[below], high: sorted[sorted.len() - 1 - below] })
}

/// How many samples may be left out on each side.
fn outside(samples: usize) -> Option<usize> {
    // ln C(n, i) − n ln 2, from one i to the next.
    let mut term = -(samples as f64) * std::f64::consts::LN_2;
    let (mut tail, mut kept) = (0.0, None);
    for index in 0..samples.div_ceil(2) {
        tail += term.exp();
        if tail > MISSED / 2.0 {
            break;
        }
        kept = Some(index);
        term += ((samples - index) as f64 / (index + 1) as f64).ln();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_samples_bound_no_median_and_six_do() {
        let numbers = |count: usize| (1..=count).map(|number| number as f64).collect::<Vec<_>>();
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&numbers(5)).unwrap().interval, None);
        // Table A.1 of Le Boudec: 6: 1 to 6, 20: 6 to 15, 70: 27 to 44.
        for (count, low, high) in [(6, 1.0, 6.0), (20, 6.0, 15.0), (70, 27.0, 44.0)] {
            assert_eq!(Summary::of(&numbers(count)).unwrap().interval, Some(Interval { low, high }), "{count}");
        }
    }

    #[test]
    fn order_statistics_are_samples() {
        let samples: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let summary = Summary::of(&samples).unwrap();
        assert_eq!((summary.min, summary.median, summary.max), (1.0, 100.5, 200.0));
        assert_eq!((summary.p95, summary.p99, summary.mean), (190.0, 198.0, 100.5));
    }

    #[test]
    fn many_samples_do_not_underflow() {
        let samples: Vec<f64> = (0..100_000).map(f64::from).collect();
        let interval = Summary::of(&samples).unwrap().interval.unwrap();
        // 1.96 √n / 2 on each side.
        assert!((interval.high - interval.low - 1.96 * 100_000f64.sqrt()).abs() < 10.0, "{interval:?}");
    }

    #[test]
    fn launches_that_differ_widen_the_interval() {
        let launch = |around: f64| (0..40).map(|index| around + f64::from(index) / 1000.0).collect::<Vec<_>>();
        let one = Summary::of_launches(&[launch(1.0)]).unwrap();
        assert_eq!(Some(one), Summary::of(&launch(1.0)));
        let three = Summary::of_launches(&[launch(1.0), launch(2.0), launch(3.0)]).unwrap();
        let interval = three.interval.unwrap();
        assert!(interval.low < 1.05 && interval.high > 3.0, "{interval:?}");
        assert!((three.median - 2.0195).abs() < 1e-9, "{three:?}");
    }

    #[test]
    fn the_interval_covers_the_median_as_often_as_it_says() {
        // Lognormal-like samples of a known median, from a generator with a fixed seed.
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for count in [6, 15, 50] {
            let hits = (0..4000)
                .filter(|_| {
                    // The exponential distribution: its median is ln 2.
                    let samples: Vec<f64> = (0..count).map(|_| -(1.0 - uniform()).ln()).collect();
                    let interval = Summary::of(&samples).unwrap().interval.unwrap();
                    interval.low <= std::f64::consts::LN_2 && std::f64::consts::LN_2 <= interval.high
                })
                .count();
            // Exact coverage is at least 95 %: three standard deviations of 4000 draws are 1 %.
            assert!(hits as f64 / 4000.0 > 0.94, "{count} samples: {hits} of 4000");
        }
    }
}
