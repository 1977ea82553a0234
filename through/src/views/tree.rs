//! Callers as a tree, for people and for the tools that draw flame graphs.

use std::rc::Rc;

use super::{Column, Context, Flag, Part, Question, View, column, lineless, linkage, nothing};
use crate::document::{Document, Drawing, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::sites::counts::{is_recorded, over_ranks};
use crate::query::sites::tree::{Direction, Node, What, path, prune, tree};
use crate::query::sort::SortKey;
use crate::render::flame::{Flame, Frame, Stack};

pub const DOWN: View = View {
    name: "callers, top down",
    command: "sites",
    flag: Flag::Switch { short: None, long: "callees" },
    help: "Tree from main down to the MPI calls (needs --sites=N in the run)",
    meaning: "the callers of MPI calls as a tree, from the outermost function to the call, in a run with `through run --sites=N` \
              ([find the line](../howto/find-the-line.md))",
    note: "`--format folded` and `--format speedscope` write it for tools that draw flame graphs: whole stacks with their nanoseconds, \
           the outermost function first.",
    formats: &[Format::Table, Format::Csv, Format::Json, Format::Folded, Format::Speedscope],
    sorts: &[SortKey::Time],
    entries: "lines",
    lacks: &[],
    empty: "the profile has no call sites",
    parts: &[Part { name: "tree", headings: || column::headings(COLUMNS) }],
    ask: |question| ask(question, Direction::Down),
};

pub const UP: View = View {
    name: "callers, bottom up",
    flag: Flag::Switch { short: None, long: "callers" },
    help: "Tree from each MPI call up to its callers (needs --sites=N in the run)",
    meaning: "the same bottom up: each operation, and below it its callers",
    note: "In `--format folded` and `--format speedscope` the operation is the outermost.",
    ask: |question| ask(question, Direction::Up),
    ..DOWN
};

struct Row {
    number: usize,
    node: Node,
}

type Of = Column<Row>;

const COLUMNS: &[Of] = &[
    Of::record("id", Unit::Rank, "number of the line", |_, row| Value::Number(row.number as i64)),
    Of::record("parent", Unit::Rank, "number of its parent line in the tree", |_, row| {
        Value::some(row.node.parent, |parent| Value::Number(parent as i64))
    }),
    Of::record("depth", Unit::Count, "its depth in the tree", |_, row| Value::Number(row.node.depth as i64)),
    Of::shown("called from", Unit::Text, |context, row| Value::owned(indented(context, &row.node))).widest(48),
    Of::record("op", Unit::Operation, "the operation, where the line is a call of MPI", |context, row| {
        match row.node.what {
            What::Call(op) => Value::some(context.operation(op), |operation| Value::Operation(&operation.name)),
            What::Code(_) => Value::Unknown,
        }
    }),
    Of::record("function", Unit::Text, "the function, where it is code", |_, row| match &row.node.what {
        What::Code(spot) => Value::maybe(spot.function.as_deref()),
        What::Call(_) => Value::Unknown,
    }),
    Of::record("site", Unit::Text, "the line in it", |_, row| site(row)),
    Of::shown("line", Unit::Text, |_, row| site(row)).style(Style::Blank),
    Of::new("calls", "calls", Unit::Count, "MPI calls through it, over all ranks", |_, row| {
        Value::Number(row.node.calls)
    }),
    Of::new("bytes_sent", "sent", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.node.bytes_sent))
        .optional(2),
    Of::new("bytes_recv", "received", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.node.bytes_recv))
        .optional(2),
    Of::new("time_s", "time", Unit::Seconds, "of these calls, over all ranks", |_, row| Value::Time(row.node.time_ns)),
    Of::shown("share", Unit::Share, |context, row| Value::Share {
        part: row.node.mpi_ns as f64,
        whole: context.mpi_ns,
    })
    .optional(1),
];

fn site(row: &Row) -> Value<'_> {
    match &row.node.what {
        What::Code(spot) => Value::text(&spot.text),
        What::Call(_) => Value::Unknown,
    }
}

fn indented(context: &Context, node: &Node) -> String {
    format!("{:1$}{2}", "", 2 * node.depth, title(context, &node.what))
}

fn title<'a>(context: &'a Context, what: &'a What) -> &'a str {
    match what {
        What::Call(op) => context.op(*op),
        What::Code(spot) => spot.function.as_deref().unwrap_or(&spot.text),
    }
}

const LEGEND: &str =
    "Time is the sum over the ranks in MPI calls made through a line, and its share that of the MPI time.";

/// Lines that a table shows unless told otherwise.
const SHOWN: usize = 60;

fn ask(question: &Question, direction: Direction) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    if !is_recorded(&context.profile)? {
        return Ok(nothing::no_sites(&context, DOWN.entries));
    }
    let counts = over_ranks(&context.profile, &context.catalog, &context.filter)?;
    let mut document = context.document(DOWN.entries, counts.is_empty(), DOWN.empty);
    if matches!(question.format, Format::Folded | Format::Speedscope) {
        let frame = |what: &What| match what {
            What::Call(_) => Frame { name: title(&context, what).to_owned(), file: None, line: None },
            What::Code(spot) => {
                Frame { name: title(&context, what).to_owned(), file: spot.file.clone(), line: spot.line }
            }
        };
        let stacks = counts.iter().map(|count| {
            let mut frames: Vec<Frame> = path(count, &context.catalog).iter().map(frame).collect();
            if direction == Direction::Down {
                frames.reverse();
            }
            Stack { frames, weight: count.time_ns }
        });
        let flame = Flame { stacks: stacks.collect(), is_speedscope: question.format == Format::Speedscope };
        document.drawings = vec![(question.format, Box::new(flame) as Box<dyn Drawing>)];
        return Ok(document);
    }
    let mut nodes = tree(&counts, &context.catalog, direction);
    document.hidden = prune(&mut nodes, question.top_of_table(SHOWN));
    let callers = counts.iter().filter_map(|count| context.catalog.sites.stack(count.site).into_iter().next());
    let lineless = lineless::legend(callers.map(Rc::as_ref));
    let rows = nodes.into_iter().enumerate().map(|(number, node)| Row { number, node }).collect();
    let legend = [LEGEND.to_owned()].into_iter().chain(lineless).collect();
    document.tables = vec![Table { legend, ..column::table("tree", COLUMNS, &context, rows) }];
    document.tables.extend(linkage::records(&context));
    Ok(document)
}
