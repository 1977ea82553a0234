//! Copies as CUPTI tells of them: records in buffers, which it hands over when they are full, or when it is asked to.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use commsee_hook::{AT_ONCE, Role, Route};
use commsee_runtime::signals::Undisturbed;
use commsee_runtime::{guard, memory};

use crate::abi::{self, Copy, ENDED, FORCED, LIMIT_REACHED, MEMCPY, MEMCPY_PEER, PeerCopy, Record, SUCCESS};
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
    let is_timed = copy.begin_ns != 0 && copy.end_ns >= copy.begin_ns;
    let duration_ns = if is_timed { copy.end_ns - copy.begin_ns } else { AT_ONCE };
    let (route, own) = (route(module, copy, devices), own(module));
    module.count(&call, route, own, copy.bytes, copy.bytes, duration_ns);
    if call.is_traced() && is_timed {
        let (begin_ns, end_ns) = (clock.on_timeline_ns(copy.begin_ns), clock.on_timeline_ns(copy.end_ns));
        module.event(&call, route, own, copy.bytes, begin_ns, end_ns);
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

type Key = (u8, u8, u8, [u32; 2]);

/// The number of a route, which is asked for once.
fn route(module: &Module, copy: &Copy, devices: [u32; 2]) -> u32 {
    static NUMBERS: Undisturbed<Option<HashMap<Key, u32>>> = Undisturbed::new(None);
    let key = (copy.direction, copy.source, copy.destination, devices);
    let known = NUMBERS.with(|numbers| numbers.get_or_insert_default().get(&key).copied());
    known.unwrap_or_else(|| {
        let number = new_route(module, copy, devices);
        NUMBERS.with(|numbers| {
            let numbers = numbers.get_or_insert_default();
            if numbers.try_reserve(1).is_ok() {
                numbers.insert(key, number);
            }
        });
        number
    })
}

fn new_route(module: &Module, copy: &Copy, [from, to]: [u32; 2]) -> u32 {
    let text = |text: String| CString::new(text).unwrap_or_default();
    let function = text(abi::direction(copy.direction).to_owned());
    let memory = text(format!("{} to {}", abi::memory(copy.source), abi::memory(copy.destination)));
    let device = text(if from == to { format!("gpu{from}") } else { format!("gpu{from} to gpu{to}") });
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
