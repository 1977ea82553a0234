//! What CUPTI is asked for: to be told of calls that copy, allocate and free, of each copy, and of pages of managed memory that move.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use commsee_runtime::signals::Undisturbed;

use crate::abi::{
    Configuration, FORCED, LIMIT_REACHED, MEMCPY, MEMCPY_PEER, NOT_SEVERAL_SUBSCRIBERS, ONE_DEVICE, SUCCESS, UNIFIED,
    UNIFIED_MEMORY,
};
use crate::cupti::{self, Cupti};
use crate::module::{self, Module};
use crate::{copies, told};

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
        match (cupti.subscribe)(&raw mut subscriber, told::called, null_mut()) {
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
        watch_unified(module, cupti);
        let mut is_any_told = false;
        for (domain, number, _) in told::functions(cupti) {
            is_any_told |= (cupti.enable_callback)(1, subscriber, domain, number) == SUCCESS;
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

/// The user's wish: what faults cost more by it is not known.
const VARIABLE: &str = "COMMSEE_MANAGED";

/// Pages of managed memory.
///
/// # Safety
/// As [`watch`]: other threads do not use the driver yet.
unsafe fn watch_unified(module: &Module, cupti: &Cupti) {
    if std::env::var_os(VARIABLE).is_none_or(|wish| wish != "1") {
        return;
    }
    let wanted = UNIFIED.map(|(counted, _)| Configuration { scope: ONE_DEVICE, counted, device: 0, is_enabled: 1 });
    // SAFETY: as demanded.
    unsafe {
        let code = match (cupti.configure_unified)(wanted.as_ptr(), wanted.len() as u32) {
            SUCCESS => (cupti.enable)(UNIFIED_MEMORY),
            code => code,
        };
        if code != SUCCESS {
            module.note(&format!("CUPTI reports nothing of managed memory ({})", cupti.text(code)));
        }
    }
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
            for kind in [MEMCPY, MEMCPY_PEER, UNIFIED_MEMORY] {
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
