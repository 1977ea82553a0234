//! What is printed on standard error behind a job: the heaviest communicators, and of a job that did not finish its in-flight calls.

use std::rc::Rc;

use super::communicator::{Communicators, OnCommunicator};
use super::head::crowded;
use super::{Column, Context, Flag, Part, Question, View, advise, column, efficiency, in_flight};
use crate::document::{Document, Format, Line, More, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::operations::Operations;
use crate::text::units;

pub const VIEW: View = View {
    name: "summary",
    command: "run",
    flag: Flag::Default,
    help: "The summary after a job",
    meaning: "the summary of `through run`",
    note: "",
    formats: &[Format::Summary],
    sorts: &[],
    entries: "communicators",
    lacks: &[],
    empty: "the profile has no calls",
    parts: &[Part { name: "summary", headings: || column::headings(COLUMNS) }],
    ask,
};

type Of = Column<OnCommunicator>;

const COLUMNS: &[Of] = &[
    Of::shown("communicator", Unit::Communicator, |_, row| Value::Communicator {
        name: &row.comm.name,
        label: row.comm.label.as_deref(),
    }),
    Of::shown("size", Unit::Count, |_, row| Value::some(row.comm.size, |size| Value::Number(size as i64)))
        .style(Style::Blank),
    Of::shown("time", Unit::Seconds, |_, row| Value::Time(row.total.mpi_ns)),
    Of::shown("share", Unit::Share, |context, row| Value::Share {
        part: row.total.mpi_ns as f64,
        whole: context.mpi_ns,
    }),
    Of::shown("heaviest operation", Unit::Text, |context, row| {
        Value::some(heaviest(context, row), |heaviest| {
            let op = context.op(heaviest.op);
            let sizes =
                context.sizes(heaviest.op, heaviest.bucket).map(|it| format!(" {}", units::bucket(it.lo, it.hi)));
            Value::owned(format!("{}{}", op.strip_prefix("MPI_").unwrap_or(op), sizes.unwrap_or_default()))
        })
    })
    .style(Style::Blank),
    Of::shown("its time", Unit::Seconds, |context, row| {
        Value::some(heaviest(context, row), |heaviest| Value::Time(heaviest.time_ns))
    })
    .style(Style::Blank),
];

const COMMUNICATORS: usize = 7;
/// Where a job did not finish, its in-flight calls have the room of communicators.
const CALLS: usize = 4;

fn heaviest<'a>(context: &Context, row: &'a OnCommunicator) -> Option<&'a Operations> {
    let in_span = row.rows.iter().filter(|row| !context.catalog.is_outside_span(row.op));
    in_span.max_by_key(|row| row.time_ns)
}

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut found = Communicators::of(&context, None, false, false)?;
    found.fold(&context, question, None);
    found.list.retain(|part| !part.comm.is_special());
    let mut document = context.document(VIEW.entries, false, VIEW.empty);
    // Whoever ran the job tells the rest.
    document.head.lines.retain(|line| matches!(line.name, "layers" | "unlinked"));
    let crowded = crowded(&context.catalog).map(|text| Line { name: "note", text, paint: None });
    let mut room = COMMUNICATORS - usize::from(crowded.is_some()) - document.head.lines.len();
    let in_flight = in_flight::unfinished(&context)?;
    if in_flight.is_none() {
        let spent = efficiency::line(&context).ok().flatten();
        document.head.lines.extend(spent.into_iter().chain(advise::lines(&context, false).unwrap_or_default()));
    }
    if let Some(table) = in_flight {
        room = room.saturating_sub(CALLS + 1);
        let more = More { most: CALLS, one: "more group", hint: ": through --in-flight" };
        document.tables.push(Table { title: None, more: Some(more), ..table });
    }
    document.head.lines.extend(crowded);
    if !found.list.is_empty() {
        let is_any_folded = found.list.iter().skip(room).any(|part| part.family.is_some());
        let one = if is_any_folded { "more line" } else { "more communicator" };
        let more = More { most: room, one, hint: "" };
        document.tables.push(Table { more: Some(more), ..column::table("summary", COLUMNS, &context, found.list) });
    }
    Ok(document)
}
