//! Every row of the SQL view `transfers`, printed as it is read: there may be millions.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use super::column::Typed;
use super::contributors::resolved;
use super::{Column, Context, Flag, Part, Question, View, column, linkage};
use crate::document::{Audience, Document, Format, Found, Row, Rows, Table, Unit, Value};
use crate::error::Error;
use crate::query::layers::linkage::Layers;
use crate::query::routes::Route;
use crate::query::transfers::{End, Transfer, count, each};

pub const VIEW: View = View {
    name: "transfers",
    command: "layers",
    flag: Flag::Switch { short: None, long: "all" },
    help: "All rows of the view `transfers`, per rank, as CSV or JSON",
    meaning: "every row of the view [`transfers`](profile.md#layers-below-mpi) that passes the filters, as CSV or JSON",
    note: "",
    formats: &[Format::Csv, Format::Json],
    sorts: &[],
    entries: "rows",
    lacks: &[],
    empty: "the profile has no transfers",
    parts: &[Part { name: "transfers", headings: || column::headings(COLUMNS) }],
    ask,
};

type Of = Column<Transfer>;

const COLUMNS: &[Of] = &[
    Of::record(
        "comm",
        Unit::Communicator,
        "the communicator of the MPI call that caused it; `-`: none",
        |context, row| Value::text(context.comm(row.comm)),
    ),
    Of::record("op", Unit::Operation, "the operation of that call", |context, row| {
        Value::Operation(context.op(row.op))
    }),
    Of::record("layer", Unit::Text, "the layer", |context, row| route(context, row, |route| &route.layer)),
    Of::record("function", Unit::Text, "the layer's function", |context, row| {
        route(context, row, |route| &route.function)
    }),
    Of::record("protocol", Unit::Text, "the protocol", |context, row| route(context, row, |route| &route.protocol)),
    Of::record("transport", Unit::Text, "the transport", |context, row| route(context, row, |route| &route.transport)),
    Of::record("device", Unit::Text, "the device", |context, row| route(context, row, |route| &route.device)),
    Of::record("kind", Unit::Text, "the kind of the device", |context, row| route(context, row, |route| &route.kind)),
    Of::record("scope", Unit::Text, "the layer's own group of processes", |context, row| {
        route(context, row, |route| &route.scope)
    }),
    Of::record("src", Unit::Rank, "the rank that sent, if known", |context, row| {
        Value::some(ends(context, row).0.rank(), Value::Number)
    }),
    Of::record("dst", Unit::Rank, "the rank that received", |context, row| {
        Value::some(ends(context, row).1.rank(), Value::Number)
    }),
    Of::record("remote", Unit::Count, "1: the peer belongs to another `MPI_COMM_WORLD`", |_, row| {
        Value::Number((row.peer == End::Remote).into())
    }),
    Of::record("bucket_lo", Unit::Bytes, "operations with more bytes than this", |context, row| {
        Value::Bytes(context.bucket(row.bucket).map(|bucket| bucket.lo).unwrap_or_default())
    }),
    Of::record("bucket_hi", Unit::Bytes, "and at most this many", |context, row| {
        Value::some(context.bucket(row.bucket).and_then(|bucket| bucket.hi), Value::Bytes)
    }),
    Of::record("calls", Unit::Count, "operations of the layer", |_, row| Value::Number(row.sums.calls)),
    Of::record("bytes", Unit::Bytes, "their bytes", |_, row| Value::Bytes(row.sums.bytes)),
    Of::record("later", Unit::Count, "asynchronous completions", |_, row| Value::Number(row.sums.later)),
    Of::record("time_s", Unit::Seconds, "their time", |_, row| {
        Value::some((row.sums.later > 0).then_some(row.sums.time_ns), Value::Time)
    }),
    Of::record("time_min_s", Unit::Seconds, "the shortest of them", |_, row| {
        Value::some(row.sums.time_min_ns, Value::Time)
    }),
    Of::record("time_max_s", Unit::Seconds, "the longest of them", |_, row| {
        Value::some(row.sums.time_max_ns, Value::Time)
    }),
    Of::record(
        "role",
        Unit::Text,
        "`message`, `wire` or `device`; empty if the module does not report it",
        |context, row| {
            context.catalog.routes.get(&row.route).map_or(Value::Unknown, |route| Value::text(route.role.name()))
        },
    ),
    Of::record("layer_comm", Unit::Communicator, "the layer's communicator", |context, row| {
        let known = row.layer_comm.and_then(|comm| context.catalog.communicators.get(&comm));
        known.map_or(Value::Unknown, |comm| Value::text(comm.name.as_str()))
    }),
    Of::record("within", Unit::Text, "the layer's call in which it happened", |context, row| {
        let known = row.within.and_then(|route| context.catalog.routes.get(&route));
        known.map_or(Value::Unknown, |route| Value::text(&route.function))
    }),
    Of::record(
        "memory",
        Unit::Text,
        "where the data lie in the process that recorded it: `host`, `cuda0`",
        |context, row| route(context, row, |route| &route.memory),
    ),
    Of::record("site", Unit::Text, "the line of the program that made the call", |context, row| {
        line(context, row.site)
    }),
    Of::record("source_object", Unit::Text, "the line that allocated the memory that was read", |context, row| {
        line(context, row.objects[0])
    }),
    Of::record("target_object", Unit::Text, "the line that allocated the memory that was written", |context, row| {
        line(context, row.objects[1])
    }),
];

fn line(context: &Context, site: Option<i64>) -> Value<'_> {
    Value::maybe(site.and_then(|site| context.catalog.sites.spot(site)).map(|spot| spot.text.as_str()))
}

fn route<'a>(context: &'a Context, row: &Transfer, of: fn(&Route) -> &String) -> Value<'a> {
    context.catalog.routes.get(&row.route).map_or(Value::Unknown, |route| Value::text(of(route)))
}

/// Who sent, and who received.
fn ends(context: &Context, row: &Transfer) -> (End, End) {
    let arrives = context.catalog.routes.get(&row.route).is_some_and(|route| route.arrives);
    if arrives { (row.peer, row.rank) } else { (row.rank, row.peer) }
}

fn ask(question: &Question) -> Result<Document, Error> {
    let mut context = match resolved(question, &VIEW)? {
        Ok(context) => context,
        Err(document) => return Ok(*document),
    };
    context.layers = Layers::read(&context.profile, &context.catalog)?;
    let context = Rc::new(context);
    let any = Rc::new(Cell::new(false));
    let mut document = context.document(VIEW.entries, false, VIEW.empty);
    document.found = Found::Later(Rc::clone(&any));
    if let Some(top) = question.top.filter(|top| *top > 0) {
        document.hidden = count(&context.profile, &context.filter)?.saturating_sub(top);
    }
    let rows = Box::new(Read { context: Rc::clone(&context), top: question.top, any });
    document.tables =
        vec![Table { audience: Audience::RECORDS, ..column::bare("transfers", column::headings(COLUMNS), rows) }];
    document.tables.extend(linkage::records(&context));
    Ok(document)
}

/// Rows that are read while they are printed.
struct Read {
    context: Rc<Context>,
    top: Option<usize>,
    any: Rc<Cell<bool>>,
}

impl Rows for Read {
    fn each(&self, take: &mut dyn FnMut(&dyn Row) -> io::Result<()>) -> io::Result<()> {
        let context = &self.context;
        let catalog = &context.catalog;
        // As in the view, rows of what is not listed are left out: only a damaged profile has any.
        let is_listed = |row: &Transfer| {
            catalog.communicators.contains_key(&row.comm)
                && catalog.operations.contains_key(&row.op)
                && catalog.routes.contains_key(&row.route)
                && catalog.buckets.contains_key(&row.bucket)
        };
        let mut failed = None;
        let read = each(&context.profile, &context.filter, self.top, |row| {
            if !is_listed(&row) {
                return Ok(());
            }
            self.any.set(true);
            take(&Typed { data: &**context, columns: COLUMNS, row: &row }).map_err(|error| {
                failed = Some(error);
                // Any error ends the query; this one is never told.
                rusqlite::Error::QueryReturnedNoRows
            })
        });
        match failed {
            Some(error) => Err(error),
            None => read.map_err(io::Error::other),
        }
    }
}
