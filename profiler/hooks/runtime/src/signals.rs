//! Writing can raise signals whose default is to end the program: SIGPIPE when the reader of standard error has gone, SIGXFSZ
//! beyond the limit of a file's size. What commsee writes must not. And a handler of the program's may leave by a jump, finalize MPI or end
//! its thread, wherever the thread was.

use std::io;
use std::mem;
use std::ptr;
use std::time::Duration;

use parking_lot::Mutex;

use crate::errno;

const OF_WRITING: [libc::c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// The thread's own doing: held back, they would end the process.
const OF_FAULTS: [libc::c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGABRT, libc::SIGSYS];

/// Data under a lock that no handler of a signal finds taken by the thread that it has interrupted, which could not go on before the
/// handler has returned. It costs two system calls: for what is seldom done.
pub struct Undisturbed<T>(Mutex<T>);

impl<T> Undisturbed<T> {
    pub const fn new(value: T) -> Undisturbed<T> {
        Undisturbed(parking_lot::const_mutex(value))
    }

    /// The work must not come back here.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        errno::kept(|| undisturbed(|| work(&mut self.0.lock())))
    }
}

/// Runs work of ours that neither a signal's handler nor the thread's being cancelled may leave in its midst. Signals are handled when the
/// outermost of it is over: it is to hold all locks, and to be seldom done.
pub fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    not_cancelled(|| {
        let _held = AllHeld::begin();
        work()
    })
}

/// While it is there the thread handles no signals but its own faults. Also where the work panics.
pub struct AllHeld {
    /// What the thread held back before; `None` where the system refuses to hold back more.
    before: Option<libc::sigset_t>,
}

impl AllHeld {
    pub fn begin() -> AllHeld {
        // SAFETY: plain system calls on signal sets of our own; a set of zeros is an empty one until it is filled.
        unsafe {
            let [mut held, mut before] = mem::zeroed::<[libc::sigset_t; 2]>();
            libc::sigfillset(&mut held);
            for signal in OF_FAULTS {
                libc::sigdelset(&mut held, signal);
            }
            let is_held = libc::pthread_sigmask(libc::SIG_BLOCK, &held, &mut before) == 0;
            AllHeld { before: is_held.then_some(before) }
        }
    }

    /// Runs work with signals as they were before. It must not panic.
    pub fn but_during<T>(&self, work: impl FnOnce() -> T) -> T {
        self.lift();
        let result = work();
        mem::forget(AllHeld::begin());
        result
    }

    fn lift(&self) {
        if let Some(before) = &self.before {
            // SAFETY: a set that the system has filled.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) };
        }
    }
}

impl Drop for AllHeld {
    fn drop(&mut self) {
        self.lift();
    }
}

/// Runs work of ours that calls the system. The system's calls are where a thread ends that was cancelled: it may do so in the
/// program's, not in ours, which would leave locks and halves of things behind.
pub fn not_cancelled<T>(work: impl FnOnce() -> T) -> T {
    const DISABLE: libc::c_int = 1;
    let _restore = CancelState::set(DISABLE);
    work()
}

/// What it was before. Also where the work panics.
struct CancelState(libc::c_int);

impl CancelState {
    fn set(state: libc::c_int) -> CancelState {
        unsafe extern "C" {
            fn pthread_setcancelstate(state: libc::c_int, before: *mut libc::c_int) -> libc::c_int;
        }
        let mut before = 0;
        // SAFETY: fills the place it is given.
        unsafe { pthread_setcancelstate(state, &mut before) };
        CancelState(before)
    }
}

impl Drop for CancelState {
    fn drop(&mut self) {
        mem::forget(CancelState::set(self.0));
    }
}

/// Does nothing for about so long, and at once where a sandbox forbids that: the standard library's would panic.
pub fn rest(duration: Duration) {
    let mut left =
        libc::timespec { tv_sec: duration.as_secs() as libc::time_t, tv_nsec: duration.subsec_nanos().into() };
    let place = &raw mut left;
    // SAFETY: reads the time, and fills in what is left of it after a signal.
    while unsafe { libc::nanosleep(place, place) } != 0
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
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
