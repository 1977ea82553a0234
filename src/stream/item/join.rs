//! The order in which items come, and how those of one key become one.

use xxhash_rust::xxh3::xxh3_64;

use super::{Communicator, Completed, Context, Item, Run, Spread, Transfer};
use crate::stream::group::{Each, NO_RANK};
use crate::stream::identity::Identity;

/// By what the items of a stream are sorted.
pub type SortKey = (u8, Identity, u64, u64, u64, u64);

impl Item {
    pub fn sort_key(&self) -> SortKey {
        let none = [0, 0];
        let operation = |operation: u16, bucket: u8| u64::from(operation) << 8 | u64::from(bucket);
        match self {
            Item::Run(_) => (0, none, 0, 0, 0, 0),
            Item::Process(process) => (1, none, process.rank.into(), 0, 0, 0),
            Item::Communicator(communicator) => (2, communicator.identity, 0, 0, 0, 0),
            Item::Phase(name) => (3, none, name.hash, 0, 0, 0),
            Item::Datatype(name) => (4, none, name.hash, 0, 0, 0),
            Item::Route(route) => (5, none, route.hash, 0, 0, 0),
            Item::Endpoint(endpoint) => (6, none, endpoint.identity, 0, 0, 0),
            Item::Note(note) => (7, none, note.hash, 0, 0, 0),
            Item::Module(module) => (8, none, module.hash, 0, 0, 0),
            Item::Frame(frame) => (9, none, frame.hash, 0, 0, 0),
            Item::Site(site) => (10, none, site.hash, 0, 0, 0),
            // Sums before their parts.
            Item::Sum(sum) => (11, sum.key.identity, operation(sum.key.operation, sum.key.bucket), sum.key.phase, 0, 0),
            Item::Each(Each { key, block, .. }) => {
                (11, key.identity, operation(key.operation, key.bucket), key.phase, u64::from(*block) + 1, 0)
            }
            Item::Edge(edge) => {
                (12, edge.identity, operation(edge.operation, 0), edge.source, edge.destination.into(), 0)
            }
            // In the order of their table.
            Item::SiteCalls(calls) => {
                let ([first, second], group) = (calls.identity, operation(calls.operation, calls.bucket));
                (13, [calls.site, first], second, group, calls.phase, calls.location)
            }
            Item::Transfer(transfer) => {
                let group = operation(transfer.operation, transfer.bucket);
                (14, transfer.identity, group, transfer.route_in_context(), transfer.location, transfer.peer)
            }
            Item::Use(used) => (15, used.identity, operation(used.operation, 0), used.datatype, used.location, 0),
            Item::InFlight(call) => (16, none, call.rank.into(), call.thread.into(), 0, 0),
            Item::Clock(clock) => (17, none, clock.rank.into(), 0, 0, 0),
            Item::Event(event) => (18, none, event.rank.into(), event.number.into(), 0, 0),
            Item::Program(program) => (19, none, program.hash, 0, 0, 0),
            Item::Completed(completed) => {
                let started = operation(completed.started, completed.bucket) << 32 | u64::from(completed.peer.0);
                let Completed { identity, phase, location, .. } = **completed;
                (20, identity, completed.operation.into(), phase, location, started)
            }
            Item::File(name) => (21, none, name.hash, 0, 0, 0),
            Item::OpenedFile(opened) => (22, opened.identity, opened.file, 0, 0, 0),
            Item::FileCalls(calls) => {
                let group = operation(calls.operation, calls.bucket);
                (23, calls.identity, calls.file, group, calls.phase, calls.location)
            }
            Item::Setting(setting) => (24, none, setting.hash, 0, 0, 0),
        }
    }

    /// Adds an item of the same key.
    pub fn add(&mut self, other: Item) {
        match (self, other) {
            (Item::Run(run), Item::Run(other)) => run.add(*other),
            (Item::Communicator(communicator), Item::Communicator(other)) => communicator.add(*other),
            (Item::Phase(name), Item::Phase(other)) | (Item::Datatype(name), Item::Datatype(other)) => {
                name.first = name.first.min(other.first);
            }
            (Item::Sum(sum), Item::Sum(other)) => sum.totals.add(&other.totals),
            (Item::Each(each), Item::Each(other)) => each.add(other),
            (Item::Edge(edge), Item::Edge(other)) => {
                edge.source_rank = edge.source_rank.min(other.source_rank);
                edge.counted.add(&other.counted);
            }
            (Item::Program(one), Item::Program(other)) | (Item::Setting(one), Item::Setting(other)) => {
                add_ranges(&mut one.members, other.members);
            }
            (Item::Endpoint(endpoint), Item::Endpoint(other)) => endpoint.rank = endpoint.rank.min(other.rank),
            (Item::Note(note), Item::Note(other)) => note.ranks += other.ranks,
            // Copies of one file: where they lie must not depend on the order of ranks.
            (Item::Module(module), Item::Module(other)) => {
                module.path = other.path.min(std::mem::take(&mut module.path))
            }
            (Item::Site(site), Item::Site(other)) => site.first = site.first.min(other.first),
            (Item::SiteCalls(calls), Item::SiteCalls(other)) => {
                calls.rank = calls.rank.min(other.rank);
                calls.counted.add(&other.counted);
            }
            (Item::Transfer(transfer), Item::Transfer(other)) => transfer.add(&other),
            (Item::Completed(completed), Item::Completed(other)) => {
                completed.rank = completed.rank.min(other.rank);
                completed.counted.add(&other.counted);
            }
            // Ranks may have been told to keep more of the name, or less.
            (Item::File(name), Item::File(other)) if other.first < name.first => *name = other,
            (Item::OpenedFile(opened), Item::OpenedFile(other)) => {
                opened.ranks = opened.ranks.saturating_add(other.ranks);
                opened.opens = opened.opens.wrapping_add(other.opens);
                opened.views = opened.views.wrapping_add(other.views);
            }
            (Item::FileCalls(calls), Item::FileCalls(other)) => {
                calls.rank = calls.rank.min(other.rank);
                calls.counted.add(&other.counted);
            }
            (Item::Use(used), Item::Use(other)) => {
                used.rank = used.rank.min(other.rank);
                used.counted.add(&other.counted);
            }
            // One rank twice, which nobody should hand over: the first one counts.
            _ => {}
        }
    }
}

impl Run {
    fn add(&mut self, other: Run) {
        if other.header.world_rank < self.header.world_rank {
            (self.header, self.ns_per_tick) = (other.header, other.ns_per_tick);
        }
        self.world_size = self.world_size.max(other.world_size);
        self.ranks += other.ranks;
        self.lost_calls = self.lost_calls.saturating_add(other.lost_calls);
        self.damaged = self.damaged.saturating_add(other.damaged);
        self.end_realtime_ns = self.end_realtime_ns.max(other.end_realtime_ns);
    }
}

impl Communicator {
    fn add(&mut self, mut other: Communicator) {
        let trust = |communicator: &Communicator| (communicator.counter.is_none(), communicator.source);
        if trust(&other) < trust(self) {
            std::mem::swap(self, &mut other);
        }
        self.root = if self.root == NO_RANK { other.root } else { self.root };
        self.label = self.label.take().or(other.label);
        self.parent = self.parent.or(other.parent);
        self.freed &= other.freed;
        add_ranges(&mut self.members, other.members);
        self.order.add(other.order);
        self.spread = match (self.spread, other.spread) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        };
        self.birthplace = self.birthplace.into_iter().chain(other.birthplace).min();
    }
}

impl Transfer {
    /// What tells a route in one context from the same one in another.
    fn route_in_context(&self) -> u64 {
        match self.context {
            Context::NONE => self.route,
            Context { communicator: [first, second], within, site, objects: [source, target] } => {
                let words = [self.route, first, second, within, site, source, target].map(u64::to_le_bytes);
                xxh3_64(words.as_flattened())
            }
        }
    }

    pub fn add(&mut self, other: &Transfer) {
        (self.time_min_ns, self.time_max_ns) = match (self.asynchronous, other.asynchronous) {
            (_, 0) => (self.time_min_ns, self.time_max_ns),
            (0, _) => (other.time_min_ns, other.time_max_ns),
            _ => (self.time_min_ns.min(other.time_min_ns), self.time_max_ns.max(other.time_max_ns)),
        };
        self.rank = self.rank.min(other.rank);
        self.calls = self.calls.wrapping_add(other.calls);
        self.bytes = self.bytes.wrapping_add(other.bytes);
        self.asynchronous = self.asynchronous.wrapping_add(other.asynchronous);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

impl Spread {
    fn and(self, other: Spread) -> Spread {
        Spread {
            ranks: self.ranks + other.ranks,
            time_ns: self.time_ns.saturating_add(other.time_ns),
            least: self.least.least(other.least),
            most: self.most.most(other.most),
        }
    }
}

/// Joins two lists of ascending ranges.
pub fn add_ranges(ranges: &mut Vec<(u32, u32)>, mut more: Vec<(u32, u32)>) {
    if more.first() < ranges.first() {
        std::mem::swap(ranges, &mut more);
    }
    let is_behind = ranges.last().zip(more.first()).is_none_or(|(last, first)| last.1 < first.0);
    let seam = ranges.len().saturating_sub(1);
    ranges.extend(more);
    let from = if is_behind { seam } else { 0 };
    ranges[from..].sort_unstable();
    let mut kept = from;
    for next in from + 1..ranges.len() {
        let (first, last) = ranges[next];
        if first <= ranges[kept].1.saturating_add(1) {
            ranges[kept].1 = ranges[kept].1.max(last);
        } else {
            kept += 1;
            ranges[kept] = (first, last);
        }
    }
    ranges.truncate(kept + 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined() {
        let joined = |one: &[(u32, u32)], other: &[(u32, u32)]| {
            let mut ranges = one.to_vec();
            add_ranges(&mut ranges, other.to_vec());
            ranges
        };
        assert_eq!(joined(&[(0, 3)], &[(4, 7)]), [(0, 7)]);
        assert_eq!(joined(&[(4, 7)], &[(0, 3), (9, 9)]), [(0, 7), (9, 9)]);
        assert_eq!(joined(&[(0, 0), (4, 4)], &[(2, 2), (6, 6)]), [(0, 0), (2, 2), (4, 4), (6, 6)]);
        assert_eq!(joined(&[(0, 0), (2, 2)], &[(2, 2), (3, 5)]), [(0, 0), (2, 5)]);
        assert_eq!(joined(&[], &[(1, 1)]), [(1, 1)]);
        assert_eq!(joined(&[(u32::MAX, u32::MAX)], &[(0, 0)]), [(0, 0), (u32::MAX, u32::MAX)]);
        assert_eq!(joined(&[], &[]), []);
    }
}
