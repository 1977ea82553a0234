//! Who waited for whom: bounds from counters, exact times from a timeline.

mod rows;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

use rows::{Operation, Wait, operations, waits};

use super::context::shorten;
use super::{Column, Context, Flag, Part, Question, View, column};
use crate::document::{Audience, Document, Format, More, Style, Unit, Value};
use crate::error::Error;
use crate::query::timeline::clocks;
use crate::query::waiting::{Pattern, Refused, Timed, Waited, all_to_all, groups, timed};
use crate::text::units;

pub const VIEW: View = View {
    name: "waits",
    command: "waits",
    flag: Flag::Default,
    help: "Who waited for whom",
    meaning: "time that ranks waited for others: from counters, bounds for barriers and for collectives in which all ranks exchange data; with a timeline, exact times by Scalasca's definitions",
    note: "[Find out who waits](../howto/find-the-reason.md#who-waits-for-whom) explains the bounds. `operations` has sums over the ranks; `pairs` has, from a timeline, each rank that waited, the rank that it waited for, and the call site. \
           `clock_error_s` is the largest clock error between two ranks. `lost_events` is the number of overwritten events: if not 0, the timeline covers only the end of the run.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "operations",
    lacks: &[],
    empty: "no barrier or all-to-all collective on more than one rank; other operations need a timeline: through run --trace",
    parts: &[
        Part { name: "waits", headings: || column::headings(WAITS) },
        Part { name: "operations", headings: || column::headings(OPERATIONS) },
        Part { name: "pairs", headings: || column::headings(PAIRS) },
    ],
    ask,
};

/// Operations, and pairs, that a table shows unless told otherwise.
const SHOWN: usize = 12;

type OfOperation = Column<Operation>;
type OfPair = Column<Waited>;

const WAITS: &[Column<Wait>] = &[
    Column::record("comm", Unit::Communicator, "the communicator's name", |context, row| {
        Value::text(context.comm(row.comm))
    }),
    Column::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |context, row| {
        Value::maybe(context.label(row.comm))
    }),
    Column::record("op", Unit::Operation, "the operation", |context, row| Value::Operation(context.op(row.op))),
    Column::record("rank", Unit::Rank, "the rank that waited", |_, row| Value::Number(row.rank)),
    Column::record(
        "wait_min_s",
        Unit::Seconds,
        "it waited at least this long; null: counters do not show it",
        |_, row| Value::some(row.bounds, |(least, _)| Value::Time(least)),
    ),
    Column::record("wait_max_s", Unit::Seconds, "and at most this long", |_, row| {
        Value::some(row.bounds, |(_, most)| Value::Time(most))
    }),
    Column::record("state", Unit::Text, "Scalasca's name of the wait state, from a timeline", |_, row| {
        Value::some(row.exact, |(state, _)| Value::text(state.name()))
    }),
    Column::record(
        "wait_s",
        Unit::Seconds,
        "its waiting in that state, from the timeline; a lower bound if events were lost",
        |_, row| Value::some(row.exact, |(_, wait_ns)| Value::Time(wait_ns)),
    ),
    Column::record(
        "late_ranks",
        Unit::Ranks,
        "the ranks that it waited for: from a timeline those that caused at least a quarter of the waiting, else those that were always late; empty if they changed each time",
        |_, row| Value::owned(row.late.to_string()),
    ),
];

const OPERATIONS: &[OfOperation] = &[
    OfOperation::record("comm", Unit::Communicator, "the communicator's name", |context, row| {
        Value::text(context.comm(row.comm))
    }),
    OfOperation::shown("communicator", Unit::Communicator, |context, row| match &row.title {
        Some(title) => Value::text(title),
        None => Value::Communicator { name: context.comm(row.comm), label: context.label(row.comm) },
    }),
    OfOperation::new("op", "operation", Unit::Operation, "the operation", |context, row| {
        Value::Operation(context.op(row.op))
    }),
    OfOperation::new(
        "time_s",
        "time",
        Unit::Seconds,
        "in the operation, over all members; null: see the profile",
        |_, row| Value::some(row.time_ns, Value::Time),
    )
    .style(Style::Blank),
    OfOperation::record("wait_min_s", Unit::Seconds, "lower bound of the waiting over all members", |_, row| {
        least(row)
    }),
    OfOperation::record("wait_max_s", Unit::Seconds, "and at most", |_, row| most(row)),
    OfOperation::shown("waiting", Unit::Seconds, |_, row| least(row))
        .style(Style::Blank)
        .when(|_, rows| !is_told(rows)),
    OfOperation::shown("at most", Unit::Seconds, |_, row| most(row)).style(Style::Blank).when(|_, rows| !is_told(rows)),
    OfOperation::new("wait_s", "timeline", Unit::Seconds, "by the timeline", |_, row| {
        Value::some(row.exact, |(_, wait_ns)| Value::Time(wait_ns))
    })
    .style(Style::Blank)
    .when(|_, rows| is_timed(rows)),
    OfOperation::new("state", "state", Unit::Text, "Scalasca's name of the wait state, from a timeline", |_, row| {
        Value::some(row.exact, |(state, _)| Value::text(state.name()))
    })
    .style(Style::Blank)
    .when(|_, rows| is_timed(rows)),
    // What a timeline tells matters more.
    OfOperation::shown("at least", Unit::Seconds, |_, row| least(row))
        .style(Style::Blank)
        .optional(3)
        .when(|_, rows| is_told(rows)),
    OfOperation::shown("at most", Unit::Seconds, |_, row| most(row))
        .style(Style::Blank)
        .optional(3)
        .when(|_, rows| is_told(rows)),
    OfOperation::record(
        "late",
        Unit::Text,
        "whether the same ranks were late each time: `same`, `mixed`, or `changing`, which may also mean slow calls without waiting",
        |_, row| {
            Value::some(row.pattern, |pattern| {
                Value::text(match pattern {
                    Pattern::Same => "same",
                    Pattern::Changing => "changing",
                    Pattern::Mixed => "mixed",
                })
            })
        },
    ),
    OfOperation::record(
        "late_ranks",
        Unit::Ranks,
        "the ranks that the others waited for; empty if they changed each time",
        |_, row| Value::owned(row.late.to_string()),
    ),
    OfOperation::shown("late rank", Unit::Text, |_, row| match row.pattern {
        Some(Pattern::Changing) if row.exact.is_none() || row.is_partial => Value::text("changes"),
        Some(Pattern::Mixed) => Value::owned(format!("mostly {}", row.late)),
        _ => Value::owned(row.late.to_string()),
    })
    .style(Style::Blank)
    .widest(16),
    OfOperation::new("victim", "waits most", Unit::Rank, "the rank that waited most", |_, row| {
        Value::some(row.victim, Value::Number)
    })
    .style(Style::Blank)
    .optional(2),
    OfOperation::record(
        "refused",
        Unit::Text,
        "why the waiting is unknown: `calls differ`, `intercommunicator`",
        |_, row| Value::some(row.refused, |refused| Value::text(reason(refused))),
    ),
];

fn least(row: &Operation) -> Value<'static> {
    Value::some(row.bounds, |(least, _)| Value::Time(least))
}

fn most(row: &Operation) -> Value<'static> {
    Value::some(row.bounds, |(_, most)| Value::Time(most))
}

fn is_timed(rows: &[Operation]) -> bool {
    rows.iter().any(|row| row.exact.is_some())
}

/// Whether the timeline tells of the whole run.
fn is_told(rows: &[Operation]) -> bool {
    is_timed(rows) && rows.iter().all(|row| !row.is_partial)
}

const PAIRS: &[OfPair] = &[
    OfPair::new("state", "state", Unit::Text, "Scalasca's name of the wait state", |_, row| {
        Value::text(row.state.name())
    }),
    OfPair::new(
        "comm",
        "communicator",
        Unit::Communicator,
        "the communicator of the call that waited",
        |context, row| Value::Communicator { name: context.comm(row.comm), label: context.label(row.comm) },
    ),
    OfPair::new("op", "operation", Unit::Operation, "the call that waited", |context, row| {
        Value::Operation(context.op(row.op))
    }),
    OfPair::new("rank", "rank", Unit::Rank, "the rank that waited", |_, row| Value::Number(row.rank)),
    OfPair::new("late_rank", "waited for", Unit::Rank, "the rank that it waited for", |_, row| {
        Value::Number(row.late_rank)
    }),
    OfPair::new("times", "times", Unit::Count, "number of calls", |_, row| Value::Number(row.times as i64)).optional(2),
    OfPair::new("wait_s", "waiting", Unit::Seconds, "waiting in these calls", |_, row| Value::Time(row.wait_ns)),
    OfPair::new("site", "at", Unit::Text, "the line of the call, if call sites were recorded", |context, row| {
        Value::maybe(row.site.and_then(|site| context.catalog.sites.spot(site)).map(|spot| spot.text.as_str()))
    })
    .style(Style::Blank)
    .when(|_, rows| rows.iter().any(|row| row.site.is_some())),
];

const LEGEND: &str = "Waiting is between the two bounds, computed from counters: the rank with the least time in a barrier or an exchange \
     was late. They meet if the same rank is late each time. A rank that loses its processor in a call seems to wait.";
const WITHOUT_TIMELINE: &str = " A timeline (through run --trace) gives exact times.";
const PARTIAL: &str =
    "timeline: the waiting at the end of the run, which the timeline covers, with Scalasca's name of the state.";
const TIMELINE: &str = "timeline: the waiting from the timeline, with Scalasca's name of the state.";
const BOUNDS: &str = "at most: with at least, the bounds of the waiting from counters alone.";

fn reason(refused: Refused) -> &'static str {
    match refused {
        Refused::CallsDiffer => "calls differ",
        Refused::Intercommunicator => "intercommunicator",
    }
}

/// What a table says in place of refused operations.
fn left_out(refused: Refused, operations: usize) -> String {
    let count = units::count(operations as u64, "operation");
    let which = match (refused, operations) {
        (Refused::CallsDiffer, _) => "whose ranks made different numbers of calls, or are not all in the profile",
        (Refused::Intercommunicator, 1) => "on an intercommunicator, where ranks wait for the other group only",
        (Refused::Intercommunicator, _) => "on intercommunicators, where ranks wait for the other group only",
    };
    format!("{count} {which}: waiting is unknown")
}

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let filter = &context.filter;
    let is_timed = filter.buckets.is_none() && filter.phases.is_none() && filter.time.is_none();
    let timeline = if is_timed { timed(&context.profile, &context.catalog)? } else { None };
    let mut groups = groups(&context.profile, &context.catalog, filter)?;
    let within = |ns| filter.time.is_none_or(|range| (range.low_ns..=range.high_ns).contains(&ns));
    for group in &mut groups {
        group.members.retain(|member| within(member.time_ns));
    }
    let is_kept =
        |waited: &Waited| filter.has_comm(waited.comm) && filter.has_op(waited.op) && filter.has_site(waited.site);
    let pairs: Vec<Waited> = timeline.iter().flat_map(|timed| &timed.waited).copied().filter(is_kept).collect();
    let is_partial = timeline.as_ref().is_some_and(|timed| !timed.is_whole());
    let has_rank = |rank| filter.has_rank(rank);
    let mut of_members = groups.iter().flat_map(|group| &group.members);
    let has_waits = of_members.any(|member| has_rank(member.rank)) || pairs.iter().any(|waited| has_rank(waited.rank));
    // There may be millions, which no table shows.
    let waits = if question.is_table() { Vec::new() } else { waits(&groups, &pairs, is_partial, has_rank) };
    let mut operations = operations(&context, &groups, &pairs, question.folds());
    operations.iter_mut().for_each(|operation| operation.is_partial = is_partial);
    let is_empty = !has_waits && groups.iter().all(|group| group.refused.is_none());
    let mut document = context.document(VIEW.entries, is_empty, VIEW.empty);
    document.numbers = vec![
        ("clock_error_s", Value::some(timeline.as_ref().map(|timed| timed.error_ns), Value::Time)),
        ("lost_events", Value::some(timeline.as_ref().map(|timed| timed.lost_events), Value::Number)),
    ];
    document.remarks.extend(remarks(&context, timeline.as_ref(), is_timed)?);
    if is_empty && let Some(reason) = untold(&context, timeline.is_some())? {
        document.reasons = [reason].into_iter().chain(document.remarks.iter().cloned()).collect();
    }
    let mut refused: BTreeMap<Refused, usize> = BTreeMap::new();
    operations.iter().filter_map(|operation| operation.refused).for_each(|why| *refused.entry(why).or_default() += 1);
    if question.is_table() {
        operations.retain(|operation| operation.refused.is_none());
    }
    document.hidden = shorten(&mut operations, question.top_of_table(SHOWN));
    let is_exact = self::is_timed(&operations);
    let is_any = !operations.is_empty();
    let mut of_ranks = column::table("waits", WAITS, &context, waits);
    of_ranks.audience = Audience::RECORDS;
    let mut of_operations = column::table("operations", OPERATIONS, &context, operations);
    of_operations.audience = Audience::BESIDE;
    if is_any {
        of_operations.legend = legend(is_exact, timeline.as_ref());
    }
    let and = if is_any { "and " } else { "" };
    of_operations.after = refused.into_iter().map(|(why, count)| format!("{and}{}", left_out(why, count))).collect();
    let has_pairs = pairs.iter().any(|waited| filter.has_rank(waited.rank));
    let mut of_pairs = heaviest(&context, pairs, question);
    of_pairs.audience = if has_pairs { Audience::BESIDE } else { Audience::JSON };
    document.tables = vec![of_ranks, of_operations, of_pairs];
    Ok(document)
}

/// `is_exact`: the timeline tells of waiting.
fn legend(is_exact: bool, timeline: Option<&Timed>) -> Vec<String> {
    match timeline {
        Some(timed) if is_exact && !timed.is_whole() => vec![LEGEND.to_owned(), PARTIAL.to_owned(), lost(timed)],
        Some(timed) if !timed.is_whole() => vec![LEGEND.to_owned(), lost(timed)],
        Some(_) if is_exact => vec![TIMELINE.to_owned(), BOUNDS.to_owned()],
        Some(_) => vec![LEGEND.to_owned()],
        None => vec![format!("{LEGEND}{WITHOUT_TIMELINE}")],
    }
}

fn lost(timed: &Timed) -> String {
    format!("{}, from the beginning: through run --trace=64M keeps more.", timed.lost())
}

fn heaviest(context: &Rc<Context>, mut pairs: Vec<Waited>, question: &Question) -> crate::document::Table {
    pairs.retain(|waited| context.filter.has_rank(waited.rank));
    pairs.sort_by_key(|waited| Reverse(waited.wait_ns));
    let mut table = column::table("pairs", PAIRS, context, pairs);
    let most = question.top_of_table(SHOWN).filter(|most| *most > 0).unwrap_or(usize::MAX);
    table.title = Some("Who waited for whom, from the timeline");
    table.more = Some(More { most, one: "more pair", hint: ": --top 0" });
    table
}

fn remarks(context: &Context, timeline: Option<&Timed>, is_timed: bool) -> Result<Vec<String>, Error> {
    let mut remarks = Vec::new();
    if !is_timed && !clocks(&context.profile)?.is_empty() {
        remarks.push("the timeline is left out: it has no sizes, phases and sums of time".to_owned());
    }
    let Some(timed) = timeline else { return Ok(remarks) };
    let is_kept = |(comm, op): (i64, i64)| context.filter.has_comm(comm) && context.filter.has_op(op);
    match timed.rootless.iter().filter(|(call, _)| is_kept(**call)).map(|(_, calls)| calls).sum::<u64>() {
        0 => {}
        1 => remarks.push("1 collective with a root is left out: its root is unknown".to_owned()),
        calls => remarks.push(format!("{calls} collectives with a root are left out: their roots are unknown")),
    }
    Ok(remarks)
}

/// Of operations in which counters never tell of waiting: what does.
fn untold(context: &Context, is_timed: bool) -> Result<Option<String>, Error> {
    let told = all_to_all(&context.catalog);
    let Some(ops) = context.filter.ops.as_ref().filter(|ops| !ops.is_empty()) else { return Ok(None) };
    if !context.filter.absent.is_empty() || ops.iter().any(|op| told.contains_key(op)) {
        return Ok(None);
    }
    let what = match ops.iter().map(|op| context.op(*op)).collect::<Vec<_>>().as_slice() {
        [op] => (*op).to_owned(),
        _ => "these operations".to_owned(),
    };
    let how = match (is_timed, clocks(&context.profile)?.is_empty()) {
        (true, _) => "and the timeline has none",
        (false, true) => "a timeline does (through run --trace)",
        (false, false) => "the timeline does",
    };
    let path = context.profile.path.display();
    Ok(Some(format!("{path}: counters do not show waiting in {what}: {how}")))
}
