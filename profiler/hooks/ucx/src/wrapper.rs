//! Functions that stand in front of those of the libraries.

use crate::abi::ucs::{self, Status, StatusPtr};

/// What a wrapper returns where the library has no such function.
pub trait Missing {
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

/// `Library: fn name(arguments) -> result { |real| body }`, with the library's own function as a parameter.
macro_rules! wrappers {
    ($library:ident: $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? { |$real:ident| $body:block })*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) $(-> $result)? {
            let Some($real) = real!($library, $name, unsafe extern "C-unwind" fn($($type),*) $(-> $result)?) else {
                return $crate::wrapper::Missing::MISSING;
            };
            // SAFETY: the program's arguments, passed on as they are.
            unsafe { $body }
        }
    )*};
}
pub(crate) use wrappers;
