//! Finds the library's function behind a Fortran symbol.

use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use super::{integer, sentinels};
use crate::guest::say::warn_once;
use crate::mpi::abi::Word;
use crate::mpi::real;
use crate::objects::requests;

/// One exported symbol.
pub struct Entry {
    name: &'static CStr,
    /// Counts are 8 bytes wide.
    pub large: bool,
    /// Buffers come as descriptors (TS 29113), not as addresses.
    pub descriptors: bool,
    /// Of the module `mpi_f08`.
    f08: bool,
    real: AtomicPtr<c_void>,
    /// It is another library's function that happens to have this name.
    foreign: AtomicBool,
}

impl Entry {
    pub const fn new(name: &'static CStr, f08: bool, large: bool, descriptors: bool) -> Entry {
        let (real, foreign) = (AtomicPtr::new(ptr::null_mut()), AtomicBool::new(false));
        Entry { name, large, descriptors, f08, real, foreign }
    }

    #[inline(always)]
    pub fn is_f08(&self) -> bool {
        self.f08
    }

    #[inline(always)]
    pub fn real(&self) -> *mut c_void {
        let known = self.real.load(Ordering::Acquire);
        if known.is_null() { self.find() } else { known }
    }

    #[cold]
    #[inline(never)]
    fn find(&self) -> *mut c_void {
        let name = self.name.to_str().unwrap_or_default();
        let profiling = match self.is_f08() {
            true => vec![format!("p{name}")],
            // A library may have been built for a compiler that writes names in another way than the program's.
            false => {
                let bare = name.trim_end_matches('_').to_lowercase();
                vec![format!("p{bare}_"), format!("p{bare}"), format!("p{bare}__"), format!("P{}", bare.to_uppercase())]
            }
        };
        let find = |name: &String| {
            let found = real::symbol_anywhere(&CString::new(name.as_str()).unwrap_or_default());
            (!found.is_null()).then_some(found)
        };
        // Profiling names lead past a library that translates wide INTEGERs.
        let translating = if !self.is_f08() && integer::find_out() { find(&name.to_owned()) } else { None };
        let own = translating.or_else(|| profiling.iter().find_map(find));
        let found = own.map(|own| self.tools(own).unwrap_or(own)).or_else(|| {
            // MPICH has no profiling names for `mpi_f08`. Any other function of this very name is none of MPI's: a program
            // may have an `mpi_get` of its own.
            self.foreign.store(!self.is_f08(), Ordering::Relaxed);
            find(&name.to_owned())
        });
        let found = found.unwrap_or(missing as *mut c_void);
        if self.is_mpi() {
            sentinels::prepare();
            requests::come_from_fortran();
        }
        self.real.store(found, Ordering::Release);
        found
    }

    /// That of a tool behind commsee. A library that merely has a function of this name has no `MPI_Finalize`.
    fn tools(&self, own: *mut c_void) -> Option<*mut c_void> {
        let profiling = CString::new(format!("p{}", self.name.to_str().unwrap_or_default())).ok()?;
        let next = real::tools(self.name, &profiling, own)?;
        let finalize = real::tools(c"MPI_Finalize", c"PMPI_Finalize", real::symbol(c"PMPI_Finalize"))?;
        (real::object_of(finalize) == real::object_of(next)).then_some(next)
    }

    /// Whether calls may be recorded. To be asked after `real`.
    #[inline(always)]
    pub fn is_mpi(&self) -> bool {
        !self.foreign.load(Ordering::Relaxed)
    }
}

/// Stands in for what no loaded library has. The place of the error code is not known here.
unsafe extern "C-unwind" fn missing() -> Word {
    warn_once!("the program called a Fortran function of MPI that no loaded library has");
    0
}
