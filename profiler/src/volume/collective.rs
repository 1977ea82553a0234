//! Collectives: what a rank gives and takes, and what only the root does.

use super::*;

#[inline(always)]
pub fn bcast(context: &mut impl Context, count: i64, datatype: Word, root: c_int) -> Volume {
    let part = context.part(root);
    if part == Part::Idle {
        return Volume::default();
    }
    let bytes = context.block(count, datatype);
    context.described(datatype, count as u64);
    let (sent, received) = if part.is_root() { (bytes, 0) } else { (0, bytes) };
    Volume { sent, received, message_bytes: bytes }
}

#[inline(always)]
pub fn reduce(context: &mut impl Context, count: i64, datatype: Word, root: c_int) -> Volume {
    let part = context.part(root);
    if part == Part::Idle {
        return Volume::default();
    }
    let bytes = context.block(count, datatype);
    context.described(datatype, count as u64);
    let (sent, received) = match part {
        Part::RootOfGroups => (0, bytes),
        Part::Root => (bytes, bytes),
        Part::Other | Part::Idle => (bytes, 0),
    };
    Volume { sent, received, message_bytes: bytes }
}

#[inline(always)]
pub fn allreduce(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    let bytes = context.block(count, datatype);
    context.described(datatype, count as u64);
    Volume { sent: bytes, received: bytes, message_bytes: bytes }
}

#[inline(always)]
pub fn scan(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    allreduce(context, count, datatype)
}

#[inline(always)]
pub fn exscan(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    let bytes = context.block(count, datatype);
    context.described(datatype, count as u64);
    let received = if context.communicator().rank == 0 { 0 } else { bytes };
    Volume { sent: bytes, received, message_bytes: bytes }
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
    let part = context.part(root);
    if part == Part::Idle {
        return Volume::default();
    }
    let is_root = part.is_root();
    // The root of an intercommunicator sends nothing and need not pass the send arguments.
    let gives = part != Part::RootOfGroups;
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
    let part = context.part(root);
    if part == Part::Idle {
        return Volume::default();
    }
    let sent = if part == Part::RootOfGroups {
        0
    } else if sendbuf.is_in_place() {
        bytes_of(recvcounts.at(context.communicator().rank as usize), recvtype)
    } else {
        context.described(sendtype, sendcount as u64);
        context.block(sendcount, sendtype)
    };
    let elements = if part.is_root() { recvcounts.sum(context.peers()) } else { 0 };
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
    let part = context.part(root);
    if part == Part::Idle {
        return Volume::default();
    }
    let is_root = part.is_root();
    let takes = part != Part::RootOfGroups;
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
    let part = context.part(root);
    if part == Part::Idle {
        return Volume::default();
    }
    let received = if part == Part::RootOfGroups {
        0
    } else if recvbuf.is_in_place() {
        bytes_of(sendcounts.at(context.communicator().rank as usize), sendtype)
    } else {
        context.described(recvtype, recvcount as u64);
        context.block(recvcount, recvtype)
    };
    let elements = if part.is_root() { sendcounts.sum(context.peers()) } else { 0 };
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
