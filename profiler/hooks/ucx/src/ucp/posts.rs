//! The wrappers of functions that begin an operation: those that are alike are rows.

/// Functions that begin an operation, and return a request where it goes on: `fn name(arguments; param) on handle, of buffer, count;`.
/// Each is counted under its own name, for an endpoint or a worker. `+ bytes` stand before the message.
macro_rules! posts {
    ($(
        fn $name:ident($($argument:ident: $type:ty),*; $param:ident)
            on $side:ident($handle:ident), of $buffer:expr, $count:expr $(, + $more:expr)?;
    )*) => {
        wrappers! { Ucp: $(
            fn $name($($argument: $type,)* $param: *const RequestParam) -> StatusPtr {
                |real| {
                    let data = Data { buffer: $buffer.cast(), count: $count, more_bytes: 0 $(+ $more)? };
                    let to = To::$side($handle);
                    request(Function::$name, to, data, $param, &mut |param| real($($argument,)* param))
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
        wrappers! { Ucp: $(
            fn $name($($argument: $type),*) -> older_posts!(@result $($result)?) {
                |real| {
                    let Some(newer) = real!(Ucp, $newer, $newer_type) else { return real($($argument),*) };
                    let data = Data { buffer: $buffer.cast(), count: $count, more_bytes: 0 };
                    let (to, param) = (To::$side($handle), $param);
                    let run = &mut |param| newer($($given,)* param);
                    let returned = request(Function::$name, to, data, &raw const param, run);
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

/// Functions that tell only whether an operation of so many bytes could be posted: `fn name(arguments) on handle, of bytes;`. What goes on then
/// is found again by its buffers: `from near and far`.
macro_rules! status_posts {
    ($(fn $name:ident($($argument:ident: $type:ty),*) on $side:ident($handle:ident), of $bytes:expr $(, from $near:ident and $far:ident)?;)*) => {
        wrappers! { Ucp: $(
            fn $name($($argument: $type),*) -> Status {
                |real| {
                    status(Function::$name, To::$side($handle), $bytes, status_posts!(@from $($near, $far)?), &mut || {
                        real($($argument),*)
                    })
                }
            }
        )*}
    };
    (@from) => { None };
    (@from $near:ident, $far:ident) => { Some(($near as usize, $far)) };
}
pub(super) use status_posts;
