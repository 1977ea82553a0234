//! Who sent how much to whom: rank by rank, or host by host.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::traffic::asked;
use super::{Between, Column, Context, Flag, Part, Question, View, column, linkage};
use crate::document::{Document, Drawing, Format, Style, Unit, Value};
use crate::error::Error;
use crate::query::catalog::Catalog;
use crate::query::flows::{Pair, pairs};
use crate::query::gpus;
use crate::query::graph::processes;
use crate::query::hosts::Ends;
use crate::query::layers::known::GPU_MODULES;
use crate::query::layers::ways::How;
use crate::query::transfers::End;
use crate::render::dot::Dot;
use crate::render::matrix::{Matrices, Matrix};
use crate::text::units;

pub const VIEW: View = View {
    name: "matrix",
    command: "traffic",
    flag: Flag::Default,
    help: "Messages and bytes between ranks or hosts",
    meaning: "messages and bytes between ranks, or between hosts",
    note: "",
    formats: &[Format::Table, Format::Csv, Format::Json, Format::Dot],
    sorts: &[],
    entries: "pairs",
    lacks: &[],
    empty: "the profile has no messages",
    parts: &[Part { name: "matrix", headings: || column::headings(COLUMNS) }],
    ask,
};

/// What the pairs are between, and how much all carry together.
struct All {
    ends: Ends,
    bytes: u64,
    calls: i64,
    counts: bool,
}

type Of = Column<Pair, All>;

const COLUMNS: &[Of] = &[
    Of::record("src", Unit::Rank, "the rank that sent, if known. Between hosts: the lowest rank there", |_, pair| {
        Value::some(pair.from.rank(), Value::Number)
    }),
    Of::shown("from", Unit::Text, |all, pair| Value::owned(all.ends.name(pair.from))),
    Of::record("dst", Unit::Rank, "the rank that received", |_, pair| Value::some(pair.to.rank(), Value::Number)),
    Of::shown("to", Unit::Text, |all, pair| Value::owned(all.ends.name(pair.to))),
    Of::record("remote", Unit::Count, "1: one of them belongs to another `MPI_COMM_WORLD`", |_, pair| {
        Value::Number((pair.from == End::Remote || pair.to == End::Remote).into())
    }),
    Of::new("calls", "calls", Unit::Count, "messages, or operations of the layer", |_, pair| Value::Number(pair.calls))
        .last(),
    Of::new("bytes", "bytes", Unit::Bytes, "their bytes", |_, pair| Value::Bytes(pair.bytes)).style(Style::Zero),
    Of::shown("share", Unit::Share, |all, pair| match all.counts {
        true => Value::Share { part: pair.calls as f64, whole: all.calls as f64 },
        false => Value::Share { part: pair.bytes as f64, whole: all.bytes as f64 },
    }),
    Of::shown("how", Unit::Text, |_, pair| Value::text(pair.how.name()))
        .when(|all: &All, pairs| all.ends.are_memories() && pairs.iter().any(|pair| pair.how == How::Modelled)),
    Of::record("src_host", Unit::Text, "the host of `src`", |all, pair| Value::text(all.ends.host(pair.from))),
    Of::record("dst_host", Unit::Text, "the host of `dst`", |all, pair| Value::text(all.ends.host(pair.to))),
    Of::record(
        "how",
        Unit::Text,
        "`exact`: from the arguments of calls. `modelled`: from a formula for the algorithm (`--modelled`). `measured`: counted by the layer's \
         transport. Each has its own rows",
        |_, pair| Value::text(pair.how.name()),
    ),
    Of::record(
        "src_memory",
        Unit::Text,
        "of copies of GPUs, which have no `src`, and with `--by device`: `host`, or the GPU",
        |all, pair| memory(all, pair.from),
    ),
    Of::record("dst_memory", Unit::Text, "where they went", |all, pair| memory(all, pair.to)),
];

fn memory(all: &All, end: End) -> Value<'_> {
    if is_memory(end) { Value::text(all.ends.gpu(end).unwrap_or("host")) } else { Value::Unknown }
}

fn is_memory(end: End) -> bool {
    matches!(end, End::Memory(_))
}

/// Pairs that a table lists unless told otherwise.
const SHOWN: usize = 20;

fn ask(question: &Question) -> Result<Document, Error> {
    let catalog = Catalog::read(&question.profile)?;
    let are_memories = question.between == Between::Devices;
    let mut selection = question.selection.clone();
    if are_memories && selection.layer.is_empty() {
        selection.layer = gpus::layers(&catalog);
        if selection.layer.is_empty() {
            let how = format!("has no copies of GPUs and no calls of NCCL: run with --hooks {GPU_MODULES}");
            return Err(Error::Argument(format!("{}: {how}", question.profile.path.display())));
        }
    }
    let asked = match asked(question, catalog, &selection, VIEW.entries, are_memories)? {
        Ok(asked) => asked,
        Err(document) => return Ok(*document),
    };
    let context = &asked.context;
    let pairs = pairs(&asked.flows);
    let mut document = context.document(VIEW.entries, pairs.is_empty(), VIEW.empty);
    document.reasons = asked.reasons;
    document.remarks.extend(asked.left);
    document.words = vec![("layer", asked.layer.clone())];
    let mut graph = processes(&asked.flows, &context.catalog, &asked.ends);
    graph.sort(question.counts);
    graph.shorten(question.top);
    let (bytes, calls) = sum(&pairs);
    let all = Rc::new(All { ends: asked.ends, bytes, calls, counts: question.counts });
    let drawn = matrices(context, &pairs, &all, &asked.layer, question.top);
    let (listed, hidden) = match question.top {
        None => (pairs, Vec::new()),
        top => heaviest(&pairs, top, question.counts),
    };
    document.hidden = hidden.len();
    document.drawings = vec![
        (Format::Table, Box::new(Matrices(drawn)) as Box<dyn Drawing>),
        (Format::Dot, Box::new(Dot { graph, counts: question.counts })),
    ];
    document.tables = vec![column::table("matrix", COLUMNS, &all, listed)];
    document.tables.extend(linkage::records(context));
    Ok(document)
}

/// One for each way in which it is known what went: they are not added up. Between memories of GPUs there is one, which marks what is modelled.
fn matrices(context: &Context, pairs: &[Pair], all: &Rc<All>, layer: &str, top: Option<usize>) -> Vec<Matrix> {
    if all.ends.are_memories() {
        return vec![matrix(context, pairs, all, layer, top)];
    }
    let ways: BTreeSet<How> = pairs.iter().map(|pair| pair.how).collect();
    let of = |how: &How| {
        let known: Vec<Pair> = pairs.iter().copied().filter(|pair| pair.how == *how).collect();
        let is_said = ways.len() > 1 || *how == How::Modelled;
        let layer = if is_said { format!("{layer}, {},", how.name()) } else { layer.to_owned() };
        let (bytes, calls) = sum(&known);
        let all = Rc::new(All { ends: all.ends.clone(), bytes, calls, counts: all.counts });
        matrix(context, &known, &all, &layer, top)
    };
    if ways.is_empty() { vec![matrix(context, pairs, all, layer, top)] } else { ways.iter().map(of).collect() }
}

fn matrix(context: &Context, pairs: &[Pair], all: &Rc<All>, layer: &str, top: Option<usize>) -> Matrix {
    let what = if all.counts { "calls" } else { "bytes" };
    let end = match (all.ends.are_hosts(), pairs.first().is_some_and(|pair| is_memory(pair.from))) {
        _ if pairs.iter().any(|pair| is_memory(pair.from) != is_memory(pairs[0].from)) => "rank or memory",
        (_, true) => "memory",
        (true, false) => "host",
        (false, false) => "rank",
    };
    let (shown, hidden) = heaviest(pairs, top.or(Some(SHOWN)), all.counts);
    let more = (!hidden.is_empty()).then(|| {
        let (bytes, calls) = sum(&hidden);
        format!(
            "{}, with {} in {}: --top N shows N pairs, --top 0 all.",
            units::count(hidden.len() as u64, "more pair"),
            units::bytes(bytes),
            units::count(calls.max(0) as u64, "call")
        )
    });
    let ends = ends(context, pairs, &all.ends);
    let positions: BTreeMap<End, usize> = ends.iter().enumerate().map(|(position, end)| (*end, position)).collect();
    let modelled = pairs.iter().filter(|pair| all.ends.are_memories() && pair.how == How::Modelled);
    Matrix {
        title: format!("{what} of {layer} from {end} (row) to {end} (column)"),
        ends: ends.iter().map(|end| all.ends.name(*end)).collect(),
        cells: added_up(pairs, |pair| (positions[&pair.from], positions[&pair.to]), all.counts),
        marked: modelled.map(|pair| (positions[&pair.from], positions[&pair.to])).collect(),
        list: column::table("matrix", COLUMNS, all, shown),
        is_listed: top.is_some(),
        more,
        legend: legend(context, pairs),
    }
}

/// What is known in several ways stands in one cell.
fn added_up(pairs: &[Pair], place: impl Fn(&Pair) -> (usize, usize), counts: bool) -> Vec<(usize, usize, u64)> {
    let mut cells: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for pair in pairs {
        let cell = cells.entry(place(pair)).or_default();
        *cell = cell.saturating_add(weight(pair, counts));
    }
    cells.into_iter().map(|((row, column), weight)| (row, column, weight)).collect()
}

fn legend(context: &Context, pairs: &[Pair]) -> String {
    let is_there = |end| pairs.iter().any(|pair| pair.from == end || pair.to == end);
    let mut words = vec!["K, M, G, T are powers of 1024."];
    let is_layer = |layer: &str| context.filter.words.iter().any(|word| word.strip_prefix("layer ") == Some(layer));
    let is_copy = |pair: &Pair| is_memory(pair.from);
    if pairs.iter().any(is_copy) {
        words.push("host: its memory. GPUs are numbered as each process numbers them.");
    }
    let is_issued = context.catalog.routes.values().any(|route| is_layer(&route.layer) && !route.arrives);
    if is_issued && !pairs.iter().all(is_copy) {
        words.push("The row is the rank that issued the operation, also for a get.");
    }
    if pairs.iter().any(|pair| pair.how == How::Modelled) {
        words.push(match pairs.iter().any(is_copy) {
            true => "~: with bytes that rings and trees over the ranks in order send, by formula (modelled).",
            false => "Modelled: bytes that rings and trees over the ranks in order send, by formula.",
        });
    }
    if is_there(End::Unknown) {
        words.push("?: unknown, or none.");
    }
    if is_there(End::Remote) {
        words.push("other world: processes of another MPI_COMM_WORLD.");
    }
    words.join(" ")
}

/// All ranks or hosts, also those that sent and received nothing, and who else took part. Of copies alone, what took part.
fn ends(context: &Context, pairs: &[Pair], ends: &Ends) -> Vec<End> {
    if ends.are_memories() {
        return ends.memories().collect();
    }
    let are_copies = !pairs.is_empty() && pairs.iter().all(|pair| is_memory(pair.from));
    let is_listed = |rank| !are_copies && context.filter.has_rank(rank);
    let ranks = context.catalog.processes.iter().filter(|process| is_listed(process.rank));
    let all = ranks.map(|process| End::of_rank(process.rank)).filter(|end| *end != End::Unknown);
    let all = all.map(|end| ends.place(end));
    let ends: BTreeSet<End> = pairs.iter().flat_map(|pair| [pair.from, pair.to]).chain(all).collect();
    ends.into_iter().collect()
}

/// The quantity that is asked for.
fn weight(pair: &Pair, counts: bool) -> u64 {
    if counts { pair.calls.max(0) as u64 } else { pair.bytes }
}

/// The heaviest, and those that are left out.
fn heaviest(pairs: &[Pair], top: Option<usize>, counts: bool) -> (Vec<Pair>, Vec<Pair>) {
    let mut pairs = pairs.to_vec();
    // Stable: those that weigh the same stay in the order of the ranks.
    pairs.sort_by_key(|pair| Reverse(weight(pair, counts)));
    let kept = top.filter(|top| *top > 0).unwrap_or(usize::MAX).min(pairs.len());
    let hidden = pairs.split_off(kept);
    (pairs, hidden)
}

fn sum(pairs: &[Pair]) -> (u64, i64) {
    pairs
        .iter()
        .fold((0, 0), |(bytes, calls), pair| (bytes.saturating_add(pair.bytes), calls.saturating_add(pair.calls)))
}
