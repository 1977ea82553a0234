//! A request may go by one name in C and by another one in Fortran: it is known by that of the language that has started it, and who completes it in the
//! other one finds it by this.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::guest::set_once::SetOnce;
use crate::mpi::abi::Word;

/// Tells the other name of a request.
static OTHER_NAME: SetOnce<Option<OtherName>> = SetOnce::new();
pub type OtherName = fn(Word) -> Option<Word>;
/// The program has called a Fortran function of MPI. As long as it has not, no request has two names.
static HAS_FORTRAN: AtomicBool = AtomicBool::new(false);

/// SAFETY: recording is off.
pub unsafe fn prepare(other_name: Option<OtherName>) {
    // SAFETY: the caller sees to it.
    unsafe { OTHER_NAME.set(other_name) };
}

/// Before the first such call is looked at.
pub fn come_from_fortran() {
    HAS_FORTRAN.store(true, Ordering::Relaxed);
}

/// The other name of a request, if it has one.
#[cold]
pub(super) fn other(handle: Word) -> Option<Word> {
    if !HAS_FORTRAN.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: set before recording started.
    unsafe { OTHER_NAME.get() }.and_then(|tell| tell(handle))
}
