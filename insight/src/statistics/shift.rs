//! By how much one sample lies above another: the estimate of Hodges and Lehmann, and the interval that belongs to the test of Mann and Whitney.
//! <https://doi.org/10.1214/aoms/1177704172>

use super::mann_whitney::cut_off;
use super::{Interval, LEVEL, median};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The median of all differences.
    pub shift: f64,
    /// At 95 % or more; nothing: too few values.
    pub interval: Option<Interval>,
}

/// From `a` to `b`.
pub fn shift(a: &[f64], b: &[f64]) -> Option<Shift> {
    let mut differences: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
    differences.sort_by(f64::total_cmp);
    let interval = cut_off(a.len(), b.len(), LEVEL)
        .filter(|cut| 2 * cut < differences.len())
        .map(|cut| Interval { low: differences[cut], high: differences[differences.len() - 1 - cut] });
    Some(Shift { shift: median(&differences)?, interval })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of five and five runs the interval goes from the 3rd to the 23rd of the 25 differences, of four and four over all 16.
    #[test]
    fn intervals_are_those_of_the_tables() {
        let a: Vec<f64> = (0..5).map(f64::from).collect();
        let b: Vec<f64> = (0..5).map(|value| 100.0 + 5.0 * f64::from(value)).collect();
        let mut differences: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
        differences.sort_by(f64::total_cmp);
        let found = shift(&a, &b).unwrap();
        assert_eq!(found.shift, differences[12]);
        assert_eq!(found.interval, Some(Interval { low: differences[2], high: differences[22] }));
        let found = shift(&a[..4], &b[..4]).unwrap();
        assert_eq!(found.interval, Some(Interval { low: 97.0, high: 115.0 }));
        assert_eq!(shift(&a[..3], &b[..3]).unwrap().interval, None);
        assert_eq!(shift(&a, &[]), None);
    }

    /// The example of R's `wilcox.test(conf.int = TRUE)` on the tritiated water of Hollander & Wolfe: 0.305 from -0.15 to 0.76.
    #[test]
    fn a_published_example() {
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
        let found = shift(&earlier, &at_term).unwrap();
        let Interval { low, high } = found.interval.unwrap();
        assert!((found.shift - 0.305).abs() < 1e-9 && (low + 0.15).abs() < 1e-9 && (high - 0.76).abs() < 1e-9);
    }
}
