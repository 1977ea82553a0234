//! Finds the functions of the MPI library that the program runs on. commsee links to none.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use commsee_runtime::real::{self, Loaded};
use vocabulary::calls::CALLS;

use crate::guest::say::warn_once;
use crate::guest::{errno, signals};
use crate::mpi::linked;

/// Slots of an operation: the plain function, its large-count form, and that of an extension.
pub const LARGE: usize = CALLS.len();
pub const EXTENSION: usize = 2 * LARGE;

pub static FUNCTIONS: [AtomicPtr<c_void>; 3 * LARGE] = [const { AtomicPtr::new(ptr::null_mut()) }; 3 * LARGE];

/// The real function of a slot. Never null: a function that the library lacks is replaced by one that returns
/// `MPI_ERR_OTHER`, which only a program can meet that calls what its library does not have.
#[inline(always)]
pub fn function(slot: usize) -> *mut c_void {
    known(slot).unwrap_or_else(|| find(slot))
}

/// The same, if somebody has asked for it.
#[inline(always)]
pub fn known(slot: usize) -> Option<*mut c_void> {
    Some(FUNCTIONS[slot].load(Ordering::Relaxed)).filter(|known| !known.is_null())
}

/// Whether the library has the function of a slot.
pub fn exists(slot: u16) -> bool {
    function(slot.into()) != missing as *mut c_void
}

#[cold]
#[inline(never)]
fn find(slot: usize) -> *mut c_void {
    // Looking through libraries opens files, and takes the loader's lock.
    let mut found = errno::kept(|| {
        signals::undisturbed(|| {
            let call = &CALLS[slot % LARGE];
            let name = match slot {
                ..LARGE => format!("P{}", call.name),
                LARGE..EXTENSION => format!("P{}_c", call.name),
                EXTENSION.. => format!("P{}", call.extension().unwrap_or_default()),
            };
            let profiling = CString::new(&*name).unwrap_or_default();
            let own = symbol(&profiling);
            tools(&CString::new(&name[1..]).unwrap_or_default(), &profiling, own).unwrap_or(own)
        })
    });
    if found.is_null() {
        found = missing as *mut c_void;
    }
    FUNCTIONS[slot].store(found, Ordering::Relaxed);
    found
}

/// What the program would call without commsee, where that is not the MPI library's `own`: another tool's, which stands behind commsee.
/// A library of MPI has the profiling name `profiling` beside it.
pub fn tools(name: &CStr, profiling: &CStr, own: *mut c_void) -> Option<*mut c_void> {
    // The program's library is in the program: then nothing stands between them.
    if own.is_null() || linked::symbol(c"PMPI_Init").is_some() {
        return None;
    }
    let next = real::next(name);
    let is_of_mpi = || {
        let beside = Loaded::with(next as usize).map(|library| library.symbol(profiling));
        beside.is_none_or(|beside| object_of(beside) == object_of(next))
    };
    let is_tools = !next.is_null() && object_of(next) != object_of(own) && !is_of_mpi() && !is_commsee(next);
    is_tools.then_some(next)
}

/// A second copy of this library.
fn is_commsee(function: *mut c_void) -> bool {
    Loaded::with(function as usize).is_some_and(|library| !library.symbol(c"commsee_hook_open").is_null())
}

/// Stands in for every function that the library lacks; what the caller passes is not looked at.
unsafe extern "C-unwind" fn missing() -> c_int {
    warn_once!("the program called an MPI function that its MPI library does not have");
    // MPI_ERR_OTHER is 16 in Open MPI and in the standard ABI, 15 in MPICH; 16 is MPI_ERR_INTERN there.
    16
}

/// A function of the MPI library, or null.
pub fn symbol(name: &CStr) -> *mut c_void {
    if let Some(linked) = linked::symbol(name) {
        return linked;
    }
    let next = real::next(name);
    if !next.is_null() {
        return next;
    }
    library().map_or(ptr::null_mut(), |library| library.symbol(name))
}

/// The address of an object that the MPI library exports. The default search order comes first: a program that is no
/// position-independent executable holds its own copy, and passes that one's address.
pub fn data(name: &CStr) -> Option<usize> {
    if let Some(linked) = linked::symbol(name) {
        return Some(linked as usize);
    }
    let mut found = real::default(name);
    if let (true, Some(library)) = (found.is_null(), library()) {
        found = library.symbol(name);
    }
    (!found.is_null()).then_some(found as usize)
}

/// A function of the MPI library's Fortran layer, or null: it lies in a library of its own, which the search order leads to
/// unless what links to it was opened with `RTLD_LOCAL`.
pub fn symbol_anywhere(name: &CStr) -> *mut c_void {
    if let Some(linked) = linked::symbol(name) {
        return linked;
    }
    let next = real::next(name);
    if next.is_null() { in_any_library(name).unwrap_or(ptr::null_mut()) } else { next }
}

/// The address of an object of the Fortran layer.
pub fn data_anywhere(name: &CStr) -> Option<usize> {
    data(name).or_else(|| in_any_library(name).map(|found| found as usize))
}

fn in_any_library(name: &CStr) -> Option<*mut c_void> {
    libraries().iter().find_map(|library| Some(Loaded::find(library)?.symbol(name)).filter(|found| !found.is_null()))
}

/// All loaded libraries whose file name speaks of MPI.
fn libraries() -> Vec<CString> {
    real::libraries(|file| file.windows(3).any(|part| part == b"mpi"))
}

/// The MPI library where the search order does not lead to it: the program opened it, or something that links to it,
/// with `RTLD_LOCAL`, as Python does.
fn library() -> Option<Loaded> {
    static LIBRARY: OnceLock<Loaded> = OnceLock::new();
    if let Some(found) = LIBRARY.get() {
        return Some(*found);
    }
    // While no library is there the search is not settled: it may be opened later.
    let is_it = |library: &Loaded| !library.symbol(c"PMPI_Init").is_null();
    let found = libraries().iter().find_map(|name| Loaded::find(name).filter(is_it))?;
    Some(*LIBRARY.get_or_init(|| found))
}

/// `PMPI_Get_library_version`, which may be called before `MPI_Init`.
pub fn get_library_version(text: &mut [u8], length: &mut c_int) {
    let function = symbol(c"PMPI_Get_library_version");
    if !function.is_null() {
        // SAFETY: this is its type; `text` is longer than any MPI_MAX_LIBRARY_VERSION_STRING.
        unsafe {
            let function: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int = std::mem::transmute(function);
            function(text.as_mut_ptr().cast(), length);
        }
    }
}

/// Whether the library implements the standard ABI of MPI 5.0: `MPI_Abi_get_version` gives a version, not -1.
pub fn standard_abi() -> bool {
    let function = symbol(c"PMPI_Abi_get_version");
    if function.is_null() {
        return false;
    }
    let (mut major, mut minor): (c_int, c_int) = (-1, -1);
    // SAFETY: this is its type.
    unsafe {
        let function: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = std::mem::transmute(function);
        function(&mut major, &mut minor) == 0 && major >= 1
    }
}

/// Whether the library that the program calls has a name, or one that it needs. A library that translates between ABIs has not: it tells the
/// version of a library that it has opened, and has another ABI. One that is part of the program cannot be asked: the linker keeps what is
/// used of it.
pub fn has_library(name: &CStr) -> bool {
    Loaded::with(symbol(c"PMPI_Init") as usize).is_none_or(|library| !library.symbol(name).is_null())
}

/// Where the loaded object begins that has this address; null where none has.
pub fn object_of(address: *const c_void) -> *const c_void {
    // SAFETY: only addresses and null are in it, and it is read where the call has filled it.
    unsafe {
        let mut facts: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &mut facts) == 0 { ptr::null() } else { facts.dli_fbase }
    }
}
