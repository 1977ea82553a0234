//! The rules for bytes, by the names and with the arguments that `calls.table` gives them: what a call's own buffers hold on
//! this rank. `bytes sent` is what this rank gives, `bytes received` what it takes; the message size decides the bucket.

mod collective;
mod files;
mod neighborhood;
mod partitioned;
mod windows;

use std::ffi::c_int;

use vocabulary::shard::{Communicator, INTER};

use crate::fortran::{self, Object};
use crate::guest::rarely;
use crate::guest::short_path::Full;
use crate::mpi::abi::{Word, abi};
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::objects::datatypes::{self, size};
use crate::objects::neighbors::{self, Neighbors};
use crate::shard::memory;

pub use collective::*;
pub use files::*;
pub use neighborhood::*;
pub use partitioned::*;
pub use windows::*;

/// The bytes of one call.
#[derive(Clone, Copy, Default)]
pub struct Volume {
    pub sent: u64,
    pub received: u64,
    /// Decides the bucket.
    pub message_bytes: u64,
}

impl Volume {
    /// Of fewer elements than none, which the hot path does not tell from very many ([`Context::known_block`]).
    #[inline(always)]
    pub fn is_negative(&self) -> bool {
        self.message_bytes > i64::MAX as u64
    }
}

/// What a rule may ask about its call, and where it puts the messages that belong into the matrix.
pub trait Context {
    fn record(&self) -> Record;
    fn comm(&self) -> Word;
    fn message(&mut self, destination: c_int, bytes: u64);

    /// Whether the latest message of the operation went to this rank, if that takes no more than a comparison to tell.
    #[inline(always)]
    fn went_to(&self, _destination: c_int) -> bool {
        false
    }

    /// Calls of the operation send a message, and this one sends none.
    #[inline(always)]
    fn no_message(&mut self) {}

    /// A message of so many bytes came, by this status.
    unsafe fn arrived(&mut self, _status: Word, _bytes: u64) {}

    /// The receive that is posted gets no message, whatever its status will say.
    fn awaits_none(&mut self) {}

    #[inline(always)]
    fn records_datatypes(&self) -> bool {
        datatypes::are_recorded()
    }

    /// Bytes of data in one element.
    #[inline(always)]
    fn size(&self, datatype: Word) -> u64 {
        size(datatype)
    }

    /// Bytes of so many elements. Where there are none, the datatype may be none either, and asking for its size would call
    /// the program's error handler. Fewer than none are wrong, and yet the call may seem to have succeeded: where the program has an error handler
    /// of its own, MPICH since 4.2 tells nobody else of an error.
    #[inline(always)]
    fn block(&self, count: i64, datatype: Word) -> u64 {
        if count <= 0 { 0 } else { (count as u64).wrapping_mul(self.size(datatype)) }
    }

    /// Records a datatype argument that describes at least one element.
    fn describe(&mut self, datatype: Word, elements: u64);

    /// A datatype argument that is significant on this rank, and how many elements it describes. Without any the datatype may be
    /// none at all.
    #[inline(always)]
    fn described(&mut self, datatype: Word, elements: u64) {
        if self.records_datatypes() && elements as i64 > 0 {
            self.describe(datatype, elements);
        }
    }

    #[inline(always)]
    fn communicator(&self) -> Communicator {
        // SAFETY: records are never freed. A copy, of which only what is asked for is read: other threads may be writing to the rest.
        unsafe { *self.record() }
    }

    /// Ranks that a block goes to or comes from: the other group's in an intercommunicator.
    #[inline(always)]
    fn peers(&self) -> u64 {
        self.communicator().peers().into()
    }

    /// Whether this rank is the root of a rooted collective.
    #[inline(always)]
    fn is_root(&self, root: c_int) -> bool {
        let communicator = self.communicator();
        if communicator.flags & INTER == 0 { communicator.rank == root as u32 } else { is_root_of_groups(root) }
    }

    /// In an intercommunicator the root's own group takes no part, but for the root.
    #[inline(always)]
    fn is_idle(&self, root: c_int) -> bool {
        self.communicator().flags & INTER != 0 && is_out(root)
    }

    /// In an intercommunicator the root is the only one of its group to send or receive.
    #[inline(always)]
    fn is_inter_root(&self, root: c_int) -> bool {
        self.communicator().flags & INTER != 0 && root == abi().root
    }

    // What rules ask that the hot path knows most often by heart ([`AT_ONCE`](../../build/body.rs)). There they are asked twice: first for
    // what is known, and where something is not, which is None, once more. All other contexts know everything.

    /// As `block`.
    #[inline(always)]
    fn known_block(&self, count: i64, datatype: Word) -> Option<u64> {
        Some(self.block(count, datatype))
    }

    /// The bytes that a message brought, by the status that the library filled.
    #[inline(always)]
    unsafe fn brought(&self, status: Word) -> Option<u64> {
        // SAFETY: the caller passes such a status.
        Some(unsafe { status::bytes(status) })
    }

    /// Whether this rank is the root, and whether it takes part otherwise.
    #[inline(always)]
    fn known_part(&self, root: c_int) -> Option<Part> {
        if self.is_idle(root) {
            return Some(Part::Idle);
        }
        Some(match (self.is_root(root), self.is_inter_root(root)) {
            (true, is_inter) => Part::Root { is_inter },
            (false, _) => Part::Other,
        })
    }

    fn neighbors(&self) -> &'static Neighbors {
        neighbors::of(self.record(), self.comm())
    }
}

/// Apart, since intercommunicators are rare.
#[cold]
#[inline(never)]
fn is_root_of_groups(root: c_int) -> bool {
    root == abi().root
}

#[cold]
#[inline(never)]
fn is_out(root: c_int) -> bool {
    root == abi().proc_null
}

/// What a rank does in a rooted collective.
#[derive(Clone, Copy)]
pub enum Part {
    Root { is_inter: bool },
    Other,
    Idle,
}

/// An array of counts: of `int`, or of `MPI_Count` in large-count calls.
#[derive(Clone, Copy)]
pub struct Counts {
    pub place: Word,
    pub large: bool,
}

impl Counts {
    /// 0 where there is none, or fewer than none: the call may only seem to have succeeded ([`Context::block`]).
    #[inline(always)]
    fn at(self, index: usize) -> u64 {
        if self.place == 0 {
            return 0;
        }
        // SAFETY: a successful call was given as many counts as its rule asks for.
        let count = unsafe {
            if self.large {
                *(self.place as *const i64).add(index)
            } else {
                (*(self.place as *const c_int).add(index)).into()
            }
        };
        count.max(0) as u64
    }

    fn sum(self, length: u64) -> u64 {
        (0..length as usize).fold(0u64, |sum, index| sum.wrapping_add(self.at(index)))
    }
}

/// An array of datatypes.
#[derive(Clone, Copy)]
pub enum Types {
    C(Word),
    Fortran(Word),
}

impl Types {
    /// None where there are none, as with counts.
    #[inline(always)]
    fn at(self, index: usize) -> Word {
        if let Types::C(0) | Types::Fortran(0) = self {
            return abi().datatype_null;
        }
        // SAFETY: a successful call was given as many datatypes as counts.
        unsafe {
            match self {
                Types::C(place) => abi().load_at(place, index),
                Types::Fortran(place) => fortran::handle::<Full>(Object::Datatype, place + index * size_of::<c_int>()),
            }
        }
    }
}

/// The address of a buffer, which may be `MPI_IN_PLACE`.
#[derive(Clone, Copy)]
pub enum Buffer {
    C(Word),
    Fortran(Word),
}

impl Buffer {
    #[inline(always)]
    fn is_in_place(self) -> bool {
        match self {
            Buffer::C(address) => address == abi().in_place,
            // Asked after the call: the library may only now have learned the address.
            Buffer::Fortran(address) => fortran::is_in_place(address),
        }
    }
}

/// Counts of elements in blocks that each have a datatype of their own.
fn sum_typed(counts: Counts, types: Types, length: u64) -> u64 {
    (0..length as usize).fold(0u64, |sum, index| sum.wrapping_add(block_typed(counts, types, index)))
}

fn block_typed(counts: Counts, types: Types, index: usize) -> u64 {
    bytes_of(counts.at(index), types.at(index))
}

/// The datatypes of blocks that each have one of their own, given by their places: each datatype once.
#[cold]
fn described_typed(context: &mut impl Context, counts: Counts, types: Types, places: impl Iterator<Item = usize>) {
    let mut elements: Vec<(Word, u64)> = Vec::new();
    for place in places {
        let (datatype, count) = (types.at(place), counts.at(place));
        match elements.iter_mut().find(|(known, _)| *known == datatype) {
            Some((_, sum)) => *sum = sum.wrapping_add(count),
            None => match elements.try_reserve(1) {
                Ok(()) => elements.push((datatype, count)),
                Err(_) => memory::lose_call(),
            },
        }
    }
    elements.into_iter().for_each(|(datatype, elements)| context.described(datatype, elements));
}

/// As [`Context::block`], for blocks of several sizes.
#[inline(always)]
fn bytes_of(count: u64, datatype: Word) -> u64 {
    if count == 0 { 0 } else { count.wrapping_mul(size(datatype)) }
}

/// The volume of a call in which each rank may have another size: its bucket is that of its own bytes.
fn unsized_volume(sent: u64, received: u64) -> Volume {
    Volume { sent, received, message_bytes: sent.max(received) }
}

#[inline(always)]
pub fn none(_: &mut impl Context) -> Volume {
    Volume::default()
}

#[inline(always)]
pub fn send(context: &mut impl Context, count: i64, datatype: Word, destination: c_int) -> Option<Volume> {
    // Asked first, it spares most messages the next comparison.
    if !context.went_to(destination) && goes_nowhere(destination) {
        context.no_message();
        return Some(Volume::default());
    }
    let bytes = context.known_block(count, datatype)?;
    context.described(datatype, count as u64);
    context.message(destination, bytes);
    Some(Volume { sent: bytes, received: 0, message_bytes: bytes })
}

#[inline(always)]
pub unsafe fn recv(
    context: &mut impl Context,
    count: i64,
    datatype: Word,
    source: c_int,
    status: Word,
) -> Option<Volume> {
    receive(context, count, datatype, source);
    // SAFETY: the caller passes a status that the library has filled.
    unsafe { arrived(context, status) }
}

/// Whether a message to this rank goes nowhere: of ranks below zero only `MPI_PROC_NULL` succeeds.
#[inline(always)]
fn goes_nowhere(destination: c_int) -> bool {
    rarely();
    destination < 0
}

/// Whether this rank is `MPI_PROC_NULL`.
#[inline(always)]
pub fn is_nobody(rank: c_int) -> bool {
    rank == abi().proc_null
}

/// The posting of a receive, whose bytes its completion tells.
#[inline(always)]
pub fn posted(context: &mut impl Context, count: i64, datatype: Word, source: c_int) -> Volume {
    if is_nobody(source) {
        context.awaits_none();
    }
    receive(context, count, datatype, source);
    Volume::default()
}

#[inline(always)]
fn receive(context: &mut impl Context, count: i64, datatype: Word, source: c_int) {
    if context.records_datatypes() && !is_nobody(source) {
        context.described(datatype, count as u64);
    }
}

/// The receive of a matched message.
pub unsafe fn mrecv(context: &mut impl Context, count: i64, datatype: Word, status: Word) -> Volume {
    imrecv(context, count, datatype);
    // SAFETY: as above.
    unsafe { arrived(context, status) }.unwrap_or_default()
}

pub fn imrecv(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    // MPI_MESSAGE_NO_PROC, which brings nothing, belongs to no communicator.
    if context.records_datatypes() && context.record() != communicators::none() {
        context.described(datatype, count as u64);
    }
    Volume::default()
}

#[inline(always)]
unsafe fn arrived(context: &mut impl Context, status: Word) -> Option<Volume> {
    // SAFETY: the call has filled the status.
    let bytes = unsafe {
        let bytes = context.brought(status)?;
        context.arrived(status, bytes);
        bytes
    };
    Some(Volume { sent: 0, received: bytes, message_bytes: bytes })
}

#[inline(always)]
pub unsafe fn sendrecv(
    context: &mut impl Context,
    count: i64,
    datatype: Word,
    destination: c_int,
    recvcount: i64,
    recvtype: Word,
    source: c_int,
    status: Word,
) -> Option<Volume> {
    let posted = |context: &mut _| sendrecv_posted(context, count, datatype, destination, recvcount, recvtype, source);
    // SAFETY: as above.
    unsafe { exchanged(context, status, posted) }
}

/// What was brought is asked first: so it is asked once, wherever the message went.
#[inline(always)]
unsafe fn exchanged<C: Context>(
    context: &mut C,
    status: Word,
    posted: impl FnOnce(&mut C) -> Option<Volume>,
) -> Option<Volume> {
    // SAFETY: the call has filled the status.
    unsafe {
        let received = context.brought(status)?;
        let given = posted(context)?;
        context.arrived(status, received);
        Some(Volume { received, ..given })
    }
}

#[inline(always)]
pub fn sendrecv_posted(
    context: &mut impl Context,
    count: i64,
    datatype: Word,
    destination: c_int,
    recvcount: i64,
    recvtype: Word,
    source: c_int,
) -> Option<Volume> {
    posted(context, recvcount, recvtype, source);
    send(context, count, datatype, destination)
}

#[inline(always)]
pub unsafe fn sendrecv_replace(
    context: &mut impl Context,
    count: i64,
    datatype: Word,
    destination: c_int,
    source: c_int,
    status: Word,
) -> Option<Volume> {
    let posted = |context: &mut _| sendrecv_replace_posted(context, count, datatype, destination, source);
    // SAFETY: as above.
    unsafe { exchanged(context, status, posted) }
}

/// One datatype for both directions.
#[inline(always)]
pub fn sendrecv_replace_posted(
    context: &mut impl Context,
    count: i64,
    datatype: Word,
    destination: c_int,
    source: c_int,
) -> Option<Volume> {
    if destination < 0 {
        context.no_message();
        return Some(posted(context, count, datatype, source));
    }
    send(context, count, datatype, destination)
}
