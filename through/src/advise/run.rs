//! What rules ask of a profile: read once for all of them, and single ranks where a rule has found something.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use commsee::ranks::Ranks;

use super::gain::Cells;
use crate::query::Error;
use crate::query::catalog::{Catalog, Communicator, unsigned};
use crate::query::families::Families;
use crate::query::filter::Filter;
use crate::query::ledger::{Ledger, ledger};
use crate::query::open::Profile;
use crate::query::operations::{Operations, operations};
use crate::query::source::{Relation, Source};
use crate::query::waiting::{Group, Timed, Waited, fences, groups, timed};

pub struct Run {
    pub profile: Rc<Profile>,
    pub catalog: Rc<Catalog>,
    pub ledger: Ledger,
    pub families: Families,
    /// By communicator, operation and bucket, over all ranks.
    pub operations: Vec<Operations>,
    /// The same over buckets, with calls as often as they were made.
    pub sums: BTreeMap<(i64, i64), Operations>,
    /// Nothing where the profile has no single ranks.
    pub waits: Option<Vec<Group>>,
    pub timed: Option<Timed>,
    /// The same of fences of one-sided epochs, which need not hold all.
    pub fences: Vec<Group>,
}

/// What one rank did in one operation on one communicator.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfRank {
    pub rank: i64,
    pub calls: i64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    pub time_ns: i64,
}

impl OfRank {
    fn add(&mut self, other: &OfRank) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.bytes_recv = self.bytes_recv.saturating_add(other.bytes_recv);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

impl Run {
    pub fn read(profile: &Rc<Profile>, catalog: &Rc<Catalog>) -> Result<Run, Error> {
        let all = Filter { is_phased: catalog.phases.len() > 1, ..Filter::default() };
        let operations = operations(profile, catalog, &all, true)?;
        let mut sums: BTreeMap<(i64, i64), Operations> = BTreeMap::new();
        for row in &operations {
            match sums.get_mut(&(row.comm, row.op)) {
                // The same ranks call with several sizes.
                Some(sum) => {
                    let ranks = sum.ranks.max(row.ranks);
                    sum.add(row);
                    sum.ranks = ranks;
                }
                None => _ = sums.insert((row.comm, row.op), row.clone()),
            }
        }
        sums.values_mut().for_each(|sum| sum.calls = sum.performed());
        let has_ranks = Source::new(profile, catalog, &all).has_single_ranks();
        Ok(Run {
            ledger: ledger(profile, catalog, None)?,
            families: Families::of(catalog),
            operations,
            sums,
            waits: if has_ranks { Some(groups(profile, catalog, &all)?) } else { None },
            fences: if has_ranks { fences(profile, catalog, &all)? } else { Vec::new() },
            timed: timed(profile, catalog)?,
            catalog: Rc::clone(catalog),
            profile: Rc::clone(profile),
        })
    }

    /// What a rank works outside of MPI, as an expression over the view `ranks`.
    pub fn work_s(&self) -> &'static str {
        let is_known = self.catalog.processes.iter().any(|process| process.scheduled.is_some());
        if is_known { "work_s" } else { "wall_s - mpi_s" }
    }

    /// Ready to run without a processor, in the mean over the ranks, in MPI or not.
    pub fn ready_ns(&self) -> i64 {
        let of_all = self.catalog.processes.iter().filter_map(|process| process.scheduled);
        of_all.fold(0i64, |sum, (_, ready_ns)| sum.saturating_add(ready_ns))
            / self.catalog.processes.len().max(1) as i64
    }

    /// The part of it outside of MPI.
    pub fn unscheduled_ns(&self) -> i64 {
        (self.ledger.unscheduled_ns / i128::from(self.ledger.ranks.max(1))) as i64
    }

    /// What a rank may spend in MPI for want of processors: its own, and that of the rank that it waits for.
    pub fn machine_ns(&self) -> i64 {
        self.ready_ns().saturating_mul(2)
    }

    /// The bounds of waiting in an operation: groups ascend by these.
    pub fn group(&self, comm: i64, op: i64) -> Option<&Group> {
        let groups = self.waits.as_ref()?;
        Some(&groups[groups.binary_search_by_key(&(comm, op), |group| (group.comm, group.op)).ok()?])
    }

    /// What a timeline tells of waiting in an operation, if it tells of the whole run.
    pub fn told(&self, comm: i64, op: i64) -> Option<impl Iterator<Item = &Waited>> {
        let timed = self.timed.as_ref().filter(|timed| timed.is_whole())?;
        Some(timed.waited.iter().filter(move |waited| (waited.comm, waited.op) == (comm, op)))
    }

    /// What each rank is known to have waited in an operation: by the timeline, or at least by the counters.
    pub fn waited(&self, comm: i64, op: i64) -> BTreeMap<i64, i64> {
        let mut waited: BTreeMap<i64, i64> = BTreeMap::new();
        if let Some(told) = self.told(comm, op) {
            for one in told {
                let sum = waited.entry(one.rank).or_default();
                *sum = sum.saturating_add(one.wait_ns);
            }
            return waited;
        }
        let members = self.group(comm, op).into_iter().flat_map(|group| &group.members);
        waited.extend(members.map(|member| (member.rank, member.min_ns)));
        waited
    }

    /// The numbers of the operations with one of these names.
    pub fn ops(&self, names: &[&str]) -> BTreeSet<i64> {
        let is_named = |name: &str| names.contains(&name);
        self.catalog.operations.iter().filter(|(_, op)| is_named(&op.name)).map(|(number, _)| *number).collect()
    }

    pub fn op(&self, number: i64) -> &str {
        self.catalog.operations.get(&number).map(|op| op.name.as_str()).unwrap_or_default()
    }

    pub fn class(&self, number: i64) -> &str {
        self.catalog.operations.get(&number).map(|op| op.class.as_str()).unwrap_or_default()
    }

    pub fn comm(&self, number: i64) -> Option<&Communicator> {
        self.catalog.communicators.get(&number)
    }

    pub fn name(&self, comm: i64) -> &str {
        self.comm(comm).map(|comm| comm.name.as_str()).unwrap_or_default()
    }

    /// `s0.1 "row"`.
    pub fn title(&self, comm: i64) -> String {
        match self.comm(comm).and_then(|comm| comm.label.as_deref()) {
            Some(label) => format!("{} \"{label}\"", self.name(comm)),
            None => self.name(comm).to_owned(),
        }
    }

    /// `s0.1 "row" (grid.c:11)`: with the line that made it, where that is known.
    pub fn made(&self, comm: i64) -> String {
        let spot = self.comm(comm).and_then(|comm| self.catalog.sites.spot(comm.site?));
        match spot.filter(|spot| spot.nameless.is_none()) {
            Some(spot) => format!("{} ({})", self.title(comm), spot.text),
            None => self.title(comm),
        }
    }

    /// What each rank spends in some operations on a communicator; where the profile has no single ranks, the mean.
    pub fn spent(&self, comm: i64, ops: &BTreeSet<i64>) -> Result<Cells, Error> {
        let rows = self.rows(comm, ops)?;
        if !rows.is_empty() {
            return Ok(rows.into_iter().map(|(op, row)| ((comm, op, row.rank), row.time_ns)).collect());
        }
        let members = self.members(comm);
        let ranks = || members.ranges().iter().flat_map(|(from, to)| *from..=*to).map(i64::from);
        let sums = self.sums.values().filter(|sum| sum.comm == comm && ops.contains(&sum.op));
        let mean_ns = |sum: &Operations| sum.time_ns / members.count().max(1) as i64;
        Ok(sums.flat_map(|sum| ranks().map(move |rank| ((comm, sum.op, rank), mean_ns(sum)))).collect())
    }

    /// What each rank did in some operations on a communicator; nothing where the profile has no single ranks.
    pub fn of_ranks(&self, comm: i64, ops: &BTreeSet<i64>) -> Result<Vec<OfRank>, Error> {
        let mut ranks: BTreeMap<i64, OfRank> = BTreeMap::new();
        for (_, row) in self.rows(comm, ops)? {
            let sum = ranks.entry(row.rank).or_insert(OfRank { rank: row.rank, ..OfRank::default() });
            sum.add(&row);
        }
        Ok(ranks.into_values().collect())
    }

    /// By operation and rank.
    fn rows(&self, comm: i64, ops: &BTreeSet<i64>) -> Result<Vec<(i64, OfRank)>, Error> {
        let filter = Filter {
            comms: Some([comm].into()),
            ops: Some(ops.clone()),
            is_phased: self.catalog.phases.len() > 1,
            ..Filter::default()
        };
        let source = Source::new(&self.profile, &self.catalog, &filter);
        if !source.has_single_ranks() {
            return Ok(Vec::new());
        }
        let Relation { sql, values } = source.rows()?;
        let sql = format!("SELECT rank, calls, bytes_sent, bytes_recv, time_ns, op FROM ({sql})");
        let mut ranks: HashMap<(i64, i64), OfRank> = HashMap::new();
        self.profile.query::<(), ()>(&sql, values, |row| {
            let rank = row.get(0)?;
            let sum = ranks.entry((row.get(5)?, rank)).or_insert(OfRank { rank, ..OfRank::default() });
            sum.add(&OfRank {
                rank,
                calls: row.get(1)?,
                bytes_sent: unsigned(row.get(2)?),
                bytes_recv: unsigned(row.get(3)?),
                time_ns: row.get(4)?,
            });
            Ok(())
        })?;
        let mut rows: Vec<(i64, OfRank)> = ranks.into_iter().map(|((op, _), row)| (op, row)).collect();
        rows.sort_by_key(|(op, row)| (row.rank, *op));
        Ok(rows)
    }

    /// The part of the run time.
    pub fn share(&self, ns: i64) -> f64 {
        ns as f64 / (self.ledger.run_time_ns as f64).max(1.0)
    }

    /// The part of ranks times run time.
    pub fn share_of_ranks(&self, ns: i128) -> f64 {
        ns as f64 / (self.ledger.whole_ns() as f64).max(1.0)
    }

    /// World ranks of the members.
    pub fn members(&self, comm: i64) -> Ranks {
        self.comm(comm).and_then(|comm| comm.ranks.as_deref()).map(Ranks::read).unwrap_or_default()
    }

    /// Calls of one rank, of a sum over ranks. A collective is counted once for its communicator.
    pub fn calls_of_a_rank(&self, sum: &Operations) -> f64 {
        let is_collective = self.catalog.operations.get(&sum.op).is_some_and(|op| op.is_collective());
        let ranks = if is_collective { 1 } else { sum.ranks.max(1) };
        sum.calls as f64 / f64::from(ranks)
    }
}

/// A condition of SQL over the views of a profile.
pub fn on(run: &Run, comm: i64, op: i64) -> String {
    format!("comm = '{}' AND op = '{}'", run.name(comm).replace('\'', "''"), run.op(op).replace('\'', "''"))
}

/// `--comm s0.1 --op Allreduce`.
pub fn filters(run: &Run, comm: i64, op: i64) -> String {
    let name = run.name(comm);
    let comm = if name == "*" { "'*'" } else { name };
    format!("--comm {comm} --op {}", run.op(op).trim_start_matches("MPI_"))
}
