//! Two files of measurements, case by case.

use std::rc::Rc;

use through_core::Error;
use through_core::document::{Audience, Document, Format, Line, Style, Table, Unit, Value};
use through_core::text::escape;
use through_core::text::path::relative;
use through_core::text::terminal::Paint;
use through_core::views::{Column, Flag, Part, View, column, shorten};

use super::list::step;
use super::{Question, head, ns, sections};
use crate::query::bench::compare::{Compared, Difference, Verdict, compare, differences};
use crate::query::bench::{Measured, Measurements};

pub const VIEW: View<Question> = View {
    name: "bench cmp",
    command: "bench cmp",
    flag: Flag::Default,
    help: "Differences between two files of measurements",
    meaning: "two files of measurements, A and B, case by case",
    note: "Medians whose intervals at 95 % do not overlap are `faster` or `slower` in B; otherwise no difference was shown, which does not prove that there is none. \
           `reason` says why a case is not comparable. `environment` lists the keys in which the files differ.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "measurements",
    lacks: &[],
    empty: "the files have no measurements yet",
    parts: &[
        Part { name: "compared", headings: || column::headings(COLUMNS) },
        Part { name: "environment", headings: || column::headings(ENVIRONMENT) },
    ],
    ask: |question| Ok(document(question)?.0),
};

type Of = Column<Compared, ()>;

const COLUMNS: &[Of] = &[
    Of::record("family", Unit::Text, "the family of patterns", |_, row| Value::text(&row.case.family)),
    Of::record("direction", Unit::Text, "its direction", |_, row| Value::text(&row.case.direction)),
    Of::record("n", Unit::Count, "groups", |_, row| Value::Number(row.case.n as i64)),
    Of::record("g", Unit::Count, "ranks of each group", |_, row| Value::Number(row.case.g as i64)),
    Of::new("k", "k", Unit::Count, "ranks of each group that are active", |_, row| Value::Number(row.case.k as i64)),
    Of::record("library", Unit::Text, "the library that moved the data", |_, row| Value::text(&row.case.library)),
    Of::record("buffers", Unit::Text, "where the buffers are", |_, row| Value::text(&row.case.buffers)),
    Of::record("crosses_hosts", Unit::YesNo, "whether a message leaves its host", |_, row| {
        Value::Flag(row.case.crosses_hosts)
    }),
    Of::new("bytes", "bytes", Unit::Bytes, "the count of the pattern", |_, row| Value::Bytes(row.case.bytes))
        .style(Style::Zero),
    Of::record(
        "step",
        Unit::Count,
        "the step of the pattern that was measured alone, from 1; 0: the whole pattern",
        |_, row| Value::Number(row.case.step as i64),
    ),
    Of::shown("step", Unit::Count, |_, row| step(row.case.step))
        .style(Style::Blank)
        .when(|_, rows| rows.iter().any(|row| row.case.step > 0)),
    Of::new("median_a_s", "A", Unit::Seconds, "the median in A", |_, row| median(row.a.as_ref())),
    Of::new("median_b_s", "B", Unit::Seconds, "the median in B", |_, row| median(row.b.as_ref())),
    Of::new("ratio", "B / A", Unit::Ratio, "median in B over that in A: above 1, B takes longer", |_, row| {
        Value::some(row.ratio, Value::Ratio)
    }),
    Of::record("ratio_lo", Unit::Ratio, "at least, by both intervals", |_, row| {
        Value::some(row.bounds, |(low, _)| Value::Ratio(low))
    }),
    Of::record("ratio_hi", Unit::Ratio, "and at most", |_, row| {
        Value::some(row.bounds, |(_, high)| Value::Ratio(high))
    }),
    Of::shown("between", Unit::Text, |_, row| {
        Value::some(row.bounds, |(low, high)| Value::owned(format!("{low:.2}…{high:.2}")))
    })
    .optional(1),
    Of::new(
        "verdict",
        "B is",
        Unit::Text,
        "`faster`, `slower`, `no difference shown` or `not comparable`",
        |_, row| Value::text(row.verdict.name()),
    ),
    Of::new("reason", "because", Unit::Text, "why it is not comparable", |_, row| Value::maybe(row.verdict.reason()))
        .style(Style::Blank)
        .when(|_, rows| rows.iter().any(|row| row.verdict.reason().is_some())),
];

type OfKey = Column<Difference, ()>;

const ENVIRONMENT: &[OfKey] = &[
    OfKey::new("key", "differs", Unit::Text, "the key that differs", |_, row| Value::text(&row.key)),
    OfKey::new("a", "in A", Unit::Text, "its values in A", |_, row| Value::text(&row.a)).widest(28),
    OfKey::new("b", "in B", Unit::Text, "its values in B", |_, row| Value::text(&row.b)).widest(28),
];

const LEGEND: &str = "B is faster or slower if the 95 % intervals of the medians do not overlap. Launches differ by more than \
     the samples within one: measure several launches of each.";

/// The document, and what it was made of.
pub fn document(question: &Question) -> Result<(Document, Vec<Compared>), Error> {
    let (a, b) = (&question.measured, &question.against);
    let mut all = compare(a, b);
    all.retain(|row| question.select.has(&row.case));
    let mut lines = vec![line("A", side(a)), line("B", side(b))];
    lines.extend(head(a).into_iter().filter(|line| line.name == "library"));
    for (name, measured) in [("A", a), ("B", b)] {
        let notes = super::warnings(measured).into_iter().map(|text| format!("{name}: {text}"));
        lines.extend(notes.map(|text| Line { name: "note", text, paint: Some(Paint::Warning) }));
    }
    let different = differences(a, b);
    if !different.is_empty() {
        let keys: Vec<&str> = different.iter().map(|difference| difference.key.as_str()).collect();
        let text = format!("environments differ in {}", keys.join(", "));
        lines.push(Line { name: "note", text, paint: Some(Paint::Warning) });
    }
    let mut document = question.document(VIEW.entries, all.is_empty(), lines);
    let count = |verdict: &str| Value::Number(all.iter().filter(|row| row.verdict.name() == verdict).count() as i64);
    document.numbers = vec![
        ("slower", count(Verdict::Slower.name())),
        ("faster", count(Verdict::Faster.name())),
        ("no_difference_shown", count(Verdict::NotShown.name())),
        ("not_comparable", count(Verdict::NotComparable("").name())),
    ];
    let mut rows = all.clone();
    document.hidden = shorten(&mut rows, question.top);
    let sections = sections(rows.iter().map(|row| &row.case));
    let mut table = column::table("compared", COLUMNS, &Rc::new(()), rows);
    table.sections = sections;
    table.legend = vec![LEGEND.to_owned()];
    let environment = column::table("environment", ENVIRONMENT, &Rc::new(()), different.clone());
    let audience = if different.is_empty() { Audience::JSON } else { Audience::BESIDE };
    document.tables = vec![table, Table { audience, ..environment }];
    Ok((document, all))
}

fn line(name: &'static str, text: String) -> Line {
    Line { name, text, paint: None }
}

fn side(measured: &Measurements) -> String {
    let names: Vec<String> = measured.paths.iter().map(|path| escape::path(&relative(path))).collect();
    names.join(" ")
}

fn median(row: Option<&Measured>) -> Value<'static> {
    Value::some(row, |row| Value::Time(ns(row.time_s.median)))
}
