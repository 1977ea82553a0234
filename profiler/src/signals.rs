//! Writing can raise signals whose default is to end the program: SIGPIPE when the reader of standard error has gone, SIGXFSZ
//! beyond the limit of a file's size. What commsee writes must not.

use std::mem;
use std::ptr;

const OF_WRITING: [libc::c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// Runs work of ours that writes. The signals are held back from this thread meanwhile, and taken away again afterwards,
/// unless they were pending before.
pub fn held_back<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: plain system calls on signal sets of our own; a set of zeros is an empty one until it is filled.
    unsafe {
        let [mut held, mut before, mut pending] = mem::zeroed::<[libc::sigset_t; 3]>();
        libc::sigpending(&mut pending);
        libc::sigemptyset(&mut held);
        for signal in OF_WRITING {
            if libc::sigismember(&pending, signal) == 0 {
                libc::sigaddset(&mut held, signal);
            }
        }
        if libc::pthread_sigmask(libc::SIG_BLOCK, &held, &mut before) != 0 {
            return work();
        }
        let result = work();
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        while libc::sigtimedwait(&held, ptr::null_mut(), &now) > 0 {}
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
        result
    }
}
