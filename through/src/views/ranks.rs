//! Run time and MPI time per rank.

use std::cmp::Reverse;
use std::rc::Rc;

use super::context::shorten;
use super::{Column, Context, Flag, Part, Question, View, column, linkage};
use crate::document::{Document, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::ranks::{Rank, ranks};
use crate::query::sort::SortKey;

pub const VIEW: View = View {
    name: "ranks",
    command: "",
    flag: Flag::Switch { short: Some('e'), long: "ranks" },
    help: "Run time and MPI time per rank",
    meaning: "run time and MPI time of each rank",
    note: "",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Time, SortKey::Rank],
    entries: "ranks",
    lacks: &[],
    empty: "the profile has no calls",
    parts: &[Part { name: "ranks", headings: || column::headings(COLUMNS) }],
    ask,
};

type Of = Column<Rank>;

const COLUMNS: &[Of] = &[
    Of::new("rank", "rank", Unit::Rank, "the rank in `MPI_COMM_WORLD`", |_, row| Value::Number(row.process.rank)),
    Of::new("host", "host", Unit::Text, "where it ran", |_, row| Value::text(&row.process.host)),
    Of::record("pid", Unit::Rank, "its process there", |_, row| Value::Number(row.process.pid)),
    Of::record("state", Unit::Text, "`finished`, `running`, or that it ended before `MPI_Finalize`", |_, row| {
        Value::text(&row.process.state)
    }),
    Of::new(
        "wall_s",
        "run time",
        Unit::Seconds,
        "from the end of `MPI_Init` to the start of `MPI_Finalize`",
        |_, row| Value::Time(row.process.wall_ns),
    )
    .style(Style::Precise),
    Of::new("mpi_s", "MPI time", Unit::Seconds, "the part of it inside MPI calls", |_, row| {
        Value::Time(row.process.mpi_ns)
    })
    .style(Style::Precise),
    Of::shown("no processor", Unit::Seconds, |_, row| {
        Value::some(row.process.scheduled, |(_, ready_ns)| Value::Time(ready_ns))
    })
    .style(Style::Precise)
    .when(|context, _| has_schedule(context)),
    Of::new("share", "MPI share", Unit::Share, "MPI time as a share of the run time", |_, row| Value::Share {
        part: row.process.mpi_ns as f64,
        whole: row.process.wall_ns as f64,
    }),
    Of::new("selected_s", "shown only", Unit::Seconds, "MPI time of the selected calls", |_, row| {
        Value::Time(row.selected_ns)
    })
    .style(Style::Precise)
    .when(|context, _| context.filter.selects_cells()),
    Of::record(
        "ran_s",
        Unit::Seconds,
        "the part of the run time in which its main thread ran on a processor",
        |_, row| Value::some(row.process.scheduled, |(ran_ns, _)| Value::Time(ran_ns)),
    ),
    Of::record("ready_s", Unit::Seconds, "the part in which it was ready to run and had no processor", |_, row| {
        Value::some(row.process.scheduled, |(_, ready_ns)| Value::Time(ready_ns))
    }),
    Of::new("cpus", "processors", Unit::Text, "processors that it was bound to when `MPI_Init` returned", |_, row| {
        Value::maybe(row.process.cpus.as_deref())
    })
    .when(|context, _| is_bound(context)),
    Of::new("numa", "NUMA", Unit::Text, "NUMA nodes that these belong to", |_, row| {
        Value::maybe(row.process.numa.as_deref())
    })
    .when(|context, _| has_nodes(context)),
    Of::shown("", Unit::Bar, |_, row| Value::Bar { part: row.process.mpi_ns, whole: row.process.wall_ns }),
];

/// The kernel said it of some ranks.
fn has_schedule(context: &Context) -> bool {
    context.catalog.processes.iter().any(|process| process.scheduled.is_some())
}

/// Ranks may run on different processors.
fn is_bound(context: &Context) -> bool {
    context.catalog.processes.iter().any(|process| process.cpus != context.catalog.processes[0].cpus)
}

fn has_nodes(context: &Context) -> bool {
    context.catalog.processes.iter().any(|process| process.numa != context.catalog.processes[0].numa)
}

const LEGEND: &str = "Run time is from the end of MPI_Init to the start of MPI_Finalize; MPI time is the part of it inside \
     MPI calls.";

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut rows = ranks(&context.profile, &context.catalog, &context.filter)?;
    if question.sort == Some(SortKey::Time) {
        rows.sort_by_key(|rank| Reverse(rank.selected_ns));
    }
    let mut document = context.document(VIEW.entries, rows.is_empty(), VIEW.empty);
    document.hidden = shorten(&mut rows, question.top);
    let legend = vec![LEGEND.to_owned()];
    document.tables = vec![Table { legend, ..column::table("ranks", COLUMNS, &context, rows) }];
    document.tables.extend(linkage::records(&context));
    Ok(document)
}
