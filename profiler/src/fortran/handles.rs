//! From Fortran handles, which are INTEGERs, to C handles.

use std::ffi::{CStr, c_int, c_void};

use crate::guest::set_once::SetOnce;
use crate::mpi::abi::{Word, abi};
use crate::mpi::real;
use crate::objects::{datatypes, requests};

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

/// Where C handles are addresses, a request that Fortran is given goes by its Fortran handle, with a bit that no address has: to translate it would
/// take some fifty instructions each time, and make the library give it a place in a table. Who started one in C and completes it in Fortran,
/// or the other way round, is found by its other name ([`other_name`]).
const OF_FORTRAN: Word = 1 << (Word::BITS - 1);

/// The C handles of requests with the lowest Fortran handles, as far as they are the null request or one that the library gives to several sends at a
/// time: that must be one thing in both languages. 0 for all others.
static REQUESTS: SetOnce<[Word; 8]> = SetOnce::new();

/// The null request in Fortran; [`ARE_TRANSLATED`] where requests are.
static NULL_REQUEST: SetOnce<i64> = SetOnce::new();
const ARE_TRANSLATED: i64 = i64::MAX;

/// The usual name, and that of the standard ABI.
const REQUEST_C2F: [&CStr; 2] = [c"PMPI_Request_c2f", c"PMPI_Request_toint"];

type ToFortran = unsafe extern "C" fn(Word) -> c_int;

static REQUEST_TO_FORTRAN: SetOnce<Option<ToFortran>> = SetOnce::new();

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
        let to_fortran = found[Object::Request as usize].and_then(|_| {
            let function = REQUEST_C2F.into_iter().map(real::symbol).find(|function| !function.is_null())?;
            // SAFETY: this is its type.
            Some(std::mem::transmute::<*mut c_void, ToFortran>(function))
        });
        REQUEST_TO_FORTRAN.set(to_fortran);
        NULL_REQUEST.set(to_fortran.map_or(ARE_TRANSLATED, |to_fortran| to_fortran(abi().request_null).into()));
        requests::prepare(to_fortran.map(|_| other_name as requests::OtherName));
        // The library may give them Fortran handles now only, low ones.
        to_fortran.iter().for_each(|to_fortran| abi().shared_requests().for_each(|request| _ = to_fortran(request)));
        let is_common = |request: Word| request == abi().request_null || abi().is_shared_request(request);
        REQUESTS.set(known(found[Object::Request as usize], is_common));
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
        if object == Object::Request && *NULL_REQUEST.get() != ARE_TRANSLATED {
            return match REQUESTS.get().get(fortran as u32 as usize) {
                Some(common) if *common != 0 => *common,
                _ if i64::from(fortran) == *NULL_REQUEST.get() => abi().request_null,
                _ => OF_FORTRAN | fortran as u32 as Word,
            };
        }
        match TRANSLATION.get()[object as usize] {
            None => fortran as u32 as Word,
            Some(translate) => translate(fortran),
        }
    }
}

/// Whether this is by what a request goes in Fortran.
pub fn is_of_fortran(request: Word) -> bool {
    abi().handle_bytes == size_of::<Word>() && request & OF_FORTRAN != 0
}

/// By what a request goes in the other language, if it can be told.
fn other_name(handle: Word) -> Option<Word> {
    // SAFETY: asked once recording has started. These functions take any number, and any request.
    unsafe {
        if handle & OF_FORTRAN == 0 {
            let to_fortran = (*REQUEST_TO_FORTRAN.get()).filter(|_| handle != 0)?;
            return Some(OF_FORTRAN | to_fortran(handle) as u32 as Word);
        }
        let translate = TRANSLATION.get()[Object::Request as usize]?;
        Some(translate(handle as u32 as c_int)).filter(|handle| *handle != 0)
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
