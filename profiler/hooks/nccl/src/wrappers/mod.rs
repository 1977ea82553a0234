//! Functions that stand in front of the libraries' own.

mod nccl;
mod oneccl;

/// Functions of a vendor, each with the call of the library's own as a parameter.
macro_rules! wrappers {
    ($vendor:ident: $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) { |$real:ident| $body:expr })*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $crate::abi::Code {
            let Some(function) = $crate::library::real!($vendor, $name, unsafe extern "C-unwind" fn($($type),*) -> $crate::abi::Code) else {
                return $crate::abi::INVALID_USAGE;
            };
            // SAFETY: the program's own arguments, passed on as they are.
            let $real = || unsafe { function($($argument),*) };
            $body
        }
    )*};
}
use wrappers;

/// Collectives over one datatype: what they are, what stands between the datatype and the communicator, who their root is, and what stands
/// behind the stream.
macro_rules! collectives {
    ($vendor:ident: $($name:ident $function:ident ($($between:ident),*) $root:tt [$($behind:ident),*];)*) => {$(
        $crate::wrappers::wrappers! {
            $vendor:
            fn $name(
                send: *const std::ffi::c_void,
                receive: *mut std::ffi::c_void,
                count: usize,
                datatype: std::ffi::c_int,
                $($between: std::ffi::c_int,)*
                comm: $crate::abi::Handle,
                stream: $crate::abi::Stream,
                $($behind: *const std::ffi::c_void,)*
            ) { |real| {
                let amount = || $crate::calls::Amount::Of(count, datatype);
                $crate::calls::operate::<$crate::library::$vendor>(
                    $crate::functions::Function::$function, comm, amount, $crate::wrappers::root!($root), real,
                )
            } }
        }
    )*};
}
use collectives;

/// `none`, or the argument.
macro_rules! root {
    (none) => {
        -1
    };
    ($root:ident) => {
        $root
    };
}
use root;

/// Functions that move no data: what they are, and the communicator that they are called on, or `none`.
macro_rules! controls {
    ($vendor:ident: $($name:ident $function:ident ($($argument:ident: $type:ty),*) $comm:tt;)*) => {
        $crate::wrappers::wrappers! {
            $vendor: $(
            fn $name($($argument: $type),*) { |real|
                $crate::calls::control::<$crate::library::$vendor>(
                    $crate::functions::Function::$function, $crate::wrappers::on!($comm), real,
                )
            })*
        }
    };
}
use controls;

macro_rules! on {
    (none) => {
        std::ptr::null_mut()
    };
    ($comm:ident) => {
        $comm
    };
}
use on;
