//! How messages went below MPI: over the network inside of a node, through the host between GPUs, and by two protocols where one was meant.

use std::collections::{BTreeMap, HashMap};

use commsee::shard::Role;

use crate::advise::finding::{Ceiling, Confidence, Finding, Level};
use crate::advise::gain::Gain;
use crate::advise::run::Run;
use crate::query::Error;
use crate::query::catalog::{NO_COMM, unsigned};
use crate::text::units;

/// Transports through the network of the operating system, by the names that UCX gives them.
const NETWORK: &str = "tcp";
const BYTES: u64 = 1 << 20;
const MESSAGES: i64 = 1000;
/// Time below MPI is claimed of no operation.
const NO_OP: i64 = -1;
/// A copy from a GPU to the host, and one from there.
const STAGES: [&str; 2] = ["DtoH", "HtoD"];
/// Each protocol has so much of the messages of a size at least, and there are so many.
const SHARE: f64 = 0.1;
const STRADDLING: i64 = 100;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let mut findings = over_network(run)?;
    findings.extend(staged(run)?);
    findings.extend(straddled(run)?);
    Ok(findings)
}

/// The numbers of the routes of which something holds, for SQL; nothing where there is none.
fn routes(run: &Run, holds: impl Fn(&commsee::shard::Route) -> bool) -> Option<String> {
    let numbers: Vec<String> =
        run.catalog.routes.iter().filter(|(_, route)| holds(route)).map(|(number, _)| number.to_string()).collect();
    (!numbers.is_empty()).then(|| numbers.join(","))
}

fn over_network(run: &Run) -> Result<Vec<Finding>, Error> {
    let is_network = |transport: &str| transport.split(['/', '_']).next() == Some(NETWORK);
    let is_data = |protocol: &str| protocol != "wireup";
    let Some(routes) = routes(run, |route| {
        route.role == Role::Wire && !route.arrives && is_network(&route.transport) && is_data(&route.protocol)
    }) else {
        return Ok(Vec::new());
    };
    let hosts: HashMap<i64, &str> =
        run.catalog.processes.iter().map(|process| (process.rank, process.host.as_str())).collect();
    let sql = format!(
        "SELECT comm, rank, peer, sum(calls), sum(bytes) FROM transfer WHERE way IN ({routes}) AND rank >= 0 AND peer >= 0 AND rank <> peer \
         GROUP BY comm, rank, peer"
    );
    let mut by_comm: BTreeMap<i64, (i64, u64, Vec<u32>)> = BTreeMap::new();
    run.profile.query::<(), ()>(&sql, vec![], |row| {
        let (comm, rank, peer): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if hosts.get(&rank).is_some_and(|host| hosts.get(&peer) == Some(host)) {
            let sum = by_comm.entry(comm).or_default();
            sum.0 = sum.0.saturating_add(row.get(3)?);
            sum.1 = sum.1.saturating_add(row.get::<_, i64>(4)?.max(0) as u64);
            sum.2.extend(u32::try_from(rank).ok());
        }
        Ok(())
    })?;
    let mut findings = Vec::new();
    for (comm, (messages, bytes, ranks)) in by_comm.into_iter().filter(|(comm, _)| *comm != NO_COMM) {
        if bytes < BYTES && messages < MESSAGES {
            continue;
        }
        let name = run.name(comm).replace('\'', "''");
        let sum = |column: &str| {
            format!(
                "SELECT sum({column}) FROM transfers t JOIN ranks s ON s.rank = t.src JOIN ranks d ON d.rank = t.dst AND d.host = s.host \
                 WHERE comm = '{name}' AND role = 'wire' AND (transport = 'tcp' OR transport LIKE 'tcp/%' OR transport LIKE 'tcp\\_%' ESCAPE '\\') \
                 AND protocol <> 'wireup' AND layer NOT LIKE '%-rx' AND src <> dst"
            )
        };
        let ops = run.sums.keys().filter(|(on, _)| *on == comm).map(|(_, op)| *op).collect();
        findings.push(
            Finding {
                ranks: ranks.into_iter().collect(),
                confidence: Confidence::Bound,
                gain: Gain::spent(run.spent(comm, &ops)?),
                floor: Some(Level::Warn),
                command: format!("layers --transport {NETWORK} --comm {}", run.name(comm)),
                ..Finding::new("network-inside-node")
            }
            .on(comm, None)
            .with("bytes over the network between ranks of one node", bytes as f64, BYTES as f64, sum("bytes"))
            .with("messages over it", messages as f64, MESSAGES as f64, sum("calls"))
            .word("messages", messages.to_string())
            .word("size", units::bytes(bytes)),
        );
    }
    Ok(findings)
}

/// Copies between GPUs and the host on a communicator.
#[derive(Default)]
struct Staged {
    copies: i64,
    bytes: u64,
    by_rank: BTreeMap<i64, i64>,
}

fn staged(run: &Run) -> Result<Vec<Finding>, Error> {
    let is_stage = |route: &commsee::shard::Route| route.layer == "gpu" && STAGES.contains(&route.function.as_str());
    let Some(routes) = routes(run, is_stage) else { return Ok(Vec::new()) };
    let sql = format!(
        "SELECT comm, rank, sum(calls), sum(bytes), sum(time_ns) FROM transfer WHERE way IN ({routes}) AND within = 0 GROUP BY comm, rank"
    );
    let mut by_comm: BTreeMap<i64, Staged> = BTreeMap::new();
    run.profile.query::<(), ()>(&sql, vec![], |row| {
        let sum = by_comm.entry(row.get(0)?).or_default();
        sum.copies = sum.copies.saturating_add(row.get(2)?);
        sum.bytes = sum.bytes.saturating_add(unsigned(row.get(3)?));
        let time_ns = sum.by_rank.entry(row.get(1)?).or_default();
        *time_ns = time_ns.saturating_add(row.get::<_, Option<i64>>(4)?.unwrap_or_default().max(0));
        Ok(())
    })?;
    let mut findings = Vec::new();
    for (comm, Staged { copies, bytes, by_rank }) in by_comm.into_iter().filter(|(comm, _)| *comm != NO_COMM) {
        if bytes < BYTES {
            continue;
        }
        let time_ns = by_rank.values().fold(0i64, |sum, ns| sum.saturating_add(*ns));
        let sql = format!(
            "SELECT sum(bytes) FROM transfers WHERE comm = '{}' AND layer = 'gpu' AND function IN ('DtoH', 'HtoD') AND within IS NULL",
            run.name(comm).replace('\'', "''")
        );
        findings.push(
            Finding {
                ranks: by_rank.keys().filter_map(|rank| u32::try_from(*rank).ok()).collect(),
                confidence: Confidence::Bound,
                gain: Gain::spent(by_rank.iter().map(|(rank, ns)| ((comm, NO_OP, *rank), *ns)).collect()),
                floor: Some(Level::Info),
                command: format!("layers --layer gpu --comm {}", run.name(comm)),
                ..Finding::new("staged-gpu-messages")
            }
            .on(comm, None)
            .with("bytes that MPI calls copy between GPUs and the host", bytes as f64, BYTES as f64, sql)
            .word("copies", copies.to_string())
            .word("size", units::bytes(bytes))
            .word("time", units::time(time_ns)),
        );
    }
    Ok(findings)
}

fn straddled(run: &Run) -> Result<Vec<Finding>, Error> {
    let is_message = |protocol: fn(&str) -> bool| {
        routes(run, move |route| route.role == Role::Message && !route.arrives && protocol(&route.protocol))
    };
    let (Some(eager), Some(rendezvous)) =
        (is_message(|protocol| protocol == "eager"), is_message(|protocol| protocol.starts_with("rndv")))
    else {
        return Ok(Vec::new());
    };
    let sql = format!(
        "SELECT comm, op, bucket, sum(iif(way IN ({eager}), calls, 0)), sum(calls) FROM transfer WHERE way IN ({eager},{rendezvous}) \
         GROUP BY comm, op, bucket"
    );
    let rows: Vec<(i64, i64, i64, i64, i64)> =
        run.profile.query(&sql, vec![], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?;
    let mut findings = Vec::new();
    for (comm, op, bucket, eager, all) in rows.into_iter().filter(|(comm, ..)| *comm != NO_COMM) {
        let share = eager as f64 / all.max(1) as f64;
        let Some(size) = run.catalog.buckets.get(&bucket) else { continue };
        if all < STRADDLING || !(SHARE..=1.0 - SHARE).contains(&share) {
            continue;
        }
        let (name, operation) = (run.name(comm).replace('\'', "''"), run.op(op).replace('\'', "''"));
        let of = |protocols: &str| {
            format!(
                "SELECT sum(calls) FROM transfers WHERE comm = '{name}' AND op = '{operation}' AND bucket_lo = {} AND role = 'message' AND layer NOT LIKE '%-rx' \
                 AND ({protocols})",
                size.lo
            )
        };
        let both = of("protocol = 'eager' OR protocol LIKE 'rndv%'");
        findings.push(
            Finding {
                floor: Some(Level::Info),
                // A size class holds many sizes.
                ceiling: Some(Ceiling { level: Level::Info, why: "" }),
                command: format!("layers --by protocol --comm {}", run.name(comm)),
                ..Finding::new("straddled-threshold")
            }
            .on(comm, Some(op))
            .with(
                "part of the messages that is eager",
                share,
                SHARE,
                format!("SELECT ({}) * 1.0 / ({both})", of("protocol = 'eager'")),
            )
            .with("messages of the size", all as f64, STRADDLING as f64, both)
            .word("share", units::percent(share, 1.0))
            .word("size", units::bucket(size.lo, size.hi))
            .word("messages", all.to_string()),
        );
    }
    Ok(findings)
}
