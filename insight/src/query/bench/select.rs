//! Which measurements are meant.

use commsee::bytes::exact;
use through_core::query::range::ByteRange;
use through_core::query::sort::SortKey;

use super::results::{Case, Measured};

/// Every filter that is given must hold.
#[derive(Clone, Debug, Default)]
pub struct Select {
    pub family: Vec<String>,
    pub direction: Vec<String>,
    pub library: Vec<String>,
    pub k: Vec<u64>,
    pub bytes: Option<ByteRange>,
}

impl Select {
    pub fn has(&self, case: &Case) -> bool {
        let is_named = |names: &[String], name: &str| {
            names.is_empty() || names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name))
        };
        is_named(&self.family, &case.family)
            && is_named(&self.direction, &case.direction)
            && is_named(&self.library, &case.library)
            && (self.k.is_empty() || self.k.contains(&case.k))
            && self.bytes.is_none_or(|range| (range.low..=range.high).contains(&case.bytes))
    }

    /// In words; nothing where everything is meant.
    pub fn words(&self) -> Vec<String> {
        let list = |what: &str, names: Vec<String>| (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")));
        let bytes = self.bytes.map(|range| match range.high {
            u64::MAX => format!("bytes {}:", exact(range.low)),
            high if high == range.low => format!("bytes {}", exact(high)),
            high => format!("bytes {}:{}", exact(range.low), exact(high)),
        });
        [
            list("family", self.family.clone()),
            list("direction", self.direction.clone()),
            list("library", self.library.clone()),
            list("k", self.k.iter().map(u64::to_string).collect()),
            bytes,
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// The largest first; by case where there is no key, and where two are equal.
pub fn sort(results: &mut [Measured], key: Option<SortKey>) {
    let by = |value: fn(&Measured) -> f64| {
        move |a: &Measured, b: &Measured| value(b).total_cmp(&value(a)).then_with(|| a.case.cmp(&b.case))
    };
    match key {
        Some(SortKey::Time) => results.sort_by(by(|row| row.time_s.median)),
        Some(SortKey::Bandwidth) => results.sort_by(by(|row| row.bandwidth().unwrap_or(0.0))),
        Some(SortKey::Bytes) => results.sort_by(by(|row| row.case.bytes as f64)),
        _ => results.sort_by(|a, b| a.case.cmp(&b.case)),
    }
}
