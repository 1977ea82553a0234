//! The default view: for each communicator a line about it, and a table of its operations.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::communicator::{Communicators, OnCommunicator, creator};
use super::matters::LeftOut;
use super::on_layers::{self, OnLayers};
use super::waited::Waited;
use super::{
    Column, Context, Flag, Part, Question, View, advise, column, communicators, efficiency, in_flight, linkage,
};
use crate::document::{Audience, Document, Format, Section, Unit, Value};
use crate::error::Error;
use crate::query::catalog::{Communicator, NO_COMM, SEVERAL_COMMS};
use crate::query::involved::Involved;
use crate::query::operations::Operations;
use crate::query::sort::SortKey;
use crate::text::escape::visible;
use crate::text::units;

pub const VIEW: View = View {
    name: "operations",
    command: "",
    flag: Flag::Default,
    help: "Operations of each communicator",
    meaning: "for each communicator a table of its operations, by message size",
    note: "Its JSON also has `communicators` (as with `-u`) and, if the job did not finish, `stood` (as with `--in-flight`).",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[
        SortKey::Time,
        SortKey::Calls,
        SortKey::Bytes,
        SortKey::Comm,
        SortKey::Size,
        SortKey::Op,
        SortKey::Bucket,
        SortKey::TimeAscending,
        SortKey::CallsAscending,
        SortKey::BucketDescending,
    ],
    entries: "communicators",
    lacks: &[],
    empty: "the profile has no calls",
    parts: &[
        Part { name: "operations", headings: || column::headings(COLUMNS) },
        Part { name: "involved", headings: || column::headings(INVOLVED) },
        on_layers::OPERATIONS_PART,
    ],
    ask,
};

struct Row {
    comm: Rc<Communicator>,
    sums: Operations,
}

type Of = Column<Row>;

const COLUMNS: &[Of] = &[
    Of::record("comm", Unit::Communicator, "the communicator's name ([names](names.md))", |_, row| {
        Value::text(&row.comm.name)
    }),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |_, row| {
        Value::maybe(row.comm.label.as_deref())
    }),
    Of::record(
        "comm_size",
        Unit::Count,
        "its number of processes; for an intercommunicator of both groups",
        |_, row| Value::some(row.comm.size, |size| Value::Number(size as i64)),
    ),
    Of::record("creator", Unit::Text, "the function that created it", |_, row| {
        Value::maybe(row.comm.creator.as_deref())
    }),
    Of::new("op", "operation", Unit::Operation, "the operation", |context, row| {
        Value::Operation(context.op(row.sums.op))
    })
    .first(),
    Of::record("class", Unit::Text, "its kind", |context, row| Value::text(context.class(row.sums.op))),
    Of::record("bucket_lo", Unit::Bytes, "messages with more bytes than this", |context, row| {
        Value::Bytes(context.bucket(row.sums.bucket).map(|bucket| bucket.lo).unwrap_or_default())
    }),
    Of::record("bucket_hi", Unit::Bytes, "and at most this many; empty for the last bucket", |context, row| {
        Value::some(context.bucket(row.sums.bucket).and_then(|bucket| bucket.hi), Value::Bytes)
    }),
    Of::shown("bytes", Unit::Bucket, |context, row| {
        Value::some(context.sizes(row.sums.op, row.sums.bucket), |bucket| Value::Bucket {
            lo: bucket.lo,
            hi: bucket.hi,
        })
    })
    .first(),
    Of::new("ranks", "ranks", Unit::Count, "number of ranks that called", |_, row| {
        Value::Number(row.sums.ranks.into())
    })
    .optional(3),
    Of::new("calls", "calls", Unit::Count, "[calls](through.md#how-calls-are-added-up)", |_, row| {
        Value::Number(row.sums.calls)
    })
    .first(),
    Of::record("failed", Unit::Count, "calls that returned an error; unknown with `--site`", |context, row| {
        communicators::failed(context, row.sums.failed)
    }),
    Of::new("bytes_sent", "sent", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.sums.bytes_sent)).last(),
    Of::new("bytes_recv", "received", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.sums.bytes_recv)).last(),
    Of::new("time_s", "total", Unit::Seconds, "over all ranks", |_, row| Value::Time(row.sums.time_ns)).optional(2),
    Of::new("rank_max_s", "max", Unit::Seconds, "of the rank with the most time", |_, row| {
        Value::Time(row.sums.rank_max_ns)
    }),
    Of::new("rank_avg_s", "avg", Unit::Seconds, "the mean of the ranks that called", |_, row| Value::Mean {
        sum_ns: row.sums.time_ns,
        count: row.sums.ranks.into(),
    }),
    Of::new("rank_min_s", "min", Unit::Seconds, "of the rank with the least time", |_, row| {
        Value::Time(row.sums.rank_min_ns)
    }),
    Of::record("time_min_s", Unit::Seconds, "the shortest single call", |_, row| {
        Value::some(row.sums.time_min_ns, Value::Time)
    }),
    Of::record("time_max_s", Unit::Seconds, "the longest single call", |_, row| {
        Value::some(row.sums.time_max_ns, Value::Time)
    }),
];

const INVOLVED: &[Column<Involved>] = &[
    Column::record("comm", Unit::Communicator, "a communicator involved in calls of the row `*`", |context, row| {
        Value::text(context.comm(row.comm))
    }),
    Column::record("op", Unit::Operation, "the operation", |context, row| Value::Operation(context.op(row.op))),
    Column::record("calls", Unit::Count, "how often, over all ranks", |_, row| Value::Number(row.calls)),
];

const LEGEND: &str = "Times are per rank: max and min are the ranks with the most and the least time in an operation, avg \
     the mean of the ranks that called. A collective counts once per communicator; other calls, also on windows and files, once \
     per rank. Sizes are sums over the ranks.";

/// Said where there are families.
pub const FOLDED: &str = "Similar communicators share a line: --no-families lists each.";

/// How many communicators are named that took part in calls of the row `*`.
const NAMED_PARTS: usize = 8;

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let is_table = question.is_table();
    let in_flight = in_flight::unfinished(&context)?;
    let has_finished = in_flight.is_none();
    let mut found = Communicators::of(&context, question.sort, !is_table, !is_table)?;
    found.fold(&context, question, question.sort);
    let is_whole = question.is_table() && filters_nothing(&context);
    let stops = is_whole && question.top.is_none() && question.sort.is_none();
    let left_out = if stops { LeftOut::of(&context, &mut found) } else { LeftOut::default() };
    let hidden = found.shorten(question);
    let parts = took_part(&context, &found.involved);
    let waited = if is_table { Waited::of(&context, &found.list)? } else { Waited::default() };
    let sections = found.list.iter().map(|part| section(&context, part, &parts, &waited)).collect();
    let row = |comm: &Rc<Communicator>, sums: &Operations| Row { comm: Rc::clone(comm), sums: sums.clone() };
    let mut rows = Vec::new();
    for part in &found.list {
        let comm = Rc::new(part.comm.clone());
        rows.extend(part.rows.iter().map(|sums| row(&comm, sums)));
    }
    let is_empty = found.list.is_empty();
    let mut document = context.document(VIEW.entries, is_empty, VIEW.empty);
    document.hidden = hidden;
    document.left_out = left_out.sentence(&context);
    if is_whole {
        // What cannot be told is left out: the table is worth having.
        document.head.lines.extend(efficiency::line(&context).ok().flatten());
        // Where a job stands that did not finish is told below.
        if has_finished {
            document.head.lines.extend(advise::lines(&context, true).unwrap_or_default());
        }
    }
    let mut table = column::table("operations", COLUMNS, &context, rows);
    let are_folded = found.list.iter().any(|part| part.family.is_some());
    table.sections = sections;
    table.legend = vec![if are_folded { format!("{LEGEND} {FOLDED}") } else { LEGEND.to_owned() }];
    let mut communicators = communicators::table(&context, found.list);
    communicators.audience = Audience::JSON;
    let mut involved = column::table("involved", INVOLVED, &context, found.involved);
    involved.audience = Audience::JSON;
    document.tables = vec![communicators, table, involved];
    OnLayers::of(&context, question.sort)?.attach_operations(&mut document, question, &context, is_empty);
    document.tables.extend(in_flight);
    document.tables.extend(linkage::records(&context));
    Ok(document)
}

/// Whether all of the run is looked at.
fn filters_nothing(context: &Context) -> bool {
    context.filter.words.is_empty()
}

fn section(context: &Context, part: &OnCommunicator, took_part: &str, waited: &Waited) -> Section {
    let share = units::percent(part.total.mpi_ns as f64, context.mpi_ns);
    let failed = (part.total.failed > 0).then(|| {
        format!("{} failed: {}", units::count(part.total.failed as u64, "call"), failures(context, &part.rows))
    });
    let is_several = part.comm.id == SEVERAL_COMMS && !took_part.is_empty();
    Section {
        name: match &part.family {
            Some(family) => visible(&family.title).into_owned(),
            None => Value::titled(&part.comm.name, part.comm.label.as_deref()),
        },
        weight: format!("{}  {share} of MPI time", units::time(part.total.mpi_ns)),
        about: about(context, part),
        lines: is_several.then(|| took_part.to_owned()).into_iter().chain(waited.lines(context, part)).collect(),
        rows: part.rows.len(),
        after: None,
        warning: failed,
    }
}

/// Where a communicator comes from, who belongs to it, how much went through it.
fn about(context: &Context, part: &OnCommunicator) -> Vec<(String, String)> {
    let (comm, total) = (&part.comm, &part.total);
    let mut pieces = match comm.id {
        SEVERAL_COMMS => vec![("completion calls over requests of several communicators".to_owned(), String::new())],
        NO_COMM => vec![("calls that belong to no communicator".to_owned(), String::new())],
        _ => match &part.family {
            Some(family) => {
                vec![(visible(&family.names).into_owned(), String::new()), ("ranks ".to_owned(), ranks(comm))]
            }
            None => vec![(origin(comm), String::new()), members(comm)],
        },
    };
    let mut say = |text: String| pieces.push((text, String::new()));
    if let Some(spot) = communicators::birthplace(context, comm) {
        say(format!("made at {}", visible(&spot.sentence())));
    }
    if comm.freed {
        say("freed".to_owned());
    }
    if total.bytes_sent > 0 || total.bytes_recv > 0 {
        say(format!("{} sent", units::bytes(total.bytes_sent)));
        say(format!("{} received", units::bytes(total.bytes_recv)));
    }
    if part.involved_calls > 0 {
        say(format!("took part in {} of row *", units::count(part.involved_calls as u64, "call")));
    }
    if total.time_ns != total.mpi_ns {
        say("Init and Finalize are not part of MPI time".to_owned());
    }
    pieces
}

fn origin(comm: &Communicator) -> String {
    let creator = visible(creator(comm));
    match &comm.parent {
        Some(parent) => format!("{creator} of {}", visible(parent)),
        None => creator.into_owned(),
    }
}

fn ranks(comm: &Communicator) -> String {
    comm.ranks.as_deref().map(visible).unwrap_or_default().into_owned()
}

/// How many, and their ranks.
fn members(comm: &Communicator) -> (String, String) {
    let ranks = ranks(comm);
    let colon = if ranks.is_empty() { "" } else { ": " };
    match comm.size {
        Some(size) if comm.remote_size > 0 => {
            (format!("{}+{} ranks{colon}", size - comm.remote_size.min(size), comm.remote_size), ranks)
        }
        Some(size) => (format!("{}{colon}", units::count(size, "rank")), ranks),
        None => (String::new(), String::new()),
    }
}

/// Who took part in the calls of the row `*`.
fn took_part(context: &Context, involved: &[Involved]) -> String {
    let mut by_comm: BTreeMap<i64, i64> = BTreeMap::new();
    for part in involved {
        let calls = by_comm.entry(part.comm).or_default();
        *calls = calls.saturating_add(part.calls);
    }
    if by_comm.is_empty() {
        return String::new();
    }
    let mut parts: Vec<(i64, i64)> = by_comm.into_iter().collect();
    parts.sort_by_key(|(comm, calls)| (Reverse(*calls), *comm));
    let named = parts.iter().take(NAMED_PARTS).filter_map(|(comm, calls)| {
        let name = &context.communicator(*comm)?.name;
        Some(format!("{} in {calls}", visible(name)))
    });
    let rest = match parts.len().saturating_sub(NAMED_PARTS) {
        0 => String::new(),
        more => format!(", and {more} more communicators"),
    };
    format!("took part: {}{rest}", named.collect::<Vec<_>>().join(", "))
}

/// Which operations failed how often.
fn failures(context: &Context, rows: &[Operations]) -> String {
    let mut by_name: BTreeMap<&str, i64> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.failed > 0) {
        let name = context.op(row.op);
        let failed = by_name.entry(name.strip_prefix("MPI_").unwrap_or(name)).or_default();
        *failed = failed.saturating_add(row.failed);
    }
    let words: Vec<String> =
        by_name.into_iter().map(|(name, failed)| format!("{} ({failed})", visible(name))).collect();
    words.join(", ")
}
