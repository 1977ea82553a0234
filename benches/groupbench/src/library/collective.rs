//! Collectives with the bytes of the pattern, as baselines. A pattern that a collective cannot express is told so.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;

use mpi::ffi::{self, MPI_Request};

use super::{Exchange, Library, Task, Unavailable};
use crate::mpi::{Comm, Count, in_place, null_request, wait_all};
use crate::pattern::Message;

pub struct Scatter;
pub struct Alltoall;
pub struct Alltoallv;

fn unavailable(library: &str, why: impl Into<String>) -> Unavailable {
    Unavailable { library: library.to_owned(), why: why.into() }
}

impl Library for Scatter {
    fn name(&self) -> String {
        "scatter".to_owned()
    }

    fn is_pairwise(&self) -> bool {
        false
    }

    fn prepare(&self, task: &Task) -> Result<Box<dyn Exchange>, Unavailable> {
        let mut sources = BTreeMap::<usize, Vec<&Message>>::new();
        for message in task.messages {
            sources.entry(message.source).or_default().push(message);
        }
        let mut seen = BTreeSet::new();
        let mut is_disjoint = true;
        for (source, messages) in &sources {
            let mut destinations: Vec<usize> = messages.iter().map(|message| message.destination).collect();
            destinations.dedup();
            if messages.iter().any(|one| one.bytes != messages[0].bytes) {
                let why = format!(
                    "rank {source} sends messages of different sizes; take bytes that the pattern divides, or alltoallv"
                );
                return Err(unavailable("scatter", why));
            }
            let is_row = messages.is_sorted_by(|one, next| {
                one.destination < next.destination
                    && one.from.arena == next.from.arena
                    && one.from.offset + one.bytes == next.from.offset
            });
            if !is_row || destinations.contains(source) {
                return Err(unavailable(
                    "scatter",
                    format!("what rank {source} sends does not lie in the order of its receivers"),
                ));
            }
            if i32::try_from(messages[0].bytes).is_err() {
                return Err(unavailable("scatter", "messages above 2 GiB; take twosided"));
            }
            is_disjoint &= destinations.iter().chain([source]).all(|rank| seen.insert(*rank));
        }
        let rank = task.world.rank();
        let mut scatters = Vec::new();
        for (source, messages) in &sources {
            let place = messages.iter().position(|message| message.destination == rank);
            let is_in = rank == *source || place.is_some();
            // The root first, then its receivers in their order.
            let Some(comm) = task.world.split(is_in.then_some(0), place.map_or(0, |place| place + 1)) else { continue };
            // The root's own block does not move (MPI_IN_PLACE), but it counts: the first one lies before the others.
            let bytes = messages[0].bytes as i32;
            scatters.push(OneScatter {
                from: if place.is_none() { task.memory.at(messages[0].from) } else { std::ptr::null_mut() },
                to: place.map_or_else(in_place, |place| task.memory.at(messages[place].to).cast()),
                bytes,
                comm,
            });
        }
        let requests = vec![null_request(); if is_disjoint { 0 } else { scatters.len() }];
        Ok(Box::new(Scatters { scatters, requests, is_disjoint }))
    }
}

/// Of one root, whose blocks begin at `from`.
struct OneScatter {
    from: *mut u8,
    to: *mut c_void,
    bytes: i32,
    comm: Comm,
}

struct Scatters {
    scatters: Vec<OneScatter>,
    requests: Vec<MPI_Request>,
    is_disjoint: bool,
}

impl Exchange for Scatters {
    fn start(&mut self) {
        let byte = Count::of(0).datatype();
        for (index, OneScatter { from, to, bytes, comm }) in self.scatters.iter().enumerate() {
            // The block before the first is the root's own, which nobody reads.
            let from: *const c_void = from.wrapping_sub(if from.is_null() { 0 } else { *bytes as usize }).cast();
            // SAFETY: root 0 has a block for each receiver; its own is in place.
            unsafe {
                if self.is_disjoint {
                    ffi::MPI_Scatter(from, *bytes, byte, *to, *bytes, byte, 0, comm.raw());
                } else {
                    let request = &raw mut self.requests[index];
                    ffi::MPI_Iscatter(from, *bytes, byte, *to, *bytes, byte, 0, comm.raw(), request);
                }
            }
        }
    }

    fn wait(&mut self) {
        // SAFETY: null, or as started above.
        unsafe { wait_all(&mut self.requests) };
    }
}

impl Library for Alltoall {
    fn name(&self) -> String {
        "alltoall".to_owned()
    }

    fn takes_device_memory(&self) -> bool {
        false
    }

    fn is_pairwise(&self) -> bool {
        false
    }

    fn prepare(&self, task: &Task) -> Result<Box<dyn Exchange>, Unavailable> {
        let pairs: BTreeMap<(usize, usize), &Message> =
            task.messages.iter().map(|message| ((message.source, message.destination), message)).collect();
        let Some(first) = task.messages.first() else { return Ok(Box::new(Nothing)) };
        if task.messages.iter().any(|message| message.bytes != first.bytes) {
            return Err(unavailable(
                "alltoall",
                "messages differ in size; take bytes that the pattern divides, or alltoallv",
            ));
        }
        let rank = task.world.rank();
        let mut own = None;
        let mut expected = 0;
        for (colour, members) in components(task.messages).into_iter().enumerate() {
            expected += members.len() * (members.len() - 1);
            if members.contains(&rank) {
                own = Some((colour, members));
            }
        }
        let is_whole = expected == pairs.len() && pairs.len() == task.messages.len();
        if !is_whole || task.messages.iter().any(|message| message.source == message.destination) {
            let why = "not every rank sends to every other one; take alltoallv, or a pattern such as --preset alltoall";
            return Err(unavailable("alltoall", why));
        }
        if i32::try_from(first.bytes).is_err() {
            return Err(unavailable("alltoall", "messages above 2 GiB; take twosided"));
        }
        let comm = task.world.split(own.as_ref().map(|(colour, _)| *colour), rank);
        let (Some(comm), Some((_, members))) = (comm, own) else { return Ok(Box::new(Nothing)) };
        // The blocks of an all-to-all lie in the order of ranks with one's own among them, which the pattern has not: it gets memory of its own.
        let bytes = first.bytes as usize;
        let moves = members.iter().enumerate().filter(|(_, other)| **other != rank).map(|(block, other)| Move {
            block,
            from: task.memory.at(pairs[&(rank, *other)].from),
            to: task.memory.at(pairs[&(*other, rank)].to),
        });
        let moves = moves.collect();
        // Not empty: a buffer of nothing may look like MPI_IN_PLACE.
        let blocks = || vec![0u8; (bytes * members.len()).max(1)];
        Ok(Box::new(Exchanged { comm, bytes, given: blocks(), got: blocks(), moves }))
    }
}

/// Ranks that are joined by messages, each list in ascending order.
fn components(messages: &[Message]) -> Vec<Vec<usize>> {
    let mut root = BTreeMap::<usize, usize>::new();
    fn find(root: &BTreeMap<usize, usize>, mut rank: usize) -> usize {
        while let Some(&up) = root.get(&rank).filter(|up| **up != rank) {
            rank = up;
        }
        rank
    }
    for message in messages {
        for rank in [message.source, message.destination] {
            root.entry(rank).or_insert(rank);
        }
        let (one, other) = (find(&root, message.source), find(&root, message.destination));
        root.insert(one.max(other), one.min(other));
    }
    let mut components = BTreeMap::<usize, Vec<usize>>::new();
    for &rank in root.keys() {
        components.entry(find(&root, rank)).or_default().push(rank);
    }
    components.into_values().collect()
}

struct Move {
    block: usize,
    from: *const u8,
    to: *mut u8,
}

struct Exchanged {
    comm: Comm,
    bytes: usize,
    given: Vec<u8>,
    got: Vec<u8>,
    moves: Vec<Move>,
}

impl Exchange for Exchanged {
    fn load(&mut self) {
        for one in &self.moves {
            let block = &mut self.given[one.block * self.bytes..][..self.bytes];
            // SAFETY: as long as the message.
            unsafe { std::ptr::copy_nonoverlapping(one.from, block.as_mut_ptr(), self.bytes) };
        }
    }

    fn start(&mut self) {
        let (byte, bytes) = (Count::of(0).datatype(), self.bytes as i32);
        // SAFETY: a block for each rank of the communicator on both sides.
        unsafe {
            let (given, got) = (self.given.as_ptr().cast(), self.got.as_mut_ptr().cast());
            ffi::MPI_Alltoall(given, bytes, byte, got, bytes, byte, self.comm.raw());
        }
    }

    fn wait(&mut self) {}

    fn land(&mut self) {
        for one in &self.moves {
            let block = &self.got[one.block * self.bytes..][..self.bytes];
            // SAFETY: as long as the message.
            unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), one.to, self.bytes) };
        }
    }
}

impl Library for Alltoallv {
    fn name(&self) -> String {
        "alltoallv".to_owned()
    }

    fn is_pairwise(&self) -> bool {
        false
    }

    fn prepare(&self, task: &Task) -> Result<Box<dyn Exchange>, Unavailable> {
        let ranks: BTreeSet<usize> =
            task.messages.iter().flat_map(|message| [message.source, message.destination]).collect();
        let place: BTreeMap<usize, usize> = ranks.iter().enumerate().map(|(place, rank)| (*rank, place)).collect();
        let mut seen = BTreeSet::new();
        let layout = task.memory.layout();
        for message in task.messages {
            if !seen.insert((message.source, message.destination)) {
                return Err(unavailable("alltoallv", "there is more than one message between two ranks in a step"));
            }
            let ends = [(message.source, message.from), (message.destination, message.to)];
            if ends.iter().any(|(rank, at)| layout.offset(*rank, *at) + message.bytes > i32::MAX as u64) {
                return Err(unavailable("alltoallv", "its counts and displacements end at 2 GiB; take twosided"));
            }
        }
        let rank = task.world.rank();
        let Some(comm) = task.world.split(place.get(&rank).map(|_| 0), rank) else { return Ok(Box::new(Nothing)) };
        let (mut sent, mut received) = (Blocks::none(ranks.len()), Blocks::none(ranks.len()));
        for message in task.messages {
            if message.source == rank {
                sent.set(place[&message.destination], message.bytes, layout.offset(rank, message.from));
            }
            if message.destination == rank {
                received.set(place[&message.source], message.bytes, layout.offset(rank, message.to));
            }
        }
        let begin = task.memory.begin();
        Ok(Box::new(Vector { comm, from: sent.lowered(begin), to: received.lowered(begin), sent, received }))
    }
}

/// Of each rank: bytes, and where they begin.
struct Blocks {
    counts: Vec<i32>,
    places: Vec<i32>,
}

impl Blocks {
    fn none(ranks: usize) -> Blocks {
        Blocks { counts: vec![0; ranks], places: vec![0; ranks] }
    }

    fn set(&mut self, at: usize, bytes: u64, place: u64) {
        (self.counts[at], self.places[at]) = (bytes as i32, place as i32);
    }

    /// Makes places count from the first block, which is returned: MPI does not want to be given one buffer for both sides. Null without blocks.
    fn lowered(&mut self, begin: *mut u8) -> *mut u8 {
        let first =
            self.places.iter().zip(&self.counts).filter(|(_, count)| **count > 0).map(|(place, _)| *place).min();
        let Some(first) = first else { return std::ptr::null_mut() };
        for (place, count) in self.places.iter_mut().zip(&self.counts) {
            *place = if *count > 0 { *place - first } else { 0 };
        }
        begin.wrapping_add(first as usize)
    }
}

struct Vector {
    comm: Comm,
    from: *mut u8,
    to: *mut u8,
    sent: Blocks,
    received: Blocks,
}

impl Exchange for Vector {
    fn start(&mut self) {
        let byte = Count::of(0).datatype();
        let (sent, received) = (&self.sent, &self.received);
        // SAFETY: within the rank's memory; arenas that are read and written are different ones.
        unsafe {
            ffi::MPI_Alltoallv(
                self.from.cast(),
                sent.counts.as_ptr(),
                sent.places.as_ptr(),
                byte,
                self.to.cast(),
                received.counts.as_ptr(),
                received.places.as_ptr(),
                byte,
                self.comm.raw(),
            );
        }
    }

    fn wait(&mut self) {}
}

/// Of ranks that take no part.
struct Nothing;

impl Exchange for Nothing {
    fn start(&mut self) {}
    fn wait(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;

    #[test]
    fn components_are_what_messages_join() {
        let pattern = Pattern::of_pairs(9, [(4, 2, 1), (0, 8, 1), (2, 7, 1), (3, 3, 1)]);
        assert_eq!(components(&pattern.steps[0].messages), [vec![0, 8], vec![2, 4, 7], vec![3]]);
    }
}
