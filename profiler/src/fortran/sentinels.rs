//! The objects whose addresses Fortran programs pass for "in place" and "ignore".

use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::mpi::abi::Word;
use crate::mpi::real;

struct Sentinels {
    in_place: Vec<Sentinel>,
    ignored: Vec<Sentinel>,
}

/// How a library tells the address.
enum Sentinel {
    /// It is that of an exported object.
    Object(Word),
    /// It stands in an exported variable, which may be set later.
    Variable(Word),
}

/// In Open MPI (one name per way to write it), in MPICH (`mpi_f08`).
const IN_PLACE: [&CStr; 5] = [
    c"mpi_fortran_in_place_",
    c"mpi_fortran_in_place",
    c"mpi_fortran_in_place__",
    c"MPI_FORTRAN_IN_PLACE",
    c"MPIR_F08_MPI_IN_PLACE",
];
const IN_PLACE_VARIABLES: [&CStr; 1] = [c"MPIR_F_MPI_IN_PLACE"];

const IGNORED: [&CStr; 10] = [
    c"mpi_fortran_status_ignore_",
    c"mpi_fortran_status_ignore",
    c"mpi_fortran_status_ignore__",
    c"MPI_FORTRAN_STATUS_IGNORE",
    c"mpi_fortran_statuses_ignore_",
    c"mpi_fortran_statuses_ignore",
    c"mpi_fortran_statuses_ignore__",
    c"MPI_FORTRAN_STATUSES_IGNORE",
    c"MPIR_F08_MPI_STATUS_IGNORE_OBJ",
    c"MPIR_F08_MPI_STATUSES_IGNORE_OBJ",
];
/// The first four are standard (MPI-4.1, 19.3.5).
const IGNORED_VARIABLES: [&CStr; 4] =
    [c"MPI_F_STATUS_IGNORE", c"MPI_F_STATUSES_IGNORE", c"MPI_F08_STATUS_IGNORE", c"MPI_F08_STATUSES_IGNORE"];

static SENTINELS: AtomicPtr<Sentinels> = AtomicPtr::new(ptr::null_mut());

/// Finds the sentinels that are there by now: the library's Fortran layer may be loaded late, by a plugin. Called whenever a
/// Fortran symbol is first used.
pub fn prepare() {
    wake_up();
    let find = |objects: &[&CStr], variables: &[&CStr]| {
        let objects = objects.iter().filter_map(|name| real::data_anywhere(name)).map(Sentinel::Object);
        let variables = variables.iter().filter_map(|name| real::data_anywhere(name)).map(Sentinel::Variable);
        objects.chain(variables).collect::<Vec<_>>()
    };
    let found =
        Sentinels { in_place: find(&IN_PLACE, &IN_PLACE_VARIABLES), ignored: find(&IGNORED, &IGNORED_VARIABLES) };
    let known = known().map_or(0, |known| known.in_place.len() + known.ignored.len());
    if found.in_place.len() + found.ignored.len() > known {
        // Those known before stay where they are: another thread may be looking at them.
        SENTINELS.store(Box::into_raw(Box::new(found)), Ordering::Release);
    }
}

/// MPICH's Fortran layer learns the addresses in the first call into it, whichever that is, and asks of sentinels come
/// before the call that is recorded.
fn wake_up() {
    let function = real::symbol_anywhere(c"pmpi_initialized_");
    if !function.is_null() {
        let (mut flag, mut error): (c_int, c_int) = (0, 0);
        // SAFETY: the type is that of the function in Fortran, which may be called at any time.
        unsafe {
            let initialized: unsafe extern "C" fn(*mut c_int, *mut c_int) = std::mem::transmute(function);
            initialized(&mut flag, &mut error);
        }
    }
}

fn known() -> Option<&'static Sentinels> {
    // SAFETY: null, or what `prepare` stored and nobody frees.
    unsafe { SENTINELS.load(Ordering::Acquire).as_ref() }
}

impl Sentinel {
    #[inline(always)]
    fn is(&self, address: Word) -> bool {
        match self {
            Sentinel::Object(object) => *object == address,
            // SAFETY: the address of a pointer that the library exports.
            Sentinel::Variable(variable) => unsafe { *(*variable as *const Word) == address },
        }
    }
}

pub fn is_in_place(address: Word) -> bool {
    known().is_some_and(|known| known.in_place.iter().any(|sentinel| sentinel.is(address)))
}

/// Whether an address stands for `MPI_STATUS_IGNORE` or `MPI_STATUSES_IGNORE`.
pub fn is_ignored_status(address: Word) -> bool {
    known().is_some_and(|known| known.ignored.iter().any(|sentinel| sentinel.is(address)))
}
