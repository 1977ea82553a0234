//! What comparisons need of one run: the ledger of its run time, by communicator and operation, and what its communicators are like.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use commsee::ranks::Ranks;

use crate::query::Error;
use crate::query::catalog::{Catalog, unsigned};
use crate::query::filter::Filter;
use crate::query::open::Profile;
use crate::query::source::{Relation, Source};

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
    pub comms: Vec<Comm>,
    pub cells: Vec<Cell>,
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

/// Operations whose members leave about together, after the last one entered (Scalasca's Wait at Barrier, Wait at N×N).
const SYNCHRONISING: [&str; 9] = [
    "MPI_Barrier",
    "MPI_Allreduce",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
];

impl Run {
    pub fn read(profile: &Profile) -> Result<Run, Error> {
        let catalog = Catalog::read(profile)?;
        let (comms, numbers) = comms(&catalog);
        let cells = cells(profile, &catalog, &numbers, &comms)?;
        let mut run = Run {
            path: profile.path.clone(),
            meta: catalog.meta.clone(),
            ranks: catalog.processes.len() as u64,
            run_time_ns: catalog.processes.iter().map(|process| process.wall_ns).max().unwrap_or_default(),
            comms,
            cells,
            ..Run::default()
        };
        let sum = |time: fn(&crate::query::catalog::Process) -> i64| {
            catalog.processes.iter().map(|process| i128::from(time(process))).sum::<i128>()
        };
        let (wall_ns, mpi_ns) = (sum(|process| process.wall_ns), sum(|process| process.mpi_ns));
        run.working_ns = wall_ns - mpi_ns;
        run.unexplained_ns = mpi_ns - run.cells.iter().map(|cell| cell.time_ns).sum::<i128>();
        run.end_skew_ns = run.whole_ns() - wall_ns;
        Ok(run)
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
    let Relation { sql, values } = Source::new(profile, catalog, &filter).groups(true)?;
    let sql = format!(
        "SELECT comm, op, ranks, calls, calls_max, bytes_sent, bytes_recv, time_ns, rank_max_ns, rank_min_ns, time_min_ns FROM ({sql})"
    );
    let mut cells: BTreeMap<(usize, i64), Cell> = BTreeMap::new();
    profile.query::<(), ()>(&sql, values, |row| {
        let (number, op): (i64, i64) = (row.get(0)?, row.get(1)?);
        let (Some(comm), Some(operation)) = (numbers.get(&number), catalog.operations.get(&op)) else { return Ok(()) };
        if operation.is_outside_span() {
            return Ok(());
        }
        let (ranks, calls, most): (i64, i64, i64) = (row.get(2)?, row.get(3)?, row.get(4)?);
        let time_ns: i64 = row.get(7)?;
        let (longest, least): (Option<i64>, Option<i64>) = (row.get(8)?, row.get(9)?);
        let shortest: Option<i64> = row.get(10)?;
        let is_first = !cells.contains_key(&(*comm, op));
        let cell = cells.entry((*comm, op)).or_insert_with(|| Cell {
            comm: *comm,
            op: operation.name.clone(),
            is_synchronising: SYNCHRONISING.contains(&operation.name.as_str()),
            ..Cell::default()
        });
        cell.calls = cell.calls.saturating_add(if operation.is_collective() { most } else { calls });
        cell.rank_calls = cell.rank_calls.saturating_add(calls);
        cell.bytes += u128::from(unsigned(row.get(5)?)) + u128::from(unsigned(row.get(6)?));
        cell.time_ns += i128::from(time_ns);
        cell.rank_max_ns = cell.rank_max_ns.saturating_add(longest.unwrap_or(time_ns));
        let is_even = comms[*comm].size == u64::try_from(ranks).ok() && ranks.checked_mul(most) == Some(calls);
        let whole =
            |of_a_rank: i128| is_even.then(|| (i128::from(ranks) * of_a_rank).clamp(0, i128::from(time_ns.max(0))));
        let even = whole(i128::from(least.unwrap_or(0)));
        let floor = shortest.and_then(|shortest| whole(i128::from(shortest) * i128::from(most)));
        let added = |sum: Option<i128>, part: Option<i128>| if is_first { part } else { Some(sum? + part?) };
        (cell.even_ns, cell.floor_ns) = (added(cell.even_ns, even), added(cell.floor_ns, floor));
        Ok(())
    })?;
    Ok(cells.into_values().collect())
}
