//! The binomial tree over all ranks that the gathering goes up and down: who sends to whom, and streams of items as chunks in
//! messages.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

use vocabulary::shard::Sync;
use vocabulary::stream::{Decoder, Encoder, Item, Source};

use crate::guest::signals;
use crate::mpi::abi::{Word, abi};
use crate::mpi::pmpi;
use crate::rollcall::RollCall;
use crate::trace;

/// Bytes of items that travel together: a sender waits for its receiver to ask for the next ones.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks go in messages of at most this size, which libraries copy through memory that processes share (up to 4 KiB in Open MPI, 8 KiB in
/// MPICH over UCX). Larger ones they copy from process to process, and that may be forbidden by now, where the program has changed its
/// user, sandboxed itself or ended its main thread: MPICH aborts the job then.
const MESSAGE_BYTES: usize = 3 << 10;
/// As many as most chunks have.
const PARTS_AT_ONCE: usize = CHUNK_BYTES.div_ceil(MESSAGE_BYTES);

const TAG_EXTENT: c_int = 1;
const TAG_SIZE: c_int = 2;
const TAG_DATA: c_int = 3;
const TAG_DOWN: c_int = 4;
const TAG_MEETING: c_int = 6;
const TAG_NEXT: c_int = 7;
/// Over `MPI_COMM_WORLD` as well, at a time when the program cannot have sent anything.
const TAG_CLOCK: c_int = 5;

/// A communicator of our own over all of `MPI_COMM_WORLD`, and this process's place in it.
pub struct Tree<'a> {
    pub comm: u64,
    pub rank: u32,
    pub ranks: u32,
    /// Tells whether others have died.
    pub roll_call: &'a RollCall,
}

impl Tree<'_> {
    fn comm(&self) -> Word {
        self.comm as Word
    }

    pub fn children(&self) -> impl Iterator<Item = u32> + use<> {
        children(self.rank, self.ranks)
    }

    /// Adds up words over the tree, by `add` from those of a child; right at rank 0.
    pub unsafe fn sum_up<const N: usize>(&self, words: [u64; N], add: impl Fn(&mut [u64; N], [u64; N])) -> [u64; N] {
        // SAFETY: all ranks come here.
        unsafe { self.up(words, add, TAG_EXTENT) }
    }

    unsafe fn up<const N: usize>(
        &self,
        mut words: [u64; N],
        add: impl Fn(&mut [u64; N], [u64; N]),
        tag: c_int,
    ) -> [u64; N] {
        for child in self.children() {
            let mut more = [0u64; N];
            // SAFETY: the child sends as many bytes, since all ranks come here.
            if unsafe { self.receive(bytemuck::cast_slice_mut(&mut more), child, tag) }.is_some() {
                add(&mut words, more);
            }
        }
        if self.rank > 0 {
            // SAFETY: the parent receives as many bytes.
            unsafe { self.send(bytemuck::cast_slice(&words), parent(self.rank), tag) };
        }
        words
    }

    /// What rank 0 says comes down the tree to everybody.
    pub unsafe fn spread<const N: usize>(&self, words: [u64; N]) -> Option<[u64; N]> {
        // SAFETY: all ranks come here.
        unsafe { self.down(words, TAG_DOWN) }
    }

    unsafe fn down<const N: usize>(&self, mut words: [u64; N], tag: c_int) -> Option<[u64; N]> {
        let received = match self.rank {
            0 => Some(()),
            // SAFETY: the parent sends as many bytes.
            rank => unsafe { self.receive(bytemuck::cast_slice_mut(&mut words), parent(rank), tag) },
        };
        // Also what did not come is passed on, so that nobody waits for it: nothing is wanted then.
        words = received.map_or([0; N], |()| words);
        for child in self.children() {
            // SAFETY: the child receives as many bytes.
            unsafe { self.send(bytemuck::cast_slice(&words), child, tag) };
        }
        received.map(|()| words)
    }

    /// Nobody goes on before all have come here. Each edge is used in both directions. Returns what rank 0 says once they have.
    pub unsafe fn meet(&self, say: impl FnOnce() -> u64) -> Option<u64> {
        // SAFETY: all ranks come here.
        unsafe {
            self.up([], |_, _| (), TAG_MEETING);
            self.down([say()], TAG_MEETING).map(|[said]| said)
        }
    }

    /// Compares this process's clock with that of rank 0. Collective.
    pub unsafe fn compare_clocks(&self) -> Option<Sync> {
        trace::compare(self, (self.rank > 0).then(|| parent(self.rank)), self.children())
    }

    unsafe fn send(&self, bytes: &[u8], to: u32, tag: c_int) -> Option<()> {
        let place = bytes.as_ptr().cast::<c_void>();
        // SAFETY: the bytes are there until the call has returned.
        unsafe { pmpi::send(place, bytes.len() as c_int, abi().byte, to as c_int, tag, self.comm()) }
    }

    /// Sends bytes in parts, many at once: where ranks share a processor, a library that spins in each would spend as many time slices.
    /// `meanwhile` tells the receiver of them, which waits for each: so all are sent, also behind one that failed.
    unsafe fn send_parts(
        &self,
        bytes: &[u8],
        to: u32,
        tag: c_int,
        meanwhile: impl FnOnce() -> Option<()>,
    ) -> Option<()> {
        let start = |part: &[u8]| {
            let mut request = 0u64;
            let (place, length) = (part.as_ptr().cast::<c_void>(), part.len() as c_int);
            // SAFETY: the bytes are there until all have been waited for; the place has room for a handle of any family.
            let done = unsafe { pmpi::isend(place, length, abi().byte, to as c_int, tag, self.comm(), &mut request) };
            done.map(|()| request)
        };
        // SAFETY: it was started.
        let wait = |mut request: u64| unsafe { pmpi::wait(&mut request, abi().status_ignore) };
        let (mut sent, mut meanwhile, mut left) = (Some(()), Some(meanwhile), bytes);
        while meanwhile.is_some() || !left.is_empty() {
            let now;
            (now, left) = left.split_at(left.len().min(PARTS_AT_ONCE * MESSAGE_BYTES));
            let parts = || now.chunks(MESSAGE_BYTES);
            let mut requests = [None; PARTS_AT_ONCE];
            parts().zip(&mut requests).for_each(|(part, request)| *request = start(part));
            if let Some(tell) = meanwhile.take() {
                sent = tell();
            }
            for (_, request) in parts().zip(requests) {
                sent = request.and_then(wait).and(sent);
            }
        }
        sent
    }

    unsafe fn receive(&self, bytes: &mut [u8], from: u32, tag: c_int) -> Option<()> {
        self.wait_for(from, tag, FIRST_PAUSE)?;
        // SAFETY: as there.
        unsafe { self.receive_at_once(bytes, from, tag) }
    }

    /// What is on its way, without the pauses of [`Tree::wait_for`].
    unsafe fn receive_at_once(&self, bytes: &mut [u8], from: u32, tag: c_int) -> Option<()> {
        let place = bytes.as_mut_ptr().cast::<c_void>();
        let ignore = abi().status_ignore;
        // SAFETY: there is room for so many bytes.
        unsafe { pmpi::recv(place, bytes.len() as c_int, abi().byte, from as c_int, tag, self.comm(), ignore) }
    }

    /// Waits for a message without keeping a processor busy: where ranks share them, libraries that spin take them from rank 0,
    /// for which all wait. `None` where nothing will come: a rank has died, whom the sender may wait for.
    fn wait_for(&self, from: u32, tag: c_int, first_pause: Duration) -> Option<()> {
        let mut pause = first_pause;
        let mut look = Instant::now() + BETWEEN_LOOKS;
        let end = Instant::now() + PATIENCE;
        for attempt in 0.. {
            let mut is_there = 0;
            // SAFETY: asks about our own communicator.
            unsafe { pmpi::iprobe(from as c_int, tag, self.comm(), &mut is_there, abi().status_ignore) }?;
            if is_there != 0 {
                return Some(());
            }
            if attempt >= ATTEMPTS_AT_ONCE && !pause.is_zero() {
                signals::rest(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            if attempt % ATTEMPTS_AT_ONCE == 0 && Instant::now() >= look {
                look = Instant::now() + BETWEEN_LOOKS;
                if self.is_broken() || Instant::now() >= end {
                    return None;
                }
            }
        }
        None
    }

    /// Some of those who were here have died.
    pub fn is_broken(&self) -> bool {
        self.roll_call.have_died()
    }
}

impl trace::Partner for Tree<'_> {
    fn send(&self, words: [u64; 3], to: u32) -> Option<()> {
        // SAFETY: the slice outlives the call.
        unsafe { self.send(bytemuck::cast_slice(&words), to, TAG_CLOCK) }
    }

    /// A pause would be in the answer.
    fn receive(&self, from: u32) -> Option<[u64; 3]> {
        let mut words = [0u64; 3];
        self.wait_for(from, TAG_CLOCK, Duration::ZERO)?;
        // SAFETY: the partner sends as many bytes.
        unsafe { self.receive_at_once(bytemuck::cast_slice_mut(&mut words), from, TAG_CLOCK)? };
        Some(words)
    }
}

/// How often is asked without a pause: some 20 µs, as long as a message takes in a machine.
const ATTEMPTS_AT_ONCE: u32 = 100;
const FIRST_PAUSE: Duration = Duration::from_micros(20);
/// What a level of the tree may lose.
const LONGEST_PAUSE: Duration = Duration::from_micros(500);
/// How often whoever waits looks whether others still live.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
/// Where that cannot be seen: rank 0 writes a profile in less.
const PATIENCE: Duration = Duration::from_secs(600);

/// The binomial tree: below rank r are the ranks up to the next multiple of its lowest set bit.
fn parent(rank: u32) -> u32 {
    rank & rank.wrapping_sub(1)
}

fn children(rank: u32, ranks: u32) -> impl Iterator<Item = u32> {
    let own_bits = if rank == 0 { u32::BITS } else { rank.trailing_zeros() };
    (0..own_bits).map_while(move |bit| rank.checked_add(1 << bit)).take_while(move |child| *child < ranks)
}

/// What comes after a chunk: another one, or nothing, all that came being whole or not.
const WHOLE_END: u64 = 0;
const GOES_ON: u64 = 1;
const BROKEN_END: u64 = 2;

/// The way to the parent.
pub struct Up<'a> {
    tree: &'a Tree<'a>,
    encoder: Encoder,
    is_broken: bool,
}

impl<'a> Up<'a> {
    pub fn of(tree: &'a Tree<'a>) -> Up<'a> {
        Up { tree, encoder: Encoder::default(), is_broken: false }
    }

    pub fn push(&mut self, item: &Item) {
        self.encoder.push(item);
        if self.encoder.len() >= CHUNK_BYTES {
            self.send(GOES_ON);
        }
    }

    /// `None` if anything could not be sent.
    pub fn end(mut self, is_whole: bool) -> Option<()> {
        self.send(if is_whole && !self.is_broken { WHOLE_END } else { BROKEN_END });
        (!self.is_broken).then_some(())
    }

    fn send(&mut self, state: u64) {
        let (chunk, parent) = (self.encoder.take(), parent(self.tree.rank));
        let process = [chunk.len() as u64, state];
        // SAFETY: the slices outlive the calls.
        let sent = unsafe {
            let tell = || self.tree.send(bytemuck::cast_slice(&process), parent, TAG_SIZE);
            let sent = self.tree.send_parts(&chunk, parent, TAG_DATA, tell);
            if state == GOES_ON {
                self.tree.receive(&mut [], parent, TAG_NEXT);
            }
            sent
        };
        self.is_broken |= sent.is_none();
    }
}

/// The way from one child.
pub struct Down<'a> {
    tree: &'a Tree<'a>,
    child: u32,
    chunk: Decoder,
    is_begun: bool,
    goes_on: bool,
    is_whole: bool,
}

impl<'a> Down<'a> {
    pub fn of(tree: &'a Tree<'a>, child: u32) -> RefCell<Down<'a>> {
        let chunk = Decoder::new(Vec::new());
        RefCell::new(Down { tree, child, chunk, is_begun: false, goes_on: true, is_whole: true })
    }

    fn next_chunk(&mut self) -> Option<Vec<u8>> {
        let mut process = [0u64; 2];
        let mut chunk = Vec::new();
        let was_whole = self.is_whole && self.chunk.is_whole();
        (self.goes_on, self.is_whole) = (false, false);
        // SAFETY: the slices outlive the calls.
        unsafe {
            if std::mem::replace(&mut self.is_begun, true) {
                self.tree.send(&[], self.child, TAG_NEXT);
            }
            self.tree.receive(bytemuck::cast_slice_mut(&mut process), self.child, TAG_SIZE)?;
            // Whatever becomes of this chunk: the child sends the next one, and waits until it is received.
            self.goes_on = process[1] == GOES_ON;
            chunk.resize(usize::try_from(process[0]).ok()?, 0);
            let mut received = Some(());
            // All of them, also behind one that failed.
            for part in chunk.chunks_mut(MESSAGE_BYTES) {
                received = self.tree.receive_at_once(part, self.child, TAG_DATA).and(received);
            }
            received?;
        }
        self.is_whole = was_whole && process[1] != BROKEN_END;
        Some(chunk)
    }

    /// Receives what is left; returns whether all was whole.
    pub fn end(&mut self) -> bool {
        while self.goes_on {
            // Nobody has seen it.
            self.next_chunk();
            self.is_whole = false;
        }
        self.is_whole && self.chunk.is_whole()
    }
}

pub struct FromChild<'a>(pub &'a RefCell<Down<'a>>);

impl Source for FromChild<'_> {
    fn next(&mut self) -> Option<Item> {
        let mut down = self.0.borrow_mut();
        loop {
            if let Some(item) = down.chunk.next() {
                return Some(item);
            }
            if !down.goes_on {
                return None;
            }
            let chunk = down.next_chunk()?;
            down.chunk = Decoder::new(chunk);
        }
    }
}
