//! One row per communicator, operation, bucket and rank.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;
use std::rc::Rc;

use super::context::{both, shorten};
use super::on_layers::{self, OnLayers};
use super::phases::title;
use super::{Column, Context, Flag, Part, Question, View, column, linkage};
use crate::document::{Document, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::catalog::{Bucket, Communicator, Detail, size_class};
use crate::query::cells::{Cell, Cells, Key, cells};
use crate::query::sort::SortKey;
use crate::text::units;

pub const VIEW: View = View {
    name: "cells",
    command: "",
    flag: Flag::Switch { short: Some('a'), long: "all-ranks" },
    help: "One row per communicator, operation, size and rank",
    meaning: "one row per communicator, operation, message size and rank",
    note: "These are the columns of the view `profile`. Without `--phase` a row is the sum over all phases.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &SortKey::ALL,
    entries: "rows",
    lacks: &[],
    empty: "the profile has no calls",
    parts: &[Part { name: "rows", headings: || column::headings(COLUMNS) }, on_layers::ROWS_PART],
    ask,
};

/// What cells have in common: looked up once for each group, since there may be millions of cells.
struct Groups {
    all: Vec<Group>,
    detail: Detail,
    has_phases: bool,
    has_failed: bool,
}

#[derive(Default)]
struct Group {
    comm: String,
    comm_size: Option<u64>,
    creator: Option<String>,
    op: String,
    class: String,
    bucket: Option<Bucket>,
    bucket_title: String,
    phase: Option<String>,
    phase_title: String,
}

impl Groups {
    fn of(&self, cell: &Cell) -> &Group {
        &self.all[cell.group()]
    }
}

type Of = Column<Cell, Groups>;

const COLUMNS: &[Of] = &[
    Of::new("comm", "comm", Unit::Communicator, "the communicator's name", |groups, cell| {
        Value::text(&groups.of(cell).comm)
    })
    .first(),
    Of::record("comm_size", Unit::Count, "its number of processes", |groups, cell| {
        Value::some(groups.of(cell).comm_size, |size| Value::Number(size as i64))
    }),
    Of::record("creator", Unit::Text, "the function that created it", |groups, cell| {
        Value::maybe(groups.of(cell).creator.as_deref())
    }),
    Of::new("op", "operation", Unit::Operation, "the operation", |groups, cell| Value::Operation(&groups.of(cell).op))
        .first(),
    Of::record("class", Unit::Text, "its kind", |groups, cell| Value::text(&groups.of(cell).class)),
    Of::record("bucket_lo", Unit::Bytes, "messages with more bytes than this", |groups, cell| {
        Value::Bytes(groups.of(cell).bucket.map(|bucket| bucket.lo).unwrap_or_default())
    }),
    Of::record("bucket_hi", Unit::Bytes, "and at most this many; empty for the last bucket", |groups, cell| {
        Value::some(groups.of(cell).bucket.and_then(|bucket| bucket.hi), Value::Bytes)
    }),
    Of::shown("bytes", Unit::Bucket, |groups, cell| Value::text(&groups.of(cell).bucket_title)).first(),
    Of::shown("phase", Unit::Text, |groups, cell| Value::text(&groups.of(cell).phase_title))
        .first()
        .when(|groups, _| groups.has_phases),
    Of::record(
        "rank",
        Unit::Rank,
        "the rank in `MPI_COMM_WORLD`; unknown if the profile has only sums over ranks",
        |_, cell| rank(cell),
    ),
    Of::shown("rank", Unit::Rank, |_, cell| rank(cell))
        .style(Style::Blank)
        .when(|groups, _| groups.detail != Detail::Node),
    Of::shown("node", Unit::Rank, |_, cell| rank(cell))
        .style(Style::Blank)
        .when(|groups, _| groups.detail == Detail::Node),
    Of::new("calls", "calls", Unit::Count, "calls of this rank", |_, cell| Value::Number(cell.counters.calls as i64)),
    Of::new("failed", "failed", Unit::Count, "calls that returned an error; unknown with `--site`", |groups, cell| {
        match groups.has_failed {
            true => Value::Number(cell.counters.failed as i64),
            false => Value::Unknown,
        }
    })
    .optional(2),
    Of::new("bytes_sent", "sent", Unit::Bytes, "bytes that the rank sent", |_, cell| {
        Value::Bytes(cell.counters.bytes_sent)
    })
    .last(),
    Of::new("bytes_recv", "received", Unit::Bytes, "bytes that it received", |_, cell| {
        Value::Bytes(cell.counters.bytes_recv)
    })
    .last(),
    Of::new("time_s", "time", Unit::Seconds, "of all these calls", |_, cell| Value::Time(cell.time_ns())),
    Of::new("time_min_s", "shortest", Unit::Seconds, "of the shortest call", |_, cell| {
        Value::some(cell.shortest_ns(), Value::Time)
    })
    .optional(1),
    Of::new("time_max_s", "longest", Unit::Seconds, "of the longest call", |_, cell| {
        Value::some(cell.longest_ns(), Value::Time)
    })
    .optional(1),
    Of::record("phase", Unit::Text, "the phase; unknown if phases are added up", |groups, cell| {
        Value::maybe(groups.of(cell).phase.as_deref())
    }),
];

fn rank(cell: &Cell) -> Value<'static> {
    Value::some(cell.rank(), Value::Number)
}

const LEGEND: &str = "Time is the sum over a rank's calls; shortest and longest are single calls.";

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut found = cells(&context.profile, &context.catalog, &context.filter)?;
    order(&mut found, question.sort, &context);
    let Cells { groups, mut rows } = found;
    let is_empty = rows.is_empty();
    let mut document = context.document(VIEW.entries, is_empty, VIEW.empty);
    document.hidden = shorten(&mut rows, question.top);
    let groups = Rc::new(Groups {
        all: groups.iter().map(|key| group(&context, key)).collect(),
        detail: context.catalog.detail,
        has_phases: context.filter.phases.is_some(),
        has_failed: context.filter.sites.is_none(),
    });
    let legend = vec![LEGEND.to_owned()];
    document.tables = vec![Table { legend, ..column::table("rows", COLUMNS, &groups, rows) }];
    OnLayers::of(&context, question.sort)?.attach_rows(&mut document, question, &context, is_empty);
    document.tables.extend(linkage::records(&context));
    Ok(document)
}

fn group(context: &Context, key: &Key) -> Group {
    let comm = context.communicator(key.comm);
    Group {
        comm: context.comm(key.comm).to_owned(),
        comm_size: comm.and_then(|comm| comm.size),
        creator: comm.and_then(|comm| comm.creator.clone()),
        op: context.op(key.op).to_owned(),
        class: context.class(key.op).to_owned(),
        bucket: context.bucket(key.bucket),
        bucket_title: context.sizes(key.op, key.bucket).map_or("-".to_owned(), |it| units::bucket(it.lo, it.hi)),
        phase: key.phase.map(|phase| context.phase(phase).to_owned()),
        phase_title: key.phase.map(|phase| title(context, phase).to_owned()).unwrap_or_default(),
    }
}

/// Communicators by the MPI time of the cells that are left of them, then operations by name, buckets and ranks ascending.
fn order(cells: &mut Cells, sort: Option<SortKey>, context: &Context) {
    let positions = positions(cells, context);
    let Cells { groups, rows } = cells;
    let comm = |group: &Key| context.communicator(group.comm);
    let sizes: Vec<_> = groups.iter().map(|group| comm(group).and_then(|comm: &Communicator| comm.size)).collect();
    let group = |cell: &Cell| &groups[cell.group()];
    let bytes = |cell: &Cell| both(cell.counters.bytes_sent, cell.counters.bytes_recv);
    let usual = |a: &Cell, b: &Cell| {
        let key = |cell: &Cell| (positions[cell.group()].of_all, cell.rank(), group(cell).phase);
        key(a).cmp(&key(b))
    };
    // Unstable, because rows may be many: what is equal by the key is compared by what makes every row another.
    let mut by = |compare: &dyn Fn(&Cell, &Cell) -> Ordering| {
        rows.sort_unstable_by(|a, b| compare(a, b).then_with(|| usual(a, b)));
    };
    match sort {
        Some(SortKey::Time) => by(&|a, b| b.time_ns().cmp(&a.time_ns())),
        Some(SortKey::Calls) => by(&|a, b| (b.counters.calls as i64).cmp(&(a.counters.calls as i64))),
        Some(SortKey::Bytes) => by(&|a, b| bytes(b).cmp(&bytes(a))),
        Some(SortKey::Rank) => by(&|a, b| a.rank().cmp(&b.rank())),
        Some(SortKey::Bucket) => by(&|a, b| group(a).bucket.cmp(&group(b).bucket)),
        Some(SortKey::Op) => by(&|a, b| positions[a.group()].of_op.cmp(&positions[b.group()].of_op)),
        Some(SortKey::Size) => by(&|a, b| sizes[b.group()].cmp(&sizes[a.group()])),
        Some(SortKey::Comm) => by(&|a, b| positions[a.group()].of_comm.cmp(&positions[b.group()].of_comm)),
        Some(SortKey::TimeAscending) => by(&|a, b| a.time_ns().cmp(&b.time_ns())),
        Some(SortKey::CallsAscending) => by(&|a, b| (a.counters.calls as i64).cmp(&(b.counters.calls as i64))),
        Some(SortKey::BucketDescending) => by(&|a, b| group(b).bucket.cmp(&group(a).bucket)),
        None | Some(SortKey::Bandwidth) => by(&|_, _| Ordering::Equal),
    }
}

/// Which one a group of cells is in an order of groups.
struct Position {
    of_all: usize,
    of_op: usize,
    of_comm: usize,
}

fn positions(cells: &Cells, context: &Context) -> Vec<Position> {
    let catalog = &context.catalog;
    let mut times = vec![0i128; cells.groups.len()];
    for cell in &cells.rows {
        times[cell.group()] += i128::from(cell.time_ns());
    }
    let mut weight: HashMap<i64, i128> = HashMap::new();
    for (group, time_ns) in cells.groups.iter().zip(times) {
        *weight.entry(group.comm).or_default() += if catalog.is_outside_span(group.op) { 0 } else { time_ns };
    }
    let is_special = |comm: i64| context.communicator(comm).is_some_and(|comm| comm.is_special());
    let key = |group: &Key| {
        let comm = (is_special(group.comm), Reverse(weight[&group.comm]), group.comm);
        (comm, context.op(group.op), size_class(group.bucket), group.bucket)
    };
    let of_all = ranked(&cells.groups, key);
    let of_op = ranked(&cells.groups, |group| context.op(group.op));
    let of_comm = ranked(&cells.groups, |group| context.communicator(group.comm).map(|comm| comm.name_key()));
    let positions = of_all.into_iter().zip(of_op).zip(of_comm);
    positions.map(|((of_all, of_op), of_comm)| Position { of_all, of_op, of_comm }).collect()
}

/// For each entry how many different keys are less than its own.
fn ranked<T, K: Ord>(entries: &[T], key: impl Fn(&T) -> K) -> Vec<usize> {
    let mut keys: Vec<K> = entries.iter().map(&key).collect();
    keys.sort_unstable();
    keys.dedup();
    entries.iter().map(|entry| keys.partition_point(|known| *known < key(entry))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_table_per_rank_are_those_of_the_view_profile() {
        let names: Vec<&str> = COLUMNS.iter().filter_map(|column| column.heading.name).collect();
        let view =
            commsee::profile::SCHEMA.split_once("CREATE VIEW profile AS").unwrap().1.split_once("FROM").unwrap().0;
        let columns: Vec<&str> = view.lines().filter_map(|line| Some(line.split_once(" AS ")?.1)).collect();
        assert_eq!(names.join(","), columns.join("").replace(' ', ""));
    }
}
