//! What a program finds in `errno` is its own, or its MPI library's: our system calls leave no trace there.

/// Runs work of ours, and puts `errno` back.
pub fn kept<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the place is this thread's own as long as the thread lives.
    unsafe {
        let before = *libc::__errno_location();
        let result = work();
        *libc::__errno_location() = before;
        result
    }
}
