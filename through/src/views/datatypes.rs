//! Which datatypes each operation was given, one line each.

use std::cmp::Reverse;
use std::rc::Rc;

use super::context::shorten;
use super::{Column, Context, Flag, Part, Question, View, column, linkage};
use crate::document::{Document, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::datatypes::{Use, uses};
use crate::query::sort::SortKey;

pub const VIEW: View = View {
    name: "datatypes",
    command: "",
    flag: Flag::Switch { short: None, long: "datatypes" },
    help: "Datatypes of each operation (needs run --datatypes)",
    meaning: "the datatypes of each operation on each communicator, in a run with `through run --datatypes`",
    note: "",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Calls, SortKey::Bytes, SortKey::Op, SortKey::Size, SortKey::Comm],
    entries: "rows",
    lacks: &["bytes", "time", "bucket", "phase", "site"],
    empty: "no datatypes were recorded: run the program with `through run --datatypes`",
    parts: &[Part { name: "datatypes", headings: || column::headings(COLUMNS) }],
    ask,
};

type Of = Column<Use>;

const COLUMNS: &[Of] = &[
    Of::new("comm", "comm", Unit::Communicator, "the communicator's name", |context, row| {
        Value::text(context.comm(row.comm))
    }),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |context, row| {
        Value::maybe(context.label(row.comm))
    }),
    Of::new("op", "operation", Unit::Operation, "the operation", |context, row| Value::Operation(context.op(row.op))),
    Of::new(
        "datatype",
        "datatype",
        Unit::Text,
        "the name of a predefined datatype, or the structure of a derived one ([datatypes](profile.md#datatypes))",
        |_, row| Value::text(&row.datatype),
    ),
    Of::record("contiguous", Unit::YesNo, "whether its elements lie in memory without gaps", |_, row| {
        Value::Flag(row.contiguous)
    }),
    Of::shown("gaps", Unit::YesNo, |_, row| Value::Flag(!row.contiguous)),
    Of::new("ranks", "ranks", Unit::Count, "ranks that used it; unknown in a profile with less detail", |_, row| {
        Value::some(row.ranks, |ranks| Value::Number(ranks.into()))
    })
    .optional(2),
    Of::new(
        "calls",
        "calls",
        Unit::Count,
        "arguments with that datatype over all ranks; a call may have two",
        |_, row| Value::Number(row.calls),
    ),
    Of::new("bytes", "bytes", Unit::Bytes, "bytes that these arguments describe", |_, row| Value::Bytes(row.bytes)),
    Of::shown("a call", Unit::Bytes, |_, row| Value::Bytes(row.bytes / row.calls.max(1) as u64))
        .optional(1)
        .style(Style::Zero),
];

const LEGEND: &str = "Calls are datatype arguments, over all ranks: a call may have two. Bytes are the size that they describe; \
     for a receive its whole buffer, even if less arrived.";

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut rows = uses(&context.profile, &context.catalog, &context.filter)?;
    order(&mut rows, question.sort, &context);
    let mut document = context.document(VIEW.entries, rows.is_empty(), VIEW.empty);
    document.hidden = shorten(&mut rows, question.top);
    let legend = vec![LEGEND.to_owned()];
    document.tables = vec![Table { legend, ..column::table("datatypes", COLUMNS, &context, rows) }];
    document.tables.extend(linkage::records(&context));
    Ok(document)
}

/// Stable: within an operation the datatype of most bytes stays first.
fn order(rows: &mut [Use], sort: Option<SortKey>, context: &Context) {
    rows.sort_by(|a, b| {
        let name = |row: &Use| context.communicator(row.comm).map(|comm| comm.name_key());
        name(a).cmp(&name(b)).then_with(|| context.op(a.op).cmp(context.op(b.op)))
    });
    match sort {
        Some(SortKey::Calls) => rows.sort_by_key(|row| Reverse(row.calls)),
        Some(SortKey::Bytes) => rows.sort_by_key(|row| Reverse(row.bytes)),
        Some(SortKey::Op) => rows.sort_by_key(|row| context.op(row.op)),
        Some(SortKey::Size) => {
            rows.sort_by_key(|row| Reverse(context.communicator(row.comm).and_then(|comm| comm.size)))
        }
        _ => {}
    }
}
