//! This module as the core knows it, and what is said and noted.

use std::ffi::CString;
use std::io::Write as _;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use commsee_hook::{Call, Core, VERSION, Way};

use crate::{guard, memory};

/// The core, once it has taken this module in.
#[derive(Clone, Copy)]
pub struct Module {
    core: Core,
    number: i32,
}

static MODULE: AtomicPtr<Module> = AtomicPtr::new(null_mut());

/// The core and this module are not of one build.
static IS_OTHER_VERSION: AtomicBool = AtomicBool::new(false);

/// The core wants to know its modules before MPI is initialized.
#[used]
#[unsafe(link_section = ".init_array")]
static ANNOUNCE: extern "C" fn() = announce;

extern "C" fn announce() {
    if let Some(module) = guard::cold(|| {
        guard::prepare();
        find()
    })
    .flatten()
    .and_then(memory::boxed)
    {
        MODULE.store(Box::into_raw(module), Ordering::Release);
    }
}

/// Says why UCX is not seen, where there is something to see.
pub fn say_why_closed() {
    if IS_OTHER_VERSION.swap(false, Ordering::Relaxed) {
        say("libcommsee_ucx.so and libcommsee.so are of different versions, UCX is not seen");
    }
}

/// There is no memory for a record: what it was for is passed on, and not counted.
#[cold]
pub fn say_what_is_lost() {
    static IS_NOTED: AtomicBool = AtomicBool::new(false);
    if let Some(module) = get()
        && !IS_NOTED.swap(true, Ordering::Relaxed)
    {
        // SAFETY: a text that stays; no memory is needed here.
        unsafe { (module.core.note)(module.number, c"out of memory: some operations of UCX are not counted".as_ptr()) }
    }
}

/// None where calls are only forwarded.
#[inline(always)]
pub fn get() -> Option<&'static Module> {
    // SAFETY: it is never freed.
    unsafe { MODULE.load(Ordering::Acquire).as_ref() }
}

fn find() -> Option<Module> {
    let core = Core::find()?;
    // SAFETY: as the header says.
    let number = unsafe { (core.open)(VERSION, c"ucx".as_ptr()) };
    IS_OTHER_VERSION.store(number == commsee_hook::OTHER_VERSION, Ordering::Relaxed);
    if number < 0 {
        return None;
    }
    // SAFETY: registers a function that is part of this library, which is never unloaded.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    Some(Module { core, number })
}

/// The child of a fork has no profile of its own.
extern "C" fn forked() {
    stop();
}

/// From here on calls are only forwarded.
pub fn stop() {
    MODULE.store(null_mut(), Ordering::Release);
}

impl Module {
    /// This thread's word. Null while nothing is recorded.
    #[inline(always)]
    pub fn word(&self) -> *mut u64 {
        // SAFETY: no pointers go in.
        unsafe { (self.core.word)(self.number) }
    }

    /// Whether there is an MPI call to count for. Fills it in.
    ///
    /// # Safety
    /// `call` may be written.
    #[inline(always)]
    pub unsafe fn here(&self, call: *mut Call) -> bool {
        unsafe { (self.core.here)(call) != 0 }
    }

    pub fn way_number(&self, way: &Way) -> u32 {
        // SAFETY: the strings live as long as the call.
        unsafe { (self.core.way_number)(self.number, way) }
    }

    pub fn own_identity(&self, identity: u64) {
        // SAFETY: no pointers.
        unsafe { (self.core.own_identity)(self.number, identity) }
    }

    pub fn peer(&self, identity: u64) -> u32 {
        // SAFETY: no pointers.
        unsafe { (self.core.peer)(self.number, identity) }
    }

    #[inline(always)]
    pub fn count(&self, call: &Call, way: u32, peer: u32, size_bytes: u64, bytes: u64, ticks: u64) {
        // SAFETY: the call lives as long as this.
        unsafe { (self.core.count)(call, way, peer, size_bytes, bytes, ticks) }
    }

    #[inline(always)]
    pub fn ticks(&self) -> u64 {
        // SAFETY: reads the clock.
        unsafe { (self.core.ticks)() }
    }

    #[cold]
    pub fn event(&self, call: &Call, way: u32, peer: u32, bytes: u64, begin_ticks: u64, end_ticks: u64) {
        // SAFETY: the call lives as long as this.
        unsafe { (self.core.event)(call, way, peer, bytes, begin_ticks, end_ticks) }
    }

    /// A fact for every report.
    pub fn note(&self, text: &str) {
        if let Ok(text) = CString::new(text) {
            // SAFETY: the text lives as long as the call, which copies it.
            unsafe { (self.core.note)(self.number, text.as_ptr()) }
        }
    }
}

/// A line on standard error, of the job's first process if the launcher says which this is.
pub fn say(text: &str) {
    let silent = std::env::var("COMMSEE_LOG").is_ok_and(|level| level.eq_ignore_ascii_case("off"));
    let first = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"]
        .iter()
        .find_map(|name| std::env::var(name).ok())
        .is_none_or(|rank| rank == "0");
    if first && !silent {
        let _ = std::io::stderr().write_all(format!("commsee: {text}\n").as_bytes());
    }
}
