//! In-flight calls: where every rank was of a job that hangs or did not finish, one line per call and communicator.

use std::rc::Rc;

use commsee::ranks::Ranks;

use super::context::shorten;
use super::{Column, Context, Flag, Part, Question, View, column, linkage};
use crate::document::{Audience, Document, Format, More, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::hosts::{compact, hosts};
use crate::query::in_flight::{Group, State, in_flight};
use crate::text::units;

pub const VIEW: View = View {
    name: "in-flight",
    command: "",
    flag: Flag::Switch { short: None, long: "in-flight" },
    help: "In-flight call of every rank, in a hanging or crashed job",
    meaning: "the in-flight call of every rank, in a job that hangs or did not reach `MPI_Finalize` ([recover](../howto/recover.md))",
    note: "One row for all ranks in the same call on the same communicator; a rank with several threads may be in several rows. If the job did not finish, the \
           default view and the summary of `through run` show the same table.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "groups",
    lacks: &["bytes", "time", "bucket", "phase"],
    empty: "no call is in flight: all ranks finished",
    parts: &[Part { name: "stood", headings: || column::headings(COLUMNS) }],
    ask,
};

type Of = Column<Group>;

const COLUMNS: &[Of] = &[
    Of::record("place", Unit::Text, "`call`; `program`: in no MPI call; `paused`: unknown, because `MPI_Pcontrol(0)` had paused counting; `finished`: in `MPI_Finalize` with all others; `missing`: left no shard", |_, row| {
        Value::text(match row.state {
            State::Call { .. } => "call",
            State::Program => "program",
            State::Unknown => "paused",
            State::Finished => "finished",
            State::Missing => "missing",
        })
    }),
    Of::record("op", Unit::Operation, "the call", |context, row| match row.state {
        State::Call { op, .. } => Value::some(context.operation(op), |operation| Value::Operation(&operation.name)),
        _ => Value::Unknown,
    }),
    Of::shown("where", Unit::Operation, |context, row| match row.state {
        State::Call { op, .. } => Value::Operation(context.op(op)),
        State::Program => Value::text("(in the program)"),
        State::Unknown => Value::text("(counting paused)"),
        State::Finished => Value::text("(finished)"),
        State::Missing => Value::text("(no shard)"),
    }),
    Of::new("comm", "communicator", Unit::Communicator, "its communicator: `*` for requests of several, `-` if there is none or it is unknown", |context, row| {
        match row.state {
            State::Call { comm, .. } => Value::some(context.communicator(comm), |comm| Value::Communicator {
                name: &comm.name,
                label: comm.label.as_deref(),
            }),
            _ => Value::Unknown,
        }
    })
    .style(Style::Blank),
    Of::shown("at", Unit::Text, |_, row| Value::maybe(row.spot.as_ref().map(|spot| spot.text.as_str())))
        .style(Style::Blank)
        .optional(1)
        .when(|_, rows| rows.iter().any(|row| row.spot.is_some())),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |context, row| match row.state {
        State::Call { comm, .. } => Value::maybe(context.label(comm)),
        _ => Value::Unknown,
    }),
    Of::new("ranks", "ranks", Unit::Ranks, "the ranks in it", |_, row| Value::owned(row.ranks.to_string())),
    Of::shown("hosts", Unit::Text, |context, row| Value::owned(short(context, &row.ranks)))
        .when(|context, rows| rows.iter().any(|row| !hosts(&context.catalog, &row.ranks).is_empty())),
    Of::new("threads", "threads", Unit::Count, "number of threads", |_, row| {
        Value::Number(row.threads as i64)
    })
    .optional(1)
    .when(|_, rows| rows.iter().any(|row| row.threads > row.ranks.count())),
    Of::record("since_min_s", Unit::Seconds, "when the first one entered it, in seconds after the end of `MPI_Init`", |_, row| {
        Value::some(row.since_ns, |(first, _)| Value::Time(first))
    }),
    Of::record("since_max_s", Unit::Seconds, "when the last one entered it", |_, row| {
        Value::some(row.since_ns, |(_, last)| Value::Time(last))
    }),
    // Flush right, as the times that it is made of.
    Of::shown("since", Unit::Seconds, |_, row| Value::some(row.since_ns, since)).style(Style::Blank),
    Of::new("for_max_s", "for", Unit::Seconds, "the longest known time of one of them in it: until the profile was made if its process still ran (unknown on other hosts), else until the last entry of its shard", |_, row| {
        Value::some(row.for_ns, Value::Time)
    })
    .style(Style::Blank)
    // Of ranks on other hosts alone nobody can tell here.
    .when(|context, rows| {
        context.catalog.processes.iter().any(|process| process.state == "running")
            && rows.iter().any(|row| row.for_ns.is_some())
    }),
    Of::new("absent", "not in it", Unit::Ranks, "for a collective call (class `collective`), members of the communicator that are not in it", |_, row| {
        Value::owned(row.absent.to_string())
    })
    .when(|_, rows| rows.iter().any(|row| !row.absent.is_empty())),
    Of::record("site", Unit::Text, "the line of the program that made the call: `halo.f90:57`", |_, row| {
        Value::maybe(row.spot.as_ref().map(|spot| spot.text.as_str()))
    }),
    Of::record("function", Unit::Text, "the function of that line", |_, row| {
        Value::maybe(row.spot.as_ref().and_then(|spot| spot.function.as_deref()))
    }),
    Of::record("hosts", Unit::Text, "hosts of these ranks, if the job had several: `node[1-3,7]`", |context, row| {
        Value::owned(compact(&hosts(&context.catalog, &row.ranks)))
    }),
];

/// Longer lists of hosts are counted: the other columns need the room.
const HOSTS_WIDTH: usize = 18;

const LEGEND: &str = "Since: when the first and the last rank entered the call or, (in the program), left their \
     last MPI call. Not in it: members of the communicator that are missing from this collective call. Other tables, except \
     through show --efficiency, count only calls that have returned.";

/// Beside the default view no more are listed.
const SHOWN_ABOVE: usize = 12;

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut rows = in_flight(&context.profile, &context.catalog, &context.filter)?;
    let mut document = context.document(VIEW.entries, rows.is_empty(), VIEW.empty);
    document.hidden = shorten(&mut rows, question.top);
    let legend = vec![LEGEND.to_owned()];
    let after = lines(&context, &rows, usize::MAX);
    document.tables = vec![Table { legend, after, ..column::table("stood", COLUMNS, &context, rows) }];
    document.tables.extend(linkage::records(&context));
    Ok(document)
}

/// For the default view of a job that did not finish.
pub fn unfinished(context: &Rc<Context>) -> Result<Option<Table>, Error> {
    let overview = &context.overview;
    if overview.unfinished.is_empty() && overview.running.is_empty() {
        return Ok(None);
    }
    let rows = in_flight(&context.profile, &context.catalog, &context.filter)?;
    let after = lines(context, &rows, SHOWN_ABOVE);
    Ok((!rows.is_empty()).then(|| Table {
        after,
        title: Some("in-flight calls"),
        is_above: true,
        audience: Audience::BESIDE,
        more: Some(More { most: SHOWN_ABOVE, one: "more group", hint: ": through --in-flight" }),
        ..column::table("stood", COLUMNS, context, rows)
    }))
}

/// `ranks 0-2,4-7 in MPI_Allreduce at solver.f90:212 in solve`, where lines are known.
fn lines(context: &Context, rows: &[Group], most: usize) -> Vec<String> {
    let line = |row: &Group| {
        let (State::Call { op, .. }, Some(spot)) = (row.state, &row.spot) else { return None };
        let ranks = if row.ranks.count() == 1 { "rank" } else { "ranks" };
        Some(format!("{ranks} {} in {} at {}", row.ranks, context.op(op), spot.sentence()))
    };
    rows.iter().take(most).filter_map(line).collect()
}

fn since((first, last): (i64, i64)) -> Value<'static> {
    match (units::precise_time(first), units::precise_time(last)) {
        (first, last) if first == last => Value::owned(first),
        (first, last) => Value::owned(format!("{first} to {last}")),
    }
}

fn short(context: &Context, ranks: &Ranks) -> String {
    let on = hosts(&context.catalog, ranks);
    match compact(&on) {
        list if list.len() <= HOSTS_WIDTH => list,
        _ => units::count(on.len() as u64, "host"),
    }
}
