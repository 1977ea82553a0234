//! What CUPTI is asked for: to be told when a call begins that copies, and of each copy.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use commsee_hook::Call;
use commsee_runtime::guard;

use crate::abi::{
    CallbackData, DRIVER, ENTER, LIMIT_REACHED, MEMCPY, MEMCPY_PEER, NOT_SEVERAL_SUBSCRIBERS, RUNTIME, SUCCESS,
};
use crate::cupti::{self, Cupti};
use crate::module::{self, Module};
use crate::{calls, copies};

/// What functions that copy begin with.
const COPIES: [&[u8]; 2] = [b"cuMemcpy", b"cudaMemcpy"];
/// Those with any number of copies: they launch what was captured, or are given a list.
const OF_MANY: [&[u8]; 6] = [
    b"cuGraphLaunch",
    b"cudaGraphLaunch",
    b"cuMemcpyBatch",
    b"cudaMemcpyBatch",
    b"cuMemcpy3DBatch",
    b"cudaMemcpy3DBatch",
];
/// More functions than CUDA has, and so many numbers without one end the list.
const MOST: u32 = 4096;
const GAP: u32 = 64;

/// The driver is initialized.
pub fn begin() {
    let Some(module) = module::get() else {
        module::say_why_closed();
        return;
    };
    let Some(cupti) = cupti::find() else {
        module.note("CUPTI (libcupti.so) was not found: copies are not counted; name it in COMMSEE_CUPTI");
        return;
    };
    if let Err(trouble) = watch(module, cupti) {
        module.note(&format!("{trouble}: copies are not counted"));
    }
}

fn watch(module: &Module, cupti: &'static Cupti) -> Result<(), String> {
    let mut subscriber = null_mut();
    // SAFETY: CUPTI's own functions, with arguments as its header says, before any other thread uses the driver.
    unsafe {
        match (cupti.subscribe)(&raw mut subscriber, called, null_mut()) {
            SUCCESS => {}
            LIMIT_REACHED | NOT_SEVERAL_SUBSCRIBERS => return Err("another tool watches the GPU".to_owned()),
            code => return Err(format!("CUPTI cannot be used ({})", cupti.text(code))),
        }
        let done = |code| {
            if code == SUCCESS { Ok(()) } else { Err(format!("CUPTI tells of no copies ({})", cupti.text(code))) }
        };
        let asked = done((cupti.register)(copies::requested, copies::completed))
            .and_then(|()| done((cupti.enable)(MEMCPY)))
            .and_then(|()| done((cupti.enable)(MEMCPY_PEER)));
        if let Err(trouble) = asked {
            (cupti.unsubscribe)(subscriber);
            return Err(trouble);
        }
        let mut is_any_told = false;
        for domain in [DRIVER, RUNTIME] {
            for number in functions(cupti, domain) {
                is_any_told |= (cupti.enable_callback)(1, subscriber, domain, number) == SUCCESS;
            }
        }
        if !is_any_told {
            (cupti.unsubscribe)(subscriber);
            return Err("CUPTI tells of no calls".to_owned());
        }
        let mut version = 0;
        if (cupti.version)(&raw mut version) == SUCCESS {
            module.note(&version_text(version));
        }
        // Registered behind what the driver has, this runs before it.
        libc::atexit(copies::over);
        module.drain(copies::drain, null_mut());
    }
    SUBSCRIBER.store(subscriber, Ordering::Release);
    Ok(())
}

/// Null while nothing is watched.
static SUBSCRIBER: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Another tool asks for CUPTI: what it has told is counted, and it is left to that tool for good.
pub fn give_way() {
    let subscriber = SUBSCRIBER.swap(null_mut(), Ordering::AcqRel);
    let (false, Some(module), Some(cupti)) = (subscriber.is_null(), module::get(), cupti::find()) else { return };
    // SAFETY: what `watch` has begun.
    unsafe {
        for kind in [MEMCPY, MEMCPY_PEER] {
            (cupti.disable)(kind);
        }
        // All buffers, or the tool would be given ours.
        copies::drain(null_mut());
        (cupti.unsubscribe)(subscriber);
    }
    copies::over();
    module.note("another tool has begun to watch the GPU: copies from then on are not counted");
}

/// `CUPTI_API_VERSION`: since CUDA 13 that of CUDA, before a number of its own.
fn version_text(version: u32) -> String {
    match version {
        100_000.. => format!("CUPTI {}.{}.{}", version / 10_000, version / 100 % 100, version % 100),
        _ => format!("CUPTI version {version}"),
    }
}

/// The numbers of the functions whose calls are told. CUPTI adds some with each version: they go by their names.
fn functions(cupti: &Cupti, domain: c_int) -> Vec<u32> {
    let mut numbers = Vec::new();
    let mut gap = 0;
    for number in 1..MOST {
        let mut name: *const c_char = std::ptr::null();
        // SAFETY: fills it in with a text that stays.
        let is_there = unsafe { (cupti.callback_name)(domain, number, &raw mut name) } == SUCCESS && !name.is_null();
        gap = if is_there { 0 } else { gap + 1 };
        if gap > GAP {
            break;
        }
        // SAFETY: as above.
        if is_there && is_any_of(unsafe { CStr::from_ptr(name) }.to_bytes(), COPIES.iter().chain(&OF_MANY)) {
            numbers.push(number);
        }
    }
    numbers
}

fn is_any_of<'a>(name: &[u8], mut begins: impl Iterator<Item = &'a &'static [u8]>) -> bool {
    begins.any(|begin| name.starts_with(begin))
}

/// A function of the run-time calls one of the driver: both tell, with one number.
unsafe extern "C" fn called(_data: *mut c_void, _domain: c_int, _function: u32, told: *const c_void) {
    guard::guarded(|| {
        // SAFETY: only calls of these domains are asked for, and they are told by this.
        let (Some(module), Some(told)) = (module::get(), unsafe { told.cast::<CallbackData>().as_ref() }) else {
            return;
        };
        if told.site != ENTER {
            // SAFETY: the result of the call, or null.
            if unsafe { told.result.as_ref() }.is_some_and(|result| *result != 0) {
                calls::forget(told.correlation);
            }
            return;
        }
        let mut call = Call::NONE;
        // SAFETY: the call may be written.
        if !unsafe { module.here(&raw mut call) } {
            return;
        }
        // SAFETY: this thread's own; or null.
        let latest = unsafe { module.word().as_mut() };
        let own = u64::from(told.correlation) + 1;
        // The run-time has told of it already.
        if latest.as_ref().is_some_and(|latest| **latest == own) {
            return;
        }
        // SAFETY: CUPTI's name of the function.
        let is_of_many =
            !told.function.is_null() && is_any_of(unsafe { CStr::from_ptr(told.function) }.to_bytes(), OF_MANY.iter());
        calls::begin(told.correlation, call, is_of_many);
        if let Some(latest) = latest {
            *latest = own;
        }
    });
}
