//! A name must be there only where the loaded MPI library has it: programs ask by weak references and `dlsym` before they call
//! (every mpi4py since 4.1), and would find ours.
//!
//! - In `libcommsee.so` names are those of plain functions, so that libraries which the loader relocates before this one may refer
//!   to them. When this library is relocated ([`at_relocation`]) the program's libraries are loaded: names that its MPI lacks are taken out of the
//!   table of symbols in memory. Where there is no MPI yet, or none for Fortran, since Python or another host of plugins may open it,
//!   they become indirect functions (GNU IFUNC): the loader asks [`resolve`] when it binds one, and null means that there is none.
//! - In `libcommsee.a` those that are not in every library are indirect functions from the start, which shared libraries do not see
//!   (`build/hidden.rs`). (In a shared library the loader would warn of each that is bound before this library is relocated.)
//!
//! All of this runs while the loader works, perhaps before anything here is relocated. Until the address in [`ITERATE`] is there, this
//! folder calls no function of any library and reads no address that the loader fills in: it finds the loaded objects by way of the
//! kernel. Bytes are read one by one through [`byte`], lest the compiler makes a call of the loop.

pub mod elf;
mod kernel;
mod loader;

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::mpi::linked;

use elf::{Dynamic, Object, STB_WEAK, STT_FUNC, STT_GNU_IFUNC, byte, dynamic_of, gnu_hash, is_same};
use loader::{Map, first_map};

/// Makes an exported function, which is there only where the MPI library has one of its name. The section `commsee_optional` lists
/// all of them (see [`Optional`]). In `libcommsee.a` this is so for those marked `late`, which are not in every library: there
/// the name is that of an indirect function, and the script of the linker puts `commsee_wrapper_NAME` in its place for `libcommsee.so`.
macro_rules! where_present {
    (late $(#[$attribute:meta])* pub unsafe extern "C-unwind" fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty $body:block) => {
        mod $name {
            use super::*;

            $(#[$attribute])*
            unsafe extern "C-unwind" fn wrapper($($argument: $type),*) -> $result $body

            #[unsafe(no_mangle)]
            extern "C" fn $name() -> *const std::ffi::c_void {
                resolver()
            }

            std::arch::global_asm!(
                concat!(".type ", stringify!($name), ", @gnu_indirect_function"),
                // Not hidden: with the address GNU ld would give that to the name, too. The list of what is exported leaves it out.
                concat!(".globl commsee_wrapper_", stringify!($name)),
                concat!(".set commsee_wrapper_", stringify!($name), ", {wrapper}"),
                wrapper = sym wrapper,
            );
            $crate::mpi::presence::listed!($name);
        }
    };
    ($(#[$attribute:meta])* pub unsafe extern "C-unwind" fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty $body:block) => {
        mod $name {
            use super::*;

            $(#[$attribute])*
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result $body

            use $name as wrapper;
            $crate::mpi::presence::listed!($name);
        }
    };
}
pub(crate) use where_present;

/// The entry of a function in the list, and its resolver.
macro_rules! listed {
    ($name:ident) => {
        extern "C" fn resolver() -> *const std::ffi::c_void {
            $crate::mpi::presence::resolve(concat!(stringify!($name), "\0").as_ptr(), wrapper as *const std::ffi::c_void)
        }

        std::arch::global_asm!(
            ".pushsection commsee_names, \"aR\", @progbits",
            concat!("88: .asciz \"", stringify!($name), "\""),
            ".popsection",
            ".pushsection commsee_optional, \"aR\", @progbits",
            ".balign 4",
            ".long 88b - .",
            ".long {resolver} - .",
            ".popsection",
            resolver = sym resolver,
        );
    };
}
pub(crate) use listed;

type Visit = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;
type Iterate = unsafe extern "C" fn(Option<Visit>, *mut c_void) -> c_int;

/// Null until this library is relocated.
static ITERATE: Iterate = libc::dl_iterate_phdr;

/// A name that not every library has: where it is written, and its resolver, as distances from here.
#[repr(C)]
struct Optional {
    name: i32,
    resolver: i32,
}

impl Optional {
    fn name(&self) -> *const u8 {
        (&raw const self.name).cast::<u8>().wrapping_offset(self.name as isize)
    }

    fn resolver(&self) -> usize {
        (&raw const self.resolver).cast::<u8>().wrapping_offset(self.resolver as isize) as usize
    }
}

unsafe extern "C" {
    // Made by the linker.
    #[link_name = "__start_commsee_optional"]
    static FIRST: Optional;
    #[link_name = "__stop_commsee_optional"]
    static END: Optional;
}

std::arch::global_asm!(".hidden __start_commsee_optional", ".hidden __stop_commsee_optional");

// Code that a sanitizer has instrumented calls it, and so cannot run before all is relocated.
#[cfg(not(instrumented))]
std::arch::global_asm!(
    // The loader calls it when all else in this library is relocated.
    ".globl commsee_at_relocation",
    ".hidden commsee_at_relocation",
    ".type commsee_at_relocation, @gnu_indirect_function",
    ".set commsee_at_relocation, {at_relocation}",
    ".pushsection .data.rel.ro.commsee_settled, \"awR\", @progbits",
    ".balign 8",
    ".quad commsee_at_relocation",
    ".popsection",
    at_relocation = sym at_relocation,
);

/// What is looked for among the loaded objects.
struct Search {
    name: *const u8,
    hash: u32,
    found: bool,
}

/// The wrapper, if an object other than this library has the name; else null. Null as well where there is no MPI at all.
#[inline(never)]
pub fn resolve(name: *const u8, wrapper: *const c_void) -> *const c_void {
    // SAFETY: names end with a zero byte.
    let is_there = unsafe {
        is_loaded(name)
            || linked::is_linked()
                && !is_loaded(c"PMPI_Init".as_ptr().cast())
                && linked::may_have(|known| is_same(known.as_ptr().add(1).cast(), name))
    };
    if is_there { wrapper } else { ptr::null() }
}

/// Whether a loaded object has a symbol of this name.
unsafe fn is_loaded(name: *const u8) -> bool {
    // SAFETY: what is read of loaded objects is what the loader itself reads of them.
    unsafe {
        let mut search = Search { name, hash: gnu_hash(name), found: false };
        let iterate = ptr::read_volatile((&raw const ITERATE).cast::<usize>());
        if iterate == 0 {
            search_unrelocated(&mut search);
        } else {
            let iterate: Iterate = std::mem::transmute(iterate);
            iterate(Some(visit), (&raw mut search).cast());
        }
        search.found
    }
}

/// The loader holds its lock meanwhile, so that no object goes away.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid entry, `resolve` the search.
    unsafe {
        let (info, search) = (&*info, &mut *search.cast::<Search>());
        let base = info.dlpi_addr as usize;
        if let Some(dynamic) = dynamic_of(info.dlpi_phdr, info.dlpi_phnum.into(), base) {
            search.found |= has(base, dynamic, search);
        }
        c_int::from(search.found)
    }
}

/// Whether an object defines the name. Indirect functions do not count: those are ours.
unsafe fn has(base: usize, dynamic: *const Dynamic, search: &Search) -> bool {
    // SAFETY: the caller passes a loaded object.
    unsafe {
        let symbol = Object::of(base, dynamic).find(search.name, search.hash);
        symbol.is_some_and(|symbol| (*symbol).st_info & 0xf != STT_GNU_IFUNC)
    }
}

/// While the loader starts the program there is only one thread, and the list is whole.
unsafe fn search_unrelocated(search: &mut Search) {
    // SAFETY: the list is the loader's own, which changes it only while another thread loads.
    unsafe {
        let mut map = first_map();
        while !map.is_null() && !search.found {
            search.found = has((*map).base, (*map).dynamic, search);
            map = (*map).next;
        }
    }
}

/// This library is relocated, and so are those that the program's start loaded behind it; not yet the program itself. Returns what the
/// loader stores, which nobody reads.
unsafe extern "C" fn at_relocation() -> usize {
    // SAFETY: only this thread runs yet; what is written are the symbols of this library, on pages that have been made writable.
    unsafe {
        let first = &raw const FIRST;
        let mut own: *const Map = ptr::null();
        let mut library: *const Map = ptr::null();
        let hash = gnu_hash(c"PMPI_Init".as_ptr().cast());
        let mut map = first_map();
        let mut behind = 0;
        while !map.is_null() {
            let object = Object::of((*map).base, (*map).dynamic);
            let symbol = object.find((*first).name(), gnu_hash((*first).name()));
            // Ours is a function here, which its resolver would replace.
            if own.is_null() && symbol.is_some_and(|symbol| is_own(&object, symbol)) {
                own = map;
            }
            if library.is_null() && object.find(c"PMPI_Init".as_ptr().cast(), hash).is_some() {
                library = map;
            }
            behind += 1;
            map = (*map).next;
        }
        if own.is_null() || behind == 0 {
            // Linked into a program.
            return 0;
        }
        let object = Object::of((*own).base, (*own).dynamic);
        // From the symbols up to the texts behind them.
        if object.strings <= object.symbols {
            return 0;
        }
        let Some(pages) = made_writable(object.symbols, object.strings) else { return 0 };
        let mut optional = first;
        while optional < &raw const END {
            let name = (*optional).name();
            let hash = gnu_hash(name);
            if let Some(symbol) = object.find(name, hash) {
                let is_elsewhere = !library.is_null() && is_elsewhere(own, name, hash);
                if library.is_null() || (!is_elsewhere && !is_of_c(name)) {
                    // A plugin may bring MPI, or its Fortran.
                    (*symbol).st_value = ((*optional).resolver() - object.base) as u64;
                    (*symbol).st_info = (*symbol).st_info & 0xf0 | STT_GNU_IFUNC;
                } else if !is_elsewhere {
                    ((*symbol).st_value, (*symbol).st_shndx) = (0, 0);
                }
            }
            optional = optional.add(1);
        }
        kernel::protect(pages, false);
        if !library.is_null() {
            withdraw_from_others(own);
        }
        0
    }
}

/// `MPI_Send` or `MPIX_Bcast_init`, and neither `mpi_send_` nor `MPI_SEND`.
unsafe fn is_of_c(name: *const u8) -> bool {
    // SAFETY: names of MPI's functions are longer.
    unsafe {
        let second_letter = if byte(name.add(3)) == b'X' { 6 } else { 5 };
        byte(name) == b'M' && byte(name.add(second_letter)) & 0x20 != 0
    }
}

/// Libraries that were relocated before this one may have been given a name that is gone now: of weak references, which ask whether
/// it is there, the answer is taken back.
unsafe fn withdraw_from_others(own: *const Map) {
    // SAFETY: only this thread runs yet; objects behind this one in the list are relocated, and their tables whole.
    unsafe {
        let mut map = first_map();
        while !map.is_null() {
            let object = Object::of((*map).base, (*map).dynamic);
            if map != own && object.gnu != 0 && object.symbols != 0 && object.relocations != 0 {
                // Symbols that an object does not define stand before those in the table.
                let first_defined = (object.gnu as *const u32).add(1).read() as usize;
                let mut index = 1;
                while index < first_defined {
                    let symbol = &*(object.symbols as *const libc::Elf64_Sym).add(index);
                    let name = object.name(symbol);
                    if symbol.st_shndx == 0 && symbol.st_info >> 4 == STB_WEAK && is_withdrawn(own, name) {
                        withdraw(&object, index as u64);
                    }
                    index += 1;
                }
            }
            map = (*map).next;
        }
    }
}

/// Whether the name is one of ours that no other object has.
unsafe fn is_withdrawn(own: *const Map, name: *const u8) -> bool {
    // SAFETY: names end with a zero byte, and ours lie between the two marks of the linker.
    unsafe {
        // Fast for the many that are none of MPI's.
        if (byte(name) | 0x20, byte(name.add(1)) | 0x20) != (b'm', b'p') {
            return false;
        }
        let mut optional = &raw const FIRST;
        while optional < &raw const END {
            if is_same((*optional).name(), name) {
                return !is_elsewhere(own, name, gnu_hash(name));
            }
            optional = optional.add(1);
        }
        false
    }
}

/// Sets all addresses to 0 that the loader stored for one symbol of an object.
unsafe fn withdraw(object: &Object, index: u64) {
    // SAFETY: the relocations are those of a loaded object, whose addresses the loader has written to.
    unsafe {
        let count = object.relocations_bytes / size_of::<libc::Elf64_Rela>();
        let mut at = 0;
        while at < count {
            let relocation = (object.relocations as *const libc::Elf64_Rela).add(at).read();
            if relocation.r_info >> 32 == index && is_address(relocation.r_info as u32) {
                let place = object.base + relocation.r_offset as usize;
                // Read-only since the object was relocated.
                if made_writable(place, place + size_of::<usize>()).is_some() {
                    (place as *mut usize).write_volatile(0);
                }
            }
            at += 1;
        }
    }
}

/// Relocations that store a symbol's address: GLOB_DAT and 64, GLOB_DAT and ABS64.
fn is_address(kind: u32) -> bool {
    if cfg!(target_arch = "aarch64") { kind == 1025 || kind == 257 } else { kind == 6 || kind == 1 }
}

/// Whether this symbol is the wrapper that lies in this very copy of the library.
unsafe fn is_own(object: &Object, symbol: *const libc::Elf64_Sym) -> bool {
    // SAFETY: the symbol is one of this object.
    unsafe {
        let place = object.base + (*symbol).st_value as usize;
        let here = at_relocation as *const () as usize;
        (*symbol).st_info & 0xf == STT_FUNC && place.abs_diff(here) < OWN_BYTES
    }
}

/// More than this library has of code, and less than lies between two libraries.
const OWN_BYTES: usize = 16 << 20;

/// Makes the pages writable that a range lies in, and returns where they begin and end. How large they are is the kernel's choice: it refuses what
/// does not begin with one. The linker aligns segments to the largest size of the processor.
unsafe fn made_writable(begin: usize, end: usize) -> Option<[usize; 2]> {
    let mut page_bytes = 4 << 10;
    loop {
        let pages = [begin & !(page_bytes - 1), (end + page_bytes - 1) & !(page_bytes - 1)];
        // SAFETY: the caller passes a range of a loaded object.
        if unsafe { kernel::protect(pages, true) } >= 0 {
            return Some(pages);
        }
        if !cfg!(target_arch = "aarch64") || page_bytes == 64 << 10 {
            return None;
        }
        page_bytes *= 4;
    }
}

unsafe fn is_elsewhere(own: *const Map, name: *const u8, hash: u32) -> bool {
    // SAFETY: the list is the loader's own, and only this thread runs yet.
    unsafe {
        let mut map = first_map();
        while !map.is_null() {
            if map != own && Object::of((*map).base, (*map).dynamic).find(name, hash).is_some() {
                return true;
            }
            map = (*map).next;
        }
        false
    }
}
