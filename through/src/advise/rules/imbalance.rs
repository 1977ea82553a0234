//! Ranks, or a node, that work longer than the others, where no collective shows who is late.

use std::collections::BTreeMap;

use commsee::ranks::Ranks;

use super::{late, noise};
use crate::advise::finding::{Ceiling, Finding, Level};
use crate::advise::gain::{Cells, Gain};
use crate::advise::run::Run;
use crate::query::Error;
use crate::query::catalog::Process;
use crate::query::ledger::factors;
use crate::text::units;

const BALANCE: f64 = 0.8;
/// Of the run: less is a few time slices of the scheduler.
const SURPLUS_NS: f64 = 1e8;
/// Of a short run. The scheduler lets one rank take twice the mean less often, so that it is said, but as no more than `info`.
const SHORT_NS: f64 = noise::SLICES_NS as f64;
const SHORT_BALANCE: f64 = 0.5;
const SHORT: Ceiling = Ceiling { level: Level::Info, why: "the scheduler may cause as much" };
/// Findings about late ranks tell the same if they name the ranks and cost at least this part of what these work longer.
const TOLD: f64 = 4.0;
/// Calls that are asked where ranks wait: the heaviest.
const LOOKED_AT: usize = 16;
const IN_NODES: f64 = 0.9;
const BETWEEN_NODES: f64 = 0.85;
const NODES: usize = 3;
/// Ranks that work at least so much of what the one does that works most are named with it.
const NAMED: f64 = 0.95;

fn working(process: &Process) -> f64 {
    process.work_ns() as f64
}

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let processes: Vec<&Process> = run.catalog.processes.iter().collect();
    let factors = factors(&processes, run.ledger.run_time_ns, Process::work_ns);
    let (Some(balance), Some(inside), Some(between)) =
        (factors.load_balance, factors.load_balance_in_nodes, factors.load_balance_between_nodes)
    else {
        return Ok(Vec::new());
    };
    if inside >= IN_NODES && between < BETWEEN_NODES {
        let slow: Vec<Finding> = slow_node(run).into_iter().collect();
        if !slow.is_empty() {
            return Ok(slow);
        }
    }
    if balance >= BALANCE {
        return Ok(Vec::new());
    }
    let processes = &run.catalog.processes;
    let most = processes.iter().map(working).fold(0.0, f64::max);
    let mean = processes.iter().map(working).sum::<f64>() / processes.len() as f64;
    let busy: Ranks = processes
        .iter()
        .filter(|process| working(process) >= NAMED * most)
        .filter_map(|process| process.rank.try_into().ok())
        .collect();
    let calls = waited_in(run, &busy)?;
    let is_short = most - mean < SURPLUS_NS;
    let is_noise = is_short && (most - mean < SHORT_NS || balance >= SHORT_BALANCE);
    if is_noise || is_told(run, &busy, most - mean)? {
        return Ok(Vec::new());
    }
    let work_s = run.work_s();
    Ok(vec![
        Finding {
            ranks: busy,
            gain: Gain { cells: calls.cells, ..known(run, most - mean) },
            ceiling: is_short.then_some(SHORT),
            command: "-e".to_owned(),
            ..Finding::new("load-imbalance")
        }
        .with(
            "mean over maximum of the time outside MPI",
            balance,
            BALANCE,
            format!("SELECT avg({work_s}) / max({work_s}) FROM ranks"),
        )
        .word("balance", units::percent(balance, 1.0))
        .word("longer", units::time((most - mean) as i64))
        .word("calls", calls.named),
    ])
}

/// Whether findings about late ranks name those that work longest: others may be about communicators that these are not in.
fn is_told(run: &Run, busy: &Ranks, surplus_ns: f64) -> Result<bool, Error> {
    let mut all = Finding::new("late-rank");
    for finding in late::find(run)?.into_iter().filter(|finding| !finding.ranks.within(busy).is_empty()) {
        all.absorb(finding, true);
    }
    all.gain_ns = all.gain.sum_ns() / run.catalog.processes.len().max(1) as i64;
    Ok(all.level(run).is_some() && busy.without(&all.ranks).is_empty() && TOLD * all.gain_ns as f64 >= surplus_ns)
}

/// The work of all ranks is spread.
fn known(run: &Run, ns: f64) -> Gain {
    Gain { moved: run.catalog.processes.iter().map(|process| process.rank).collect(), ..Gain::known(ns as i64) }
}

/// Where those wait that work less.
struct WaitedIn {
    cells: Cells,
    /// ` in MPI_Recv on W0.0`
    named: String,
}

/// The call in which the others spend most more than the busy ranks.
fn waited_in(run: &Run, busy: &Ranks) -> Result<WaitedIn, Error> {
    let mut sums: Vec<_> = run.sums.values().filter(|sum| !run.catalog.is_outside_span(sum.op)).collect();
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.time_ns));
    let mut calls = Vec::new();
    for sum in sums.into_iter().take(LOOKED_AT) {
        let spent = run.spent(sum.comm, &[sum.op].into())?;
        let is_busy = |rank: i64| u32::try_from(rank).is_ok_and(|rank| busy.contains(rank));
        let of_busy = spent.iter().filter(|((.., rank), _)| is_busy(*rank)).map(|(_, ns)| *ns).max();
        let of_busy_ns = of_busy.unwrap_or_default();
        let others = spent.into_iter().filter(|((.., rank), _)| !is_busy(*rank));
        let cells: Cells = others.map(|(cell, ns)| (cell, ns.saturating_sub(of_busy_ns).max(0))).collect();
        let more_ns = cells.values().fold(0i64, |sum, ns| sum.saturating_add(*ns));
        calls.push((more_ns, cells, format!("{} on {}", run.op(sum.op), run.made(sum.comm))));
    }
    calls.retain(|(ns, ..)| *ns > 0);
    calls.sort_by_key(|(ns, ..)| std::cmp::Reverse(*ns));
    let most_ns = calls.first().map_or(0, |(ns, ..)| *ns);
    // Of about equal ones, both: which is first may be chance.
    calls.retain(|(ns, ..)| 2 * ns >= most_ns);
    calls.truncate(2);
    let named: Vec<&str> = calls.iter().map(|(.., name)| name.as_str()).collect();
    let named = if named.is_empty() { String::new() } else { format!(" in {}", named.join(" and ")) };
    Ok(WaitedIn { named, cells: calls.into_iter().flat_map(|(_, cells, _)| cells).collect() })
}

fn slow_node(run: &Run) -> Option<Finding> {
    let mut nodes: BTreeMap<&str, Vec<&Process>> = BTreeMap::new();
    for process in &run.catalog.processes {
        nodes.entry(&process.host).or_default().push(process);
    }
    if nodes.len() < NODES {
        return None;
    }
    let mean =
        |processes: &[&Process]| processes.iter().map(|process| working(process)).sum::<f64>() / processes.len() as f64;
    let (host, slow) = nodes.iter().max_by(|(_, a), (_, b)| mean(a).total_cmp(&mean(b)))?;
    let others: Vec<&Process> = run.catalog.processes.iter().filter(|process| process.host != **host).collect();
    let (most, rest) = (mean(slow), mean(&others));
    if rest <= 0.0 {
        return None;
    }
    let (text, work_s) = (host.replace('\'', "''"), run.work_s());
    Some(
        Finding {
            ranks: slow.iter().filter_map(|process| process.rank.try_into().ok()).collect(),
            gain: known(run, most - rest),
            command: "--hosts".to_owned(),
            ..Finding::new("slow-node")
        }
        .with(
            "mean time outside MPI on this node over that on the other nodes",
            most / rest,
            1.0 / BETWEEN_NODES,
            format!(
                "SELECT (SELECT avg({work_s}) FROM ranks WHERE host = '{text}') / (SELECT avg({work_s}) FROM ranks WHERE host <> '{text}')"
            ),
        )
        .word("host", (*host).to_owned())
        .word("longer", units::time((most - rest) as i64))
        .word("ratio", format!("{:.1}", most / rest)),
    )
}
