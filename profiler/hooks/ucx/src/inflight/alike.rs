//! What operations that are alike have in common: function, endpoint or worker, and MPI call. It is found out once for all of them, and
//! so are the counters that they add to.
//!
//! An entry is one thread's own. It is filled in while the thread is inside of nothing, so an operation that is being posted, and
//! what happens inside of that, may rely on it. One that goes on longer has the stamp of the entry to compare.

use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use commsee_hook::Call;
use commsee_runtime::memory;

use super::operation::Operation;
use super::thread::{Link, Thread};
use super::workers::Worker;
use crate::module::protocol::Protocol;
use crate::module::routes::Carrier;
use crate::module::{self, Module};

/// A handle of UCX got another meaning, or may get one.
pub fn forget_all() {
    if let Some(module) = module::get() {
        module.renew();
    }
}

const ENTRIES: usize = 1 << ENTRY_BITS;
const ENTRY_BITS: u32 = 6;
/// Of so many operations of other kinds that want the place of an entry, one gets it.
const PATIENCE: u32 = 4;

#[repr(C, align(256))]
pub struct Alike {
    /// Of UCX, and in its highest bits the function.
    handle: u64,
    comm: u64,
    operation: u64,
    epoch: u32,
    pub peer: u32,
    /// A record that says all of this already, or null: for the next operation.
    pub spare: *mut Operation,
    thread: *mut Thread,
    /// No other entry of the thread ever had it.
    stamp: u32,
    /// The worker is known, and threads take turns on it.
    pub takes_turns: bool,
    is_one_sided: bool,
    /// Of operations that are counted.
    protocol: u8,
    carrier: Carrier,
    pub worker: *mut Worker,
    pub call: Call,
    /// Operations themselves.
    message: Counter,
    misses: u32,
    /// What is transmitted while they are posted.
    pub transmission: Transmission,
    /// Messages that complete them.
    pub arrival: Arrival,
}

const _: () = assert!(size_of::<Alike>() == 256);

/// What is transmitted by one function of an interface.
#[repr(C)]
pub struct Transmission {
    pub counter: Counter,
    iface: usize,
    /// The function that was replaced.
    pub real: usize,
    /// Its place in the table, and what it carries.
    what: u16,
    pub carrier: Carrier,
}

/// What arrives for one handler.
#[repr(C)]
pub struct Arrival {
    counter: Counter,
    handler: usize,
}

/// A counter of the core's, for sizes in one bucket.
#[derive(Clone, Copy)]
pub struct Counter {
    low: u64,
    span: u64,
    counted: *mut u64,
    misses: u32,
}

impl Counter {
    const NONE: Counter = Counter { low: 0, span: 0, counted: null_mut(), misses: 0 };

    #[inline(always)]
    pub fn holds(&self, bytes: u64) -> bool {
        bytes.wrapping_sub(self.low) <= self.span
    }

    /// Adds what was done at once.
    ///
    /// # Safety
    /// It is this thread's, and was found for such operations, whose size it holds.
    #[inline(always)]
    pub unsafe fn add(&self, bytes: u64) {
        // SAFETY: as demanded; the core never frees a counter.
        unsafe {
            // One after the other: not as a vector, which takes longer to make than to add.
            let [operations, of_bytes] = &*self.counted.cast::<[AtomicU64; 2]>();
            operations.store(operations.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
            of_bytes.store(of_bytes.load(Ordering::Relaxed).wrapping_add(bytes), Ordering::Relaxed);
        }
    }

    /// Whether to ask for another one: not for what comes once.
    fn wants_another(&mut self) -> bool {
        self.misses = self.misses.wrapping_add(1);
        self.misses % 8 == 2
    }

    fn ask(&mut self, module: &Module, call: &Call, route: u32, peer: u32, bytes: u64) -> bool {
        match module.counter(call, route, peer, bytes) {
            Some(found) => {
                let (low, high, counted) = (found.size_low, found.size_high, found.counted);
                *self = Counter { low, span: high.wrapping_sub(low), counted, misses: self.misses };
                true
            }
            None => false,
        }
    }
}

impl Arrival {
    const NONE: Arrival = Arrival { counter: Counter::NONE, handler: 0 };

    pub const fn new() -> Arrival {
        Arrival::NONE
    }

    /// Counts an arrival, if the counter for such is known.
    ///
    /// # Safety
    /// It is this thread's, which may count.
    #[inline(always)]
    pub unsafe fn count(&self, handler: usize, bytes: u64) -> bool {
        let is_it = self.handler == handler && self.counter.holds(bytes);
        if is_it {
            // SAFETY: as demanded.
            unsafe { self.counter.add(bytes) };
        }
        is_it
    }

    #[cold]
    pub fn learn(&mut self, module: &Module, call: &Call, route: u32, handler: usize, bytes: u64) {
        if self.counter.wants_another() {
            let is_known = self.counter.ask(module, call, route, 0, bytes);
            self.handler = if is_known { handler } else { 0 };
        }
    }
}

impl Transmission {
    const NONE: Transmission = Transmission { counter: Counter::NONE, iface: 0, real: 0, what: 0, carrier: 0 };

    #[inline(always)]
    pub fn is_of(&self, iface: usize, what: u16) -> bool {
        self.iface == iface && self.what == what
    }
}

/// Entries of a thread. Null if there is no memory.
pub fn entries(thread: *mut Thread) -> *mut Alike {
    let entries = memory::zeroed::<Alike>(ENTRIES);
    if !entries.is_null() {
        for place in 0..ENTRIES {
            // SAFETY: inside of them, and they are nobody else's yet.
            unsafe { (*entries.add(place)).thread = thread };
        }
    }
    entries
}

#[inline(always)]
fn with_function(handle: usize, function: u8) -> u64 {
    handle as u64 ^ u64::from(function) << 56
}

#[inline(always)]
fn place(handle: u64, comm: u64) -> usize {
    ((handle ^ comm.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - ENTRY_BITS)) as usize
}

/// The entry of an operation that begins now, outside of all others. Null where none is known.
///
/// # Safety
/// Null, or this thread.
#[inline(always)]
pub unsafe fn find(thread: *mut Thread, function: u8, handle: usize) -> *mut Alike {
    // SAFETY: as demanded; a thread has its state and all its entries.
    unsafe {
        if thread.is_null() || !(*thread).frame.is_null() {
            return null_mut();
        }
        let Some(position) = (*thread).state.position() else { return null_mut() };
        let handle = with_function(handle, function);
        let entry = (*thread).alike.add(place(handle, position.comm));
        let is_it = (*entry).handle == handle
            && (*entry).comm == position.comm
            && (*entry).epoch == (*thread).state.epoch()
            && position.is_of((*entry).operation);
        if is_it { entry } else { null_mut() }
    }
}

/// Remembers what is known of an operation that begins now, if that shall be. What is asked for events is asked anew each time.
///
/// # Safety
/// The thread is this one's, and the operation's record is filled in: with what was known in that epoch.
#[inline(never)]
pub unsafe fn remember(thread: *mut Thread, operation: *mut Operation, handle: usize, epoch: u32) {
    // SAFETY: as demanded; entries are the thread's own.
    unsafe {
        (*operation).alike = null_mut();
        let call = &(*operation).call;
        let is_plain = !call.is_traced() && call.context == 0 && (*thread).state.is_counting();
        if !(*thread).frame.is_null() || !is_plain || handle == 0 {
            return;
        }
        let Some(position) = (*thread).state.position() else { return };
        let handle = with_function(handle, (*operation).function);
        let entry = (*thread).alike.add(place(handle, position.comm));
        let is_current = (*entry).handle != 0 && (*entry).epoch == epoch;
        (*entry).misses = (*entry).misses.wrapping_add(1);
        if is_current && !(*entry).misses.is_multiple_of(PATIENCE) {
            return;
        }
        if !(*entry).spare.is_null() {
            (*thread).operations.give((*entry).spare);
        }
        (*thread).stamps = (*thread).stamps.wrapping_add(1);
        entry.write(Alike {
            handle,
            comm: position.comm,
            operation: position.operation,
            epoch,
            spare: null_mut(),
            thread,
            stamp: (*thread).stamps,
            peer: (*operation).peer.get(),
            worker: (*operation).worker.get(),
            call: *call,
            takes_turns: (*operation).worker.get().as_ref().is_some_and(|worker| !worker.several_threads),
            message: Counter::NONE,
            protocol: u8::MAX,
            carrier: 0,
            is_one_sided: (*operation).is_one_sided,
            misses: 0,
            transmission: Transmission::NONE,
            arrival: Arrival::NONE,
        });
        (*operation).alike = entry;
        (*operation).stamp = (*entry).stamp;
    }
}

impl Alike {
    /// Writes into a record what all such operations have.
    ///
    /// # Safety
    /// The entry was just found, and the record is nobody else's.
    pub unsafe fn describe(this: *mut Alike, operation: *mut Operation) {
        // SAFETY: as demanded.
        unsafe {
            (*operation).call = (*this).call;
            (*operation).is_one_sided = (*this).is_one_sided;
            (*operation).worker.set((*this).worker);
            (*operation).peer.set((*this).peer);
            (*operation).alike = this;
            (*operation).stamp = (*this).stamp;
        }
    }

    /// The entry of an operation, if it is this thread's and still the same one.
    ///
    /// # Safety
    /// The operation is in use.
    #[inline(always)]
    pub unsafe fn of(operation: *mut Operation, thread: *mut Thread) -> *mut Alike {
        // SAFETY: entries are never freed, and whose they are never changes. Only that thread goes on to read.
        unsafe {
            let alike = (*operation).alike;
            if !alike.is_null() && Alike::is_of(alike, operation, thread) { alike } else { null_mut() }
        }
    }

    /// # Safety
    /// As above; the entry is that which the operation was posted with.
    #[inline(always)]
    pub unsafe fn is_of(this: *mut Alike, operation: *mut Operation, thread: *mut Thread) -> bool {
        // SAFETY: as above.
        unsafe { (*this).thread == thread && (*this).stamp == (*operation).stamp }
    }

    /// Whether its counter is that of eager messages by this carrier, of so many bytes.
    ///
    /// # Safety
    /// The entry is this thread's.
    #[inline(always)]
    pub unsafe fn counts_eager(this: *mut Alike, carrier: Carrier, bytes: u64) -> bool {
        // SAFETY: as demanded.
        unsafe {
            (*this).protocol == Protocol::Eager as u8 && (*this).carrier == carrier && (*this).message.holds(bytes)
        }
    }

    /// The counter of such operations, for [`Module::add`].
    #[inline(always)]
    pub fn counter(&self) -> *mut u64 {
        self.message.counted
    }

    /// The counter of an operation that is complete, if it is known.
    ///
    /// # Safety
    /// The entry is that of the operation, from [`find`] or [`Alike::of`].
    #[inline(always)]
    pub unsafe fn counted(this: *mut Alike, operation: *mut Operation) -> Option<*mut u64> {
        // SAFETY: as demanded.
        unsafe {
            let is_it = (*this).protocol == (*operation).protocol.get() as u8
                && (*this).carrier == (*operation).carrier.get()
                && (*this).peer == (*operation).peer.get()
                && (*this).message.holds((*operation).bytes);
            is_it.then_some((*this).message.counted)
        }
    }

    /// The same for one that was done at once. False where it is not known.
    ///
    /// # Safety
    /// As above, and the thread may count.
    #[inline(always)]
    pub unsafe fn count(this: *mut Alike, operation: *mut Operation) -> bool {
        // SAFETY: as demanded.
        unsafe {
            let is_known = Alike::counted(this, operation).is_some();
            if is_known {
                (*this).message.add((*operation).bytes);
            }
            is_known
        }
    }

    /// An operation was counted by this route.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn learn(this: *mut Alike, module: &Module, operation: *mut Operation, route: u32) {
        // SAFETY: as demanded.
        unsafe {
            let peer = (*operation).peer.get();
            if peer == (*this).peer && (*this).message.wants_another() {
                let is_known = (*this).message.ask(module, &(*this).call, route, peer, (*operation).bytes);
                (*this).carrier = (*operation).carrier.get();
                (*this).protocol = if is_known { (*operation).protocol.get() as u8 } else { u8::MAX };
            }
        }
    }

    /// What was transmitted was counted by this route.
    ///
    /// # Safety
    /// The entry is that of the operation that is being posted.
    #[cold]
    pub unsafe fn learn_transmission(this: *mut Alike, module: &Module, route: u32, bytes: u64, seen: Transmitted) {
        // SAFETY: as demanded.
        unsafe {
            let Alike { transmission, call, peer, .. } = &mut *this;
            // Those of a rendezvous tell the operation more than that they were.
            if matches!(seen.protocol, Protocol::Eager | Protocol::Rma) && transmission.counter.wants_another() {
                let is_known = transmission.counter.ask(module, call, route, *peer, bytes);
                transmission.iface = if is_known { seen.iface } else { 0 };
                (transmission.real, transmission.what, transmission.carrier) = (seen.real, seen.what, seen.carrier);
            }
        }
    }

    /// For what belongs to an operation that is complete.
    #[cold]
    pub fn link(&self) -> Link {
        let Alike { call, peer, is_one_sided, .. } = *self;
        Link { call, peer, generation: 0, is_one_sided, operation: null_mut() }
    }
}

/// A transmission by its function.
pub struct Transmitted {
    pub iface: usize,
    pub real: usize,
    pub what: u16,
    pub carrier: Carrier,
    pub protocol: Protocol,
}

// What is looked at first lies in one cache line.
const _: () = assert!(offset_of!(Alike, worker) < 64);
