//! How a wrapper calls the real function.

use std::ffi::c_int;

use crate::guest::clock;
use crate::guest::guard::recorded;
use crate::guest::short_path::Path;
use crate::mpi::abi::Word;
use crate::record::carriers::Carrier;
use crate::record::in_flight::{self, Inside};
use crate::record::tally;
use crate::thread::Thread;

/// The real function of an operation, as the type that the wrapper's own arguments give.
macro_rules! real_function {
    ($operation:ident, fn($($argument:ty),*)) => {{
        let function = $crate::mpi::real::function(vocabulary::calls::op::$operation as usize);
        // SAFETY: the type repeats the function's declaration in the standard.
        unsafe { std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C-unwind" fn($($argument),*) -> std::ffi::c_int>(function) }
    }};
}
pub(crate) use real_function;

/// Runs the real function between two readings of the clock, with a note of where the thread stands: in a call over the
/// communicator of this record, or in a call that no shard knows of, because there is none yet. With the path first, where the
/// wrapper has two; with the level behind the thread where the call has taken it before. One that is `staying` there has to give it back.
macro_rules! timed {
    ($path:ident, $thread:ident at $taken:ident, $record:expr, $operation:ident, $call:expr) => {{
        let record = $record;
        let level = $taken.level_here::<$path>($thread);
        $crate::wrappers::forward::timed!(level, leave_begun, $path, $thread, record, $operation, $call)
    }};
    ($path:ident, $thread:ident staying at $taken:ident, $record:expr, $operation:ident, $call:expr) => {{
        let record = $record;
        let level = $taken.level_here::<$path>($thread);
        $crate::wrappers::forward::timed!(level, leave_looking, $path, $thread, record, $operation, $call)
    }};
    ($path:ident, $thread:ident, $record:expr, $operation:ident, $call:expr) => {{
        let record = $record;
        let level = $crate::record::in_flight::free_level::<$path>($thread);
        $crate::wrappers::forward::timed!(level, leave_begun, $path, $thread, record, $operation, $call)
    }};
    ($level:ident, $leave:ident, $path:ident, $thread:ident, $record:ident, $operation:ident, $call:expr) => {{
        let begin = $crate::guest::clock::now_on::<$path>();
        let operation = vocabulary::calls::op::$operation;
        let place = $crate::record::in_flight::enter_over::<$path>($thread, $level, $record, operation, begin);
        // Where it stands in an unsafe block already, this one is not needed.
        // SAFETY: the program passes what the function takes, and it is passed on.
        #[allow(unused_unsafe)]
        let code = unsafe { $call };
        let end = $crate::guest::clock::now_on::<$path>();
        let begin = $crate::record::in_flight::$leave::<$path>(place, begin, end);
        $crate::record::tally::Done {
            operation: vocabulary::calls::op::$operation,
            code,
            ticks: end.wrapping_sub(begin),
        }
    }};
    ($thread:ident, $record:expr, $operation:ident, $call:expr) => {{
        use $crate::guest::short_path::Full;
        $crate::wrappers::forward::timed!(Full, $thread, $record, $operation, $call)
    }};
    ($operation:ident, $call:expr) => {{
        let begin = $crate::guest::clock::now();
        // Where it stands in an unsafe block already, this one is not needed.
        // SAFETY: as above.
        #[allow(unused_unsafe)]
        let code = unsafe { $call };
        let ticks = $crate::guest::clock::now().wrapping_sub(begin);
        $crate::record::tally::Done { operation: vocabulary::calls::op::$operation, code, ticks }
    }};
}
pub(crate) use timed;

/// A call that returned an error, and whose wrapper has nothing left to do but to return it.
#[cold]
#[inline(never)]
pub fn failed<C: Carrier, P: Path>(
    thread: &Thread,
    inside: Inside<P>,
    key: Word,
    operation: u16,
    code: c_int,
) -> c_int {
    let end = clock::now_on::<P>();
    let (begin, comm) = in_flight::leave_as_noted::<P>(inside, 0, 0, end);
    recorded(|| tally::failed::<C>(thread, C::as_noted(key, comm), operation, code, end.wrapping_sub(begin)));
    code
}
