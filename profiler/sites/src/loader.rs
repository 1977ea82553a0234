//! What the loader has mapped.
//!
//! The one way to it that does not change what the program sees is `dl_iterate_phdr`. It takes a lock of the loader's, but not the one that
//! `dlopen` and `dlclose` hold while they run code of the program (constructors, destructors): it is held only while the list of modules
//! changes or is being read, so nobody who holds it waits for another thread (glibc since 2.3 has a lock of its own for this,
//! `_dl_load_write_lock`; musl's readers share one). While we are called back nothing is unmapped: there, and only there, a module is read
//! that may be closed at any time. We take no lock, allocate nothing and call nobody there.

use std::ffi::{CStr, c_int, c_void};
use std::mem::offset_of;
use std::{ptr, slice};

use commsee_runtime::memory;
use libc::{dl_iterate_phdr, dl_phdr_info};

use crate::rule::{Room, Rule, Sections};

/// As much of a path as is kept.
pub const PATH_BYTES: usize = 1024;
const BUILD_ID_BYTES: usize = 20;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const NT_GNU_BUILD_ID: u32 = 3;

/// How often the loader has mapped something, and unmapped something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub mapped: u64,
    pub unmapped: u64,
}

/// A mapped module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub start: usize,
    pub end: usize,
    /// An address less this is the file's own.
    pub bias: usize,
}

impl Extent {
    pub fn holds(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// What is known of an address, and room for finding it out.
pub struct Found {
    pub changes: Changes,
    pub extent: Option<Extent>,
    /// [`Rule::END`] where nothing leads on.
    pub rule: Rule,
    path: [u8; PATH_BYTES],
    path_bytes: usize,
    build_id: [u8; BUILD_ID_BYTES],
    build_id_bytes: usize,
    room: Room,
}

impl Found {
    /// Nothing yet, where it lies: it is large for a stack.
    ///
    /// # Safety
    /// There is room for it.
    #[inline(never)]
    pub unsafe fn fill(place: *mut Found) {
        // SAFETY: as demanded.
        unsafe {
            (&raw mut (*place).changes).write(Changes::default());
            (&raw mut (*place).extent).write(None);
            (&raw mut (*place).rule).write(Rule::END);
            (&raw mut (*place).path).write_bytes(0, 1);
            (&raw mut (*place).path_bytes).write(0);
            (&raw mut (*place).build_id).write_bytes(0, 1);
            (&raw mut (*place).build_id_bytes).write(0);
            (&raw mut (*place).room).write(Room::new());
        }
    }

    /// Apart from the stack. None if there is no memory.
    pub fn boxed() -> Option<Box<Found>> {
        // SAFETY: it is filled.
        unsafe { memory::boxed_by(|place| Found::fill(place)) }
    }

    /// As the loader has it: empty for the main program.
    pub fn path(&self) -> &[u8] {
        &self.path[..self.path_bytes]
    }

    pub fn build_id(&self) -> &[u8] {
        &self.build_id[..self.build_id_bytes]
    }
}

/// The loader as it is now.
#[inline(never)]
pub fn changes() -> Changes {
    unsafe extern "C" fn first(info: *mut dl_phdr_info, size: usize, changes: *mut c_void) -> c_int {
        // SAFETY: the loader passes its own entry, and what was passed below.
        unsafe { changes.cast::<Changes>().write(changes_of(info, size)) };
        1
    }
    let mut changes = Changes::default();
    // SAFETY: the place outlives the call.
    unsafe { dl_iterate_phdr(Some(first), (&raw mut changes).cast()) };
    changes
}

/// Finds the module of an address and, where that is wanted, how to get from a frame there to its caller, which takes some time and 5 KiB of stack.
pub fn find(address: usize, wants_rule: bool, found: &mut Found) {
    struct Search<'a> {
        address: usize,
        wants_rule: bool,
        found: &'a mut Found,
    }
    unsafe extern "C" fn each(info: *mut dl_phdr_info, size: usize, search: *mut c_void) -> c_int {
        // SAFETY: as passed below; the module stays mapped meanwhile.
        unsafe {
            let Search { address, wants_rule, found } = &mut *search.cast::<Search>();
            found.changes = changes_of(info, size);
            c_int::from(Loaded::new(info).look(*address, *wants_rule, found))
        }
    }
    (found.extent, found.rule, found.path_bytes, found.build_id_bytes) = (None, Rule::END, 0, 0);
    let mut search = Search { address, wants_rule, found };
    // SAFETY: the place outlives the call.
    unsafe { dl_iterate_phdr(Some(each), (&raw mut search).cast()) };
}

unsafe fn changes_of(info: *const dl_phdr_info, size: usize) -> Changes {
    if size < offset_of!(dl_phdr_info, dlpi_subs) + 8 {
        return Changes::default();
    }
    // SAFETY: the entry is so large.
    unsafe { Changes { mapped: (*info).dlpi_adds, unmapped: (*info).dlpi_subs } }
}

/// A module during a call back.
struct Loaded<'a> {
    bias: usize,
    name: *const libc::c_char,
    headers: &'a [libc::Elf64_Phdr],
}

impl<'a> Loaded<'a> {
    /// SAFETY: the loader's own entry, while it stays.
    unsafe fn new(info: *const dl_phdr_info) -> Loaded<'a> {
        // SAFETY: as above.
        unsafe {
            let (place, number) = ((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let headers = if place.is_null() { &[] } else { slice::from_raw_parts(place, number) };
            Loaded { bias: (*info).dlpi_addr as usize, name: (*info).dlpi_name, headers }
        }
    }

    /// The ranges that the file is mapped to.
    fn segments(&self) -> impl Iterator<Item = (&'a libc::Elf64_Phdr, usize, usize)> + use<'a> {
        let bias = self.bias;
        self.headers.iter().filter(|header| header.p_type == libc::PT_LOAD).map(move |header| {
            let start = bias.wrapping_add(header.p_vaddr as usize);
            (header, start, start.saturating_add(header.p_memsz as usize))
        })
    }

    fn extent(&self) -> Option<Extent> {
        let start = self.segments().map(|(_, start, _)| start).min()?;
        let end = self.segments().map(|(_, _, end)| end).max()?;
        Some(Extent { start, end, bias: self.bias })
    }

    /// What can be read from an address on: the rest of its segment, as far as that comes from the file.
    fn mapped(&self, address: usize) -> Option<&'a [u8]> {
        let (header, start, _) = self.segments().find(|(_, start, end)| (*start..*end).contains(&address))?;
        let end = start.checked_add(header.p_filesz as usize)?;
        let bytes = end.checked_sub(address)?;
        // SAFETY: the loader has mapped this part of the segment, and nothing writes to it.
        (header.p_flags & libc::PF_R != 0).then(|| unsafe { slice::from_raw_parts(address as *const u8, bytes) })
    }

    /// The part that a header of another kind describes.
    fn described(&self, header: &libc::Elf64_Phdr) -> Option<&'a [u8]> {
        let mapped = self.mapped(self.bias.wrapping_add(header.p_vaddr as usize))?;
        mapped.get(..header.p_memsz as usize)
    }

    fn of_kind(&self, kind: u32) -> impl Iterator<Item = &'a libc::Elf64_Phdr> + use<'a> {
        self.headers.iter().filter(move |header| header.p_type == kind)
    }

    /// Whether the address belongs to it. Then all that is wanted is filled in.
    fn look(&self, address: usize, wants_rule: bool, found: &mut Found) -> bool {
        // Modules may lie in each other's gaps.
        let Some((code, start, _)) = self.segments().find(|(_, start, end)| (*start..*end).contains(&address)) else {
            return false;
        };
        found.extent = self.extent();
        if !self.name.is_null() {
            // SAFETY: the loader's own text.
            let name = unsafe { CStr::from_ptr(self.name) }.to_bytes();
            found.path_bytes = name.len().min(PATH_BYTES);
            found.path[..found.path_bytes].copy_from_slice(&name[..found.path_bytes]);
        }
        if let Some(id) = self.of_kind(libc::PT_NOTE).find_map(|header| build_id(self.described(header)?)) {
            found.build_id_bytes = id.len().min(BUILD_ID_BYTES);
            found.build_id[..found.build_id_bytes].copy_from_slice(&id[..found.build_id_bytes]);
        }
        if wants_rule && code.p_flags & libc::PF_X != 0 {
            found.rule = self.rule(address, start, &mut found.room).unwrap_or(Rule::END);
        }
        true
    }

    /// How to get from a frame of its code, which begins at `start`, to the caller.
    #[inline(never)]
    fn rule(&self, address: usize, start: usize, room: &mut Room) -> Option<Rule> {
        let header = self.of_kind(PT_GNU_EH_FRAME).next()?;
        let mapped = |address: u64| self.mapped(address as usize);
        let sections = Sections {
            index: self.described(header)?,
            index_address: self.bias.wrapping_add(header.p_vaddr as usize) as u64,
            text_address: start as u64,
            mapped: &mapped,
        };
        sections.rule(address as u64, room)
    }
}

/// The build id among the notes of a file.
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    loop {
        let word = |at: usize| Some(u32::from_ne_bytes(notes.get(at..at + 4)?.try_into().ok()?));
        let (name_bytes, bytes, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let name = notes.get(12..)?.get(..name_bytes)?;
        let rest = notes.get(12 + name_bytes.next_multiple_of(4)..)?;
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" {
            return rest.get(..bytes);
        }
        notes = rest.get(bytes.next_multiple_of(4)..)?;
    }
}

/// A module that may have been there from the start.
#[derive(Clone, Copy)]
struct Early {
    bias: usize,
    dynamic: usize,
    start: usize,
    /// Of the file's name without the folder.
    name: u64,
}

/// Most modules of a program that are looked at: a program that is linked with more has some that are taken for such as may be closed.
const MOST_EARLY: usize = 512;

/// A module that is never unmapped.
pub struct Permanent {
    pub start: usize,
    /// Where those begin that it is linked with.
    pub linked: Vec<usize>,
}

/// The modules that are never unmapped: the main program, what it is linked with, and what that is. Their sites need not be compared with
/// what is mapped by now.
pub fn permanent() -> Vec<Permanent> {
    struct List {
        length: usize,
        modules: [Early; MOST_EARLY],
    }
    unsafe extern "C" fn each(info: *mut dl_phdr_info, _size: usize, list: *mut c_void) -> c_int {
        // SAFETY: as passed below.
        unsafe {
            let (list, loaded) = (&mut *list.cast::<List>(), Loaded::new(info));
            if let (Some(place), Some(extent)) = (list.modules.get_mut(list.length), loaded.extent()) {
                let dynamic = loaded.of_kind(libc::PT_DYNAMIC).next();
                let dynamic = dynamic.map_or(0, |header| loaded.bias.wrapping_add(header.p_vaddr as usize));
                let name = if loaded.name.is_null() { c"" } else { CStr::from_ptr(loaded.name) };
                *place = Early { bias: loaded.bias, dynamic, start: extent.start, name: hash_of_file(name.to_bytes()) };
                list.length += 1;
            }
        }
        0
    }
    let none = Early { bias: 0, dynamic: 0, start: 0, name: 0 };
    let mut list = Box::new(List { length: 0, modules: [none; MOST_EARLY] });
    // SAFETY: the place outlives the call.
    unsafe { dl_iterate_phdr(Some(each), ptr::from_mut(&mut *list).cast()) };
    let modules = &list.modules[..list.length];
    // The main program comes first. What is opened by the program comes behind what it is linked with: of two files with one name, the
    // first is the one that is linked.
    let mut starts: Vec<usize> = modules.first().map(|main| main.start).into_iter().collect();
    let mut permanent = Vec::new();
    let mut at = 0;
    while let Some(module) = starts.get(at).and_then(|start| modules.iter().find(|module| module.start == *start)) {
        // SAFETY: it is linked, and so stays mapped.
        let names = unsafe { needed(module) };
        let start_of = |name: &u64| modules.iter().find(|other| other.name == *name).map(|other| other.start);
        let linked: Vec<usize> = names.iter().filter_map(start_of).collect();
        for start in &linked {
            if !starts.contains(start) {
                starts.push(*start);
            }
        }
        permanent.push(Permanent { start: module.start, linked });
        at += 1;
    }
    permanent
}

/// The files that a module is linked with, by hashes of their names.
///
/// SAFETY: it stays mapped.
unsafe fn needed(module: &Early) -> Vec<u64> {
    let mut names = Vec::new();
    if module.dynamic == 0 {
        return names;
    }
    let entries = || {
        (0..).map_while(|at| {
            // SAFETY: the loader reads the same entries, up to one that is zero.
            let entry = unsafe { (module.dynamic as *const [u64; 2]).add(at).read() };
            (entry[0] != 0).then_some(entry)
        })
    };
    let Some(texts) = entries().find(|[kind, _]| *kind == DT_STRTAB).map(|[_, address]| address as usize) else {
        return names;
    };
    // glibc puts addresses there, other loaders leave the file's.
    let texts = if texts < module.start { texts.wrapping_add(module.bias) } else { texts };
    for [_, offset] in entries().filter(|[kind, _]| *kind == DT_NEEDED) {
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr((texts + offset as usize) as *const libc::c_char) };
        names.push(hash_of_file(name.to_bytes()));
    }
    names
}

/// FNV-1a.
fn hash_of_file(path: &[u8]) -> u64 {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_is_found_among_notes() {
        let note = |name: &[u8], kind: u32, text: &[u8]| {
            let mut bytes = [name.len() as u32, text.len() as u32, kind].map(u32::to_ne_bytes).concat();
            for part in [name, text] {
                bytes.extend_from_slice(part);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            bytes
        };
        let notes = [note(b"GNU\0", 5, b"abc"), note(b"Go\0", 3, b"no"), note(b"GNU\0", 3, &[7; 20])].concat();
        assert_eq!(build_id(&notes), Some(&[7; 20][..]));
        for end in 0..notes.len() {
            assert_eq!(build_id(&notes[..end]), None);
        }
        assert_eq!(build_id(&[0xff; 64]), None);
    }

    #[test]
    fn this_program_and_its_libraries_are_permanent() {
        let permanent = permanent();
        let mut found = Found::boxed().unwrap();
        find(build_id as *const () as usize, true, &mut found);
        let own = found.extent.unwrap();
        assert!(found.path().is_empty() && own.start == permanent[0].start);
        assert_ne!(found.rule, Rule::END);
        find(libc::getpid as *const () as usize, false, &mut found);
        assert!(found.path().ends_with(b"libc.so.6") && found.build_id().len() == 20);
        let libc = found.extent.unwrap().start;
        assert!(permanent.iter().any(|module| module.start == libc) && permanent[0].linked.contains(&libc));
        find(&raw const own as usize, true, &mut found);
        assert_eq!((found.extent, found.rule), (None, Rule::END));
    }
}
