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
        wrappers! { Ucp: $(
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
        wrappers! { Ucp: $(
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
