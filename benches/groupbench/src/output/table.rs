//! The table that people read.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement};

use commsee::bench::Interval;

use crate::measure::Stopped;
use crate::pattern::Shape;
use crate::record::{Outcome, Run};

#[derive(Default)]
pub struct Table {
    /// With their places in the order that was asked for.
    rows: Vec<(usize, [String; 8])>,
    /// Groups and their ranks, which all rows have in common.
    shape: Option<Shape>,
    notes: Notes,
}

/// What must be said of some rows.
#[derive(Default)]
struct Notes {
    skewed: usize,
    wrong: usize,
    unbounded: usize,
}

const TITLES: [&str; 8] = ["pattern", "k", "library", "bytes", "median", "± 95 %", "bandwidth", "reps"];
/// Columns of texts; all others are numbers.
const LEFT: [usize; 2] = [0, 2];

impl Table {
    /// `place`: where it stood on the command line, whose order is the table's.
    pub fn add(&mut self, outcome: &Outcome, place: usize) {
        let Some(summary) = outcome.summary() else { return };
        let key = &outcome.key;
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
        self.shape = Some(key.shape());
        let row = [
            format!("{} {}", key.family, key.direction),
            key.k.to_string(),
            key.library.clone(),
            commsee::bytes::exact(key.bytes),
            time(summary.median),
            interval,
            rate(outcome.bandwidth(summary.median)),
            marks,
        ];
        self.rows.push((place, row));
    }

    pub fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let mpi = run.environment.get("mpi").map_or("", String::as_str);
        writeln!(out, "{mpi}, {} ranks on {} host(s)", run.ranks, run.hosts)?;
        if let Some(Shape { n, g }) = self.shape {
            writeln!(out, "{n} groups of {g} by {}, begun together by {}", run.group_by, run.sync)?;
        }
        if run.oversubscribed {
            writeln!(out, "OVERSUBSCRIBED: ranks share processors, and wait for them in these times")?;
        }
        writeln!(out)?;
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(TITLES);
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|(place, _)| *place);
        table.add_rows(rows.into_iter().map(|(_, row)| row));
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            let alignment = if LEFT.contains(&index) { CellAlignment::Left } else { CellAlignment::Right };
            column.set_cell_alignment(alignment);
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
    let (value, unit) = match seconds {
        seconds if seconds < 1e-6 => (seconds * 1e9, "ns"),
        seconds if seconds < 1e-3 => (seconds * 1e6, "µs"),
        seconds if seconds < 1.0 => (seconds * 1e3, "ms"),
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
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([1.234e-6, 99.96e-6, 0.5, 12.0].map(time), ["1.23 µs", "100 µs", "500 ms", "12.0 s"]);
        assert_eq!([1234.0, 2.5 * GIB, 0.0].map(rate), ["1.21 KiB/s", "2.50 GiB/s", "-"]);
    }
}
