//! How unevenly ranks spend their time on each communicator, by the measures of other tools.

use std::cmp::Reverse;
use std::rc::Rc;

use super::context::shorten;
use super::{Column, Command, Context, Flag, Part, Question, View, column};
use crate::document::{Document, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::imbalance::{OnComm, Spread, imbalance};
use crate::query::sort::SortKey;

pub const VIEW: View = View {
    name: "imbalance",
    command: Command::Imbalance,
    flag: Flag::Default,
    help: "How unevenly ranks spend time on each communicator",
    meaning: "how unevenly ranks spend MPI time on each communicator, and in each operation on it",
    note: "All measures are over the N ranks that called. `max_over_mean` is that of Hatchet and Pipit (1 is even). `imb_s` and `imb` are Imb.Time = max − mean and Imb.% = (max − mean) ÷ max × N ÷ (N − 1) of CrayPat \
           (DeRose, Homer, Johnson, Euro-Par 2007): 0 is even, 1 is one rank that spends everything. `cov` is the COV of mpiP: sample deviation (N − 1) ÷ mean. \
           In a collective operation the rank that spends most waited, and the one that spends least was late.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Time],
    entries: "communicators",
    lacks: &[],
    empty: "the profile holds no calls",
    parts: &[Part { name: "imbalance", headings: || column::headings(COLUMNS) }],
    ask,
};

/// Communicators that a table shows unless told otherwise.
const SHOWN: usize = 10;
/// Operations of each.
const OPERATIONS_SHOWN: usize = 5;

struct Row {
    comm: i64,
    /// `None`: everything on the communicator.
    op: Option<i64>,
    spread: Spread,
}

type Of = Column<Row>;

const COLUMNS: &[Of] = &[
    Of::record("comm", Unit::Communicator, "the communicator's name", |context, row| {
        Value::text(context.comm(row.comm))
    }),
    Of::record("label", Unit::Text, "what `MPI_Comm_set_name` called it", |context, row| {
        Value::maybe(context.label(row.comm))
    }),
    Of::shown("communicator", Unit::Communicator, |context, row| match row.op {
        Some(_) => Value::Unknown,
        None => Value::Communicator { name: context.comm(row.comm), label: context.label(row.comm) },
    })
    .style(Style::Blank),
    Of::new("op", "operation", Unit::Operation, "the operation; unknown: all of them together", |context, row| {
        Value::some(row.op, |op| Value::Operation(context.op(op)))
    })
    .style(Style::Blank),
    Of::new("ranks", "ranks", Unit::Count, "how many ranks called", |_, row| Value::Number(row.spread.ranks.into()))
        .optional(5),
    Of::record("time_s", Unit::Seconds, "MPI time over the ranks", |_, row| Value::Time(row.spread.sum_ns)),
    Of::new("max_s", "max", Unit::Seconds, "of the rank that spent most", |_, row| Value::Time(row.spread.max_ns)),
    Of::new("max_rank", "rank", Unit::Rank, "that rank; of equals the lowest", |_, row| {
        Value::Number(row.spread.max_rank)
    }),
    Of::record("mean_s", Unit::Seconds, "the mean of the ranks that called", |_, row| Value::Mean {
        sum_ns: row.spread.sum_ns,
        count: row.spread.ranks.into(),
    }),
    Of::new("min_s", "min", Unit::Seconds, "of the rank that spent least", |_, row| Value::Time(row.spread.min_ns)),
    Of::new("min_rank", "rank", Unit::Rank, "that rank; of equals the lowest", |_, row| {
        Value::Number(row.spread.min_rank)
    }),
    Of::new("max_over_mean", "max/mean", Unit::Ratio, "`max_s` ÷ `mean_s`", |_, row| {
        Value::some(row.spread.max_over_mean(), Value::Ratio)
    })
    .optional(3),
    Of::new("imb_s", "Imb.Time", Unit::Seconds, "`max_s` − `mean_s`", |_, row| Value::Time(row.spread.imb_time_ns())),
    Of::new(
        "imb",
        "Imb.%",
        Unit::Share,
        "(`max_s` − `mean_s`) ÷ `max_s` × N ÷ (N − 1); unknown of one rank",
        |_, row| Value::some(row.spread.imb(), |imb| Value::Share { part: imb, whole: 1.0 }),
    ),
    Of::new("cov", "COV", Unit::Ratio, "sample deviation ÷ `mean_s`; unknown of one rank", |_, row| {
        Value::some(row.spread.cov(), Value::Ratio)
    })
    .optional(4),
];

const LEGEND: &str = "Over the N ranks that called. Imb.Time = max − mean; Imb.% = (max − mean) ÷ max × N ÷ (N − 1), as CrayPat; COV = sample \
     deviation ÷ mean, as mpiP. In a collective operation the rank with the most time waited, and the one with the least was late.";

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut found = imbalance(&context.profile, &context.catalog, &context.filter)?;
    if question.sort == Some(SortKey::Time) {
        found.sort_by_key(|on_comm| Reverse(on_comm.whole.sum_ns));
    }
    let mut document = context.document(VIEW.entries, found.is_empty(), VIEW.empty);
    document.hidden = shorten(&mut found, question.top_of_table(SHOWN));
    let operations = if question.is_table() { OPERATIONS_SHOWN } else { usize::MAX };
    let rows = found.into_iter().flat_map(|on_comm| rows(on_comm, operations)).collect();
    let legend = vec![LEGEND.to_owned()];
    document.tables = vec![Table { legend, ..column::table("imbalance", COLUMNS, &context, rows) }];
    Ok(document)
}

fn rows(on_comm: OnComm, operations: usize) -> Vec<Row> {
    let comm = on_comm.comm;
    let parts = on_comm.operations.into_iter().take(operations);
    let whole = Row { comm, op: None, spread: on_comm.whole };
    [whole].into_iter().chain(parts.map(|(op, spread)| Row { comm, op: Some(op), spread })).collect()
}
