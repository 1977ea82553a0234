//! What NCCL and a profiler plugin hand each other, as in NCCL's `src/include/plugin/profiler/profiler_v4.h` (2.27.3), `profiler_v5.h`
//! (2.28.3) and `profiler_v6.h` (2.29.2). Only members that are read here are named. The offsets are what gcc says of those headers.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

pub const SUCCESS: c_int = 0;

/// Types of events, which are bits of the mask, too.
pub mod event {
    pub const COLL: u64 = 1 << 1;
    pub const P2P: u64 = 1 << 2;
    pub const PROXY_OP: u64 = 1 << 3;
    pub const PROXY_STEP: u64 = 1 << 4;
    pub const KERNEL_CHANNEL: u64 = 1 << 6;
    /// Since v5.
    pub const COLL_API: u64 = 1 << 9;
    pub const P2P_API: u64 = 1 << 10;
}

/// States that an event is told of.
pub mod state {
    use std::ffi::c_int;

    /// The network has taken a transfer.
    pub const SEND_WAIT: c_int = 9;
    pub const KERNEL_CHANNEL_STOP: c_int = 22;
}

/// The versions of the interface that there is one of ours for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    V4 = 4,
    V5 = 5,
    V6 = 6,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Coll {
    pub sequence: u64,
    pub function: *const c_char,
    pub send_buffer: *const c_void,
    pub receive_buffer: *const c_void,
    pub count: usize,
    pub root: c_int,
    pub datatype: *const c_char,
    pub channels: u8,
    pub warps: u8,
    pub algorithm: *const c_char,
    pub protocol: *const c_char,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct P2p {
    pub function: *const c_char,
    pub buffer: *const c_void,
    pub datatype: *const c_char,
    pub count: usize,
    pub peer: c_int,
    /// Not in v4: what newer libraries hand it there was never set.
    pub channels: u8,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct CollApi {
    pub function: *const c_char,
    pub count: usize,
    pub datatype: *const c_char,
    pub root: c_int,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct P2pApi {
    pub function: *const c_char,
    pub count: usize,
    pub datatype: *const c_char,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct ProxyOp {
    /// Of the process whose operation it is: another one where NCCL sends through the GPU of a neighbor (PXN).
    pub pid: libc::pid_t,
    pub channel: u8,
    pub peer: c_int,
    pub steps: c_int,
    pub chunk_bytes: c_int,
    pub is_send: c_int,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct KernelChannel {
    pub channel: u8,
    /// The GPU's `globaltimer`, in nanoseconds.
    pub begin_ns: u64,
}

/// Which of them it is the type of the event says.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Members {
    pub coll: Coll,
    pub p2p: P2p,
    pub coll_api: CollApi,
    pub p2p_api: P2pApi,
    pub proxy_op: ProxyOp,
    pub kernel_channel: KernelChannel,
}

/// One byte in v4, with anything behind it; eight since v5.
#[derive(Clone, Copy)]
#[repr(C)]
union Type {
    short: u8,
    long: u64,
}

/// An event that begins.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Descriptor {
    kind: Type,
    pub parent: *mut c_void,
    pub rank: c_int,
    pub members: Members,
}

impl Descriptor {
    /// # Safety
    /// It is of this version.
    pub unsafe fn kind(&self, version: Version) -> u64 {
        // SAFETY: as demanded.
        unsafe {
            match version {
                Version::V4 => u64::from(self.kind.short),
                Version::V5 | Version::V6 => self.kind.long,
            }
        }
    }
}

/// With a state; which member it is the state says. Null with some.
#[derive(Clone, Copy)]
#[repr(C)]
pub union StateArguments {
    pub sent_bytes: usize,
    pub kernel_end_ns: u64,
}

pub type Init4 =
    unsafe extern "C" fn(*mut *mut c_void, *mut c_int, *const c_char, u64, c_int, c_int, c_int, *const c_void) -> c_int;
pub type Init5 =
    unsafe extern "C" fn(*mut *mut c_void, u64, *mut c_int, *const c_char, c_int, c_int, c_int, *const c_void) -> c_int;

/// A plugin, as NCCL reads it; versions differ in how `init` is called.
#[repr(C)]
pub struct Interface<Init> {
    pub name: *const c_char,
    pub init: Init,
    pub start: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *const Descriptor) -> c_int,
    pub stop: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub record: unsafe extern "C" fn(*mut c_void, c_int, *const StateArguments) -> c_int,
    pub finalize: unsafe extern "C" fn(*mut c_void) -> c_int,
}

// SAFETY: nobody writes to it.
unsafe impl<Init> Sync for Interface<Init> {}

/// Where a field of a member lies in the descriptor.
macro_rules! lies {
    ($($member:ident: $type:ident { $($field:ident $offset:literal),* };)*) => {
        const _: () = {
            $($(assert!(offset_of!(Descriptor, members) + offset_of!($type, $field) == $offset);)*)*
        };
    };
}

lies! {
    coll: Coll {
        sequence 24, function 32, send_buffer 40, receive_buffer 48, count 56, root 64, datatype 72, channels 80, warps 81,
        algorithm 88, protocol 96
    };
    p2p: P2p { function 24, buffer 32, datatype 40, count 48, peer 56, channels 60 };
    coll_api: CollApi { function 24, count 32, datatype 40, root 48 };
    p2p_api: P2pApi { function 24, count 32, datatype 40 };
    proxy_op: ProxyOp { pid 24, channel 28, peer 32, steps 36, chunk_bytes 40, is_send 44 };
    kernel_channel: KernelChannel { channel 24, begin_ns 32 };
}

const _: () = {
    assert!(offset_of!(Descriptor, kind) == 0);
    assert!(offset_of!(Descriptor, parent) == 8);
    assert!(offset_of!(Descriptor, rank) == 16);
    // That of v4; later ones end with members that are not read here.
    assert!(size_of::<Descriptor>() == 104);
    assert!(size_of::<Interface<Init4>>() == 48 && size_of::<Interface<Init5>>() == 48);
    assert!(offset_of!(Interface<Init4>, record) == 32);
};
