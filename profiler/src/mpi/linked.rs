//! An MPI library that is part of the program itself: linked statically, with `libcommsee.a`.

use std::ffi::{CStr, c_void};

include!(concat!(env!("OUT_DIR"), "/linked.rs"));

unsafe extern "C" {
    /// The addresses of [`NAMES`], in their order; zeros where no library is linked.
    #[link_name = "commsee_linked"]
    static ADDRESSES: [usize; NAMES.len()];
}

fn address(at: usize) -> usize {
    // SAFETY: the linker has made the table, the loader moved it.
    unsafe { (&raw const ADDRESSES).cast::<usize>().add(at).read_volatile() }
}

/// Whether there is one, or a shared one that the program was linked with.
pub fn is_linked() -> bool {
    address(EVERYWHERE) != 0
}

/// Whether a library that is linked statically may have a function (`PMPI_NAME`): the linker takes out of an archive only what is
/// referred to, so that a name that is not there may be in a part that was left out. Asked by [`crate::presence`], too: nothing here
/// needs to be relocated.
pub fn may_have(is_it: impl Fn(&CStr) -> bool) -> bool {
    // Nothing refers to this function, so that it is there if all of the library is.
    let is_whole = address(UNUSED) != 0;
    let known = (0..NAMES.len()).find(|at| is_it(NAMES[*at]));
    !is_whole || known.is_some_and(|at| address(at) != 0)
}

/// A function or an object of it.
pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    if !is_linked() {
        return None;
    }
    let at = NAMES.binary_search(&name).ok()?;
    Some(address(at) as *mut c_void).filter(|address| !address.is_null())
}
