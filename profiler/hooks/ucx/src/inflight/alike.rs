//! What operations that are alike have in common: function, endpoint or worker, and MPI call. It is found out once for all of them, and
//! so are the counters that they add to.
//!
//! An entry is one thread's own. It is filled in while the thread is inside of nothing, so an operation that is being posted, and
//! what happens inside of that, may rely on it. One that goes on longer has the stamp of the entry to compare.

use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use commsee_hook::{Call, EXACT_NS};
use commsee_runtime::memory;
use commsee_runtime::thread_state::tick_factor;

use super::operation::{Now, NowWord, Operation, phase, take_spare};
use super::thread::{Kind, Link, Marks, Thread};
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
    /// Of UCX.
    handle: usize,
    comm: u64,
    operation: u64,
    epoch: u32,
    pub peer: u32,
    /// A record that says all of this already, or null: for the next operation. Those of receives are strung together.
    pub spare: *mut Operation,
    /// How an operation begins.
    pub posting: NowWord,
    thread: *mut Thread,
    /// No other entry of the thread ever had it.
    stamp: u32,
    /// The worker is known, and threads take turns on it.
    pub takes_turns: bool,
    is_one_sided: bool,
    function: u8,
    pub worker: *mut Worker,
    /// How one is that was done at once and has this counter, and how one that waits for a message of the kind below, if its counter is
    /// that one as well; or [`NEVER`].
    done: NowWord,
    waiting: NowWord,
    /// Operations themselves.
    message: Counter,
    message_misses: u16,
    /// Times may be added to their counter.
    is_timed: bool,
    /// How many spare records of receives there are.
    pub spares: u8,
    misses: u32,
    pub call: Call,
    /// What is transmitted while they are posted.
    pub transmission: Transmission,
    /// Messages that complete them.
    pub arrival: Arrival,
}

const _: () = assert!(size_of::<Alike>() == 256);

/// How no operation is.
const NEVER: NowWord = NowWord::MAX;

/// What is transmitted by one function of an interface.
#[repr(C)]
pub struct Transmission {
    pub counter: Counter,
    iface: usize,
    /// The function that was replaced.
    pub real: usize,
    /// How the operation is after it, if this was the first.
    pub carried: NowWord,
    misses: u16,
    /// Its place in the table, and what it carries.
    place: u8,
    id: u8,
    pub carrier: Carrier,
}

/// What arrives of one number by one interface.
#[repr(C)]
pub struct Arrival {
    counter: Counter,
    /// Of such frames; 0 is of none.
    marks: u64,
    misses: u16,
}

/// A counter of the core's, for sizes in one bucket.
#[derive(Clone, Copy)]
pub struct Counter {
    low: u64,
    span: u64,
    counted: *mut u64,
}

impl Counter {
    const NONE: Counter = Counter { low: 0, span: 0, counted: null_mut() };

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

    /// Adds what took its time. False where [`Counter::tell`] has to: none was shorter, or longer, so far.
    ///
    /// # Safety
    /// As above, and the core says that times may be added.
    #[inline(always)]
    pub unsafe fn add_timed(&self, bytes: u64, duration_ns: u64) -> bool {
        // SAFETY: as demanded.
        unsafe {
            let timed = &*self.counted.add(2).cast::<[AtomicU64; 2]>();
            let [shortest, longest] = &*self.counted.add(4).cast::<[AtomicU32; 2]>();
            let is_between = duration_ns < EXACT_NS
                && duration_ns as u32 >= shortest.load(Ordering::Relaxed)
                && duration_ns as u32 <= longest.load(Ordering::Relaxed);
            if is_between {
                self.add(bytes);
                let [operations, time] = timed;
                operations.store(operations.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
                time.store(time.load(Ordering::Relaxed).wrapping_add(duration_ns), Ordering::Relaxed);
            }
            is_between
        }
    }

    /// The same by the core.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn tell(&self, module: &Module, bytes: u64, duration_ns: u64) {
        // SAFETY: as demanded.
        unsafe { module.add(self.counted, bytes, duration_ns) };
    }

    /// Asks for one. None where there is none; whether times may be added to it.
    fn ask(&mut self, module: &Module, call: &Call, route: u32, peer: u32, bytes: u64) -> Option<bool> {
        let found = module.counter(call, route, peer, bytes)?;
        let (low, high, counted) = (found.size_low, found.size_high, found.counted);
        *self = Counter { low, span: high.wrapping_sub(low), counted };
        Some(found.timed != 0)
    }
}

/// Whether to ask for another counter: not for what comes once.
fn wants_another(misses: &mut u16) -> bool {
    *misses = misses.wrapping_add(1);
    *misses % 8 == 2
}

impl Arrival {
    const NONE: Arrival = Arrival { counter: Counter::NONE, marks: 0, misses: 0 };

    pub const fn new() -> Arrival {
        Arrival::NONE
    }

    /// Counts an arrival, if the counter for such is known.
    ///
    /// # Safety
    /// It is this thread's, which may count.
    #[inline(always)]
    pub unsafe fn count(&self, marks: Marks, bytes: u64) -> bool {
        let is_it = self.marks == marks.word() && self.counter.holds(bytes);
        if is_it {
            // SAFETY: as demanded.
            unsafe { self.counter.add(bytes) };
        }
        is_it
    }

    #[cold]
    pub fn learn(&mut self, module: &Module, call: &Call, route: u32, marks: Marks, bytes: u64) {
        if wants_another(&mut self.misses) {
            let is_known = self.counter.ask(module, call, route, 0, bytes).is_some();
            self.marks = if is_known { marks.word() } else { 0 };
        }
    }
}

impl Transmission {
    const NONE: Transmission = Transmission {
        counter: Counter::NONE,
        iface: 0,
        real: 0,
        carried: NEVER,
        misses: 0,
        place: 0,
        id: 0,
        carrier: 0,
    };

    #[inline(always)]
    pub fn is_of(&self, iface: usize, place: u8, id: u8) -> bool {
        self.iface == iface && self.place == place && self.id == id
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

/// Handles and communicators differ in their lower halves. Sends and receives with tags, which take turns, have numbers that are even and
/// odd, and so never the same place.
#[inline(always)]
fn place(handle: usize, comm: u64, function: u8) -> usize {
    let mixed = ((handle as u64).wrapping_add(comm << 3) as u32).wrapping_mul(0x9e37_79b1);
    (mixed >> (u32::BITS - ENTRY_BITS) & !1) as usize | usize::from(function & 1)
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
        let state = &(*thread).state;
        if !state.is_in_one_call() {
            return null_mut();
        }
        // One after the other: so hardly a register is needed that would have to be saved.
        let comm = state.comm();
        let entry = (*thread).alike.add(place(handle, comm, function));
        let is_it = (*entry).handle == handle
            && (*entry).comm == comm
            && (*entry).function == function
            && (*entry).epoch == state.epoch()
            && state.is_of((*entry).operation);
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
        let state = &(*thread).state;
        if !state.is_in_one_call() {
            return;
        }
        let comm = state.comm();
        let entry = (*thread).alike.add(place(handle, comm, (*operation).function));
        let is_current = (*entry).handle != 0 && (*entry).epoch == epoch;
        (*entry).misses = (*entry).misses.wrapping_add(1);
        if is_current && !(*entry).misses.is_multiple_of(PATIENCE) {
            return;
        }
        while !(*entry).spare.is_null() {
            let spare = (*entry).spare;
            take_spare(entry, spare);
            (*thread).operations.give(spare);
        }
        (*thread).stamps = (*thread).stamps.wrapping_add(1);
        let (peer, worker) = ((*operation).now.peer.get(), (*operation).worker.get());
        let protocol = (*operation).now.protocol.get();
        entry.write(Alike {
            handle,
            comm,
            operation: (*thread).state.operation(),
            epoch,
            spare: null_mut(),
            posting: Now::of(peer, protocol, 0, phase::POSTING, false),
            thread,
            stamp: (*thread).stamps,
            peer,
            worker,
            call: *call,
            takes_turns: worker.as_ref().is_some_and(|worker| !worker.several_threads),
            done: NEVER,
            waiting: NEVER,
            message: Counter::NONE,
            message_misses: 0,
            is_timed: false,
            spares: 0,
            function: (*operation).function,
            is_one_sided: (*operation).is_one_sided,
            misses: 0,
            transmission: Transmission::NONE,
            arrival: Arrival::NONE,
        });
        Alike::join(entry, operation);
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
            (*operation).now.peer.set((*this).peer);
            Alike::join(this, operation);
        }
    }

    unsafe fn join(this: *mut Alike, operation: *mut Operation) {
        // SAFETY: as above.
        unsafe {
            (*operation).alike = this;
            (*operation).stamp = (*this).stamp;
            // A call that progresses what others posted says nothing of what is transmitted in it.
            let is_told = (*this).peer != 0 && (*operation).frame.marks.kind == Kind::Post;
            (*operation).frame.posted = if is_told { this } else { null_mut() };
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

    /// Counts an operation that was done at once, if it is like others before. False where it is not.
    ///
    /// # Safety
    /// The entry is that of the operation, from [`find`].
    #[inline(always)]
    pub unsafe fn count_done(this: *mut Alike, operation: *mut Operation) -> bool {
        // SAFETY: as demanded: its thread may count.
        unsafe {
            let bytes = (*operation).bytes;
            let is_it = (*operation).now.word() == (*this).done && (*this).message.holds(bytes);
            if is_it {
                (*this).message.add(bytes);
            }
            is_it
        }
    }

    /// How an operation waits whose completion is known; None where none is.
    ///
    /// # Safety
    /// The entry is this thread's.
    #[inline(always)]
    pub unsafe fn waiting(this: *mut Alike) -> Option<NowWord> {
        // SAFETY: as demanded.
        Some(unsafe { (*this).waiting }).filter(|word| *word != NEVER)
    }

    /// The counter of an operation that waits so, and is completed now by a message in such a frame.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    pub unsafe fn waited(
        this: *mut Alike,
        operation: *mut Operation,
        marks: Marks,
        bytes: u64,
    ) -> Option<*const Counter> {
        // SAFETY: as demanded.
        unsafe {
            let is_it = (*operation).now.word() == (*this).waiting
                && marks.word() == (*this).arrival.marks
                && (*this).message.holds(bytes);
            is_it.then_some(&raw const (*this).message)
        }
    }

    /// After its counters have changed.
    unsafe fn settle(this: *mut Alike) {
        // SAFETY: the entry is this thread's.
        unsafe {
            let Alike { peer, done, arrival, is_timed, takes_turns, .. } = &*this;
            let carrier = Marks::carrier_of(arrival.marks);
            let is_eager = Now::goes_alike(*done, Now::of(*peer, Protocol::Eager, carrier, phase::FREE, false));
            let is_known = is_eager && *is_timed && *takes_turns && tick_factor() != 0;
            let waiting = Now::of(*peer, Protocol::Eager, 0, phase::PENDING, true);
            (*this).waiting = if is_known { waiting } else { NEVER };
        }
    }

    /// The counter of an operation that is complete, if it is known.
    ///
    /// # Safety
    /// The entry is that of the operation, from [`find`] or [`Alike::of`].
    #[inline(always)]
    pub unsafe fn counted(this: *mut Alike, operation: *mut Operation) -> Option<*mut u64> {
        // SAFETY: as demanded.
        unsafe {
            let is_it =
                Now::goes_alike((*operation).now.word(), (*this).done) && (*this).message.holds((*operation).bytes);
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
            let peer = (*operation).now.peer.get();
            if peer == (*this).peer && wants_another(&mut (*this).message_misses) {
                let (protocol, carrier) = ((*operation).now.protocol.get(), (*operation).now.carrier.get());
                let found = (*this).message.ask(module, &(*this).call, route, peer, (*operation).bytes);
                let is_known = found.is_some();
                (*this).done = if is_known { Now::of(peer, protocol, carrier, phase::POSTING, false) } else { NEVER };
                (*this).is_timed = found == Some(true);
                Alike::settle(this);
            }
        }
    }

    /// A message that completed such an operation was counted by this route.
    ///
    /// # Safety
    /// The entry is this thread's.
    #[cold]
    pub unsafe fn learn_arrival(this: *mut Alike, module: &Module, route: u32, marks: Marks, bytes: u64) {
        // SAFETY: as demanded.
        unsafe {
            let Alike { arrival, call, .. } = &mut *this;
            arrival.learn(module, call, route, marks, bytes);
            Alike::settle(this);
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
            let Alike { transmission, call, peer, posting, .. } = &mut *this;
            // Those of a rendezvous tell the operation more than that they were.
            if matches!(seen.protocol, Protocol::Eager | Protocol::Rma) && wants_another(&mut transmission.misses) {
                let is_known = transmission.counter.ask(module, call, route, *peer, bytes).is_some();
                transmission.iface = if is_known { seen.iface } else { 0 };
                (transmission.real, transmission.carrier) = (seen.real, seen.carrier);
                (transmission.place, transmission.id) = (seen.place, seen.id);
                transmission.carried = Now::carried(*posting, seen.carrier);
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
    pub place: u8,
    pub id: u8,
    pub carrier: Carrier,
    pub protocol: Protocol,
}

// What is looked at first lies in one cache line.
const _: () = assert!(offset_of!(Alike, worker) <= 64);
