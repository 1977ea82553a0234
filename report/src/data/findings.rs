//! What `through advise` finds, each with the picture that shows it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::{Value, json};
use through_core::advise::{Finding, Run};
use through_core::text::escape::cut;
use through_core::text::units;
use through_core::views::advise::item;

use super::lists::{paragraph, text};

/// One finding, for the page with and without its script.
pub struct Told {
    pub topic: &'static str,
    pub level: &'static str,
    pub title: String,
    pub seen: String,
    pub advice: String,
    pub gain: String,
    pub more: String,
    /// From the cause to what waits for it.
    pub chain: Vec<Step>,
    pub command: String,
    /// The view that shows it, and the filters for it: `comm=s0.1&op=MPI_Allreduce`.
    pub view: &'static str,
    pub filters: String,
}

/// A finding, or a wait that it explains: its part of the run time, per rank.
pub struct Step {
    pub depth: usize,
    pub title: String,
    pub time_ns: i64,
    pub share: f64,
}

/// The operation on a communicator that took most MPI time.
pub struct Heaviest {
    pub text: String,
    pub view: &'static str,
    pub filters: String,
}

pub fn heaviest(run: &Run) -> Option<Heaviest> {
    let ledger = &run.ledger;
    let mut sums: BTreeMap<(i64, i64), i128> = BTreeMap::new();
    for entry in &ledger.entries {
        if let Some(op) = entry.op {
            *sums.entry((entry.comm, op)).or_default() += entry.time_ns;
        }
    }
    let ((comm, op), time_ns) = sums.into_iter().max_by_key(|(key, time_ns)| (*time_ns, Reverse(*key)))?;
    let comm = run.comm(comm).filter(|_| time_ns > 0)?;
    let name = text(&comm.name);
    let label = comm.label.as_deref().map(|label| format!(" \"{}\"", text(label))).unwrap_or_default();
    let share = units::percent(time_ns as f64, ledger.whole_ns() as f64);
    Some(Heaviest {
        text: format!("{} on {name}{label} takes most: {share} of the ranks' time.", text(run.op(op))),
        view: "communicators",
        filters: format!("comm={}&op={}", escaped(&name), escaped(&text(run.op(op)))),
    })
}

/// The costliest.
const MOST: usize = 40;
const TITLE_COLUMNS: usize = 160;

pub fn findings(run: &Run, findings: &[Finding], views: &[&'static str]) -> Vec<Told> {
    findings.iter().take(MOST).map(|finding| told(run, finding, views)).collect()
}

fn told(run: &Run, finding: &Finding, views: &[&'static str]) -> Told {
    let item = item(run, finding);
    let wanted = picture(finding.topic.name);
    let view = wanted.iter().find(|view| views.contains(view)).copied().unwrap_or("overview");
    let mut filters = Vec::new();
    if let Some(comm) = finding.comm.and_then(|comm| run.comm(comm)) {
        let key = if finding.alike() > 0 { "family" } else { "comm" };
        filters.push(format!("{key}={}", escaped(&text(&comm.name))));
    }
    if let Some(op) = finding.op {
        filters.push(format!("op={}", escaped(&text(run.op(op)))));
    }
    Told {
        topic: finding.topic.name,
        level: item.level,
        title: cut(&text(&item.title), TITLE_COLUMNS).into_owned(),
        seen: paragraph(&finding.seen(run)),
        advice: paragraph(&finding.advice(run)),
        gain: item.gain,
        more: item.more,
        chain: chain(run, finding),
        command: item.command,
        view,
        filters: filters.join("&"),
    }
}

/// First what the run gains, then what each rank waits that waits for it.
fn chain(run: &Run, finding: &Finding) -> Vec<Step> {
    let mut steps = vec![step(run, finding, 0, finding.gain_ns)];
    finding.explains.iter().for_each(|victim| below(run, victim, 1, &mut steps));
    steps
}

fn below(run: &Run, victim: &Finding, depth: usize, steps: &mut Vec<Step>) {
    let waiting = victim.gain.by_rank().into_values().filter(|ns| *ns > 0).count();
    steps.push(step(run, victim, depth, victim.gain.sum_ns() / waiting.max(1) as i64));
    victim.explains.iter().for_each(|next| below(run, next, depth + 1, steps));
}

fn step(run: &Run, finding: &Finding, depth: usize, time_ns: i64) -> Step {
    let title = cut(&text(&finding.title(run)), TITLE_COLUMNS).into_owned();
    Step { depth, title, time_ns, share: run.share(time_ns) }
}

/// The views that show a topic, the best one first.
fn picture(topic: &str) -> &'static [&'static str] {
    match topic {
        "late-rank" | "changing-late-rank" | "load-imbalance" | "slow-node" | "needless-barrier" | "uneven-bytes"
        | "late-epoch" | "waiting-flush" => &["ranks", "communicators"],
        "late-sender" | "late-receiver" | "late-root" | "early-root" | "serial-chain" | "waiting-ring" => {
            &["timeline", "matrix", "ranks"]
        }
        "one-to-all" => &["matrix", "ranks", "communicators"],
        "small-messages"
        | "fragmented-collectives"
        | "tiny-one-sided"
        | "flush-per-access"
        | "waiting-sends"
        | "tiny-file-accesses"
        | "straddled-threshold" => &["sizes"],
        "communicator-leak" | "communicator-churn" | "unused-communicators" => &["tree"],
        "network-inside-node" => &["devices", "layers"],
        "root-funnel" | "gather-bcast" => &["ranks", "communicators"],
        "below-machine" => &["bench", "communicators"],
        _ => &["communicators"],
    }
}

/// For the fragment of a URL.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'*' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

pub fn json(told: &[Told]) -> Value {
    told.iter()
        .map(|one| {
            json!({
                "topic": one.topic, "level": one.level, "title": one.title, "seen": one.seen, "advice": one.advice, "gain": one.gain,
                "chain": one.chain.iter().map(|step| json!([step.depth, step.title, step.time_ns])).collect::<Vec<_>>(),
                "command": one.command, "view": one.view, "filters": one.filters,
            })
        })
        .collect()
}
