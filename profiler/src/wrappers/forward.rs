//! How a wrapper that is written by hand calls the real function.

/// The real function of an operation, as the type that the wrapper's own arguments give.
macro_rules! real_function {
    ($operation:ident, fn($($argument:ty),*)) => {{
        let function = $crate::mpi::real::function(vocabulary::calls::op::$operation as usize);
        // SAFETY: the type repeats the function's declaration in the standard.
        unsafe { std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C-unwind" fn($($argument),*) -> std::ffi::c_int>(function) }
    }};
}
pub(crate) use real_function;

/// Runs the real function between two readings of the clock: in a call over the communicator of this record, or in a call that no shard knows of,
/// because there is none yet.
macro_rules! timed {
    ($thread:ident, $record:expr, $operation:ident, $call:expr) => {{
        let over = $crate::record::call::Over::Record($record);
        // Where it stands in an unsafe block already, this one is not needed.
        // SAFETY: the program passes what the function takes, and it is passed on.
        #[allow(unused_unsafe)]
        $crate::record::call::call($thread, vocabulary::calls::op::$operation, over, || unsafe { $call })
    }};
    ($operation:ident, $call:expr) => {{
        let begin = $crate::guest::clock::now();
        // SAFETY: as above.
        #[allow(unused_unsafe)]
        let code = unsafe { $call };
        let ticks = $crate::guest::clock::now().wrapping_sub(begin);
        let operation = vocabulary::calls::op::$operation;
        $crate::record::tally::Done { operation, code, ticks }
    }};
}
pub(crate) use timed;
