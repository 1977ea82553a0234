//! Writes a profile: a stream of items, in one transaction, into a file that gets its name when it is whole.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use super::error::Error;
use super::parts::pack;
use super::reserved::Reserved;
use super::schema::{APPLICATION_ID, SCHEMA, SCHEMA_VERSION};
use super::tables::Tables;
use crate::stream::{Detail, Item, Source};

/// A profile that is about to be written.
pub struct Writer {
    db: Connection,
    file: Reserved,
    wanted: PathBuf,
}

/// A profile that is whole.
pub struct Written {
    /// The name that was free.
    pub path: PathBuf,
    /// Processes in it.
    pub ranks: u64,
    /// They were spawned by others, which have the wanted name, or will have it.
    pub are_spawned: bool,
}

impl Writer {
    /// Starts a profile that will get the wanted name, or the next free one.
    pub fn create(wanted: &Path) -> Result<Writer, Error> {
        let file = Reserved::create(wanted).map_err(|source| Error::File { path: wanted.to_owned(), source })?;
        // No locks (nobody else knows the file, and parallel file systems are bad at them) and no journal (a profile that
        // is not whole never gets its name). Rows come in the order of their tables, so little of the file need be in memory.
        // Every table takes a page or more: small pages halve the profile of a small run, and make a large one 2 % larger.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags_and_vfs(file.aside(), flags, c"unix-none")?;
        db.execute_batch("PRAGMA page_size = 1024; PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1024;")?;
        db.execute_batch("BEGIN")?;
        db.execute_batch(&SCHEMA)?;
        Ok(Writer { db, file, wanted: wanted.to_owned() })
    }

    /// Keeps the bytes of a shard that the profile is made of: it lacks ranks, and may be joined with them.
    pub fn keep(&self, rank: u32, shard: &[u8]) -> Result<(), Error> {
        let mut insert = self.db.prepare_cached("INSERT INTO part VALUES (?, ?, ?)")?;
        insert.execute(params![rank, shard.len() as i64, pack(shard)])?;
        Ok(())
    }

    /// Writes all items of a stream and gives the profile its name.
    pub fn write(self, detail: Detail, source: &mut impl Source) -> Result<Written, Error> {
        let Some(Item::Run(run)) = source.next() else { return Err(Error::Nothing) };
        let mut tables = Tables::new(&self.db, detail, &run)?;
        let mut are_spawned = false;
        while let Some(item) = source.next() {
            are_spawned |= matches!(&item, Item::Communicator(one) if one.leads_to_parents());
            tables.write(item)?;
        }
        tables.finish(&run)?;
        self.db.execute_batch(&format!(
            "PRAGMA user_version = {SCHEMA_VERSION}; PRAGMA application_id = {APPLICATION_ID}; COMMIT"
        ))?;
        self.db.flush_prepared_statement_cache();
        self.db.close().map_err(|(_, error)| error)?;
        let path = self.file.publish(are_spawned.into()).map_err(|source| Error::File { path: self.wanted, source })?;
        Ok(Written { path, ranks: run.ranks, are_spawned })
    }
}
