//! Writes a profile: one shard after the other, in one transaction, into a file that gets its name when it is whole.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use super::join::Join;
use super::{APPLICATION_ID, Place, SCHEMA, SCHEMA_VERSION};
use crate::buckets::Buckets;
use crate::calls::{self, CALLS};
use crate::creators;
use crate::shard::{
    self, BUCKET_INVOLVED, BUCKET_PENDING, CONTIGUOUS, Cell, FINISHED, FIRST_COMM, Header, LEFT, NO_PHASE, REMOTE_RANK,
    RUNNING, SNAPSHOT, Shard,
};

/// Why a profile could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the database: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("there is no shard to make a profile of")]
    Nothing,
    #[error("{0}")]
    Unreadable(String),
}

/// A profile while shards are added to it, in any order.
pub struct Writer {
    db: Connection,
    place: Place,
    wanted: PathBuf,
    join: Join,
    operations: BTreeSet<u16>,
    /// By name; 0 is no phase.
    phases: HashMap<String, u32>,
    /// By description, and whether it is contiguous.
    datatypes: HashMap<(String, bool), u32>,
    hosts: BTreeSet<String>,
    first: Option<(Box<Header>, Buckets, f64)>,
    end_realtime_ns: u64,
    ranks: u32,
    lost_calls: u64,
    damaged: u64,
}

impl Writer {
    /// Starts a profile that will get the wanted name, or the next free one.
    pub fn create(wanted: &Path) -> Result<Writer, Error> {
        let file = |source| Error::File { path: wanted.to_owned(), source };
        let place = Place::reserve(wanted).map_err(file)?;
        // No locks (nobody else knows the file, and parallel file systems are bad at them) and no journal (a profile that
        // is not whole never gets its name). Rows refer to communicators that are written last.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags_and_vfs(place.aside(), flags, c"unix-none")?;
        db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;")?;
        db.execute_batch("BEGIN")?;
        db.execute_batch(SCHEMA)?;
        Ok(Writer {
            db,
            place,
            wanted: wanted.to_owned(),
            join: Join::default(),
            operations: BTreeSet::new(),
            phases: HashMap::from([(String::new(), u32::from(NO_PHASE))]),
            datatypes: HashMap::new(),
            hosts: BTreeSet::new(),
            first: None,
            end_realtime_ns: 0,
            ranks: 0,
            lost_calls: 0,
            damaged: 0,
        })
    }

    /// Adds what one process counted.
    pub fn add(&mut self, shard: &Shard) -> Result<(), Error> {
        let header = &shard.header;
        let rank = header.world_rank;
        let numbers = self.join.add(rank, &shard.communicators);
        let phases = self.join_phases(shard);
        self.add_uses(shard, &numbers)?;
        if matches!(header.state, RUNNING | SNAPSHOT) {
            self.add_standings(shard, &numbers)?;
        }
        let ns_per_tick = shard.ns_per_tick();
        let to_ns = |ticks: u64| (ticks as f64 * ns_per_tick).round() as i64;

        let mut mpi_ns = 0i64;
        let mut insert = self.db.prepare_cached(
            "INSERT INTO cell VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET \
             calls = CAST(calls + excluded.calls AS INTEGER), failed = CAST(failed + excluded.failed AS INTEGER), \
             bytes_sent = CAST(bytes_sent + excluded.bytes_sent AS INTEGER), bytes_recv = CAST(bytes_recv + excluded.bytes_recv AS INTEGER), \
             time_ns = CAST(time_ns + excluded.time_ns AS INTEGER), time_min_ns = min(time_min_ns, excluded.time_min_ns), \
             time_max_ns = max(time_max_ns, excluded.time_max_ns)",
        )?;
        let mut involve = self.db.prepare_cached(
            "INSERT INTO involvement VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET calls = CAST(calls + excluded.calls AS INTEGER)",
        )?;
        for cell in shard.cells.iter().filter(|cell| !is_empty(cell)) {
            let (comm, operation) = (numbers[&cell.comm()], cell.operation());
            let phase = phases[&u32::from(cell.phase())];
            self.operations.insert(operation);
            if cell.bucket() == BUCKET_INVOLVED {
                involve.execute(params![comm, operation, rank, phase, cell.calls as i64])?;
                continue;
            }
            // A receive whose message never arrived holds nothing.
            let bucket = if cell.bucket() == BUCKET_PENDING { 0 } else { cell.bucket() };
            let time_ns = to_ns(cell.ticks);
            if !calls::outside_span(operation) {
                mpi_ns = mpi_ns.saturating_add(time_ns);
            }
            let bound = |ticks: u64| if cell.calls == 0 { None } else { Some(to_ns(ticks)) };
            insert.execute(params![
                comm,
                operation,
                bucket,
                rank,
                phase,
                cell.calls as i64,
                cell.failed as i64,
                cell.bytes_sent as i64,
                cell.bytes_recv as i64,
                time_ns,
                bound(cell.ticks_min),
                bound(cell.ticks_max)
            ])?;
        }
        let mut insert = self.db.prepare_cached(
            "INSERT INTO edge VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET \
             calls = CAST(calls + excluded.calls AS INTEGER), bytes = CAST(bytes + excluded.bytes AS INTEGER)",
        )?;
        for edge in shard.edges.iter().filter(|edge| edge.calls as i64 > 0) {
            self.operations.insert(edge.operation());
            let destination = if edge.world_rank == REMOTE_RANK { -1 } else { i64::from(edge.world_rank) };
            let (comm, operation) = (numbers[&edge.comm()], edge.operation());
            insert.execute(params![comm, operation, rank, destination, edge.calls as i64, edge.bytes as i64])?;
        }

        let wall_ns = match header.state {
            FINISHED | LEFT => header.latest.monotonic_ns.saturating_sub(header.started.monotonic_ns),
            _ => shard.since_start_ns(shard.last_sign_ticks()),
        };
        let host = shard::text(&header.host);
        let state = match header.state {
            FINISHED | LEFT => "finished",
            SNAPSHOT => "running",
            _ => "ended before MPI_Finalize",
        };
        self.db.prepare_cached("INSERT INTO process VALUES (?, ?, ?, ?, ?, ?)")?.execute(params![
            rank,
            host,
            header.pid,
            wall_ns as i64,
            mpi_ns,
            state
        ])?;
        self.hosts.insert(host);
        self.ranks += 1;
        self.lost_calls += u64::from(header.lost_calls);
        self.damaged += shard.damaged;
        self.end_realtime_ns = self.end_realtime_ns.max(header.start_realtime_ns.saturating_add(wall_ns));
        if self.first.as_ref().is_none_or(|(first, ..)| rank < first.world_rank) {
            self.first = Some((header.clone(), shard.buckets, ns_per_tick));
        }
        Ok(())
    }

    /// For each of a process's phases its number in the profile: phases are one where they have one name.
    fn join_phases(&mut self, shard: &Shard) -> HashMap<u32, u32> {
        let mut numbers = HashMap::from([(u32::from(NO_PHASE), u32::from(NO_PHASE))]);
        for phase in &shard.phases {
            let next = self.phases.len() as u32;
            numbers.insert(phase.number, *self.phases.entry(shard::text(&phase.text)).or_insert(next));
        }
        numbers
    }

    /// What a process counted by datatype; `numbers` are those of its communicators.
    fn add_uses(&mut self, shard: &Shard, numbers: &HashMap<u32, u32>) -> Result<(), Error> {
        let mut datatypes = HashMap::new();
        for datatype in &shard.datatypes {
            let next = self.datatypes.len() as u32;
            let structure = (shard::text(&datatype.text), datatype.flags & CONTIGUOUS != 0);
            datatypes.insert(datatype.number, *self.datatypes.entry(structure).or_insert(next));
        }
        // A process may have two numbers for what is written alike.
        let mut insert = self.db.prepare_cached(
            "INSERT INTO datatype_use VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET \
             calls = CAST(calls + excluded.calls AS INTEGER), bytes = CAST(bytes + excluded.bytes AS INTEGER)",
        )?;
        for entry in shard.uses.iter().filter(|entry| entry.calls as i64 > 0) {
            self.operations.insert(entry.operation());
            let (comm, datatype) = (numbers[&entry.comm()], datatypes[&entry.datatype()]);
            let rank = shard.header.world_rank;
            insert.execute(params![comm, entry.operation(), datatype, rank, entry.calls as i64, entry.bytes as i64])?;
        }
        Ok(())
    }

    /// Where the threads of a process stood that has not finished.
    fn add_standings(&mut self, shard: &Shard, numbers: &HashMap<u32, u32>) -> Result<(), Error> {
        let last_ns = shard.since_start_ns(shard.last_sign_ticks());
        let mut insert = self.db.prepare_cached("INSERT INTO standing VALUES (?, ?, ?, ?, ?, ?)")?;
        for stand in &shard.stands {
            let since_ns = shard.since_start_ns(stand.since_ticks);
            let call = stand.call;
            self.operations.extend(call.map(|(_, operation)| operation));
            // Most calls of a process that pauses counting go by unseen.
            let is_known = call.is_some() || shard.header.paused == 0;
            insert.execute(params![
                shard.header.world_rank,
                stand.thread,
                call.map(|(comm, _)| numbers[&comm]),
                call.map(|(_, operation)| operation),
                is_known.then_some(since_ns as i64),
                is_known.then_some(last_ns.saturating_sub(since_ns) as i64)
            ])?;
        }
        Ok(())
    }

    /// Completes the profile and gives it its name, which is returned.
    pub fn finish(self) -> Result<PathBuf, Error> {
        self.write_lists()?;
        self.write_communicators()?;
        self.db.execute_batch(&format!(
            "PRAGMA user_version = {SCHEMA_VERSION}; PRAGMA application_id = {APPLICATION_ID}; COMMIT"
        ))?;
        self.db.flush_prepared_statement_cache();
        self.db.close().map_err(|(_, error)| error)?;
        self.place.publish().map_err(|source| Error::File { path: self.wanted, source })
    }

    fn write_lists(&self) -> Result<(), Error> {
        let meta = self.meta()?;
        let (_, buckets, _) = self.first.as_ref().ok_or(Error::Nothing)?;
        let mut insert = self.db.prepare("INSERT INTO metadata VALUES (?, ?)")?;
        for (key, value) in &meta {
            insert.execute(params![key, value])?;
        }
        let mut insert = self.db.prepare("INSERT INTO creator VALUES (?, ?)")?;
        for (letter, call) in creators::all() {
            insert.execute(params![letter.to_string(), call])?;
        }
        let mut insert = self.db.prepare("INSERT INTO operation VALUES (?, ?, ?)")?;
        for operation in &self.operations {
            let call = &CALLS[usize::from(*operation)];
            insert.execute(params![operation, call.name, call.class.name()])?;
        }
        let mut insert = self.db.prepare("INSERT INTO phase VALUES (?, ?)")?;
        for (name, number) in &self.phases {
            insert.execute(params![number, name])?;
        }
        let mut insert = self.db.prepare("INSERT INTO datatype VALUES (?, ?, ?)")?;
        for ((name, contiguous), number) in &self.datatypes {
            insert.execute(params![number, name, contiguous])?;
        }
        let mut insert = self.db.prepare("INSERT INTO bucket VALUES (?, ?, ?)")?;
        for bucket in 0..=buckets.edges().len() as u8 {
            let (low, high) = buckets.bounds(bucket);
            insert.execute(params![bucket, low as i64, high.map(|edge| edge as i64)])?;
        }
        Ok(())
    }

    fn write_communicators(&self) -> Result<(), Error> {
        let special = "INSERT INTO communicator (id, name) VALUES (0, '-'), (1, '*')";
        self.db.execute_batch(special)?;
        let mut insert = self.db.prepare("INSERT INTO communicator VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
        for ((number, joined), name) in (FIRST_COMM..).zip(&self.join.communicators).zip(self.join.names()) {
            insert.execute(params![
                number,
                name,
                joined.letter.to_string(),
                joined.size,
                joined.remote_size,
                joined.parent,
                joined.root,
                joined.label,
                joined.freed,
                joined.ranks()
            ])?;
        }
        Ok(())
    }

    fn meta(&self) -> Result<BTreeMap<&'static str, String>, Error> {
        let (header, buckets, ns_per_tick) = self.first.as_ref().ok_or(Error::Nothing)?;
        let hex = |words: [u64; 2]| format!("{:016x}{:016x}", words[0], words[1]);
        let mut meta = BTreeMap::from([
            ("commsee_version", env!("CARGO_PKG_VERSION").to_owned()),
            ("command", shard::text(&header.command)),
            ("start_time", utc(header.start_realtime_ns)),
            ("end_time", utc(self.end_realtime_ns)),
            ("mpi_library", shard::text(&header.library)),
            ("mpi_family", ["unknown", "openmpi", "mpich", "mpi5"][(header.family as usize).min(3)].to_owned()),
            ("mpi_version", format!("{}.{}", header.mpi_version[0], header.mpi_version[1])),
            ("ranks", header.world_size.to_string()),
            ("ranks_recorded", self.ranks.to_string()),
            ("hosts", self.hosts.len().to_string()),
            ("bucket_edges", buckets.to_string()),
            ("clock", ["unknown", "tsc", "virtual counter", "monotonic"][(header.clock as usize).min(3)].to_owned()),
            ("clock_ns_per_tick", ns_per_tick.to_string()),
            (
                "thread_level",
                ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"]
                    [(header.thread_level as usize).min(3)]
                .to_owned(),
            ),
            ("options", shard::text(&header.options)),
            ("run", hex(header.run)),
            ("launch", if header.launch == [0, 0] { String::new() } else { hex(header.launch) }),
        ]);
        if self.lost_calls > 0 {
            meta.insert("lost_calls", self.lost_calls.to_string());
        }
        if self.damaged > 0 {
            meta.insert("damaged_entries", self.damaged.to_string());
        }
        Ok(meta)
    }
}

fn is_empty(cell: &Cell) -> bool {
    // A count below zero can only stem from a process that was ended between two additions.
    (cell.calls as i64) < 0 || (cell.calls == 0 && cell.bytes_sent == 0 && cell.bytes_recv == 0)
}

/// A point in time as `2026-11-21T07:15:00Z`, from nanoseconds since 1970.
pub fn utc(realtime_ns: u64) -> String {
    let seconds = (realtime_ns / 1_000_000_000) as libc::time_t;
    // SAFETY: gmtime_r fills the structure it is given and keeps no pointer.
    let parts = unsafe {
        let mut parts = std::mem::zeroed();
        libc::gmtime_r(&seconds, &mut parts);
        parts
    };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        parts.tm_year + 1900,
        parts.tm_mon + 1,
        parts.tm_mday,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_is_written_in_utc() {
        assert_eq!(super::utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(super::utc(1_795_244_100_000_000_000), "2026-11-21T06:55:00Z");
    }
}
