//! Collectives: what a rank gives and takes, and what only the root does.

use super::*;

#[inline(always)]
pub fn bcast(context: &mut impl Context, count: i64, datatype: Word, root: c_int) -> Option<Volume> {
    let part = context.known_part(root)?;
    if let Part::Idle = part {
        return Some(Volume::default());
    }
    let bytes = context.known_block(count, datatype)?;
    context.described(datatype, count as u64);
    let (sent, received) = if let Part::Root { .. } = part { (bytes, 0) } else { (0, bytes) };
    Some(Volume { sent, received, message_bytes: bytes })
}

#[inline(always)]
pub fn reduce(context: &mut impl Context, count: i64, datatype: Word, root: c_int) -> Option<Volume> {
    let part = context.known_part(root)?;
    if let Part::Idle = part {
        return Some(Volume::default());
    }
    let bytes = context.known_block(count, datatype)?;
    context.described(datatype, count as u64);
    let (sent, received) = match part {
        Part::Root { is_inter: true } => (0, bytes),
        Part::Root { is_inter: false } => (bytes, bytes),
        Part::Other | Part::Idle => (bytes, 0),
    };
    Some(Volume { sent, received, message_bytes: bytes })
}

#[inline(always)]
pub fn allreduce(context: &mut impl Context, count: i64, datatype: Word) -> Option<Volume> {
    let bytes = context.known_block(count, datatype)?;
    context.described(datatype, count as u64);
    Some(Volume { sent: bytes, received: bytes, message_bytes: bytes })
}

#[inline(always)]
pub fn scan(context: &mut impl Context, count: i64, datatype: Word) -> Option<Volume> {
    allreduce(context, count, datatype)
}

#[inline(always)]
pub fn exscan(context: &mut impl Context, count: i64, datatype: Word) -> Option<Volume> {
    let bytes = context.known_block(count, datatype)?;
    context.described(datatype, count as u64);
    Some(Volume {
        sent: bytes,
        received: if context.communicator().rank == 0 { 0 } else { bytes },
        message_bytes: bytes,
    })
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
    let own = if !gives || sendbuf.is_in_place() {
        context.block(recvcount, recvtype)
    } else {
        context.block(sendcount, sendtype)
    };
    if gives && !sendbuf.is_in_place() {
        context.described(sendtype, sendcount as u64);
    }
    if is_root {
        context.described(recvtype, context.peers().wrapping_mul(recvcount as u64));
    }
    let received = if is_root { context.peers().wrapping_mul(context.block(recvcount, recvtype)) } else { 0 };
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
        bytes_of(recvcounts.at(context.communicator().rank as usize), recvtype)
    } else {
        context.described(sendtype, sendcount as u64);
        context.block(sendcount, sendtype)
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
    let own = if !takes || recvbuf.is_in_place() {
        context.block(sendcount, sendtype)
    } else {
        context.block(recvcount, recvtype)
    };
    let sent = if is_root { context.peers().wrapping_mul(context.block(sendcount, sendtype)) } else { 0 };
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
        bytes_of(sendcounts.at(context.communicator().rank as usize), sendtype)
    } else {
        context.described(recvtype, recvcount as u64);
        context.block(recvcount, recvtype)
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
    let taken = context.block(recvcount, recvtype);
    let own = if sendbuf.is_in_place() { taken } else { context.block(sendcount, sendtype) };
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
        bytes_of(recvcounts.at(context.communicator().rank as usize), recvtype)
    } else {
        context.described(sendtype, sendcount as u64);
        context.block(sendcount, sendtype)
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
    let taken = context.block(recvcount, recvtype);
    let given = if sendbuf.is_in_place() { taken } else { context.block(sendcount, sendtype) };
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
    let bytes = context.block(recvcount, datatype);
    let blocks = u64::from(context.communicator().size);
    context.described(datatype, blocks.wrapping_mul(recvcount as u64));
    Volume { sent: blocks.wrapping_mul(bytes), received: bytes, message_bytes: bytes }
}

pub fn reduce_scatter(context: &mut impl Context, recvcounts: Counts, datatype: Word) -> Volume {
    let communicator = context.communicator();
    let elements = recvcounts.sum(communicator.size.into());
    context.described(datatype, elements);
    let sent = bytes_of(elements, datatype);
    Volume { sent, received: bytes_of(recvcounts.at(communicator.rank as usize), datatype), message_bytes: sent }
}
