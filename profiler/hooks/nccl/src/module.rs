//! This module as the core knows it.

use std::sync::atomic::{AtomicU8, Ordering};

use commsee_runtime::guard;

commsee_runtime::module!(c"nccl", "NCCL");

pub use commsee_runtime::module::Module;

/// Whether there may be modules that want to know which call of NCCL a thread is in.
#[inline(always)]
pub fn has_others() -> bool {
    match OTHERS.load(Ordering::Relaxed) {
        UNKNOWN => look_for_others(),
        others => others == SOME,
    }
}

static OTHERS: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const NONE: u8 = 1;
const SOME: u8 = 2;

#[cold]
fn look_for_others() -> bool {
    let is_other = |name: &str| !name.trim().is_empty() && !name.trim().eq_ignore_ascii_case("nccl");
    let hooks = guard::guarded(|| std::env::var("COMMSEE_HOOKS").unwrap_or_default()).unwrap_or_default();
    let has_others = hooks.split(',').any(is_other);
    OTHERS.store(if has_others { SOME } else { NONE }, Ordering::Relaxed);
    has_others
}
