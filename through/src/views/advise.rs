//! What to change, ranked by what the run gains.

use std::collections::HashSet;
use std::rc::Rc;

use super::context::shorten;
use super::{Column, Context, Flag, Part, Question, View, column};
use crate::advise::{Beyond, Confidence, Finding, Level, Run, advise};
use crate::document::{Document, Drawing, Format, Line, Unit, Value};
use crate::error::Error;
use crate::query::catalog::Catalog;
use crate::query::open::Profile;
use crate::query::overview::overview;
use crate::query::size;
use crate::render::advice::{Advice, Item};
use crate::text::path::{quoted, relative};
use crate::text::terminal::Paint;
use crate::text::units;

pub const VIEW: View = View {
    name: "advise",
    command: "advise",
    flag: Flag::Default,
    help: "What to change, ranked by what the run gains",
    meaning: "findings, the costliest first, with their evidence",
    note: "[Advice](advice.md) lists all topics with their thresholds and sources. `level` is `high` if a fix saves at least 10 % of the run time, `warn` from 3 %, `info` from 1 %. `confidence` is `exact` (counts and sums), `bound` (computed from them), `timeline` or `datatypes`. \
           `gain_s` is the most run time that a fix saves. Time that several findings claim counts only for the costliest, so the sum never exceeds the run time. \
           A wait that another finding explains follows that finding, with its title as `cause` and without level and gain. Each entry of `evidence` has `what`, `value`, `threshold`, and `sql`, the query for the value. `findings_above_info` counts findings with `warn` or `high`.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "findings",
    lacks: &[],
    empty: "the profile has no ranks",
    parts: &[Part { name: "findings", headings: || column::headings(COLUMNS) }],
    ask: |question| Ok(document(question, |_, _| Ok(Vec::new()))?.0),
};

struct Found {
    run: Run,
}

/// A finding, or a wait below the one that explains it.
struct Row {
    finding: Finding,
    cause: Option<String>,
}

impl Row {
    /// A wait that another one explains gains nothing by itself.
    fn own(&self) -> Option<&Finding> {
        Some(&self.finding).filter(|_| self.cause.is_none())
    }
}

type Of = Column<Row, Found>;

const COLUMNS: &[Of] = &[
    Of::record("topic", Unit::Text, "its topic ([topics](advice.md))", |_, row| Value::text(row.finding.topic.name)),
    Of::record("title", Unit::Text, "in one line", |found, row| Value::owned(row.finding.title(&found.run))),
    Of::record("text", Unit::Text, "the observation and the advice", |found, row| {
        Value::owned(row.finding.text(&found.run))
    }),
    Of::record("level", Unit::Text, "`high`, `warn` or `info`", |found, row| {
        Value::some(row.own().and_then(|finding| finding.level(&found.run)), |level| Value::text(level.name()))
    }),
    Of::record("gain_s", Unit::Seconds, "run time that a fix saves at most", |_, row| {
        Value::some(row.own(), |finding| Value::Time(finding.gain_ns))
    }),
    Of::record("gain_share", Unit::Ratio, "`gain_s` as a share of the run time", |found, row| {
        Value::some(row.own(), |finding| Value::Ratio(found.run.share(finding.gain_ns)))
    }),
    Of::record("cause", Unit::Text, "the title of the finding that explains this wait", |_, row| {
        Value::maybe(row.cause.as_deref())
    }),
    Of::record("confidence", Unit::Text, "`exact`, `bound`, `timeline` or `datatypes`", |_, row| {
        Value::text(row.finding.confidence.name())
    }),
    Of::record("comm", Unit::Communicator, "the communicator; the costliest of several similar ones", |found, row| {
        Value::some(row.finding.comm, |comm| Value::text(found.run.name(comm)))
    }),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |found, row| {
        Value::maybe(row.finding.comm.and_then(|comm| found.run.comm(comm)?.label.as_deref()))
    }),
    Of::record("alike", Unit::Count, "number of similar communicators with the same finding", |_, row| {
        Value::Number(row.finding.alike() as i64)
    }),
    Of::record("op", Unit::Operation, "the operation", |found, row| {
        Value::some(row.finding.op, |op| Value::Operation(found.run.op(op)))
    }),
    Of::record("ranks", Unit::Ranks, "the ranks that cause it, if known", |_, row| {
        Value::owned(row.finding.ranks.to_string())
    }),
    Of::record("evidence", Unit::Records, "the evidence: `what`, `value`, `threshold`, `sql`", |_, row| {
        let evidence = row.finding.evidence.iter().map(|evidence| {
            vec![
                ("what", Value::text(evidence.what)),
                ("value", Value::Ratio(evidence.value)),
                ("threshold", Value::Ratio(evidence.threshold)),
                ("sql", Value::text(&evidence.sql)),
            ]
        });
        Value::Records(evidence.collect())
    }),
    Of::record("command", Unit::Text, "the command that shows more", |found, row| {
        Value::owned(command(&found.run, &row.finding))
    }),
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
pub fn document(question: &Question, beyond: Beyond) -> Result<(Document, Option<Level>), Error> {
    let context = Context::of(question)?;
    let run = Run::read(&context.profile, &context.catalog)?;
    let mut findings = advise(&run, beyond(&run, &question.bench)?)?;
    if let Some(since) = &question.since {
        let known = known(since)?;
        findings.retain(|finding| !known.contains(&key(&run, finding)));
    }
    let worst = findings.iter().filter_map(|finding| finding.level(&run)).min();
    let above = findings.iter().filter(|finding| finding.level(&run).is_some_and(|level| level < Level::Info)).count();
    let mut document = context.document(VIEW.entries, run.ledger.ranks == 0, VIEW.empty);
    document.numbers = vec![("findings_above_info", Value::Number(above as i64))];
    document.hidden = shorten(&mut findings, question.top);
    if question.is_table() {
        let items = findings.iter().map(|finding| item(&run, finding)).collect();
        let advice = Advice { items, foot: foot(&run, &findings, document.hidden) };
        document.drawings = vec![(Format::Table, Box::new(advice) as Box<dyn Drawing>)];
    }
    let mut rows = Vec::new();
    findings.into_iter().for_each(|finding| flat(&run, finding, None, &mut rows));
    document.tables = vec![column::table("findings", COLUMNS, &Rc::new(Found { run }), rows)];
    Ok((document, worst))
}

/// The waits that a finding explains stand behind it.
fn flat(run: &Run, mut finding: Finding, cause: Option<String>, rows: &mut Vec<Row>) {
    let victims = std::mem::take(&mut finding.explains);
    let title = finding.title(run);
    rows.push(Row { finding, cause });
    victims.into_iter().for_each(|victim| flat(run, victim, Some(title.clone()), rows));
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
        |more: &str| format!("{more}causes and advice: through advise {}", quoted(&relative(&context.profile.path)));
    if size::has_many_records(&context.profile)? {
        // That takes longer than a first look should.
        let line = Line { name: "findings", text: command(""), paint: None };
        return Ok(if with_command { vec![line] } else { Vec::new() });
    }
    let run = Run::read(&context.profile, &context.catalog)?;
    let findings = advise(&run, Vec::new())?;
    let titled = findings.iter().take(NAMED).map(|finding| {
        let share = match finding.gain_ns {
            0 => String::new(),
            gain_ns => units::percent(run.share(gain_ns), 1.0),
        };
        let level = finding.level(&run).unwrap_or(Level::Info);
        let paint = (level == Level::High).then_some(Paint::Warning);
        (format!("{:<4}  {share:>6}  {}", level.name(), finding.title(&run)), paint)
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
    let mut victims = Vec::new();
    finding.explains.iter().for_each(|victim| chained(run, victim, 0, &mut victims));
    Item {
        level: level.name(),
        is_high: level == Level::High,
        title: finding.title(run),
        gain: gain(run, finding),
        text: finding.text(run),
        more: format!("{} {}", finding.topic.more, finding.topic.rule.replace('`', "")),
        victims,
        command: command(run, finding),
    }
}

fn chained(run: &Run, victim: &Finding, depth: usize, list: &mut Vec<String>) {
    let sum_ns = victim.gain.sum_ns();
    let waiting = victim.gain.by_rank().into_values().filter(|ns| *ns > 0).count();
    let each = units::time(sum_ns / waiting.max(1) as i64);
    list.push(format!("{}{}, {each} a rank", "  ".repeat(depth), victim.title(run)));
    victim.explains.iter().for_each(|victim| chained(run, victim, depth + 1, list));
}

/// `Saves up to 213 ms of 2.22 s (9.6 %): a bound from counters.`
fn gain(run: &Run, finding: &Finding) -> String {
    let sure = match finding.confidence {
        Confidence::Exact => "counted",
        Confidence::Bound => "a bound from counters",
        Confidence::Timeline => "from the timeline",
        Confidence::Datatypes => "from recorded datatypes",
    };
    let why = finding.why_low(run).map(|why| format!(", but {why}")).unwrap_or_default();
    if finding.gain_ns == 0 {
        return format!("Saves little here: {sure}{why}.");
    }
    let share = units::percent(run.share(finding.gain_ns), 1.0);
    let (gain, whole) = (units::time(finding.gain_ns), units::time(run.ledger.run_time_ns));
    format!("Saves up to {gain} of {whole} ({share}): {sure}{why}.")
}

fn foot(run: &Run, findings: &[Finding], hidden: usize) -> String {
    let mut foot: Vec<String> = unfinished(run).into_iter().collect();
    match findings.first() {
        None if !run.catalog.has_mpi() => foot.push(
            "A program without MPI: findings are about MPI. Its NCCL calls and copies: through layers.".to_owned(),
        ),
        None => foot.push("Nothing stands out.".to_owned()),
        Some(first) => foot.push(format!("More on a finding: through explain {}.", first.topic.name)),
    }
    foot.extend(crowded(run));
    if hidden > 0 {
        foot.push(format!("{hidden} more: --top 0."));
    }
    match &run.timed {
        _ if run.waits.is_none() => foot.push(
            "The profile has no single ranks, so waiting is unknown (COMMSEE_DETAIL=rank records them).".to_owned(),
        ),
        Some(timed) if !timed.is_whole() => foot.push(format!(
            "{}: it shows only the end of the run (through run --trace={} keeps all).",
            timed.lost(),
            commsee::bytes::exact(timed.bytes_for_all)
        )),
        Some(_) => {}
        None => foot.extend(unknown(run, findings)),
    }
    foot.join(" ")
}

/// That ranks died, if so: others seem to wait for these.
fn unfinished(run: &Run) -> Option<String> {
    let overview = overview(&run.catalog);
    let (ranks, how) = (&overview.unfinished, overview.how_unfinished());
    let which = if ranks.count() == 1 { "Rank" } else { "Ranks" };
    (!ranks.is_empty()).then(|| {
        format!("{which} {ranks} {how}: look for the cause of that first (through --in-flight shows the calls they were in).")
    })
}

/// That the machine had too few processors, if so: in this text, and on the page.
pub fn crowded(run: &Run) -> Option<String> {
    let share = run.share(run.ready_ns());
    (share >= CROWDED).then(|| {
        format!(
            "In MPI and outside of it, a rank was ready to run and had no processor for {} of the run: other programs, or more ranks than processors. Findings leave out the waiting that this explains; with a processor for each rank, a run shows more.",
            units::percent(share, 1.0)
        )
    })
}

/// What counters cannot decide: the point-to-point call in which ranks spend most, if it matters.
fn unknown(run: &Run, findings: &[Finding]) -> Option<String> {
    let is_asked = |op: i64| ["Test", "probe"].iter().any(|word| run.op(op).contains(word));
    let may_wait =
        |op: i64| ROOTED.contains(&run.op(op)) || matches!(run.class(op), "p2p" | "completion") && !is_asked(op);
    let is_told = |comm: i64, op: i64| findings.iter().any(|one| (one.comm, one.op) == (Some(comm), Some(op)));
    let sums = run.sums.values().filter(|sum| may_wait(sum.op) && !is_told(sum.comm, sum.op));
    let sums = sums.filter(|sum| run.share_of_ranks(sum.time_ns.into()) >= UNKNOWN);
    let most = sums.max_by_key(|sum| sum.time_ns)?;
    Some(format!(
        "{} on {} takes {} a rank on average: a timeline of a short run (through run --trace) shows which ranks it waits for.",
        run.op(most.op),
        run.made(most.comm),
        units::time(most.time_ns / i64::from(most.ranks.max(1)))
    ))
}

/// Of the run time: a machine that keeps a rank waiting for a processor so long distorts all times.
const CROWDED: f64 = 0.05;
/// Of the run time: a call in which ranks spend less is not worth a timeline.
const UNKNOWN: f64 = 0.05;
/// Counters do not tell the waiting in them.
const ROOTED: &[&str] =
    &["MPI_Bcast", "MPI_Scatter", "MPI_Scatterv", "MPI_Reduce", "MPI_Gather", "MPI_Gatherv", "MPI_Scan", "MPI_Exscan"];
