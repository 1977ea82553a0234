//! What one thread remembers: the code that it was in, and the stacks that it had. No other thread touches it.

use std::ptr;

use commsee_runtime::{errno, memory, signals, table};

use crate::loader::{self, Changes, Found};
use crate::registry::{self, Seen};
use crate::rule::Rule;
use crate::stack::Bounds;

/// Code that a thread was in.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Code {
    /// In the call instruction, or where the code was interrupted. 0 in a vacant slot.
    address: usize,
    /// Nothing while it has [`NO_RULE`].
    pub rule: Rule,
    /// For what it is known: [`PERMANENT`], or [`Local::generation`].
    known_for: u32,
    pub frame: u32,
    /// The site of this frame alone; 0 where it was not asked for.
    pub site: u32,
    flags: u32,
}

const PERMANENT: u32 = 0;

const PASSED_OVER: u32 = 1;
const INTERPRETER: u32 = 2;
/// In no module: written at run time, or no code at all.
const NOWHERE: u32 = 4;
/// Nobody has asked how to get to the caller.
const NO_RULE: u32 = 8;

impl Code {
    const VACANT: Code = Code { address: 0, rule: Rule::END, known_for: PERMANENT, frame: 0, site: 0, flags: NOWHERE };

    pub fn is_permanent(&self) -> bool {
        self.known_for == PERMANENT
    }

    pub fn is_passed_over(&self) -> bool {
        self.flags & PASSED_OVER != 0
    }

    pub fn is_interpreter(&self) -> bool {
        self.flags & INTERPRETER != 0
    }

    pub fn is_nowhere(&self) -> bool {
        self.flags & NOWHERE != 0
    }
}

/// A power of two.
const CALLERS: usize = 64;
/// No call returns there; where a caller is unknown, it is 0.
const NO_CALLER: (usize, u32) = (usize::MAX, 0);

/// A power of two. Each slot and its neighbour stand in for each other.
const CODES: usize = 2048;

/// A thread, as far as sites are concerned.
#[repr(align(64))]
pub struct Local {
    /// Callers that are permanent, and their sites.
    callers: [(usize, u32); CALLERS],
    /// Raised when the loader has changed anything: what is not permanent is to be found again.
    generation: u32,
    changes: Changes,
    bounds: Option<Bounds>,
    found: Found,
    codes: [Code; CODES],
    pub stacks: crate::remembered::Stacks,
    pub path: registry::Path,
    pub interpreter: crate::python::Remembered,
    next_idle: *mut Local,
}

mod tls {
    commsee_runtime::thread_pointer!(crate::local::Local, "commsee_sites_thread");
}

/// What this thread remembers, if it has been seen.
#[inline(always)]
pub fn known() -> Option<&'static mut Local> {
    // SAFETY: null, or this thread's own, which nobody else refers to while it is in here: nothing in here calls the program.
    unsafe { tls::get().as_mut() }
}

/// The same of any thread. None if there is no memory for it.
#[inline(always)]
pub fn own() -> Option<&'static mut Local> {
    match known() {
        None => first(),
        local => local,
    }
}

/// Of threads that have ended.
static IDLE: parking_lot::Mutex<Idle> = parking_lot::const_mutex(Idle(ptr::null_mut()));

struct Idle(*mut Local);

// SAFETY: each belongs to nobody while it is here.
unsafe impl Send for Idle {}

#[cold]
#[inline(never)]
fn first() -> Option<&'static mut Local> {
    errno::kept(|| {
        let mut idle = IDLE.lock();
        let place = if idle.0.is_null() {
            drop(idle);
            let place = memory::array::<Local>(1)?.as_ptr();
            // SAFETY: room for one.
            unsafe { Local::fill(place) };
            place
        } else {
            let place = idle.0;
            // SAFETY: whoever put it there has left it.
            idle.0 = unsafe { (*place).next_idle };
            place
        };
        // SAFETY: nobody else has it.
        unsafe {
            (*place).bounds = None;
            (*place).stacks.forget();
        }
        tls::set(place);
        leave_at_exit(place);
        known()
    })
}

/// Has the thread leave it to the next one when it ends.
fn leave_at_exit(place: *mut Local) {
    static KEY: parking_lot::Mutex<Option<libc::pthread_key_t>> = parking_lot::const_mutex(None);
    unsafe extern "C" fn leave(place: *mut libc::c_void) {
        tls::set(ptr::null_mut());
        // A child made by `fork` may find the lock held for good; it has no sites.
        let Some(mut idle) = IDLE.try_lock() else { return };
        let place = place.cast::<Local>();
        // SAFETY: it is still this thread's own.
        unsafe { (*place).next_idle = idle.0 };
        idle.0 = place;
    }
    let mut key = KEY.lock();
    // SAFETY: plain use of a pthread key.
    unsafe {
        if key.is_none() {
            let mut new = 0;
            if libc::pthread_key_create(&mut new, Some(leave)) == 0 {
                *key = Some(new);
            }
        }
        if let Some(key) = *key {
            libc::pthread_setspecific(key, place.cast());
        }
    }
}

impl Local {
    /// Piece by piece, since it is too large for a stack. SAFETY: there is room for it.
    #[cold]
    #[inline(never)]
    unsafe fn fill(place: *mut Local) {
        // SAFETY: as demanded.
        unsafe {
            (&raw mut (*place).callers).write([NO_CALLER; CALLERS]);
            (&raw mut (*place).generation).write(1);
            (&raw mut (*place).changes).write(Changes::default());
            Found::fill(&raw mut (*place).found);
            (&raw mut (*place).stacks).write(crate::remembered::Stacks::none());
            (&raw mut (*place).path).write(registry::Path::empty());
            crate::python::Remembered::fill(&raw mut (*place).interpreter);
            (&raw mut (*place).next_idle).write(ptr::null_mut());
            let codes = (&raw mut (*place).codes).cast::<Code>();
            (0..CODES).for_each(|at| codes.add(at).write(Code::VACANT));
        }
    }

    /// The site of a caller, where it is kept.
    #[inline(always)]
    pub fn caller(&mut self, return_address: usize) -> &mut (usize, u32) {
        &mut self.callers[(table::hash(return_address as u64) >> 58) as usize & (CALLERS - 1)]
    }

    /// Where this thread's stack lies.
    #[inline(always)]
    pub fn bounds(&mut self) -> Bounds {
        match self.bounds {
            Some(bounds) => bounds,
            None => self.find_bounds(),
        }
    }

    #[cold]
    #[inline(never)]
    fn find_bounds(&mut self) -> Bounds {
        let bounds = errno::kept(|| signals::not_cancelled(Bounds::own));
        self.bounds = Some(bounds);
        bounds
    }

    /// The slot of some code that was seen before.
    #[inline(always)]
    fn slot(&self, address: usize) -> Option<usize> {
        let place = home(address);
        let is_it = |at: usize| {
            let code = &self.codes[at & (CODES - 1)];
            code.address == address && (code.known_for == PERMANENT || code.known_for == self.generation)
        };
        if is_it(place) {
            Some(place)
        } else if is_it(place ^ 1) {
            Some(place ^ 1)
        } else {
            None
        }
    }

    /// What is known of some code, and where the site of its frame is kept.
    #[inline(always)]
    pub fn code(&mut self, address: usize) -> &mut Code {
        let slot = match self.slot(address) {
            Some(slot) => slot,
            None => self.look(address, false),
        };
        &mut self.codes[slot & (CODES - 1)]
    }

    /// The same with its rule.
    #[inline(always)]
    pub fn code_with_rule(&mut self, address: usize) -> &mut Code {
        let known = self.slot(address).filter(|slot| self.codes[slot & (CODES - 1)].flags & NO_RULE == 0);
        let slot = match known {
            Some(slot) => slot,
            None => self.look(address, true),
        };
        &mut self.codes[slot & (CODES - 1)]
    }

    /// Whether nothing was unmapped, and nothing mapped where there was nothing, since what is not permanent was looked at.
    #[inline(always)]
    pub fn is_current(&mut self) -> bool {
        let changes = loader::changes();
        if changes == self.changes {
            return true;
        }
        self.renew(changes);
        false
    }

    #[cold]
    #[inline(never)]
    fn renew(&mut self, changes: Changes) {
        self.changes = changes;
        self.generation = self.generation.wrapping_add(1).max(1);
        self.stacks.forget();
        errno::kept(|| signals::undisturbed(|| registry::renew(changes)));
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, address: usize, wants_rule: bool) -> usize {
        let seen = errno::kept(|| {
            // The loader holds a lock of its own meanwhile, which a handler that jumps out would leave taken.
            signals::undisturbed(|| {
                loader::find(address, wants_rule, &mut self.found);
                registry::see(address, &self.found)
            })
        });
        let changes = self.found.changes;
        if changes != self.changes {
            self.renew(changes);
        }
        let code = match seen {
            None => Code { address, known_for: self.generation, ..Code::VACANT },
            Some(Seen { frame, is_passed_over, is_permanent, is_interpreter }) => Code {
                address,
                rule: self.found.rule,
                known_for: if is_permanent { PERMANENT } else { self.generation },
                frame,
                site: 0,
                flags: (u32::from(is_passed_over) * PASSED_OVER)
                    | (u32::from(is_interpreter) * INTERPRETER)
                    | (u32::from(!wants_rule) * NO_RULE),
            },
        };
        let place = home(address);
        if self.codes[place].address != address {
            // What was there longer makes room.
            self.codes[place ^ 1] = self.codes[place];
        }
        self.codes[place] = code;
        place
    }

    /// An interpreter was found: what was taken for other code is to be looked at again.
    pub fn forget(&mut self) {
        self.callers = [NO_CALLER; CALLERS];
        self.codes.fill(Code::VACANT);
        self.stacks.forget();
    }
}

/// One of the slots, by the leading digits of the hash.
#[inline(always)]
fn home(address: usize) -> usize {
    (table::hash(address as u64) >> 53) as usize
}
