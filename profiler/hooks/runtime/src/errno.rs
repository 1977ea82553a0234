//! What a program finds in `errno` is its own, or its MPI library's: our system calls leave no trace there.

/// Where this thread has it: no other living thread has the same address.
pub fn place() -> *mut libc::c_int {
    // SAFETY: it only tells.
    unsafe { libc::__errno_location() }
}

/// Runs work of ours, and puts `errno` back.
pub fn kept<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the place is this thread's own as long as the thread lives.
    unsafe {
        let before = *place();
        let result = work();
        *place() = before;
        result
    }
}
