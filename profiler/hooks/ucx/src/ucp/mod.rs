//! The layer above: what the MPI library asks of UCX.

mod active;
mod atomic;
mod complete;
mod datatype;
mod flush;
mod functions;
mod identity;
mod known;
mod lifecycle;
mod older;
mod params;
mod post;
mod request;
mod rma;
mod stream;
mod tag;

use crate::abi::ucs::{self, Status, StatusPtr};

/// What a wrapper returns where the library has no such function.
trait Missing {
    const MISSING: Self;
}

impl Missing for Status {
    const MISSING: Status = ucs::ERR_UNSUPPORTED;
}

impl Missing for StatusPtr {
    const MISSING: StatusPtr = ucs::ERR_UNSUPPORTED as isize as StatusPtr;
}

impl Missing for () {
    const MISSING: () = ();
}

/// Functions that stand in front of those of the library, each with the library's own as a parameter.
macro_rules! wrappers {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? { |$real:ident| $body:block })*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) $(-> $result)? {
            let Some($real) = real!(Ucp, $name, unsafe extern "C-unwind" fn($($type),*) $(-> $result)?) else {
                return $crate::ucp::Missing::MISSING;
            };
            // SAFETY: the program's arguments, passed on as they are.
            unsafe { $body }
        }
    )*};
}
use wrappers;
