//! Which runs are runs of the same: with the same command, ranks, MPI library, options, and settings of other layers.

use std::collections::{BTreeMap, BTreeSet};

use commsee::environment::is_setting;

use super::run::Run;
use crate::statistics::{Median, median_interval, quantile};

/// What makes a configuration unless told otherwise: keys of the metadata, and all settings.
const KEYS: [&str; 5] = ["command", "programs", "ranks", "mpi_library", "options"];

/// Families whose names are long, and told by what follows.
const PREFIXES: [&str; 4] = ["OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "MPIR_CVAR_"];

#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// What it does not have in common with the others.
    pub title: String,
    pub runs: usize,
    /// Of the run time, and of the MPI time, the mean over the ranks.
    pub mean_s: f64,
    pub mean_mpi_s: f64,
    /// In seconds of run time.
    pub median: Option<Median>,
    pub quarter_s: Option<f64>,
    pub three_quarters_s: Option<f64>,
}

impl Configuration {
    /// Of the run times, and the MPI times, of its runs.
    pub fn measure(&mut self, times: &[f64], mpi_times: &[f64]) {
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len().max(1) as f64;
        self.runs = times.len();
        (self.mean_s, self.mean_mpi_s) = (mean(times), mean(mpi_times));
        self.median = median_interval(times);
        (self.quarter_s, self.three_quarters_s) = (quantile(times, 0.25), quantile(times, 0.75));
    }
}

/// Of settings, only those that change what is recorded: each run has an output file of its own.
fn value(run: &Run, key: &str) -> String {
    let value = run.meta.get(key).map(String::as_str).unwrap_or_default();
    if key == "options" { commsee::settings::measured(value) } else { value.to_owned() }
}

/// What a setting is called in the name of a configuration: `coll_tuned_alltoallv_algorithm`.
fn short(key: &str) -> &str {
    PREFIXES.iter().find_map(|prefix| key.strip_prefix(prefix)).unwrap_or(key)
}

/// The key of the metadata that is meant, which may be the short name of a setting; `None`: no run has it.
pub fn known_key<'a>(runs: &'a [Run], meant: &str) -> Option<&'a str> {
    let keys = || runs.iter().flat_map(|run| run.meta.keys().map(String::as_str));
    keys().find(|key| *key == meant).or_else(|| keys().find(|key| is_setting(key) && short(key) == meant))
}

/// Settings that any of the runs has.
fn settings(runs: &[Run]) -> BTreeSet<&str> {
    let keys = runs.iter().flat_map(|run| run.meta.keys().map(String::as_str));
    keys.filter(|key| is_setting(key)).collect()
}

/// In the order of their first runs, and which one each run is of.
pub fn configurations(runs: &[Run], by: &[String]) -> (Vec<Configuration>, Vec<usize>) {
    let keys: Vec<&str> = match by {
        [] => KEYS.into_iter().chain(settings(runs)).collect(),
        by => by.iter().map(|meant| known_key(runs, meant).unwrap_or(meant)).collect(),
    };
    let mut numbers: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let mut firsts: Vec<&Run> = Vec::new();
    let mut of_run = Vec::with_capacity(runs.len());
    for run in runs {
        let number = *numbers.entry(keys.iter().map(|key| value(run, key)).collect()).or_insert_with(|| {
            firsts.push(run);
            firsts.len() - 1
        });
        of_run.push(number);
    }
    let titles = titles(&firsts, &keys);
    (titles.into_iter().map(|title| Configuration { title, ..Configuration::default() }).collect(), of_run)
}

/// By what each differs from the others; `default`: it lacks all settings by which these differ.
pub fn titles(runs: &[&Run], keys: &[&str]) -> Vec<String> {
    let differs = |key: &&&str| runs.iter().any(|run| value(run, key) != value(runs[0], key));
    let mut own: Vec<&str> = keys.iter().filter(differs).copied().collect();
    own = own.iter().filter(|key| !is_switch_of_another(key, &own, runs)).copied().collect();
    let title = |run: &&Run| {
        let words = own.iter().filter_map(|key| match (is_setting(key), run.meta.contains_key(*key)) {
            // The name of a file says enough, and those of variables for files are long.
            (true, true) if value(run, key).starts_with('/') => Some(shown(&value(run, key))),
            (true, true) => Some(format!("{}={}", short(key), shown(&value(run, key)))),
            (true, false) => None,
            (false, _) => Some(format!("{key} {}", value(run, key).lines().next().unwrap_or_default())),
        });
        let title = words.collect::<Vec<_>>().join(", ");
        if title.is_empty() && !own.is_empty() { "default".to_owned() } else { title }
    };
    runs.iter().map(title).collect()
}

/// A setting with one value, which only comes with another one that has several: `coll_tuned_use_dynamic_rules=1`.
fn is_switch_of_another(key: &str, keys: &[&str], runs: &[&Run]) -> bool {
    let of = |key: &str| runs.iter().map(|run| run.meta.get(key).cloned()).collect::<Vec<_>>();
    let values = |key: &str| of(key).into_iter().flatten().collect::<BTreeSet<_>>().len();
    let has = |key: &str| of(key).iter().map(Option::is_some).collect::<Vec<_>>();
    let explains = |other: &&str| is_setting(other) && values(other) > 1 && has(other) == has(key);
    is_setting(key) && values(key) == 1 && keys.iter().any(explains)
}

/// The settings by which two runs differ, as `key: value in A, value in B` has them.
pub fn settings_that_differ(a: &Run, b: &Run) -> Vec<(String, [String; 2])> {
    let pair = [a, b];
    let values = |key: &str| pair.map(|run| shown(&value(run, key)));
    let keys: BTreeSet<&str> =
        pair.iter().flat_map(|run| run.meta.keys()).map(String::as_str).filter(|key| is_setting(key)).collect();
    let differ = keys.into_iter().filter(|key| value(a, key) != value(b, key));
    differ.map(|key| (short(key).to_owned(), values(key))).collect()
}

/// The last component of a path. `1k (ranks 0-3) 2k (ranks 4-7)` where ranks differ.
fn shown(value: &str) -> String {
    let name = |text: &str| match text.rsplit_once('/') {
        Some((_, name)) if text.starts_with('/') && !name.is_empty() => name.to_owned(),
        _ => text.to_owned(),
    };
    let line = |line: &str| match line.split_once('\t') {
        Some((ranks, text)) => format!("{} (ranks {ranks})", name(text)),
        None => name(line),
    };
    value.lines().map(line).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(settings: &[(&str, &str)]) -> Run {
        let meta = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Run { meta, ..Run::default() }
    }

    fn named(runs: &[Run], by: &[&str]) -> (Vec<String>, Vec<usize>) {
        let by: Vec<String> = by.iter().map(|key| (*key).to_owned()).collect();
        let (found, of_run) = configurations(runs, &by);
        (found.into_iter().map(|one| one.title).collect(), of_run)
    }

    #[test]
    fn configurations_are_named_by_what_differs() {
        let (tls, rules) = (("UCX_TLS", "tcp"), "OMPI_MCA_coll_tuned_dynamic_rules_filename");
        let runs = [
            run(&[tls, ("ranks", "8")]),
            run(&[tls, ("ranks", "8"), (rules, "/home/me/tune/pairwise.rules"), ("OMPI_MCA_switch", "1")]),
            run(&[tls, ("ranks", "8")]),
            run(&[
                tls,
                ("ranks", "8"),
                (rules, "/home/me/tune/linear.rules"),
                ("OMPI_MCA_switch", "1"),
                ("OMP_NUM_THREADS", "0\t1\n1-7\t2"),
            ]),
        ];
        let (titles, of_run) = named(&runs, &[]);
        assert_eq!(titles, ["default", "pairwise.rules", "linear.rules, OMP_NUM_THREADS=1 (ranks 0) 2 (ranks 1-7)"]);
        assert_eq!(of_run, [0, 1, 0, 2]);
        assert_eq!(named(&runs, &["coll_tuned_dynamic_rules_filename"]).1, [0, 1, 0, 2]);
        assert_eq!(named(&runs, &["OMP_NUM_THREADS"]).1, [0, 0, 0, 1]);
        assert_eq!(named(&runs, &["UCX_TLS"]), (vec![String::new()], vec![0; 4]));
        assert_eq!((known_key(&runs, "UCX_TLS"), known_key(&runs, "TLS")), (Some("UCX_TLS"), None));
    }

    #[test]
    fn keys_that_are_no_settings_name_them_too() {
        let runs = [run(&[("command", "./app 1"), ("UCX_TLS", "tcp")]), run(&[("command", "./app 2")])];
        assert_eq!(named(&runs, &[]).0, ["command ./app 1, UCX_TLS=tcp", "command ./app 2"]);
    }
}
