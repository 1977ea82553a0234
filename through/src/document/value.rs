//! The cells of tables: exact quantities, which each format writes in its own way.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use crate::text::escape::{cut, visible};

const LABEL_COLUMNS: usize = 40;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Text,
    Communicator,
    Operation,
    YesNo,
    /// How many.
    Count,
    /// A rank in `MPI_COMM_WORLD`, or the number of a process.
    Rank,
    /// World ranks: `0-3,8`.
    Ranks,
    Bytes,
    /// Message sizes of more than the one and at most the other.
    Bucket,
    Seconds,
    /// A fraction: 0.25 is a quarter.
    Share,
    /// A share that is drawn.
    Bar,
    Ratio,
    /// Bytes per second.
    Rate,
    /// Lines of code, the innermost first.
    Frames,
    /// Objects with members of their own.
    Records,
}

impl Unit {
    /// The word for it in the reference; nothing where the column's meaning says all.
    pub fn word(self) -> &'static str {
        match self {
            Unit::Text | Unit::Communicator | Unit::Operation => "text",
            Unit::YesNo => "`true` or `false`",
            Unit::Count => "number",
            Unit::Rank => "rank",
            Unit::Ranks => "ranks: `0-3,8`",
            Unit::Bytes | Unit::Bucket => "bytes",
            Unit::Seconds => "seconds",
            Unit::Share | Unit::Bar => "fraction",
            Unit::Ratio => "ratio",
            Unit::Rate => "bytes per second",
            Unit::Frames | Unit::Records => "list",
        }
    }

    /// Whether tables set it flush left, and cut it where there is no room.
    pub fn is_text(self) -> bool {
        matches!(
            self,
            Unit::Text
                | Unit::Communicator
                | Unit::Operation
                | Unit::YesNo
                | Unit::Ranks
                | Unit::Bar
                | Unit::Frames
                | Unit::Records
        )
    }

    pub fn holds(self, value: &Value) -> bool {
        match value {
            Value::Unknown => true,
            Value::Text(_) => matches!(self, Unit::Text | Unit::Ranks | Unit::Operation | Unit::Communicator),
            Value::Communicator { .. } => self == Unit::Communicator,
            Value::Operation(_) => self == Unit::Operation,
            Value::Flag(_) => self == Unit::YesNo,
            Value::Number(_) => matches!(self, Unit::Count | Unit::Rank),
            Value::Bytes(_) => self == Unit::Bytes,
            Value::Bucket { .. } => self == Unit::Bucket,
            Value::Time(_) | Value::Mean { .. } => self == Unit::Seconds,
            Value::Share { .. } => self == Unit::Share,
            Value::Bar { .. } => self == Unit::Bar,
            Value::Ratio(_) => self == Unit::Ratio,
            Value::Rate(_) => self == Unit::Rate,
            Value::Frames(_) => self == Unit::Frames,
            Value::Records(_) => self == Unit::Records,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Empty in CSV, `null` in JSON.
    Unknown,
    Text(Cow<'a, str>),
    Communicator {
        name: &'a str,
        label: Option<&'a str>,
    },
    /// The name of a function of MPI. Tables leave out what all have in common.
    Operation(&'a str),
    Flag(bool),
    Number(i64),
    Bytes(u64),
    /// Only in tables; CSV and JSON have its edges.
    Bucket {
        lo: u64,
        hi: Option<u64>,
    },
    /// Nanoseconds.
    Time(i64),
    Mean {
        sum_ns: i64,
        count: i64,
    },
    Share {
        part: f64,
        whole: f64,
    },
    /// A share that is drawn; only in tables.
    Bar {
        part: i64,
        whole: i64,
    },
    Ratio(f64),
    Rate(f64),
    /// Lines of code with their functions: a list in JSON, and one text in CSV.
    Frames(Vec<(&'a str, Option<&'a str>)>),
    /// Objects in JSON, and one text in CSV.
    Records(Vec<Record<'a>>),
}

/// Members with their names.
pub type Record<'a> = Vec<(&'static str, Value<'a>)>;

impl<'a> Value<'a> {
    pub fn text(text: &'a str) -> Value<'a> {
        Value::Text(Cow::Borrowed(text))
    }

    pub fn owned(text: impl Into<String>) -> Value<'static> {
        Value::Text(Cow::Owned(text.into()))
    }

    pub fn some<T>(value: Option<T>, of: impl FnOnce(T) -> Value<'a>) -> Value<'a> {
        value.map_or(Value::Unknown, of)
    }

    /// `s0.1 "row"`.
    pub fn titled(name: &str, label: Option<&str>) -> String {
        let name = visible(name);
        match label {
            Some(label) => format!("{name} \"{}\"", cut(&visible(label), LABEL_COLUMNS)),
            None => name.into_owned(),
        }
    }

    pub fn maybe(text: Option<&'a str>) -> Value<'a> {
        Value::some(text, Value::text)
    }
}

/// Exact numbers: whole bytes, seconds, fractions.
impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Unknown | Value::Bucket { .. } | Value::Bar { .. } => serializer.serialize_none(),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Communicator { name, .. } | Value::Operation(name) => serializer.serialize_str(name),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::Number(number) => serializer.serialize_i64(*number),
            Value::Bytes(bytes) => serializer.serialize_u64(*bytes),
            Value::Time(ns) => serializer.serialize_f64(*ns as f64 / 1e9),
            Value::Mean { sum_ns, count } => serializer.serialize_f64(*sum_ns as f64 / *count.max(&1) as f64 / 1e9),
            Value::Share { whole, .. } if *whole <= 0.0 => serializer.serialize_none(),
            Value::Share { part, whole } => serializer.serialize_f64(part / whole),
            Value::Ratio(ratio) | Value::Rate(ratio) => serializer.serialize_f64(*ratio),
            Value::Frames(frames) => {
                serializer.collect_seq(frames.iter().map(|(site, function)| Frame { site, function }))
            }
            Value::Records(records) => serializer.collect_seq(records.iter().map(Members)),
        }
    }
}

struct Members<'a, 'b>(&'b Record<'a>);

impl Serialize for Members<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[derive(Serialize)]
struct Frame<'a> {
    site: &'a str,
    function: &'a Option<&'a str>,
}

/// How tables write a cell, where they have a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// A dash for nothing.
    #[default]
    Usual,
    /// Times with a digit more, where ranks are compared that differ little.
    Precise,
    /// `0 B` for nothing.
    Zero,
    /// What is unknown is left blank.
    Blank,
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn labels_steer_no_terminal_and_are_short() {
        let title = Value::titled("s0.1", Some(&format!("\u{1b}]0;x\u{7}{}", "y".repeat(99))));
        assert!(title.starts_with("s0.1 \"\\u{1b}]0;x\\u{7}yyy"));
        assert!(title.width() < 50);
    }
}
