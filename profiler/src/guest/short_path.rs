//! The paths through a wrapper. A call takes the short one where all is as usual: calls are recorded, by the processor's
//! counter, without a timeline and without datatypes, and the thread is in no other call. Where calls are counted by call site, it
//! has a form of its own. One jump leads there: each function has an address ([`Way`]), which is that of the way around while anything is not as usual.
//! All else takes the full path.
//!
//! All are made of the same functions, which take the path as a type: on the short one the tests for what is rare are constants.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering, fence};

use vocabulary::calls::CALLS;

pub trait Path {
    const IS_SHORT: bool;
    /// The short one that counts by call site. On the full one that is asked of each call.
    const IS_SITED: bool = false;
    /// Those whose libraries alone take the path.
    const FAMILY: Family = Family::Any;
}

/// The ABI families in which most programs run, which have paths of their own where it saves asking.
#[derive(Clone, Copy)]
pub enum Family {
    Any,
    OpenMpi,
    Mpich,
}

pub enum Short {}
/// The short one in these families.
pub enum OpenMpi {}
pub enum Mpich {}
pub enum Sited {}
pub enum Full {}

impl Path for Short {
    const IS_SHORT: bool = true;
}

impl Path for OpenMpi {
    const IS_SHORT: bool = true;
    const FAMILY: Family = Family::OpenMpi;
}

impl Path for Mpich {
    const IS_SHORT: bool = true;
    const FAMILY: Family = Family::Mpich;
}

impl Path for Sited {
    const IS_SHORT: bool = true;
    const IS_SITED: bool = true;
}

impl Path for Full {
    const IS_SHORT: bool = false;
}

/// Two slots per operation, as in `real.rs`.
const SLOTS: usize = 2 * CALLS.len();

const CLOSED: u8 = 0;
const SHORT: u8 = 1;
const SITED: u8 = 2;

/// Which way the calls of an exported function go.
#[repr(C)]
pub struct Way {
    /// A function that takes what the exported one takes, and the caller.
    open: AtomicPtr<()>,
    /// The way around the short path.
    around: *const (),
}

// SAFETY: the addresses of functions.
unsafe impl Sync for Way {}

/// Those that have been opened, by slot.
static OPENED: [AtomicPtr<Way>; SLOTS] = [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS];
static OPEN: AtomicU8 = AtomicU8::new(CLOSED);
/// Something is wanted that only the full path does.
static IS_FORBIDDEN: AtomicBool = AtomicBool::new(false);
/// The one that opens.
static WANTED: AtomicU8 = AtomicU8::new(SHORT);

impl Way {
    pub const fn around(around: *const ()) -> Way {
        Way { open: AtomicPtr::new(around.cast_mut()), around }
    }

    #[inline(always)]
    pub fn open(&self) -> *mut () {
        self.open.load(Ordering::Acquire)
    }

    fn close(&self) {
        self.open.store(self.around.cast_mut(), Ordering::Relaxed);
    }

    fn is_closed(&self) -> bool {
        self.open().cast_const() == self.around
    }

    /// Whoever closes all of them finds it.
    fn open_to(&self, path: *const ()) {
        self.open.store(path.cast_mut(), Ordering::Release);
        // It may have been closed between the two: then one of both sees what the other did.
        fence(Ordering::SeqCst);
        if which() == CLOSED {
            self.close();
        }
    }
}

/// One of those that are found one from the other once they have been opened: nobody knows how many there are.
pub struct Linked {
    way: Way,
    next: AtomicPtr<Linked>,
    /// 0, or one of these.
    state: AtomicU8,
}

/// Where the shells find where it leads.
pub const LINKED_OPEN: usize = std::mem::offset_of!(Linked, way) + std::mem::offset_of!(Way, open);

const BEING_LINKED: u8 = 1;
const LINKED: u8 = 2;

/// The latest.
static LATEST_LINKED: AtomicPtr<Linked> = AtomicPtr::new(ptr::null_mut());

impl Linked {
    pub const fn around(around: *const ()) -> Linked {
        Linked { way: Way::around(around), next: AtomicPtr::new(ptr::null_mut()), state: AtomicU8::new(0) }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn open(&self) -> *mut () {
        self.way.open()
    }

    /// Until it is offered again.
    pub fn close(&self) {
        self.way.close();
    }

    /// Its calls may take a short path, if one is open: `path` tells which, and whether by call site.
    #[inline(always)]
    pub fn offer(&'static self, path: impl FnOnce(bool) -> *const ()) {
        let open = which();
        if open != CLOSED && self.way.is_closed() && self.is_linked() {
            self.way.open_to(path(open == SITED));
        }
    }

    /// False while another thread, or whom a handler of a signal has interrupted, is at it.
    #[cold]
    fn is_linked(&'static self) -> bool {
        // Whoever closes all of them behind one who has found it linked finds it, too.
        match self.state.compare_exchange(0, BEING_LINKED, Ordering::Relaxed, Ordering::Acquire) {
            Err(state) => state == LINKED,
            Ok(_) => {
                let mut latest = LATEST_LINKED.load(Ordering::Relaxed);
                loop {
                    self.next.store(latest, Ordering::Relaxed);
                    let own = ptr::from_ref(self).cast_mut();
                    match LATEST_LINKED.compare_exchange(latest, own, Ordering::Release, Ordering::Relaxed) {
                        Ok(_) => break,
                        Err(now) => latest = now,
                    }
                }
                self.state.store(LINKED, Ordering::Release);
                true
            }
        }
    }
}

#[inline(always)]
fn which() -> u8 {
    OPEN.load(Ordering::Relaxed)
}

/// The real function of a slot is known: its next call may take the short path, by the one or the other function, if that is open. `short` is asked
/// where it is: then the ABI is known.
pub fn offer(slot: usize, way: &'static Way, short: impl FnOnce() -> *const (), sited: *const ()) {
    let open = which();
    if open == CLOSED || !way.is_closed() {
        return;
    }
    OPENED[slot].store(ptr::from_ref(way).cast_mut(), Ordering::Relaxed);
    way.open_to(if open == SITED { sited } else { short() });
}

/// From now on every call takes the full path, for good.
pub fn forbid() {
    IS_FORBIDDEN.store(true, Ordering::SeqCst);
    close();
}

/// Calls are counted by the site that their return address tells. Before any call. On processors where wrappers do not know it, that takes the
/// full path.
pub fn count_sites() {
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        WANTED.store(SITED, Ordering::SeqCst)
    } else {
        forbid()
    }
}

/// Calls are recorded from now on.
pub fn open() {
    if !IS_FORBIDDEN.load(Ordering::SeqCst) {
        OPEN.store(WANTED.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}

/// Calls are not recorded any more, or pause.
pub fn close() {
    OPEN.store(CLOSED, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    for way in &OPENED {
        // SAFETY: those that were offered, which are static.
        if let Some(way) = unsafe { way.load(Ordering::Acquire).as_ref() } {
            way.close();
        }
    }
    let mut linked = LATEST_LINKED.load(Ordering::Acquire);
    // SAFETY: these are static, too.
    while let Some(next) = unsafe { linked.as_ref() } {
        next.close();
        linked = next.next.load(Ordering::Relaxed);
    }
}
