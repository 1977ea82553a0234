//! Locks whose holder never comes back.

use std::mem;
use std::ptr;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use commsee_runtime::biased::{Biased, Owners};
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

#[test]
fn data_that_were_left_half_changed_begin_anew() {
    let owners = Owners::new();
    owners.prepare();
    let data = Biased::new(1);
    // SAFETY: this thread alone enters, and calls nothing inside.
    mem::forget(unsafe { data.enter(&owners) });
    assert_eq!(data.lock(|left| Some(*left + 1), || None, |value| Some(*value)), Some(2));
    assert!(!data.is_entered());
    // SAFETY: as above, and it does not come back.
    data.lock(|_| None, || (), |_| mem::forget(unsafe { data.enter(&owners) }));
    assert_eq!(
        data.lock(|_| None, || None, |value| Some(*value)),
        None,
        "there is no memory for what takes their place"
    );
    assert_eq!(data.lock(|left| Some(*left + 1), || None, |value| Some(*value)), Some(3));
    assert_eq!(
        thread::scope(|scope| scope.spawn(|| data.lock_out(&owners, || None, |value| Some(*value))).join().unwrap()),
        Some(3)
    );
}

#[test]
fn data_that_others_have_left_begin_anew() {
    static OWNERS: Owners = Owners::new();
    static DATA: Biased<[i32; 2]> = Biased::new([1; 2]);
    static IS_LEFT: AtomicBool = AtomicBool::new(false);
    OWNERS.prepare();
    thread::spawn(|| {
        DATA.lock_out(
            &OWNERS,
            || (),
            |value| {
                value[0] += 1;
                DATA.leave();
                IS_LEFT.store(true, Ordering::Release);
                // Never comes back, as after a jump.
                loop {
                    thread::park();
                }
            },
        );
    });
    while !IS_LEFT.load(Ordering::Acquire) {
        thread::yield_now();
    }
    let by_another =
        || thread::scope(|scope| scope.spawn(|| DATA.lock_out(&OWNERS, || None, |value| Some(*value))).join().unwrap());
    assert_eq!(by_another(), None, "only the owner knows what takes their place");
    assert_eq!(DATA.lock(|left| Some([left[0] * 10; 2]), || None, |value| Some(*value)), Some([20; 2]));
    assert_eq!(by_another(), Some([20; 2]));
}

#[test]
fn the_owner_waits_once_for_others_that_are_slow() {
    let owners = Owners::new();
    owners.prepare();
    let (data, is_at_it, over) = (Biased::new(1), AtomicBool::new(false), Barrier::new(2));
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            data.lock_out(
                &owners,
                || panic!("nobody was there"),
                |value| {
                    is_at_it.store(true, Ordering::Release);
                    over.wait();
                    *value = 2;
                },
            )
        });
        while !is_at_it.load(Ordering::Acquire) {
            thread::yield_now();
        }
        assert_eq!(data.lock(|_| Some(9), || None, |value| Some(*value)), None);
        let before = pauses();
        assert_eq!(data.lock(|_| Some(9), || None, |value| Some(*value)), None);
        assert!(pauses() - before < 1000, "it waits again");
        over.wait();
        other.join().unwrap();
        assert_eq!(data.lock(|_| Some(9), || None, |value| Some(*value)), Some(2), "nothing was half changed");
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
