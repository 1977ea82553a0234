//! Values as tables show them: few digits that count, and a unit.

use crate::document::{Heading, Style, Value};
use crate::render::words::bare;
use crate::text::escape::{cut, visible};
use crate::text::units;

use super::grid::Row;

/// Columns of a bar that stands for the whole.
const BAR_COLUMNS: usize = 20;

pub fn push(heading: &Heading, value: &Value, cells: &mut Row) {
    match value {
        Value::Text(text) if heading.widest.is_none() => cells.push_text(&visible(text)),
        Value::Operation(name) => cells.push_text(&visible(bare(name))),
        Value::Number(number) => cells.push(number),
        _ => cells.push_text(&text(heading, value)),
    }
}

pub fn text(heading: &Heading, value: &Value) -> String {
    let style = heading.style;
    match value {
        Value::Unknown if style == Style::Blank => String::new(),
        Value::Unknown => "-".to_owned(),
        Value::Text(text) => cut(&visible(text), heading.widest.unwrap_or(usize::MAX)).into_owned(),
        Value::Communicator { name, label } => Value::titled(name, *label),
        Value::Operation(name) => visible(bare(name)).into_owned(),
        Value::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => number.to_string(),
        // Most calls carry nothing in one direction: a dash is quieter than `0 B`.
        Value::Bytes(0) if style != Style::Zero => "-".to_owned(),
        Value::Bytes(bytes) => units::bytes(*bytes),
        Value::Bucket { lo, hi } => units::bucket(*lo, *hi),
        Value::Time(ns) if style == Style::Precise => units::precise_time(*ns),
        Value::Time(ns) => units::time(*ns),
        Value::Mean { sum_ns, count } => units::time(sum_ns / (*count).max(1)),
        Value::Share { part, whole } => units::percent(*part, *whole),
        Value::Bar { part, whole } => bar(*part, *whole),
        Value::Ratio(value) => ratio(*value),
        Value::Rate(value) => units::rate(*value),
        Value::Records(records) => records.len().to_string(),
        Value::Frames(frames) => frames.iter().map(|(site, _)| visible(site)).collect::<Vec<_>>().join(" < "),
    }
}

/// A bar in eighths of a column.
fn bar(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return String::new();
    }
    let eighths = (part as f64 / whole as f64 * (8 * BAR_COLUMNS) as f64).round().clamp(0.0, (8 * BAR_COLUMNS) as f64);
    let (full, rest) = (eighths as usize / 8, eighths as usize % 8);
    let last = [None, Some('▏'), Some('▎'), Some('▍'), Some('▌'), Some('▋'), Some('▊'), Some('▉')][rest];
    "█".repeat(full).chars().chain(last).collect()
}

/// Three digits that count.
fn ratio(ratio: f64) -> String {
    match ratio {
        ratio if ratio > 0.0 && ratio < 0.001 => "<0.001".to_owned(),
        ratio if ratio < 9.9995 => format!("{ratio:.3}"),
        ratio if ratio < 99.95 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_eighths() {
        assert_eq!(bar(1, 2), "██████████");
        assert_eq!(bar(1, 160), "▏");
        assert_eq!(bar(3, 0), "");
        assert_eq!(bar(9, 3).chars().count(), 20);
    }

    #[test]
    fn ratios_have_digits_that_count() {
        assert_eq!(
            [0.0, 0.0001, 1.0, 1.0004, 12.34, 1234.5].map(ratio),
            ["0.000", "<0.001", "1.000", "1.000", "12.3", "1234"]
        );
    }
}
