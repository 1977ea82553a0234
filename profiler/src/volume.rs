//! The rules for bytes, by the names and with the arguments that `calls.table` gives them: what a call's own buffers hold on
//! this rank. `bytes sent` is what this rank gives, `bytes received` what it takes; the message size decides the bucket.

use std::ffi::c_int;

use vocabulary::shard::{Communicator, INTER};

use crate::abi::{Word, abi};
use crate::communicators::{self, Record};
use crate::datatypes::{self, size};
use crate::fortran::{self, Object};
use crate::neighbors::{self, Neighbors};
use crate::status;

/// The bytes of one call.
#[derive(Clone, Copy, Default)]
pub struct Volume {
    pub sent: u64,
    pub received: u64,
    /// Decides the bucket; 0 where the rule says that it is always the first.
    pub message_bytes: u64,
}

/// What a rule may ask about its call, and where it puts the messages that belong into the matrix.
pub trait Context {
    fn record(&self) -> Record;
    fn comm(&self) -> Word;
    fn message(&mut self, destination: c_int, bytes: u64);

    /// Records a datatype argument that describes at least one element.
    fn describe(&mut self, datatype: Word, elements: u64);

    /// A datatype argument that is significant on this rank, and how many elements it describes. Without any the datatype may be
    /// none at all.
    #[inline(always)]
    fn described(&mut self, datatype: Word, elements: u64) {
        if datatypes::are_recorded() && elements > 0 {
            self.describe(datatype, elements);
        }
    }

    #[inline(always)]
    fn facts(&self) -> &'static Communicator {
        // SAFETY: records are never freed.
        unsafe { &*self.record() }
    }

    /// Ranks that a block goes to or comes from: the other group's in an intercommunicator.
    #[inline(always)]
    fn peers(&self) -> u64 {
        let facts = self.facts();
        u64::from(if facts.flags & INTER == 0 { facts.size } else { facts.remote_size })
    }

    /// Whether this rank is the root of a rooted collective.
    #[inline(always)]
    fn is_root(&self, root: c_int) -> bool {
        let facts = self.facts();
        if facts.flags & INTER == 0 { facts.rank == root as u32 } else { root == abi().root }
    }

    /// In an intercommunicator the root's own group takes no part, but for the root.
    #[inline(always)]
    fn is_idle(&self, root: c_int) -> bool {
        self.facts().flags & INTER != 0 && root == abi().proc_null
    }

    /// In an intercommunicator the root is the only one of its group to send or receive.
    #[inline(always)]
    fn is_inter_root(&self, root: c_int) -> bool {
        self.facts().flags & INTER != 0 && root == abi().root
    }

    fn neighbors(&self) -> &'static Neighbors {
        neighbors::of(self.record(), self.comm())
    }
}

/// An array of counts: of `int`, or of `MPI_Count` in large-count calls.
#[derive(Clone, Copy)]
pub struct Counts {
    pub place: Word,
    pub large: bool,
}

impl Counts {
    #[inline(always)]
    fn at(self, index: usize) -> u64 {
        // SAFETY: a successful call was given as many counts as its rule asks for.
        unsafe {
            if self.large {
                *(self.place as *const u64).add(index)
            } else {
                *(self.place as *const c_int).add(index) as u64
            }
        }
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
    #[inline(always)]
    fn at(self, index: usize) -> Word {
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
    block(counts.at(index) as i64, types.at(index))
}

/// The datatypes of blocks that each have one of their own, given by their places: each datatype once.
#[cold]
fn described_typed(context: &mut impl Context, counts: Counts, types: Types, places: impl Iterator<Item = usize>) {
    let mut elements: Vec<(Word, u64)> = Vec::new();
    for place in places {
        let (datatype, count) = (types.at(place), counts.at(place));
        match elements.iter_mut().find(|(known, _)| *known == datatype) {
            Some((_, sum)) => *sum = sum.wrapping_add(count),
            None => elements.push((datatype, count)),
        }
    }
    elements.into_iter().for_each(|(datatype, elements)| context.described(datatype, elements));
}

#[inline(always)]
fn block(count: i64, datatype: Word) -> u64 {
    bytes_of(count as u64, datatype)
}

/// Bytes of so many elements. Where there are none, the datatype may be none either, and asking for its size would call
/// the program's error handler.
#[inline(always)]
fn bytes_of(count: u64, datatype: Word) -> u64 {
    if count == 0 { 0 } else { count.wrapping_mul(size(datatype)) }
}

/// A volume whose bucket is always the first.
fn unsized_volume(sent: u64, received: u64) -> Volume {
    Volume { sent, received, message_bytes: 0 }
}

#[inline(always)]
pub fn none(_: &mut impl Context) -> Volume {
    Volume::default()
}

#[inline(always)]
pub fn send(context: &mut impl Context, count: i64, datatype: Word, destination: c_int) -> Volume {
    if destination < 0 {
        // Only MPI_PROC_NULL succeeds.
        return Volume::default();
    }
    let bytes = block(count, datatype);
    context.described(datatype, count as u64);
    context.message(destination, bytes);
    Volume { sent: bytes, received: 0, message_bytes: bytes }
}

#[inline(always)]
pub unsafe fn recv(context: &mut impl Context, count: i64, datatype: Word, source: c_int, status: Word) -> Volume {
    posted(context, count, datatype, source);
    unsafe { arrived(status) }
}

/// The posting of a receive, whose bytes its completion tells.
#[inline(always)]
pub fn posted(context: &mut impl Context, count: i64, datatype: Word, source: c_int) -> Volume {
    if datatypes::are_recorded() && source != abi().proc_null {
        context.described(datatype, count as u64);
    }
    Volume::default()
}

/// The receive of a matched message.
pub unsafe fn mrecv(context: &mut impl Context, count: i64, datatype: Word, status: Word) -> Volume {
    imrecv(context, count, datatype);
    unsafe { arrived(status) }
}

pub fn imrecv(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    // MPI_MESSAGE_NO_PROC, which brings nothing, belongs to no communicator.
    if datatypes::are_recorded() && context.record() != communicators::none() {
        context.described(datatype, count as u64);
    }
    Volume::default()
}

#[inline(always)]
unsafe fn arrived(status: Word) -> Volume {
    let bytes = unsafe { status::bytes(status) };
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
    Volume { received: unsafe { status::bytes(status) }, ..given }
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
    Volume { received: unsafe { status::bytes(status) }, ..given }
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
    if destination < 0 {
        return posted(context, count, datatype, source);
    }
    send(context, count, datatype, destination)
}

#[inline(always)]
pub fn bcast(context: &mut impl Context, count: i64, datatype: Word, root: c_int) -> Volume {
    if context.is_idle(root) {
        return Volume::default();
    }
    let bytes = block(count, datatype);
    context.described(datatype, count as u64);
    let (sent, received) = if context.is_root(root) { (bytes, 0) } else { (0, bytes) };
    Volume { sent, received, message_bytes: bytes }
}

#[inline(always)]
pub fn reduce(context: &mut impl Context, count: i64, datatype: Word, root: c_int) -> Volume {
    if context.is_idle(root) {
        return Volume::default();
    }
    let bytes = block(count, datatype);
    context.described(datatype, count as u64);
    let sent = if context.is_inter_root(root) { 0 } else { bytes };
    Volume { sent, received: if context.is_root(root) { bytes } else { 0 }, message_bytes: bytes }
}

#[inline(always)]
pub fn allreduce(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    let bytes = block(count, datatype);
    context.described(datatype, count as u64);
    Volume { sent: bytes, received: bytes, message_bytes: bytes }
}

#[inline(always)]
pub fn scan(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    allreduce(context, count, datatype)
}

#[inline(always)]
pub fn exscan(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    let bytes = block(count, datatype);
    context.described(datatype, count as u64);
    Volume { sent: bytes, received: if context.facts().rank == 0 { 0 } else { bytes }, message_bytes: bytes }
}

pub fn gather(
    context: &mut impl Context,
    sendbuf: Buffer,
    sendcount: i64,
    sendtype: Word,
    recvcount: i64,
    recvtype: Word,
    root: c_int,
) -> Volume {
    if context.is_idle(root) {
        return Volume::default();
    }
    let is_root = context.is_root(root);
    // The root of an intercommunicator sends nothing and need not pass the send arguments.
    let gives = !context.is_inter_root(root);
    let own = if !gives || sendbuf.is_in_place() { block(recvcount, recvtype) } else { block(sendcount, sendtype) };
    if gives && !sendbuf.is_in_place() {
        context.described(sendtype, sendcount as u64);
    }
    if is_root {
        context.described(recvtype, context.peers().wrapping_mul(recvcount as u64));
    }
    let received = if is_root { context.peers().wrapping_mul(block(recvcount, recvtype)) } else { 0 };
    Volume { sent: if gives { own } else { 0 }, received, message_bytes: own }
}

pub fn gatherv(
    context: &mut impl Context,
    sendbuf: Buffer,
    sendcount: i64,
    sendtype: Word,
    recvcounts: Counts,
    recvtype: Word,
    root: c_int,
) -> Volume {
    if context.is_idle(root) {
        return Volume::default();
    }
    let sent = if context.is_inter_root(root) {
        0
    } else if sendbuf.is_in_place() {
        bytes_of(recvcounts.at(context.facts().rank as usize), recvtype)
    } else {
        context.described(sendtype, sendcount as u64);
        block(sendcount, sendtype)
    };
    let elements = if context.is_root(root) { recvcounts.sum(context.peers()) } else { 0 };
    context.described(recvtype, elements);
    unsized_volume(sent, bytes_of(elements, recvtype))
}

pub fn scatter(
    context: &mut impl Context,
    sendcount: i64,
    sendtype: Word,
    recvbuf: Buffer,
    recvcount: i64,
    recvtype: Word,
    root: c_int,
) -> Volume {
    if context.is_idle(root) {
        return Volume::default();
    }
    let is_root = context.is_root(root);
    let takes = !context.is_inter_root(root);
    let own = if !takes || recvbuf.is_in_place() { block(sendcount, sendtype) } else { block(recvcount, recvtype) };
    let sent = if is_root { context.peers().wrapping_mul(block(sendcount, sendtype)) } else { 0 };
    if is_root {
        context.described(sendtype, context.peers().wrapping_mul(sendcount as u64));
    }
    if takes && !recvbuf.is_in_place() {
        context.described(recvtype, recvcount as u64);
    }
    Volume { sent, received: if takes { own } else { 0 }, message_bytes: own }
}

pub fn scatterv(
    context: &mut impl Context,
    sendcounts: Counts,
    sendtype: Word,
    recvbuf: Buffer,
    recvcount: i64,
    recvtype: Word,
    root: c_int,
) -> Volume {
    if context.is_idle(root) {
        return Volume::default();
    }
    let received = if context.is_inter_root(root) {
        0
    } else if recvbuf.is_in_place() {
        bytes_of(sendcounts.at(context.facts().rank as usize), sendtype)
    } else {
        context.described(recvtype, recvcount as u64);
        block(recvcount, recvtype)
    };
    let elements = if context.is_root(root) { sendcounts.sum(context.peers()) } else { 0 };
    context.described(sendtype, elements);
    unsized_volume(bytes_of(elements, sendtype), received)
}

#[inline(always)]
pub fn allgather(
    context: &mut impl Context,
    sendbuf: Buffer,
    sendcount: i64,
    sendtype: Word,
    recvcount: i64,
    recvtype: Word,
) -> Volume {
    let taken = block(recvcount, recvtype);
    let own = if sendbuf.is_in_place() { taken } else { block(sendcount, sendtype) };
    if !sendbuf.is_in_place() {
        context.described(sendtype, sendcount as u64);
    }
    let peers = context.peers();
    context.described(recvtype, peers.wrapping_mul(recvcount as u64));
    Volume { sent: own, received: peers.wrapping_mul(taken), message_bytes: own }
}

pub fn allgatherv(
    context: &mut impl Context,
    sendbuf: Buffer,
    sendcount: i64,
    sendtype: Word,
    recvcounts: Counts,
    recvtype: Word,
) -> Volume {
    let own = if sendbuf.is_in_place() {
        bytes_of(recvcounts.at(context.facts().rank as usize), recvtype)
    } else {
        context.described(sendtype, sendcount as u64);
        block(sendcount, sendtype)
    };
    let elements = recvcounts.sum(context.peers());
    context.described(recvtype, elements);
    unsized_volume(own, bytes_of(elements, recvtype))
}

#[inline(always)]
pub fn alltoall(
    context: &mut impl Context,
    sendbuf: Buffer,
    sendcount: i64,
    sendtype: Word,
    recvcount: i64,
    recvtype: Word,
) -> Volume {
    let taken = block(recvcount, recvtype);
    let given = if sendbuf.is_in_place() { taken } else { block(sendcount, sendtype) };
    let peers = context.peers();
    if !sendbuf.is_in_place() {
        context.described(sendtype, peers.wrapping_mul(sendcount as u64));
    }
    context.described(recvtype, peers.wrapping_mul(recvcount as u64));
    Volume { sent: peers.wrapping_mul(given), received: peers.wrapping_mul(taken), message_bytes: given }
}

pub fn alltoallv(
    context: &mut impl Context,
    sendbuf: Buffer,
    sendcounts: Counts,
    sendtype: Word,
    recvcounts: Counts,
    recvtype: Word,
) -> Volume {
    let peers = context.peers();
    let taken = recvcounts.sum(peers);
    let received = bytes_of(taken, recvtype);
    context.described(recvtype, taken);
    if sendbuf.is_in_place() {
        return unsized_volume(received, received);
    }
    let given = sendcounts.sum(peers);
    context.described(sendtype, given);
    unsized_volume(bytes_of(given, sendtype), received)
}

pub fn alltoallw(
    context: &mut impl Context,
    sendbuf: Buffer,
    sendcounts: Counts,
    sendtypes: Types,
    recvcounts: Counts,
    recvtypes: Types,
) -> Volume {
    let peers = context.peers();
    if datatypes::are_recorded() {
        described_typed(context, recvcounts, recvtypes, 0..peers as usize);
        if !sendbuf.is_in_place() {
            described_typed(context, sendcounts, sendtypes, 0..peers as usize);
        }
    }
    let received = sum_typed(recvcounts, recvtypes, peers);
    let sent = if sendbuf.is_in_place() { received } else { sum_typed(sendcounts, sendtypes, peers) };
    unsized_volume(sent, received)
}

#[inline(always)]
pub fn reduce_scatter_block(context: &mut impl Context, recvcount: i64, datatype: Word) -> Volume {
    let bytes = block(recvcount, datatype);
    let blocks = u64::from(context.facts().size);
    context.described(datatype, blocks.wrapping_mul(recvcount as u64));
    Volume { sent: blocks.wrapping_mul(bytes), received: bytes, message_bytes: bytes }
}

pub fn reduce_scatter(context: &mut impl Context, recvcounts: Counts, datatype: Word) -> Volume {
    let facts = context.facts();
    let elements = recvcounts.sum(facts.size.into());
    context.described(datatype, elements);
    let sent = bytes_of(elements, datatype);
    Volume { sent, received: bytes_of(recvcounts.at(facts.rank as usize), datatype), message_bytes: sent }
}

pub fn neighbor_allgather(
    context: &mut impl Context,
    sendcount: i64,
    sendtype: Word,
    recvcount: i64,
    recvtype: Word,
) -> Volume {
    let (neighbors, own) = (context.neighbors(), block(sendcount, sendtype));
    let destinations = send_to_all(context, neighbors, own);
    let sources = neighbors.real_sources().count() as u64;
    let received = sources * block(recvcount, recvtype);
    context.described(sendtype, if destinations > 0 { sendcount as u64 } else { 0 });
    context.described(recvtype, sources * recvcount as u64);
    Volume { sent: if destinations > 0 { own } else { 0 }, received, message_bytes: own }
}

pub fn neighbor_allgatherv(
    context: &mut impl Context,
    sendcount: i64,
    sendtype: Word,
    recvcounts: Counts,
    recvtype: Word,
) -> Volume {
    let (neighbors, own) = (context.neighbors(), block(sendcount, sendtype));
    let destinations = send_to_all(context, neighbors, own);
    let received = neighbors.real_sources().fold(0u64, |sum, (place, _)| sum.wrapping_add(recvcounts.at(place)));
    context.described(sendtype, if destinations > 0 { sendcount as u64 } else { 0 });
    context.described(recvtype, received);
    unsized_volume(if destinations > 0 { own } else { 0 }, bytes_of(received, recvtype))
}

pub fn neighbor_alltoall(
    context: &mut impl Context,
    sendcount: i64,
    sendtype: Word,
    recvcount: i64,
    recvtype: Word,
) -> Volume {
    let (neighbors, given) = (context.neighbors(), block(sendcount, sendtype));
    let destinations = send_to_all(context, neighbors, given);
    let sources = neighbors.real_sources().count() as u64;
    context.described(sendtype, destinations * sendcount as u64);
    context.described(recvtype, sources * recvcount as u64);
    let (sent, received) = (destinations * given, sources * block(recvcount, recvtype));
    Volume { sent, received, message_bytes: given }
}

pub fn neighbor_alltoallv(
    context: &mut impl Context,
    sendcounts: Counts,
    sendtype: Word,
    recvcounts: Counts,
    recvtype: Word,
) -> Volume {
    if datatypes::are_recorded() {
        let neighbors = context.neighbors();
        let sum = |counts: Counts, places: &mut dyn Iterator<Item = usize>| {
            places.fold(0u64, |sum, place| sum.wrapping_add(counts.at(place)))
        };
        let given = sum(sendcounts, &mut neighbors.real_destinations().map(|(place, _)| place));
        let taken = sum(recvcounts, &mut neighbors.real_sources().map(|(place, _)| place));
        context.described(sendtype, given);
        context.described(recvtype, taken);
    }
    neighbor_exchange(
        context,
        |place| bytes_of(sendcounts.at(place), sendtype),
        |place| bytes_of(recvcounts.at(place), recvtype),
    )
}

pub fn neighbor_alltoallw(
    context: &mut impl Context,
    sendcounts: Counts,
    sendtypes: Types,
    recvcounts: Counts,
    recvtypes: Types,
) -> Volume {
    if datatypes::are_recorded() {
        let neighbors = context.neighbors();
        described_typed(context, sendcounts, sendtypes, neighbors.real_destinations().map(|(place, _)| place));
        described_typed(context, recvcounts, recvtypes, neighbors.real_sources().map(|(place, _)| place));
    }
    neighbor_exchange(
        context,
        |place| block_typed(sendcounts, sendtypes, place),
        |place| block_typed(recvcounts, recvtypes, place),
    )
}

/// A block of a size of its own to every destination and from every source, given by their places.
fn neighbor_exchange(context: &mut impl Context, given: impl Fn(usize) -> u64, taken: impl Fn(usize) -> u64) -> Volume {
    let neighbors = context.neighbors();
    let mut sent = 0u64;
    for (place, destination) in neighbors.real_destinations() {
        context.message(destination, given(place));
        sent = sent.wrapping_add(given(place));
    }
    unsized_volume(sent, neighbors.real_sources().fold(0u64, |sum, (place, _)| sum.wrapping_add(taken(place))))
}

/// The same bytes to every destination; returns how many there are.
fn send_to_all(context: &mut impl Context, neighbors: &Neighbors, bytes: u64) -> u64 {
    neighbors.real_destinations().map(|(_, destination)| context.message(destination, bytes)).count() as u64
}

#[inline(always)]
pub fn put(context: &mut impl Context, count: i64, datatype: Word, target: c_int) -> Volume {
    send(context, count, datatype, target)
}

#[inline(always)]
pub fn get(context: &mut impl Context, count: i64, datatype: Word, target: c_int) -> Volume {
    let put = send(context, count, datatype, target);
    Volume { sent: 0, received: put.sent, message_bytes: put.message_bytes }
}

#[inline(always)]
pub fn get_accumulate(
    context: &mut impl Context,
    origin_count: i64,
    origin_type: Word,
    result_count: i64,
    result_type: Word,
    target: c_int,
    operator: Word,
) -> Volume {
    // With MPI_NO_OP the origin's arguments mean nothing, and its datatype may be none.
    let sent = if is_no_op(operator) { 0 } else { block(origin_count, origin_type) };
    if target >= 0 {
        if !is_no_op(operator) {
            context.described(origin_type, origin_count as u64);
        }
        context.described(result_type, result_count as u64);
    }
    exchange(context, target, sent, block(result_count, result_type))
}

#[inline(always)]
pub fn fetch_and_op(context: &mut impl Context, datatype: Word, target: c_int, operator: Word) -> Volume {
    let element = block(1, datatype);
    if target >= 0 {
        context.described(datatype, 1);
    }
    exchange(context, target, if is_no_op(operator) { 0 } else { element }, element)
}

#[inline(always)]
pub fn compare_and_swap(context: &mut impl Context, datatype: Word, target: c_int) -> Volume {
    let element = block(1, datatype);
    if target >= 0 {
        context.described(datatype, 1);
    }
    exchange(context, target, element, element)
}

/// Bytes to a window and back from it in one call; the matrix holds the larger of both.
#[inline(always)]
fn exchange(context: &mut impl Context, target: c_int, sent: u64, received: u64) -> Volume {
    if target < 0 {
        // Only MPI_PROC_NULL succeeds.
        return Volume::default();
    }
    let message_bytes = sent.max(received);
    context.message(target, message_bytes);
    Volume { sent, received, message_bytes }
}

#[inline(always)]
fn is_no_op(operator: Word) -> bool {
    operator & abi().mask == abi().no_op
}

pub fn write(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    context.described(datatype, count as u64);
    let bytes = block(count, datatype);
    Volume { sent: bytes, received: 0, message_bytes: bytes }
}

pub unsafe fn read(context: &mut impl Context, count: i64, datatype: Word, status: Word) -> Volume {
    context.described(datatype, count as u64);
    let asked = block(count, datatype);
    Volume { sent: 0, received: unsafe { status::bytes_read(status) }, message_bytes: asked }
}

/// A read whose completion will tell what it brought.
pub fn read_begin(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    context.described(datatype, count as u64);
    Volume { message_bytes: block(count, datatype), ..Volume::default() }
}

/// A send in partitions: the message that is kept is that of one partition.
pub fn psend(context: &mut impl Context, count: i64, datatype: Word, destination: c_int) -> Volume {
    let partition = send(context, count, datatype, destination);
    Volume { sent: 0, ..partition }
}

pub fn precv(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    context.described(datatype, count as u64);
    Volume { message_bytes: block(count, datatype), ..Volume::default() }
}
