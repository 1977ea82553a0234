//! Locks whose holder never comes back.

use std::mem;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use commsee_runtime::bounded::Bounded;

/// How often this thread has given its processor away to wait: a thousand times and more where it waits until it gives up.
fn pauses() -> i64 {
    // SAFETY: the place is valid, and zeroes are a usage.
    unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &mut usage), 0);
        usage.ru_nvcsw
    }
}

#[test]
fn others_wait_once_for_what_was_left() {
    let (lock, is_left, over) = (Bounded::new(), AtomicBool::new(false), Barrier::new(2));
    thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let taken = lock.take();
            is_left.store(true, Ordering::Release);
            over.wait();
            drop(taken);
        });
        while !is_left.load(Ordering::Acquire) {
            thread::yield_now();
        }
        assert!(lock.take().is_none());
        let before = pauses();
        (0..10).for_each(|_| assert!(lock.take().is_none()));
        assert!(pauses() - before < 1000, "they wait again");
        over.wait();
        holder.join().unwrap();
        assert!(lock.take().is_some(), "its holder has let it go");
    });
}
