//! A profiler plugin of the user's own. NCCL would have found it, had this library not answered to its name: then it gets that one, and
//! where that lacks a version of the interface, none.

use std::env;
use std::ffi::{CStr, CString, OsStr, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use commsee_runtime::real;

use crate::module;

/// NCCL's variable. With a name or path in it NCCL opens that, and asks nothing here.
const VARIABLE: &str = "NCCL_PROFILER_PLUGIN";
/// A value of it, or the begin of one: the plugin is linked into the program.
const STATIC: &str = "STATIC_PLUGIN";
const FILE: &str = "libnccl-profiler.so";

/// Who answers NCCL.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Answering {
    Unknown,
    /// It is being found out, by this thread: what the search itself asks is not answered.
    Searching,
    We,
    /// The plugin in [`USERS`].
    User,
    /// What is linked into the program.
    Program,
}

static ANSWERING: AtomicU8 = AtomicU8::new(Answering::Unknown as u8);
static USERS: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// The names under which NCCL asks for plugins, up to 2.32, and some that it may come to.
const NAMES: [&CStr; 9] = [
    c"ncclProfiler_v1",
    c"ncclProfiler_v2",
    c"ncclProfiler_v3",
    c"ncclProfiler_v4",
    c"ncclProfiler_v5",
    c"ncclProfiler_v6",
    c"ncclProfiler_v7",
    c"ncclProfiler_v8",
    c"ncclProfiler_v9",
];

/// What a symbol of this version is, where ours is `own`, maybe null. The loader asks, and holds its lock, which is this thread's then.
pub fn answer(version: usize, own: *const c_void) -> *const c_void {
    let answering = match ANSWERING.load(Ordering::Acquire) {
        asked if asked == Answering::Unknown as u8 => {
            ANSWERING.store(Answering::Searching as u8, Ordering::Release);
            let found = find();
            ANSWERING.store(found as u8, Ordering::Release);
            found
        }
        asked if asked == Answering::We as u8 => Answering::We,
        asked if asked == Answering::User as u8 => Answering::User,
        _ => Answering::Program,
    };
    match answering {
        // Where nothing is counted there is no plugin of ours.
        Answering::We if module::get().is_some() => own,
        Answering::We => ptr::null(),
        Answering::User => {
            let name = NAMES[version - 1];
            // SAFETY: looks a name up in a library that stays.
            unsafe { libc::dlsym(USERS.load(Ordering::Acquire), name.as_ptr()) }
        }
        Answering::Unknown | Answering::Searching | Answering::Program => ptr::null(),
    }
}

fn find() -> Answering {
    match env::var_os(VARIABLE) {
        Some(value) if is_static(&value) => match NAMES.iter().any(|name| !real::default(name).is_null()) {
            true => Answering::Program,
            false => Answering::We,
        },
        Some(value) if !value.is_empty() => Answering::We,
        _ => match open() {
            Some(library) => {
                USERS.store(library, Ordering::Release);
                Answering::User
            }
            None => Answering::We,
        },
    }
}

/// NCCL takes any begin of the word, in any case.
fn is_static(value: &OsStr) -> bool {
    let value = value.as_bytes();
    !value.is_empty() && value.len() <= STATIC.len() && STATIC.as_bytes()[..value.len()].eq_ignore_ascii_case(value)
}

/// The first file of that name that the loader would find and can load. One in a folder that only the loader's cache knows is missed.
fn open() -> Option<*mut c_void> {
    // SAFETY: this library is loaded; nothing else is.
    let own = unsafe { libc::dlopen(c"libnccl-profiler.so".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    let of_nccl = |file: &[u8]| file.starts_with(b"libnccl.so") || file.starts_with(b"librccl.so");
    let libraries = real::libraries(of_nccl).into_iter().map(Some);
    let folders = [None].into_iter().chain(libraries).flat_map(|library| folders(library.as_deref()));
    for path in folders.map(|folder| folder.join(FILE)).filter(|path| path.is_file()) {
        let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { continue };
        // SAFETY: as NCCL would have done.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library == own {
            return None;
        }
        if !library.is_null() {
            if let Some(module) = module::get() {
                let path = path.display();
                module.note(&format!("NCCL has another profiler plugin, {path}: algorithms and protocols are unknown"));
            }
            return Some(library);
        }
    }
    None
}

/// Where the loader looks for what a library asks for, or the program.
fn folders(library: Option<&CStr>) -> Vec<PathBuf> {
    #[repr(C)]
    struct Folder {
        name: *const libc::c_char,
        flags: c_uint,
    }
    #[repr(C)]
    struct Found {
        bytes: usize,
        count: c_uint,
        first: [Folder; 1],
    }
    const RTLD_DI_SERINFO: libc::c_int = 4;
    const RTLD_DI_SERINFOSIZE: libc::c_int = 5;
    let library = library.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: the loader fills in what it says that it needs; the names lie in it, behind the folders.
    unsafe {
        let handle = libc::dlopen(library, libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        let mut size = Found { bytes: 0, count: 0, first: [Folder { name: ptr::null(), flags: 0 }] };
        if handle.is_null() || libc::dlinfo(handle, RTLD_DI_SERINFOSIZE, (&raw mut size).cast()) != 0 {
            return Vec::new();
        }
        let mut room = vec![0_u64; size.bytes.div_ceil(size_of::<u64>()) + 1];
        let found = room.as_mut_ptr().cast::<Found>();
        if libc::dlinfo(handle, RTLD_DI_SERINFOSIZE, found.cast()) != 0
            || libc::dlinfo(handle, RTLD_DI_SERINFO, found.cast()) != 0
        {
            return Vec::new();
        }
        let first = (&raw const (*found).first).cast::<Folder>();
        let folder = |index: usize| {
            let name = CStr::from_ptr((*first.add(index)).name).to_bytes();
            PathBuf::from(OsStr::from_bytes(name))
        };
        (0..(*found).count as usize).map(folder).collect()
    }
}
