//! Finds the library's function behind a Fortran symbol.

use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use super::simple::are_simple;
use super::{integer, sentinels};
use crate::guest::say::warn_once;
use crate::guest::short_path::{LINKED_OPEN, Linked};
use crate::mpi::abi::Word;
use crate::mpi::real;
use crate::objects::requests;

/// One exported symbol.
pub struct Entry {
    /// Which way its calls go, if they have a short path.
    way: Linked,
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
    /// From where the library's function calls the C function by its `MPI_` name, as was seen, or 0.
    layer: AtomicU64,
    /// The C function was called from elsewhere, by a tool between this library and commsee, which may do so or not.
    is_apart: AtomicBool,
}

/// The short paths of a function: each takes the arguments, the caller and the entry's address.
pub struct Paths {
    pub short: *const (),
    /// For those that [`are_simple`].
    pub openmpi: *const (),
    pub sited: *const (),
    /// These leave it to the C function to count.
    pub through: *const (),
    pub through_sited: *const (),
}

impl Entry {
    /// `full`: what calls take that have no short path, or may not take it.
    pub const fn new(name: &'static CStr, f08: bool, large: bool, descriptors: bool, full: *const ()) -> Entry {
        let (real, foreign) = (AtomicPtr::new(ptr::null_mut()), AtomicBool::new(false));
        Entry {
            way: Linked::around(full),
            name,
            large,
            descriptors,
            f08,
            real,
            foreign,
            layer: AtomicU64::new(0),
            is_apart: AtomicBool::new(false),
        }
    }

    /// Where the shells look which way calls go.
    pub const WAY: usize = std::mem::offset_of!(Entry, way) + LINKED_OPEN;

    /// The same for shells that are not written in assembly.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn way(&self) -> *mut () {
        self.way.open()
    }

    #[inline(always)]
    pub fn layer(&self) -> u64 {
        self.layer.load(Ordering::Relaxed)
    }

    /// The real function is known, and its arguments can be read: calls may take one of these.
    #[inline(always)]
    pub fn is_ready(&'static self, paths: impl FnOnce() -> Paths) {
        let layer = self.layer();
        self.way.offer(|is_sited| self.choose(paths(), layer, is_sited));
        // Another thread may know more.
        if self.layer() != layer {
            self.way.close();
        }
    }

    fn choose(&self, paths: Paths, layer: u64, is_sited: bool) -> *const () {
        let is_plain = !self.large && !self.descriptors && are_simple();
        match (layer != 0, is_sited) {
            (true, true) => paths.through_sited,
            (true, false) => paths.through,
            (false, true) => paths.sited,
            (false, false) if is_plain => paths.openmpi,
            (false, false) => paths.short,
        }
    }

    /// The C function, which was called from there, may count, if it is the real function's library that calls it.
    #[cold]
    pub fn is_layer_at(&self, address: u64) {
        if self.is_apart.load(Ordering::Relaxed) {
            return;
        }
        match real::object_of(address as *const c_void) == real::object_of(self.known()) {
            true => {
                self.layer.store(address, Ordering::Release);
                self.way.close();
            }
            false => self.is_apart.store(true, Ordering::Relaxed),
        }
    }

    /// The real function, where the short path is taken.
    #[inline(always)]
    pub fn known(&self) -> *mut c_void {
        self.real.load(Ordering::Relaxed)
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
