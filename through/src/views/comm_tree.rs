//! The tree of communicators: who was made from whom, with families as one line.

use std::collections::HashMap;
use std::rc::Rc;

use super::communicator::{Communicators, Total, creator};
use super::communicators::birthplace;
use super::context::shorten;
use super::{Column, Context, Flag, Part, Question, View, column};
use crate::document::{Document, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::catalog::Communicator;
use crate::query::comm_tree::{Line, tree};
use crate::query::families::{Family, first_of};

pub const VIEW: View = View {
    name: "tree of communicators",
    command: "comms",
    flag: Flag::Switch { short: None, long: "tree" },
    help: "The tree of communicators",
    meaning: "communicators below their parents; similar communicators (same parent line, call, size and birthplace) share a line",
    note: "",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "lines",
    lacks: &[],
    empty: "the profile has no communicators",
    parts: &[Part { name: "tree", headings: || column::headings(COLUMNS) }],
    ask,
};

/// Lines that a table shows unless told otherwise.
const SHOWN: usize = 40;
/// Deeper lines are not set further in.
const DEEPEST: usize = 12;

struct Row {
    line: Line,
    first: Communicator,
    /// What the program calls all of them.
    label: Option<String>,
    own: Total,
    /// With what is below.
    below_ns: i64,
}

type Of = Column<Row>;

const COLUMNS: &[Of] = &[
    Of::record("depth", Unit::Count, "number of ancestors", |_, row| Value::Number(row.line.depth as i64)),
    Of::record("comm", Unit::Communicator, "the communicator, or the first of those on the line", |_, row| {
        Value::text(&row.first.name)
    }),
    Of::record("label", Unit::Text, "the label that all on the line have, set by `MPI_Comm_set_name`", |_, row| {
        Value::maybe(row.label.as_deref())
    }),
    Of::shown("communicator", Unit::Text, |_, row| {
        Value::owned(format!("{}{}", "  ".repeat(row.line.depth.min(DEEPEST)), title(row)))
    }),
    Of::record("count", Unit::Count, "number of communicators on the line", |_, row| {
        Value::Number(row.line.members.len() as i64)
    }),
    Of::record("parent", Unit::Communicator, "the parent of `comm`", |_, row| {
        Value::maybe(row.first.parent.as_deref())
    }),
    Of::record("creator", Unit::Text, "the function that created it", |_, row| {
        Value::maybe(row.first.creator.as_deref())
    }),
    Of::new("size", "size", Unit::Count, "its number of processes", |_, row| {
        Value::some(row.first.size, |size| Value::Number(size as i64))
    })
    .style(Style::Blank),
    Of::new("calls", "calls", Unit::Count, "on all communicators of the line", |_, row| Value::Number(row.own.calls))
        .optional(3),
    Of::new("mpi_s", "time", Unit::Seconds, "MPI time on them, over all ranks", |_, row| Value::Time(row.own.mpi_ns)),
    Of::new("share", "share", Unit::Share, "`mpi_s` as a share of the MPI time", |context, row| Value::Share {
        part: row.own.mpi_ns as f64,
        whole: context.mpi_ns,
    }),
    Of::new("with_below_s", "with below", Unit::Seconds, "MPI time of the line and all lines below", |_, row| {
        Value::Time(row.below_ns)
    })
    .optional(2),
    Of::record("made_at", Unit::Text, "the line of the program that created it: `grid.c:88`", |context, row| {
        Value::maybe(birthplace(context, &row.first).map(|spot| spot.text.as_str()))
    }),
    Of::shown("made at", Unit::Text, |context, row| {
        Value::some(birthplace(context, &row.first), |spot| Value::text(&spot.text))
    })
    .style(Style::Blank)
    .optional(1)
    .when(|context, rows| rows.iter().any(|row| birthplace(context, &row.first).is_some())),
];

const LEGEND: &str = "A communicator is below the one that it was made from. Time is the sum over the ranks without MPI_Init and MPI_Finalize.";

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let found = Communicators::of(&context, None, false, false)?;
    let totals: HashMap<i64, Total> = found.list.iter().map(|part| (part.comm.id, part.total)).collect();
    let lines = tree(&context.catalog);
    let own: Vec<Total> = lines.iter().map(|line| sum(line, &totals)).collect();
    let (mut below, mut calls): (Vec<i64>, Vec<i64>) = own.iter().map(|own| (own.mpi_ns, own.calls)).unzip();
    // What is below a line stands behind it.
    for (at, line) in lines.iter().enumerate().rev() {
        if let Some(above) = line.above {
            below[above] = below[above].saturating_add(below[at]);
            calls[above] = calls[above].saturating_add(calls[at]);
        }
    }
    let filter = &context.filter;
    let is_filtered = filter.selects_cells() || filter.ranks.is_some();
    let mut rows: Vec<Row> = Vec::new();
    for (at, mut line) in lines.into_iter().enumerate().filter(|(at, _)| calls[*at] > 0 || !is_filtered) {
        // One that is there for what is below it need not be asked for.
        if line.members.iter().any(|comm| filter.has_comm(*comm)) {
            line.members.retain(|comm| filter.has_comm(*comm));
        }
        let Some(first) = context.communicator(line.members[0]).cloned() else { continue };
        let is_same = line.members.iter().all(|comm| context.label(*comm) == first.label.as_deref());
        let label = first.label.clone().filter(|_| is_same);
        rows.push(Row { line, first, label, own: own[at], below_ns: below[at] });
    }
    let mut document = context.document(VIEW.entries, rows.is_empty(), VIEW.empty);
    document.hidden = shorten(&mut rows, question.top_of_table(SHOWN));
    let legend = vec![LEGEND.to_owned()];
    document.tables = vec![Table { legend, ..column::table("tree", COLUMNS, &context, rows) }];
    Ok(document)
}

fn sum(line: &Line, totals: &HashMap<i64, Total>) -> Total {
    let mut sum = Total::default();
    line.members.iter().filter_map(|comm| totals.get(comm)).for_each(|total| sum.add(total));
    sum
}

/// `s0.1 "row", Comm_split`, or `4 × "row", Comm_split, 2 ranks`.
fn title(row: &Row) -> String {
    let Row { line, first, .. } = row;
    match line.members.len() {
        1 => format!("{}, {}", Value::titled(&first.name, first.label.as_deref()), creator(first)),
        members => {
            let family = Family {
                parent: None,
                creator: first.creator.clone(),
                size: first.size,
                label: row.label.clone(),
                origin: first_of(&first.name),
                first_name: first.name.clone(),
                members: line.members.clone(),
            };
            family.title(members)
        }
    }
}
