//! Locks whose holder never comes back.

use std::mem;
use std::ptr;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use commsee_runtime::bounded::{Bounded, Refused};
use commsee_runtime::stack;

#[test]
fn a_thread_takes_what_it_has_left_itself() {
    let lock = Bounded::new();
    mem::forget(lock.take());
    assert_eq!(lock.take().err(), Some(Refused::IsOwn));
    assert!(lock.take_again().is_some(), "no handler is on the stack");
    assert!(lock.take().is_ok());
}

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
            mem::forget(lock.take());
            is_left.store(true, Ordering::Release);
            over.wait();
            lock.let_go();
        });
        while !is_left.load(Ordering::Acquire) {
            thread::yield_now();
        }
        assert_eq!(lock.take().err(), Some(Refused::IsGivenUp));
        let before = pauses();
        (0..10).for_each(|_| assert_eq!(lock.take().err(), Some(Refused::IsGivenUp)));
        assert!(pauses() - before < 1000, "they wait again");
        over.wait();
        holder.join().unwrap();
        assert!(lock.take().is_ok(), "its holder has let it go");
    });
}

/// In which ways a handler has been found on the stack.
static FOUND: AtomicUsize = AtomicUsize::new(0);

extern "C" fn on_signal(_: libc::c_int) {
    FOUND.fetch_add(usize::from(stack::is_in_handler()), Ordering::Relaxed);
}

#[test]
fn handlers_are_found_on_any_stack() {
    let mut room = vec![0u8; 256 << 10];
    assert!(!stack::is_in_handler());
    // SAFETY: plain system calls; the room outlives the handler.
    unsafe {
        let other = libc::stack_t { ss_sp: room.as_mut_ptr().cast(), ss_flags: 0, ss_size: room.len() };
        assert_eq!(libc::sigaltstack(&other, ptr::null_mut()), 0);
        for flags in [0, libc::SA_ONSTACK] {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = flags;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut()), 0);
            libc::raise(libc::SIGUSR1);
        }
        let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        libc::sigaltstack(&none, ptr::null_mut());
    }
    assert_eq!(FOUND.load(Ordering::Relaxed), 2);
    assert!(!stack::is_in_handler());
}
