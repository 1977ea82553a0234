//! What was done in each phase, one line each.

use std::cmp::Reverse;
use std::rc::Rc;

use super::communicators::{failed, least, mean, most};
use super::context::{both, shorten};
use super::{Column, Context, Flag, Part, Question, View, column, linkage};
use crate::document::{Document, Format, Table, Unit, Value};
use crate::error::Error;
use crate::query::phases::{Phase, phases};
use crate::query::sort::SortKey;

pub const VIEW: View = View {
    name: "phases",
    command: "",
    flag: Flag::Switch { short: None, long: "phases" },
    help: "Calls, sizes and time per phase (named by MPI_Pcontrol)",
    meaning: "calls, sizes and time in each phase of the program ([phases](../howto/phases.md))",
    note: "",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Time, SortKey::Calls, SortKey::Bytes],
    entries: "phases",
    lacks: &[],
    empty: "the profile has no calls",
    parts: &[Part { name: "phases", headings: || column::headings(COLUMNS) }],
    ask,
};

type Of = Column<Phase>;

const COLUMNS: &[Of] = &[
    Of::record("phase", Unit::Text, "its name; empty outside any phase", |context, row| {
        Value::text(context.phase(row.phase))
    }),
    Of::shown("phase", Unit::Text, |context, row| Value::text(title(context, row.phase))).first(),
    Of::new("calls", "calls", Unit::Count, "[calls](through.md#how-calls-are-added-up)", |_, row| {
        Value::Number(row.calls)
    }),
    Of::record("failed", Unit::Count, "calls that returned an error; unknown with `--site`", |context, row| {
        failed(context, row.failed)
    }),
    Of::new("bytes_sent", "sent", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.bytes_sent)).last(),
    Of::new("bytes_recv", "received", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.bytes_recv)).last(),
    Of::record("time_s", Unit::Seconds, "of all calls, over all ranks", |_, row| Value::Time(row.time_ns)),
    Of::new("mpi_s", "time", Unit::Seconds, "its MPI time", |_, row| Value::Time(row.mpi_ns)),
    Of::new("share", "share", Unit::Share, "`mpi_s` as a share of the MPI time", |context, row| Value::Share {
        part: row.mpi_ns as f64,
        whole: context.mpi_ns,
    }),
    Of::new(
        "ranks_calling",
        "ranks",
        Unit::Count,
        "ranks that called anything in it; this and the next columns are unknown in a profile with less detail",
        |_, row| Value::some(row.spread, |spread| Value::Number(spread.ranks.into())),
    )
    .optional(3)
    .first(),
    Of::new("rank_max_s", "max", Unit::Seconds, "`mpi_s` of the rank with the most time", |_, row| most(row.spread)),
    Of::new("rank_avg_s", "avg", Unit::Seconds, "the mean of the ranks that called", |_, row| mean(row.spread)),
    Of::new("rank_min_s", "min", Unit::Seconds, "of the rank with the least time", |_, row| least(row.spread))
        .optional(2),
];

const LEGEND: &str = "Phases are listed in the order in which they began. Time is the sum over the ranks without MPI_Init and \
     MPI_Finalize, and its share that of the MPI time; max, avg and min are over the ranks that called. A nonblocking \
     receive belongs to the phase in which it was posted.";

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut rows = phases(&context.profile, &context.catalog, &context.filter)?;
    match question.sort {
        Some(SortKey::Time) => rows.sort_by_key(|phase| Reverse(phase.mpi_ns)),
        Some(SortKey::Calls) => rows.sort_by_key(|phase| Reverse(phase.calls)),
        Some(SortKey::Bytes) => rows.sort_by_key(|phase| Reverse(both(phase.bytes_sent, phase.bytes_recv))),
        _ => {}
    }
    let mut document = context.document(VIEW.entries, rows.is_empty(), VIEW.empty);
    document.hidden = shorten(&mut rows, question.top);
    let legend = vec![LEGEND.to_owned()];
    document.tables = vec![Table { legend, ..column::table("phases", COLUMNS, &context, rows) }];
    document.tables.extend(linkage::records(&context));
    Ok(document)
}

/// A phase's name; no phase has one with parentheses.
pub fn title(context: &Context, number: i64) -> &str {
    match context.phase(number) {
        "" => "(none)",
        name => name,
    }
}
