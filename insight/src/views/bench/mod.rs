//! What a file of measurements can be looked at by. Its views are rows of a registry of their own, since they are asked of no profile.

mod cmp;
mod list;
mod model;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub use cmp::document as compared;
pub use model::title;

use crate::query::bench::select::Select;
use crate::query::bench::{Case, Measured, Measurements};
use through_core::document::{Document, Format, Found, Head, Line, Section, Subject};
use through_core::query::sort::SortKey;
use through_core::text::path::relative;
use through_core::text::terminal::Paint;
use through_core::text::{escape, units};
use through_core::views::{Asked, View};

/// All of them, in the order of the reference.
pub const VIEWS: &[View<Question>] = &[list::VIEW, cmp::VIEW, model::VIEW];

/// What is asked of measurements.
#[derive(Clone)]
pub struct Question {
    pub measured: Rc<Measurements>,
    /// Those that they are compared with.
    pub against: Rc<Measurements>,
    pub select: Select,
    pub sort: Option<SortKey>,
    pub top: Option<usize>,
    pub format: Format,
    /// NIC of each rank of a group.
    pub nics: Option<Vec<u64>>,
}

impl Question {
    /// Everything, as a table.
    pub fn new(measured: Measurements) -> Question {
        let measured = Rc::new(measured);
        Question {
            against: Rc::clone(&measured),
            measured,
            select: Select::default(),
            sort: None,
            top: None,
            format: Format::Table,
            nics: None,
        }
    }

    fn is_table(&self) -> bool {
        self.format == Format::Table
    }

    /// What of some measurements is meant.
    fn meant(&self, measured: &Measurements) -> Vec<Measured> {
        measured.results.iter().filter(|row| self.select.has(&row.case)).cloned().collect()
    }

    fn document(&self, entries: &'static str, is_empty: bool, lines: Vec<Line>) -> Document {
        let measured = &self.measured;
        let path = measured.paths.first().cloned().unwrap_or_default();
        let joined = |values: BTreeSet<String>| values.into_iter().collect::<Vec<_>>().join(" | ");
        let meta: BTreeMap<String, String> =
            measured.environment().into_iter().map(|(key, values)| (key, joined(values))).collect();
        let filters = self.select.words();
        let reason = match (filters.is_empty(), measured.results.is_empty()) {
            (_, true) => format!("{}: has no measurements yet", path.display()),
            (false, _) => format!("{}: nothing matches: {}", path.display(), filters.join(", ")),
            (true, _) => format!("{}: nothing to show in this view", path.display()),
        };
        Document {
            found: if is_empty { Found::Nothing } else { Found::Something },
            reasons: vec![reason],
            ..Document::new(
                Head { subject: Subject::Measurements, path, meta, filters, lines, ..Head::default() },
                entries,
            )
        }
    }
}

impl Asked for Question {
    fn format(&self) -> Format {
        self.format
    }
}

/// `rail uni, 2 × 4 ranks, across hosts`.
pub fn pattern(case: &Case) -> String {
    let place = if case.crosses_hosts { "across hosts" } else { "inside a host" };
    format!("{} {}, {} × {}, {place}", case.family, case.direction, case.n, units::count(case.g, "rank"))
}

/// Rows of one pattern and library under a heading.
fn sections<'a>(cases: impl Iterator<Item = &'a Case>) -> Vec<Section> {
    let mut sections: Vec<(Case, Section)> = Vec::new();
    for case in cases {
        let own = Case { k: 0, bytes: 0, step: 0, ..case.clone() };
        match sections.last_mut() {
            Some((of, section)) if *of == own => section.rows += 1,
            _ => {
                let section =
                    Section { name: pattern(case), weight: case.library.clone(), rows: 1, ..Section::default() };
                sections.push((own, section));
            }
        }
    }
    sections.into_iter().map(|(_, section)| section).collect()
}

/// The machine, how times were taken, and what is wrong with them.
pub fn head(measured: &Measurements) -> Vec<Line> {
    let line = |name, text| Line { name, text, paint: None };
    let mut lines = Vec::new();
    for path in measured.paths.iter().skip(1) {
        lines.push(line("and", escape::path(&relative(path))));
    }
    let Some(first) = measured.launches.first() else { return lines };
    for (name, key) in [("library", "mpi"), ("processor", "cpu")] {
        if let Some(text) = first.environment.get(key) {
            lines.push(line(name, text.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
    let started = first.started.replace('T', " ").replace('Z', " UTC");
    lines.push(line("started", started));
    let grouped = format!("grouped by {}", first.group_by);
    let hosts = units::count(first.hosts, "host");
    let launches = units::count(measured.launches.len() as u64, "launch").replace("launchs", "launches");
    lines.push(line("ranks", format!("{} on {hosts}, {grouped}, {launches}", first.ranks)));
    let error = first.clock_error_s.map(|s| format!(", clocks differ by at most {}", units::time(ns(s))));
    lines.push(line("times", format!("synchronized by {}{}", first.sync, error.unwrap_or_default())));
    lines.extend(warnings(measured).into_iter().map(|text| Line { name: "note", text, paint: Some(Paint::Warning) }));
    lines
}

fn warnings(measured: &Measurements) -> Vec<String> {
    let mut warnings = Vec::new();
    if measured.launches.iter().any(|launch| launch.is_oversubscribed) {
        warnings.push("more ranks than cores: times include the scheduler".to_owned());
    }
    for state in ["running", "interrupted"] {
        if measured.launches.iter().any(|launch| launch.state == state) {
            let what = if state == "running" { "was still running" } else { "was interrupted" };
            warnings.push(format!("a launch {what}: its measurements are incomplete"));
        }
    }
    let wrong = measured.results.iter().filter(|row| row.wrong > 0).count() as u64;
    if wrong > 0 {
        warnings.push(format!("wrong data arrived in {}: these are not used", units::count(wrong, "measurement")));
    }
    let flags: BTreeSet<&str> = measured.results.iter().filter_map(|row| row.flag.as_deref()).collect();
    for flag in flags {
        let rows = measured.results.iter().filter(|row| row.flag.as_deref() == Some(flag)).count() as u64;
        warnings.push(format!("{} flagged: {flag}", units::count(rows, "measurement")));
    }
    let differing: Vec<String> =
        measured.environment().into_iter().filter(|(_, values)| values.len() > 1).map(|(key, _)| key).collect();
    if !differing.is_empty() {
        warnings.push(format!("launches differ in {}", differing.join(", ")));
    }
    warnings
}

/// Whole nanoseconds of seconds.
pub fn ns(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}
