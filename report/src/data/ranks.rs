//! Run time and MPI time of every rank, and the ledger of the run.

use serde_json::{Value, json};
use through_core::advise::Run;
use through_core::query::catalog::Catalog;

use super::lists::{Lists, text};
use crate::pack::{Columns, list};

pub fn ranks(catalog: &Catalog) -> Value {
    let (mut hosts, mut states): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut places = std::collections::HashMap::new();
    let (mut host_of, mut state_of) = (Vec::new(), Vec::new());
    for process in &catalog.processes {
        host_of.push(*places.entry(process.host.as_str()).or_insert_with(|| {
            hosts.push(&process.host);
            hosts.len() - 1
        }));
        let known = states.iter().position(|state| *state == process.state);
        state_of.push(known.unwrap_or_else(|| {
            states.push(&process.state);
            states.len() - 1
        }));
    }
    let processes = || catalog.processes.iter();
    let mut columns = Columns::default();
    columns.add_differences("rank", processes().map(|process| process.rank));
    columns.add_differences("host", host_of.iter().map(|host| *host as i64));
    columns.add("state", state_of.iter().map(|state| *state as i64));
    columns.add_differences("wall_ns", processes().map(|process| process.wall_ns));
    columns.add_differences("unscheduled_ns", processes().map(|process| process.unscheduled_ns));
    columns.add("mpi_ns", processes().map(|process| process.mpi_ns));
    json!({
        "hosts": list(hosts.iter().map(|host| Value::from(text(host))).collect()),
        "states": states.iter().take(256).map(|state| text(state)).collect::<Vec<_>>(),
        "processes": columns.finish(),
    })
}

/// As `through show --efficiency` has it, of the whole run.
pub fn ledger(run: &Run, lists: &Lists) -> Value {
    let ledger = &run.ledger;
    let factors = &ledger.factors;
    let seconds = |ns: i128| ns as f64 / 1e9;
    let entries: Vec<Value> = ledger
        .entries
        .iter()
        .take(MOST_ENTRIES)
        .map(|entry| {
            json!([
                lists.comm(entry.comm),
                entry.op.map(|op| lists.op(op)),
                lists.phase(entry.phase),
                entry.time_ns as f64
            ])
        })
        .collect();
    json!({
        "ranks": ledger.ranks,
        "run_time_s": ledger.run_time_ns as f64 / 1e9,
        "whole_rank_s": seconds(ledger.whole_ns()),
        "working_rank_s": seconds(ledger.working_ns),
        "end_skew_rank_s": seconds(ledger.end_skew_ns),
        "unexplained_rank_s": seconds(ledger.unexplained_ns()),
        "parallel_efficiency": factors.parallel_efficiency,
        "load_balance": factors.load_balance,
        "load_balance_in_nodes": factors.load_balance_in_nodes,
        "load_balance_between_nodes": factors.load_balance_between_nodes,
        "communication_efficiency": factors.communication_efficiency,
        // Communicator, operation, phase, nanoseconds over all ranks.
        "entries": list(Value::Array(entries)),
    })
}

const MOST_ENTRIES: usize = 10_000;
