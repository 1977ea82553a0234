//! Items as bytes, for messages and for merging in memory. Bytes are cut into chunks, each of which can be read by itself.

use bytemuck::Zeroable;
use postcard::ser_flavors::Flavor;
use postcard::{Deserializer, Serializer};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::group::{Each, Key, Row, Sum};
use super::identity::Identity;
use super::item::{Communicator, Context, Edge, Event, Item, Run, SiteCalls, Transfer, Use};
use super::merge::Source;
use crate::counters::{Calls, Counter};
use crate::shard::Header;

/// Writes items into a chunk. What repeats from item to item is written once.
#[derive(Default)]
pub struct Encoder {
    bytes: Vec<u8>,
    identity: Option<Identity>,
    site: Option<u64>,
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
        (self.identity, self.site, self.host) = (None, None, String::new());
        std::mem::take(&mut self.bytes)
    }

    pub fn push(&mut self, item: &Item) {
        self.bytes.push(item.sort_key().0 + if matches!(item, Item::Each(_)) { EACH } else { 0 });
        match item {
            Item::Run(run) => {
                self.bytes.extend_from_slice(bytemuck::bytes_of(&*run.header));
                let about =
                    (run.ns_per_tick, run.world_size, run.ranks, run.lost_calls, run.damaged, run.end_realtime_ns);
                self.put(&about);
            }
            Item::Process(process) => {
                let host = (process.host != self.host).then_some(&process.host);
                self.put(&(process.rank, host, process.pid, process.wall_ns, process.mpi_ns));
                self.put(&(process.scheduled, process.state, &process.processors, &process.numa_nodes));
                self.host.clone_from(&process.host);
            }
            Item::Communicator(communicator) => self.put(communicator),
            Item::Phase(name) | Item::Datatype(name) | Item::File(name) => self.put(name),
            Item::Route(route) => self.put(route),
            Item::Endpoint(endpoint) => self.put(endpoint),
            Item::Note(note) => self.put(note),
            Item::Module(module) => self.put(module),
            Item::Frame(frame) => self.put(frame),
            Item::Site(site) => self.put(site),
            Item::Sum(sum) => {
                self.put_key(&sum.key);
                self.put(&sum.totals);
            }
            Item::Each(each) => self.put_each(each),
            Item::Edge(edge) => {
                self.put_identity(edge.identity);
                let ends = (edge.operation, edge.source, edge.source_rank, edge.destination);
                self.put(&(ends, edge.counted));
            }
            Item::Transfer(transfer) => {
                self.put_identity(transfer.identity);
                let Transfer { operation, bucket, route, context, location, rank, peer, calls, bytes, .. } = *transfer;
                self.put(&(operation, bucket, route, (context != Context::NONE).then_some(context)));
                self.put(&(location, rank, peer, calls, bytes));
                let Transfer { asynchronous, time_ns, time_min_ns, time_max_ns, .. } = *transfer;
                self.put(&(asynchronous > 0).then_some((asynchronous, time_ns, time_min_ns, time_max_ns)));
            }
            Item::SiteCalls(calls) => {
                self.put_identity(calls.identity);
                let new = (self.site.replace(calls.site) != Some(calls.site)).then_some(calls.site);
                self.put(&(new, calls.operation, calls.bucket, calls.phase, calls.location, calls.rank, calls.counted));
            }
            Item::Use(used) => {
                self.put_identity(used.identity);
                self.put(&(used.operation, used.datatype, used.location, used.rank, used.counted));
            }
            Item::InFlight(call) => self.put(call),
            Item::Clock(clock) => self.put(clock),
            Item::Event(event) => self.put_event(event),
            Item::Program(of_ranks) | Item::Setting(of_ranks) => self.put(of_ranks),
            Item::Completed(completed) => self.put(completed),
            Item::OpenedFile(opened) => self.put(opened),
            Item::FileCalls(calls) => self.put(calls),
        }
    }

    fn put(&mut self, value: &impl Serialize) {
        let mut serializer = Serializer { output: Bytes(std::mem::take(&mut self.bytes)) };
        // Writing plain data into memory cannot fail.
        let _ = value.serialize(&mut serializer);
        self.bytes = serializer.output.0;
    }

    fn put_identity(&mut self, identity: Identity) {
        let new = (self.identity.replace(identity) != Some(identity)).then_some(identity);
        self.put(&new);
    }

    fn put_key(&mut self, key: &Key) {
        self.put_identity(key.identity);
        self.put(&(key.operation, key.bucket, key.phase));
    }

    fn put_event(&mut self, event: &Event) {
        self.put_identity(event.identity);
        let Event { rank, number, thread, kind, operation, begin_ns, sequence, end_ns, cause_ns, bytes, .. } = *event;
        let Event { route, context, peer, message, site, .. } = *event;
        let of_layer = (route != 0 || peer != 0 || context != Context::NONE).then_some((route, peer, context));
        self.put(&(rank, number, thread, kind, operation, begin_ns, sequence));
        // As few bytes as the duration takes.
        let [end_ns, cause_ns] = [end_ns, cause_ns].map(|ns| ns.map(|ns| ns.wrapping_sub(begin_ns)));
        self.put(&(end_ns, cause_ns, bytes, message, site, of_layer));
    }

    fn put_each(&mut self, each: &Each) {
        self.put_key(&each.key);
        self.put(&(each.block, each.rows.len()));
        let mut serializer = Serializer { output: Bytes(std::mem::take(&mut self.bytes)) };
        let (mut location, mut before) = (0, None);
        for row in &each.rows {
            let values = row.counted.values();
            let is_same = |before: [u64; Calls::COUNT]| {
                let mut common = Calls::TABLE.iter().enumerate().filter(|(_, counter)| counter.is_common());
                common.all(|(at, _)| before[at] == values[at])
            };
            let is_new = !before.replace(values).is_some_and(is_same);
            let rank = (u64::from(row.rank) != row.location).then_some(row.rank);
            // One call is the shortest and the longest.
            let has_extremes = Calls::BOUNDED.iter().any(|(at, of)| values[*at] != values[*of]);
            let head: WireRow = (row.location.wrapping_sub(location), rank, is_new, has_extremes);
            let _ = head.serialize(&mut serializer);
            for (value, counter) in values.iter().zip(Calls::TABLE) {
                if is_written(counter, is_new, has_extremes) {
                    let _ = value.serialize(&mut serializer);
                }
            }
            location = row.location;
        }
        self.bytes = serializer.output.0;
    }
}

/// What is written goes behind these.
struct Bytes(Vec<u8>);

impl Flavor for Bytes {
    type Output = Vec<u8>;

    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(data);
        Ok(())
    }

    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.0.push(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Vec<u8>> {
        Ok(self.0)
    }
}

/// Whether a row has the value of a counter: not where it is that of the row before, nor where an extreme is all that there is.
fn is_written(counter: &Counter, is_new: bool, has_extremes: bool) -> bool {
    if counter.is_common() { is_new } else { counter.is_sum() || has_extremes }
}

/// A row: how far its location is from the one before; the rank where it is not the location; whether counts and extremes follow.
type WireRow = (u64, Option<u32>, bool, bool);

/// The section of sums and rows.
const SUM: u8 = 11;
/// Tells rows from sums, which belong to one section.
const EACH: u8 = 100;

/// Reads the items of one chunk. It ends where the bytes make no sense, which only happens where they are not those that were
/// written: [`Decoder::is_whole`] tells.
pub struct Decoder {
    bytes: Vec<u8>,
    at: usize,
    identity: Option<Identity>,
    site: Option<u64>,
    host: String,
    is_whole: bool,
}

impl Decoder {
    pub fn new(bytes: Vec<u8>) -> Decoder {
        Decoder { bytes, at: 0, identity: None, site: None, host: String::new(), is_whole: true }
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
                let (rank, host, pid, wall_ns, mpi_ns): (_, Option<String>, _, _, _) = self.get()?;
                let (scheduled, state, processors, numa_nodes) = self.get()?;
                if let Some(host) = host {
                    self.host = host;
                }
                let host = self.host.clone();
                let process =
                    super::Process { rank, host, pid, wall_ns, mpi_ns, scheduled, state, processors, numa_nodes };
                Item::Process(process)
            }
            2 => Item::Communicator(Box::new(self.get::<Communicator>()?)),
            3 => Item::Phase(self.get()?),
            4 => Item::Datatype(self.get()?),
            5 => Item::Route(Box::new(self.get()?)),
            6 => Item::Endpoint(self.get()?),
            7 => Item::Note(self.get()?),
            8 => Item::Module(Box::new(self.get()?)),
            9 => Item::Frame(self.get()?),
            10 => Item::Site(self.get()?),
            SUM => {
                let (key, totals) = (self.key()?, self.get()?);
                Item::Sum(Box::new(Sum { key, totals }))
            }
            12 => {
                let identity = self.identity()?;
                let ((operation, source, source_rank, destination), counted) = self.get()?;
                Item::Edge(Edge { identity, operation, source, source_rank, destination, counted })
            }
            13 => {
                let identity = self.identity()?;
                let (new, operation, bucket, phase, location, rank, counted): (Option<u64>, _, _, _, _, _, _) =
                    self.get()?;
                self.site = new.or(self.site);
                let site = self.site?;
                Item::SiteCalls(SiteCalls { site, identity, operation, bucket, phase, location, rank, counted })
            }
            14 => {
                let identity = self.identity()?;
                let (operation, bucket, route, context): (_, _, _, Option<Context>) = self.get()?;
                let (location, rank, peer, calls, bytes) = self.get()?;
                let times: Option<(u64, u64, u64, u64)> = self.get()?;
                let (asynchronous, time_ns, time_min_ns, time_max_ns) = times.unwrap_or_default();
                Item::Transfer(Transfer {
                    identity,
                    operation,
                    bucket,
                    route,
                    context: context.unwrap_or(Context::NONE),
                    location,
                    rank,
                    peer,
                    calls,
                    bytes,
                    asynchronous,
                    time_ns,
                    time_min_ns,
                    time_max_ns,
                })
            }
            15 => {
                let identity = self.identity()?;
                let (operation, datatype, location, rank, counted) = self.get()?;
                Item::Use(Use { identity, operation, datatype, location, rank, counted })
            }
            16 => Item::InFlight(self.get()?),
            17 => Item::Clock(self.get()?),
            18 => Item::Event(self.event()?),
            19 => Item::Program(self.get()?),
            20 => Item::Completed(Box::new(self.get()?)),
            21 => Item::File(self.get()?),
            22 => Item::OpenedFile(self.get()?),
            23 => Item::FileCalls(Box::new(self.get()?)),
            24 => Item::Setting(self.get()?),
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

    fn event(&mut self) -> Option<Event> {
        let identity = self.identity()?;
        let (rank, number, thread, kind, operation, begin_ns, sequence) = self.get()?;
        let (end_ns, cause_ns, bytes, message, site, of_layer): (_, _, _, _, _, Option<_>) = self.get()?;
        let [end_ns, cause_ns] = [end_ns, cause_ns].map(|ns: Option<i64>| ns.map(|ns| i64::wrapping_add(begin_ns, ns)));
        let (route, peer, context) = of_layer.unwrap_or((0, 0, Context::NONE));
        Some(Event {
            rank,
            number,
            thread,
            kind,
            identity,
            operation,
            begin_ns,
            sequence,
            end_ns,
            cause_ns,
            bytes,
            route,
            context,
            peer,
            message,
            site,
        })
    }

    fn each(&mut self) -> Option<Each> {
        let key = self.key()?;
        let (block, count): (u32, usize) = self.get()?;
        // A row takes five bytes or more.
        let mut rows = Vec::with_capacity(count.min(self.bytes.len() / 5));
        let mut reader = Deserializer::from_bytes(self.bytes.get(self.at..)?);
        let (mut location, mut values) = (0u64, None);
        for _ in 0..count {
            let (step, rank, is_new, has_extremes) = WireRow::deserialize(&mut reader).ok()?;
            location = location.wrapping_add(step);
            // What is not written is what the row before had.
            let mut row = if is_new { [0; Calls::COUNT] } else { values? };
            for (value, counter) in row.iter_mut().zip(Calls::TABLE) {
                if is_written(counter, is_new, has_extremes) {
                    *value = u64::deserialize(&mut reader).ok()?;
                }
            }
            if !has_extremes {
                Calls::BOUNDED.iter().for_each(|(at, of)| row[*at] = row[*of]);
            }
            values = Some(row);
            rows.push(Row { location, rank: rank.unwrap_or(location as u32), counted: Calls::of_values(row) });
        }
        self.at = self.bytes.len() - reader.finalize().ok()?.len();
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
