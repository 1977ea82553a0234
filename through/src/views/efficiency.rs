//! Where the run time went: the efficiencies of POP, and a ledger that adds up.

use std::collections::BTreeMap;
use std::rc::Rc;

use commsee::ranks::Ranks;

use super::context::shorten;
use super::{Column, Context, Flag, Folding, Part, Question, View, column};
use crate::document::{Audience, Document, Format, Line, Section, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::families::Families;
use crate::query::ledger::{Entry, Factors, Ledger, ledger};
use crate::text::units;

pub const VIEW: View = View {
    name: "efficiency",
    command: "",
    flag: Flag::Switch { short: None, long: "efficiency" },
    help: "Where the run time went",
    meaning: "parallel efficiency with its factors, and the rest of the run time by communicator, operation and phase",
    note: "`--comm` and `--rank` select ranks: the members of a communicator, over the whole run. Factors are those of POP in the multiplicative form, as TALP prints them: \
           `parallel_efficiency` is `load_balance` times `communication_efficiency`, `load_balance` is `load_balance_in_nodes` times `load_balance_between_nodes`. With `ranks` times `run_time_s` as the \
           whole, the shares of the ledger, `end_skew_rank_s` over the whole, and `parallel_efficiency` add up to 1. The row with communicator and operation `-` is MPI time without a counter: \
           calls whose counters were lost, or rounding. If the job was still running, time in calls that have not returned is MPI time. `unscheduled_rank_s` is the part of `working_rank_s` in which the main threads were ready to run and had no processor: an estimate from `/proc/self/schedstat`, 0 if the kernel does not record it. A profile cannot separate serialization and transfer.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "entries",
    lacks: &["family", "op", "bytes", "bucket", "p2p", "collectives", "time", "site", "phase"],
    empty: "the profile has no ranks",
    parts: &[Part { name: "ledger", headings: || column::headings(COLUMNS) }],
    ask,
};

/// Entries that a table shows unless told otherwise.
const SHOWN: usize = 12;

pub struct Row {
    entry: Entry,
    whole_ns: i128,
    /// In a table, of a family of so many.
    title: Option<String>,
    /// Of that family, without the first.
    others: usize,
}

impl Row {
    fn time(&self) -> Value<'static> {
        time(self.entry.time_ns)
    }
}

fn time(ns: i128) -> Value<'static> {
    Value::Time(narrow(ns))
}

fn narrow(ns: i128) -> i64 {
    ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

type Of = Column<Row>;

const COLUMNS: &[Of] = &[
    Of::record("comm", Unit::Communicator, "the communicator's name", |context, row| match row.entry.op {
        Some(_) => Value::text(context.comm(row.entry.comm)),
        None => Value::text("-"),
    }),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |context, row| {
        Value::maybe(context.label(row.entry.comm))
    }),
    Of::shown("communicator", Unit::Communicator, |context, row| match &row.title {
        Some(title) => Value::text(title),
        None => Value::Communicator { name: context.comm(row.entry.comm), label: context.label(row.entry.comm) },
    }),
    Of::new("op", "operation", Unit::Operation, "the operation", |context, row| match row.entry.op {
        Some(op) => Value::Operation(context.op(op)),
        None => Value::text("-"),
    }),
    Of::new("phase", "phase", Unit::Text, "the phase, empty outside of any", |context, row| {
        Value::text(context.phase(row.entry.phase))
    })
    .when(|context, _| context.filter.is_phased),
    Of::new("rank_s", "time", Unit::Seconds, "MPI time over the ranks, in rank-seconds", |_, row| row.time()),
    Of::new("share", "of run time", Unit::Share, "share of ranks × run time", |_, row| Value::Share {
        part: row.entry.time_ns as f64,
        whole: row.whole_ns as f64,
    })
    .style(Style::Blank),
];

const LEGEND: &str = "Times are summed over the ranks, shares are of ranks × run time. Time in a collective or a receive is often waiting \
     for a rank that works: see through waits.";

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let ranks = chosen(&context);
    let ledger = ledger(&context.profile, &context.catalog, ranks.as_ref())?;
    let mut document = context.document(VIEW.entries, ledger.ranks == 0, VIEW.empty);
    document.numbers = numbers(&ledger);
    if question.is_table() {
        document.tables.push(summary(&ledger));
    }
    let mut rows = rows(&context, &ledger, question.is_table() && question.folding == Folding::Usual);
    document.hidden = shorten(&mut rows, question.top_of_table(SHOWN));
    let mut table = column::table("ledger", COLUMNS, &context, rows);
    let unscheduled_ns = unscheduled_ns(&ledger);
    let lost_ns = ledger.lost_ns() + unscheduled_ns;
    let lost = units::percent(lost_ns as f64, ledger.whole_ns() as f64);
    if ledger.end_skew_ns > 0 {
        let skew = units::time(narrow(ledger.end_skew_ns));
        let share = units::percent(ledger.end_skew_ns as f64, ledger.whole_ns() as f64);
        table.after.push(format!("and {skew} ({share}) on ranks that ended before the last one"));
    }
    if unscheduled_ns > 0 {
        let share = units::percent(unscheduled_ns as f64, ledger.whole_ns() as f64);
        let time = units::time(narrow(unscheduled_ns));
        table.after.push(format!("and about {time} ({share}) outside MPI, ready to run without a processor"));
    }
    if ledger.unreturned_ns > 0 {
        let time = units::time(narrow(ledger.unreturned_ns));
        table.after.push(format!("{time} of it is in calls that have not returned: through --in-flight"));
    }
    table.sections = vec![Section {
        name: format!("{lost} of the run time is not work"),
        weight: format!("{} of {}", units::time(narrow(lost_ns)), units::time(narrow(ledger.whole_ns()))),
        rows: usize::MAX,
        ..Section::default()
    }];
    table.legend = vec![LEGEND.to_owned()];
    document.tables.push(table);
    if ledger.working_ns < 0 {
        document.remarks.push("ranks spent more MPI time than run time: several threads called MPI at once".to_owned());
    }
    Ok(document)
}

/// Outside MPI without a processor, where it is worth a word.
fn unscheduled_ns(ledger: &Ledger) -> i128 {
    let is_worth = ledger.unscheduled_ns as f64 >= NAMED_SHARE * ledger.whole_ns() as f64;
    if is_worth { ledger.unscheduled_ns } else { 0 }
}

/// What an entry must be of the run time to be named in one line, and how many are.
const NAMED_SHARE: f64 = 0.01;
const NAMED: usize = 3;
/// Of 80 columns, behind the line's name.
const ROOM: usize = 69;

/// For the head of other views, as much as a line holds: `5.1 % work, 75.4 % Waitall on a0.1, 9.8 % Allreduce on d0.4, 9.7 % other`.
pub fn line(context: &Context) -> Result<Option<Line>, Error> {
    let ledger = ledger(&context.profile, &context.catalog, None)?;
    let whole = ledger.whole_ns() as f64;
    if ledger.whole_ns() == 0 {
        return Ok(None);
    }
    let rows = rows(context, &ledger, true);
    let is_named = |row: &&Row| row.entry.time_ns as f64 >= NAMED_SHARE * whole && row.entry.op.is_some();
    let mut rest_ns = ledger.lost_ns();
    let unscheduled_ns = unscheduled_ns(&ledger);
    let mut text = format!("{} work", units::percent((ledger.working_ns - unscheduled_ns) as f64, whole));
    if unscheduled_ns > 0 {
        text += &format!(", {} no processor", units::percent(unscheduled_ns as f64, whole));
    }
    let mut found = None;
    for row in rows.iter().filter(is_named).take(NAMED) {
        let op = row.entry.op.map(|op| context.op(op)).unwrap_or_default();
        let share = units::percent(row.entry.time_ns as f64, whole);
        let comm = context.comm(row.entry.comm);
        let on = match row.others {
            0 => comm.to_owned(),
            others => format!("{comm} and {others} more"),
        };
        text += &format!(", {share} {} on {on}", op.strip_prefix("MPI_").unwrap_or(op));
        rest_ns -= row.entry.time_ns;
        let with_rest = format!("{text}, {} other", units::percent(rest_ns as f64, whole));
        let fits = with_rest.chars().count() <= ROOM;
        found = if fits { Some(with_rest) } else { found.or_else(|| Some(text.clone())) };
    }
    Ok(found.map(|text| Line { name: "spent in", text, paint: None }))
}

/// The ranks that the filters name: all, or members of a communicator.
fn chosen(context: &Context) -> Option<std::collections::BTreeSet<i64>> {
    let filter = &context.filter;
    let members = filter.comms.as_ref().map(|comms| {
        let mut members = Ranks::default();
        for ranks in comms.iter().filter_map(|comm| context.communicator(*comm)?.ranks.as_deref()) {
            members = members.with(&Ranks::read(ranks));
        }
        members
    });
    if members.is_none() && filter.ranks.is_none() {
        return None;
    }
    let is_member =
        |rank: i64| members.as_ref().is_none_or(|members| u32::try_from(rank).is_ok_and(|rank| members.contains(rank)));
    let ranks = context.catalog.processes.iter().map(|process| process.rank);
    Some(ranks.filter(|rank| filter.has_rank(*rank) && is_member(*rank)).collect())
}

/// Entries; where people read them, those of a family together.
fn rows(context: &Context, ledger: &Ledger, are_folded: bool) -> Vec<Row> {
    let whole_ns = ledger.whole_ns();
    if !are_folded {
        return ledger.entries.iter().map(|entry| Row { entry: *entry, whole_ns, title: None, others: 0 }).collect();
    }
    let families = Families::of(&context.catalog);
    let mut sums: BTreeMap<(i64, Option<i64>, i64), (Entry, usize)> = BTreeMap::new();
    for entry in &ledger.entries {
        let head = families.find(entry.comm).map_or(entry.comm, |family| family.first());
        let (sum, count) = sums.entry((head, entry.op, entry.phase)).or_insert((Entry { time_ns: 0, ..*entry }, 0));
        (sum.time_ns, *count) = (sum.time_ns + entry.time_ns, *count + 1);
    }
    let row = |(entry, count): (Entry, usize)| Row {
        entry,
        whole_ns,
        title: (count > 1).then(|| families.find(entry.comm).map(|family| family.title(count))).flatten(),
        others: count.saturating_sub(1),
    };
    let mut rows: Vec<Row> = sums.into_values().map(row).collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.entry.time_ns), row.entry.comm, row.entry.op, row.entry.phase));
    rows
}

/// What JSON says beside the ledger.
fn numbers(ledger: &Ledger) -> Vec<(&'static str, Value<'static>)> {
    let Factors {
        parallel_efficiency,
        load_balance,
        load_balance_in_nodes,
        load_balance_between_nodes,
        communication_efficiency,
    } = ledger.factors;
    let factor = |factor| Value::some(factor, Value::Ratio);
    vec![
        ("run_time_s", Value::Time(ledger.run_time_ns)),
        ("ranks", Value::Number(ledger.ranks as i64)),
        ("parallel_efficiency", factor(parallel_efficiency)),
        ("load_balance", factor(load_balance)),
        ("load_balance_in_nodes", factor(load_balance_in_nodes)),
        ("load_balance_between_nodes", factor(load_balance_between_nodes)),
        ("communication_efficiency", factor(communication_efficiency)),
        ("working_rank_s", time(ledger.working_ns)),
        ("unscheduled_rank_s", time(ledger.unscheduled_ns)),
        ("end_skew_rank_s", time(ledger.end_skew_ns)),
    ]
}

struct Factor {
    name: &'static str,
    value: Option<f64>,
    meaning: &'static str,
}

const FACTORS: &[Column<Factor, ()>] = &[
    Column::shown("factor", Unit::Text, |_, row| Value::text(row.name)),
    Column::shown("", Unit::Share, |_, row| Value::some(row.value, |value| Value::Share { part: value, whole: 1.0 })),
    Column::shown("definition", Unit::Text, |_, row| Value::text(row.meaning)),
];

fn summary(ledger: &Ledger) -> Table {
    let factors = ledger.factors;
    let factor = |name, value, meaning| Factor { name, value, meaning };
    let mut rows = vec![
        factor("parallel efficiency", factors.parallel_efficiency, "time outside MPI ÷ (ranks × run time)"),
        factor("  load balance", factors.load_balance, "mean ÷ maximum of that time over the ranks"),
    ];
    // On one node the balance between nodes says nothing.
    if factors.load_balance_between_nodes.is_some_and(|balance| balance < 1.0) {
        rows.push(factor(
            "    inside nodes",
            factors.load_balance_in_nodes,
            "largest mean of a node ÷ maximum of a rank",
        ));
        rows.push(factor("    between nodes", factors.load_balance_between_nodes, "mean ÷ largest mean of a node"));
    }
    rows.push(factor("  communication", factors.communication_efficiency, "maximum of that time ÷ run time"));
    Table { audience: Audience::PEOPLE, is_above: true, ..column::table("factors", FACTORS, &Rc::new(()), rows) }
}
