//! `MPI_Type_free`, which is no operation of the profile: only a handle that is given again is recognised by it.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::fortran::{self, Object};
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::mpi::presence::where_present;
use crate::mpi::real;
use crate::objects::datatypes;

static FUNCTION: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

where_present! {
    pub unsafe extern "C-unwind" fn MPI_Type_free(datatype: Word) -> c_int {
        let mut function = FUNCTION.load(Ordering::Relaxed);
        if function.is_null() {
            function = real::symbol(c"PMPI_Type_free");
            FUNCTION.store(function, Ordering::Relaxed);
        }
        if datatypes::are_recorded() && !state::is_off() && datatype != 0 {
            // SAFETY: the program passes the place of a handle.
            datatypes::forget(unsafe { abi().load(datatype) });
        }
        // SAFETY: every MPI library has this function, and this is its type.
        unsafe {
            let function: unsafe extern "C-unwind" fn(Word) -> c_int = std::mem::transmute(function);
            function(datatype)
        }
    }
}

/// In Fortran, in all forms in which compilers write it.
macro_rules! entry_points {
    ($($name:ident $text:literal $f08:literal;)*) => {$(
        where_present! { pub unsafe extern "C-unwind" fn $name(datatype: Word, ierror: Word) -> Word {
            static ENTRY: fortran::Entry = fortran::Entry::new($text, $f08, false, false);
            // SAFETY: the type is that of the function in Fortran.
            unsafe {
                let real: unsafe extern "C-unwind" fn(Word, Word) -> Word = std::mem::transmute(ENTRY.real());
                if datatypes::are_recorded() && fortran::understood(&ENTRY) {
                    datatypes::forget(fortran::handle(Object::Datatype, datatype));
                }
                real(datatype, ierror)
            }
        } }
    )*};
}

entry_points! {
    mpi_type_free_ c"mpi_type_free_" false;
    mpi_type_free c"mpi_type_free" false;
    mpi_type_free__ c"mpi_type_free__" false;
    MPI_TYPE_FREE c"MPI_TYPE_FREE" false;
    mpi_type_free_f08_ c"mpi_type_free_f08_" true;
}
