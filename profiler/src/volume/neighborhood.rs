//! Neighbourhood collectives: blocks to and from the neighbours that exist.

use super::*;

pub fn neighbor_allgather(
    context: &mut impl Context,
    sendcount: i64,
    sendtype: Word,
    recvcount: i64,
    recvtype: Word,
) -> Volume {
    let (neighbors, own) = (context.neighbors(), context.block(sendcount, sendtype));
    let destinations = send_to_all(context, neighbors, own);
    let sources = neighbors.real_sources().count() as u64;
    let received = sources * context.block(recvcount, recvtype);
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
    let (neighbors, own) = (context.neighbors(), context.block(sendcount, sendtype));
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
    let (neighbors, given) = (context.neighbors(), context.block(sendcount, sendtype));
    let destinations = send_to_all(context, neighbors, given);
    let sources = neighbors.real_sources().count() as u64;
    context.described(sendtype, destinations * sendcount as u64);
    context.described(recvtype, sources * recvcount as u64);
    let (sent, received) = (destinations * given, sources * context.block(recvcount, recvtype));
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
        let bytes = given(place);
        context.message(destination, bytes);
        sent = sent.wrapping_add(bytes);
    }
    unsized_volume(sent, neighbors.real_sources().fold(0u64, |sum, (place, _)| sum.wrapping_add(taken(place))))
}

/// The same bytes to every destination; returns how many there are.
fn send_to_all(context: &mut impl Context, neighbors: &Neighbors, bytes: u64) -> u64 {
    neighbors.real_destinations().map(|(_, destination)| context.message(destination, bytes)).count() as u64
}
