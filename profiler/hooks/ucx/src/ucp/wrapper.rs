//! Functions that stand in front of those of the library.

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

/// `fn name(arguments) -> result { |real| body }`, with the library's own function as a parameter.
macro_rules! wrappers {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? { |$real:ident| $body:block })*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) $(-> $result)? {
            let Some($real) = real!(Ucp, $name, unsafe extern "C-unwind" fn($($type),*) $(-> $result)?) else {
                return $crate::ucp::wrapper::Missing::MISSING;
            };
            // SAFETY: the program's arguments, passed on as they are.
            unsafe { $body }
        }
    )*};
}
pub(super) use wrappers;

/// Functions that begin an operation, and return a request where it goes on: `fn name(arguments; param) on handle, of buffer, count;`.
/// Each is counted under its own name, for an endpoint or a worker. `+ bytes` stand before the message.
macro_rules! posts {
    ($(
        fn $name:ident($($argument:ident: $type:ty),*; $param:ident)
            on $side:ident($handle:ident), of $buffer:expr, $count:expr $(, + $more:expr)?;
    )*) => {
        wrappers! {$(
            fn $name($($argument: $type,)* $param: *const RequestParam) -> StatusPtr {
                |real| {
                    match begin(Function::$name, To::$side($handle)) {
                        Some(posting) => {
                            $(posting.add_bytes($more);)?
                            let data = Data { buffer: $buffer.cast(), count: $count };
                            posting.request(data, $param, |param| real($($argument,)* param))
                        }
                        None => real($($argument,)* $param),
                    }
                }
            }
        )*}
    };
}
pub(super) use posts;

/// Older functions, which are posted as newer ones with parameters from [`older`](super::older):
/// `fn name(arguments) as newer(its arguments; parameters): its type, on handle, of buffer, count;`. Some return another thing than a request.
macro_rules! older_posts {
    ($(
        fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty | $told:expr;)?
            as $newer:ident($($given:expr),*; $param:expr): $newer_type:ty,
            on $side:ident($handle:ident), of $buffer:expr, $count:expr;
    )*) => {
        wrappers! {$(
            fn $name($($argument: $type),*) -> older_posts!(@result $($result)?) {
                |real| {
                    let Some(newer) = real!(Ucp, $newer, $newer_type) else { return real($($argument),*) };
                    let Some(posting) = begin(Function::$name, To::$side($handle)) else { return real($($argument),*) };
                    let (data, param) = (Data { buffer: $buffer.cast(), count: $count }, $param);
                    let returned = posting.request(data, &raw const param, |param| newer($($given,)* param));
                    $(let returned = $told(returned);)?
                    returned
                }
            }
        )*}
    };
    (@result) => { StatusPtr };
    (@result $result:ty) => { $result };
}
pub(super) use older_posts;

/// Functions that tell only whether an operation of so many bytes could be posted: `fn name(arguments) on handle, of bytes;`.
macro_rules! status_posts {
    ($(fn $name:ident($($argument:ident: $type:ty),*) on $side:ident($handle:ident), of $bytes:expr;)*) => {
        wrappers! {$(
            fn $name($($argument: $type),*) -> Status {
                |real| {
                    match begin(Function::$name, To::$side($handle)) {
                        Some(posting) => posting.status($bytes as u64, || real($($argument),*)),
                        None => real($($argument),*),
                    }
                }
            }
        )*}
    };
}
pub(super) use status_posts;
