//! The time of an operation by the size of its communicators and by configuration: how far the runs of each lie apart.

use std::collections::{BTreeMap, BTreeSet};

use super::correlate::Row;
use crate::statistics::{Fences, median, quantile};

/// Over the runs of a configuration, in seconds: of the rank with the most, on whichever communicator of the size it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    pub op: String,
    pub size: Option<u64>,
    pub configuration: usize,
    pub runs: usize,
    pub least_s: f64,
    pub quarter_s: f64,
    pub median_s: f64,
    pub three_quarters_s: f64,
    pub most_s: f64,
    /// The least and the most that is no outlier.
    pub low_s: f64,
    pub high_s: f64,
    pub outliers_s: Vec<f64>,
}

/// The operations with most time first, each by size and configuration.
pub fn spreads(rows: &[Row], of_run: &[usize]) -> Vec<Spread> {
    let mut times: BTreeMap<(&str, Option<u64>), Vec<f64>> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.is_family) {
        let most = times.entry((&row.op, row.size)).or_insert_with(|| vec![0.0; of_run.len()]);
        most.iter_mut().zip(&row.times_s).for_each(|(most, time)| *most = most.max(*time));
    }
    let mut heaviest: BTreeMap<&str, f64> = BTreeMap::new();
    for ((op, _), times) in &times {
        let sum = heaviest.entry(op).or_default();
        *sum = sum.max(times.iter().sum());
    }
    let configurations: BTreeSet<usize> = of_run.iter().copied().collect();
    let mut all: Vec<Spread> = Vec::new();
    for ((op, size), times) in &times {
        for configuration in &configurations {
            let own = times.iter().zip(of_run).filter(|(_, of)| *of == configuration).map(|(time, _)| *time);
            all.extend(spread(op, *size, *configuration, &own.collect::<Vec<_>>()));
        }
    }
    all.sort_by(|a, b| {
        let weight = |one: &Spread| heaviest[one.op.as_str()];
        let key = |one: &Spread| (one.op.clone(), one.size, one.configuration);
        weight(b).total_cmp(&weight(a)).then_with(|| key(a).cmp(&key(b)))
    });
    all
}

fn spread(op: &str, size: Option<u64>, configuration: usize, times: &[f64]) -> Option<Spread> {
    let fences = Fences::of(times);
    let is_outlier = |time: &f64| fences.is_some_and(|fences| fences.is_outside(*time));
    let least = |times: &mut dyn Iterator<Item = f64>| times.fold(f64::INFINITY, f64::min);
    let most = |times: &mut dyn Iterator<Item = f64>| times.fold(0.0, f64::max);
    let usual = || times.iter().copied().filter(|time| !is_outlier(time));
    Some(Spread {
        op: op.to_owned(),
        size,
        configuration,
        runs: times.len(),
        least_s: least(&mut times.iter().copied()),
        quarter_s: quantile(times, 0.25)?,
        median_s: median(times)?,
        three_quarters_s: quantile(times, 0.75)?,
        most_s: most(&mut times.iter().copied()),
        low_s: least(&mut usual()),
        high_s: most(&mut usual()),
        outliers_s: times.iter().copied().filter(is_outlier).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_stand_beside_their_box() {
        let times = [1.0, 2.0, 3.0, 4.0, 5.0, 100.0];
        let found = spread("MPI_Bcast", Some(4), 1, &times).unwrap();
        assert_eq!((found.least_s, found.low_s, found.high_s, found.most_s), (1.0, 1.0, 5.0, 100.0));
        assert_eq!((found.quarter_s, found.median_s, found.three_quarters_s), (2.25, 3.5, 4.75));
        assert_eq!((found.runs, found.outliers_s), (6, vec![100.0]));
        assert_eq!(spread("MPI_Bcast", None, 0, &[]), None);
    }
}
