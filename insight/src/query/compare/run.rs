//! What comparisons need of one run: the ledger of its run time, by communicator and operation, and what its communicators are like.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use commsee::ranks::Ranks;
use through_core::query::Error;
use through_core::query::catalog::Catalog;
use through_core::query::filter::Filter;
use through_core::query::ledger::{Factors, ledger};
use through_core::query::open::Profile;
use through_core::query::operations::operations;
use through_core::query::performed::is_of_own_bytes;
use through_core::query::waiting::all_to_all;

use super::layers::{self, Moved};

#[derive(Clone, Debug, Default)]
pub struct Run {
    pub path: PathBuf,
    /// What it was a run of, by key, as the profile says.
    pub meta: BTreeMap<String, String>,
    pub ranks: u64,
    /// Of the rank that ran longest.
    pub run_time_ns: i64,
    /// Outside of MPI, over all ranks.
    pub working_ns: i128,
    /// MPI time that is in no counter, over all ranks.
    pub unexplained_ns: i128,
    /// From the end of each rank to that of the last one, over all ranks.
    pub end_skew_ns: i128,
    /// In MPI, over all ranks.
    pub mpi_ns: i128,
    pub factors: Factors,
    pub comms: Vec<Comm>,
    pub cells: Vec<Cell>,
    /// What layers below MPI did.
    pub moved: Vec<Moved>,
}

/// A communicator, as far as it may be recognised in another run.
#[derive(Clone, Debug, Default)]
pub struct Comm {
    pub name: String,
    pub creator: String,
    pub size: Option<u64>,
    /// World ranks of its members, where the profile knows them.
    pub ranks: Option<Ranks>,
    pub parent: Option<usize>,
    pub label: Option<String>,
    /// The function that made it, or else the address.
    pub birthplace: Option<String>,
    /// Of its rank 0, and how many communicators that one had been in before: parts of the name.
    pub root: u64,
    pub made: u64,
}

/// What all ranks did in one operation on one communicator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    pub comm: usize,
    pub op: String,
    /// A collective operation counts once for its communicator, any other call once per rank.
    pub calls: i64,
    /// Of all ranks together.
    pub rank_calls: i64,
    /// Sent and received, over all ranks.
    pub bytes: u128,
    /// Over all ranks.
    pub time_ns: i128,
    /// Of the rank that spent most. Of calls in several size classes that of each may be another.
    pub rank_max_ns: i64,
    /// What the time would be if all had spent as little as the rank that spent least: of calls that all members make equally often. Where
    /// all leave such a call together, the rest is waiting; some of this may be, too.
    pub even_ns: Option<i128>,
    /// The same if all calls had been as short as the shortest: nobody waits in that.
    pub floor_ns: Option<i128>,
    /// Whether all members leave the call about together, after the last one entered: barriers, and all-to-all exchanges.
    pub is_synchronising: bool,
}

impl Run {
    pub fn read(profile: &Profile) -> Result<Run, Error> {
        let catalog = Catalog::read(profile)?;
        let (comms, numbers) = comms(&catalog);
        let cells = cells(profile, &catalog, &numbers, &comms)?;
        let moved = layers::read(profile, &catalog)?;
        let ledger = ledger(profile, &catalog, None)?;
        Ok(Run {
            path: profile.path.clone(),
            ranks: ledger.ranks,
            run_time_ns: ledger.run_time_ns,
            working_ns: ledger.working_ns,
            unexplained_ns: ledger.unexplained_ns() + ledger.unreturned_ns,
            end_skew_ns: ledger.end_skew_ns,
            mpi_ns: catalog.processes.iter().map(|process| i128::from(process.mpi_ns)).sum(),
            factors: ledger.factors,
            meta: catalog.meta,
            comms,
            cells,
            moved,
        })
    }

    /// Ranks times run time: what the ledger adds up to.
    pub fn whole_ns(&self) -> i128 {
        i128::from(self.ranks) * i128::from(self.run_time_ns)
    }

    /// A part of it as part of the run time, in seconds.
    pub fn per_rank_s(&self, time_ns: i128) -> f64 {
        time_ns as f64 / self.ranks.max(1) as f64 / 1e9
    }
}

/// In the order of their numbers in the profile, and where each number is.
fn comms(catalog: &Catalog) -> (Vec<Comm>, HashMap<i64, usize>) {
    let by_name: HashMap<&str, usize> =
        catalog.communicators.values().enumerate().map(|(at, comm)| (comm.name.as_str(), at)).collect();
    let mut numbers = HashMap::new();
    let mut comms = Vec::new();
    for (at, (number, comm)) in catalog.communicators.iter().enumerate() {
        numbers.insert(*number, at);
        let (_, root, _, made, _) = comm.name_key();
        let birthplace = comm.site.and_then(|site| catalog.sites.spot(site));
        comms.push(Comm {
            name: comm.name.clone(),
            creator: [comm.layer.as_deref(), comm.creator.as_deref()].map(Option::unwrap_or_default).join(" "),
            size: comm.size,
            ranks: comm.ranks.as_deref().map(Ranks::read),
            // A communicator is no parent of its own, but for a damaged profile.
            parent: comm
                .parent
                .as_deref()
                .and_then(|parent| by_name.get(parent))
                .copied()
                .filter(|parent| *parent != at),
            label: comm.label.clone(),
            birthplace: birthplace.map(|spot| spot.function.clone().unwrap_or_else(|| spot.text.clone())),
            root,
            made,
        });
    }
    (comms, numbers)
}

fn cells(
    profile: &Profile,
    catalog: &Catalog,
    numbers: &HashMap<i64, usize>,
    comms: &[Comm],
) -> Result<Vec<Cell>, Error> {
    let filter = Filter { is_phased: catalog.phases.len() > 1, ..Filter::default() };
    let together = all_to_all(catalog);
    let mut cells: BTreeMap<(usize, i64), Cell> = BTreeMap::new();
    for row in operations(profile, catalog, &filter, true)? {
        let (Some(comm), Some(operation)) = (numbers.get(&row.comm), catalog.operations.get(&row.op)) else { continue };
        if operation.is_outside_span() {
            continue;
        }
        let is_first = !cells.contains_key(&(*comm, row.op));
        let cell = cells.entry((*comm, row.op)).or_insert_with(|| Cell {
            comm: *comm,
            op: operation.name.clone(),
            is_synchronising: together.contains_key(&row.op),
            ..Cell::default()
        });
        cell.calls = cell.calls.saturating_add(row.performed());
        cell.rank_calls = cell.rank_calls.saturating_add(row.rank_calls);
        cell.bytes += u128::from(row.bytes_sent) + u128::from(row.bytes_recv);
        cell.time_ns += i128::from(row.time_ns);
        cell.rank_max_ns = cell.rank_max_ns.saturating_add(row.rank_max_ns);
        // Two classes of ranks' own bytes may be of the same calls: what each rank spent in one is not compared with the others.
        let is_known = is_first || !is_of_own_bytes(row.bucket);
        let ranks = i64::from(row.ranks);
        let is_even = is_known
            && comms[*comm].size == Some(u64::from(row.ranks))
            && ranks.checked_mul(row.rank_calls_max) == Some(row.rank_calls);
        let whole =
            |of_a_rank: i128| is_even.then(|| (i128::from(ranks) * of_a_rank).clamp(0, i128::from(row.time_ns.max(0))));
        let even = whole(i128::from(row.rank_min_ns));
        let floor = row.time_min_ns.and_then(|shortest| whole(i128::from(shortest) * i128::from(row.rank_calls_max)));
        let added = |sum: Option<i128>, part: Option<i128>| if is_first { part } else { Some(sum? + part?) };
        (cell.even_ns, cell.floor_ns) = (added(cell.even_ns, even), added(cell.floor_ns, floor));
    }
    Ok(cells.into_values().collect())
}
