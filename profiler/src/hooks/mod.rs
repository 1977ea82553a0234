//! What hook modules call: `profiler/hooks/commsee_hook.h`, explained in docs/reference/hooks.md. A module tells what a layer below
//! MPI did, and it is charged to the MPI call that the thread was in when it began.
//!
//! Wrappers know nothing of modules: where a thread stands is written down anyway (`in_flight.rs`), and read here.

mod here;
mod objects;
mod registry;

use std::ffi::{CStr, c_char, c_void};
use std::mem::offset_of;

use commsee_hook::{
    COUNTING, Call, Communicator, Counter, Drain, InFlight, LayeredCall, NO_OPERATION, NO_ROOM, NOT_WANTED, OFF,
    OTHER_VERSION, Route, ThreadState, VERSION,
};
use vocabulary::settings;
use vocabulary::shard::{self as image, InFlightCall, NO_COMM, ROUTE_BITS, Role};

use crate::guest::{clock, guard, say, state};
use crate::record::buckets;
use crate::thread::layer_calls::{Belonging, LayerCall};
use crate::thread::transfers::{Entry, Transferred};
use crate::{sites, trace};

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
        if registry::is_refused(name) {
            say::warn(&format!(
                "the module {name} is of another version of commsee, and left out: build it with version {VERSION} of commsee_hook.h, \
                 or use the one that came with this libcommsee.so"
            ));
            continue;
        }
        say::warn(&format!(
            "COMMSEE_HOOKS names {name}, but no such module is loaded: put libcommsee_{name}.so after libcommsee.so in LD_PRELOAD, \
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
            _ => {
                registry::refuse(name);
                OTHER_VERSION
            }
        }
    })
    .unwrap_or(NO_ROOM)
}

/// What modules have counted in this thread, while anything may be.
fn counters() -> Option<&'static Transferred> {
    here::thread()?.hooks.get()
}

/// The same where this thread has been here before, without a call that would have registers saved.
#[inline(always)]
fn known_counters() -> Option<&'static Transferred> {
    here::known()?.hooks.known()
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

/// What a module passed, as far as it goes: what it does not know is as in `none`.
unsafe fn passed<T: Copy>(place: *const T, none: T) -> Option<T> {
    let mut whole = none;
    // SAFETY: the module's structure begins with its size, and goes as far.
    unsafe {
        let size = *place.cast::<u32>().as_ref()? as usize;
        let bytes = size.min(size_of::<T>());
        std::ptr::copy_nonoverlapping(place.cast::<u8>(), (&raw mut whole).cast(), bytes);
    }
    Some(whole)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_route_number(module: i32, route: *const Route) -> u32 {
    guard::guarded(|| {
        // SAFETY: the module passes a route whose names end with a zero byte.
        let names = unsafe {
            let Some(route) = passed(route, Route::NONE) else { return 0 };
            image::Route {
                layer: text(route.layer),
                function: text(route.function),
                protocol: text(route.protocol),
                transport: text(route.transport),
                device: text(route.device),
                kind: text(route.kind),
                scope: text(route.scope),
                memory: text(route.memory),
                arrives: route.flags & commsee_hook::ARRIVES != 0,
                role: Role::of(route.role),
            }
        };
        registry::route(module, names)
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
pub unsafe extern "C" fn commsee_hook_communicator_number(module: i32, communicator: *const Communicator) -> u32 {
    guard::guarded(|| {
        // SAFETY: the module passes a communicator whose texts end with a zero byte.
        let (told, label, layer) = unsafe {
            let Some(told) = passed(communicator, Communicator::NONE) else { return 0 };
            (told, text(told.label), text(told.layer))
        };
        let letter = told.letter as u8;
        let entry = image::LayerCommunicator {
            identity: told.identity,
            size: told.ranks,
            rank: told.rank,
            root: told.root,
            parent: told.parent,
            parent_comm: told.parent_comm,
            letter: if letter.is_ascii_alphanumeric() { letter } else { b'i' },
            // Modules are passed over, so that this is where the program made it.
            site: if state::layers_are_on() { sites::of_stack(0, 1) } else { 0 },
            ..bytemuck::Zeroable::zeroed()
        };
        registry::communicator(module, entry, &label, &layer)
    })
    .unwrap_or(0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_communicator_freed(_module: i32, communicator: u32) {
    guard::guarded(|| registry::communicator_freed(communicator));
}

/// Hands the stack pointer of whoever calls it on: only that one tells calls that lie in each other from those that were left.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn commsee_hook_enter(_module: i32, _route: u32, _communicator: u32, _sequence: u64) -> u32 {
    std::arch::naked_asm!("mov r8, rsp", "jmp {enter}", enter = sym enter)
}

#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn commsee_hook_enter(_module: i32, _route: u32, _communicator: u32, _sequence: u64) -> u32 {
    std::arch::naked_asm!("mov x4, sp", "b {enter}", enter = sym enter)
}

unsafe extern "C" fn enter(module: i32, route: u32, communicator: u32, sequence: u64, stack: usize) -> u32 {
    if !state::layers_are_on() {
        return 0;
    }
    let entered = || {
        let thread = here::thread()?;
        let own = thread.hooks.get()?;
        let site = here::site(thread);
        let belonging = Belonging { communicator, within: route, site, ..Belonging::NONE };
        let context = own.layers.context(belonging, registry::context);
        let begin_ticks = thread.in_flight.innermost().map_or(0, |innermost| innermost.begin_ticks);
        let (context, module) = (context << ROUTE_BITS, u32::try_from(module).ok()?);
        let call = LayerCall { module, route, communicator, context, sequence, stack, begin_ticks };
        Some(own.layers.enter(&thread.in_flight, call))
    };
    guard::guarded(entered).flatten().unwrap_or(0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_leave(entered: u32) {
    if let Some(own) = known_counters() {
        own.layers.leave(entered);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_on(call: *mut Call, communicator: u32) {
    // SAFETY: the module passes a call.
    guard::guarded(|| unsafe { change(call, |belonging| belonging.communicator = communicator) });
}

/// Changes what a call counts for.
///
/// # Safety
/// `call` is one that `commsee_hook_here` filled in, or one of no call.
unsafe fn change(call: *mut Call, to: impl FnOnce(&mut Belonging)) {
    let Some(own) = counters() else { return };
    // SAFETY: as demanded.
    let context = unsafe { &mut (*call).context };
    let mut belonging = match *context >> ROUTE_BITS {
        0 => Belonging::NONE,
        number => registry::belonging(number),
    };
    to(&mut belonging);
    *context = own.layers.context(belonging, registry::context) << ROUTE_BITS;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_count(
    call: *const Call,
    route: u32,
    peer: u32,
    size_bytes: u64,
    bytes: u64,
    duration_ns: u64,
) {
    let Some(own) = known_counters() else {
        // SAFETY: the module passes a call, as the interface demands.
        return unsafe { count_new(call, route, peer, size_bytes, bytes, duration_ns) };
    };
    // SAFETY: as above.
    let key = unsafe { key(call, route, peer, size_bytes) };
    match own.find(key) {
        Some(entry) => entry.add(bytes, duration_ns),
        // SAFETY: as above.
        None => unsafe { count_new(call, route, peer, size_bytes, bytes, duration_ns) },
    }
}

/// SAFETY: the module passes a call that `commsee_hook_here` filled in, or one of no MPI call.
#[inline(always)]
unsafe fn key(call: *const Call, route: u32, peer: u32, size_bytes: u64) -> [u64; 2] {
    // SAFETY: the module passes a call, as the interface demands.
    let call = unsafe { &*call };
    let comm = if call.operation == NO_OPERATION { NO_COMM } else { call.comm };
    image::Transfer::key(comm, call.operation, buckets::of(size_bytes), call.context | route, peer)
}

/// The first of its kind in this thread. It takes what the exported function is given, so that this one can jump here.
#[cold]
#[inline(never)]
unsafe extern "C" fn count_new(
    call: *const Call,
    route: u32,
    peer: u32,
    size_bytes: u64,
    bytes: u64,
    duration_ns: u64,
) {
    if let Some(own) = counters() {
        // SAFETY: as above.
        own.make(unsafe { key(call, route, peer, size_bytes) }).add(bytes, duration_ns);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_counter_of(
    call: *const Call,
    route: u32,
    peer: u32,
    size_bytes: u64,
    counter: *mut Counter,
) -> i32 {
    let found = || {
        // SAFETY: the module passes a call, as the interface demands.
        let entry = counters()?.entry(unsafe { key(call, route, peer, size_bytes) })?;
        let (size_low, size_high) = buckets::bounds(buckets::of(size_bytes));
        Some(Counter { size_low, size_high, counted: entry.counted(), timed: 1, ..Counter::NONE })
    };
    // SAFETY: the module passes a place that begins with its size.
    unsafe { guard::guarded(found).flatten().map_or(0, |found| give(counter, found)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_add(counted: *mut u64, bytes: u64, duration_ns: u64) {
    // SAFETY: the module passes what `commsee_hook_counter_of` gave it.
    unsafe { Entry::of_counted(counted) }.add(bytes, duration_ns);
}

/// The thread pointer of no thread.
static NEVER: u64 = 0;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_thread_of(state: *mut ThreadState) -> i32 {
    let known = || {
        let thread = here::thread()?;
        let own = thread.hooks.get()?;
        Some(ThreadState {
            owner: own.layers.own(),
            // Each site counts apart: a module that remembers an answer would mix them.
            outside: if sites::are_counted() { &raw const NEVER } else { own.layers.outside() },
            state: state::address_for_layers(),
            epoch: state::epoch_address(),
            call: thread.in_flight.address().cast(),
            tick_factor: clock::factor_address(),
            ..ThreadState::NONE
        })
    };
    // SAFETY: as above.
    unsafe { guard::guarded(known).flatten().map_or(0, |known| give(state, known)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_renew() {
    state::raise_epoch();
}

/// Fills in what a module has room for, which it says itself. Always 1.
unsafe fn give<T: Copy>(place: *mut T, mut whole: T) -> i32 {
    // SAFETY: the module's structure begins with its size and goes as far, and so does ours.
    unsafe {
        let size = place.cast::<u32>().read();
        (&raw mut whole).cast::<u32>().write(size);
        let bytes = (size as usize).min(size_of::<T>());
        std::ptr::copy_nonoverlapping((&raw const whole).cast::<u8>(), place.cast(), bytes);
    }
    1
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_now_ns() -> u64 {
    clock::now_ns()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_event(
    call: *const Call,
    route: u32,
    peer: u32,
    bytes: u64,
    begin_ns: u64,
    end_ns: u64,
) {
    // SAFETY: as in `commsee_hook_count`.
    let call = unsafe { &*call };
    if call.is_traced() {
        trace::layer(call, call.context | route, peer, bytes, clock::ticks_of(begin_ns), clock::ticks_of(end_ns));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_drain(module: i32, drain: Option<Drain>, argument: *mut c_void) {
    guard::guarded(|| registry::drain(module, drain, argument as usize));
}

/// Has modules count what is complete by now. Not within a guard: their functions call what they like.
pub fn drain() {
    if state::layers_are_off() {
        return;
    }
    let drains = guard::guarded(registry::drains).unwrap_or_default();
    for (drain, argument) in drains.into_iter().flatten() {
        // SAFETY: as the module told it.
        unsafe { drain(argument as *mut c_void) };
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

// Both structures are one: what is told to count begins what is told of layers.
const _: () = assert!(offset_of!(Call, context) == offset_of!(LayeredCall, context));
const _: () = assert!(offset_of!(Call, sequence) == offset_of!(LayeredCall, sequence));
// Modules read these where they lie.
const _: () = assert!(size_of::<InFlight>() == size_of::<InFlightCall>());
const _: () = assert!(offset_of!(InFlight, operation) == offset_of!(InFlightCall, word));
const _: () = assert!(offset_of!(InFlight, comm) == offset_of!(InFlightCall, comm));
const _: () = assert!(offset_of!(InFlight, begin) == offset_of!(InFlightCall, begin_ticks));
const _: () = assert!(offset_of!(InFlight, end) == offset_of!(InFlightCall, end_ticks));
const _: () = assert!(COUNTING == state::ON && OFF == state::OFF);
const _: () = assert!(Role::Device as u32 == commsee_hook::Role::Device as u32);
