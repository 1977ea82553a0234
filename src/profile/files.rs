//! Files that the program opened, in a profile: they get their numbers when all are known.

use std::collections::HashMap;

use rusqlite::{CachedStatement, Connection, params};

use super::error::Error;
use super::number::number_names;
use super::schema::adding;
use crate::counters;
use crate::shard::UNNAMED_FILE;
use crate::stream::{Name, OpenedFile};

pub struct Files<'a> {
    db: &'a Connection,
    names: Vec<Name>,
    /// By their hashes, once they are numbered.
    numbers: HashMap<u64, u32>,
    calls: CachedStatement<'a>,
}

impl<'a> Files<'a> {
    pub fn new(db: &'a Connection) -> Result<Files<'a>, Error> {
        // Ranks on one node are one where rows stand for nodes.
        let calls = db.prepare_cached(&adding("file_call", 6, counters::FileCalls::TABLE))?;
        Ok(Files { db, names: Vec::new(), numbers: HashMap::new(), calls })
    }

    pub fn add(&mut self, name: Name) {
        self.names.push(name);
    }

    /// Names come before all that refers to them.
    fn number(&mut self) -> Result<(), Error> {
        if self.names.is_empty() {
            return Ok(());
        }
        let names = number_names(std::mem::take(&mut self.names), UNNAMED_FILE + 1);
        let mut insert = self.db.prepare("INSERT INTO file VALUES (?, ?)")?;
        for (number, name) in &names {
            insert.execute(params![number, name.text])?;
        }
        self.numbers = names.iter().map(|(number, name)| (name.hash, *number)).collect();
        Ok(())
    }

    fn find(&self, hash: u64) -> u32 {
        self.numbers.get(&hash).copied().unwrap_or(UNNAMED_FILE)
    }

    pub fn add_opened(&mut self, opened: &OpenedFile, comm: u32) -> Result<(), Error> {
        self.number()?;
        let OpenedFile { file, ranks, opens, views, .. } = *opened;
        let insert = "INSERT INTO file_open VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET ranks = ranks + excluded.ranks, \
             opens = CAST(opens + excluded.opens AS INTEGER), views = CAST(views + excluded.views AS INTEGER)";
        let counts = [ranks, opens, views].map(|count| count as i64);
        let row = params![self.find(file), comm, counts[0], counts[1], counts[2]];
        self.db.prepare_cached(insert)?.execute(row)?;
        Ok(())
    }

    /// `key`: communicator, operation, bucket, phase and rank.
    pub fn add_calls(&mut self, file: u64, key: [i64; 5], counted: &counters::FileCalls) -> Result<(), Error> {
        self.number()?;
        let key = [self.find(file).into()].into_iter().chain(key);
        for (at, value) in (1..).zip(key.chain(counted.values().map(|value| value as i64))) {
            self.calls.raw_bind_parameter(at, value)?;
        }
        self.calls.raw_execute()?;
        Ok(())
    }
}
