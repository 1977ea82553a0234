//! When executions are warm: connections are there, memory is registered, clocks have risen.

/// Executions that are compared with as many before them.
const WINDOW: usize = 4;
/// As long as the later ones are faster by more than this part, it is not over.
const FALLS: f64 = 0.05;

/// Whether the newest executions are no longer faster than those before.
pub fn is_over(times_s: &[f64]) -> bool {
    if times_s.len() < 2 * WINDOW {
        return false;
    }
    let median = |times: &[f64]| {
        let mut times = times.to_vec();
        times.sort_unstable_by(f64::total_cmp);
        f64::midpoint(times[WINDOW / 2 - 1], times[WINDOW / 2])
    };
    let (before, after) = times_s[times_s.len() - 2 * WINDOW..].split_at(WINDOW);
    median(after) >= (1.0 - FALLS) * median(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_while_times_fall() {
        let falling: Vec<f64> = (0..20).map(|index| 1.0 + 10.0 * 0.5f64.powi(index)).collect();
        let over = (1..=falling.len()).find(|count| is_over(&falling[..*count])).unwrap();
        // From then on the fall is below 5 %.
        assert!((10..=16).contains(&over), "{over}");
        assert!(is_over(&[1.0; 8]));
        assert!(!is_over(&[1.0; 7]));
    }
}
