//! Medians and quantiles.

use super::{Interval, LEVEL};

pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Between the two values that it lies between, as R and NumPy have it (type 7).
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = part * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    Some(sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Median {
    pub median: f64,
    /// From one value to another, at 95 % or more; nothing of fewer than six.
    pub interval: Option<Interval>,
}

/// Whatever the distribution: the median lies below all n values with probability 0.5ⁿ.
pub fn median_interval(values: &[f64]) -> Option<Median> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let mut outside = 0.5f64.powi(n as i32);
    let (mut below, mut cut) = (outside, None);
    for at in 0..n / 2 {
        if below > LEVEL / 2.0 {
            break;
        }
        cut = Some(at);
        outside *= (n - at) as f64 / (at + 1) as f64;
        below += outside;
    }
    let interval = cut.map(|cut| Interval { low: sorted[cut], high: sorted[n - 1 - cut] });
    Some(Median { median: median(values)?, interval })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_r() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(
            (median(&values), quantile(&values, 0.25), quantile(&values, 1.0)),
            (Some(2.5), Some(1.75), Some(4.0))
        );
        assert_eq!((median(&[]), median(&[7.0])), (None, Some(7.0)));
    }

    /// The order statistics of the tables: of 6 values all, of 8 the same, of 9 the 2nd to the 8th, of 10 the 2nd to the 9th, of 20 the 6th to the 15th.
    #[test]
    fn intervals_are_those_of_the_tables() {
        for (n, first) in [(6, 1), (8, 1), (9, 2), (10, 2), (12, 3), (15, 4), (20, 6), (25, 8)] {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let interval = median_interval(&values).unwrap().interval.unwrap();
            assert_eq!((interval.low, interval.high), (f64::from(first), f64::from(n + 1 - first)), "{n}");
        }
        assert_eq!(median_interval(&[1.0; 5]).unwrap().interval, None);
        assert_eq!(median_interval(&[]), None);
    }
}
