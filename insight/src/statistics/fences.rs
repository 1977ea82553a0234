//! Outliers as Tukey has them (Exploratory Data Analysis, 1977): far outside of the middle half.

use super::quantile;

/// How many times the width of the middle half the inner fences lie outside of it.
pub const FENCE: f64 = 1.5;

/// Fewer values have no quarters to speak of.
const LEAST: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fences {
    pub low: f64,
    pub high: f64,
}

impl Fences {
    pub fn of(values: &[f64]) -> Option<Fences> {
        let (low, high) = (quantile(values, 0.25)?, quantile(values, 0.75)?);
        let far = FENCE * (high - low);
        (values.len() >= LEAST).then_some(Fences { low: low - far, high: high + far })
    }

    pub fn is_outside(&self, value: f64) -> bool {
        value < self.low || value > self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_outside_is_an_outlier() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 100.0];
        let fences = Fences::of(&values).unwrap();
        // Quartiles 2.25 and 4.75.
        assert_eq!(fences, Fences { low: -1.5, high: 8.5 });
        let outside: Vec<f64> = values.into_iter().filter(|value| fences.is_outside(*value)).collect();
        assert_eq!(outside, [100.0]);
        assert_eq!(Fences::of(&values[..3]), None);
    }
}
