//! The libraries that are watched, and what of them differs.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicU8, Ordering};

use commsee_runtime::real::{Library, file_of};

use crate::abi::{Code, Handle};
use crate::module::Module;

pub static NCCL: Library = Library { name: c"libnccl.so.2", stem: b"libnccl" };
/// NCCL for AMD's GPUs, with NCCL's functions under NCCL's names.
pub static RCCL: Library = Library { name: c"librccl.so.1", stem: b"librccl" };
pub static ONECCL: Library = Library { name: c"libccl.so.2", stem: b"libccl" };

/// The real function of that name.
macro_rules! real {
    (Nccl, $name:ident, $type:ty) => {
        if $crate::library::is_rccl() {
            commsee_runtime::real!($crate::library::RCCL, $name, $type)
        } else {
            commsee_runtime::real!($crate::library::NCCL, $name, $type)
        }
    };
    (OneCcl, $name:ident, $type:ty) => {
        commsee_runtime::real!($crate::library::ONECCL, $name, $type)
    };
}
pub(crate) use real;

/// Whether the functions of NCCL are RCCL's here. Both in one process have never been seen.
#[inline(always)]
pub fn is_rccl() -> bool {
    match WHICH.load(Ordering::Relaxed) {
        UNKNOWN => find(),
        which => which == IS_RCCL,
    }
}

static WHICH: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const IS_NCCL: u8 = 1;
const IS_RCCL: u8 = 2;

#[cold]
fn find() -> bool {
    let found = commsee_runtime::real!(NCCL, ncclGetVersion, Version)
        .or_else(|| commsee_runtime::real!(RCCL, ncclGetVersion, Version));
    // Both have all names: which it is only its file says.
    let is_rccl = |function: Version| {
        let file = file_of(function as usize).map_or(&b""[..], CStr::to_bytes);
        file.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name.starts_with(RCCL.stem))
    };
    let which = match found {
        Some(function) if is_rccl(function) => IS_RCCL,
        Some(_) => IS_NCCL,
        None => UNKNOWN,
    };
    WHICH.store(which, Ordering::Relaxed);
    which == IS_RCCL
}

type Version = unsafe extern "C-unwind" fn(*mut c_int) -> Code;
type Ask = unsafe extern "C-unwind" fn(Handle, *mut c_int) -> Code;

/// What differs between libraries of this kind.
pub trait Vendor {
    /// Of the rows, and the prefix of functions.
    const LAYER: &'static str;
    /// Of rows of what arrives.
    const ARRIVALS: &'static str;
    /// The same as a string of C.
    const NAME: &'static CStr;
    /// The result of a nonblocking call that goes on.
    const IN_PROGRESS: Code;
    /// Whether it tells a profiler plugin what it does.
    const HAS_PLUGIN: bool;
    fn version() -> Option<Version>;
    fn ranks() -> Option<Ask>;
    fn rank() -> Option<Ask>;
    fn device() -> Option<Ask>;
    /// Whether a communicator is complete. The other questions are answered with a warning while it is not.
    fn state() -> Option<Ask>;
    /// As a reader would write it.
    fn version_text(code: c_int) -> String;
}

pub struct Nccl;
pub struct OneCcl;

impl Vendor for Nccl {
    const LAYER: &'static str = "nccl";
    const ARRIVALS: &'static str = "nccl-rx";
    const NAME: &'static CStr = c"nccl";
    const IN_PROGRESS: Code = 7;
    const HAS_PLUGIN: bool = true;

    fn version() -> Option<Version> {
        real!(Nccl, ncclGetVersion, Version)
    }

    fn ranks() -> Option<Ask> {
        real!(Nccl, ncclCommCount, Ask)
    }

    fn rank() -> Option<Ask> {
        real!(Nccl, ncclCommUserRank, Ask)
    }

    fn device() -> Option<Ask> {
        real!(Nccl, ncclCommCuDevice, Ask)
    }

    fn state() -> Option<Ask> {
        real!(Nccl, ncclCommGetAsyncError, Ask)
    }

    /// `NCCL_VERSION` of the header: the minor has two digits since 2.9.
    fn version_text(code: c_int) -> String {
        let name = if is_rccl() { "RCCL, as NCCL" } else { "NCCL" };
        let thousand = if code < 10_000 { 1000 } else { 10_000 };
        format!("{name} {}.{}.{}", code / thousand, code % thousand / 100, code % 100)
    }
}

impl Vendor for OneCcl {
    const LAYER: &'static str = "oneccl";
    const ARRIVALS: &'static str = "oneccl-rx";
    const NAME: &'static CStr = c"oneccl";
    const IN_PROGRESS: Code = 6;
    const HAS_PLUGIN: bool = false;

    fn version() -> Option<Version> {
        real!(OneCcl, onecclGetVersion, Version)
    }

    fn ranks() -> Option<Ask> {
        real!(OneCcl, onecclCommCount, Ask)
    }

    fn rank() -> Option<Ask> {
        real!(OneCcl, onecclCommUserRank, Ask)
    }

    /// Its devices are numbers of its own.
    fn device() -> Option<Ask> {
        None
    }

    fn state() -> Option<Ask> {
        None
    }

    fn version_text(code: c_int) -> String {
        format!("oneCCL {}.{}.{}", code / 10_000, code % 10_000 / 100, code % 100)
    }
}

/// The version of the library, for every report. Once.
pub fn note<V: Vendor>(module: &Module) {
    let Some(version) = V::version() else { return };
    let mut code = 0;
    // SAFETY: fills it in.
    if unsafe { version(&raw mut code) } == 0 {
        module.note(&V::version_text(code));
    }
}
