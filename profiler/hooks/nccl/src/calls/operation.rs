//! Calls that move data, and those that move none.

use std::ffi::c_int;

use commsee_runtime::guard;

use super::thread::push;
use super::{Begun, Ended, count, creation, is_taken};
use crate::abi::{Code, Handle, SUCCESS, element_bytes};
use crate::communicators::{self, Communicator};
use crate::functions::{Function, Kind};
use crate::library::Vendor;

/// What an operation is asked to move.
#[derive(Clone, Copy)]
pub enum Amount {
    /// Elements of a datatype: in each block, where there are several.
    Of(usize, c_int),
    /// Bytes in all, which differ from block to block.
    Varying(u64),
    None,
}

/// An operation on a communicator. `peer`: the other end, or the root; -1 for none.
#[inline(always)]
pub fn operate<V: Vendor>(
    function: Function,
    comm: Handle,
    amount: impl FnOnce() -> Amount,
    peer: c_int,
    real: impl FnOnce() -> Code,
) -> Code {
    let known = communicators::known(comm).or_else(|| creation::finish_left::<V>(comm));
    if known.is_none() && communicators::is_for_the_plugin::<V>(comm) {
        return real();
    }
    let number = known.map_or(0, |known| known.number);
    let route = |thread: &super::Thread, module: &_| thread.latest.of_call(module, V::LAYER, function);
    let Some(begun) = Begun::new(number, route) else { return real() };
    let code = real();
    let end = begun.leave();
    guard::recorded(|| {
        if begun.is_counted && is_taken::<V>(code) {
            let communicator = known.or_else(|| communicators::known_or_new::<V>(begun.module, comm));
            if let Some(communicator) = communicator
                && code == SUCCESS
                && function.kind() != Kind::Control
                && !begun.thread.is_in_group()
            {
                communicator.is_used::<V>();
            }
            record(&begun, ended::<V>(&begun, function, communicator, amount(), peer, end));
        } else if !begun.thread.is_in_group() {
            begun.thread.with_chosen(|_| ());
        }
    });
    code
}

/// A call that moves no data; on a communicator, or on none (null).
#[inline(always)]
pub fn control<V: Vendor>(function: Function, comm: Handle, real: impl FnOnce() -> Code) -> Code {
    operate::<V>(function, comm, || Amount::None, -1, real)
}

#[inline(always)]
pub(super) fn ended<V: Vendor>(
    begun: &Begun,
    function: Function,
    communicator: Option<&'static Communicator>,
    amount: Amount,
    peer: c_int,
    end: u64,
) -> Ended {
    let (count, size_bytes, bytes) = match amount {
        Amount::Of(count, datatype) => {
            let size = (count as u64).saturating_mul(element_bytes(datatype));
            let blocks = communicator.map_or(1, |one| function.blocks(one.ranks, one.rank, peer));
            (count as u64, size, size.saturating_mul(blocks))
        }
        // As MPI's, in the first bucket.
        Amount::Varying(bytes) => (0, 0, bytes),
        Amount::None => (0, 0, 0),
    };
    Ended {
        call: begun.call,
        layer: V::LAYER,
        arrivals: V::ARRIVALS,
        function,
        communicator,
        is_over_several: false,
        count,
        size_bytes,
        bytes,
        peer,
        duration_ns: begun.duration_ns(end),
        begin_ns: begun.begin,
    }
}

/// Counts it, now or at the end of its group.
#[inline(always)]
pub(super) fn record(begun: &Begun, ended: Ended) {
    if !begun.thread.is_in_group() || !push(&begun.thread.ended, ended) {
        count::one(begun.module, begun.thread, &ended);
    }
}

/// What an operation with a count for each rank sends: the sum.
pub fn varying(comm: Handle, counts: *const usize, datatype: c_int) -> Amount {
    let Some(communicator) = communicators::known(comm).filter(|_| !counts.is_null()) else { return Amount::None };
    // SAFETY: the program's list, which the library has read.
    let sum =
        (0..communicator.ranks as usize).fold(0u64, |sum, at| unsafe { sum.saturating_add(*counts.add(at) as u64) });
    Amount::Varying(sum.saturating_mul(element_bytes(datatype)))
}
