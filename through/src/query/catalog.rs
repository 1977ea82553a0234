//! The short lists of a profile: what its numbers stand for.

use std::collections::BTreeMap;
use std::rc::Rc;

use commsee::creators;
use commsee::shard::{OWN_SIZE, WITHOUT_MPI};
use rusqlite::Row;

use super::routes::{Route, routes};
use super::sites::Sites;
use super::unreturned::unreturned;
use crate::query::Error;
use crate::query::open::Profile;
use crate::symbols::Trust;

/// The number of the row `-`: calls that belong to no communicator.
pub const NO_COMM: i64 = commsee::shard::NO_COMM as i64;
/// The number of the row `*`: completion calls over several communicators.
pub const SEVERAL_COMMS: i64 = commsee::shard::SEVERAL_COMMS as i64;

#[derive(Clone, Debug, Default)]
pub struct Communicator {
    pub id: i64,
    pub name: String,
    /// The function or predefined communicator that made it.
    pub creator: Option<String>,
    /// Both groups of an intercommunicator together.
    pub size: Option<u64>,
    pub remote_size: u64,
    pub parent: Option<String>,
    pub root_rank: Option<i64>,
    pub label: Option<String>,
    pub freed: bool,
    /// World ranks of the members: `0-3,8`. Communicators with the same members share the text, as they do in the profile.
    pub ranks: Option<Rc<str>>,
    /// Whose it is; none is MPI.
    pub layer: Option<String>,
    /// World ranks in the order of its own ranks, where that is known and not ascending: `4-7,0-3`.
    pub order: Option<String>,
    /// Where in the code it was made.
    pub site: Option<i64>,
}

impl Communicator {
    /// Whether it is one of the rows `-` and `*`.
    pub fn is_special(&self) -> bool {
        self.id == NO_COMM || self.id == SEVERAL_COMMS
    }

    /// Sorts names as people do: `s0.9` before `s0.10`. World first, `*` and `-` last.
    pub fn name_key(&self) -> (bool, u64, char, u64, &str) {
        // That of a layer stands before a colon.
        let own =
            self.layer.as_ref().and_then(|_| self.name.split_once(':')).map_or(self.name.as_str(), |(_, own)| own);
        let mut characters = own.chars();
        let letter = characters.next().unwrap_or(' ');
        let (root, counter) = characters.as_str().split_once('.').unwrap_or((characters.as_str(), ""));
        let number = |text: &str| text.parse().unwrap_or(u64::MAX);
        (self.is_special(), number(root), letter, number(counter), &self.name)
    }
}

#[derive(Clone, Debug)]
pub struct Operation {
    pub name: String,
    pub class: String,
}

impl Operation {
    /// Whether it is the row `-`: what layers below MPI did outside of MPI calls, or for none that they could tell.
    pub fn is_none(&self) -> bool {
        self.name == "-"
    }

    /// Whether all members make the call together, so that it counts once for the communicator.
    pub fn is_collective(&self) -> bool {
        matches!(self.class.as_str(), "collective" | "neighborhood" | "comm")
    }

    /// Whether its calls have a message size; of one that is not known, they may.
    pub fn has_size(&self) -> bool {
        commsee::calls::CALLS.iter().find(|call| call.name == self.name).is_none_or(commsee::calls::Call::has_size)
    }

    /// Whether its time lies outside the span that run time and MPI time are measured over.
    pub fn is_outside_span(&self) -> bool {
        let known = commsee::calls::CALLS.iter().position(|call| call.name == self.name);
        known.is_some_and(|number| commsee::calls::outside_span(number as u16))
    }
}

/// Message sizes of more than `lo` and at most `hi` bytes.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    pub lo: u64,
    pub hi: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Process {
    pub rank: i64,
    pub host: String,
    pub pid: i64,
    pub wall_ns: i64,
    pub mpi_ns: i64,
    /// The part of it in calls that have not returned, over its threads.
    pub unreturned_ns: i64,
    /// Of the run time, its main thread on a processor, and ready to run without one; where that is not known, nothing.
    pub scheduled: Option<(i64, i64)>,
    /// Ready to run outside of MPI, but without a processor: an estimate, in MPI it may as well have been without one.
    pub unscheduled_ns: i64,
    pub state: String,
    /// Whether it called `MPI_Abort`, from which some libraries return.
    pub has_aborted: bool,
    /// Processors that it may run on, and their NUMA nodes, such as `0-3`; where that is not known, nothing.
    pub cpus: Option<String>,
    pub numa: Option<String>,
}

impl Process {
    pub fn new(rank: i64, host: String, pid: i64, wall_ns: i64, mpi_ns: i64, state: String) -> Process {
        let (unreturned_ns, unscheduled_ns) = (0, 0);
        Process {
            rank,
            host,
            pid,
            wall_ns,
            mpi_ns,
            unreturned_ns,
            scheduled: None,
            unscheduled_ns,
            state,
            has_aborted: false,
            cpus: None,
            numa: None,
        }
    }

    /// Outside of MPI, and not for want of a processor.
    pub fn work_ns(&self) -> i64 {
        self.wall_ns.saturating_sub(self.mpi_ns).saturating_sub(self.unscheduled_ns)
    }
}

/// What a cell stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    #[default]
    Rank,
    /// All ranks of a node, named by the lowest of them.
    Node,
    /// There are no cells, only sums over the ranks.
    Comm,
}

/// All lists, by the numbers that cells refer to.
pub struct Catalog {
    pub meta: BTreeMap<String, String>,
    pub detail: Detail,
    pub communicators: BTreeMap<i64, Communicator>,
    pub operations: BTreeMap<i64, Operation>,
    pub buckets: BTreeMap<i64, Bucket>,
    /// Names by number; 0 is no phase. Numbers ascend as phases began, on the first rank that had them.
    pub phases: BTreeMap<i64, String>,
    /// How layers below MPI moved data.
    pub routes: BTreeMap<i64, Route>,
    /// Ascending by rank.
    pub processes: Vec<Process>,
    pub sites: Sites,
}

impl Catalog {
    pub fn read(profile: &Profile) -> Result<Catalog, Error> {
        let mut communicators: BTreeMap<i64, Communicator> = BTreeMap::new();
        let lists = member_lists(profile)?;
        profile.query::<(), ()>(COMMUNICATORS, vec![], |row| {
            let communicator = communicator(row, &lists)?;
            communicators.insert(communicator.id, communicator);
            Ok(())
        })?;
        for (comm, ranks) in rank_orders(profile)? {
            communicators.entry(comm).and_modify(|communicator| communicator.order = Some(ranks));
        }
        let meta: BTreeMap<String, String> =
            profile
                .query("SELECT key, coalesce(value, '') FROM metadata", vec![], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let operations = profile.query("SELECT id, name, class FROM operation", vec![], |row| {
            Ok((row.get(0)?, Operation { name: row.get(1)?, class: row.get(2)? }))
        })?;
        let processes = processes(profile, &operations)?;
        Ok(Catalog {
            detail: match meta.get("detail").map(String::as_str) {
                Some("node") => Detail::Node,
                Some("comm") => Detail::Comm,
                _ => Detail::Rank,
            },
            communicators,
            operations,
            buckets: profile.query("SELECT id, lo, hi FROM bucket", vec![], |row| {
                let hi: Option<i64> = row.get(2)?;
                Ok((row.get(0)?, Bucket { lo: unsigned(row.get(1)?), hi: hi.map(unsigned) }))
            })?,
            phases: profile.query("SELECT id, name FROM phase", vec![], |row| Ok((row.get(0)?, row.get(1)?)))?,
            routes: routes(profile)?,
            sites: Sites::read(profile, profile.are_binaries_read.then(|| trust(&meta, &processes)))?,
            meta,
            processes,
        })
    }

    /// All buckets in their order, each once: those of operations whose ranks have sizes of their own have the same bounds.
    pub fn size_classes(&self) -> impl Iterator<Item = &Bucket> {
        self.buckets.iter().filter(|(number, _)| size_class(**number) == **number).map(|(_, bucket)| bucket)
    }

    /// Whether an operation's time lies outside the span that run time and MPI time are measured over.
    pub fn is_outside_span(&self, op: i64) -> bool {
        self.operations.get(&op).is_some_and(Operation::is_outside_span)
    }

    /// In SQL, the part of a time that is part of the MPI time. The time is a column of the row `n`.
    pub fn mpi_time(&self, time: &str) -> String {
        let outside = self.operations.keys().filter(|op| self.is_outside_span(**op));
        let numbers: Vec<String> = outside.map(i64::to_string).collect();
        format!("iif(n.op IN ({}), 0, {time})", numbers.join(","))
    }

    /// Whether its processes were spawned by others, which are not in it.
    pub fn are_spawned(&self) -> bool {
        let parents = creators::origin(creators::PARENTS);
        self.communicators.values().any(|one| one.layer.is_none() && one.creator.as_deref() == parents)
    }

    /// Whether mpisee wrote the profile, which counts less.
    pub fn is_of_mpisee(&self) -> bool {
        self.meta("written_by") == Some("mpisee")
    }

    /// A value of the metadata, if it is there and says something.
    /// False of a program without MPI, of which only layers were counted.
    pub fn has_mpi(&self) -> bool {
        self.meta("mpi_library") != Some(WITHOUT_MPI)
    }

    pub fn meta(&self, key: &str) -> Option<&str> {
        self.meta.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// The place of a bucket among those with other bounds.
pub fn size_class(bucket: i64) -> i64 {
    bucket & !i64::from(OWN_SIZE)
}

/// Ascending by rank.
fn processes(profile: &Profile, operations: &BTreeMap<i64, Operation>) -> Result<Vec<Process>, Error> {
    let sql = "SELECT rank, host, pid, wall_ns, mpi_ns, state FROM process ORDER BY rank";
    let mut processes: Vec<Process> = profile.query(sql, vec![], |row| {
        let (rank, host, pid) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (wall_ns, mpi_ns, state) = (row.get(3)?, row.get(4)?, row.get(5)?);
        Ok(Process::new(rank, host, pid, wall_ns, mpi_ns, state))
    })?;
    for call in unreturned(profile)? {
        let is_outside = operations.get(&call.op).is_some_and(Operation::is_outside_span);
        let at = processes.binary_search_by_key(&call.rank, |process| process.rank);
        if let (Ok(at), false) = (at, is_outside) {
            let Process { mpi_ns, unreturned_ns, .. } = &mut processes[at];
            *unreturned_ns = unreturned_ns.saturating_add(call.time_ns);
            *mpi_ns = mpi_ns.saturating_add(call.time_ns);
        }
    }
    let columns: Vec<String> =
        profile.query("SELECT name FROM pragma_table_info('ranks')", vec![], |row| row.get(0))?;
    // Profiles of early versions do not say what the scheduler gave them, and where they were bound.
    if columns.iter().any(|column| column == "work_s") {
        schedule(profile, &mut processes)?;
    }
    if columns.iter().any(|column| column == "cpus") {
        binding(profile, &mut processes)?;
    }
    for rank in aborted(profile, operations)? {
        if let Ok(at) = processes.binary_search_by_key(&rank, |process| process.rank) {
            processes[at].has_aborted = true;
        }
    }
    Ok(processes)
}

fn binding(profile: &Profile, processes: &mut [Process]) -> Result<(), Error> {
    let sql = "SELECT rank, cpus, numa FROM process WHERE cpus IS NOT NULL";
    let known: Vec<(i64, String, Option<String>)> =
        profile.query(sql, vec![], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    for (rank, cpus, numa) in known {
        if let Ok(at) = processes.binary_search_by_key(&rank, |process| process.rank) {
            (processes[at].cpus, processes[at].numa) = (Some(cpus), numa);
        }
    }
    Ok(())
}

fn schedule(profile: &Profile, processes: &mut [Process]) -> Result<(), Error> {
    let sql = "SELECT rank, ran_ns, ready_ns, CAST(round(1e9 * (wall_s - mpi_s - work_s)) AS INTEGER) \
               FROM ranks JOIN process USING (rank) WHERE ran_ns IS NOT NULL";
    let known: Vec<(i64, i64, i64, i64)> =
        profile.query(sql, vec![], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    for (rank, ran_ns, ready_ns, unscheduled_ns) in known {
        if let Ok(at) = processes.binary_search_by_key(&rank, |process| process.rank) {
            (processes[at].scheduled, processes[at].unscheduled_ns) = (Some((ran_ns, ready_ns)), unscheduled_ns);
        }
    }
    Ok(())
}

/// Ranks that are in `MPI_Abort`, or have called it.
fn aborted(profile: &Profile, operations: &BTreeMap<i64, Operation>) -> Result<Vec<i64>, Error> {
    // Operations are those of the profile: mostly it is not among them.
    let Some((op, _)) = operations.iter().find(|(_, operation)| operation.name == "MPI_Abort") else {
        return Ok(Vec::new());
    };
    let sql = format!("SELECT rank FROM standing WHERE op = {op} UNION SELECT rank FROM cells WHERE op = {op}");
    profile.query(&sql, vec![], |row| row.get(0))
}

/// For what binaries without a build id are trusted: those of a host of the job, as they were at its begin.
fn trust(meta: &BTreeMap<String, String>, processes: &[Process]) -> Trust {
    let host = own_host();
    let is_here = processes.iter().any(|process| process.host == host);
    let start = meta.get("start_time").and_then(|start| seconds(start)).filter(|_| is_here);
    start.map_or(Trust::Never, Trust::UnchangedSince)
}

fn own_host() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is as long as it is said to be, and ends with a zero whatever is written.
    let result = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let text = name.split(|byte| *byte == 0).next().unwrap_or_default();
    if result == 0 { String::from_utf8_lossy(text).into_owned() } else { String::new() }
}

/// Since 1970, of `2026-11-21T07:15:00Z`.
fn seconds(time: &str) -> Option<i64> {
    let numbers: Vec<i64> =
        time.trim_end_matches('Z').split(['-', 'T', ':']).map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [year, month, day, hour, minute, second] = numbers.try_into().ok()?;
    // Days from 1970 in the Gregorian calendar, with years that begin in March: <https://howardhinnant.github.io/date_algorithms.html>.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day - 1;
    Some((days - 719_468) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// 64-bit sizes are stored as SQLite's signed integers, bit by bit.
pub fn unsigned(stored: i64) -> u64 {
    stored as u64
}

/// Communicators with the same members share a list of them.
fn member_lists(profile: &Profile) -> Result<BTreeMap<i64, Rc<str>>, Error> {
    profile.query("SELECT id, ranks FROM members", vec![], |row| Ok((row.get(0)?, row.get::<_, String>(1)?.into())))
}

/// Of communicators of layers.
fn rank_orders(profile: &Profile) -> Result<Vec<(i64, String)>, Error> {
    profile.query("SELECT comm, ranks FROM rank_order", vec![], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// A layer's letters are its own.
const COMMUNICATORS: &str = "SELECT c.id, c.name, CASE WHEN c.layer IS NULL THEN r.call ELSE c.letter END, c.size, c.remote_size, p.name, \
     c.root_rank, c.label, c.freed, c.members, c.layer, c.site \
     FROM communicator c LEFT JOIN creator r ON r.letter = c.letter LEFT JOIN communicator p ON p.id = c.parent";

fn communicator(row: &Row, lists: &BTreeMap<i64, Rc<str>>) -> rusqlite::Result<Communicator> {
    let (size, remote_size): (Option<u32>, Option<u32>) = (row.get(3)?, row.get(4)?);
    let remote_size = u64::from(remote_size.unwrap_or(0));
    let label: Option<String> = row.get(7)?;
    Ok(Communicator {
        id: row.get(0)?,
        name: row.get(1)?,
        creator: row.get(2)?,
        size: size.map(|size| u64::from(size) + remote_size),
        remote_size,
        parent: row.get(5)?,
        root_rank: row.get(6)?,
        label: label.filter(|label| !label.is_empty()),
        freed: row.get::<_, Option<bool>>(8)?.unwrap_or(false),
        ranks: row.get::<_, Option<i64>>(9)?.and_then(|list| lists.get(&list).cloned()),
        layer: row.get(10)?,
        order: None,
        site: row.get(11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2000-02-29T12:30:01Z"), Some(951_827_401));
        assert_eq!(seconds("2026-11-21"), None);
    }

    #[test]
    fn names_sort_as_people_sort_them() {
        let named = |name: &str| Communicator { id: 9, name: name.to_owned(), ..Communicator::default() };
        let mut names = ["s0.10", "s1.1", "s0.9", "W0.0", "d0.9"].map(named);
        names.sort_by(|a, b| a.name_key().cmp(&b.name_key()));
        assert_eq!(names.map(|communicator| communicator.name), ["W0.0", "d0.9", "s0.9", "s0.10", "s1.1"]);
    }
}
