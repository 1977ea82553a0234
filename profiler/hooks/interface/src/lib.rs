//! `commsee_hook.h` for Rust: the types, and the functions as they are found in a process that libcommsee.so is loaded into.
//! docs/reference/hooks.md explains them.

use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute;

/// Raised when something of the interface changes its meaning.
pub const VERSION: u32 = 1;
/// How many modules a process may have.
pub const MODULES: usize = 8;

/// Why [`Core::open`] gives no module.
pub const OTHER_VERSION: i32 = -1;
pub const NOT_WANTED: i32 = -2;
pub const NO_ROOM: i32 = -3;

/// [`Call::operation`] outside of MPI.
pub const NO_OPERATION: u16 = u16::MAX;
/// A bit of [`Call::flags`]: events are wanted, too.
pub const TRACED: u8 = 1;
/// A bit of [`Way::flags`]: data that came from the peer.
pub const ARRIVES: u32 = 1;
/// Ticks of an operation that was done when its call returned.
pub const AT_ONCE: u64 = u64::MAX;

/// The MPI call that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Call {
    /// This process's number of the communicator; 0 is none.
    pub comm: u32,
    /// Number of the operation, or [`NO_OPERATION`].
    pub operation: u16,
    pub flags: u8,
    pub reserved: u8,
    /// Ascends in each thread.
    pub sequence: u64,
    pub thread: u32,
    pub reserved_too: u32,
}

impl Call {
    /// No call.
    pub const NONE: Call =
        Call { comm: 0, operation: NO_OPERATION, flags: 0, reserved: 0, sequence: 0, thread: 0, reserved_too: 0 };

    pub fn is_traced(&self) -> bool {
        self.flags & TRACED != 0
    }
}

/// How a layer moved data, as `commsee_hook_way`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Way {
    pub layer: *const c_char,
    pub function: *const c_char,
    pub protocol: *const c_char,
    pub transport: *const c_char,
    pub device: *const c_char,
    pub kind: *const c_char,
    pub scope: *const c_char,
    pub flags: u32,
}

impl Way {
    pub const NONE: Way = {
        let none = c"".as_ptr();
        Way {
            layer: none,
            function: none,
            protocol: none,
            transport: none,
            device: none,
            kind: none,
            scope: none,
            flags: 0,
        }
    };
}

/// The functions of the core. Each is described in `commsee_hook.h`.
#[derive(Clone, Copy)]
pub struct Core {
    pub open: Open,
    pub word: Word,
    pub here: Here,
    pub way_number: WayNumber,
    pub own_identity: OwnIdentity,
    pub peer: Peer,
    pub count: Count,
    pub ticks: Ticks,
    pub event: Event,
    pub note: Note,
}

type Open = unsafe extern "C" fn(version: u32, module: *const c_char) -> i32;
type Word = unsafe extern "C" fn(module: i32) -> *mut u64;
type Here = unsafe extern "C" fn(call: *mut Call) -> i32;
type WayNumber = unsafe extern "C" fn(module: i32, way: *const Way) -> u32;
type OwnIdentity = unsafe extern "C" fn(module: i32, identity: u64);
type Peer = unsafe extern "C" fn(module: i32, identity: u64) -> u32;
type Count = unsafe extern "C" fn(call: *const Call, way: u32, peer: u32, size_bytes: u64, bytes: u64, ticks: u64);
type Ticks = unsafe extern "C" fn() -> u64;
type Event = unsafe extern "C" fn(call: *const Call, way: u32, peer: u32, bytes: u64, begin_ticks: u64, end_ticks: u64);
type Note = unsafe extern "C" fn(module: i32, text: *const c_char);

impl Core {
    /// The functions of the libcommsee.so in this process, if there is one.
    pub fn find() -> Option<Core> {
        // SAFETY: the types are those of the header.
        unsafe {
            Some(Core {
                open: transmute::<Address, Open>(symbol(c"commsee_hook_open")?),
                word: transmute::<Address, Word>(symbol(c"commsee_hook_word")?),
                here: transmute::<Address, Here>(symbol(c"commsee_hook_here")?),
                way_number: transmute::<Address, WayNumber>(symbol(c"commsee_hook_way_number")?),
                own_identity: transmute::<Address, OwnIdentity>(symbol(c"commsee_hook_self")?),
                peer: transmute::<Address, Peer>(symbol(c"commsee_hook_peer")?),
                count: transmute::<Address, Count>(symbol(c"commsee_hook_count")?),
                ticks: transmute::<Address, Ticks>(symbol(c"commsee_hook_ticks")?),
                event: transmute::<Address, Event>(symbol(c"commsee_hook_event")?),
                note: transmute::<Address, Note>(symbol(c"commsee_hook_note")?),
            })
        }
    }
}

type Address = *mut c_void;

fn symbol(name: &CStr) -> Option<Address> {
    // SAFETY: looks a name up.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}
