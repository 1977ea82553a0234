//! The objects whose addresses Fortran programs pass for "in place" and "ignore".

use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::mpi::abi::Word;
use crate::mpi::real;

struct Sentinels {
    in_place: Addresses,
    ignored: Addresses,
}

/// The addresses that mean one thing.
struct Addresses {
    /// Of exported objects.
    objects: Vec<Word>,
    /// The lowest of these, and how far the others go.
    lowest: Word,
    span: usize,
    /// Of exported variables in which one stands, which may be set later.
    variables: Vec<Word>,
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
    let found = Sentinels {
        in_place: Addresses::find(&IN_PLACE, &IN_PLACE_VARIABLES),
        ignored: Addresses::find(&IGNORED, &IGNORED_VARIABLES),
    };
    let known = known().map_or(0, |known| known.in_place.count() + known.ignored.count());
    if found.in_place.count() + found.ignored.count() > known {
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

impl Addresses {
    fn find(objects: &[&CStr], variables: &[&CStr]) -> Addresses {
        let there_are = |names: &[&CStr]| names.iter().filter_map(|name| real::data_anywhere(name)).collect::<Vec<_>>();
        let (objects, variables) = (there_are(objects), there_are(variables));
        let lowest = objects.iter().copied().min().unwrap_or(0);
        let span = objects.iter().copied().max().unwrap_or(0) - lowest;
        Addresses { objects, lowest, span, variables }
    }

    fn count(&self) -> usize {
        self.objects.len() + self.variables.len()
    }

    /// What a program passes otherwise lies elsewhere most often, and takes two comparisons.
    #[inline(always)]
    fn have(&self, address: Word) -> bool {
        address.wrapping_sub(self.lowest) <= self.span && self.objects.contains(&address)
            // SAFETY: the addresses of pointers that the library exports.
            || self.variables.iter().any(|variable| unsafe { *(*variable as *const Word) == address })
    }
}

pub fn is_in_place(address: Word) -> bool {
    known().is_some_and(|known| known.in_place.have(address))
}

/// The latest address that does. It lies in the library's data for good.
static LATEST_IGNORED: AtomicUsize = AtomicUsize::new(0);

/// Whether an address stands for `MPI_STATUS_IGNORE` or `MPI_STATUSES_IGNORE`.
#[inline(always)]
pub fn is_ignored_status(address: Word) -> bool {
    address == LATEST_IGNORED.load(Ordering::Relaxed) && address != 0 || is_ignored_otherwise(address)
}

#[inline(never)]
fn is_ignored_otherwise(address: Word) -> bool {
    let is_it = known().is_some_and(|known| known.ignored.have(address));
    if is_it {
        LATEST_IGNORED.store(address, Ordering::Relaxed);
    }
    is_it
}
