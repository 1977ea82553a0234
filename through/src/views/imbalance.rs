//! How unevenly ranks spend their time on each communicator, by the measures of other tools.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::rc::Rc;

use super::context::shorten;
use super::folding::alike;
use super::{Column, Context, Flag, Part, Question, View, column};
use crate::document::{Document, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::families::Families;
use crate::query::imbalance::{OnComm, Spread, imbalance};
use crate::query::sort::SortKey;

pub const VIEW: View = View {
    name: "imbalance",
    command: "waits",
    flag: Flag::Switch { short: None, long: "imbalance" },
    help: "How unevenly ranks spend time on each communicator",
    meaning: "how unevenly ranks spend MPI time on each communicator, and in each operation on it",
    note: "All measures are over the N ranks that called. `max_over_mean` is the measure of Hatchet and Pipit (1 is even). `imb_s` and `imb` are Imb.Time = max − mean and Imb.% = (max − mean) ÷ max × N ÷ (N − 1) of CrayPat \
           (DeRose, Homer, Johnson, Euro-Par 2007): 0 is even, 1 means that one rank spends all the time. `cov` is the COV of mpiP: sample deviation (N − 1) ÷ mean. \
           In a collective operation the rank with the most time waited, and the rank with the least was late.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Time],
    entries: "communicators",
    lacks: &[],
    empty: "the profile has no calls",
    parts: &[Part { name: "imbalance", headings: || column::headings(COLUMNS) }],
    ask,
};

/// Communicators that a table shows unless told otherwise.
const SHOWN: usize = 10;
/// Operations of each.
const OPERATIONS_SHOWN: usize = 5;
/// Part of the communicator's Imb.Time that an operation must have to be shown.
const MATTERS: f64 = 0.01;

struct Row {
    comm: i64,
    /// `None`: everything on the communicator.
    op: Option<i64>,
    spread: Spread,
    /// Others of its family, which are left out.
    alike: usize,
}

type Of = Column<Row>;

const COLUMNS: &[Of] = &[
    Of::record("comm", Unit::Communicator, "the communicator's name", |context, row| {
        Value::text(context.comm(row.comm))
    }),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |context, row| {
        Value::maybe(context.label(row.comm))
    }),
    Of::shown("communicator", Unit::Communicator, |context, row| match row.op {
        Some(_) => Value::Unknown,
        None if row.alike > 0 => {
            let title = Value::titled(context.comm(row.comm), context.label(row.comm));
            Value::owned(format!("{title} ({})", row.alike + 1))
        }
        None => Value::Communicator { name: context.comm(row.comm), label: context.label(row.comm) },
    })
    .style(Style::Blank),
    Of::new(
        "op",
        "operation",
        Unit::Operation,
        "the operation; unknown in the row of all operations",
        |context, row| Value::some(row.op, |op| Value::Operation(context.op(op))),
    )
    .style(Style::Blank),
    Of::new("ranks", "ranks", Unit::Count, "number of ranks that called", |_, row| {
        Value::Number(row.spread.ranks.into())
    })
    .optional(5),
    Of::record("time_s", Unit::Seconds, "MPI time over the ranks", |_, row| Value::Time(row.spread.sum_ns)),
    Of::new("max_s", "max", Unit::Seconds, "of the rank with the most time", |_, row| Value::Time(row.spread.max_ns)),
    Of::new("max_rank", "rank", Unit::Rank, "that rank; the lowest of equals", |_, row| {
        Value::Number(row.spread.max_rank)
    }),
    Of::record("mean_s", Unit::Seconds, "the mean of the ranks that called", |_, row| Value::Mean {
        sum_ns: row.spread.sum_ns,
        count: row.spread.ranks.into(),
    }),
    Of::new("min_s", "min", Unit::Seconds, "of the rank with the least time", |_, row| Value::Time(row.spread.min_ns)),
    Of::new("min_rank", "rank", Unit::Rank, "that rank; the lowest of equals", |_, row| {
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
        "(`max_s` − `mean_s`) ÷ `max_s` × N ÷ (N − 1); unknown for one rank",
        |_, row| Value::some(row.spread.imb(), |imb| Value::Share { part: imb, whole: 1.0 }),
    ),
    Of::new("cov", "COV", Unit::Ratio, "sample deviation ÷ `mean_s`; unknown for one rank", |_, row| {
        Value::some(row.spread.cov(), Value::Ratio)
    })
    .optional(4),
];

const LEGEND: &str = "Over the N ranks that called. Imb.Time = max − mean; Imb.% = (max − mean) ÷ max × N ÷ (N − 1), as CrayPat; COV = sample \
     deviation ÷ mean, as mpiP. In a collective operation the rank with the most time waited, and the rank with the least was late.";

const FOLDED: &str = "(4): the most uneven of 4 similar communicators; --no-families lists each.";

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut found = imbalance(&context.profile, &context.catalog, &context.filter)?;
    if question.sort == Some(SortKey::Time) {
        found.sort_by_key(|on_comm| Reverse(on_comm.whole.sum_ns));
    }
    let families = if question.folds() { Families::of(&context.catalog) } else { Families::default() };
    let order: HashMap<i64, usize> = found.iter().enumerate().map(|(at, on_comm)| (on_comm.comm, at)).collect();
    // They come as they are to be listed: the first one of a family is the one to look at.
    let mut found = alike(found, &families, |on_comm| (on_comm.comm, ()));
    found.sort_by_key(|(first, _)| order.get(&first.comm).copied());
    let mut document = context.document(VIEW.entries, found.is_empty(), VIEW.empty);
    document.hidden = shorten(&mut found, question.top_of_table(SHOWN));
    let is_table = question.is_table();
    let are_folded = found.iter().any(|(_, others)| !others.is_empty());
    let rows = found.into_iter().flat_map(|(first, others)| rows(first, others.len(), is_table)).collect();
    let legend = [LEGEND].into_iter().chain(are_folded.then_some(FOLDED)).map(str::to_owned).collect();
    document.tables = vec![Table { legend, ..column::table("imbalance", COLUMNS, &context, rows) }];
    Ok(document)
}

/// Where people read them, the operations that matter: most communicators have some that are called once.
fn rows(on_comm: OnComm, alike: usize, is_table: bool) -> Vec<Row> {
    let OnComm { comm, whole, operations } = on_comm;
    let least_ns = if is_table { whole.imb_time_ns() as f64 * MATTERS } else { f64::MIN };
    let most = if is_table { OPERATIONS_SHOWN } else { usize::MAX };
    let parts = operations.into_iter().take(most).filter(|(_, spread)| spread.imb_time_ns() as f64 >= least_ns);
    let of_operation = |(op, spread)| Row { comm, op: Some(op), spread, alike: 0 };
    [Row { comm, op: None, spread: whole, alike }].into_iter().chain(parts.map(of_operation)).collect()
}
