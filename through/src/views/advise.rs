//! What to look at, and what to try.

use std::collections::HashSet;
use std::rc::Rc;

use super::context::shorten;
use super::{Column, Context, Flag, Part, Question, View, column};
use crate::advise::{Beyond, Finding, Level, Run, advise};
use crate::document::{Document, Drawing, Format, Line, Unit, Value};
use crate::error::Error;
use crate::query::catalog::Catalog;
use crate::query::open::Profile;
use crate::query::size;
use crate::render::advice::{Advice, Item};
use crate::text::path::{quoted, relative};
use crate::text::terminal::Paint;
use crate::text::units;

pub const VIEW: View = View {
    name: "advise",
    command: "advise",
    flag: Flag::Default,
    help: "What to look at, and what to try",
    meaning: "findings, the costliest first, each with what shows it",
    note: "[Advice](advice.md) lists all topics with their thresholds and sources. `level` is `high` from 10 % of the run time of all ranks, `warn` from 3 %, `info` from 1 %. `confidence` is `exact` (counts and sums), `bound` (what follows from them at least or at most), `timeline` or `datatypes`. \
           `gain_bound_s`: the run gets shorter by this at most, if all of it is mended. Each entry of `evidence` has `what`, `value`, `threshold`, and `sql`, which gives the value on the profile. `findings_above_info` counts what is `warn` or `high`; the exit status is 1 if there is any.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "findings",
    lacks: &[],
    empty: "the profile holds no ranks",
    parts: &[Part { name: "findings", headings: || column::headings(COLUMNS) }],
    ask: |question| document(question, |_, _| Ok(Vec::new())),
};

struct Found {
    run: Run,
}

type Of = Column<Finding, Found>;

const COLUMNS: &[Of] = &[
    Of::record("topic", Unit::Text, "what was found ([topics](advice.md))", |_, row| Value::text(row.topic.name)),
    Of::record("title", Unit::Text, "in one line", |found, row| Value::owned(row.title(&found.run))),
    Of::record("text", Unit::Text, "what was seen, and what to try", |found, row| Value::owned(row.text(&found.run))),
    Of::record("level", Unit::Text, "`high`, `warn` or `info`", |found, row| {
        Value::some(row.level(&found.run), |level| Value::text(level.name()))
    }),
    Of::record("confidence", Unit::Text, "`exact`, `bound`, `timeline` or `datatypes`", |_, row| {
        Value::text(row.confidence.name())
    }),
    Of::record(
        "comm",
        Unit::Communicator,
        "the communicator; of several that were made alike the one that costs most",
        |found, row| Value::some(row.comm, |comm| Value::text(found.run.name(comm))),
    ),
    Of::record("label", Unit::Text, "what `MPI_Comm_set_name` called it", |found, row| {
        Value::maybe(row.comm.and_then(|comm| found.run.comm(comm)?.label.as_deref()))
    }),
    Of::record("alike", Unit::Count, "how many more communicators made alike it holds for", |_, row| {
        Value::Number(row.alike() as i64)
    }),
    Of::record("op", Unit::Operation, "the operation", |found, row| {
        Value::some(row.op, |op| Value::Operation(found.run.op(op)))
    }),
    Of::record("ranks", Unit::Ranks, "who causes it, where that is somebody", |_, row| {
        Value::owned(row.ranks.to_string())
    }),
    Of::record("severity_rank_s", Unit::Seconds, "what it costs, over all ranks", |_, row| {
        Value::Time(row.severity_ns.clamp(0, i64::MAX.into()) as i64)
    }),
    Of::record("gain_bound_s", Unit::Seconds, "by how much the run gets shorter at most", |found, row| {
        Value::Time(row.gain_bound_ns(&found.run))
    }),
    Of::record("evidence", Unit::Records, "what shows it: `what`, `value`, `threshold`, `sql`", |_, row| {
        let evidence = row.evidence.iter().map(|evidence| {
            vec![
                ("what", Value::text(evidence.what)),
                ("value", Value::Ratio(evidence.value)),
                ("threshold", Value::Ratio(evidence.threshold)),
                ("sql", Value::text(&evidence.sql)),
            ]
        });
        Value::Records(evidence.collect())
    }),
    Of::record("command", Unit::Text, "the command that shows it", |found, row| Value::owned(command(&found.run, row))),
];

fn command(run: &Run, finding: &Finding) -> String {
    let file = quoted(&run.profile.path);
    match finding.command.split_once(' ') {
        // A command has its name before the profile, a view of the profile its switches behind it.
        Some((name, rest)) if !name.starts_with('-') => format!("through {name} {file} {rest}"),
        _ => format!("through {file} {}", finding.command),
    }
}

/// What is shown, with what rules of other crates find.
pub fn document(question: &Question, beyond: Beyond) -> Result<Document, Error> {
    let context = Context::of(question)?;
    let run = Run::read(&context.profile, &context.catalog)?;
    let mut findings = advise(&run, beyond(&run, &question.bench)?)?;
    if let Some(since) = &question.since {
        let known = known(since)?;
        findings.retain(|finding| !known.contains(&key(&run, finding)));
    }
    let above = findings.iter().filter(|finding| finding.level(&run).is_some_and(|level| level < Level::Info)).count();
    let mut document = context.document(VIEW.entries, run.ledger.ranks == 0, VIEW.empty);
    document.numbers = vec![("findings_above_info", Value::Number(above as i64))];
    document.hidden = shorten(&mut findings, question.top);
    if question.is_table() {
        let items = findings.iter().map(|finding| item(&run, finding)).collect();
        let advice = Advice { items, foot: foot(&run, findings.len(), document.hidden) };
        document.drawings = vec![(Format::Table, Box::new(advice) as Box<dyn Drawing>)];
    }
    document.tables = vec![column::table("findings", COLUMNS, &Rc::new(Found { run }), findings)];
    Ok(document)
}

/// What makes a finding the same in another run.
fn key(run: &Run, finding: &Finding) -> (&'static str, String, String) {
    let comm = finding.comm.map(|comm| run.name(comm).to_owned()).unwrap_or_default();
    (finding.topic.name, comm, finding.op.map(|op| run.op(op).to_owned()).unwrap_or_default())
}

fn known(profile: &Rc<Profile>) -> Result<HashSet<(&'static str, String, String)>, Error> {
    let run = Run::read(profile, &Rc::new(Catalog::read(profile)?))?;
    Ok(advise(&run, Vec::new())?.iter().map(|finding| key(&run, finding)).collect())
}

/// Findings that the head of other views has.
const NAMED: usize = 2;

/// For the head of other views: the heaviest findings, and the command that tells more.
pub fn lines(context: &Context, with_command: bool) -> Result<Vec<Line>, Error> {
    let command =
        |more: &str| format!("{more}why, and what to try: through advise {}", quoted(&relative(&context.profile.path)));
    if size::has_many_records(&context.profile)? {
        // That takes longer than a first look should.
        let line = Line { name: "findings", text: command(""), paint: None };
        return Ok(if with_command { vec![line] } else { Vec::new() });
    }
    let run = Run::read(&context.profile, &context.catalog)?;
    let findings = advise(&run, Vec::new())?;
    let titled = findings.iter().take(NAMED).map(|finding| {
        let share = units::percent(run.share(finding.severity_ns), 1.0);
        let paint = (finding.level(&run) == Some(Level::High)).then_some(Paint::Warning);
        (format!("{share:>6}  {}", finding.title(&run)), paint)
    });
    let more = match findings.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("{more} more, "),
    };
    let command = (with_command && !findings.is_empty()).then(|| (command(&more), None));
    let names = ["findings"].into_iter().chain(std::iter::repeat(""));
    Ok(names.zip(titled.chain(command)).map(|(name, (text, paint))| Line { name, text, paint }).collect())
}

pub fn item(run: &Run, finding: &Finding) -> Item {
    let level = finding.level(run).unwrap_or(Level::Info);
    let severity_ns = finding.severity_ns.clamp(0, i64::MAX.into()) as i64;
    let share = units::percent(run.share(finding.severity_ns), 1.0);
    let (bound, gain_ns) = (finding.cost.words(), finding.gain_bound_ns(run));
    let mut cost = format!("Costs {bound}{} of the ranks' time ({share} of the run)", units::time(severity_ns));
    if gain_ns > 0 {
        cost += &format!("; mended, the run gets at most {} shorter", units::time(gain_ns));
    }
    Item {
        level: level.name(),
        is_high: level == Level::High,
        title: finding.title(run),
        text: finding.text(run),
        cost: format!("{cost}. {}", sure(finding)),
        command: command(run, finding),
    }
}

fn sure(finding: &Finding) -> &'static str {
    use crate::advise::{Confidence, Cost};
    match finding.confidence {
        Confidence::Exact if finding.cost == Cost::About => {
            "Counted for more communicators, and shared out by their members."
        }
        // The calls are counted exactly, but a part of their time would stay.
        Confidence::Exact if finding.cost != Cost::Exactly => "A bound from counters.",
        Confidence::Exact => "Counted exactly.",
        Confidence::Bound => "A bound from counters.",
        Confidence::Timeline => "By the timeline.",
        Confidence::Datatypes => "From recorded datatypes.",
    }
}

fn foot(run: &Run, shown: usize, hidden: usize) -> String {
    let mut foot = match (shown, hidden) {
        (0, 0) => "Nothing stands out.".to_owned(),
        (_, 0) => String::new(),
        (_, hidden) => format!("{hidden} more: --top 0."),
    };
    if run.waits.is_none() {
        foot += " The profile holds no single ranks: who waits for whom cannot be told (COMMSEE_DETAIL=rank).";
    } else if let Some(timed) = &run.timed {
        if !timed.is_whole() {
            foot += &format!(" {}: it tells of the end of the run alone (COMMSEE_TRACE=64M keeps more).", timed.lost());
        }
    } else {
        foot += " More can be told with COMMSEE_TRACE=1 (waiting in point-to-point calls) and COMMSEE_DATATYPES=1.";
    }
    foot.trim_start().to_owned()
}
