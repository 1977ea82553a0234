//! What was done with the files that the program opened.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use commsee::calls::{self, Shape};
use commsee::shard::UNNAMED_FILE;

use super::catalog::{Catalog, unsigned};
use super::source::Source;
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// One file, opened over one communicator.
#[derive(Clone, Debug, Default)]
pub struct FileSum {
    /// Its number in the profile; none is all files whose name is not known.
    pub file: Option<i64>,
    pub name: Option<String>,
    pub comm: i64,
    /// How many ranks opened it, how often, and how often they set its view, whatever operations and sizes are asked for.
    pub ranks: u64,
    pub opens: u64,
    pub views: u64,
    pub calls: i64,
    /// Those of them that all processes which opened it make together.
    pub collective_calls: i64,
    /// Reads and writes that returned no error.
    pub accesses: i64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub time_ns: i64,
    /// Of blocking and split reads and writes.
    pub timed: Timed,
    /// The sum of what each rank moved in such calls per second. Nothing where the profile has no single ranks.
    pub sum_of_ranks: Option<f64>,
}

/// What was moved in calls that return when it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timed {
    pub bytes: u64,
    pub time_ns: i64,
}

impl Timed {
    /// Bytes per second.
    pub fn rate(self) -> Option<f64> {
        (self.bytes > 0 && self.time_ns > 0).then(|| self.bytes as f64 * 1e9 / self.time_ns as f64)
    }

    fn add(&mut self, bytes: u64, time_ns: i64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.time_ns = self.time_ns.saturating_add(time_ns);
    }
}

impl FileSum {
    pub fn bytes(&self) -> u64 {
        self.bytes_read.saturating_add(self.bytes_written)
    }

    /// Of one read or write.
    pub fn access_bytes(&self) -> Option<u64> {
        (self.accesses > 0).then(|| self.bytes() / self.accesses as u64)
    }
}

/// What an operation on a file is.
#[derive(Clone, Copy, Default)]
struct Kind {
    is_collective: bool,
    /// It reads or writes; of the two halves of a split collective one does.
    is_access: bool,
    is_timed: bool,
    is_open: bool,
    is_view: bool,
}

impl Kind {
    fn of(name: &str) -> Kind {
        let Some(at) = calls::CALLS.iter().position(|call| call.name == name) else { return Kind::default() };
        let call = &calls::CALLS[at];
        let moves = matches!(call.rule, "read" | "write" | "read_begin" | "read_end") || name.ends_with("_end");
        Kind {
            is_collective: calls::is_collective_on_files(at as u16),
            is_access: matches!(call.rule, "read" | "write" | "read_end"),
            is_timed: moves && call.shape != Shape::Request,
            is_open: name == "MPI_File_open",
            is_view: name == "MPI_File_set_view",
        }
    }
}

/// Those that took most time first.
pub fn files(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<FileSum>, Error> {
    let source = Source::new(profile, catalog, filter);
    if filter.ranks.is_some() {
        source.needs_single_ranks()?;
    }
    let kinds: HashMap<i64, Kind> = catalog.operations.iter().map(|(op, known)| (*op, Kind::of(&known.name))).collect();
    let kind = |op: i64| kinds.get(&op).copied().unwrap_or_default();
    let (condition, values) = filter.file_condition();
    let sql = format!(
        "SELECT x.file, x.comm, x.op, x.rank, x.calls, x.failed, x.bytes_read, x.bytes_written, x.time_ns FROM file_call x \
         WHERE {condition} ORDER BY x.file, x.comm"
    );
    let mut sums: Vec<FileSum> = Vec::new();
    // Of the file that comes last.
    let mut ranks: BTreeMap<i64, Timed> = BTreeMap::new();
    let has_ranks = source.has_single_ranks();
    let end = |sum: Option<&mut FileSum>, ranks: &mut BTreeMap<i64, Timed>| {
        if let Some(sum) = sum.filter(|_| has_ranks) {
            let rates: Vec<f64> = ranks.values().filter_map(|timed| timed.rate()).collect();
            sum.sum_of_ranks = (!rates.is_empty()).then(|| rates.iter().sum());
        }
        ranks.clear();
    };
    profile.query::<(), ()>(&sql, values, |row| {
        let (file, comm, op, rank): (i64, i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let (calls, failed, time_ns): (i64, i64, i64) = (row.get(4)?, row.get(5)?, row.get(8)?);
        let (read, written) = (unsigned(row.get(6)?), unsigned(row.get(7)?));
        let file = Some(file).filter(|file| *file != i64::from(UNNAMED_FILE));
        if sums.last().is_none_or(|last| (last.file, last.comm) != (file, comm)) {
            end(sums.last_mut(), &mut ranks);
            sums.push(FileSum { file, comm, ..FileSum::default() });
        }
        let Some(sum) = sums.last_mut() else { return Ok(()) };
        let kind = kind(op);
        sum.calls = sum.calls.saturating_add(calls);
        sum.time_ns = sum.time_ns.saturating_add(time_ns);
        sum.bytes_read = sum.bytes_read.saturating_add(read);
        sum.bytes_written = sum.bytes_written.saturating_add(written);
        if kind.is_collective {
            sum.collective_calls = sum.collective_calls.saturating_add(calls);
        }
        if kind.is_access {
            sum.accesses = sum.accesses.saturating_add(calls.saturating_sub(failed));
        }
        if kind.is_timed {
            sum.timed.add(read.saturating_add(written), time_ns);
            ranks.entry(rank).or_default().add(read.saturating_add(written), time_ns);
        }
        Ok(())
    })?;
    end(sums.last_mut(), &mut ranks);
    let opened = match filter.ranks.is_some() {
        true => opened_by_some(profile, filter, kind)?,
        false => opened(profile)?,
    };
    let names = file_names(profile)?;
    for sum in &mut sums {
        sum.name = sum.file.and_then(|file| names.get(&file).cloned());
        let key = (sum.file.unwrap_or(UNNAMED_FILE.into()), sum.comm);
        [sum.ranks, sum.opens, sum.views] = opened.get(&key).copied().unwrap_or_default();
    }
    sums.sort_by_key(|sum| Reverse(sum.time_ns));
    Ok(sums)
}

/// Ranks, opens and views by file and communicator.
type Opened = HashMap<(i64, i64), [u64; 3]>;

fn opened(profile: &Profile) -> Result<Opened, Error> {
    profile.query("SELECT file, comm, ranks, opens, views FROM file_open", vec![], |row| {
        let counts = [unsigned(row.get(2)?), unsigned(row.get(3)?), unsigned(row.get(4)?)];
        Ok(((row.get(0)?, row.get(1)?), counts))
    })
}

/// The same of some ranks.
fn opened_by_some(profile: &Profile, filter: &Filter, kind: impl Fn(i64) -> Kind) -> Result<Opened, Error> {
    let of_ranks = Filter { ranks: filter.ranks.clone(), comms: filter.comms.clone(), ..Filter::default() };
    let (condition, values) = of_ranks.file_condition();
    let sql = format!(
        "SELECT x.file, x.comm, x.op, x.rank, sum(x.calls - x.failed) FROM file_call x WHERE {condition} \
         GROUP BY x.file, x.comm, x.op, x.rank"
    );
    let mut opened: BTreeMap<(i64, i64), [u64; 3]> = BTreeMap::new();
    profile.query::<(), ()>(&sql, values, |row| {
        let (kind, succeeded) = (kind(row.get(2)?), unsigned(row.get(4)?));
        let [ranks, opens, views] = opened.entry((row.get(0)?, row.get(1)?)).or_default();
        if kind.is_open && succeeded > 0 {
            *ranks = ranks.saturating_add(1);
            *opens = opens.saturating_add(succeeded);
        }
        if kind.is_view {
            *views = views.saturating_add(succeeded);
        }
        Ok(())
    })?;
    Ok(opened.into_iter().collect())
}

/// Calls of one rank on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileKey {
    pub file: i64,
    pub comm: i64,
    pub op: i64,
    pub bucket: i64,
    pub rank: i64,
    pub phase: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct FileCalls {
    pub calls: i64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub time_ns: i64,
}

/// Row by row, for whoever filters them elsewhere.
pub fn file_calls(profile: &Profile) -> Result<Vec<(FileKey, FileCalls)>, Error> {
    let sql = "SELECT file, comm, op, bucket, rank, phase, calls, bytes_read, bytes_written, time_ns FROM file_call";
    profile.query(sql, vec![], |row| {
        let (bytes_read, bytes_written) = (unsigned(row.get(7)?), unsigned(row.get(8)?));
        Ok((
            FileKey {
                file: row.get(0)?,
                comm: row.get(1)?,
                op: row.get(2)?,
                bucket: row.get(3)?,
                rank: row.get(4)?,
                phase: row.get(5)?,
            },
            FileCalls { calls: row.get(6)?, bytes_read, bytes_written, time_ns: row.get(9)? },
        ))
    })
}

/// Their names, by number.
pub fn file_names(profile: &Profile) -> Result<HashMap<i64, String>, Error> {
    profile.query("SELECT id, name FROM file", vec![], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Calls of one operation and bucket on a file.
#[derive(Clone, Debug)]
pub struct OfFile {
    pub file: i64,
    pub name: Option<String>,
    pub comm: i64,
    pub op: i64,
    pub bucket: i64,
    pub calls: i64,
}

/// Those of some operations, over all ranks.
pub fn of_files(profile: &Profile, ops: &BTreeSet<i64>) -> Result<Vec<OfFile>, Error> {
    let (condition, values) = Filter { ops: Some(ops.clone()), ..Filter::default() }.file_condition();
    let sql = format!(
        "SELECT x.file, f.name, x.comm, x.op, x.bucket, sum(x.calls) FROM file_call x LEFT JOIN file f ON f.id = x.file \
         WHERE {condition} GROUP BY x.file, x.comm, x.op, x.bucket"
    );
    profile.query(&sql, values, |row| {
        let (file, name, comm, op) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        Ok(OfFile { file, name, comm, op, bucket: row.get(4)?, calls: row.get(5)? })
    })
}
