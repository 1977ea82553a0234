//! Open MPI's Fortran in its usual forms, for which there is a short path of their own.

use crate::guest::set_once::SetOnce;
use crate::guest::short_path::{Family, Path};

static ARE_SIMPLE: SetOnce<bool> = SetOnce::new();

/// SAFETY: recording is off.
pub unsafe fn set(are_simple: bool) {
    // SAFETY: the caller sees to it.
    unsafe { ARE_SIMPLE.set(are_simple) };
}

/// Whether functions may take a path as [`is_simple`] has it, if their arguments are so, too. Asked once recording has started.
pub fn are_simple() -> bool {
    // SAFETY: `set` has run.
    unsafe { *ARE_SIMPLE.get() }
}

/// Whether the path is one for functions of libraries that have C handles which are addresses, translate all but those of requests, and call no C
/// function by its `MPI_` name; with counts that are INTEGERs, buffers that are no descriptors, and a place for the error code.
#[inline(always)]
pub const fn is_simple<P: Path>() -> bool {
    matches!(P::FAMILY, Family::OpenMpi)
}
