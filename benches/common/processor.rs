//! The processors that are measured.

use std::fs;

/// Such as `AMD EPYC 7B13 64-Core Processor (family 25 model 1)`: virtual machines often hide all but the numbers.
pub fn processor_model() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        info.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.trim() == key)
            .map(|(_, it)| it.trim())
    };
    match (value("model name"), value("cpu family"), value("model")) {
        (Some(name), Some(family), Some(model)) => format!("{name} (family {family} model {model})"),
        _ => std::env::consts::ARCH.to_owned(),
    }
}

/// The processors that this process may run on.
pub fn processors() -> Vec<usize> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("0").trim();
    let range = |words: &str| -> Option<Vec<usize>> {
        let (first, last) = words.split_once('-').unwrap_or((words, words));
        Some((first.parse().ok()?..=last.parse().ok()?).collect())
    };
    list.split(',').filter_map(range).flatten().collect()
}
