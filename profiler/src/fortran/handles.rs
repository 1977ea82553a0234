//! From Fortran handles, which are INTEGERs, to C handles.

use std::ffi::{CStr, c_int};

use crate::guest::set_once::SetOnce;
use crate::mpi::abi::{Word, abi};
use crate::mpi::real;
use crate::objects::datatypes;
use crate::thread::Thread;

/// The kinds of objects whose handles are translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    Comm,
    Datatype,
    Request,
    Message,
    Op,
    Win,
    File,
}

/// The names of the translating functions, in the order of `Object`: the usual one, and that of the standard ABI.
const FUNCTIONS: [(&CStr, &CStr); 7] = [
    (c"PMPI_Comm_f2c", c"PMPI_Comm_fromint"),
    (c"PMPI_Type_f2c", c"PMPI_Type_fromint"),
    (c"PMPI_Request_f2c", c"PMPI_Request_fromint"),
    (c"PMPI_Message_f2c", c"PMPI_Message_fromint"),
    (c"PMPI_Op_f2c", c"PMPI_Op_fromint"),
    (c"PMPI_Win_f2c", c"PMPI_Win_fromint"),
    (c"PMPI_File_f2c", c"PMPI_File_fromint"),
];

/// `None`: a C handle is the same number.
type Function = Option<unsafe extern "C" fn(c_int) -> Word>;

static TRANSLATION: SetOnce<[Function; FUNCTIONS.len()]> = SetOnce::new();

/// The predefined datatypes by their Fortran handles, which never mean anything else, where these are small numbers; 0 for all others.
static PREDEFINED: SetOnce<[Word; 128]> = SetOnce::new();

/// Returns whether all kinds of handles can be translated.
pub fn prepare() -> bool {
    let mut found: [Function; FUNCTIONS.len()] = [None; FUNCTIONS.len()];
    let mut complete = true;
    let is_int = abi().family.handle_bytes == size_of::<c_int>();
    for (index, (usual, standard)) in FUNCTIONS.into_iter().enumerate() {
        // A file is a pointer in all families. A library may have been built without files.
        let is_file = index == Object::File as usize;
        if is_int && !is_file {
            continue;
        }
        let function = [usual, standard].into_iter().map(real::symbol).find(|function| !function.is_null());
        complete &= function.is_some() || is_file;
        // SAFETY: this is their type where handles are pointers.
        found[index] = function.map(|function| unsafe { std::mem::transmute(function) });
    }
    let mut predefined = [0; 128];
    if let Some(translate) = found[Object::Datatype as usize] {
        for (fortran, c) in predefined.iter_mut().enumerate() {
            // SAFETY: the function takes any number.
            let datatype = unsafe { translate(fortran as c_int) };
            *c = datatypes::predefined(datatype).map_or(0, |_| datatype);
        }
    }
    // SAFETY: called in `MPI_Init`, before recording starts.
    unsafe {
        TRANSLATION.set(found);
        PREDEFINED.set(predefined);
    }
    complete
}

/// Whether Fortran handles of this kind lie in memory just as C handles do.
#[inline(always)]
pub fn is_same(object: Object) -> bool {
    // SAFETY: `prepare` has run before recording started.
    let translation = unsafe { TRANSLATION.get() };
    translation[object as usize].is_none()
}

/// The C handle for the Fortran handle that stands at a place.
#[inline(always)]
pub unsafe fn handle(object: Object, place: Word) -> Word {
    // SAFETY: Fortran passes INTEGERs by reference; the function is the library's own translation, which takes any number.
    unsafe {
        let fortran = *(place as *const c_int);
        match TRANSLATION.get()[object as usize] {
            None => fortran as u32 as Word,
            Some(translate) => translate(fortran),
        }
    }
}

/// The same of a communicator: those that the thread's calls were given before are known.
#[inline(always)]
pub unsafe fn comm(thread: &Thread, place: Word) -> Word {
    // SAFETY: as above.
    unsafe {
        let fortran = *(place as *const c_int);
        match TRANSLATION.get()[Object::Comm as usize] {
            None => fortran as u32 as Word,
            Some(translate) => match thread.translated.comm(fortran) {
                Some(known) => known,
                None => thread.translated.asked(fortran, |fortran| translate(fortran)),
            },
        }
    }
}

/// The same of a datatype: predefined ones are known.
#[inline(always)]
pub unsafe fn datatype(place: Word) -> Word {
    // SAFETY: as above.
    unsafe {
        let fortran = *(place as *const c_int);
        match TRANSLATION.get()[Object::Datatype as usize] {
            None => fortran as u32 as Word,
            Some(translate) => match PREDEFINED.get().get(fortran as u32 as usize) {
                Some(known) if *known != 0 => *known,
                _ => translate(fortran),
            },
        }
    }
}
