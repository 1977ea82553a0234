//! Which runs are runs of the same: with the same command, ranks, MPI library and options.

use std::collections::BTreeMap;

use super::run::Run;
use crate::statistics::{Median, median_interval, quantile};

/// What makes a configuration unless told otherwise: keys of the metadata.
const KEYS: [&str; 5] = ["command", "programs", "ranks", "mpi_library", "options"];

#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// What it does not have in common with the others.
    pub title: String,
    pub runs: usize,
    /// In seconds of run time.
    pub median: Option<Median>,
    pub quarter_s: Option<f64>,
    pub three_quarters_s: Option<f64>,
}

impl Configuration {
    pub fn measure(&mut self, times: &[f64]) {
        self.runs = times.len();
        self.median = median_interval(times);
        (self.quarter_s, self.three_quarters_s) = (quantile(times, 0.25), quantile(times, 0.75));
    }
}

/// Of settings, only those that change what is recorded: each run has an output file of its own.
fn value(run: &Run, key: &str) -> String {
    let value = run.meta.get(key).map(String::as_str).unwrap_or_default();
    if key == "options" { commsee::settings::measured(value) } else { value.to_owned() }
}

/// In the order of their first runs, and which one each run is of.
pub fn configurations(runs: &[Run], by: &[String]) -> (Vec<Configuration>, Vec<usize>) {
    let keys: Vec<&str> = if by.is_empty() { KEYS.to_vec() } else { by.iter().map(String::as_str).collect() };
    let of = |run: &Run| -> Vec<String> { keys.iter().map(|key| value(run, key)).collect() };
    let values: Vec<Vec<String>> = runs.iter().map(of).collect();
    let mut numbers: BTreeMap<&[String], usize> = BTreeMap::new();
    let mut firsts: Vec<&[String]> = Vec::new();
    let mut of_run = Vec::with_capacity(runs.len());
    for values in &values {
        let number = *numbers.entry(values).or_insert_with(|| {
            firsts.push(values);
            firsts.len() - 1
        });
        of_run.push(number);
    }
    let differs = |at: usize| firsts.iter().any(|values| values[at] != firsts[0][at]);
    let title = |values: &[String]| {
        let own = (0..keys.len()).filter(|at| differs(*at));
        let words = own.map(|at| format!("{} {}", keys[at], values[at].lines().next().unwrap_or_default()));
        words.collect::<Vec<_>>().join(", ")
    };
    let titled = |values: &&[String]| Configuration { title: title(values), ..Configuration::default() };
    (firsts.iter().map(titled).collect(), of_run)
}
