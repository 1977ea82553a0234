//! Writes a profile: a stream of items, in one transaction, into a file that gets its name when it is whole.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use super::parts::{PART_SCHEMA, pack};
use super::tables::Tables;
use super::{APPLICATION_ID, Place, SCHEMA, SCHEMA_VERSION};
use crate::stream::{Detail, Item, Source};

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

/// A profile that is about to be written.
pub struct Writer {
    db: Connection,
    place: Place,
    wanted: PathBuf,
    has_parts: bool,
}

/// A profile that is whole.
pub struct Written {
    /// The name that was free.
    pub path: PathBuf,
    /// Processes in it.
    pub ranks: u64,
}

impl Writer {
    /// Starts a profile that will get the wanted name, or the next free one.
    pub fn create(wanted: &Path) -> Result<Writer, Error> {
        let file = |source| Error::File { path: wanted.to_owned(), source };
        let place = Place::reserve(wanted).map_err(file)?;
        // No locks (nobody else knows the file, and parallel file systems are bad at them) and no journal (a profile that
        // is not whole never gets its name). Rows come in the order of their tables, so little of the file need be in memory.
        // Every table takes a page or more: small pages halve the profile of a small run, and make a large one 2 % larger.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags_and_vfs(place.aside(), flags, c"unix-none")?;
        db.execute_batch("PRAGMA page_size = 1024; PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384;")?;
        db.execute_batch("BEGIN")?;
        db.execute_batch(&SCHEMA)?;
        Ok(Writer { db, place, wanted: wanted.to_owned(), has_parts: false })
    }

    /// Keeps the bytes of a shard that the profile is made of: it lacks ranks, and may be joined with them.
    pub fn keep(&mut self, rank: u32, shard: &[u8]) -> Result<(), Error> {
        if !std::mem::replace(&mut self.has_parts, true) {
            self.db.execute_batch(PART_SCHEMA)?;
        }
        let mut insert = self.db.prepare_cached("INSERT INTO part VALUES (?, ?, ?)")?;
        insert.execute(params![rank, shard.len() as i64, pack(shard)])?;
        Ok(())
    }

    /// Writes all items of a stream and gives the profile its name.
    pub fn write(self, detail: Detail, source: &mut impl Source) -> Result<Written, Error> {
        let Some(Item::Run(run)) = source.next() else { return Err(Error::Nothing) };
        let mut tables = Tables::new(&self.db, detail, &run)?;
        while let Some(item) = source.next() {
            tables.write(item)?;
        }
        tables.finish(&run)?;
        self.db.execute_batch(&format!(
            "PRAGMA user_version = {SCHEMA_VERSION}; PRAGMA application_id = {APPLICATION_ID}; COMMIT"
        ))?;
        self.db.flush_prepared_statement_cache();
        self.db.close().map_err(|(_, error)| error)?;
        let path = self.place.publish().map_err(|source| Error::File { path: self.wanted, source })?;
        Ok(Written { path, ranks: run.ranks })
    }
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
