//! Items as bytes, for messages and piles. Bytes are cut into chunks, each of which can be read by itself.

use bytemuck::Zeroable;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::group::{Each, Key, Row, Sum};
use super::item::{Communicator, Context, Edge, Identity, Item, Run, Transfer, Use};
use super::merge::Source;
use crate::shard::Header;

/// Writes items into a chunk. What repeats from item to item is written once.
#[derive(Default)]
pub struct Encoder {
    bytes: Vec<u8>,
    identity: Option<Identity>,
    host: String,
}

impl Encoder {
    /// Bytes of the chunk so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Ends the chunk.
    pub fn take(&mut self) -> Vec<u8> {
        (self.identity, self.host) = (None, String::new());
        std::mem::take(&mut self.bytes)
    }

    pub fn push(&mut self, item: &Item) {
        self.bytes.push(item.place().0 + if matches!(item, Item::Each(_)) { EACH } else { 0 });
        match item {
            Item::Run(run) => {
                self.bytes.extend_from_slice(bytemuck::bytes_of(&*run.header));
                let facts =
                    (run.ns_per_tick, run.world_size, run.ranks, run.lost_calls, run.damaged, run.end_realtime_ns);
                self.put(&facts);
            }
            Item::Process(process) => {
                let host = (process.host != self.host).then_some(&process.host);
                self.put(&(process.rank, host, process.pid, process.wall_ns, process.mpi_ns, process.state));
                self.host.clone_from(&process.host);
            }
            Item::Communicator(communicator) => self.put(communicator),
            Item::Phase(name) | Item::Datatype(name) => self.put(name),
            Item::Route(route) => self.put(route),
            Item::Endpoint(endpoint) => self.put(endpoint),
            Item::Note(note) => self.put(note),
            Item::Sum(sum) => {
                self.put_key(&sum.key);
                self.put(&sum.totals);
            }
            Item::Each(each) => self.put_each(each),
            Item::Edge(edge) => {
                self.put_identity(edge.identity);
                let places = (edge.operation, edge.source, edge.source_rank, edge.destination);
                self.put(&(places, edge.calls, edge.bytes));
            }
            Item::Transfer(transfer) => {
                self.put_identity(transfer.identity);
                let Transfer { operation, bucket, route, context, place, rank, peer, calls, bytes, .. } = *transfer;
                self.put(&(operation, bucket, route, (context != Context::NONE).then_some(context)));
                self.put(&(place, rank, peer, calls, bytes));
                let Transfer { later, time_ns, time_min_ns, time_max_ns, .. } = *transfer;
                self.put(&(later > 0).then_some((later, time_ns, time_min_ns, time_max_ns)));
            }
            Item::Use(used) => {
                self.put_identity(used.identity);
                self.put(&(used.operation, used.datatype, used.place, used.rank, used.calls, used.bytes));
            }
            Item::Stand(stand) => self.put(stand),
            Item::Clock(clock) => self.put(clock),
            Item::Event(event) => self.put(event),
            Item::Program(program) => self.put(program),
        }
    }

    fn put(&mut self, value: &impl Serialize) {
        let bytes = std::mem::take(&mut self.bytes);
        // Writing plain data into memory cannot fail.
        self.bytes = postcard::to_extend(value, bytes).unwrap_or_default();
    }

    fn put_identity(&mut self, identity: Identity) {
        let new = (self.identity.replace(identity) != Some(identity)).then_some(identity);
        self.put(&new);
    }

    fn put_key(&mut self, key: &Key) {
        self.put_identity(key.identity);
        self.put(&(key.operation, key.bucket, key.phase));
    }

    fn put_each(&mut self, each: &Each) {
        self.put_key(&each.key);
        self.put(&(each.block, each.rows.len()));
        let (mut place, mut counts) = (0, None);
        for row in &each.rows {
            let now = (row.calls, row.failed, row.bytes_sent, row.bytes_recv);
            let new = (counts.replace(now) != Some(now)).then_some(now);
            let rank = (u64::from(row.rank) != row.place).then_some(row.rank);
            let bounds = (row.time_min_ns, row.time_max_ns);
            let bounds = (bounds != (row.time_ns, row.time_ns)).then_some(bounds);
            self.put(&(row.place.wrapping_sub(place), rank, new, row.time_ns, bounds));
            place = row.place;
        }
    }
}

/// A row: how far its place is from the one before; the rank where it is not the place; calls, failed calls, bytes sent and received
/// where they are not those of the row before; its time; the extremes where they are not the same.
type WireRow = (u64, Option<u32>, Option<(u64, u64, u64, u64)>, u64, Option<(u64, u64)>);

/// The section of sums and rows.
const SUM: u8 = 8;
/// Tells rows from sums, which belong to one section.
const EACH: u8 = 100;

/// Reads the items of one chunk. It ends where the bytes make no sense, which only happens where they are not those that were
/// written: [`Decoder::is_whole`] tells.
pub struct Decoder {
    bytes: Vec<u8>,
    at: usize,
    identity: Option<Identity>,
    host: String,
    is_whole: bool,
}

impl Decoder {
    pub fn new(bytes: Vec<u8>) -> Decoder {
        Decoder { bytes, at: 0, identity: None, host: String::new(), is_whole: true }
    }

    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn item(&mut self) -> Option<Item> {
        let section = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(match section {
            0 => {
                let header = self.bytes.get(self.at..self.at + size_of::<Header>())?;
                let mut own = Box::new(Header::zeroed());
                bytemuck::bytes_of_mut(&mut *own).copy_from_slice(header);
                self.at += size_of::<Header>();
                let (ns_per_tick, world_size, ranks, lost_calls, damaged, end_realtime_ns) = self.get()?;
                let run = Run { header: own, ns_per_tick, world_size, ranks, lost_calls, damaged, end_realtime_ns };
                Item::Run(Box::new(run))
            }
            1 => {
                let (rank, host, pid, wall_ns, mpi_ns, state): (_, Option<String>, _, _, _, _) = self.get()?;
                if let Some(host) = host {
                    self.host = host;
                }
                Item::Process(super::Process { rank, host: self.host.clone(), pid, wall_ns, mpi_ns, state })
            }
            2 => Item::Communicator(Box::new(self.get::<Communicator>()?)),
            3 => Item::Phase(self.get()?),
            4 => Item::Datatype(self.get()?),
            5 => Item::Route(Box::new(self.get()?)),
            6 => Item::Endpoint(self.get()?),
            7 => Item::Note(self.get()?),
            SUM => {
                let (key, totals) = (self.key()?, self.get()?);
                Item::Sum(Box::new(Sum { key, totals }))
            }
            9 => {
                let identity = self.identity()?;
                let ((operation, source, source_rank, destination), calls, bytes) = self.get()?;
                Item::Edge(Edge { identity, operation, source, source_rank, destination, calls, bytes })
            }
            10 => {
                let identity = self.identity()?;
                let (operation, bucket, route, context): (_, _, _, Option<Context>) = self.get()?;
                let (place, rank, peer, calls, bytes) = self.get()?;
                let times: Option<(u64, u64, u64, u64)> = self.get()?;
                let (later, time_ns, time_min_ns, time_max_ns) = times.unwrap_or_default();
                Item::Transfer(Transfer {
                    identity,
                    operation,
                    bucket,
                    route,
                    context: context.unwrap_or(Context::NONE),
                    place,
                    rank,
                    peer,
                    calls,
                    bytes,
                    later,
                    time_ns,
                    time_min_ns,
                    time_max_ns,
                })
            }
            11 => {
                let identity = self.identity()?;
                let (operation, datatype, place, rank, calls, bytes) = self.get()?;
                Item::Use(Use { identity, operation, datatype, place, rank, calls, bytes })
            }
            12 => Item::Stand(self.get()?),
            13 => Item::Clock(self.get()?),
            14 => Item::Event(self.get()?),
            15 => Item::Program(self.get()?),
            section if section == SUM + EACH => Item::Each(self.each()?),
            _ => return None,
        })
    }

    fn get<T: DeserializeOwned>(&mut self) -> Option<T> {
        let (value, rest) = postcard::take_from_bytes(self.bytes.get(self.at..)?).ok()?;
        self.at = self.bytes.len() - rest.len();
        Some(value)
    }

    fn identity(&mut self) -> Option<Identity> {
        if let Some(identity) = self.get::<Option<Identity>>()? {
            self.identity = Some(identity);
        }
        self.identity
    }

    fn key(&mut self) -> Option<Key> {
        let identity = self.identity()?;
        let (operation, bucket, phase) = self.get()?;
        Some(Key { identity, operation, bucket, phase })
    }

    fn each(&mut self) -> Option<Each> {
        let key = self.key()?;
        let (block, count): (u32, usize) = self.get()?;
        // A row takes five bytes or more.
        let mut rows = Vec::with_capacity(count.min(self.bytes.len() / 5));
        let (mut place, mut counts) = (0u64, None);
        for _ in 0..count {
            let (step, rank, new, time_ns, bounds): WireRow = self.get()?;
            place = place.wrapping_add(step);
            counts = new.or(counts);
            let (calls, failed, bytes_sent, bytes_recv) = counts?;
            let (time_min_ns, time_max_ns) = bounds.unwrap_or((time_ns, time_ns));
            let rank = rank.unwrap_or(place as u32);
            rows.push(Row { place, rank, calls, failed, bytes_sent, bytes_recv, time_ns, time_min_ns, time_max_ns });
        }
        Some(Each { key, block, rows })
    }
}

impl Source for Decoder {
    fn next(&mut self) -> Option<Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let item = self.item();
        if item.is_none() {
            (self.at, self.is_whole) = (self.bytes.len(), false);
        }
        item
    }
}
