//! Medians, and how sure one is of them, without a thought about the distribution: samples of run times have none.

/// The value below which a share of the samples lies, between the two nearest where it falls between them.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// An interval between two samples, and how likely it holds the median of what they were drawn from.
pub struct Interval {
    pub low: f64,
    pub high: f64,
    pub confidence: f64,
}

/// The narrowest pair of opposite order statistics that holds the median with 95 % or more: a sample lies below the
/// median as often as a coin shows heads. Fewer than six samples give none.
pub fn interval_of_median(values: &[f64]) -> Option<Interval> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    // Probability that exactly so many of the samples lie below the median.
    let mut exactly = 0.5_f64.powi(i32::try_from(count).ok()?);
    let (mut outside, mut best) = (0.0, None);
    for cut in 0..count / 2 {
        outside += 2.0 * exactly;
        if outside > 0.05 {
            break;
        }
        best = Some(Interval { low: sorted[cut], high: sorted[count - 1 - cut], confidence: 1.0 - outside });
        exactly *= (count - cut) as f64 / (cut + 1) as f64;
    }
    best
}
