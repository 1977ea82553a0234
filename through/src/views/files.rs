//! What was done with the files that the program opened, one line each.

use std::cmp::Reverse;
use std::rc::Rc;

use commsee::shard::MOST_FILES;

use super::context::{both, shorten};
use super::{Column, Context, Flag, Part, Question, View, column, linkage, nothing};
use crate::document::{Document, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::files::{FileSum, files};
use crate::query::sort::SortKey;

pub const VIEW: View = View {
    name: "files",
    command: "",
    flag: Flag::Switch { short: None, long: "files" },
    help: "Files: calls, bytes, bandwidth and access size",
    meaning: "the accesses to each file that the program opened with `MPI_File_open`, by communicator",
    note: "The time of calls that complete nonblocking accesses is in `--completed`, not here.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Time, SortKey::Calls, SortKey::Bytes, SortKey::Size, SortKey::Comm],
    entries: "files",
    lacks: &["time", "site"],
    empty: "no files were opened by MPI_File_open",
    parts: &[Part { name: "files", headings: || column::headings(COLUMNS) }],
    ask,
};

type Of = Column<FileSum>;

const COLUMNS: &[Of] = &[
    Of::new(
        "file",
        "file",
        Unit::Text,
        "its name (with `COMMSEE_FILES=path`, the path); unknown for files beyond the first 4096 names of a process",
        |_, row| Value::maybe(row.name.as_deref()),
    ),
    Of::record("id", Unit::Count, "its number in the profile, to tell apart files with the same name", |_, row| {
        Value::some(row.file, Value::Number)
    }),
    Of::new(
        "comm",
        "comm",
        Unit::Communicator,
        "the communicator that opened it; `-` for `MPI_File_delete`",
        |context, row| Value::text(context.comm(row.comm)),
    ),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |context, row| {
        Value::maybe(context.label(row.comm))
    }),
    Of::new("ranks", "ranks", Unit::Count, "ranks that opened it", |_, row| count(row.ranks)).optional(5),
    Of::new("opens", "opens", Unit::Count, "number of opens, over all ranks", |_, row| count(row.opens)).optional(7),
    Of::new("views_set", "views", Unit::Count, "number of file views set, over all ranks", |_, row| count(row.views))
        .optional(8),
    Of::new("calls", "calls", Unit::Count, "calls on it, over all ranks", |_, row| Value::Number(row.calls)),
    Of::new(
        "collective_share",
        "coll.",
        Unit::Share,
        "share of collective calls",
        |_, row| Value::Share { part: row.collective_calls as f64, whole: row.calls as f64 },
    )
    .optional(3),
    Of::new("bytes_read", "read", Unit::Bytes, "bytes read", |_, row| Value::Bytes(row.bytes_read))
        .style(Style::Zero),
    Of::new("bytes_written", "written", Unit::Bytes, "bytes written", |_, row| {
        Value::Bytes(row.bytes_written)
    })
    .style(Style::Zero),
    Of::new("time_s", "time", Unit::Seconds, "time in these calls, over all ranks", |_, row| Value::Time(row.time_ns)),
    Of::new(
        "bytes_per_s_of_a_rank",
        "rate a rank",
        Unit::Rate,
        "bytes of blocking and split reads and writes ÷ time in them: the rate of one rank inside these calls; unknown without any",
        |_, row| Value::some(row.timed.rate(), Value::Rate),
    )
    .optional(4),
    Of::new(
        "bytes_per_s_of_all",
        "rate of all",
        Unit::Rate,
        "sum of these rates over the ranks, as if all were in the calls at the same time; unknown in a profile with less detail",
        |_, row| Value::some(row.sum_of_ranks, Value::Rate),
    )
    .optional(2),
    Of::record("accesses", Unit::Count, "successful reads and writes among the calls", |_, row| {
        Value::Number(row.accesses)
    }),
    Of::new("access_bytes", "an access", Unit::Bytes, "bytes ÷ `accesses`: the typical size of one", |_, row| {
        Value::some(row.access_bytes(), Value::Bytes)
    })
    .optional(1),
];

fn count(count: u64) -> Value<'static> {
    Value::Number(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Files that a table shows unless told otherwise: some programs open one for each rank and step.
const USUAL: usize = 20;

const LEGEND: [&str; 2] = [
    "coll.: share of collective calls.",
    "rate: bytes per second of a rank while it was in blocking and split reads and writes, and the sum of that over all ranks. The time of \
     nonblocking accesses is that of starting them.",
];

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut rows = files(&context.profile, &context.catalog, &context.filter)?;
    order(&mut rows, question.sort, &context);
    let mut document = context.document(VIEW.entries, rows.is_empty(), VIEW.empty);
    if context.catalog.is_of_mpisee() {
        document.reasons = nothing::not_of_mpisee(&context, "of files");
    }
    let mut legend = LEGEND.map(str::to_owned).to_vec();
    if rows.iter().any(|row| row.file.is_none()) {
        legend.push(format!(
            "Without a name: files beyond the first {MOST_FILES} names of a process, and files opened before commsee saw them."
        ));
    }
    document.hidden = shorten(&mut rows, question.top_of_table(USUAL));
    document.tables = vec![Table { legend, ..column::table("files", COLUMNS, &context, rows) }];
    document.tables.extend(linkage::records(&context));
    Ok(document)
}

/// Stable: what took most time stays first.
fn order(rows: &mut [FileSum], sort: Option<SortKey>, context: &Context) {
    match sort {
        Some(SortKey::Calls) => rows.sort_by_key(|row| Reverse(row.calls)),
        Some(SortKey::Bytes) => rows.sort_by_key(|row| Reverse(both(row.bytes_read, row.bytes_written))),
        Some(SortKey::Comm) => {
            rows.sort_by_cached_key(|row| context.communicator(row.comm).map(|comm| comm.name_key()))
        }
        Some(SortKey::Size) => {
            rows.sort_by_key(|row| Reverse(context.communicator(row.comm).and_then(|comm| comm.size)))
        }
        _ => {}
    }
}
