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

/// What a rule may ask about its call, and where it puts the messages that belong into the matrix.
pub trait Context {
    fn record(&self) -> Record;
    fn comm(&self) -> Word;
    fn message(&mut self, destination: c_int, bytes: u64);

    /// The tag of what the call sends.
    #[inline(always)]
    fn tagged(&self, _tag: c_int) {}

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

    /// The bytes that a message brought, by the status that the library filled.
    #[inline(always)]
    unsafe fn brought(&self, status: Word) -> u64 {
        // SAFETY: the caller passes such a status.
        unsafe { status::bytes(status) }
    }

    /// What this rank does in a rooted collective.
    #[inline(always)]
    fn part(&self, root: c_int) -> Part {
        let communicator = self.communicator();
        match communicator.flags & INTER != 0 {
            true => Part::between_groups(root),
            false if communicator.rank == root as u32 => Part::Root,
            false => Part::Other,
        }
    }

    fn neighbors(&self) -> &'static Neighbors {
        neighbors::of(self.record(), self.comm())
    }
}

/// What a rank does in a rooted collective.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Root,
    /// In an intercommunicator the root is the only one of its group to send or receive.
    RootOfGroups,
    Other,
    /// The rest of the root's group takes no part.
    Idle,
}

impl Part {
    /// Apart, since intercommunicators are rare.
    #[cold]
    #[inline(never)]
    pub fn between_groups(root: c_int) -> Part {
        match root {
            root if root == abi().root => Part::RootOfGroups,
            root if root == abi().proc_null => Part::Idle,
            _ => Part::Other,
        }
    }

    fn is_root(self) -> bool {
        matches!(self, Part::Root | Part::RootOfGroups)
    }
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
                Types::Fortran(place) => fortran::handle(Object::Datatype, place + index * size_of::<c_int>()),
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
pub fn send(context: &mut impl Context, count: i64, datatype: Word, destination: c_int) -> Volume {
    // Of ranks below zero only `MPI_PROC_NULL` succeeds.
    if destination < 0 {
        return Volume::default();
    }
    let bytes = context.block(count, datatype);
    context.described(datatype, count as u64);
    context.message(destination, bytes);
    Volume { sent: bytes, received: 0, message_bytes: bytes }
}

#[inline(always)]
pub unsafe fn recv(context: &mut impl Context, count: i64, datatype: Word, source: c_int, status: Word) -> Volume {
    receive(context, count, datatype, source);
    // SAFETY: the caller passes a status that the library has filled.
    unsafe { arrived(context, status) }
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
    unsafe { arrived(context, status) }
}

pub fn imrecv(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    // MPI_MESSAGE_NO_PROC, which brings nothing, belongs to no communicator.
    if context.records_datatypes() && context.record() != communicators::none() {
        context.described(datatype, count as u64);
    }
    Volume::default()
}

#[inline(always)]
unsafe fn arrived(context: &mut impl Context, status: Word) -> Volume {
    // SAFETY: the call has filled the status.
    let bytes = unsafe {
        let bytes = context.brought(status);
        context.arrived(status, bytes);
        bytes
    };
    Volume { sent: 0, received: bytes, message_bytes: bytes }
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
) -> Volume {
    let given = sendrecv_posted(context, count, datatype, destination, recvcount, recvtype, source);
    // SAFETY: as above.
    Volume { received: unsafe { arrived(context, status) }.received, ..given }
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
) -> Volume {
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
) -> Volume {
    let given = sendrecv_replace_posted(context, count, datatype, destination, source);
    // SAFETY: as above.
    Volume { received: unsafe { arrived(context, status) }.received, ..given }
}

/// One datatype for both directions.
#[inline(always)]
pub fn sendrecv_replace_posted(
    context: &mut impl Context,
    count: i64,
    datatype: Word,
    destination: c_int,
    source: c_int,
) -> Volume {
    if destination < 0 { posted(context, count, datatype, source) } else { send(context, count, datatype, destination) }
}
