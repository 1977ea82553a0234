//! A report as records of exact numbers, one type per view: the columns of CSV and the objects of JSON. Sizes are in
//! bytes, times in seconds. Names that the view `profile` has mean the same here.

use serde::Serialize;

use crate::query::catalog::{Bucket, Communicator, Operation};
use crate::query::cells::{Cell, Key};
use crate::query::communicators::Spread;
use crate::query::datatypes::Use;
use crate::query::hosts::{compact, hosts};
use crate::query::involved::Involved;
use crate::query::operations::Operations;
use crate::query::phases::Phase;
use crate::query::ranks::Rank;
use crate::query::standing::{Group, Place};
use crate::report::{Report, Section};

#[derive(Debug, Default, Serialize)]
pub struct OperationsRecord<'a> {
    comm: &'a str,
    label: Option<&'a str>,
    comm_size: Option<u64>,
    creator: Option<&'a str>,
    op: &'a str,
    class: &'a str,
    bucket_lo: u64,
    bucket_hi: Option<u64>,
    ranks: u32,
    calls: i64,
    failed: i64,
    bytes_sent: u64,
    bytes_recv: u64,
    time_s: f64,
    rank_max_s: f64,
    rank_avg_s: f64,
    rank_min_s: f64,
    time_min_s: Option<f64>,
    time_max_s: Option<f64>,
}

#[derive(Debug, Default, Serialize)]
pub struct CellRecord<'a> {
    comm: &'a str,
    comm_size: Option<u64>,
    creator: Option<&'a str>,
    op: &'a str,
    class: &'a str,
    bucket_lo: u64,
    bucket_hi: Option<u64>,
    /// Nothing where the profile holds sums over all ranks.
    rank: Option<i64>,
    calls: i64,
    failed: i64,
    bytes_sent: u64,
    bytes_recv: u64,
    time_s: f64,
    time_min_s: Option<f64>,
    time_max_s: Option<f64>,
    /// Nothing where phases are added up.
    phase: Option<&'a str>,
}

#[derive(Debug, Default, Serialize)]
pub struct CommunicatorRecord<'a> {
    comm: &'a str,
    label: Option<&'a str>,
    creator: Option<&'a str>,
    size: Option<u64>,
    remote_size: u64,
    parent: Option<&'a str>,
    root_rank: Option<i64>,
    freed: bool,
    ranks: Option<&'a str>,
    calls: i64,
    failed: i64,
    bytes_sent: u64,
    bytes_recv: u64,
    /// Of all calls.
    time_s: f64,
    /// Of all calls but `MPI_Init` and `MPI_Finalize`, which are no part of the MPI time.
    mpi_s: f64,
    /// The share of `mpi_s` in the MPI time; 0.25 is a quarter.
    share: Option<f64>,
    /// How many ranks called anything on it; what follows is how `mpi_s` spreads over them. Nothing where the profile
    /// does not know.
    ranks_calling: Option<u32>,
    rank_max_s: Option<f64>,
    rank_avg_s: Option<f64>,
    rank_min_s: Option<f64>,
    involved_calls: i64,
}

#[derive(Debug, Default, Serialize)]
pub struct RankRecord<'a> {
    rank: i64,
    host: &'a str,
    pid: i64,
    state: &'a str,
    wall_s: f64,
    mpi_s: f64,
    /// Of the run time; 0.25 is a quarter.
    share: Option<f64>,
    selected_s: f64,
}

#[derive(Debug, Default, Serialize)]
pub struct PhaseRecord<'a> {
    /// Empty: outside any phase.
    phase: &'a str,
    calls: i64,
    failed: i64,
    bytes_sent: u64,
    bytes_recv: u64,
    time_s: f64,
    mpi_s: f64,
    share: Option<f64>,
    /// As above, of those that called anything in it.
    ranks_calling: Option<u32>,
    rank_max_s: Option<f64>,
    rank_avg_s: Option<f64>,
    rank_min_s: Option<f64>,
}

#[derive(Debug, Default, Serialize)]
pub struct UseRecord<'a> {
    comm: &'a str,
    label: Option<&'a str>,
    op: &'a str,
    datatype: &'a str,
    contiguous: bool,
    ranks: Option<u32>,
    calls: i64,
    bytes: u64,
}

#[derive(Debug, Default, Serialize)]
pub struct StoodRecord<'a> {
    /// `call`, `program`, `paused`, `finished` or `missing`.
    place: &'static str,
    op: Option<&'a str>,
    comm: Option<&'a str>,
    label: Option<&'a str>,
    /// World ranks: `0-3,8`.
    ranks: String,
    threads: u64,
    since_min_s: Option<f64>,
    since_max_s: Option<f64>,
    for_max_s: Option<f64>,
    /// Of a collective call: members of the communicator that were not in it.
    absent: String,
    /// Only where the job had several: `node[1-3,7]`.
    hosts: String,
}

#[derive(Debug, Default, Serialize)]
pub struct InvolvedRecord<'a> {
    comm: &'a str,
    op: &'a str,
    calls: i64,
}

pub fn operations<'a>(report: &'a Report, section: &'a Section, row: &'a Operations) -> OperationsRecord<'a> {
    let (operation, bucket) = (operation(report, row.op), bucket(report, row.bucket));
    OperationsRecord {
        comm: &section.comm.name,
        label: section.comm.label.as_deref(),
        comm_size: section.comm.size,
        creator: section.comm.creator.as_deref(),
        op: operation.map(|operation| operation.name.as_str()).unwrap_or_default(),
        class: operation.map(|operation| operation.class.as_str()).unwrap_or_default(),
        bucket_lo: bucket.map(|bucket| bucket.lo).unwrap_or_default(),
        bucket_hi: bucket.and_then(|bucket| bucket.hi),
        ranks: row.ranks,
        calls: row.calls,
        failed: row.failed,
        bytes_sent: row.bytes_sent,
        bytes_recv: row.bytes_recv,
        time_s: seconds(row.time_ns),
        rank_max_s: seconds(row.rank_max_ns),
        rank_avg_s: row.time_ns as f64 / f64::from(row.ranks.max(1)) / 1e9,
        rank_min_s: seconds(row.rank_min_ns),
        time_min_s: row.time_min_ns.map(seconds),
        time_max_s: row.time_max_ns.map(seconds),
    }
}

pub fn cell<'a>(report: &'a Report, group: Key, cell: &Cell) -> CellRecord<'a> {
    let comm = communicator(report, group.comm);
    let (operation, bucket) = (operation(report, group.op), bucket(report, group.bucket));
    CellRecord {
        comm: comm.map(|comm| comm.name.as_str()).unwrap_or_default(),
        comm_size: comm.and_then(|comm| comm.size),
        creator: comm.and_then(|comm| comm.creator.as_deref()),
        op: operation.map(|operation| operation.name.as_str()).unwrap_or_default(),
        class: operation.map(|operation| operation.class.as_str()).unwrap_or_default(),
        bucket_lo: bucket.map(|bucket| bucket.lo).unwrap_or_default(),
        bucket_hi: bucket.and_then(|bucket| bucket.hi),
        rank: cell.rank(),
        calls: cell.calls,
        failed: cell.failed,
        bytes_sent: cell.bytes_sent,
        bytes_recv: cell.bytes_recv,
        time_s: seconds(cell.time_ns),
        time_min_s: cell.time_min_ns.map(seconds),
        time_max_s: cell.time_max_ns.map(seconds),
        phase: group.phase.map(|phase| self::phase(report, phase)),
    }
}

pub fn phase_record<'a>(report: &'a Report, row: &Phase, mpi_ns: f64) -> PhaseRecord<'a> {
    let spread = row.spread;
    PhaseRecord {
        phase: phase(report, row.phase),
        calls: row.calls,
        failed: row.failed,
        bytes_sent: row.bytes_sent,
        bytes_recv: row.bytes_recv,
        time_s: seconds(row.time_ns),
        mpi_s: seconds(row.mpi_ns),
        share: share(row.mpi_ns as f64, mpi_ns),
        ranks_calling: spread.map(|spread| spread.ranks),
        rank_max_s: spread.map(|spread| seconds(spread.rank_max_ns)),
        rank_avg_s: spread.map(average),
        rank_min_s: spread.map(|spread| seconds(spread.rank_min_ns)),
    }
}

pub fn used<'a>(report: &'a Report, row: &'a Use) -> UseRecord<'a> {
    let comm = communicator(report, row.comm);
    UseRecord {
        comm: comm.map(|comm| comm.name.as_str()).unwrap_or_default(),
        label: comm.and_then(|comm| comm.label.as_deref()),
        op: operation(report, row.op).map(|operation| operation.name.as_str()).unwrap_or_default(),
        datatype: &row.datatype,
        contiguous: row.contiguous,
        ranks: row.ranks,
        calls: row.calls,
        bytes: row.bytes,
    }
}

pub fn stood<'a>(report: &'a Report, group: &Group) -> StoodRecord<'a> {
    let (comm, op) = match group.place {
        Place::Call { comm, op } => (communicator(report, comm), operation(report, op)),
        _ => (None, None),
    };
    StoodRecord {
        place: match group.place {
            Place::Call { .. } => "call",
            Place::Program => "program",
            Place::Unknown => "paused",
            Place::Finished => "finished",
            Place::Missing => "missing",
        },
        op: op.map(|operation| operation.name.as_str()),
        comm: comm.map(|comm| comm.name.as_str()),
        label: comm.and_then(|comm| comm.label.as_deref()),
        ranks: group.ranks.to_string(),
        threads: group.threads,
        since_min_s: group.since_ns.map(|(first, _)| seconds(first)),
        since_max_s: group.since_ns.map(|(_, last)| seconds(last)),
        for_max_s: group.for_ns.map(seconds),
        absent: group.absent.to_string(),
        hosts: compact(&hosts(&report.catalog, &group.ranks)),
    }
}

pub fn section<'a>(section: &'a Section, mpi_ns: f64) -> CommunicatorRecord<'a> {
    let (comm, total, spread) = (&section.comm, &section.total, section.spread);
    CommunicatorRecord {
        comm: &comm.name,
        label: comm.label.as_deref(),
        creator: comm.creator.as_deref(),
        size: comm.size,
        remote_size: comm.remote_size,
        parent: comm.parent.as_deref(),
        root_rank: comm.root_rank,
        freed: comm.freed,
        ranks: comm.ranks.as_deref(),
        calls: total.calls,
        failed: total.failed,
        bytes_sent: total.bytes_sent,
        bytes_recv: total.bytes_recv,
        time_s: seconds(total.time_ns),
        mpi_s: seconds(total.mpi_ns),
        share: share(total.mpi_ns as f64, mpi_ns),
        ranks_calling: spread.map(|spread| spread.ranks),
        rank_max_s: spread.map(|spread| seconds(spread.rank_max_ns)),
        rank_avg_s: spread.map(average),
        rank_min_s: spread.map(|spread| seconds(spread.rank_min_ns)),
        involved_calls: section.involved_calls,
    }
}

pub fn rank(rank: &Rank) -> RankRecord<'_> {
    let process = &rank.process;
    RankRecord {
        rank: process.rank,
        host: &process.host,
        pid: process.pid,
        state: &process.state,
        wall_s: seconds(process.wall_ns),
        mpi_s: seconds(process.mpi_ns),
        share: share(process.mpi_ns as f64, process.wall_ns as f64),
        selected_s: seconds(rank.selected_ns),
    }
}

pub fn involved<'a>(report: &'a Report, part: &Involved) -> InvolvedRecord<'a> {
    InvolvedRecord {
        comm: communicator(report, part.comm).map(|comm| comm.name.as_str()).unwrap_or_default(),
        op: operation(report, part.op).map(|operation| operation.name.as_str()).unwrap_or_default(),
        calls: part.calls,
    }
}

fn average(spread: Spread) -> f64 {
    spread.time_ns as f64 / f64::from(spread.ranks.max(1)) / 1e9
}

pub fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

pub fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn communicator(report: &Report, number: i64) -> Option<&Communicator> {
    report.catalog.communicators.get(&number)
}

fn operation(report: &Report, number: i64) -> Option<&Operation> {
    report.catalog.operations.get(&number)
}

fn phase(report: &Report, number: i64) -> &str {
    report.catalog.phases.get(&number).map(String::as_str).unwrap_or_default()
}

fn bucket(report: &Report, number: i64) -> Option<Bucket> {
    report.catalog.buckets.get(&number).copied()
}
