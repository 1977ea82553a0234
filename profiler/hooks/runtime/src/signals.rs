//! Writing can raise signals whose default is to end the program: SIGPIPE when the reader of standard error has gone, SIGXFSZ
//! beyond the limit of a file's size. What commsee writes must not.

use std::mem;
use std::ptr;

const OF_WRITING: [libc::c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// Runs work of ours that calls the system. The system's calls are where a thread ends that was cancelled: it may do so in the
/// program's, not in ours, which would leave locks and halves of things behind.
pub fn not_cancelled<T>(work: impl FnOnce() -> T) -> T {
    const DISABLE: libc::c_int = 1;
    unsafe extern "C" {
        fn pthread_setcancelstate(state: libc::c_int, before: *mut libc::c_int) -> libc::c_int;
    }
    let mut before = 0;
    // SAFETY: fills the place it is given.
    unsafe { pthread_setcancelstate(DISABLE, &mut before) };
    let result = work();
    // SAFETY: as above; the state is what it was.
    unsafe { pthread_setcancelstate(before, &mut before) };
    result
}

/// Runs work of ours that writes. The signals are held back from this thread meanwhile, and taken away again afterwards,
/// unless they were pending before.
pub fn held_back<T>(work: impl FnOnce() -> T) -> T {
    not_cancelled(|| blocked(work))
}

fn blocked<T>(work: impl FnOnce() -> T) -> T {
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
