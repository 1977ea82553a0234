//! Ranks, or a node, that work longer than the others, where no collective shows who is late.

use std::collections::BTreeMap;

use commsee::ranks::Ranks;

use super::{late, noise};
use crate::advise::finding::{Ceiling, Finding, Level};
use crate::advise::run::Run;
use crate::advise::saving::Saving;
use crate::query::Error;
use crate::query::catalog::Process;
use crate::text::units;

const BALANCE: f64 = 0.8;
/// Of the run: less is a few time slices of the scheduler.
const SURPLUS_NS: f64 = 1e8;
/// Of a short run. The scheduler lets one rank take twice the mean less often, so that it is said, but as no more than `info`.
const SHORT_NS: f64 = noise::SLICES_NS as f64;
const SHORT_BALANCE: f64 = 0.5;
const SHORT: Ceiling =
    Ceiling { level: Level::Info, why: "Only info: so little time may be the scheduler's of a busy machine." };
/// Findings about late ranks tell the same if they name the ranks and cost at least this part of what these work longer.
const TOLD: i128 = 4;
const IN_NODES: f64 = 0.9;
const BETWEEN_NODES: f64 = 0.85;
const NODES: usize = 3;
/// Ranks that work at least so much of what the one does that works most are named with it.
const NAMED: f64 = 0.95;

fn working(process: &Process) -> f64 {
    process.wall_ns as f64 - process.mpi_ns as f64
}

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let factors = run.ledger.factors;
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
    let surplus_ns = ((most - mean) * processes.len() as f64) as i128;
    let is_short = most - mean < SURPLUS_NS;
    let is_noise = is_short && (most - mean < SHORT_NS || balance >= SHORT_BALANCE);
    if is_noise || is_told(run, &busy, surplus_ns)? {
        return Ok(Vec::new());
    }
    Ok(vec![
        Finding {
            ranks: busy,
            severity_ns: surplus_ns,
            saving: Saving::Known((most - mean) as i64),
            ceiling: is_short.then_some(SHORT),
            command: "-e".to_owned(),
            ..Finding::new("load-imbalance")
        }
        .with(
            "mean over maximum of the time outside MPI",
            balance,
            BALANCE,
            "SELECT avg(wall_s - mpi_s) / max(wall_s - mpi_s) FROM ranks",
        )
        .word("balance", units::percent(balance, 1.0))
        .word("waiting", units::time((most - mean) as i64)),
    ])
}

/// Whether findings about late ranks name those that work longest: others may be about communicators that these are not in.
fn is_told(run: &Run, busy: &Ranks, surplus_ns: i128) -> Result<bool, Error> {
    let mut all = Finding::new("late-rank");
    for finding in late::find(run)?.into_iter().filter(|finding| !finding.ranks.within(busy).is_empty()) {
        all.absorb(finding, true);
    }
    Ok(all.level(run).is_some() && busy.without(&all.ranks).is_empty() && TOLD * all.severity_ns >= surplus_ns)
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
    let text = host.replace('\'', "''");
    Some(
        Finding {
            ranks: slow.iter().filter_map(|process| process.rank.try_into().ok()).collect(),
            severity_ns: ((most - rest) * others.len() as f64) as i128,
            saving: Saving::Known((most - rest) as i64),
            command: "--hosts".to_owned(),
            ..Finding::new("slow-node")
        }
        .with(
            "mean time outside MPI on it over that on the other nodes",
            most / rest,
            1.0 / BETWEEN_NODES,
            format!(
                "SELECT (SELECT avg(wall_s - mpi_s) FROM ranks WHERE host = '{text}') / (SELECT avg(wall_s - mpi_s) FROM ranks WHERE host <> '{text}')"
            ),
        )
        .word("host", (*host).to_owned())
        .word("ratio", format!("{:.1}", most / rest)),
    )
}
