//! What differs between MPI libraries: predefined handles, sentinels, the width of a handle, the layout of a status.
//! One small table per ABI family. Which one applies is read off the loaded library, never known when commsee is built.

mod family;
mod mpi5;
mod mpich;
mod openmpi;

use std::ffi::c_int;

use vocabulary::calls::op;

use family::SHARED_REQUESTS;
pub use family::{Count, Datatypes, Family, Handle, SharedRequests, Status, Word};

use crate::guest::set_once::SetOnce;
use crate::mpi::real;

/// No handle of any family.
const NO_REQUEST: Word = Word::MAX;

/// The family in force with its handles resolved.
pub struct Abi {
    pub family: &'static Family,
    pub handle_bytes: usize,
    /// Clears what a caller leaves undefined in a word that holds a handle.
    pub mask: Word,
    pub world: Word,
    pub comm_self: Word,
    pub comm_null: Word,
    pub request_null: Word,
    shared_requests: [Word; SHARED_REQUESTS],
    shared_requests_mask: Word,
    pub errors_return: Word,
    pub info_null: Word,
    pub datatype_null: Word,
    pub byte: Word,
    pub no_op: Word,
    pub proc_null: c_int,
    pub root: c_int,
    pub in_place: Word,
    pub status_ignore: Word,
    pub status: Status,
    /// Where `MPI_Waitall` fails that is given no statuses, it frees all requests; given statuses, those up to the one that failed. So do MPICH since
    /// 4.2 and what is made of it.
    pub frees_all_without_statuses: bool,
    /// `MPI_Waitall` that is given statuses says there alone that a persistent request has failed, and returns `MPI_SUCCESS`; given none, it returns the
    /// error. So do Open MPI 4.1 and 5 up to 5.0.9; since then there is none to be found.
    pub hides_errors: bool,
}

impl Abi {
    /// Whether requests of several threads may have this handle at the same time, as far as that is known.
    #[inline(always)]
    pub fn is_shared_request(&self, handle: Word) -> bool {
        self.shared_requests.contains(&(handle & self.shared_requests_mask))
    }

    /// Those of these that are known one by one.
    pub fn shared_requests(&self) -> impl Iterator<Item = Word> {
        let are_listed = matches!(self.family.shared_requests, SharedRequests::Symbols(_));
        self.shared_requests.into_iter().filter(move |request| are_listed && *request != NO_REQUEST)
    }

    pub fn is_openmpi(&self) -> bool {
        self.family.id == openmpi::FAMILY.id
    }

    /// Reads a handle that the program or the library stored.
    #[inline(always)]
    pub unsafe fn load(&self, place: Word) -> Word {
        // SAFETY: the caller passes the address of a handle of this family.
        unsafe {
            match self.handle_bytes {
                4 => *(place as *const u32) as Word,
                _ => *(place as *const u64) as Word,
            }
        }
    }

    /// A handle that a call has made, or `null` where the program passed no place for it: then the call is wrong, and yet may seem to have
    /// succeeded. Where the program has a handler of its own for errors, MPICH since 4.2 tells nobody else of one.
    #[inline(always)]
    pub unsafe fn load_made(&self, place: Word, null: Word) -> Word {
        // SAFETY: as above.
        if place == 0 { null } else { unsafe { self.load(place) } }
    }

    /// The same of a number that a call tells; 0 where there is no place for it.
    #[inline(always)]
    pub unsafe fn told(place: Word) -> c_int {
        // SAFETY: the caller passes the address of a number that the library has filled.
        if place == 0 { 0 } else { unsafe { *(place as *const c_int) } }
    }

    /// How a datatype is built, by what `MPI_Type_get_envelope` says.
    pub fn combiner(&self, value: c_int) -> Option<&'static str> {
        self.family.combiners.iter().find(|(known, _)| *known == value).map(|(_, name)| *name)
    }

    /// The handle at a place in an array of handles.
    #[inline(always)]
    pub unsafe fn load_at(&self, array: Word, index: usize) -> Word {
        // SAFETY: the caller passes an array that has this many handles.
        unsafe { self.load(array + index * self.handle_bytes) }
    }
}

static ABI: SetOnce<Abi> = SetOnce::new();

/// The ABI in force. Only to be asked where `detect` has succeeded: by wrappers that found recording on, and in the
/// slow paths behind it.
#[inline(always)]
pub fn abi() -> &'static Abi {
    // SAFETY: see above.
    unsafe { ABI.get() }
}

/// Finds the family of the loaded library and puts it in force; the error says what was found instead.
pub fn detect() -> Result<(), String> {
    let family = family_of_library()?;
    let resolve = |handle: Handle| match handle {
        Handle::Value(value) => Ok(value),
        Handle::Symbol(name) => {
            real::data(name).ok_or_else(|| format!("the MPI library lacks {}", name.to_string_lossy()))
        }
    };
    let (shared_requests_mask, shared_requests) = match family.shared_requests {
        SharedRequests::Unknown => (0, [NO_REQUEST; SHARED_REQUESTS]),
        SharedRequests::Symbols(names) => (Word::MAX, names.map(|name| real::data(name).unwrap_or(NO_REQUEST))),
        SharedRequests::Bits { mask, value } => (mask, [value; SHARED_REQUESTS]),
    };
    let found = Abi {
        family,
        handle_bytes: family.handle_bytes,
        mask: if family.handle_bytes == 4 { u32::MAX as Word } else { Word::MAX },
        world: resolve(family.world)?,
        comm_self: resolve(family.comm_self)?,
        comm_null: resolve(family.comm_null)?,
        request_null: resolve(family.request_null)?,
        shared_requests,
        shared_requests_mask,
        errors_return: resolve(family.errors_return)?,
        info_null: resolve(family.info_null)?,
        datatype_null: resolve(family.datatype_null)?,
        byte: resolve(family.byte)?,
        no_op: resolve(family.no_op)?,
        proc_null: family.proc_null,
        root: family.root,
        in_place: family.in_place,
        status_ignore: family.status_ignore,
        status: family.status,
        frees_all_without_statuses: frees_all_without_statuses(family),
        hides_errors: family.id == openmpi::FAMILY.id,
    };
    // SAFETY: `MPI_Init` has just returned, recording is off.
    unsafe { ABI.set(found) };
    Ok(())
}

/// What `MPI_Get_library_version` says; it may be called at any time.
pub fn library_version() -> String {
    // Longer than any MPI_MAX_LIBRARY_VERSION_STRING: 256 in Open MPI, 8192 in MPICH.
    let mut text = vec![0u8; 16 * 1024];
    let mut length: c_int = 0;
    real::get_library_version(&mut text, &mut length);
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&text[..end]).trim().to_owned()
}

fn family_of_library() -> Result<&'static Family, String> {
    let version = library_version();
    if version.is_empty() && !real::exists(op::MPI_Init) {
        return Err("no MPI library is loaded".to_owned());
    }
    if real::standard_abi() {
        return Ok(&mpi5::FAMILY);
    }
    let translated = || format!("a library with another ABI stands before '{}'", first_line(&version));
    if version.starts_with("Open MPI") || real::data(c"ompi_mpi_comm_world").is_some() {
        let major = version.split(" v").nth(1).and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
        return match major {
            Some(3..=6) if real::has_library(c"ompi_mpi_comm_world") => Ok(&openmpi::FAMILY),
            Some(3..=6) => Err(translated()),
            _ => Err(format!("'{}' is no Open MPI whose ABI is known (3 to 6 are)", first_line(&version))),
        };
    }
    if is_derived_from_mpich(&version) {
        // MPI_DUP_FN of MPICH's mpi.h.
        return if real::has_library(c"MPIR_Dup_fn") { Ok(&mpich::FAMILY) } else { Err(translated()) };
    }
    Err(format!("'{}' is of no known ABI family", first_line(&version)))
}

/// The libraries of the MPICH ABI compatibility initiative, and others derived from MPICH.
fn is_derived_from_mpich(version: &str) -> bool {
    ["MPICH", "Intel(R) MPI", "CRAY MPICH", "MVAPICH", "ParaStation MPI"].iter().any(|name| version.contains(name))
}

/// MPICH got both this and MPI 4.1 with its version 4.2; some libraries that are made of it do not tell of which version.
fn frees_all_without_statuses(family: &Family) -> bool {
    let is_mpich = || family.id == mpich::FAMILY.id || is_derived_from_mpich(&library_version());
    real::exists(op::MPI_Request_get_status_all) && is_mpich()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("").trim()
}
