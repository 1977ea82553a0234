//! Communicators come and go.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicU8, Ordering};

use commsee_runtime::guard;

use super::abi::{SUCCESS, Version};
use super::communicators::{Known, known};
use super::wanted::wanted;
use super::{api_calls, operations};
use crate::module::{self, Module};

/// A communicator as `init` is told of it.
pub struct Told {
    pub identity: u64,
    pub name: *const c_char,
    pub ranks: c_int,
    pub rank: c_int,
}

/// # Safety
/// As NCCL calls `init`.
pub unsafe fn init(version: Version, context: *mut *mut c_void, mask: *mut c_int, told: &Told) -> c_int {
    let made = || {
        let module = module::get()?;
        start(module, version);
        let (ranks, rank) = (u32::try_from(told.ranks).ok()?, u32::try_from(told.rank).ok()?);
        let name = match told.name.is_null() {
            true => c"",
            // SAFETY: NCCL's own text.
            false => unsafe { CStr::from_ptr(told.name) },
        };
        let known = Known::new(module, told.identity, name, ranks, rank)?;
        // One mask for all communicators of the process, at first 0. Whoever else has set bits there, as NCCL's RAS subsystem
        // may at any time, wants them; events that are not ours are passed over.
        // SAFETY: NCCL's place, or null.
        if let Some(mask) = unsafe { mask.as_mut() } {
            *mask |= wanted().mask() as c_int;
        }
        Some(known)
    };
    let made = guard::guarded(made).flatten();
    if !context.is_null() {
        // SAFETY: NCCL's place.
        unsafe { *context = made.map_or(std::ptr::null_mut(), |known| std::ptr::from_ref(known).cast_mut().cast()) };
    }
    SUCCESS
}

/// # Safety
/// As NCCL calls it.
pub unsafe extern "C" fn finalize(context: *mut c_void) -> c_int {
    guard::guarded(|| {
        // SAFETY: NCCL gives back what it was given.
        let (Some(module), Some(known)) = (module::get(), unsafe { known(context) }) else { return };
        settle(module, Some(known));
        known.finalized(module);
    });
    SUCCESS
}

fn settle(module: &Module, communicator: Option<&Known>) {
    api_calls::settle(module, communicator);
    operations::settle(module, communicator);
}

/// Before counting ends.
unsafe extern "C-unwind" fn drain(_: *mut c_void) {
    guard::guarded(|| {
        if let Some(module) = module::get() {
            settle(module, None);
        }
    });
}

/// With the first communicator, and for each version that libraries in this process use.
fn start(module: &Module, version: Version) {
    static STARTED: Once = Once::new();
    static NOTED: AtomicU8 = AtomicU8::new(0);
    // SAFETY: this library is never unloaded.
    STARTED.call_once(|| unsafe { module.drain(drain, std::ptr::null_mut()) });
    let bit = 1 << version as u8;
    if NOTED.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
        module.note(&format!(
            "NCCL reports algorithms and protocols through version {} of its profiler interface",
            version as u8
        ));
    }
}
