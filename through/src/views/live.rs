//! A look at a job that goes on: what communicators took so far and since the last look, and where its ranks stand. No row of the registry: it is
//! made of shards, not of a profile that anybody has.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::rc::Rc;

use super::context::{both, shorten};
use super::{Column, Context, Question, column, in_flight as standing};
use crate::document::{Document, Table, Unit, Value};
use crate::error::Error;
use crate::query::open::Profile;
use crate::query::operations::operations;
use crate::query::unreturned::unreturned;

/// What all ranks did by then, by the names of communicator and operation: their numbers change from look to look.
pub type Sums = HashMap<(String, String), Sum>;

#[derive(Clone, Copy, Default)]
pub struct Sum {
    calls: i64,
    bytes: i128,
    time_ns: i64,
}

struct Row {
    comm: i64,
    op: i64,
    sum: Sum,
    /// What is new, if this is not the first look.
    new: Option<Sum>,
}

/// What all rows have in common.
struct Run {
    context: Rc<Context>,
    seconds: f64,
    mpi_ns: i64,
}

type Of = Column<Row, Run>;

const COLUMNS: &[Of] = &[
    Of::shown("communicator", Unit::Communicator, |run, row| Value::Communicator {
        name: run.context.comm(row.comm),
        label: run.context.label(row.comm),
    }),
    Of::shown("operation", Unit::Operation, |run, row| Value::Operation(run.context.op(row.op))),
    Of::shown("calls", Unit::Count, |_, row| Value::Number(row.sum.calls)),
    Of::shown("bytes", Unit::Bytes, |_, row| Value::Bytes(u64::try_from(row.sum.bytes).unwrap_or(u64::MAX))),
    Of::shown("time", Unit::Seconds, |_, row| Value::Time(row.sum.time_ns)),
    Of::shown("share", Unit::Share, |run, row| Value::Share { part: row.sum.time_ns as f64, whole: run.mpi_ns as f64 })
        .optional(1),
    Of::shown("calls/s", Unit::Count, |run, row| {
        Value::some(row.new, |new| Value::Number((new.calls as f64 / run.seconds) as i64))
    })
    .when(|_, rows| rows.iter().any(|row| row.new.is_some())),
    Of::shown("rate", Unit::Rate, |run, row| {
        let new = row.new.filter(|new| new.bytes > 0);
        Value::some(new, |new| Value::Rate(new.bytes as f64 / run.seconds))
    })
    .when(|_, rows| rows.iter().any(|row| row.new.is_some())),
    Of::shown("now", Unit::Share, |run, row| {
        let whole = run.seconds * 1e9 * run.context.overview.ranks as f64;
        Value::some(row.new, |new| Value::Share { part: new.time_ns as f64, whole })
    })
    .when(|_, rows| rows.iter().any(|row| row.new.is_some())),
];

const LEGEND: &str = "Sums over the ranks, bytes sent and received; time also of calls that have not returned.";
/// From the second look on.
const NEW: &str = "calls/s, rate: since the last update; now: share of the ranks' time since then.";

/// What a look found.
pub struct Look {
    pub document: Document,
    pub sums: Sums,
    /// MPI time of all ranks, with that of calls that have not returned.
    pub mpi_ns: i64,
}

/// `before`: the sums of the last look, and how many seconds ago it was.
pub fn live(profile: Profile, before: Option<(&Sums, f64)>, top: usize) -> Result<Look, Error> {
    let context = Rc::new(Context::of(&Question::new(profile))?);
    let mut sums: HashMap<(i64, i64), Sum> = HashMap::new();
    for row in operations(&context.profile, &context.catalog, &context.filter, false)? {
        let sum = sums.entry((row.comm, row.op)).or_default();
        sum.calls = sum.calls.saturating_add(row.rank_calls);
        sum.bytes = sum.bytes.saturating_add(both(row.bytes_sent, row.bytes_recv));
        sum.time_ns = sum.time_ns.saturating_add(row.time_ns);
    }
    // Else a long call would be new as a whole when it returns.
    for call in unreturned(&context.profile)? {
        let sum = sums.entry((call.comm, call.op)).or_default();
        sum.time_ns = sum.time_ns.saturating_add(call.time_ns);
    }
    sums.retain(|(_, op), _| !context.catalog.is_outside_span(*op));
    let mpi_ns = sums.values().fold(0i64, |whole, sum| whole.saturating_add(sum.time_ns));
    let mut named = Sums::new();
    let mut rows = Vec::new();
    for ((comm, op), sum) in sums {
        let name = (context.comm(comm).to_owned(), context.op(op).to_owned());
        let new = before.map(|(sums, _)| sum.since(sums.get(&name).copied().unwrap_or_default()));
        named.insert(name, sum);
        rows.push(Row { comm, op, sum, new });
    }
    rows.sort_by_key(|row| (Reverse(row.sum.time_ns), row.comm, row.op));
    let mut document = Document::new(context.head(), "rows");
    document.hidden = shorten(&mut rows, Some(top));
    document.tables.extend(standing::unfinished(&context)?);
    let seconds = before.map_or(1.0, |(_, seconds)| seconds.max(1e-3));
    let run = Rc::new(Run { context, seconds, mpi_ns });
    let legend = [Some(LEGEND), before.map(|_| NEW)].into_iter().flatten().map(str::to_owned).collect();
    document.tables.push(Table { legend, ..column::table("live", COLUMNS, &run, rows) });
    Ok(Look { document, sums: named, mpi_ns })
}

impl Sum {
    fn since(self, before: Sum) -> Sum {
        Sum {
            calls: self.calls.saturating_sub(before.calls).max(0),
            bytes: self.bytes.saturating_sub(before.bytes).max(0),
            time_ns: self.time_ns.saturating_sub(before.time_ns).max(0),
        }
    }
}
