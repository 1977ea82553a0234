//! What the machine can do, by the measurements: the time of one message, and of an exchange between all ranks.

use std::collections::BTreeMap;

use super::missing::LATENCY_BYTES;
use crate::query::bench::{Measured, Measurements};

/// Whether a size was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    Measured,
    /// Smaller than all that was measured: the time of the smallest.
    Below,
    /// Larger: by the highest bandwidth.
    Above,
}

impl Reach {
    pub fn name(self) -> &'static str {
        match self {
            Reach::Measured => "measured",
            Reach::Below => "below",
            Reach::Above => "above",
        }
    }
}

/// Times by size, ascending; the shortest of any library and pattern.
#[derive(Clone, Debug, Default)]
pub struct Curve(Vec<(f64, f64)>);

impl Curve {
    fn of(points: impl Iterator<Item = (u64, f64)>) -> Curve {
        let mut shortest: BTreeMap<u64, f64> = BTreeMap::new();
        for (bytes, time_s) in points.filter(|(_, time_s)| time_s.is_finite() && *time_s > 0.0) {
            let known = shortest.entry(bytes.max(1)).or_insert(time_s);
            *known = known.min(time_s);
        }
        Curve(shortest.into_iter().map(|(bytes, time_s)| (bytes as f64, time_s)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of the smallest message; nothing if only larger ones were measured.
    pub fn latency_s(&self) -> Option<f64> {
        self.0.first().filter(|(bytes, _)| *bytes <= f64::from(LATENCY_BYTES)).map(|(_, time_s)| *time_s)
    }

    /// The highest that was measured, in bytes per second.
    pub fn bandwidth(&self) -> f64 {
        self.0.iter().map(|(bytes, time_s)| bytes / time_s).fold(0.0, f64::max)
    }

    /// Between measured sizes along a line over the logarithms of both; nothing is extrapolated but by latency and bandwidth.
    pub fn time_s(&self, bytes: f64) -> Option<(f64, Reach)> {
        let (first, last) = (*self.0.first()?, *self.0.last()?);
        // Sizes below one byte are one: a message of nothing takes as long.
        let bytes = bytes.max(1.0);
        if bytes < first.0 {
            return Some((first.1, Reach::Below));
        }
        if bytes > last.0 {
            return Some(((bytes / self.bandwidth()).max(last.1), Reach::Above));
        }
        let above = self.0.iter().position(|(size, _)| *size >= bytes)?;
        let (high_bytes, high_s) = self.0[above];
        let Some((low_bytes, low_s)) = above.checked_sub(1).map(|below| self.0[below]) else {
            return Some((high_s, Reach::Measured));
        };
        let part = (bytes / low_bytes).ln() / (high_bytes / low_bytes).ln();
        Some((low_s * (high_s / low_s).powf(part), Reach::Measured))
    }
}

#[derive(Clone, Debug, Default)]
pub struct Possible {
    /// One message inside a host, and between hosts.
    messages: [Curve; 2],
    /// An exchange of a block between each two of so many ranks, by the bytes of a block.
    exchanges: BTreeMap<(u64, bool), Curve>,
}

impl Possible {
    pub fn of(measurements: &Measurements) -> Possible {
        let sound = || measurements.results.iter().filter(|row| row.is_sound() && row.case.step == 0);
        let messages = [false, true].map(|crosses| {
            let alone = sound().filter(|row| is_one_message(row) && row.case.crosses_hosts == crosses);
            Curve::of(alone.map(|row| {
                let half_s = row.half_trip_s.filter(|half_s| *half_s > 0.0).unwrap_or(f64::INFINITY);
                (row.message_bytes, row.time_s.median.min(half_s))
            }))
        });
        let mut by_ranks: BTreeMap<(u64, bool), Vec<&Measured>> = BTreeMap::new();
        for row in sound() {
            let ranks = row.case.n.saturating_mul(row.case.g);
            // With or without the block that a rank keeps.
            let is_between_all = row.messages == ranks.saturating_mul(ranks.saturating_sub(1))
                || row.messages == ranks.saturating_mul(ranks);
            if ranks > 1 && is_between_all && is_exchange(row) {
                by_ranks.entry((ranks, row.case.crosses_hosts)).or_default().push(row);
            }
        }
        let curve = |rows: Vec<&Measured>| Curve::of(rows.iter().map(|row| (row.message_bytes, row.time_s.median)));
        let exchanges = by_ranks.into_iter().map(|(key, rows)| (key, curve(rows))).collect();
        Possible { messages, exchanges }
    }

    pub fn message(&self, crosses_hosts: bool) -> Option<&Curve> {
        Some(&self.messages[usize::from(crosses_hosts)]).filter(|curve| !curve.is_empty())
    }

    /// Only a size that was measured, or lies between such.
    pub fn exchange_s(&self, ranks: u64, crosses_hosts: bool, block_bytes: f64) -> Option<f64> {
        let (time_s, reach) = self.exchanges.get(&(ranks, crosses_hosts))?.time_s(block_bytes)?;
        (reach == Reach::Measured).then_some(time_s)
    }
}

/// From a rank to another one; a rank's copy to itself is none.
fn is_one_message(row: &Measured) -> bool {
    row.messages == 1 && row.case.family != "self" && row.case.n > 1
}

/// One step, in which all messages are as large, between all groups and all their ranks.
fn is_exchange(row: &Measured) -> bool {
    let is_even = row.total_bytes == row.messages.saturating_mul(row.message_bytes);
    let is_family = matches!(row.case.family.as_str(), "rail" | "dense" | "alltoall");
    is_even && is_family && row.case.direction == "omni" && row.case.k == row.case.g
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_between_sizes_follow_their_logarithms() {
        let curve = Curve::of([(1024, 2e-6), (1, 1e-6), (1024, 4e-6), (1 << 20, 200e-6)].into_iter());
        let at = |bytes: f64| curve.time_s(bytes).unwrap();
        assert_eq!((at(0.0), at(1.0)), ((1e-6, Reach::Measured), (1e-6, Reach::Measured)));
        // The shorter of two of one size, and the middle of the logarithms.
        assert_eq!(at(1024.0), (2e-6, Reach::Measured));
        assert!((at(32.0).0 / (1e-6 * 2f64.sqrt()) - 1.0).abs() < 1e-9);
        assert_eq!(at(2.0 * 1024.0 * 1024.0), (400e-6, Reach::Above));
        assert!(Curve::of([(8, 0.0), (8, f64::NAN)].into_iter()).is_empty());
        let from_8 = Curve::of([(8, 1e-6)].into_iter());
        assert_eq!(from_8.time_s(4.0), Some((1e-6, Reach::Below)));
        assert_eq!(from_8.time_s(16.0), Some((2e-6, Reach::Above)));
        let from_1k = Curve::of([(1024, 1e-6)].into_iter());
        assert_eq!((from_8.latency_s(), from_1k.latency_s()), (Some(1e-6), None));
    }
}
