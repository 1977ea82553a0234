//! What CUPTI tells of calls: which one a copy is made in and between which addresses, and what is allocated and freed.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use commsee_hook::Call;
use commsee_runtime::guard;

use crate::abi::{CallbackData, DRIVER, ENTER, RUNTIME, SUCCESS};
use crate::cupti::Cupti;
use crate::functions::{Arguments, Function};
use crate::module::{self, Module};
use crate::{allocations, calls};

/// More functions than CUDA has, and so many numbers without one end the list.
const MOST: u32 = 4096;
const GAP: u32 = 64;

const DOMAINS: [c_int; 2] = [DRIVER, RUNTIME];

/// Of each domain by number, once they have been asked for.
static KNOWN: OnceLock<[Vec<Option<Function>>; 2]> = OnceLock::new();

/// Those whose calls are told: domain, number and what they do.
pub fn functions(cupti: &Cupti) -> impl Iterator<Item = (c_int, u32, Function)> {
    let known = KNOWN.get_or_init(|| DOMAINS.map(|domain| of_domain(cupti, domain)));
    DOMAINS.into_iter().zip(known).flat_map(|(domain, known)| {
        (0..).zip(known).filter_map(move |(number, function)| Some((domain, number, (*function)?)))
    })
}

/// CUPTI adds some with each version: they go by their names.
fn of_domain(cupti: &Cupti, domain: c_int) -> Vec<Option<Function>> {
    let mut known = vec![None];
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
        let name = is_there.then(|| unsafe { CStr::from_ptr(name) });
        known.push(name.and_then(|name| Function::named(name.to_str().ok()?)));
    }
    known
}

fn known(domain: c_int, number: u32) -> Option<Function> {
    let domain = DOMAINS.iter().position(|known| *known == domain)?;
    *KNOWN.get()?.get(domain)?.get(number as usize)?
}

/// A call begins or ends.
pub unsafe extern "C" fn called(_data: *mut c_void, domain: c_int, function: u32, told: *const c_void) {
    guard::guarded(|| {
        // SAFETY: only calls of these domains are asked for, and they are told by this.
        let (Some(module), Some(told)) = (module::get(), unsafe { told.cast::<CallbackData>().as_ref() }) else {
            return;
        };
        let Some(function) = known(domain, function) else { return };
        let is_enter = told.site == ENTER;
        // SAFETY: the result of the call, or null.
        let has_failed = || unsafe { told.result.as_ref() }.is_some_and(|result| *result != 0);
        match function {
            Function::Copies(_) | Function::CopiesMany if is_enter => copy_begins(module, told, function),
            Function::Copies(_) | Function::CopiesMany if has_failed() => calls::forget(told.correlation),
            Function::Allocates(place, memory) if !is_enter && !has_failed() => {
                // SAFETY: those of this function, which has returned.
                let allocated = unsafe { Arguments::of(told.parameters).and_then(|told| told.allocated(place)) };
                if let (Some(allocated), Some(call)) = (allocated, here(module)) {
                    if call.context != 0 {
                        ARE_KNOWN.store(true, Ordering::Relaxed);
                    }
                    // SAFETY: CUPTI's name of the function, which stays.
                    let name = if told.function.is_null() { c"" } else { unsafe { CStr::from_ptr(told.function) } };
                    allocations::count(module, &call, name, memory, allocated);
                }
            }
            // Before another thread can be given the same memory.
            Function::Frees if is_enter => {
                // SAFETY: those of this function.
                if let Some(arguments) = unsafe { Arguments::of(told.parameters) } {
                    // SAFETY: as above.
                    module.freed(unsafe { arguments.freed() });
                }
            }
            _ => {}
        }
    });
}

/// Whether anything was allocated at a site that is known.
static ARE_KNOWN: AtomicBool = AtomicBool::new(false);

fn here(module: &Module) -> Option<Call> {
    let mut call = Call::NONE;
    // SAFETY: the call may be written.
    let mut is_here = || unsafe { module.here(&raw mut call) };
    let is_counted = is_here() || module.begin() && is_here();
    is_counted.then_some(call)
}

/// A function of the run-time calls one of the driver: both tell, with one number, and of the addresses the driver's.
fn copy_begins(module: &Module, told: &CallbackData, function: Function) {
    // SAFETY: those of this function.
    let arguments = unsafe { Arguments::of(told.parameters) };
    let [source, target] = match (function, arguments) {
        // SAFETY: as above.
        (Function::Copies(Some(ends)), Some(arguments)) if ARE_KNOWN.load(Ordering::Relaxed) => unsafe {
            arguments.ends(ends)
        },
        _ => [0; 2],
    };
    let own = u64::from(told.correlation) + 1;
    // SAFETY: this thread's own; or null.
    if unsafe { module.word().as_ref() } == Some(&own) {
        if [source, target] != [0; 2] {
            calls::change(told.correlation, |call| module.moves(call, source, target));
        }
        return;
    }
    let Some(mut call) = here(module) else { return };
    if [source, target] != [0; 2] {
        module.moves(&mut call, source, target);
    }
    calls::begin(told.correlation, call, function == Function::CopiesMany);
    // SAFETY: as above.
    if let Some(latest) = unsafe { module.word().as_mut() } {
        *latest = own;
    }
}
