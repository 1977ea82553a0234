//! The tables of what hook modules counted: ways, transfers, notes.

use std::collections::HashMap;

use rusqlite::{CachedStatement, Connection, params};

use super::tables::known;
use super::write::Error;
use crate::shard::Way;
use crate::stream::{Endpoint, KnownWay, NO_RANK, Note, Transfer};

/// Values of `transfer.peer` that are no ranks.
const UNKNOWN: i64 = -1;
const REMOTE: i64 = -2;

/// The row of transfers whose way is not known.
const NO_WAY: u32 = 0;

pub struct Layers<'a> {
    db: &'a Connection,
    insert: CachedStatement<'a>,
    ways: Vec<KnownWay>,
    numbers: HashMap<u64, u32>,
    /// Whose each identity is.
    ranks: HashMap<u64, u32>,
    are_numbered: bool,
    /// Whether all processes of the job are there: then an identity that is none of theirs belongs to another job.
    is_whole: bool,
}

impl<'a> Layers<'a> {
    pub fn new(db: &'a Connection, is_whole: bool) -> Result<Layers<'a>, Error> {
        // Several ranks of a node are one row where rows stand for nodes.
        let insert = db.prepare_cached(
            "INSERT INTO transfer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET \
             calls = CAST(calls + excluded.calls AS INTEGER), bytes = CAST(bytes + excluded.bytes AS INTEGER), \
             later = CAST(later + excluded.later AS INTEGER), \
             time_ns = CAST(coalesce(time_ns + excluded.time_ns, time_ns, excluded.time_ns) AS INTEGER), \
             time_min_ns = coalesce(min(time_min_ns, excluded.time_min_ns), time_min_ns, excluded.time_min_ns), \
             time_max_ns = coalesce(max(time_max_ns, excluded.time_max_ns), time_max_ns, excluded.time_max_ns)",
        )?;
        Ok(Layers {
            db,
            insert,
            ways: Vec::new(),
            numbers: HashMap::new(),
            ranks: HashMap::new(),
            are_numbered: false,
            is_whole,
        })
    }

    pub fn add_way(&mut self, way: KnownWay) {
        self.ways.push(way);
    }

    pub fn add_endpoint(&mut self, endpoint: Endpoint) {
        self.ranks.insert(endpoint.identity, endpoint.rank);
    }

    pub fn add_note(&self, note: &Note) -> Result<(), Error> {
        let sql = "INSERT OR IGNORE INTO note VALUES (?, ?, ?)";
        self.db.prepare_cached(sql)?.execute(params![note.module, note.text, note.ranks as i64])?;
        Ok(())
    }

    /// The same numbers in whatever order processes met their ways.
    fn number(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.are_numbered, true) {
            return Ok(());
        }
        let none = KnownWay { hash: 0, way: Way::default() };
        self.ways.sort_by_cached_key(|known| (known.way.text(), known.way.arrives));
        let mut insert = self.db.prepare("INSERT INTO way VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
        for (number, KnownWay { hash, way }) in (NO_WAY..).zip([none].iter().chain(&self.ways)) {
            self.numbers.insert(*hash, number);
            insert.execute(params![
                number,
                way.layer,
                way.function,
                way.protocol,
                way.transport,
                way.device,
                way.kind,
                way.scope,
                way.arrives
            ])?;
        }
        Ok(())
    }

    /// `rank_of`: the rank that rows of a rank stand under.
    pub fn add(&mut self, transfer: &Transfer, comm: u32, rank_of: impl Fn(u32) -> u32) -> Result<(), Error> {
        self.number()?;
        let peer = match self.ranks.get(&transfer.peer) {
            Some(rank) => known(rank_of(*rank)),
            None if transfer.peer == 0 || !self.is_whole => UNKNOWN,
            None => REMOTE,
        };
        let rank = if transfer.rank == NO_RANK { NO_RANK } else { rank_of(transfer.rank) };
        let time = |ns: u64| (transfer.later > 0).then_some(ns as i64);
        self.insert.execute(params![
            comm,
            transfer.operation,
            transfer.bucket,
            self.numbers.get(&transfer.way).copied().unwrap_or(NO_WAY),
            known(rank),
            peer,
            transfer.calls as i64,
            transfer.bytes as i64,
            transfer.later as i64,
            time(transfer.time_ns),
            time(transfer.time_min_ns),
            time(transfer.time_max_ns)
        ])?;
        Ok(())
    }
}
