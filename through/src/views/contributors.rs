//! What layers below MPI did: the top contributors, as a whole or for each communicator or operation.

use std::rc::Rc;

use super::nothing::OrNothing;
use super::{Column, Context, Flag, Part, Question, View, column, linkage, nothing};
use crate::document::{Document, Format, Section, Table, Unit, Value};
use crate::error::Error;
use crate::query::catalog::Catalog;
use crate::query::filter::Filter;
use crate::query::layers::amplification::amplifications;
use crate::query::layers::contributors::{
    self as query, Contributor, Shown, Subject, communicator, contributors, memory, operation, site,
};
use crate::query::layers::linkage::Layers;
use crate::query::sites::Spot;
use crate::query::sort::SortKey;
use crate::query::source::Source;
use crate::query::transfers::{Group, Sums, groups};
use crate::text::units;

pub const VIEW: View = View {
    name: "contributors",
    command: "layers",
    flag: Flag::Default,
    help: "Functions that moved the most bytes",
    meaning: "contributors over the whole program, the most bytes first",
    note: "",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Time, SortKey::Calls, SortKey::Bytes, SortKey::Op],
    entries: "rows",
    lacks: &[],
    empty: "the profile has no transfers",
    parts: &[
        Part { name: "contributors", headings: || column::headings(COLUMNS) },
        Part { name: "amplification", headings: || column::headings(linkage::AMPLIFICATION) },
        Part { name: "notes", headings: || column::headings(linkage::NOTES) },
        Part { name: "unlinked", headings: || column::headings(linkage::UNLINKED) },
    ],
    ask: |question| ask(question, &VIEW, |_, _| Subject::All),
};

pub const BY_COMMUNICATOR: View = View {
    flag: Flag::Option { option: "by", value: "comm" },
    name: "contributors by communicator",
    help: "top contributors of each communicator",
    meaning: "the same for each communicator: the layer's own if it has any, else MPI's. Operations outside MPI calls come last, in the row `-`",
    sorts: &[SortKey::Time, SortKey::Calls, SortKey::Bytes, SortKey::Op, SortKey::Comm],
    entries: "communicators",
    ask: |question| ask(question, &BY_COMMUNICATOR, communicator),
    ..VIEW
};

pub const BY_OPERATION: View = View {
    flag: Flag::Option { option: "by", value: "op" },
    name: "contributors by operation",
    help: "of each MPI operation",
    meaning: "the same for each MPI operation, and outside MPI calls for each function of a layer with its own communicators",
    sorts: &[SortKey::Time, SortKey::Calls, SortKey::Bytes, SortKey::Op, SortKey::Comm],
    entries: "operations",
    ask: |question| ask(question, &BY_OPERATION, operation),
    ..VIEW
};

pub const BY_MEMORY: View = View {
    flag: Flag::Option { option: "by", value: "memory" },
    name: "contributors by memory",
    help: "of each kind of memory: host, cuda0",
    meaning: "the same for each kind of memory that the data lie in, on the side of the process that recorded it: `host`, `cuda0`. \
              Operations that do not tell come last",
    entries: "kinds of memory",
    ask: |question| ask(question, &BY_MEMORY, memory),
    ..VIEW
};

pub const BY_SITE: View = View {
    flag: Flag::Option { option: "by", value: "site" },
    name: "contributors by site",
    help: "of each line of the program [needs run --sites]",
    meaning: "the same for each line of the program that made the MPI call or, outside of MPI calls, called the layer. Operations without a known line \
              come last",
    entries: "lines",
    ask: |question| ask(question, &BY_SITE, site),
    ..VIEW
};

/// A contributor, and what its shares are shares of.
struct Row {
    subject: Subject,
    layer_total: Sums,
    of: Contributor,
}

type Of = Column<Row>;

const COLUMNS: &[Of] = &[
    Of::record("comm", Unit::Communicator, "the communicator, with `--by comm`", |context, row| match row.subject {
        Subject::Comm(comm) => Value::text(context.comm(comm)),
        _ => Value::Unknown,
    }),
    Of::record(
        "op",
        Unit::Operation,
        "the MPI operation, or outside MPI calls the layer's function, with `--by op`",
        |context, row| match row.subject {
            Subject::Op(op) => Value::Operation(context.op(op)),
            Subject::Function(route) => Value::Operation(function(context, route)),
            _ => Value::Unknown,
        },
    ),
    Of::record("site", Unit::Text, "the line of the program, with `--by site`", |context, row| match row.subject {
        Subject::Site(site) => Value::maybe(line(context, site).map(|spot| spot.text.as_str())),
        _ => Value::Unknown,
    }),
    Of::record("layer", Unit::Text, "the layer", |_, row| Value::text(&row.of.route.layer)),
    Of::new("function", "function", Unit::Text, "the layer's function", |_, row| Value::text(&row.of.route.function)),
    Of::new("protocol", "protocol", Unit::Text, "the protocol; empty if there is none", |_, row| {
        Value::text(&row.of.route.protocol)
    }),
    Of::record("transport", Unit::Text, "the transport", |_, row| Value::text(&row.of.route.transport)),
    Of::record("device", Unit::Text, "the device", |_, row| Value::text(&row.of.route.device)),
    Of::shown("over", Unit::Text, |_, row| Value::owned(row.of.route.path())),
    Of::new(
        "memory",
        "memory",
        Unit::Text,
        "where the data lie in the process that recorded it: `host`, `cuda0`; empty if the layer does not tell",
        |_, row| Value::text(&row.of.route.memory),
    )
    .when(|_, rows: &[Row]| rows.iter().any(|row| !matches!(row.of.route.memory.as_str(), "" | "host"))),
    Of::record("kind", Unit::Text, "the kind of the device: `network`, `memory`, `gpu`, `self`", |_, row| {
        Value::text(&row.of.route.kind)
    }),
    Of::record("arrives", Unit::YesNo, "whether this row shows arrivals, as the receiver saw them", |_, row| {
        Value::Flag(row.of.route.arrives)
    }),
    Of::new("calls", "calls", Unit::Count, "operations of the layer", |_, row| Value::Number(row.of.sums.calls)),
    Of::new("bytes", "bytes", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.of.sums.bytes)),
    Of::new("share", "share", Unit::Share, "of the layer's bytes", |_, row| Value::Share {
        part: row.of.sums.bytes as f64,
        whole: row.layer_total.bytes as f64,
    }),
    Of::new(
        "later",
        "async",
        Unit::Count,
        "asynchronous completions: operations that completed after their call had returned",
        |_, row| Value::Number(row.of.sums.later),
    )
    .optional(2),
    Of::record("time_s", Unit::Seconds, "their time from call to completion", |_, row| {
        Value::some(timed(&row.of.sums), |sums| Value::Time(sums.time_ns))
    }),
    Of::new("time_avg_s", "mean", Unit::Seconds, "mean of these times", |_, row| {
        Value::some(timed(&row.of.sums), |sums| Value::Mean { sum_ns: sums.time_ns, count: sums.later })
    }),
    Of::record("time_min_s", Unit::Seconds, "shortest of these times", |_, row| {
        Value::some(row.of.sums.time_min_ns, Value::Time)
    }),
    Of::record("time_max_s", Unit::Seconds, "longest of these times", |_, row| {
        Value::some(row.of.sums.time_max_ns, Value::Time)
    }),
];

/// Where any operation completed asynchronously: only of those the time is known.
fn timed(sums: &Sums) -> Option<&Sums> {
    Some(sums).filter(|sums| sums.later > 0)
}

const LEGEND: &str = "Calls and bytes are counted in the layer, over all ranks; share is of its bytes. Mean is the mean time of operations \
     that complete after their call has returned (async).";

/// Subjects, and contributors of each, that a table shows unless told otherwise.
pub const SHOWN: usize = 20;

fn ask(question: &Question, view: &View, subject: fn(&Group, &Catalog) -> Subject) -> Result<Document, Error> {
    let (context, groups) = match recorded_by(question, view, view.name == BY_SITE.name)? {
        Ok(recorded) => recorded,
        Err(document) => return Ok(*document),
    };
    let shown = Shown { sort: question.sort, top: question.top_of_table(SHOWN) };
    let (found, hidden) = contributors(&groups, &context.catalog, &context.filter, subject, shown);
    let mut document = context.document(view.entries, found.is_empty(), view.empty);
    document.hidden = hidden;
    document.head.lines.retain(|line| !matches!(line.name, "layers" | "unlinked"));
    let sections = found.iter().map(|found| section(&context, found)).collect();
    let rows = found.into_iter().flat_map(|found| {
        let (subject, layer_total) = (found.subject, found.layer_total);
        found.rows.into_iter().map(move |of| Row { subject, layer_total, of })
    });
    let table = column::table("contributors", COLUMNS, &context, rows.collect());
    let legend = vec![LEGEND.to_owned()];
    document.tables = vec![Table { sections, legend, ..table }];
    document.tables.extend(below(&context, &groups)?);
    Ok(document)
}

/// What a layer was asked to do.
fn function(context: &Context, route: i64) -> &str {
    context.catalog.routes.get(&route).map(|route| route.function.as_str()).unwrap_or_default()
}

/// The line of the program of a site.
fn line(context: &Context, site: Option<i64>) -> Option<&Spot> {
    context.catalog.sites.spot(site?).map(|spot| &**spot)
}

fn section(context: &Context, found: &query::Section) -> Section {
    let layer = &found.layer;
    let bytes = units::bytes(found.total.bytes);
    let share = units::percent(found.total.bytes as f64, found.layer_total.bytes as f64);
    let (name, weight) = match found.subject {
        Subject::All => {
            let operations = units::count(found.total.calls.max(0) as u64, "operation");
            (layer.clone(), format!("{bytes} in {operations}"))
        }
        Subject::Comm(number) => {
            let title = context.communicator(number).map(|comm| Value::titled(&comm.name, comm.label.as_deref()));
            let title = title.unwrap_or_else(|| format!("?{number}"));
            (format!("{title} · {layer}"), format!("{bytes}  {share} of {layer}"))
        }
        Subject::Site(site) => {
            let line = line(context, site).map_or_else(|| "-".to_owned(), |spot| spot.sentence());
            (format!("{line} · {layer}"), format!("{bytes}  {share} of {layer}"))
        }
        Subject::Memory(route) => {
            let memory = context.catalog.routes.get(&route).map_or("", |route| &route.memory);
            (
                format!("{} · {layer}", if memory.is_empty() { "-" } else { memory }),
                format!("{bytes}  {share} of {layer}"),
            )
        }
        Subject::Op(_) | Subject::Function(_) => {
            let name = match found.subject {
                Subject::Function(route) => function(context, route),
                Subject::Op(op) => context.op(op).trim_start_matches("MPI_"),
                _ => "",
            };
            (format!("{name} · {layer}"), format!("{bytes}  {share} of {layer}"))
        }
    };
    let after = (found.hidden > 0).then(|| format!("and {}", units::count(found.hidden as u64, "more row")));
    Section { name, weight, rows: found.rows.len(), after, ..Section::default() }
}

/// A profile, and sums of what layers did in it.
pub type WithGroups = (Rc<Context>, Vec<Group>);

/// What views of layers are made of: sums of all ranks that the filter leaves. Where no layer was recorded, a document that says so.
pub fn recorded(question: &Question, view: &View) -> Result<OrNothing<WithGroups>, Error> {
    recorded_by(question, view, false)
}

/// The same, told apart by sites if that is wanted.
fn recorded_by(question: &Question, view: &View, by_site: bool) -> Result<OrNothing<WithGroups>, Error> {
    let mut context = match resolved(question, view)? {
        Ok(context) => context,
        Err(document) => return Ok(Err(document)),
    };
    let Filter { has_layer_comms, ranks, sites, .. } = &*context.filter;
    let (has_layer_comms, by_site) = (*has_layer_comms, by_site || sites.is_some());
    let of_ranks = ranks.is_some().then(|| Filter { by_site, ..Filter::clone(&context.filter) });
    let whole = groups(&context.profile, &Filter { has_layer_comms, by_site, ..Filter::default() })?;
    context.layers = Some(Layers::of(&context.profile, &context.catalog, &whole)?.unwrap_or_default());
    let groups = of_ranks.map_or(Ok(whole), |filter| groups(&context.profile, &filter))?;
    Ok(Ok((Rc::new(context), groups)))
}

/// The filter in a profile that has layers, before it is known what they did.
pub fn resolved(question: &Question, view: &View) -> Result<OrNothing<Context>, Error> {
    let profile = &question.profile;
    let catalog = Catalog::read(profile)?;
    let filter = Filter::resolve(&question.selection, &catalog)?;
    if filter.ranks.is_some() && !catalog.routes.is_empty() {
        Source::new(profile, &catalog, &filter).needs_single_ranks()?;
    }
    let context = Context::new(profile, catalog, filter, None);
    match context.catalog.routes.is_empty() {
        true => Ok(Err(Box::new(nothing::not_recorded(&context, view.entries)?))),
        false => Ok(Ok(context)),
    }
}

/// What is below every view of layers.
pub fn below(context: &Rc<Context>, groups: &[Group]) -> Result<Vec<Table>, Error> {
    let rows = amplifications(&context.profile, groups, &context.catalog, &context.filter)?;
    let mut tables = vec![linkage::amplification(context, rows)];
    tables.extend(linkage::tables(context));
    tables.extend(linkage::records(context));
    Ok(tables)
}
