//! What CUPTI is asked for: to be told when a call begins that copies, and of each copy.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use commsee_hook::Call;
use commsee_runtime::guard;
use commsee_runtime::signals::Undisturbed;

use crate::abi::{
    CallbackData, DRIVER, ENTER, FORCED, LIMIT_REACHED, MEMCPY, MEMCPY_PEER, NOT_SEVERAL_SUBSCRIBERS, RUNTIME, SUCCESS,
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

/// Who has CUPTI.
enum User {
    Nobody,
    /// This module, in the process of that number, by a subscriber's handle.
    Own {
        process: u32,
        subscriber: usize,
    },
    /// Another tool: it keeps it.
    Other,
}

static USER: Undisturbed<User> = Undisturbed::new(User::Nobody);

const OTHER_TOOL: &str = "another tool watches the GPU";

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
    let begun = USER.with(|user| {
        if matches!(user, User::Other) {
            return Err(OTHER_TOOL.to_owned());
        }
        let subscriber = watch(module, cupti)?;
        *user = User::Own { process: std::process::id(), subscriber: subscriber as usize };
        Ok(())
    });
    if let Err(trouble) = begun {
        module.note(&format!("{trouble}: copies are not counted"));
    }
}

fn watch(module: &Module, cupti: &'static Cupti) -> Result<*mut c_void, String> {
    let mut subscriber = null_mut();
    // SAFETY: CUPTI's own functions, with arguments as its header says, before any other thread uses the driver.
    unsafe {
        match (cupti.subscribe)(&raw mut subscriber, called, null_mut()) {
            SUCCESS => {}
            LIMIT_REACHED | NOT_SEVERAL_SUBSCRIBERS => return Err(OTHER_TOOL.to_owned()),
            code => return Err(format!("CUPTI cannot be used ({})", cupti.text(code))),
        }
        let done = |code| {
            if code == SUCCESS { Ok(()) } else { Err(format!("CUPTI reports no copies ({})", cupti.text(code))) }
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
            return Err("CUPTI reports no calls".to_owned());
        }
        let mut version = 0;
        if (cupti.version)(&raw mut version) == SUCCESS {
            module.note(&version_text(version));
        }
        // Registered behind what the driver has, this runs before it.
        libc::atexit(copies::over);
        module.drain(copies::drain, null_mut());
    }
    BUFFERS_OF.store(std::process::id(), Ordering::Release);
    Ok(subscriber)
}

/// The process in which buffers that CUPTI asks for come from here, or 0.
static BUFFERS_OF: AtomicU32 = AtomicU32::new(0);

/// Another tool begins: what CUPTI has told is counted, and from now on it is that tool's. If it begins before the driver is initialized, it stays so.
pub fn give_way() {
    USER.with(|user| {
        let User::Own { process, subscriber } = std::mem::replace(user, User::Other) else { return };
        // Neither the child of a fork nor a process that ends has anything to ask of the driver.
        let Some(cupti) = cupti::find().filter(|_| process == std::process::id() && !copies::are_over()) else {
            return;
        };
        // SAFETY: what `watch` has begun.
        unsafe {
            for kind in [MEMCPY, MEMCPY_PEER] {
                (cupti.disable)(kind);
            }
            copies::drain(null_mut());
            (cupti.unsubscribe)(subscriber as *mut c_void);
        }
        copies::over();
        if let Some(module) = module::get() {
            module.note("another tool has started to watch the GPU: later copies are not counted");
        }
    });
}

/// The same of one that is about to say where its buffers come from: it must not be handed one of ours that was filled meanwhile.
pub fn give_buffers() {
    give_way();
    if BUFFERS_OF.swap(0, Ordering::AcqRel) == std::process::id()
        && let Some(cupti) = cupti::find()
    {
        // SAFETY: CUPTI calls `completed` within.
        unsafe { (cupti.flush)(FORCED) };
    }
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
        let mut is_here = || unsafe { module.here(&raw mut call) };
        if !(is_here() || module.begin() && is_here()) {
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
