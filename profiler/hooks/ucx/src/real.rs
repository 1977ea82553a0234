//! The functions that ours stand in front of.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A library of UCX: the name under which the loader knows it, and how its file's name begins where a package renamed it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Library {
    Ucp,
    Uct,
}

impl Library {
    fn name(self) -> &'static CStr {
        match self {
            Library::Ucp => c"libucp.so.0",
            Library::Uct => c"libuct.so.0",
        }
    }

    fn stem(self) -> &'static [u8] {
        match self {
            Library::Ucp => b"libucp",
            Library::Uct => b"libuct",
        }
    }
}

/// A function of UCX, looked up when it is first called.
pub struct Real {
    library: Library,
    name: &'static CStr,
    address: AtomicUsize,
}

impl Real {
    pub const fn new(library: Library, name: &'static CStr) -> Real {
        Real { library, name, address: AtomicUsize::new(0) }
    }

    /// Its address; 0 if there is none.
    #[inline(always)]
    pub fn address(&self) -> usize {
        match self.address.load(Ordering::Relaxed) {
            0 => self.look_up(),
            address => address,
        }
    }

    #[cold]
    fn look_up(&self) -> usize {
        let address = crate::guard::cold(|| find(self.library, self.name)).unwrap_or(0);
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// The real function of that name as a typed pointer, or leaves with what `$missing` gives.
macro_rules! real {
    ($library:ident, $name:ident, $type:ty) => {{
        static REAL: $crate::real::Real = $crate::real::Real::new(
            $crate::real::Library::$library,
            // SAFETY: ends with its only zero.
            unsafe { std::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
        );
        match REAL.address() {
            0 => None,
            // SAFETY: the type is that of the header.
            #[allow(unused_unsafe)]
            address => Some(unsafe { std::mem::transmute::<usize, $type>(address) }),
        }
    }};
}
pub(crate) use real;

fn find(library: Library, name: &CStr) -> usize {
    // SAFETY: looks a name up.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
    if next != 0 {
        return next;
    }
    // MPI libraries open UCX with RTLD_LOCAL. It stays open from here on, since its addresses are kept.
    let mut handle = open(library.name());
    if handle.is_null() {
        handle = renamed(library);
    }
    if handle.is_null() {
        return 0;
    }
    // SAFETY: looks a name up.
    unsafe { libc::dlsym(handle, name.as_ptr()) as usize }
}

fn open(name: &CStr) -> *mut c_void {
    // SAFETY: nothing is loaded.
    unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) }
}

/// Packages may carry UCX under names of their own, such as `libucp-1a2b3c.so.0.0.0`.
fn renamed(library: Library) -> *mut c_void {
    let mut search = Search { stem: library.stem(), found: std::ptr::null_mut() };
    // SAFETY: the callback gets what is passed here.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

struct Search {
    stem: &'static [u8],
    found: *mut c_void,
}

unsafe extern "C" fn look(object: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader's own data, and what `renamed` passed.
    let (search, name) = unsafe { (&mut *search.cast::<Search>(), (*object).dlpi_name) };
    let name: *const c_char = name;
    if name.is_null() {
        return 0;
    }
    let name = unsafe { CStr::from_ptr(name) };
    let file = name.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or(b"");
    if file.starts_with(search.stem) && matches!(file.get(search.stem.len()), Some(b'.' | b'-')) {
        search.found = open(name);
    }
    c_int::from(!search.found.is_null())
}
