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
/// A bit of [`Route::flags`]: data that came from the peer.
pub const ARRIVES: u32 = 1;
/// The duration of an operation that was done when its call returned.
pub const AT_ONCE: u64 = u64::MAX;
/// Durations below this may be added to a [`Counter`] by the module itself.
pub const EXACT_NS: u64 = 1 << 27;
/// [`Communicator::root`] where it is not known.
pub const UNKNOWN: u32 = u32::MAX;

/// The call that a thread is in: what is needed to count for it. [`LayeredCall`] tells more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Call {
    /// Of the structure that this is, or begins.
    pub size: u32,
    /// This process's number of the MPI communicator; 0 is none.
    pub comm: u32,
    /// Number of the MPI operation, or [`NO_OPERATION`].
    pub operation: u16,
    pub flags: u8,
    pub reserved: u8,
    pub thread: u32,
    /// Ascends in each thread.
    pub sequence: u64,
    /// The layer communicator and the layer call that counts are stored with.
    pub context: u32,
    pub reserved_too: u32,
}

impl Call {
    /// No call.
    pub const NONE: Call = Call {
        size: size_of::<Call>() as u32,
        comm: 0,
        operation: NO_OPERATION,
        flags: 0,
        reserved: 0,
        thread: 0,
        sequence: 0,
        context: 0,
        reserved_too: 0,
    };

    pub fn is_traced(&self) -> bool {
        self.flags & TRACED != 0
    }
}

/// The same with the innermost call of a layer, as `commsee_hook_call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LayeredCall {
    pub size: u32,
    pub comm: u32,
    pub operation: u16,
    pub flags: u8,
    pub reserved: u8,
    pub thread: u32,
    pub sequence: u64,
    pub context: u32,
    /// What was given to [`Core::enter`]; zeros without such a call.
    pub layer_route: u32,
    pub layer_communicator: u32,
    pub layer_module: u32,
    pub layer_sequence: u64,
}

/// The bytes of a call that a module must have room for.
pub const LEAST_CALL_BYTES: u32 = size_of::<Call>() as u32;

impl LayeredCall {
    pub const NONE: LayeredCall = LayeredCall {
        size: size_of::<LayeredCall>() as u32,
        comm: 0,
        operation: NO_OPERATION,
        flags: 0,
        reserved: 0,
        thread: 0,
        sequence: 0,
        context: 0,
        layer_route: 0,
        layer_communicator: 0,
        layer_module: 0,
        layer_sequence: 0,
    };
}

/// What moves along a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Role {
    #[default]
    None = 0,
    /// What the layer was asked to move.
    Message = 1,
    /// What it moved for that.
    Wire = 2,
    /// What a device did by itself.
    Device = 3,
}

/// How a layer moves data, as `commsee_hook_route`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Route {
    pub size: u32,
    pub flags: u32,
    pub layer: *const c_char,
    pub function: *const c_char,
    pub protocol: *const c_char,
    pub transport: *const c_char,
    pub device: *const c_char,
    pub kind: *const c_char,
    pub scope: *const c_char,
    /// A [`Role`].
    pub role: u32,
    pub reserved: u32,
    pub memory: *const c_char,
}

impl Route {
    pub const NONE: Route = {
        let none = c"".as_ptr();
        Route {
            size: size_of::<Route>() as u32,
            flags: 0,
            layer: none,
            function: none,
            protocol: none,
            transport: none,
            device: none,
            kind: none,
            scope: none,
            role: Role::None as u32,
            reserved: 0,
            memory: none,
        }
    };
}

/// A communicator of a layer, as `commsee_hook_communicator`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Communicator {
    pub size: u32,
    /// 0: not known; then the processes that tell it are its ranks, in their order.
    pub ranks: u32,
    pub identity: [u64; 2],
    pub label: *const c_char,
    pub rank: u32,
    /// World rank of its rank 0, or [`UNKNOWN`].
    pub root: u32,
    pub parent: u32,
    pub parent_comm: u32,
    pub letter: c_char,
    pub reserved: [c_char; 7],
    /// Whose it is; null is the module's own name.
    pub layer: *const c_char,
}

impl Communicator {
    pub const NONE: Communicator = Communicator {
        size: size_of::<Communicator>() as u32,
        ranks: 0,
        identity: [0; 2],
        label: c"".as_ptr(),
        rank: 0,
        root: UNKNOWN,
        parent: 0,
        parent_comm: 0,
        letter: b'i' as c_char,
        reserved: [0; 7],
        layer: std::ptr::null(),
    };
}

/// A counter of one thread, as `commsee_hook_counter`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Counter {
    pub size: u32,
    /// Not 0: durations may be added where they lie, as the header says.
    pub timed: u32,
    pub size_low: u64,
    pub size_high: u64,
    pub counted: *mut u64,
}

impl Counter {
    pub const NONE: Counter = Counter {
        size: size_of::<Counter>() as u32,
        timed: 0,
        size_low: 0,
        size_high: 0,
        counted: std::ptr::null_mut(),
    };
}

/// A call of a thread as it is noted, as `commsee_hook_in_flight`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct InFlight {
    pub operation: u64,
    pub comm: u64,
    pub begin: u64,
    pub end: u64,
    pub reserved: [u64; 4],
}

/// [`InFlight::operation`] has the operation from this bit on.
pub const OPERATION_SHIFT: u32 = 16;

/// Where a thread reads what [`Core::here`] answers from, as `commsee_hook_thread`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ThreadState {
    pub size: u32,
    pub reserved: u32,
    pub owner: *const u64,
    pub outside: *const u64,
    pub state: *const u8,
    pub epoch: *const u32,
    pub call: *const InFlight,
    pub tick_factor: *const u64,
}

/// Values of [`ThreadState::state`].
pub const OFF: u8 = 0;
pub const COUNTING: u8 = 2;

impl ThreadState {
    pub const NONE: ThreadState = ThreadState {
        size: size_of::<ThreadState>() as u32,
        reserved: 0,
        owner: std::ptr::null(),
        outside: std::ptr::null(),
        state: std::ptr::null(),
        epoch: std::ptr::null(),
        call: std::ptr::null(),
        tick_factor: std::ptr::null(),
    };
}

/// A function that counts what is complete by now.
pub type Drain = unsafe extern "C-unwind" fn(argument: *mut c_void);

macro_rules! functions {
    ($($(#[$doc:meta])* $field:ident $symbol:literal ($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of the core. Each is described in `commsee_hook.h`.
        #[derive(Clone, Copy)]
        pub struct Core {
            $($(#[$doc])* pub $field: unsafe extern "C" fn($($argument: $type),*) $(-> $result)?,)*
        }

        impl Core {
            /// The functions of the libcommsee.so in this process, if there is one.
            pub fn find() -> Option<Core> {
                // SAFETY: the types are those of the header.
                unsafe {
                    Some(Core {
                        $($field: transmute::<Address, unsafe extern "C" fn($($argument: $type),*) $(-> $result)?>(
                            symbol($symbol)?,
                        ),)*
                    })
                }
            }

            /// Whether there is one that may speak another version.
            pub fn is_there() -> bool {
                symbol(c"commsee_hook_open").is_some()
            }
        }
    };
}

functions! {
    open c"commsee_hook_open" (version: u32, module: *const c_char) -> i32;
    begin c"commsee_hook_begin" (module: i32) -> i32;
    word c"commsee_hook_word" (module: i32) -> *mut u64;
    /// Fills in as much as the call says by its size that it has room for.
    here c"commsee_hook_here" (call: *mut Call) -> i32;
    route_number c"commsee_hook_route_number" (module: i32, route: *const Route) -> u32;
    own_identity c"commsee_hook_self" (module: i32, identity: u64);
    peer c"commsee_hook_peer" (module: i32, identity: u64) -> u32;
    communicator_number c"commsee_hook_communicator_number" (module: i32, communicator: *const Communicator) -> u32;
    communicator_freed c"commsee_hook_communicator_freed" (module: i32, communicator: u32);
    enter c"commsee_hook_enter" (module: i32, route: u32, communicator: u32, sequence: u64) -> u32;
    leave c"commsee_hook_leave" (entered: u32);
    on c"commsee_hook_on" (call: *mut Call, communicator: u32);
    allocated c"commsee_hook_allocated" (module: i32, call: *const Call, address: u64, bytes: u64);
    freed c"commsee_hook_freed" (address: u64);
    moves c"commsee_hook_moves" (call: *mut Call, source: u64, target: u64);
    count c"commsee_hook_count" (call: *const Call, route: u32, peer: u32, size_bytes: u64, bytes: u64, duration_ns: u64);
    counter_of c"commsee_hook_counter_of" (call: *const Call, route: u32, peer: u32, size_bytes: u64, counter: *mut Counter) -> i32;
    add c"commsee_hook_add" (counted: *mut u64, bytes: u64, duration_ns: u64);
    thread_of c"commsee_hook_thread_of" (thread: *mut ThreadState) -> i32;
    renew c"commsee_hook_renew" ();
    now_ns c"commsee_hook_now_ns" () -> u64;
    event c"commsee_hook_event" (call: *const Call, route: u32, peer: u32, bytes: u64, begin_ns: u64, end_ns: u64);
    drain c"commsee_hook_drain" (module: i32, drain: Option<Drain>, argument: *mut c_void);
    note c"commsee_hook_note" (module: i32, text: *const c_char);
}

type Address = *mut c_void;

fn symbol(name: &CStr) -> Option<Address> {
    // SAFETY: looks a name up.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}
