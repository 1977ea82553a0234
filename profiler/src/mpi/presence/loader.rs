//! The loaded objects, from what the kernel and the loader leave in memory.

use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::elf::{DT_DEBUG, DT_NULL, Dynamic, dynamic_of};
use super::kernel;

/// The list of loaded objects that the loader keeps for debuggers (`link.h`).
#[repr(C)]
struct Debug {
    version: c_int,
    map: *const Map,
}

#[repr(C)]
pub struct Map {
    pub base: usize,
    name: *const c_char,
    pub dynamic: *const Dynamic,
    pub next: *const Map,
}

/// Where the loader keeps it; 0 is not known yet.
static DEBUG: AtomicUsize = AtomicUsize::new(0);

pub unsafe fn first_map() -> *const Map {
    let mut debug = DEBUG.load(Ordering::Relaxed) as *const Debug;
    // SAFETY: the loader keeps its list where it says, and only one thread runs.
    unsafe {
        if debug.is_null() {
            debug = find_debug();
            DEBUG.store(debug as usize, Ordering::Relaxed);
        }
        if debug.is_null() { ptr::null() } else { (*debug).map }
    }
}

/// From the program's headers, of which the kernel tells the place.
unsafe fn find_debug() -> *const Debug {
    const AT_PHDR: usize = 3;
    const AT_PHNUM: usize = 5;
    let (mut headers, mut count) = (0, 0);
    // SAFETY: the kernel tells where the headers of the program are; they, and the section they name, are there as long as the program.
    unsafe {
        let file = kernel::open(c"/proc/self/auxv".as_ptr().cast());
        if file < 0 {
            return ptr::null();
        }
        let mut pair = std::mem::MaybeUninit::<[usize; 2]>::uninit();
        while kernel::read(file, pair.as_mut_ptr().cast(), size_of::<[usize; 2]>()) == size_of::<[usize; 2]>() as isize
        {
            let [kind, value] = pair.assume_init_read();
            match kind {
                AT_PHDR => headers = value,
                AT_PHNUM => count = value,
                _ => {}
            }
        }
        kernel::close(file);
        let headers = headers as *const libc::Elf64_Phdr;
        if headers.is_null() {
            return ptr::null();
        }
        // Where the headers are told to be, less where they are: what the program was moved by.
        let (mut base, mut at) = (0, 0);
        while at < count {
            let header = headers.add(at).read();
            if header.p_type == libc::PT_PHDR {
                base = (headers as usize).wrapping_sub(header.p_vaddr as usize);
            }
            at += 1;
        }
        let Some(mut entry) = dynamic_of(headers, count, base) else { return ptr::null() };
        while (*entry).tag != DT_NULL {
            if (*entry).tag == DT_DEBUG {
                return (*entry).value as *const Debug;
            }
            entry = entry.add(1);
        }
        ptr::null()
    }
}
