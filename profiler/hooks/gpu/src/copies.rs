//! Copies as CUPTI tells of them: records in buffers, which it hands over when they are full, or when it is asked to.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use commsee_hook::{AT_ONCE, Call, Role, Route};
use commsee_runtime::signals::Undisturbed;
use commsee_runtime::{guard, memory};

use crate::abi::{
    self, Copy, Counter, ENDED, FORCED, LIMIT_REACHED, MEMCPY, MEMCPY_PEER, MIGRATION, PeerCopy, Record, SUCCESS,
    UNIFIED, UNIFIED_MEMORY,
};
use crate::calls;
use crate::cupti::{self, Cupti};
use crate::module::{self, Module};

/// Some hundred records. CUPTI hands over what is full: where the process dies, the rest is lost.
const BUFFER_WORDS: usize = 1 << 13;

/// CUPTI needs a buffer.
pub unsafe extern "C" fn requested(buffer: *mut *mut u8, bytes: *mut usize, most_records: *mut usize) {
    // SAFETY: CUPTI's places. Without memory it drops records, and says how many.
    unsafe {
        let made = memory::zeroed::<u64>(BUFFER_WORDS).cast::<u8>();
        *buffer = made;
        *bytes = if made.is_null() { 0 } else { BUFFER_WORDS * size_of::<u64>() };
        *most_records = 0;
    }
}

/// CUPTI gives a buffer back, in a thread of its own or in the one that asked for it.
pub unsafe extern "C" fn completed(
    context: *mut c_void,
    stream: u32,
    buffer: *mut u8,
    _bytes: usize,
    filled_bytes: usize,
) {
    guard::guarded(|| {
        let (Some(module), Some(cupti)) = (module::get(), cupti::find()) else { return };
        let clock = Clock::read(module, cupti);
        let mut record: *mut Record = std::ptr::null_mut();
        // SAFETY: CUPTI walks through its own buffer; the kind of a record says what it is.
        unsafe {
            let end = loop {
                let code = (cupti.next_record)(buffer, filled_bytes, &raw mut record);
                if code != SUCCESS || record.is_null() {
                    break code;
                }
                match (*record).kind {
                    MEMCPY => {
                        let copy = &*record.cast::<Copy>();
                        count(module, clock, copy, copy.correlation, [copy.device; 2]);
                    }
                    MEMCPY_PEER => {
                        let peer = &*record.cast::<PeerCopy>();
                        count(
                            module,
                            clock,
                            &peer.copy,
                            peer.correlation,
                            [peer.source_device(), peer.destination_device],
                        );
                    }
                    UNIFIED_MEMORY => unified(module, clock, &*record.cast::<Counter>()),
                    _ => {}
                }
            };
            let mut dropped = 0;
            let is_any_dropped = (cupti.dropped)(context, stream, &raw mut dropped) == SUCCESS && dropped > 0;
            // Otherwise there are records behind one that it cannot read.
            if is_any_dropped || !matches!(end, SUCCESS | LIMIT_REACHED) {
                say_what_was_dropped(module);
            }
        }
    });
    // SAFETY: made in `requested`.
    unsafe { memory::free(buffer.cast::<u64>(), BUFFER_WORDS) };
}

fn say_what_was_dropped(module: &Module) {
    static IS_NOTED: AtomicBool = AtomicBool::new(false);
    if !IS_NOTED.swap(true, Ordering::Relaxed) {
        module.note("CUPTI has lost some copies: they are not counted");
    }
}

/// Counting ends, or a snapshot is taken: what is in CUPTI's buffers by now.
pub unsafe extern "C-unwind" fn drain(_argument: *mut c_void) {
    guard::uncancelled(|| {
        let Some(cupti) = cupti::find().filter(|_| !are_over()) else { return };
        // SAFETY: CUPTI calls `completed` within.
        unsafe {
            (cupti.flush)(ENDED);
            // What has not ended is counted without its time.
            (cupti.flush)(FORCED);
        }
    });
}

/// The process ends, and with it the driver; or another tool has CUPTI: it is asked nothing any more.
static IS_OVER: AtomicBool = AtomicBool::new(false);

pub fn are_over() -> bool {
    IS_OVER.load(Ordering::Acquire)
}

pub extern "C" fn over() {
    IS_OVER.store(true, Ordering::Release);
}

/// What CUPTI's clock lags behind the timeline's.
#[derive(Clone, Copy)]
struct Clock {
    lag_ns: i64,
}

impl Clock {
    fn read(module: &Module, cupti: &Cupti) -> Clock {
        let mut of_cupti = 0;
        // SAFETY: fills it in.
        unsafe { (cupti.now)(&raw mut of_cupti) };
        Clock { lag_ns: module.now_ns().wrapping_sub(of_cupti) as i64 }
    }

    fn on_timeline_ns(self, of_cupti: u64) -> u64 {
        of_cupti.wrapping_add_signed(self.lag_ns)
    }
}

/// `devices` are those that it reads from and writes to.
fn count(module: &Module, clock: Clock, copy: &Copy, correlation: u32, devices: [u32; 2]) {
    let Some(call) = calls::of(correlation) else { return };
    let key = (copy.direction, copy.source, copy.destination, devices);
    add(module, clock, &call, route(key, |key| of_copy(module, key)), copy.bytes, [copy.begin_ns, copy.end_ns]);
}

/// Pages of managed memory that moved, or a fault: the driver's doing, in no call of the program's.
fn unified(module: &Module, clock: Clock, counter: &Counter) {
    let Some((_, function)) = UNIFIED.into_iter().find(|(number, _)| *number == counter.counted) else { return };
    let mut here = Call::NONE;
    // SAFETY: the call may be written.
    unsafe { module.here(&raw mut here) };
    let mut call = Call { flags: here.flags, thread: here.thread, ..Call::NONE };
    module.moves(&mut call, counter.address, counter.address);
    let key = (UNIFIED_KEYS + counter.counted as u8, 0, 0, [counter.source, counter.destination]);
    let route = route(key, |key| of_unified(module, function, key));
    match function.ends_with(MIGRATION) {
        true => add(module, clock, &call, route, counter.value, [counter.begin_ns, counter.end_ns]),
        false => add(module, clock, &call, route, 0, [0; 2]),
    }
}

/// Counts what took that span of CUPTI's clock, zeros where it is not known.
fn add(module: &Module, clock: Clock, call: &Call, route: u32, bytes: u64, [begin_ns, end_ns]: [u64; 2]) {
    let is_timed = begin_ns != 0 && end_ns >= begin_ns;
    let duration_ns = if is_timed { end_ns - begin_ns } else { AT_ONCE };
    let own = own(module);
    module.count(call, route, own, bytes, bytes, duration_ns);
    if call.is_traced() && is_timed {
        module.event(call, route, own, bytes, clock.on_timeline_ns(begin_ns), clock.on_timeline_ns(end_ns));
    }
}

/// This process as the peer of its copies: both ends are its own.
fn own(module: &Module) -> u32 {
    static OWN: OnceLock<u32> = OnceLock::new();
    *OWN.get_or_init(|| {
        // By chance no other has the same.
        let identity = RandomState::new().hash_one(std::process::id());
        module.own_identity(identity);
        module.peer(identity)
    })
}

/// Direction, memory and device at both ends.
type Key = (u8, u8, u8, [u32; 2]);

/// No direction of a copy has such a number.
const UNIFIED_KEYS: u8 = 128;

/// The number of a route, which is asked for once.
fn route(key: Key, new: impl FnOnce(Key) -> u32) -> u32 {
    static NUMBERS: Undisturbed<Option<HashMap<Key, u32>>> = Undisturbed::new(None);
    let known = NUMBERS.with(|numbers| numbers.get_or_insert_default().get(&key).copied());
    known.unwrap_or_else(|| {
        let number = new(key);
        NUMBERS.with(|numbers| {
            let numbers = numbers.get_or_insert_default();
            if numbers.try_reserve(1).is_ok() {
                numbers.insert(key, number);
            }
        });
        number
    })
}

fn of_copy(module: &Module, (direction, source, destination, devices): Key) -> u32 {
    let memory = format!("{} to {}", abi::memory(source), abi::memory(destination));
    new_route(module, abi::direction(direction), &memory, &between(devices))
}

fn of_unified(module: &Module, function: &str, (.., [source, destination]): Key) -> u32 {
    let device = match function {
        "HtoD migration" => between([destination; 2]),
        "DtoD migration" => between([source, destination]),
        "CPU page fault" => String::new(),
        _ => between([source; 2]),
    };
    new_route(module, function, "managed", &device)
}

fn between([from, to]: [u32; 2]) -> String {
    if from == to { format!("gpu{from}") } else { format!("gpu{from} to gpu{to}") }
}

fn new_route(module: &Module, function: &str, memory: &str, device: &str) -> u32 {
    let [function, memory, device] = [function, memory, device].map(|text| CString::new(text).unwrap_or_default());
    module.route_number(&Route {
        layer: c"gpu".as_ptr(),
        function: function.as_ptr(),
        protocol: memory.as_ptr(),
        device: device.as_ptr(),
        kind: c"gpu".as_ptr(),
        role: Role::Device as u32,
        ..Route::NONE
    })
}
