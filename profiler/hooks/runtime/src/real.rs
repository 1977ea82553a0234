//! The functions that ours stand in front of: those of the next library in the order in which the loader searches, or of one that the
//! program opened out of that order.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::guard;

/// The address of a name in the libraries behind this one, or null.
pub fn next(name: &CStr) -> *mut c_void {
    // SAFETY: looks a name up.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// The address of a name where the whole program would find it, or null.
pub fn default(name: &CStr) -> *mut c_void {
    // SAFETY: looks a name up.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// A library that is loaded. It stays so, since its addresses are kept.
#[derive(Clone, Copy)]
pub struct Loaded(NonNull<c_void>);

// SAFETY: the loader's functions may be called by any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// One that is loaded already.
    pub fn find(library: &CStr) -> Option<Loaded> {
        // SAFETY: RTLD_NOLOAD loads nothing.
        NonNull::new(unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) }).map(Loaded)
    }

    /// The one that has this address, if it is not the program itself.
    pub fn with(address: usize) -> Option<Loaded> {
        file_of(address).and_then(Loaded::find)
    }

    /// The address of a name in it, and in those it needs; or null.
    pub fn symbol(self, name: &CStr) -> *mut c_void {
        // SAFETY: looks a name up in a library that stays.
        unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) }
    }
}

/// All loaded libraries whose file has such a name, by the name that the loader knows them by.
pub fn libraries(is_wanted: impl Fn(&[u8]) -> bool) -> Vec<CString> {
    let mut search = Search { is_wanted: &is_wanted, names: Vec::new() };
    // SAFETY: the callback only runs during the call, and gets what is passed here.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.names
}

struct Search<'a> {
    is_wanted: &'a dyn Fn(&[u8]) -> bool,
    names: Vec<CString>,
}

unsafe extern "C" fn look(object: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader's own entry, and what `libraries` passed.
    let (name, search): (*const c_char, _) = unsafe { ((*object).dlpi_name, &mut *search.cast::<Search>()) };
    if !name.is_null() {
        // SAFETY: the loader's names end with a zero byte.
        let name = unsafe { CStr::from_ptr(name) };
        let file = name.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or(b"");
        if (search.is_wanted)(file) {
            search.names.push(name.to_owned());
        }
    }
    0
}

/// A library that a module watches: the name under which the loader knows it, and how its file's name begins where a package renamed
/// it, such as `libucp-1a2b3c.so.0.0.0`.
pub struct Library {
    pub name: &'static CStr,
    pub stem: &'static [u8],
}

impl Library {
    /// The real function of a name; 0 if there is none.
    fn find(&self, name: &CStr) -> usize {
        let found = next(name);
        if !found.is_null() {
            return found as usize;
        }
        // Opened with RTLD_LOCAL, as MPI libraries and Python do.
        let is_it = |file: &[u8]| file.starts_with(self.stem) && matches!(file.get(self.stem.len()), Some(b'.' | b'-'));
        let renamed = || libraries(is_it).iter().find_map(|name| Loaded::find(name));
        match Loaded::find(self.name).or_else(renamed) {
            Some(library) => library.symbol(name) as usize,
            None => elsewhere(name),
        }
    }
}

/// The address of a name in any library but this one, for a library that has the one that is watched linked into it, and was opened out of the order in
/// which the loader searches. 0 if there is none.
fn elsewhere(name: &CStr) -> usize {
    let own = file_of(elsewhere as *const () as usize);
    let mut found = 0;
    // The program itself has no name here: all that stands in front of us would be found by it.
    for library in libraries(|file| !file.is_empty()) {
        // SAFETY: RTLD_NOLOAD loads nothing; what has the name stays, what has not may be closed as before.
        unsafe {
            let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            if handle.is_null() {
                continue;
            }
            let address = libc::dlsym(handle, name.as_ptr()) as usize;
            let file = file_of(address).filter(|file| *file == library.as_c_str());
            if address != 0 && file.is_some() && file != own {
                // Whose of two a handle is nobody can say.
                if found != 0 {
                    return 0;
                }
                found = address;
            } else {
                libc::dlclose(handle);
            }
        }
    }
    found
}

/// The file of the library that has an address, as the loader names it. The name stays as long as the library.
pub fn file_of(address: usize) -> Option<&'static CStr> {
    // SAFETY: only addresses and null are in it, and it is read where the call has filled it.
    unsafe {
        let mut facts: libc::Dl_info = std::mem::zeroed();
        let is_known = libc::dladdr(address as *const c_void, &mut facts) != 0 && !facts.dli_fname.is_null();
        is_known.then(|| CStr::from_ptr(facts.dli_fname))
    }
}

/// A function of such a library, looked up when it is first called.
pub struct Real {
    library: &'static Library,
    name: &'static CStr,
    address: AtomicUsize,
}

impl Real {
    pub const fn new(library: &'static Library, name: &'static CStr) -> Real {
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

    /// The same where it was asked for before, and is there.
    #[inline(always)]
    pub fn known_address(&self) -> usize {
        self.address.load(Ordering::Relaxed)
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self) -> usize {
        let address = guard::guarded(|| self.library.find(self.name)).unwrap_or(0);
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// The real function of that name in a static [`Library`] as a typed pointer; None if there is none.
#[macro_export]
macro_rules! real {
    ($library:expr, $name:ident, $type:ty) => {{
        static REAL: $crate::real::Real = $crate::real::Real::new(
            &$library,
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            },
        );
        match REAL.address() {
            0 => None,
            // SAFETY: the type is that of the library's header.
            #[allow(unused_unsafe)]
            address => Some(unsafe { std::mem::transmute::<usize, $type>(address) }),
        }
    }};
}
