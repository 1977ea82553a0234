//! The program as a whole: run time and MPI time, from the end of `MPI_Init` to the start of `MPI_Finalize`.

use commsee::ranks::Ranks;

use super::catalog::{Catalog, Process};

/// A maximum with the rank that had it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    pub ns: i64,
    pub rank: i64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// Ranks that the profile knows.
    pub ranks: u64,
    pub hosts: u64,
    pub wall_max: Peak,
    pub wall_avg_ns: f64,
    pub mpi_max: Peak,
    pub mpi_avg_ns: f64,
    /// Over all ranks.
    pub mpi_sum_ns: f64,
    /// The largest part of its run time that a rank spent in MPI.
    pub share_max: f64,
    /// Ranks that ended before `MPI_Finalize`.
    pub unfinished: Ranks,
    /// Ranks of the job that the profile does not know.
    pub missing: Ranks,
    /// Ranks that went on when the profile was made.
    pub running: Ranks,
    /// Ranks that called `MPI_Abort`.
    pub aborted: Ranks,
    pub has_mpi: bool,
}

impl Overview {
    /// What ranks did that are `unfinished`.
    pub fn how_unfinished(&self) -> &'static str {
        if self.has_mpi { "ended before MPI_Finalize" } else { "ended by a signal or _exit" }
    }

    /// `MPI_Abort was called by rank 3`; nothing where nobody did.
    pub fn who_aborted(&self) -> Option<String> {
        let what = if self.aborted.count() == 1 { "rank" } else { "ranks" };
        (!self.aborted.is_empty()).then(|| format!("MPI_Abort was called by {what} {}", self.aborted))
    }
}

pub fn overview(catalog: &Catalog) -> Overview {
    let processes = &catalog.processes;
    let mean = |sum: f64| sum / processes.len().max(1) as f64;
    let sum = |time: fn(&Process) -> i64| processes.iter().map(|process| time(process) as f64).sum::<f64>();
    let mut hosts: Vec<&str> = processes.iter().map(|process| process.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let ranks_that = |is_meant: fn(&Process) -> bool| {
        let meant = processes.iter().filter(|process| is_meant(process));
        meant.filter_map(|process| u32::try_from(process.rank).ok()).collect()
    };
    Overview {
        missing: missing(catalog),
        ranks: processes.len() as u64,
        hosts: hosts.len() as u64,
        wall_max: peak(processes, |process| process.wall_ns),
        wall_avg_ns: mean(sum(|process| process.wall_ns)),
        mpi_max: peak(processes, |process| process.mpi_ns),
        mpi_avg_ns: mean(sum(|process| process.mpi_ns)),
        mpi_sum_ns: sum(|process| process.mpi_ns),
        share_max: processes.iter().map(share).fold(0.0, f64::max),
        unfinished: ranks_that(|process| !matches!(process.state.as_str(), "finished" | "running")),
        running: ranks_that(|process| process.state == "running"),
        aborted: ranks_that(|process| process.has_aborted),
        has_mpi: catalog.has_mpi(),
    }
}

fn share(process: &Process) -> f64 {
    if process.wall_ns > 0 { process.mpi_ns as f64 / process.wall_ns as f64 } else { 0.0 }
}

/// Ranks that were started, and of which nothing was found.
pub fn missing(catalog: &Catalog) -> Ranks {
    // A rank is an `int` of MPI, whatever a profile states.
    let started = catalog.meta("ranks").and_then(|ranks| ranks.parse().ok()).unwrap_or(0).min(1 << 31);
    let known = catalog.processes.iter().filter_map(|process| u32::try_from(process.rank).ok());
    Ranks::first(started).without(&known.collect())
}

/// The largest; of equals the one with the lowest rank.
fn peak(processes: &[Process], time: fn(&Process) -> i64) -> Peak {
    let largest = processes.iter().max_by_key(|process| (time(process), std::cmp::Reverse(process.rank)));
    largest.map(|process| Peak { ns: time(process), rank: process.rank }).unwrap_or_default()
}
