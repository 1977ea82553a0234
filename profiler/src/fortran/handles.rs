//! From Fortran handles, which are INTEGERs, to C handles.

use std::ffi::{CStr, c_int};

use crate::guest::set_once::SetOnce;
use crate::mpi::abi::{Word, abi};
use crate::mpi::real;
use crate::objects::datatypes;

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

/// The predefined communicators and datatypes by their Fortran handles, which never mean anything else, where these are small numbers; 0 for
/// all others. A handle that can be freed is asked for each time: it may be freed by its `PMPI_` name, which nobody here sees, and given again.
static COMMS: SetOnce<[Word; 8]> = SetOnce::new();
static DATATYPES: SetOnce<[Word; 128]> = SetOnce::new();

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
    let own = [abi().world, abi().comm_self];
    // SAFETY: called in `MPI_Init`, before recording starts.
    unsafe {
        COMMS.set(known(found[Object::Comm as usize], |comm| own.contains(&comm)));
        DATATYPES.set(known(found[Object::Datatype as usize], |datatype| datatypes::predefined(datatype).is_some()));
        TRANSLATION.set(found);
    }
    complete
}

/// What the lowest Fortran handles are, as far as that is predefined.
fn known<const COUNT: usize>(translate: Function, is_predefined: impl Fn(Word) -> bool) -> [Word; COUNT] {
    // SAFETY: the function takes any number.
    let c = |fortran: usize| translate.map(|translate| unsafe { translate(fortran as c_int) });
    std::array::from_fn(|fortran| c(fortran).filter(|handle| is_predefined(*handle)).unwrap_or(0))
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

/// The same, where `known` has predefined ones.
#[inline(always)]
unsafe fn mostly_known(object: Object, known: &[Word], place: Word) -> Word {
    // SAFETY: as above.
    unsafe {
        let fortran = *(place as *const c_int);
        match TRANSLATION.get()[object as usize] {
            None => fortran as u32 as Word,
            Some(translate) => match known.get(fortran as u32 as usize) {
                Some(known) if *known != 0 => *known,
                _ => translate(fortran),
            },
        }
    }
}

#[inline(always)]
pub unsafe fn comm(place: Word) -> Word {
    // SAFETY: as above.
    unsafe { mostly_known(Object::Comm, COMMS.get(), place) }
}

#[inline(always)]
pub unsafe fn datatype(place: Word) -> Word {
    // SAFETY: as above.
    unsafe { mostly_known(Object::Datatype, DATATYPES.get(), place) }
}
