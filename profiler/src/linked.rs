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

/// Whether there is one. Asked by [`crate::presence`], too: all addresses are relative.
pub fn is_static() -> bool {
    address(EVERYWHERE) != 0
}

/// A function or an object of it.
pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    if !is_static() {
        return None;
    }
    let at = NAMES.binary_search(&name).ok()?;
    Some(address(at) as *mut c_void).filter(|address| !address.is_null())
}
