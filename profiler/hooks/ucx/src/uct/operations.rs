//! The functions that stand in the tables of interfaces. Each calls the one that it replaced there.

use std::ffi::{c_uint, c_void};
use std::ptr::{null, null_mut};

use super::interface;
use super::link::Clue;
use super::table::place::*;
use super::transmission::{Cargo, begin};
use crate::abi::ucs::{self, Status, StatusPtr};
use crate::abi::uct::*;
use crate::module::protocol::message;

/// The bytes of a list of pieces.
unsafe fn bytes_of(iov: *const Iov, count: usize) -> usize {
    // SAFETY: libucp's list.
    (0..count).map(|piece| unsafe { (*iov.add(piece)).length * (*iov.add(piece)).count as usize }).sum()
}

/// Where the last piece lies: a header may come first.
unsafe fn last_of(iov: *const Iov, count: usize) -> *mut c_void {
    // SAFETY: as above.
    if count == 0 { null_mut() } else { unsafe { (*iov.add(count - 1)).buffer } }
}

const NONE: *const c_void = null();

/// `function(ep, …)` of an interface that is watched, for its place in the table: the real one, then what is seen of the call.
macro_rules! replaced {
    (
        also $($own:ident $own_place:ident),*;
        $(
            fn $name:ident($ep:ident $(, $argument:ident: $type:ty)*) -> $result:ty, $place:ident,
                $cargo:expr, by $clue:expr, $(completing $completion:ident,)? then $end:ident $(of $bytes:expr)?;
        )*
    ) => {
        /// By their places.
        pub const REPLACEMENTS: &[(usize, fn() -> usize)] = &[
            $(($own_place, || $own as *const () as usize),)*
            $(($place, || $name as *const () as usize),)*
        ];

        $(unsafe extern "C-unwind" fn $name($ep: *mut Ep $(, $argument: $type)*) -> $result {
            type Real = unsafe extern "C-unwind" fn(*mut Ep $(, $type)*) -> $result;
            // SAFETY: the arguments are libucp's, and passed on.
            unsafe {
                let Some(interface) = interface::of($ep) else { return ucs::ERR_UNSUPPORTED as isize as $result };
                let real = std::mem::transmute::<usize, Real>(interface.table[$place]);
                #[allow(unused_mut)]
                let Some(mut transmission) = begin(interface, $ep, $place, $cargo, $clue) else {
                    return real($ep $(, $argument)*);
                };
                $(let $completion = transmission.completion($completion);)?
                let returned = real($ep $(, $argument)*);
                transmission.$end(returned $(, $bytes)?);
                returned
            }
        })*
    };
}

replaced! {
    also am_bcopy AM_BCOPY, tag_rndv_zcopy TAG_RNDV_ZCOPY;

    fn put_short(ep, buffer: *mut c_void, length: c_uint, far: u64, rkey: Rkey) -> Status, PUT_SHORT,
        Cargo::Put, by Clue::new(NONE, buffer, far), then end of length as usize;

    fn put_bcopy(ep, pack: Option<Pack>, argument: *mut c_void, far: u64, rkey: Rkey) -> isize, PUT_BCOPY,
        Cargo::Put, by Clue::new(argument, NONE, far), then end_packed;

    fn put_zcopy(ep, iov: *const Iov, count: usize, far: u64, rkey: Rkey, completion: *mut Completion)
        -> Status, PUT_ZCOPY,
        Cargo::Put, by Clue::new(completion, last_of(iov, count), far), completing completion,
        then end of bytes_of(iov, count);

    fn get_short(ep, buffer: *mut c_void, length: c_uint, far: u64, rkey: Rkey) -> Status, GET_SHORT,
        Cargo::Get, by Clue::new(NONE, buffer, far), then end of length as usize;

    fn get_bcopy(ep, unpack: Option<Unpack>, argument: *mut c_void, length: usize, far: u64, rkey: Rkey,
        completion: *mut Completion) -> Status, GET_BCOPY,
        Cargo::Get, by Clue::new(completion, argument, far), completing completion, then end of length;

    fn get_zcopy(ep, iov: *const Iov, count: usize, far: u64, rkey: Rkey, completion: *mut Completion)
        -> Status, GET_ZCOPY,
        Cargo::Get, by Clue::new(completion, last_of(iov, count), far), completing completion,
        then end of bytes_of(iov, count);

    fn am_short(ep, id: u8, header: u64, payload: *const c_void, length: c_uint) -> Status, AM_SHORT,
        Cargo::Message(id), by told(id, payload, length as usize), then end of length as usize + 8;

    fn am_short_iov(ep, id: u8, iov: *const Iov, count: usize) -> Status, AM_SHORT_IOV,
        Cargo::Message(id), by Clue::new(NONE, last_of(iov, count), 0), then end of bytes_of(iov, count);

    fn am_zcopy(ep, id: u8, header: *const c_void, header_length: c_uint, iov: *const Iov, count: usize, flags: c_uint,
        completion: *mut Completion) -> Status, AM_ZCOPY,
        Cargo::Message(id), by Clue::new(completion, last_of(iov, count), 0), completing completion,
        then end of bytes_of(iov, count) + header_length as usize;

    fn atomic_cswap64(ep, compare: u64, swap: u64, far: u64, rkey: Rkey, result: *mut u64, completion: *mut Completion)
        -> Status, ATOMIC_CSWAP64,
        Cargo::Atomic, by Clue::new(completion, result, far), completing completion, then end of 8;

    fn atomic_cswap32(ep, compare: u32, swap: u32, far: u64, rkey: Rkey, result: *mut u32, completion: *mut Completion)
        -> Status, ATOMIC_CSWAP32,
        Cargo::Atomic, by Clue::new(completion, result, far), completing completion, then end of 4;

    fn atomic32_post(ep, opcode: c_uint, value: u32, far: u64, rkey: Rkey) -> Status, ATOMIC32_POST,
        Cargo::Atomic, by Clue::new(NONE, NONE, far), then end of 4;

    fn atomic64_post(ep, opcode: c_uint, value: u64, far: u64, rkey: Rkey) -> Status, ATOMIC64_POST,
        Cargo::Atomic, by Clue::new(NONE, NONE, far), then end of 8;

    fn atomic32_fetch(ep, opcode: c_uint, value: u32, result: *mut u32, far: u64, rkey: Rkey, completion: *mut Completion)
        -> Status, ATOMIC32_FETCH,
        Cargo::Atomic, by Clue::new(completion, result, far), completing completion, then end of 4;

    fn atomic64_fetch(ep, opcode: c_uint, value: u64, result: *mut u64, far: u64, rkey: Rkey, completion: *mut Completion)
        -> Status, ATOMIC64_FETCH,
        Cargo::Atomic, by Clue::new(completion, result, far), completing completion, then end of 8;

    fn tag_eager_short(ep, tag: Tag, data: *const c_void, length: usize) -> Status, TAG_EAGER_SHORT,
        Cargo::Tagged, by Clue::new(NONE, data, 0), then end of length;

    fn tag_eager_bcopy(ep, tag: Tag, immediate: u64, pack: Option<Pack>, argument: *mut c_void, flags: c_uint)
        -> isize, TAG_EAGER_BCOPY,
        Cargo::Tagged, by Clue::new(argument, NONE, 0), then end_packed;

    fn tag_eager_zcopy(ep, tag: Tag, immediate: u64, iov: *const Iov, count: usize, flags: c_uint,
        completion: *mut Completion) -> Status, TAG_EAGER_ZCOPY,
        Cargo::Tagged, by Clue::new(completion, last_of(iov, count), 0), completing completion,
        then end of bytes_of(iov, count);

    fn tag_rndv_request(ep, tag: Tag, header: *const c_void, header_length: c_uint, flags: c_uint)
        -> Status, TAG_RNDV_REQUEST,
        Cargo::TaggedRendezvous, by Clue::new(NONE, NONE, 0), then end of header_length as usize;
}

/// What a message tells that announces a rendezvous, or answers that: the request that sends, as its address; or where the receiver wants the
/// data, and under which number it waits for it. Otherwise its payload may be data. The header of a short message is its first 8 bytes.
#[inline(always)]
unsafe fn told(id: u8, payload: *const c_void, length: usize) -> Clue {
    let clue = Clue::new(NONE, payload, 0);
    if length < 16 || payload.is_null() {
        return clue;
    }
    // SAFETY: inside of the message.
    let word = |place: usize| unsafe { payload.byte_add(8 * place).cast::<u64>().read_unaligned() };
    match id {
        message::RNDV_RTS => Clue { pointer: word(1) as usize, ..clue },
        message::RNDV_RTR => Clue { number: word(0), near: word(1) as usize, ..clue },
        _ => clue,
    }
}

/// A packing function that is listened to.
struct Listening {
    pack: Pack,
    argument: *mut c_void,
    told: Clue,
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

/// It hears from the packing function what a message tells that answers a rendezvous.
unsafe extern "C-unwind" fn am_bcopy(
    ep: *mut Ep,
    id: u8,
    pack: Option<Pack>,
    argument: *mut c_void,
    flags: c_uint,
) -> isize {
    type Real = unsafe extern "C-unwind" fn(*mut Ep, u8, Option<Pack>, *mut c_void, c_uint) -> isize;
    // SAFETY: the arguments are libucp's, and passed on.
    unsafe {
        let Some(interface) = interface::of(ep) else { return ucs::ERR_UNSUPPORTED as isize };
        let real = std::mem::transmute::<usize, Real>(interface.table[AM_BCOPY]);
        let clue = Clue::new(argument, NONE, 0);
        let Some(mut transmission) = begin(interface, ep, AM_BCOPY, Cargo::Message(id), clue) else {
            return real(ep, id, pack, argument, flags);
        };
        let packed = match pack {
            Some(pack) if id == message::RNDV_RTR => {
                let mut listening = Listening { pack, argument, told: Clue::new(NONE, NONE, 0) };
                let packed = real(ep, id, Some(pack_and_listen), (&raw mut listening).cast(), flags);
                transmission.look_again(listening.told);
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
    type Real = unsafe extern "C-unwind" fn(
        *mut Ep,
        Tag,
        *const c_void,
        c_uint,
        *const Iov,
        usize,
        c_uint,
        *mut Completion,
    ) -> StatusPtr;
    // SAFETY: the arguments are libucp's, and passed on.
    unsafe {
        let Some(interface) = interface::of(ep) else { return ucs::as_pointer(ucs::ERR_UNSUPPORTED) };
        let real = std::mem::transmute::<usize, Real>(interface.table[TAG_RNDV_ZCOPY]);
        let clue = Clue::new(completion, last_of(iov, count), 0);
        let begun = begin(interface, ep, TAG_RNDV_ZCOPY, Cargo::TaggedRendezvous, clue);
        let handle = real(ep, tag, header, header_length, iov, count, flags, completion);
        if let Some(transmission) = begun
            && !ucs::is_error(handle)
        {
            transmission.end(ucs::OK, bytes_of(iov, count) + header_length as usize);
        }
        handle
    }
}
