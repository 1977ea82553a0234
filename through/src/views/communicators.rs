//! Time per communicator, one line each.

use std::rc::Rc;

use super::communicator::{Communicators, OnCommunicator, creator};
use super::on_layers::{self, OnLayers};
use super::{Column, Context, Flag, Part, Question, View, column, linkage};
use crate::document::{Document, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::catalog::Communicator;
use crate::query::communicators::Spread;
use crate::query::sites::Spot;
use crate::query::sort::SortKey;

pub const VIEW: View = View {
    name: "communicators",
    command: "",
    flag: Flag::Switch { short: Some('u'), long: "communicators" },
    help: "Time per communicator, one line each",
    meaning: "the time in each communicator, one line each",
    note: "",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[
        SortKey::Time,
        SortKey::Calls,
        SortKey::Bytes,
        SortKey::Comm,
        SortKey::Size,
        SortKey::TimeAscending,
        SortKey::CallsAscending,
    ],
    entries: "communicators",
    lacks: &[],
    empty: "the profile has no calls",
    parts: &[Part { name: "communicators", headings: || column::headings(COLUMNS) }, on_layers::COMMUNICATORS_PART],
    ask,
};

/// The same as a command.
pub const COMMAND: View = View { name: "communicators of a run", command: "comms", flag: Flag::Default, ..VIEW };

type Of = Column<OnCommunicator>;

const COLUMNS: &[Of] = &[
    Of::new("comm", "communicator", Unit::Communicator, "the communicator's name", |_, row| Value::Communicator {
        name: &row.comm.name,
        label: row.comm.label.as_deref(),
    }),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |_, row| {
        Value::maybe(row.comm.label.as_deref())
    }),
    Of::record("creator", Unit::Text, "the function that created it", |_, row| {
        Value::maybe(row.comm.creator.as_deref())
    }),
    Of::shown("made by", Unit::Text, |_, row| Value::text(creator(&row.comm))),
    Of::new(
        "size",
        "size",
        Unit::Count,
        "its number of processes; for an intercommunicator of both groups",
        |_, row| Value::some(row.comm.size, |size| Value::Number(size as i64)),
    )
    .style(Style::Blank),
    Of::record("remote_size", Unit::Count, "processes in the remote group of an intercommunicator", |_, row| {
        Value::Number(row.comm.remote_size as i64)
    }),
    Of::record("parent", Unit::Communicator, "its parent communicator", |_, row| {
        Value::maybe(row.comm.parent.as_deref())
    }),
    Of::record("root_rank", Unit::Rank, "the world rank of its rank 0", |_, row| {
        Value::some(row.comm.root_rank, Value::Number)
    }),
    Of::record("freed", Unit::YesNo, "whether it was freed", |_, row| Value::Flag(row.comm.freed)),
    Of::new("ranks", "ranks", Unit::Ranks, "world ranks of its members", |_, row| {
        Value::maybe(row.comm.ranks.as_deref())
    })
    .style(Style::Blank)
    .optional(2)
    .widest(24),
    Of::new("calls", "calls", Unit::Count, "sum over its operations, like the next four columns", |_, row| {
        Value::Number(row.total.calls)
    })
    .optional(5),
    Of::record("failed", Unit::Count, "calls that returned an error; unknown with `--site`", |context, row| {
        failed(context, row.total.failed)
    }),
    Of::new("bytes_sent", "sent", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.total.bytes_sent))
        .optional(4)
        .last(),
    Of::new("bytes_recv", "received", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.total.bytes_recv))
        .optional(4)
        .last(),
    Of::record("time_s", Unit::Seconds, "of all calls, over all ranks", |_, row| Value::Time(row.total.time_ns)),
    Of::new("mpi_s", "time", Unit::Seconds, "MPI time: without `MPI_Init` and `MPI_Finalize`", |_, row| {
        Value::Time(row.total.mpi_ns)
    }),
    Of::new("share", "share", Unit::Share, "`mpi_s` as a share of the MPI time", |context, row| Value::Share {
        part: row.total.mpi_ns as f64,
        whole: context.mpi_ns,
    }),
    Of::record(
        "ranks_calling",
        Unit::Count,
        "ranks that called anything on it; this and the next columns are unknown if the profile has too little detail for the filters",
        |_, row| Value::some(row.spread, |spread| Value::Number(spread.ranks.into())),
    ),
    Of::new("rank_max_s", "max", Unit::Seconds, "`mpi_s` of the rank with the most time", |_, row| most(row.spread)),
    Of::new("rank_avg_s", "avg", Unit::Seconds, "the mean of the ranks that called", |_, row| mean(row.spread)),
    Of::new("rank_min_s", "min", Unit::Seconds, "of the rank with the least time", |_, row| least(row.spread))
        .optional(3),
    Of::record("involved_calls", Unit::Count, "calls of the row `*` that involved it", |_, row| {
        Value::Number(row.involved_calls)
    }),
    Of::record("made_at", Unit::Text, "the line of the program that created it: `grid.c:88`", |context, row| {
        Value::maybe(birthplace(context, &row.comm).map(|spot| spot.text.as_str()))
    }),
    Of::record("made_in", Unit::Text, "the function of that line", |context, row| {
        Value::maybe(birthplace(context, &row.comm).and_then(|spot| spot.function.as_deref()))
    }),
    Of::shown("made at", Unit::Text, |context, row| {
        Value::some(birthplace(context, &row.comm), |spot| Value::text(&spot.text))
    })
    .style(Style::Blank)
    .optional(1)
    .when(|context, rows| rows.iter().any(|row| birthplace(context, &row.comm).is_some())),
];

const LEGEND: &str = "Time is the sum over the ranks without MPI_Init and MPI_Finalize, and its share that of the MPI time; \
     max, avg and min are over the ranks that called.";

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut found = Communicators::of(&context, question.sort, true, !question.is_table())?;
    found.fold(&context, question, question.sort);
    let hidden = found.shorten(question);
    let is_empty = found.list.is_empty();
    let mut document = context.document(VIEW.entries, is_empty, VIEW.empty);
    document.hidden = hidden;
    let special = found.list.iter().filter(|part| part.comm.is_special()).map(|part| special_row(&part.comm.name));
    let folded = found.list.iter().any(|part| part.family.is_some()).then_some(super::operations::FOLDED);
    let legend = [LEGEND].into_iter().chain(folded).chain(special).map(str::to_owned).collect();
    document.tables = vec![Table { legend, ..table(&context, found.list) }];
    OnLayers::of(&context, question.sort)?.attach_communicators(&mut document, question, &context, is_empty);
    document.tables.extend(linkage::records(&context));
    Ok(document)
}

pub fn table(context: &Rc<Context>, rows: Vec<OnCommunicator>) -> Table {
    column::table("communicators", COLUMNS, context, rows)
}

/// Where a communicator was made.
pub fn birthplace<'a>(context: &'a Context, comm: &Communicator) -> Option<&'a Spot> {
    context.catalog.sites.spot(comm.site?).map(|spot| &**spot)
}

fn special_row(name: &str) -> &'static str {
    match name {
        "*" => "*: completion calls over requests of several communicators.",
        _ => "-: calls that belong to no communicator.",
    }
}

/// Sites do not count failed calls.
pub fn failed(context: &Context, failed: i64) -> Value<'static> {
    if context.filter.sites.is_some() { Value::Unknown } else { Value::Number(failed) }
}

/// How a time spreads over the ranks, where the profile knows it.
pub fn most(spread: Option<Spread>) -> Value<'static> {
    Value::some(spread, |spread| Value::Time(spread.rank_max_ns))
}

pub fn mean(spread: Option<Spread>) -> Value<'static> {
    Value::some(spread, |spread| Value::Mean { sum_ns: spread.time_ns, count: spread.ranks.into() })
}

pub fn least(spread: Option<Spread>) -> Value<'static> {
    Value::some(spread, |spread| Value::Time(spread.rank_min_ns))
}
