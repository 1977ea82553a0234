//! The core as a hook module sees it, and the module as the core knows it.

use std::ffi::{CStr, CString, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use commsee_hook::{Call, Communicator, Core, Counter, Drain, LEAST_CALL_BYTES, Route, ThreadState, VERSION};

use crate::thread_state::State;
use crate::{guard, memory, say};

/// The core, once it has taken this module in.
#[derive(Clone, Copy)]
pub struct Module {
    core: Core,
    number: i32,
}

/// What one module is, and where it keeps what the core made of it. [`module!`](crate::module!) makes it.
pub struct Announced {
    name: &'static CStr,
    /// What the user calls the layer.
    layer: &'static str,
    module: AtomicPtr<Module>,
    /// The core and this module are not of one build.
    is_other_version: AtomicBool,
}

impl Announced {
    pub const fn new(name: &'static CStr, layer: &'static str) -> Announced {
        let (module, is_other_version) = (AtomicPtr::new(null_mut()), AtomicBool::new(false));
        Announced { name, layer, module, is_other_version }
    }

    /// In a constructor, since the core wants to know its modules before MPI is initialized. `stop` ends the recording, and `forked` does
    /// so in a child.
    pub fn announce(&self, stop: fn(), forked: extern "C" fn(), lost: &'static str) {
        let found = guard::guarded(|| {
            guard::install(stop, lost);
            say::follow_environment();
            self.find(forked).and_then(memory::kept)
        });
        if let Some(module) = found.flatten() {
            self.module.store(module.as_ptr(), Ordering::Release);
        }
    }

    fn find(&self, forked: extern "C" fn()) -> Option<Module> {
        let Some(core) = Core::find() else {
            self.is_other_version.store(Core::is_there(), Ordering::Relaxed);
            return None;
        };
        // SAFETY: as the header says.
        let number = unsafe { (core.open)(VERSION, self.name.as_ptr()) };
        self.is_other_version.store(number == commsee_hook::OTHER_VERSION, Ordering::Relaxed);
        if number < 0 {
            return None;
        }
        // SAFETY: registers a function that is part of this library, which is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        Some(Module { core, number })
    }

    /// None where calls are only forwarded.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static Module> {
        // SAFETY: it is never freed.
        unsafe { self.module.load(Ordering::Acquire).as_ref() }
    }

    /// From here on calls are only forwarded.
    pub fn stop(&self) {
        // SAFETY: it is never freed.
        if let Some(module) = unsafe { self.module.swap(null_mut(), Ordering::AcqRel).as_ref() } {
            // What was remembered leads nowhere from here on: where it is asked for, the module is not asked for, too.
            module.renew();
        }
    }

    /// Says why the layer is not seen, where there is something to see.
    pub fn say_why_closed(&self) {
        if self.is_other_version.swap(false, Ordering::Relaxed) {
            let (name, layer) = (self.name.to_string_lossy(), self.layer);
            say::warn_for_all(&format!(
                "libcommsee_{name}.so and libcommsee.so have different versions: {layer} is not recorded"
            ));
        }
    }

    /// There is no memory for a record: what it was for is passed on, and not counted. `text` says so.
    #[cold]
    pub fn note_once(&self, text: &'static CStr, is_noted: &AtomicBool) {
        if let Some(module) = self.get()
            && !is_noted.swap(true, Ordering::Relaxed)
        {
            // SAFETY: a text that stays; no memory is needed here.
            unsafe { (module.core.note)(module.number, text.as_ptr()) }
        }
    }
}

/// Makes this library the hook module of a name, such as `c"ucx"`, for what the user calls `"UCX"`, and the functions `get`, `stop`,
/// `say_why_closed` and `say_what_is_lost` for it. `$opened` gets the module in the constructor, once the core
/// has taken it in.
#[macro_export]
macro_rules! module {
    ($name:literal, $layer:literal $(, $opened:path)?) => {
        static ANNOUNCED: $crate::module::Announced = $crate::module::Announced::new($name, $layer);

        #[used]
        #[unsafe(link_section = ".init_array")]
        static ANNOUNCE: extern "C" fn() = announce;

        extern "C" fn announce() {
            ANNOUNCED.announce(stop, forked, concat!($layer, " is no longer recorded"));
            $(if let Some(module) = get() {
                $opened(module);
            })?
        }

        /// The child of a fork has no profile of its own.
        extern "C" fn forked() {
            stop();
        }

        /// None where calls are only forwarded.
        #[inline(always)]
        pub fn get() -> Option<&'static $crate::module::Module> {
            ANNOUNCED.get()
        }

        /// From here on calls are only forwarded.
        pub fn stop() {
            ANNOUNCED.stop();
        }

        /// Says why the layer is not seen, where there is something to see.
        pub fn say_why_closed() {
            ANNOUNCED.say_why_closed();
        }

        /// There is no memory for a record: what it was for is passed on, and not counted.
        #[cold]
        pub fn say_what_is_lost() {
            static IS_NOTED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
            const TEXT: &str = concat!("out of memory: some operations of ", $layer, " are not counted\0");
            ANNOUNCED.note_once(std::ffi::CStr::from_bytes_with_nul(TEXT.as_bytes()).unwrap_or_default(), &IS_NOTED);
        }
    };
}

impl Module {
    /// The program uses the layer, which no MPI library uses by itself: in a process without MPI recording begins. Whether anything is recorded.
    #[cold]
    pub fn begin(&self) -> bool {
        // SAFETY: no pointers.
        unsafe { (self.core.begin)(self.number) != 0 }
    }

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
        // SAFETY: as demanded.
        unsafe {
            (*call).size = LEAST_CALL_BYTES;
            (self.core.here)(call) != 0
        }
    }

    pub fn route_number(&self, route: &Route) -> u32 {
        // SAFETY: the strings live as long as the call.
        unsafe { (self.core.route_number)(self.number, route) }
    }

    /// The number of a communicator of the layer.
    pub fn communicator_number(&self, communicator: &Communicator) -> u32 {
        // SAFETY: the label lives as long as the call.
        unsafe { (self.core.communicator_number)(self.number, communicator) }
    }

    pub fn communicator_freed(&self, communicator: u32) {
        // SAFETY: no pointers.
        unsafe { (self.core.communicator_freed)(self.number, communicator) }
    }

    /// The thread enters a call of the layer, until [`Module::leave`].
    pub fn enter(&self, route: u32, communicator: u32, sequence: u64) -> u32 {
        // SAFETY: no pointers.
        unsafe { (self.core.enter)(self.number, route, communicator, sequence) }
    }

    pub fn leave(&self, entered: u32) {
        // SAFETY: no pointers.
        unsafe { (self.core.leave)(entered) }
    }

    /// Charges what is counted for a call to a communicator of the layer.
    pub fn on(&self, call: &mut Call, communicator: u32) {
        // SAFETY: the call lives as long as this.
        unsafe { (self.core.on)(call, communicator) }
    }

    /// The call has allocated memory: copies of it count for that call's site, until it is freed.
    pub fn allocated(&self, call: &Call, address: u64, bytes: u64) {
        // SAFETY: the call lives as long as this.
        unsafe { (self.core.allocated)(self.number, call, address, bytes) }
    }

    pub fn freed(&self, address: u64) {
        // SAFETY: no pointers.
        unsafe { (self.core.freed)(address) }
    }

    /// Charges what is counted for a call to the objects that it reads and writes.
    pub fn moves(&self, call: &mut Call, source: u64, target: u64) {
        // SAFETY: the call lives as long as this.
        unsafe { (self.core.moves)(call, source, target) }
    }

    /// Has a function called before counting ends.
    ///
    /// # Safety
    /// It may be called with the argument by any thread, as long as the process lives.
    pub unsafe fn drain(&self, drain: Drain, argument: *mut c_void) {
        // SAFETY: as demanded.
        unsafe { (self.core.drain)(self.number, Some(drain), argument) }
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
    pub fn count(&self, call: &Call, route: u32, peer: u32, size_bytes: u64, bytes: u64, duration_ns: u64) {
        // SAFETY: the call lives as long as this.
        unsafe { (self.core.count)(call, route, peer, size_bytes, bytes, duration_ns) }
    }

    /// The counter that [`Module::count`] would add to, for this thread alone.
    #[cold]
    pub fn counter(&self, call: &Call, route: u32, peer: u32, size_bytes: u64) -> Option<Counter> {
        let mut counter = Counter::NONE;
        // SAFETY: both live as long as this.
        let is_there = unsafe { (self.core.counter_of)(call, route, peer, size_bytes, &raw mut counter) };
        (is_there != 0).then_some(counter)
    }

    /// Adds to such a counter.
    ///
    /// # Safety
    /// It is this thread's, and the thread's [`State`] is not off.
    #[inline(always)]
    pub unsafe fn add(&self, counted: *mut u64, bytes: u64, duration_ns: u64) {
        // SAFETY: as demanded.
        unsafe { (self.core.add)(counted, bytes, duration_ns) }
    }

    /// What was remembered in this epoch is not valid any more, in any thread.
    pub fn renew(&self) {
        // SAFETY: no pointers.
        unsafe { (self.core.renew)() }
    }

    /// What this thread reads by itself. None while nothing is recorded.
    pub fn thread_state(&self) -> Option<State> {
        let mut told = ThreadState::NONE;
        // SAFETY: it lives as long as this.
        let is_told = unsafe { (self.core.thread_of)(&raw mut told) };
        (is_told != 0).then(|| State::new(told))
    }

    #[inline(always)]
    pub fn now_ns(&self) -> u64 {
        // SAFETY: reads the clock.
        unsafe { (self.core.now_ns)() }
    }

    #[cold]
    pub fn event(&self, call: &Call, route: u32, peer: u32, bytes: u64, begin_ns: u64, end_ns: u64) {
        // SAFETY: the call lives as long as this.
        unsafe { (self.core.event)(call, route, peer, bytes, begin_ns, end_ns) }
    }

    /// A fact for every report.
    pub fn note(&self, text: &str) {
        if let Ok(text) = CString::new(text) {
            // SAFETY: the text lives as long as the call, which copies it.
            unsafe { (self.core.note)(self.number, text.as_ptr()) }
        }
    }
}
