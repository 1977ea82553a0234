//! The symbols by which NCCL finds a plugin, newest first. They are indirect functions (GNU IFUNC), of which the loader asks what they
//! are when NCCL looks one up: ours, or those of a plugin that the user has.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use commsee_runtime::guard;

use super::abi::{Descriptor, Init4, Init5, Interface, Version};
use super::lifecycle::{self, Told};
use super::{events, users};

unsafe extern "C" fn init4(
    context: *mut *mut c_void,
    mask: *mut c_int,
    name: *const c_char,
    identity: u64,
    _nodes: c_int,
    ranks: c_int,
    rank: c_int,
    _log: *const c_void,
) -> c_int {
    // SAFETY: as NCCL calls it.
    unsafe { lifecycle::init(Version::V4, context, mask, &Told { identity, name, ranks, rank }) }
}

/// How `init` and `startEvent` of a version since v5 are called.
macro_rules! since_v5 {
    ($init:ident, $start:ident, $version:expr) => {
        unsafe extern "C" fn $init(
            context: *mut *mut c_void,
            identity: u64,
            mask: *mut c_int,
            name: *const c_char,
            _nodes: c_int,
            ranks: c_int,
            rank: c_int,
            _log: *const c_void,
        ) -> c_int {
            // SAFETY: as NCCL calls it.
            unsafe { lifecycle::init($version, context, mask, &Told { identity, name, ranks, rank }) }
        }

        unsafe extern "C" fn $start(
            context: *mut c_void,
            handle: *mut *mut c_void,
            descriptor: *const Descriptor,
        ) -> c_int {
            // SAFETY: as NCCL calls it.
            unsafe { events::start($version, context, handle, descriptor) }
        }
    };
}

since_v5!(init5, start5, Version::V5);
since_v5!(init6, start6, Version::V6);

unsafe extern "C" fn start4(context: *mut c_void, handle: *mut *mut c_void, descriptor: *const Descriptor) -> c_int {
    // SAFETY: as NCCL calls it.
    unsafe { events::start(Version::V4, context, handle, descriptor) }
}

macro_rules! interface {
    ($name:ident, $type:ty, $init:ident, $start:ident) => {
        static $name: Interface<$type> = Interface {
            name: c"commsee".as_ptr(),
            init: $init,
            start: $start,
            stop: events::stop,
            record: events::record,
            finalize: lifecycle::finalize,
        };
    };
}

interface!(V4, Init4, init4, start4);
interface!(V5, Init5, init5, start5);
interface!(V6, Init5, init6, start6);

/// A symbol, and what answers for it. Of versions without one of ours only the user's is given.
macro_rules! exported {
    ($($symbol:ident $version:literal $own:expr;)*) => {$(
        #[expect(non_snake_case, reason = "NCCL's name")]
        mod $symbol {
            use super::*;

            #[unsafe(no_mangle)]
            extern "C" fn $symbol() -> *const c_void {
                guard::guarded(|| users::answer($version, $own)).unwrap_or(ptr::null())
            }

            std::arch::global_asm!(concat!(".type ", stringify!($symbol), ", @gnu_indirect_function"));
        }
    )*};
}

exported! {
    ncclProfiler_v1 1 ptr::null();
    ncclProfiler_v2 2 ptr::null();
    ncclProfiler_v3 3 ptr::null();
    ncclProfiler_v4 4 (&raw const V4).cast();
    ncclProfiler_v5 5 (&raw const V5).cast();
    ncclProfiler_v6 6 (&raw const V6).cast();
    ncclProfiler_v7 7 ptr::null();
    ncclProfiler_v8 8 ptr::null();
    ncclProfiler_v9 9 ptr::null();
}
