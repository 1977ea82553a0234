//! Two files of measurements, case by case: intervals of medians that do not overlap are different.

use std::collections::{BTreeMap, BTreeSet};

use super::open::Measurements;
use super::results::{Case, Measured};

#[derive(Clone, Debug)]
pub struct Compared {
    pub case: Case,
    pub a: Option<Measured>,
    pub b: Option<Measured>,
    /// B over A, by their medians, and by their intervals at least and at most.
    pub ratio: Option<f64>,
    pub bounds: Option<(f64, f64)>,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Slower,
    Faster,
    NotShown,
    NotComparable(&'static str),
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::NotShown => "no difference shown",
            Verdict::NotComparable(_) => "not comparable",
        }
    }

    /// Why nothing can be said.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Verdict::NotComparable(reason) => Some(reason),
            _ => None,
        }
    }
}

/// All cases of both, in their order.
pub fn compare(a: &Measurements, b: &Measurements) -> Vec<Compared> {
    let mut pairs: BTreeMap<&Case, [Option<&Measured>; 2]> = BTreeMap::new();
    for (side, results) in [&a.results, &b.results].into_iter().enumerate() {
        for measured in results {
            pairs.entry(&measured.case).or_default()[side] = Some(measured);
        }
    }
    pairs.into_iter().map(|(case, [a, b])| compared(case, a, b)).collect()
}

fn compared(case: &Case, a: Option<&Measured>, b: Option<&Measured>) -> Compared {
    let both = a.zip(b).filter(|(a, b)| a.time_s.median > 0.0 && b.time_s.median > 0.0);
    let bounds = both.and_then(|(a, b)| {
        let (a, b) = (a.time_s.interval?, b.time_s.interval?);
        (a.low > 0.0).then(|| (b.low / a.high, b.high / a.low))
    });
    let verdict = match (a, b, bounds) {
        (None, _, _) => Verdict::NotComparable("only in B"),
        (_, None, _) => Verdict::NotComparable("only in A"),
        (Some(a), Some(b), _) if a.wrong + b.wrong > 0 => Verdict::NotComparable("wrong data arrived"),
        (Some(a), Some(b), _) if !a.is_sound() || !b.is_sound() => Verdict::NotComparable("flagged"),
        (Some(a), Some(b), _) if a.total_bytes != b.total_bytes => Verdict::NotComparable("other bytes"),
        (_, _, None) => Verdict::NotComparable("fewer than 6 samples"),
        (_, _, Some((low, _))) if low > 1.0 => Verdict::Slower,
        (_, _, Some((_, high))) if high < 1.0 => Verdict::Faster,
        _ => Verdict::NotShown,
    };
    let ratio = both.map(|(a, b)| b.time_s.median / a.time_s.median);
    Compared { case: case.clone(), a: a.cloned(), b: b.cloned(), ratio, bounds, verdict }
}

/// A key of the environment whose values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub key: String,
    pub a: String,
    pub b: String,
}

pub fn differences(a: &Measurements, b: &Measurements) -> Vec<Difference> {
    let (a, b) = (a.environment(), b.environment());
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let none = BTreeSet::new();
    let text = |values: &BTreeSet<String>| values.iter().map(String::as_str).collect::<Vec<_>>().join(" | ");
    keys.into_iter()
        .map(|key| (key, a.get(key).unwrap_or(&none), b.get(key).unwrap_or(&none)))
        .filter(|(_, a, b)| a != b)
        .map(|(key, a, b)| Difference { key: key.clone(), a: text(a), b: text(b) })
        .collect()
}
