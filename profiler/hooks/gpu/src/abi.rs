//! What of CUPTI's headers is used here (`cupti_callbacks.h`, `cupti_activity.h`). Records grew at their ends from version to version: the members that
//! are read lie where they lay in CUDA 11.0. The offsets are what gcc says of CUDA 13.0's headers.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

/// `CUptiResult`.
pub type Code = c_int;
pub const SUCCESS: Code = 0;
/// What a call says where there is no CUPTI.
pub const NOT_INITIALIZED: Code = 15;
/// There is a subscriber already, or no further record.
pub const LIMIT_REACHED: Code = 12;
/// There is a subscriber already, since CUDA 11.
pub const NOT_SEVERAL_SUBSCRIBERS: Code = 39;

/// `CUpti_CallbackDomain`.
pub const DRIVER: c_int = 1;
pub const RUNTIME: c_int = 2;

/// `CUpti_ApiCallbackSite`.
pub const ENTER: c_int = 0;

/// Kinds of activities.
pub const MEMCPY: c_int = 1;
/// Between two GPUs.
pub const MEMCPY_PEER: c_int = 22;
/// Pages of managed memory that move, and faults.
pub const UNIFIED_MEMORY: c_int = 25;

/// What is flushed: buffers of what has ended, or all (`CUPTI_ACTIVITY_FLAG_FLUSH_FORCED`).
pub const ENDED: u32 = 0;
pub const FORCED: u32 = 1;

/// `CUpti_CallbackData`.
#[repr(C)]
pub struct CallbackData {
    pub site: c_int,
    pub function: *const c_char,
    pub parameters: *const c_void,
    /// Of the driver or the run-time: zero is success in both.
    pub result: *const c_int,
    pub symbol: *const c_char,
    pub context: *mut c_void,
    pub context_number: u32,
    pub data: *mut u64,
    /// Ascends in a process; records of what the call does have it, too.
    pub correlation: u32,
}

/// What all records begin with.
#[repr(C)]
pub struct Record {
    pub kind: c_int,
}

/// `CUpti_ActivityMemcpy`, and `CUpti_ActivityMemcpyPtoP` as far as both are the same.
#[repr(C)]
pub struct Copy {
    pub kind: c_int,
    pub direction: u8,
    pub source: u8,
    pub destination: u8,
    pub flags: u8,
    pub bytes: u64,
    /// CUPTI's clock; zero where it is not known.
    pub begin_ns: u64,
    pub end_ns: u64,
    pub device: u32,
    pub context: u32,
    pub stream: u32,
    /// Of a copy within one GPU, or between it and the host.
    pub correlation: u32,
}

/// `CUpti_ActivityMemcpyPtoP`.
#[repr(C)]
pub struct PeerCopy {
    /// But for its correlation, which lies behind.
    pub copy: Copy,
    pub source_context: u32,
    pub destination_device: u32,
    pub destination_context: u32,
    pub correlation: u32,
}

impl PeerCopy {
    pub fn source_device(&self) -> u32 {
        self.copy.correlation
    }
}

/// `CUpti_ActivityUnifiedMemoryCounter2`, which CUDA 13 calls without the 2.
#[repr(C)]
pub struct Counter {
    pub kind: c_int,
    /// What is counted: an index of [`UNIFIED`].
    pub counted: c_int,
    /// Of what moves, bytes.
    pub value: u64,
    pub begin_ns: u64,
    pub end_ns: u64,
    /// Of the first page.
    pub address: u64,
    /// Of devices.
    pub source: u32,
    pub destination: u32,
}

/// `CUpti_ActivityUnifiedMemoryCounterConfig`.
#[repr(C)]
pub struct Configuration {
    /// Not regarded since CUDA 7, as the device.
    pub scope: c_int,
    pub counted: c_int,
    pub device: u32,
    pub is_enabled: u32,
}

/// `CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE`.
pub const ONE_DEVICE: c_int = 1;

/// What functions end with that move pages.
pub const MIGRATION: &str = " migration";

/// What is counted of managed memory, by its number.
pub const UNIFIED: [(c_int, &str); 5] =
    [(1, "HtoD migration"), (2, "DtoH migration"), (3, "CPU page fault"), (4, "GPU page fault"), (8, "DtoD migration")];

const _: () = {
    assert!(
        offset_of!(Counter, value) == 8 && offset_of!(Counter, address) == 32 && offset_of!(Counter, destination) == 44
    );
    assert!(size_of::<Configuration>() == 16);
    assert!(offset_of!(CallbackData, function) == 8 && offset_of!(CallbackData, result) == 24);
    assert!(offset_of!(CallbackData, data) == 56 && offset_of!(CallbackData, correlation) == 64);
    assert!(offset_of!(Copy, direction) == 4 && offset_of!(Copy, bytes) == 8 && offset_of!(Copy, begin_ns) == 16);
    assert!(offset_of!(Copy, device) == 32 && offset_of!(Copy, correlation) == 44);
    assert!(offset_of!(PeerCopy, destination_device) == 52 && offset_of!(PeerCopy, correlation) == 60);
};

/// How a copy goes, in CUDA's words; empty for what newer versions may add.
pub fn direction(number: u8) -> &'static str {
    const NAMES: [&str; 11] = ["", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"];
    NAMES.get(usize::from(number)).copied().unwrap_or("")
}

/// A kind of memory.
pub fn memory(number: u8) -> &'static str {
    const NAMES: [&str; 8] = ["", "pageable", "pinned", "device", "array", "managed", "static", "managed static"];
    NAMES.get(usize::from(number)).copied().unwrap_or("")
}

pub type Subscriber = *mut c_void;
pub type Callback = unsafe extern "C" fn(*mut c_void, c_int, u32, *const c_void);
pub type Request = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
pub type Complete = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
