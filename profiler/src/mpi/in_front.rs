//! Whose functions stand in front of commsee's: another tool's that is preloaded before it, or is part of the program. The calls that they take
//! never come here, and the user is to hear of it: a profile without them looks like a program that does not make them.

use std::ffi::{CStr, CString, c_int, c_void};

use vocabulary::calls::CALLS;

use crate::mpi::presence::elf::{Object, dynamic_of, gnu_hash};
use crate::mpi::real;

/// Functions of one loaded object that hide ours.
pub struct Hidden {
    pub names: Vec<&'static str>,
    /// The object's file; none is the program itself.
    pub file: Option<String>,
}

impl Hidden {
    /// How many are named; of the rest their number is said.
    const NAMED: usize = 3;

    pub fn who(&self) -> &str {
        self.file.as_deref().unwrap_or("the program itself")
    }

    /// Such as `MPI_Barrier, MPI_Bcast and 2 more in libtool.so`.
    pub fn text(&self) -> String {
        let (named, rest) = self.names.split_at(self.names.len().min(Hidden::NAMED));
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        format!("{}{more} in {}", named.join(", "), self.who())
    }

    /// What the user can do about it.
    pub fn remedy(&self) -> &'static str {
        match self.file {
            Some(_) => "Preload commsee before it",
            None => "Build that part as a shared library and preload it behind commsee",
        }
    }
}

/// By the objects, in the order in which the loader searches them.
pub fn hidden() -> Vec<Hidden> {
    let own = real::object_of(hidden as *const c_void);
    let names = CALLS.iter().filter_map(|call| Some((call.name, CString::new(call.name).ok()?)));
    let names: Vec<Name> = names
        .map(|(name, text)| {
            // SAFETY: it ends with a zero byte.
            let hash = unsafe { gnu_hash(text.as_ptr().cast()) };
            Name { name, text, hash }
        })
        .collect();
    let mut search = Search { own: own as usize, names, found: Vec::new() };
    // SAFETY: the callback only runs during the call, and gets what is passed here.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

struct Name {
    name: &'static str,
    text: CString,
    hash: u32,
}

struct Search {
    own: usize,
    names: Vec<Name>,
    found: Vec<Hidden>,
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader's own entry, and what `hidden` passed; the object stays loaded meanwhile.
    unsafe {
        let (info, search) = (&*info, &mut *search.cast::<Search>());
        let base = info.dlpi_addr as usize;
        let Some(dynamic) = dynamic_of(info.dlpi_phdr, info.dlpi_phnum.into(), base) else { return 0 };
        let is_own = base == search.own || real::object_of(dynamic.cast()) as usize == search.own;
        if is_own {
            return 1;
        }
        let object = Object::of(base, dynamic);
        let has = |name: &&Name| object.find(name.text.as_ptr().cast(), name.hash).is_some();
        let names: Vec<&str> = search.names.iter().filter(has).map(|name| name.name).collect();
        if !names.is_empty() {
            let file = CStr::from_ptr(info.dlpi_name).to_string_lossy().into_owned();
            search.found.push(Hidden { names, file: Some(file).filter(|file| !file.is_empty()) });
        }
        0
    }
}
