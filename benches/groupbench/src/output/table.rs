//! The table that people read.

use std::collections::BTreeSet;
use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement};

use commsee::bench::Interval;

use crate::measure::Stopped;
use crate::record::{Key, Outcome, Run};

#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
    notes: Notes,
}

struct Row {
    /// In the order that was asked for.
    place: usize,
    key: Key,
    /// Of its pattern.
    steps: usize,
    median_s: f64,
    interval: String,
    bandwidth: String,
    marks: String,
}

/// What must be said of some rows.
#[derive(Default)]
struct Notes {
    skewed: usize,
    wrong: usize,
    unbounded: usize,
}

const TITLES: [&str; 11] =
    ["pattern", "n", "step", "k", "library", "bytes", "median", "± 95 %", "bandwidth", "gained", "reps"];
const GAINED: usize = 9;
/// Columns of texts; all others are numbers.
const LEFT: [&str; 2] = ["pattern", "library"];

impl Table {
    /// `place`: where it stood on the command line, whose order is the table's.
    pub fn add(&mut self, outcome: &Outcome, place: usize) {
        let Some(summary) = outcome.summary() else { return };
        // How it ended is said where the interval is not narrow enough.
        let mut marks = match outcome.measured.stopped {
            Stopped::Interval | Stopped::Reps => summary.samples.to_string(),
            stopped => format!("{}, {}", summary.samples, stopped.name()),
        };
        if let Some(flag) = outcome.measured.flag() {
            marks += &format!(", {flag}");
            self.notes.skewed += 1;
        }
        if outcome.measured.wrong > 0 {
            marks += &format!(", {} WRONG", outcome.measured.wrong);
            self.notes.wrong += 1;
        }
        let interval = match summary.interval {
            Some(Interval { low, high }) => format!("{:.1} %", 100.0 * (high - low) / 2.0 / summary.median),
            None => {
                self.notes.unbounded += 1;
                "-".to_owned()
            }
        };
        self.rows.push(Row {
            place,
            key: outcome.key.clone(),
            steps: outcome.size.steps,
            median_s: summary.median,
            interval,
            bandwidth: rate(outcome.bandwidth(summary.median)),
            marks,
        });
    }

    /// What a pattern takes less than its steps one after the other, where each was measured.
    fn gained_s(&self, row: &Row) -> Option<f64> {
        let is_step = |other: &&Row| other.key.step > 0 && other.key.whole() == row.key;
        let alone_s: Vec<f64> = self.rows.iter().filter(is_step).map(|step| step.median_s).collect();
        (row.steps > 1 && alone_s.len() == row.steps).then(|| alone_s.iter().sum::<f64>() - row.median_s)
    }

    /// `has_n`: not all have as many groups.
    fn cells(&self, row: &Row, has_n: bool) -> [String; 11] {
        let key = &row.key;
        let gained = self
            .gained_s(row)
            .map(|gained_s| format!("{} ({:.0} %)", time(gained_s), 100.0 * gained_s / (row.median_s + gained_s)));
        [
            format!("{} {}", key.family, key.direction),
            if has_n { key.n.to_string() } else { String::new() },
            if key.step > 0 { key.step.to_string() } else { String::new() },
            key.k.to_string(),
            key.library.clone(),
            commsee::bytes::exact(key.bytes),
            time(row.median_s),
            row.interval.clone(),
            row.bandwidth.clone(),
            gained.unwrap_or_default(),
            row.marks.clone(),
        ]
    }

    pub fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let mpi = run.environment.get("mpi").map_or("", String::as_str);
        writeln!(out, "{mpi}, {} ranks on {} host(s)", run.ranks, run.hosts)?;
        let ns: BTreeSet<usize> = self.rows.iter().map(|row| row.key.n).collect();
        if let Some(row) = self.rows.first() {
            let (n, g) = (ns.iter().map(usize::to_string).collect::<Vec<_>>().join(", "), row.key.g);
            writeln!(out, "{n} groups of {g} by {}, begun together by {}", run.group_by, run.sync)?;
        }
        if run.oversubscribed {
            writeln!(out, "OVERSUBSCRIBED: ranks share processors, and wait for them in these times")?;
        }
        writeln!(out)?;
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| row.place);
        let rows: Vec<[String; 11]> = rows.into_iter().map(|row| self.cells(row, ns.len() > 1)).collect();
        // Without columns that say nothing.
        let shown: Vec<usize> =
            (0..TITLES.len()).filter(|column| rows.iter().any(|row| !row[*column].is_empty())).collect();
        table.set_header(shown.iter().map(|column| TITLES[*column]));
        table.add_rows(rows.iter().map(|row| shown.iter().map(|column| &row[*column])));
        for (column, index) in table.column_iter_mut().zip(&shown) {
            column.set_padding((0, 2));
            let is_text = LEFT.contains(&TITLES[*index]);
            column.set_cell_alignment(if is_text { CellAlignment::Left } else { CellAlignment::Right });
        }
        for line in table.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
        writeln!(out)?;
        writeln!(
            out,
            "median: of the slowest rank's time. ±: half its 95 % interval. bandwidth: bytes
that leave or enter the busiest group, over the median."
        )?;
        if rows.iter().any(|row| !row[GAINED].is_empty()) {
            writeln!(out, "gained: the sum of the medians of its steps, each alone, minus the median.")?;
        }
        let Notes { skewed, wrong, unbounded } = self.notes;
        if skewed > 0 {
            writeln!(out, "skew: ranks did not begin together: they were apart for much of the median.")?;
        }
        if unbounded > 0 {
            writeln!(out, "-: fewer than six executions bound no median.")?;
        }
        if wrong > 0 {
            writeln!(out, "WRONG: so many bytes were not what was sent.")?;
        }
        Ok(())
    }
}

fn time(seconds: f64) -> String {
    let (value, unit) = match seconds.abs() {
        size if size < 1e-6 => (seconds * 1e9, "ns"),
        size if size < 1e-3 => (seconds * 1e6, "µs"),
        size if size < 1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    format!("{} {unit}", digits(value))
}

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
const GIB: f64 = 1024.0 * MIB;

fn rate(bytes_per_s: f64) -> String {
    if !bytes_per_s.is_finite() || bytes_per_s == 0.0 {
        return "-".to_owned();
    }
    let (value, unit) = match bytes_per_s {
        // As `through bench` prints them.
        rate if rate < MIB => (rate / KIB, "KiB/s"),
        rate if rate < GIB => (rate / MIB, "MiB/s"),
        rate => (rate / GIB, "GiB/s"),
    };
    format!("{} {unit}", digits(value))
}

/// Three of them.
fn digits(value: f64) -> String {
    match value.abs() {
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([1.234e-6, 99.96e-6, 0.5, 12.0].map(time), ["1.23 µs", "100 µs", "500 ms", "12.0 s"]);
        assert_eq!(time(-12.3e-6), "-12.3 µs");
        assert_eq!([1234.0, 2.5 * GIB, 0.0].map(rate), ["1.21 KiB/s", "2.50 GiB/s", "-"]);
    }
}
