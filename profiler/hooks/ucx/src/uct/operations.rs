//! The functions that stand in the tables of interfaces. Each calls the one that it replaced there.

use std::ffi::{c_uint, c_void};

use super::interfaces;
use super::table::place::*;
use super::transmission::{Cargo, begin, count_posted, known, posted};
use crate::abi::ucs::{self, Status, StatusPtr};
use crate::abi::uct::*;
use crate::module::protocol::message;

/// By their places.
pub const REPLACEMENTS: [(usize, fn() -> usize); 21] = [
    (PUT_SHORT, || put_short as Short as usize),
    (PUT_BCOPY, || put_bcopy as PutBcopy as usize),
    (PUT_ZCOPY, || put_zcopy as Zcopy as usize),
    (GET_SHORT, || get_short as Short as usize),
    (GET_BCOPY, || get_bcopy as GetBcopy as usize),
    (GET_ZCOPY, || get_zcopy as Zcopy as usize),
    (AM_SHORT, || am_short as AmShort as usize),
    (AM_SHORT_IOV, || am_short_iov as AmShortIov as usize),
    (AM_BCOPY, || am_bcopy as AmBcopy as usize),
    (AM_ZCOPY, || am_zcopy as AmZcopy as usize),
    (ATOMIC_CSWAP64, || atomic_cswap64 as Cswap64 as usize),
    (ATOMIC_CSWAP32, || atomic_cswap32 as Cswap32 as usize),
    (ATOMIC32_POST, || atomic32_post as Atomic32Post as usize),
    (ATOMIC64_POST, || atomic64_post as Atomic64Post as usize),
    (ATOMIC32_FETCH, || atomic32_fetch as Atomic32Fetch as usize),
    (ATOMIC64_FETCH, || atomic64_fetch as Atomic64Fetch as usize),
    (TAG_EAGER_SHORT, || tag_eager_short as TagShort as usize),
    (TAG_EAGER_BCOPY, || tag_eager_bcopy as TagBcopy as usize),
    (TAG_EAGER_ZCOPY, || tag_eager_zcopy as TagZcopy as usize),
    (TAG_RNDV_ZCOPY, || tag_rndv_zcopy as TagRndvZcopy as usize),
    (TAG_RNDV_REQUEST, || tag_rndv_request as TagRndvRequest as usize),
];

/// The bytes of a list of pieces.
unsafe fn bytes_of(iov: *const Iov, count: usize) -> usize {
    // SAFETY: libucp's list.
    (0..count).map(|piece| unsafe { (*iov.add(piece)).length * (*iov.add(piece)).count as usize }).sum()
}

/// Where the last piece lies: a header may come first.
unsafe fn last_of(iov: *const Iov, count: usize) -> usize {
    // SAFETY: as above.
    if count == 0 { 0 } else { unsafe { (*iov.add(count - 1)).buffer as usize } }
}

/// The bytes of what is done; none where it is not.
#[inline(always)]
fn done(status: Status, bytes: usize) -> Option<usize> {
    (status == ucs::OK).then_some(bytes)
}

/// `function(ep, …)` of an interface that is watched: the real one, then what is seen of the call.
macro_rules! replaced {
    ($(
        fn $name:ident($ep:ident $(, $argument:ident: $type:ty)*) -> $result:ty as $real_type:ty, $place:ident,
            $cargo:expr, from $pointer:expr, $near:expr, $far:expr, $(completing $completion:ident,)?
            $(at once |$done:ident| $bytes:expr,)?
            |$returned:ident, $transmission:ident| $end:expr;
    )*) => {$(
        unsafe extern "C-unwind" fn $name($ep: *mut Ep $(, $argument: $type)*) -> $result {
            // SAFETY: the arguments are libucp's, and passed on.
            unsafe {
                #[allow(unused)]
                let call = |real: usize| std::mem::transmute::<usize, $real_type>(real)($ep $(, $argument)*);
                $(if let Some(known) = known($ep, $place, $cargo) {
                    let $done = call(known.real());
                    if let Some(bytes) = $bytes
                        && !known.count(bytes)
                    {
                        count_posted($ep, $place, $cargo, bytes);
                    }
                    return $done;
                })?
                let Some(interface) = interfaces::of($ep) else { return ucs::ERR_UNSUPPORTED as isize as $result };
                let real = std::mem::transmute::<usize, $real_type>(interface.table[$place]);
                $(if let Some(posted) = posted($cargo) {
                    let $done = call(interface.table[$place]);
                    if let Some(bytes) = $bytes {
                        posted.count($ep, $place, $cargo, bytes);
                    }
                    return $done;
                })?
                let begun = begin(interface, $ep, $place, $cargo, $pointer as usize, $near as usize, $far);
                #[allow(unused_mut)]
                let Some(mut $transmission) = begun else { return real($ep $(, $argument)*) };
                $(let $completion = $transmission.completion($completion);)?
                let $returned = real($ep $(, $argument)*);
                $end;
                $returned
            }
        }
    )*};
}

replaced! {
    fn put_short(ep, buffer: *mut c_void, length: c_uint, far: u64, rkey: Rkey) -> Status as Short, PUT_SHORT,
        Cargo::Put, from 0, buffer, far,
        at once |status| done(status, length as usize),
        |status, transmission| transmission.end(status, length as usize);

    fn put_bcopy(ep, pack: Option<Pack>, argument: *mut c_void, far: u64, rkey: Rkey) -> isize as PutBcopy, PUT_BCOPY,
        Cargo::Put, from argument, 0, far,
        at once |packed| usize::try_from(packed).ok(),
        |packed, transmission| transmission.end_packed(packed);

    fn put_zcopy(ep, iov: *const Iov, count: usize, far: u64, rkey: Rkey, completion: *mut Completion)
        -> Status as Zcopy, PUT_ZCOPY,
        Cargo::Put, from completion, last_of(iov, count), far, completing completion,
        |status, transmission| transmission.end(status, bytes_of(iov, count));

    fn get_short(ep, buffer: *mut c_void, length: c_uint, far: u64, rkey: Rkey) -> Status as Short, GET_SHORT,
        Cargo::Get, from 0, buffer, far,
        at once |status| done(status, length as usize),
        |status, transmission| transmission.end(status, length as usize);

    fn get_bcopy(ep, unpack: Option<Unpack>, argument: *mut c_void, length: usize, far: u64, rkey: Rkey,
        completion: *mut Completion) -> Status as GetBcopy, GET_BCOPY,
        Cargo::Get, from completion, argument, far, completing completion,
        |status, transmission| transmission.end(status, length);

    fn get_zcopy(ep, iov: *const Iov, count: usize, far: u64, rkey: Rkey, completion: *mut Completion)
        -> Status as Zcopy, GET_ZCOPY,
        Cargo::Get, from completion, last_of(iov, count), far, completing completion,
        |status, transmission| transmission.end(status, bytes_of(iov, count));

    fn am_short_iov(ep, id: u8, iov: *const Iov, count: usize) -> Status as AmShortIov, AM_SHORT_IOV,
        Cargo::Message(id), from 0, last_of(iov, count), 0,
        at once |status| done(status, bytes_of(iov, count)),
        |status, transmission| transmission.end(status, bytes_of(iov, count));

    fn am_zcopy(ep, id: u8, header: *const c_void, header_length: c_uint, iov: *const Iov, count: usize, flags: c_uint,
        completion: *mut Completion) -> Status as AmZcopy, AM_ZCOPY,
        Cargo::Message(id), from completion, last_of(iov, count), 0, completing completion,
        |status, transmission| transmission.end(status, bytes_of(iov, count) + header_length as usize);

    fn atomic_cswap64(ep, compare: u64, swap: u64, far: u64, rkey: Rkey, result: *mut u64, completion: *mut Completion)
        -> Status as Cswap64, ATOMIC_CSWAP64,
        Cargo::Atomic, from completion, result, far, completing completion,
        |status, transmission| transmission.end(status, 8);

    fn atomic_cswap32(ep, compare: u32, swap: u32, far: u64, rkey: Rkey, result: *mut u32, completion: *mut Completion)
        -> Status as Cswap32, ATOMIC_CSWAP32,
        Cargo::Atomic, from completion, result, far, completing completion,
        |status, transmission| transmission.end(status, 4);

    fn atomic32_post(ep, opcode: c_uint, value: u32, far: u64, rkey: Rkey) -> Status as Atomic32Post, ATOMIC32_POST,
        Cargo::Atomic, from 0, 0, far,
        |status, transmission| transmission.end(status, 4);

    fn atomic64_post(ep, opcode: c_uint, value: u64, far: u64, rkey: Rkey) -> Status as Atomic64Post, ATOMIC64_POST,
        Cargo::Atomic, from 0, 0, far,
        |status, transmission| transmission.end(status, 8);

    fn atomic32_fetch(ep, opcode: c_uint, value: u32, result: *mut u32, far: u64, rkey: Rkey, completion: *mut Completion)
        -> Status as Atomic32Fetch, ATOMIC32_FETCH,
        Cargo::Atomic, from completion, result, far, completing completion,
        |status, transmission| transmission.end(status, 4);

    fn atomic64_fetch(ep, opcode: c_uint, value: u64, result: *mut u64, far: u64, rkey: Rkey, completion: *mut Completion)
        -> Status as Atomic64Fetch, ATOMIC64_FETCH,
        Cargo::Atomic, from completion, result, far, completing completion,
        |status, transmission| transmission.end(status, 8);

    fn tag_eager_short(ep, tag: Tag, data: *const c_void, length: usize) -> Status as TagShort, TAG_EAGER_SHORT,
        Cargo::Tagged, from 0, data, 0,
        |status, transmission| transmission.end(status, length);

    fn tag_eager_bcopy(ep, tag: Tag, immediate: u64, pack: Option<Pack>, argument: *mut c_void, flags: c_uint)
        -> isize as TagBcopy, TAG_EAGER_BCOPY,
        Cargo::Tagged, from argument, 0, 0,
        |packed, transmission| transmission.end_packed(packed);

    fn tag_eager_zcopy(ep, tag: Tag, immediate: u64, iov: *const Iov, count: usize, flags: c_uint,
        completion: *mut Completion) -> Status as TagZcopy, TAG_EAGER_ZCOPY,
        Cargo::Tagged, from completion, last_of(iov, count), 0, completing completion,
        |status, transmission| transmission.end(status, bytes_of(iov, count));

    fn tag_rndv_request(ep, tag: Tag, header: *const c_void, header_length: c_uint, flags: c_uint)
        -> Status as TagRndvRequest, TAG_RNDV_REQUEST,
        Cargo::TaggedRendezvous, from 0, 0, 0,
        |status, transmission| transmission.end(status, header_length as usize);
}

/// What a message tells that announces a rendezvous or answers that. The header of a short message is its first 8 bytes.
struct Told {
    /// The request that sends, as its address.
    sender: usize,
    /// Where the receiver wants the data; the payload, where it is data.
    buffer: usize,
    /// Under which the receiver waits for it.
    number: u64,
}

#[inline(always)]
unsafe fn told(id: u8, payload: *const c_void, length: usize) -> Told {
    let told = Told { sender: 0, buffer: payload as usize, number: 0 };
    match id {
        message::RNDV_RTS | message::RNDV_RTR if length >= 16 && !payload.is_null() => {
            // SAFETY: inside of the message.
            let word = |place: usize| unsafe { payload.byte_add(8 * place).cast::<u64>().read_unaligned() };
            if id == message::RNDV_RTS {
                Told { sender: word(1) as usize, ..told }
            } else {
                Told { number: word(0), buffer: word(1) as usize, ..told }
            }
        }
        _ => told,
    }
}

unsafe extern "C-unwind" fn am_short(
    ep: *mut Ep,
    id: u8,
    header: u64,
    payload: *const c_void,
    length: c_uint,
) -> Status {
    // SAFETY: the arguments are libucp's, and passed on.
    unsafe {
        let Some(known) = known(ep, AM_SHORT, Cargo::Message(id)) else {
            return am_short_unknown(ep, id, header, payload, length);
        };
        let real = std::mem::transmute::<usize, AmShort>(known.real());
        let status = real(ep, id, header, payload, length);
        let bytes = length as usize + 8;
        if status == ucs::OK && !known.count(bytes) {
            count_posted(ep, AM_SHORT, Cargo::Message(id), bytes);
        }
        status
    }
}

/// Not like others before inside of the post that wants it, or anywhere else.
#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn am_short_unknown(
    ep: *mut Ep,
    id: u8,
    header: u64,
    payload: *const c_void,
    length: c_uint,
) -> Status {
    // SAFETY: as above.
    unsafe {
        let Some(posted) = posted(Cargo::Message(id)) else { return am_short_apart(ep, id, header, payload, length) };
        let Some(interface) = interfaces::of(ep) else { return ucs::ERR_UNSUPPORTED };
        let real = std::mem::transmute::<usize, AmShort>(interface.table[AM_SHORT]);
        let status = real(ep, id, header, payload, length);
        if status == ucs::OK {
            posted.count(ep, AM_SHORT, Cargo::Message(id), length as usize + 8);
        }
        status
    }
}

/// Anywhere else.
#[inline(never)]
unsafe fn am_short_apart(ep: *mut Ep, id: u8, header: u64, payload: *const c_void, length: c_uint) -> Status {
    // SAFETY: as above.
    unsafe {
        let Some(interface) = interfaces::of(ep) else { return ucs::ERR_UNSUPPORTED };
        let real = std::mem::transmute::<usize, AmShort>(interface.table[AM_SHORT]);
        let bytes = length as usize + 8;
        let Told { sender, buffer, number } = told(id, payload, length as usize);
        let begun = begin(interface, ep, AM_SHORT, Cargo::Message(id), sender, buffer, 0);
        let Some(mut transmission) = begun else { return real(ep, id, header, payload, length) };
        transmission.number = number;
        let status = real(ep, id, header, payload, length);
        transmission.end(status, bytes);
        status
    }
}

/// A packing function that is listened to.
struct Listening {
    pack: Pack,
    argument: *mut c_void,
    told: Told,
}

unsafe extern "C-unwind" fn pack_and_listen(to: *mut c_void, listening: *mut c_void) -> usize {
    // SAFETY: what `am_bcopy` passed with this function.
    unsafe {
        let listening = &mut *listening.cast::<Listening>();
        let packed = (listening.pack)(to, listening.argument);
        if (8..=isize::MAX as usize).contains(&packed) {
            listening.told = told(message::RNDV_RTR, to.byte_add(8), packed - 8);
        }
        packed
    }
}

unsafe extern "C-unwind" fn am_bcopy(
    ep: *mut Ep,
    id: u8,
    pack: Option<Pack>,
    argument: *mut c_void,
    flags: c_uint,
) -> isize {
    // SAFETY: the arguments are libucp's, and passed on.
    unsafe {
        if let Some(known) = known(ep, AM_BCOPY, Cargo::Message(id)) {
            let real = std::mem::transmute::<usize, AmBcopy>(known.real());
            let packed = real(ep, id, pack, argument, flags);
            if let Ok(bytes) = usize::try_from(packed)
                && !known.count(bytes)
            {
                count_posted(ep, AM_BCOPY, Cargo::Message(id), bytes);
            }
            return packed;
        }
        let Some(interface) = interfaces::of(ep) else { return ucs::ERR_UNSUPPORTED as isize };
        let real = std::mem::transmute::<usize, AmBcopy>(interface.table[AM_BCOPY]);
        if let Some(posted) = posted(Cargo::Message(id)) {
            let packed = real(ep, id, pack, argument, flags);
            if let Ok(bytes) = usize::try_from(packed) {
                posted.count(ep, AM_BCOPY, Cargo::Message(id), bytes);
            }
            return packed;
        }
        let begun = begin(interface, ep, AM_BCOPY, Cargo::Message(id), argument as usize, 0, 0);
        let Some(mut transmission) = begun else { return real(ep, id, pack, argument, flags) };
        let packed = match pack {
            Some(pack) if id == message::RNDV_RTR => {
                let mut listening = Listening { pack, argument, told: Told { sender: 0, buffer: 0, number: 0 } };
                let packed = real(ep, id, Some(pack_and_listen), (&raw mut listening).cast(), flags);
                transmission.number = listening.told.number;
                transmission.look_again(listening.told.buffer);
                packed
            }
            _ => real(ep, id, pack, argument, flags),
        };
        transmission.end_packed(packed);
        packed
    }
}

/// It returns a handle by which it may be cancelled, and completes later in any case. So it keeps libucp's completion, and is
/// counted when it is posted.
unsafe extern "C-unwind" fn tag_rndv_zcopy(
    ep: *mut Ep,
    tag: Tag,
    header: *const c_void,
    header_length: c_uint,
    iov: *const Iov,
    count: usize,
    flags: c_uint,
    completion: *mut Completion,
) -> StatusPtr {
    // SAFETY: the arguments are libucp's, and passed on.
    unsafe {
        let Some(interface) = interfaces::of(ep) else { return ucs::as_pointer(ucs::ERR_UNSUPPORTED) };
        let real = std::mem::transmute::<usize, TagRndvZcopy>(interface.table[TAG_RNDV_ZCOPY]);
        let near = last_of(iov, count);
        let begun = begin(interface, ep, TAG_RNDV_ZCOPY, Cargo::TaggedRendezvous, completion as usize, near, 0);
        let handle = real(ep, tag, header, header_length, iov, count, flags, completion);
        if let Some(transmission) = begun
            && !ucs::is_error(handle)
        {
            transmission.end(ucs::OK, bytes_of(iov, count) + header_length as usize);
        }
        handle
    }
}
