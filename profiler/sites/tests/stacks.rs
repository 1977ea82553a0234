//! Stacks as they are, against the unwinder of the C library.
#![cfg(not(miri))]

mod common;

use std::ffi::c_void;
use std::hint::black_box;
use std::thread;

use common::{addresses, frames, start};
use commsee_sites::sites;

/// Nothing is passed over.
fn ready() {
    start(&[]);
}

fn check(seen: &common::Seen) {
    assert_eq!(addresses(seen.site), seen.expected);
    assert!(!seen.expected.is_empty());
}

#[inline(never)]
fn recurse(levels: usize, work: &mut dyn FnMut()) -> usize {
    let room = black_box([levels; 9]);
    if levels == 0 {
        work();
    } else {
        recurse(levels - 1, work);
    }
    black_box(room)[0]
}

#[test]
fn any_depth_of_any_stack() {
    ready();
    for levels in [0, 1, 2, 7, 40, 300] {
        for depth in [1, 2, 3, 8, 31, 64] {
            // Once unknown, once known, and once more from elsewhere.
            for _ in 0..3 {
                recurse(levels, &mut || check(&seen!(depth)));
            }
            check(&seen!(depth));
        }
    }
}

/// Compilers unroll loops and merge what is alike: these stay one call each.
#[inline(never)]
fn first(depth: usize) -> common::Seen {
    black_box(seen!(black_box(depth)))
}

#[inline(never)]
fn second(depth: usize) -> common::Seen {
    let mut seen = black_box(seen!(black_box(depth)));
    seen.expected.push(2);
    seen
}

#[test]
fn the_same_stack_is_the_same_site_and_another_is_not() {
    ready();
    let sites: Vec<u32> = (0..4).map(|_| first(1).site).collect();
    assert!(sites[0] != 0 && sites.iter().all(|site| *site == sites[0]) && second(1).site != sites[0]);
    let calls = |levels| {
        let mut site = 0;
        recurse(levels, &mut || site = first(12).site);
        site
    };
    let (near, far) = (calls(3), calls(4));
    assert!(near != 0 && near != far && frames(near)[0] == frames(far)[0]);
}

extern "C" fn of_caller(place: *mut c_void, return_address: usize) {
    // SAFETY: as passed below.
    let place = unsafe { &mut *place.cast::<(u32, usize)>() };
    *place = (sites::of_caller(return_address), return_address);
}

#[inline(never)]
fn caller(twice: bool) -> (u32, usize) {
    let mut seen = (0, 0);
    // SAFETY: the body takes what is passed.
    unsafe {
        if twice {
            common::call(of_caller, black_box(&raw mut seen).cast());
        }
        common::call(of_caller, black_box(&raw mut seen).cast());
    }
    black_box(seen)
}

#[test]
fn a_caller_is_the_innermost_frame() {
    ready();
    let seen: Vec<(u32, usize)> = (0..6).map(|at| caller(at % 2 == 1)).collect();
    for (site, return_address) in &seen {
        assert_eq!(addresses(*site), [return_address - 1]);
        assert_eq!(*site, seen[0].0);
    }
    let other = first(1);
    assert!(other.site != seen[0].0 && other.expected.len() == 1);
    assert_eq!((sites::of_caller(0), sites::of_caller(&raw const seen as usize)), (0, 0));
}

#[test]
fn threads_have_stacks_of_their_own() {
    ready();
    let threads: Vec<_> = (0..8)
        .map(|at| {
            let small = thread::Builder::new().stack_size(if at % 2 == 0 { 64 << 10 } else { 4 << 20 });
            small.spawn(move || (0..50).for_each(|_| _ = recurse(at, &mut || check(&seen!(16))))).unwrap()
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    // They have left what they had to these.
    for _ in 0..20 {
        thread::spawn(|| check(&seen!(16))).join().unwrap();
    }
}

mod signals {
    use super::*;

    static DEPTHS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

    extern "C" fn handler(_signal: i32) {
        let seen = seen!(24);
        assert_eq!(addresses(seen.site), seen.expected);
        DEPTHS.store(seen.expected.len(), std::sync::atomic::Ordering::SeqCst);
    }

    fn with_handler(flags: i32, work: impl FnOnce()) -> usize {
        // SAFETY: an ordinary handler.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = flags;
            libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
        }
        work();
        DEPTHS.load(std::sync::atomic::Ordering::SeqCst)
    }

    fn interrupted() {
        // SAFETY: the handler is set.
        recurse(3, &mut || unsafe { _ = libc::raise(libc::SIGUSR1) });
    }

    #[test]
    fn a_handler_sees_what_it_interrupts() {
        ready();
        assert!(with_handler(0, interrupted) > 8);
        let own_stack = || {
            let mut room = vec![0u8; 64 << 10];
            let stack = libc::stack_t { ss_sp: room.as_mut_ptr().cast(), ss_flags: 0, ss_size: room.len() };
            let none = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
            // SAFETY: the stack outlives its use.
            unsafe {
                libc::sigaltstack(&stack, std::ptr::null_mut());
                interrupted();
                interrupted();
                libc::sigaltstack(&none, std::ptr::null_mut());
            }
        };
        assert!(with_handler(libc::SA_ONSTACK, own_stack) > 8);
    }
}

/// A stack that ends anywhere, and is unmapped when it is not used any more.
mod coroutines {
    use super::*;

    static mut MAIN: std::mem::MaybeUninit<libc::ucontext_t> = std::mem::MaybeUninit::uninit();

    extern "C" fn body() {
        recurse(5, &mut || {
            let seen = seen!(6);
            assert_eq!(addresses(seen.site), seen.expected);
            assert_eq!(seen.expected.len(), 6);
            let seen = seen!(64);
            let found = addresses(seen.site);
            assert!(found.len() > 6 && seen.expected.starts_with(&found));
        });
    }

    #[test]
    fn a_stack_of_the_programs_own_is_copied() {
        ready();
        for bytes in [64 << 10, 128 << 10, 32 << 10] {
            // SAFETY: contexts as the C library has them; the stack outlives its use.
            unsafe {
                let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
                let stack = libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0);
                let mut context: libc::ucontext_t = std::mem::zeroed();
                libc::getcontext(&mut context);
                context.uc_stack.ss_sp = stack;
                context.uc_stack.ss_size = bytes;
                context.uc_link = (&raw mut MAIN).cast();
                libc::makecontext(&mut context, body, 0);
                libc::swapcontext((&raw mut MAIN).cast(), &context);
                libc::munmap(stack, bytes);
            }
        }
    }
}

/// Code that was written at run time, of which no module knows.
#[test]
#[cfg(target_arch = "x86_64")]
fn unknown_code_ends_the_stack() {
    ready();
    extern "C" fn within(seen: *mut c_void) {
        // SAFETY: the body takes what is passed.
        unsafe { common::call(common::look, seen) };
        black_box(());
    }
    // sub rsp, 8; call rsi; add rsp, 8; ret
    let code = [0x48, 0x83, 0xec, 8, 0xff, 0xd6, 0x48, 0x83, 0xc4, 8, 0xc3];
    // SAFETY: a page of our own, with code that calls what it is given.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let page = libc::mmap(std::ptr::null_mut(), 4096, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        page.cast::<[u8; 11]>().write(code);
        let run: extern "C" fn(*mut std::ffi::c_void, extern "C" fn(*mut c_void)) = std::mem::transmute(page);
        for _ in 0..3 {
            let mut seen = common::Seen { depth: 10, ..Default::default() };
            run((&raw mut seen).cast(), within);
            assert_eq!(addresses(seen.site), seen.expected[..1]);
        }
        libc::munmap(page, 4096);
    }
}
