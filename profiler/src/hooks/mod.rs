//! What hook modules call: `profiler/hooks/commsee_hook.h`, explained in docs/reference/hooks.md. A module tells what a layer below
//! MPI did, and it is charged to the MPI call that the thread was in when it began.
//!
//! Wrappers know nothing of modules: where a thread stands is written down anyway (`in_flight.rs`), and read here.

mod registry;

use std::ffi::{CStr, c_char};

use commsee_hook::{Call, NO_OPERATION, NO_ROOM, NOT_WANTED, OTHER_VERSION, TRACED, VERSION, Way};
use vocabulary::settings;
use vocabulary::shard::{self as image, NO_COMM};

use crate::guest::{clock, guard, say, state};
use crate::record::tally;
use crate::thread::transfers::Transferred;
use crate::{thread, trace};

/// What is known so far goes into the shard, which has just been made.
pub fn start() {
    registry::write();
}

/// The modules that `COMMSEE_HOOKS` asks for.
fn wanted() -> Vec<String> {
    let variable = |name: &str| std::env::var(name).ok();
    if settings::is_on(variable(settings::DISABLE).as_deref()) {
        return Vec::new();
    }
    settings::hooks(variable(settings::HOOKS).as_deref())
}

/// Says which modules are asked for and not there.
pub fn say_missing() {
    for name in wanted().iter().filter(|name| !registry::is_open(name)) {
        say::warn(&format!(
            "COMMSEE_HOOKS names {name}, and no such module is loaded: put libcommsee_{name}.so behind libcommsee.so in LD_PRELOAD, \
             or use `through run --hooks {name}`"
        ));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_open(version: u32, module: *const c_char) -> i32 {
    guard::guarded(|| {
        // SAFETY: the module passes its name, which ends with a zero byte.
        let name = unsafe { text(module) }.to_ascii_lowercase();
        match version {
            VERSION if wanted().contains(&name) => registry::open(name).unwrap_or(NO_ROOM),
            VERSION => NOT_WANTED,
            _ => OTHER_VERSION,
        }
    })
    .unwrap_or(NO_ROOM)
}

/// What modules have counted in this thread, while anything may be.
fn counters() -> Option<&'static Transferred> {
    thread::here()?.hooks.get()
}

/// The same where this thread has been here before, without a call that would have registers saved.
#[inline(always)]
fn known_counters() -> Option<&'static Transferred> {
    thread::known()?.hooks.known()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_word(module: i32) -> *mut u64 {
    match known_counters() {
        Some(own) => own.word(module).unwrap_or(std::ptr::null_mut()),
        None => first_word(module),
    }
}

#[cold]
#[inline(never)]
fn first_word(module: i32) -> *mut u64 {
    counters().and_then(|own| own.word(module)).unwrap_or(std::ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_here(call: *mut Call) -> i32 {
    if !state::is_on() {
        return 0;
    }
    // SAFETY: the module passes a place.
    let Some(thread) = thread::known() else { return unsafe { first_here(call) } };
    // SAFETY: the module passes a place. Where a thread stands is written by itself alone, before it came here.
    unsafe {
        match thread.hooks.known() {
            Some(own) => fill(own, thread, call),
            None => first_here(call),
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn first_here(call: *mut Call) -> i32 {
    // SAFETY: as above.
    unsafe {
        match thread::here().and_then(|thread| Some((thread.hooks.get()?, thread))) {
            Some((own, thread)) => fill(own, thread, call),
            None => 0,
        }
    }
}

#[inline(always)]
unsafe fn fill(own: &Transferred, thread: &thread::Thread, call: *mut Call) -> i32 {
    let flags = if trace::is_on() { TRACED } else { 0 };
    // SAFETY: as above.
    unsafe {
        let here = match thread.in_flight.innermost() {
            Some(standing) => Call {
                comm: own.communicator(&standing),
                operation: (standing.word >> 16) as u16,
                flags,
                sequence: standing.begin_ticks,
                thread: standing.thread,
                ..Call::NONE
            },
            None => Call { flags, ..Call::NONE },
        };
        call.write(here);
    }
    1
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_way_number(module: i32, way: *const Way) -> u32 {
    guard::guarded(|| {
        // SAFETY: the module passes a way whose names end with a zero byte.
        let names = unsafe {
            let way = &*way;
            image::Way {
                layer: text(way.layer),
                function: text(way.function),
                protocol: text(way.protocol),
                transport: text(way.transport),
                device: text(way.device),
                kind: text(way.kind),
                scope: text(way.scope),
                arrives: way.flags & commsee_hook::ARRIVES != 0,
            }
        };
        registry::way(module, names)
    })
    .unwrap_or(0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_self(module: i32, identity: u64) {
    guard::guarded(|| registry::own(module, identity));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_peer(module: i32, identity: u64) -> u32 {
    guard::guarded(|| registry::peer(module, identity)).unwrap_or(0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_count(
    call: *const Call,
    way: u32,
    peer: u32,
    size_bytes: u64,
    bytes: u64,
    ticks: u64,
) {
    // SAFETY: the module passes a call, as the interface demands.
    let Some(own) = known_counters() else { return unsafe { count_new(call, way, peer, size_bytes, bytes, ticks) } };
    // SAFETY: as above.
    let key = unsafe { key(call, way, peer, size_bytes) };
    match own.find(key) {
        Some(entry) => entry.add(bytes, ticks),
        // SAFETY: as above.
        None => unsafe { count_new(call, way, peer, size_bytes, bytes, ticks) },
    }
}

/// SAFETY: the module passes a call that `commsee_hook_here` filled in, or one of no MPI call.
#[inline(always)]
unsafe fn key(call: *const Call, way: u32, peer: u32, size_bytes: u64) -> [u64; 2] {
    // SAFETY: the module passes a call, as the interface demands.
    let call = unsafe { &*call };
    let comm = if call.operation == NO_OPERATION { NO_COMM } else { call.comm };
    image::Transfer::key(comm, call.operation, tally::bucket_of(size_bytes), way, peer)
}

/// The first of its kind in this thread. It takes what the exported function is given, so that this one can jump here.
#[cold]
#[inline(never)]
unsafe extern "C" fn count_new(call: *const Call, way: u32, peer: u32, size_bytes: u64, bytes: u64, ticks: u64) {
    if let Some(own) = counters() {
        // SAFETY: as above.
        own.make(unsafe { key(call, way, peer, size_bytes) }).add(bytes, ticks);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_ticks() -> u64 {
    clock::now()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_event(
    call: *const Call,
    way: u32,
    peer: u32,
    bytes: u64,
    begin_ticks: u64,
    end_ticks: u64,
) {
    // SAFETY: as in `commsee_hook_count`.
    let call = unsafe { &*call };
    if call.is_traced() {
        trace::layer(call, way, peer, bytes, begin_ticks, end_ticks);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_note(module: i32, note: *const c_char) {
    // SAFETY: the module passes a text that ends with a zero byte.
    guard::guarded(|| registry::note(module, unsafe { text(note) }));
}

/// SAFETY: null, or ends with a zero byte.
unsafe fn text(place: *const c_char) -> String {
    // SAFETY: it is not null, and so ends with a zero byte.
    if place.is_null() { String::new() } else { unsafe { CStr::from_ptr(place) }.to_string_lossy().into_owned() }
}
