//! What can be said of few, noisy numbers: tests, intervals and correlations that hold without assuming how run times are distributed, but for
//! Pearson's. Nothing here knows a profile. How runs should be compared: <https://doi.org/10.1145/2807591.2807644>.

mod correlation;
mod fences;
mod holm;
mod mann_whitney;
mod order;
mod ranks;
mod shift;

#[cfg(test)]
pub mod random;

pub use correlation::{Correlation, pearson, pearson_within, spearman, spearman_within};
pub use fences::{FENCE, Fences};
pub use holm::holm;
pub use mann_whitney::{least_p, mann_whitney};
pub use order::{Median, median, median_interval, quantile};
pub use shift::{Shift, shift};

/// Two-sided, of tests and intervals.
pub const CONFIDENCE: f64 = 0.95;

/// A test says yes at most so often where nothing is.
pub const LEVEL: f64 = 1.0 - CONFIDENCE;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}
