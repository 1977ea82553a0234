//! The tables of what hook modules counted (routes, transfers, notes), and of the timeline.

use std::collections::HashMap;

use rusqlite::{CachedStatement, Connection, params};

use super::batch::Batch;
use super::error::Error;
use super::messages::{self, End, Ends};
use super::schema::known;
use crate::shard::{LAYER, NO_COMM, NO_OPERATION, NO_SITE, RECEIVED, Route, SENT};
use crate::stream::{Clock, Endpoint, Event, KnownRoute, NO_RANK, Note, Transfer};

/// Values of `transfer.peer` that are no ranks.
const UNKNOWN: i64 = -1;
const REMOTE: i64 = -2;

/// The row of transfers whose route is not known.
const NO_ROUTE: u32 = 0;

pub struct Layers<'a> {
    db: &'a Connection,
    insert: CachedStatement<'a>,
    insert_sum: CachedStatement<'a>,
    /// Transfers in a row that have one sum: the numbers of communicator and route, and what they come to.
    sum: Option<([u32; 2], Transfer)>,
    routes: Vec<KnownRoute>,
    numbers: HashMap<u64, u32>,
    /// Whose each identity is.
    ranks: HashMap<u64, u32>,
    are_numbered: bool,
    /// Whether all processes of the job are there: then an identity that is none of theirs belongs to another job.
    is_whole: bool,
    events: Batch<'a>,
    /// How many, each of which has a row.
    event_count: i64,
    /// Of their messages; nothing once there was no room.
    ends: Option<Ends>,
    has_timeline: bool,
}

impl<'a> Layers<'a> {
    /// All processes of the world are there if `is_whole`.
    pub fn new(db: &'a Connection, is_whole: bool) -> Result<Layers<'a>, Error> {
        // Several ranks of a node are one row where rows stand for nodes.
        let adding = |table: &str, columns: usize| {
            db.prepare_cached(&format!(
                "INSERT INTO {table} VALUES ({}) ON CONFLICT DO UPDATE SET \
                 calls = CAST(calls + excluded.calls AS INTEGER), bytes = CAST(bytes + excluded.bytes AS INTEGER), \
                 later = CAST(later + excluded.later AS INTEGER), \
                 time_ns = CAST(coalesce(time_ns + excluded.time_ns, time_ns, excluded.time_ns) AS INTEGER), \
                 time_min_ns = coalesce(min(time_min_ns, excluded.time_min_ns), time_min_ns, excluded.time_min_ns), \
                 time_max_ns = coalesce(max(time_max_ns, excluded.time_max_ns), time_max_ns, excluded.time_max_ns)",
                vec!["?"; columns].join(", ")
            ))
        };
        Ok(Layers {
            db,
            insert: adding("transfer", 17)?,
            insert_sum: adding("transfer_total", 10)?,
            sum: None,
            routes: Vec::new(),
            numbers: HashMap::new(),
            ranks: HashMap::new(),
            are_numbered: false,
            is_whole,
            events: Batch::new(db, "event", "NULL, ", 18),
            event_count: 0,
            ends: Some(Ends::none()),
            has_timeline: false,
        })
    }

    pub fn add_route(&mut self, route: KnownRoute) {
        self.routes.push(route);
    }

    pub fn add_endpoint(&mut self, endpoint: Endpoint) {
        self.ranks.insert(endpoint.identity, endpoint.rank);
    }

    pub fn add_note(&self, note: &Note) -> Result<(), Error> {
        let sql = "INSERT OR IGNORE INTO note VALUES (?, ?, ?)";
        self.db.prepare_cached(sql)?.execute(params![note.module, note.text, note.ranks as i64])?;
        Ok(())
    }

    pub fn add_order(&self, comm: u32, ranks: &str) -> rusqlite::Result<()> {
        self.db.prepare_cached("INSERT INTO rank_order VALUES (?, ?)")?.execute(params![comm, ranks]).map(drop)
    }

    /// The same numbers in whatever order processes met their routes.
    fn number(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.are_numbered, true) {
            return Ok(());
        }
        let none = KnownRoute { hash: 0, route: Route::default() };
        self.routes.sort_by_cached_key(|known| (known.route.text(), known.route.flags()));
        let mut insert = self.db.prepare("INSERT INTO way VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
        for (number, KnownRoute { hash, route }) in (NO_ROUTE..).zip([none].iter().chain(&self.routes)) {
            self.numbers.insert(*hash, number);
            insert.execute(params![
                number,
                route.layer,
                route.function,
                route.protocol,
                route.transport,
                route.device,
                route.kind,
                route.scope,
                route.arrives,
                route.role.name(),
                route.memory
            ])?;
        }
        Ok(())
    }

    /// The rank of an identity as tables have it.
    fn peer(&self, identity: u64, rank_of: impl Fn(u32) -> u32) -> i64 {
        match self.ranks.get(&identity) {
            Some(rank) => known(rank_of(*rank)),
            None if identity == 0 || !self.is_whole => UNKNOWN,
            None => REMOTE,
        }
    }

    fn route(&self, hash: u64) -> u32 {
        self.numbers.get(&hash).copied().unwrap_or(NO_ROUTE)
    }

    pub fn add_clock(&mut self, clock: &Clock) -> Result<(), Error> {
        self.has_timeline = true;
        let [begin, end] = clock.syncs;
        let error = |sync: Option<(i64, u64)>| sync.map(|(_, error_ns)| error_ns as i64);
        self.db.prepare_cached("INSERT OR IGNORE INTO clock VALUES (?, ?, ?, ?, ?, ?, ?)")?.execute(params![
            clock.rank,
            begin.map(|(offset_ns, _)| offset_ns),
            error(begin),
            end.map(|(offset_ns, _)| offset_ns),
            error(end),
            clock.events as i64,
            clock.lost_events as i64
        ])?;
        Ok(())
    }

    /// `site`: where the program made the call.
    pub fn add_event(&mut self, event: &Event, [comm, layer_comm]: [u32; 2], site: Option<u32>) -> Result<(), Error> {
        self.number()?;
        let is_layer = event.kind == LAYER;
        let peer = match event.message {
            Some((_, _, rank, _)) if event.kind == SENT => Some(if rank == NO_RANK { REMOTE } else { rank.into() }),
            _ => is_layer.then(|| self.peer(event.peer, |rank| rank)),
        };
        let comm = charged_to(event.operation, comm, layer_comm);
        self.event_count += 1;
        if let Some((source, tag, _, posted)) = event.message {
            let is_received = event.kind == RECEIVED;
            let end = End {
                comm,
                source,
                to: if is_received { event.rank as i32 } else { peer.unwrap_or(REMOTE) as i32 },
                tag,
                is_received: is_received.into(),
                rank: event.rank,
                order: if is_received { posted.into() } else { event.begin_ns },
                event: self.event_count,
                bytes: event.bytes as i64,
            };
            self.ends = self.ends.take().and_then(|mut ends| ends.add(end).ok().map(|()| ends));
        }
        self.events.add([
            Some(event.rank.into()),
            Some(event.thread.into()),
            Some(event.kind.into()),
            Some(event.begin_ns),
            event.end_ns,
            event.cause_ns,
            Some(comm.into()),
            Some(event.operation.into()),
            Some(event.bytes as i64),
            is_layer.then(|| self.route(event.route).into()),
            peer,
            event.message.map(|(source, ..)| source.into()),
            event.message.map(|(_, tag, ..)| tag.into()),
            event.message.filter(|_| event.kind == RECEIVED).map(|(.., posted)| posted.into()),
            event.sequence.map(i64::from),
            (layer_comm != NO_COMM).then_some(layer_comm.into()),
            (event.context.within != 0).then(|| self.route(event.context.within).into()),
            site.map(i64::from),
        ])?;
        Ok(())
    }

    /// `rank_of`: the rank that rows of a rank stand under. `sites`: where the program made the call, and where it allocated what was read and
    /// what was written.
    pub fn add(
        &mut self,
        transfer: &Transfer,
        [comm, layer_comm]: [u32; 2],
        sites: [Option<u32>; 3],
        rank_of: impl Fn(u32) -> u32,
    ) -> Result<(), Error> {
        self.number()?;
        let peer = self.peer(transfer.peer, &rank_of);
        let route = self.route(transfer.route);
        let rank = if transfer.rank == NO_RANK { NO_RANK } else { rank_of(transfer.rank) };
        let [time, least, most] = times(transfer);
        let within = self.route(transfer.context.within);
        let charged = charged_to(transfer.operation, comm, layer_comm);
        let [site, source, target] = sites.map(|site| site.unwrap_or(NO_SITE));
        self.add_to_sum([charged, route], transfer)?;
        self.insert.execute(params![
            charged,
            transfer.operation,
            transfer.bucket,
            route,
            known(rank),
            peer,
            transfer.calls as i64,
            transfer.bytes as i64,
            transfer.asynchronous as i64,
            time,
            least,
            most,
            layer_comm,
            within,
            site,
            source,
            target
        ])?;
        Ok(())
    }

    /// Those of one sum mostly come together. Where they do not, its parts are added up in the table.
    fn add_to_sum(&mut self, numbers: [u32; 2], transfer: &Transfer) -> Result<(), Error> {
        match &mut self.sum {
            Some((known, sum))
                if (*known, sum.operation, sum.bucket) == (numbers, transfer.operation, transfer.bucket) =>
            {
                sum.add(transfer);
                Ok(())
            }
            _ => {
                self.write_sum()?;
                self.sum = Some((numbers, *transfer));
                Ok(())
            }
        }
    }

    /// Writes what is still held.
    pub fn finish(mut self) -> Result<(), Error> {
        self.write_sum()?;
        self.events.finish()?;
        match self.ends.filter(|_| self.has_timeline) {
            Some(ends) => messages::store(self.db, ends),
            None => Ok(()),
        }
    }

    fn write_sum(&mut self) -> Result<(), Error> {
        let Some(([comm, route], sum)) = self.sum.take() else { return Ok(()) };
        let ([time, least, most], later) = (times(&sum), sum.asynchronous as i64);
        let (calls, bytes) = (sum.calls as i64, sum.bytes as i64);
        self.insert_sum.execute(params![
            comm,
            sum.operation,
            sum.bucket,
            route,
            calls,
            bytes,
            later,
            time,
            least,
            most
        ])?;
        Ok(())
    }
}

/// The sum, the least and the most, where any were asynchronous.
fn times(transfer: &Transfer) -> [Option<i64>; 3] {
    [transfer.time_ns, transfer.time_min_ns, transfer.time_max_ns]
        .map(|ns| (transfer.asynchronous > 0).then_some(ns as i64))
}

/// Outside of MPI the layer's communicator is the one that an operation is charged to.
fn charged_to(operation: u16, comm: u32, layer_comm: u32) -> u32 {
    if operation == NO_OPERATION && layer_comm != NO_COMM { layer_comm } else { comm }
}
