//! Stacks as they are, against the unwinder of the C library.
#![cfg(not(miri))]

mod built;
mod common;

use std::ffi::c_void;
use std::hint::black_box;
use std::thread;

use common::{addresses, frames, start};
use commsee_sites::sites;
use commsee_sites::step::Registers;

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
    assert_eq!(sites::of_caller(&raw const seen as usize), 0);
    // Where nobody knows the caller the stack does; here nothing is passed over, not even what asks.
    assert_eq!(frames(sites::of_caller(0)).len(), 1);
    assert_eq!(frames(sites::of_caller(0)).len(), 1);
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

/// Code that comes and goes at one address: the file decides what it is.
mod plugins {
    use std::ffi::CString;
    use std::path::Path;

    use super::*;

    type Call = unsafe extern "C" fn(extern "C" fn(*mut c_void, usize), *mut c_void);
    type Plugin = unsafe extern "C" fn(call: Call, body: extern "C" fn(*mut c_void, usize), argument: *mut c_void);

    fn build(folder: &Path, number: u32) -> CString {
        let path = folder.join(format!("plugin{number}.so"));
        let number = format!("-DNUMBER={number}");
        built::compile("plugin.c", &path, &["-O1", "-shared", "-fPIC", &number]);
        CString::new(path.to_str().unwrap()).unwrap()
    }

    /// What is seen from a plugin, by its caller alone and with all that is outside of it, and where it lies.
    fn visit(path: &CString) -> (u32, u32, usize) {
        // SAFETY: a plugin of ours, which is as it was compiled.
        unsafe {
            let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
            let plugin = libc::dlsym(handle, c"plugin_call".as_ptr());
            let run: Plugin = std::mem::transmute(plugin);
            let mut caller = (0, 0);
            run(common::call, of_caller, (&raw mut caller).cast());
            let mut seen = common::Seen { depth: 5, ..Default::default() };
            run(common::call, common::look, (&raw mut seen).cast());
            assert_eq!((addresses(seen.site), addresses(caller.0)), (seen.expected, vec![caller.1 - 1]));
            libc::dlclose(handle);
            (caller.0, seen.site, plugin as usize)
        }
    }

    #[test]
    fn what_is_closed_and_opened_again_is_what_it_was() {
        ready();
        let folder = built::folder("plugins");
        let plugins = [1, 2, 3].map(|number| build(&folder, number));
        let mut first = Vec::new();
        let mut places = std::collections::BTreeSet::new();
        for round in 0..20 {
            for (at, path) in plugins.iter().enumerate() {
                let (caller, site, place) = visit(path);
                places.insert(place);
                let frame = &frames(caller)[0];
                assert_eq!(common::file(frame), format!("plugin{}.so", at + 1));
                if round == 0 {
                    first.push((caller, site));
                }
                assert_eq!(first[at].0, caller, "the same code is the same site");
                let named: Vec<String> = frames(site).iter().map(common::file).collect();
                assert_eq!(named[0], format!("plugin{}.so", at + 1));
            }
        }
        assert!(places.len() < 3, "no plugin took the place of another: {places:x?}");
        assert!(first[0].0 != first[1].0 && first[1].0 != first[2].0);
        // Whoever reads the rows finds them nowhere now; the last one is noticed by the next question.
        visit(&plugins[0]);
        let tables = common::TABLES.lock().unwrap();
        let open = |number: u32| {
            let name = format!("plugin{number}.so");
            let module = tables.modules.iter().find(|module| module.path.ends_with(&name)).unwrap();
            module.extent.is_some()
        };
        assert_eq!([2, 3].map(open), [false, false]);
        assert_eq!(tables.modules.iter().filter(|module| module.path.contains("plugins/plugin")).count(), 3);
    }

    #[test]
    fn plugins_come_and_go_while_threads_call() {
        ready();
        let folder = built::folder("busy");
        let path = build(&folder, 9);
        let other = thread::spawn(move || (0..200).for_each(|_| _ = visit(&path)));
        while !other.is_finished() {
            check(&first(1));
            check(&seen!(12));
        }
        other.join().unwrap();
    }
}

/// Whatever a stack holds, and whatever the registers say: each walk ends, and reads what is there.
#[test]
fn walks_over_anything_come_to_an_end() {
    ready();
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize
    };
    let code = [
        recurse as *const () as usize,
        libc::qsort as *const () as usize,
        libc::pthread_create as *const () as usize,
        libc::getcontext as *const () as usize,
        walks_over_anything_come_to_an_end as *const () as usize,
    ];
    let mut room = vec![0usize; 4096];
    let heap = room.as_ptr() as usize;
    let mut own = [0usize; 4096];
    let mut longest = 0;
    for case in 0..40_000 {
        let stack = if case % 8 == 0 { &mut room[..] } else { &mut own[..] };
        let low = stack.as_ptr() as usize;
        for _ in 0..random() % 300 {
            let place = random() % stack.len();
            stack[place] = match random() % 8 {
                0..=3 => code[random() % code.len()] + random() % 4096,
                4 | 5 => low + random() % (4096 * 8),
                6 => low + (random() % 4096) * 8,
                _ => random() << (random() % 32),
            };
        }
        let start = Registers {
            address: code[random() % code.len()] + random() % 2048,
            stack: low + (random() % 4096) * 8,
            frame: if random() % 4 == 0 { random() } else { low + (random() % 4096) * 8 },
        };
        // What it returns to is the first of them, so that all frames count.
        // SAFETY: the stack pointer is on this thread's stack, above the frame that is in use, or elsewhere.
        let site = unsafe { sites::of_registers(start, start.address, 64) };
        longest = longest.max(frames(site).len());
        // The same once more, from what was remembered.
        // SAFETY: as above.
        assert_eq!(site, unsafe { sites::of_registers(start, start.address, 64) });
    }
    assert!(longest > 3, "no walk went far: {longest}");
    for stack in [0, 8, 1 << 40, usize::MAX - 7, heap ^ 1 << 46] {
        let start = Registers { address: code[0], stack, frame: stack };
        // SAFETY: it is on no stack.
        unsafe { sites::of_registers(start, code[0], 8) };
    }
}
