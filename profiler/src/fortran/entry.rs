//! Finds the library's function behind a Fortran symbol.

use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::real;
use crate::say::warn_once;

/// One exported symbol.
pub struct Entry {
    name: &'static CStr,
    /// Counts are 8 bytes wide.
    pub large: bool,
    /// Buffers come as descriptors (TS 29113), not as addresses.
    pub descriptors: bool,
    real: AtomicPtr<c_void>,
}

impl Entry {
    pub const fn new(name: &'static CStr, large: bool, descriptors: bool) -> Entry {
        Entry { name, large, descriptors, real: AtomicPtr::new(ptr::null_mut()) }
    }

    #[inline(always)]
    pub fn real(&self) -> *mut c_void {
        let known = self.real.load(Ordering::Relaxed);
        if known.is_null() { self.find() } else { known }
    }

    #[cold]
    #[inline(never)]
    fn find(&self) -> *mut c_void {
        let name = self.name.to_str().unwrap_or_default();
        let profiling = match name.contains("_f08") {
            true => vec![format!("p{name}")],
            // A library may have been built for a compiler that writes names in another way than the program's.
            false => {
                let bare = name.trim_end_matches('_').to_lowercase();
                vec![format!("p{bare}_"), format!("p{bare}"), format!("p{bare}__"), format!("P{}", bare.to_uppercase())]
            }
        };
        // Last the very name that was called: MPICH has no profiling name for `mpi_f08`; and a program may have a function
        // of its own by this name, which has nothing to do with MPI.
        let names = profiling.iter().map(String::as_str).chain([name]);
        let found = names.filter_map(|name| CString::new(name).ok()).map(|name| real::symbol_anywhere(&name));
        let found = found.into_iter().find(|found| !found.is_null()).unwrap_or(missing as *mut c_void);
        self.real.store(found, Ordering::Relaxed);
        found
    }
}

/// Stands in for what no loaded library has. The place of the error code is not known here.
unsafe extern "C" fn missing() {
    warn_once!("the program called a Fortran function of MPI that no loaded library has");
}
