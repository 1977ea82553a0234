//! The end of an operation: libucp's callbacks, which pass on to the program's, and what is forgotten.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use commsee_runtime::thread_state::{nanoseconds, tick_factor, ticks};

use super::functions::{DESCRIBED, ROUTES};
use crate::abi::ucp::{LengthCallback, SendCallback, TagRecvCallback, TagRecvInfo};
use crate::abi::ucs::{self, Status};
use crate::inflight::alike::Alike;
use crate::inflight::operation::{AtOnce, Operation, Pooled, give_back, give_to_all, phase};
use crate::inflight::thread::{self, Kind, Link, Marks, Standing, Thread};
use crate::inflight::workers::Worker;
use crate::module::protocol::{Protocol, message};
use crate::module::{self, Module};

/// Counts an operation whose counter is not known yet: `alike` learns it.
#[cold]
#[inline(never)]
pub unsafe fn count(function: usize, operation: *mut Operation, alike: *mut Alike, duration_ns: u64) {
    let Some(module) = module::get() else { return };
    let (Some(described), Some(routes)) = (DESCRIBED.get(function), ROUTES.get(function)) else { return };
    // SAFETY: the record was not given back yet, and what other threads still write in it is `Loose`. The entry is null, or the operation's.
    unsafe {
        let layer = if described.arrives { "ucp-rx" } else { "ucp" };
        let (protocol, carrier) = ((*operation).now.protocol.get(), (*operation).now.carrier.get());
        let (call, peer, bytes) = (&(*operation).call, (*operation).now.peer.get(), (*operation).bytes);
        let route = routes.number(module, layer, described.name, protocol, carrier);
        module.count(call, route, peer, bytes, bytes, duration_ns);
        if call.is_traced() {
            module.event(call, route, peer, bytes, (*operation).begin_ns, module.now_ns());
        }
        if !alike.is_null() {
            Alike::learn(alike, module, operation, route);
        }
    }
}

pub unsafe extern "C-unwind" fn sent(request: *mut c_void, status: Status, user_data: *mut c_void) {
    // SAFETY: what `Posting::prepare` gave libucp with this function: the operation's record, which holds the program's callback for a send.
    unsafe {
        let (callback, user_data, thread) = complete(user_data.cast(), status, None);
        if callback != 0 {
            // The older form has no user data; an argument more does no harm in the calling conventions that there are.
            let callback = std::mem::transmute::<usize, SendCallback>(callback);
            as_program(thread, || callback(request, status, user_data));
        }
    }
}

#[cold]
#[inline(never)]
pub unsafe extern "C-unwind" fn received(
    request: *mut c_void,
    status: Status,
    info: *const TagRecvInfo,
    user_data: *mut c_void,
) {
    // SAFETY: as for `sent`, with a callback for a receive; `info` is null or libucp's.
    unsafe {
        let bytes = info.as_ref().map_or(0, |info| {
            (*user_data.cast::<Operation>()).info = *info;
            info.length as u64
        });
        let (callback, user_data, thread) = complete(user_data.cast(), status, Some(bytes));
        if callback != 0 {
            let callback = std::mem::transmute::<usize, TagRecvCallback>(callback);
            as_program(thread, || callback(request, status, info, user_data));
        }
    }
}

pub unsafe extern "C-unwind" fn received_data(
    request: *mut c_void,
    status: Status,
    length: usize,
    user_data: *mut c_void,
) {
    // SAFETY: as for `sent`, with a callback for data of an active message.
    unsafe {
        let (callback, user_data, thread) = complete(user_data.cast(), status, Some(length as u64));
        if callback != 0 {
            let callback = std::mem::transmute::<usize, LengthCallback>(callback);
            as_program(thread, || callback(request, status, length, user_data));
        }
    }
}

/// Runs a callback of the program. What it posts are operations of its own, even if it is called inside of a post.
#[inline(always)]
unsafe fn as_program(thread: Option<*mut Thread>, run: impl FnOnce()) {
    // SAFETY: `thread` is this one's, from `thread::current`.
    unsafe {
        let _standing = match thread {
            Some(thread) if thread::is_posting(thread) => Standing::enter(thread, Marks::of(Kind::Program)),
            _ => None,
        };
        run();
    }
}

/// Ends an operation, or leaves that to its post. Returns what the program wants to be called.
#[inline(always)]
unsafe fn complete(
    operation: *mut Operation,
    status: Status,
    arrived: Option<u64>,
) -> (usize, *mut c_void, Option<*mut Thread>) {
    // SAFETY: libucp completes an operation once. Its record is not given back before, and the phase says whether the post has let go of it.
    unsafe {
        let thread = module::get().and_then(thread::current);
        let alike = thread.map_or(null_mut(), |thread| Alike::of(operation, thread));
        let mut program = ((*operation).callback.get(), (*operation).user_data, thread);
        let is_at_once = (*operation).arrives.get() && (*operation).at_once != AtOnce::No;
        (*operation).failed = status != ucs::OK;
        (*operation).status = status;
        if let Some(bytes) = arrived {
            (*operation).bytes = bytes;
            if let Some(thread) = thread {
                see_arrival(operation, alike, thread);
            }
        }
        let worker = (*operation).worker.get();
        let several_threads = worker.as_ref().is_none_or(|worker| worker.several_threads);
        let before = if several_threads {
            (*operation).now.phase.swap(phase::DONE, Ordering::AcqRel)
        } else {
            let before = (*operation).now.phase.load(Ordering::Relaxed);
            (*operation).now.phase.store(phase::DONE, Ordering::Relaxed);
            before
        };
        if before == phase::PENDING {
            retire(operation, alike, thread);
        } else if is_at_once {
            program.0 = 0;
        }
        program
    }
}

/// How a receive got its data shows in what its completion runs in.
#[inline(always)]
unsafe fn see_arrival(operation: *mut Operation, alike: *mut Alike, thread: *mut Thread) {
    // SAFETY: the record is in use until its completion is through, and frames live as long as they are linked.
    unsafe {
        let Some(frame) = (*thread).frame.as_mut().filter(|frame| frame.marks.kind == Kind::Arrival) else { return };
        if (message::RNDV_RTS..=message::RNDV_ATP).contains(&frame.marks.message) {
            see_rendezvous(operation, frame.marks.message);
        }
        if matches!((*operation).now.protocol.get(), Protocol::Eager | Protocol::RendezvousAm) {
            (*operation).now.carrier.set(frame.marks.carrier);
        }
        if !alike.is_null() && (*operation).now.peer.get() == (*alike).peer {
            frame.set_alike(alike);
        } else {
            frame.set_link(Link { operation: null_mut(), ..Link::to(operation) });
        }
    }
}

#[cold]
unsafe fn see_rendezvous(operation: *mut Operation, message: u8) {
    // SAFETY: as above.
    unsafe {
        match message {
            message::RNDV_DATA => (*operation).now.protocol.set(Protocol::RendezvousAm),
            message::RNDV_ATP => (*operation).now.protocol.set(Protocol::RendezvousPut),
            message::RNDV_RTS if (*operation).now.protocol.get() == Protocol::Eager => {
                (*operation).now.protocol.set(Protocol::RendezvousGet);
            }
            _ => {}
        }
    }
}

/// A pending operation is over.
#[inline(always)]
unsafe fn retire(operation: *mut Operation, alike: *mut Alike, thread: Option<*mut Thread>) {
    // SAFETY: its post has let go of the record, and its completion alone takes it out. Workers are never freed. An entry is there only with
    // its thread, whose counters may be added to until its state is off.
    unsafe {
        if let Some(worker) = (*operation).worker.get().as_ref() {
            worker.with(|pending| pending.take_out(operation));
        }
        if let (Some(module), false) = (module::get(), (*operation).failed) {
            let duration_ns = duration(operation, module);
            let counted = match thread {
                Some(thread) if !alike.is_null() && !(*thread).state.is_off() => Alike::counted(alike, operation),
                _ => None,
            };
            match counted {
                Some(counted) => module.add(counted, (*operation).bytes, duration_ns),
                None => count((*operation).function as usize, operation, alike, duration_ns),
            }
        }
        match thread {
            Some(thread) if !alike.is_null() => {
                retired(operation);
                give_back(operation, alike, thread);
            }
            _ => drop_record(operation, thread),
        }
    }
}

/// How long it took, in nanoseconds.
#[inline(always)]
unsafe fn duration(operation: *mut Operation, module: &Module) -> u64 {
    // SAFETY: as above.
    unsafe {
        match (*operation).begin_ticks {
            0 => module.now_ns().saturating_sub((*operation).begin_ns),
            begin_ticks => nanoseconds(tick_factor(), begin_ticks, ticks()),
        }
    }
}

#[inline(always)]
unsafe fn retired(operation: *mut Operation) {
    // SAFETY: nobody waits for this operation any more.
    unsafe {
        (*operation).now.phase.store(phase::FREE, Ordering::Release);
        (*operation).generation.set((*operation).generation.get().wrapping_add(1));
    }
}

unsafe fn drop_record(operation: *mut Operation, thread: Option<*mut Thread>) {
    // SAFETY: nobody waits for this operation any more: its record came from a pool, and is the caller's to give back.
    unsafe {
        retired(operation);
        match thread {
            Some(thread) => (*thread).operations.give(operation),
            None => give_to_all(operation),
        }
    }
}

/// Forgets what is pending on a worker that is gone.
pub fn forget(worker: *mut Worker) {
    // Strung together by what strings free records together: the lock that those are given back under is held meanwhile.
    let mut left = null_mut();
    crate::inflight::operation::each_operation(|operation| {
        // SAFETY: records are never freed, and nobody uses this worker any more.
        unsafe {
            if (*operation).now.phase.load(Ordering::Acquire) == phase::PENDING && (*operation).worker.get() == worker {
                *Operation::next(operation) = left;
                left = operation;
            }
        }
    });
    while !left.is_null() {
        // SAFETY: as above.
        unsafe {
            let operation = left;
            left = *Operation::next(operation);
            if let Some(worker) = worker.as_ref() {
                worker.with(|pending| pending.take_out(operation));
            }
            drop_record(operation, None);
        }
    }
}

/// The pending operation of a request, its callback taken away.
pub fn silence(request: *mut c_void) -> bool {
    let mut found = false;
    crate::inflight::operation::each_operation(|operation| {
        // The phase comes first: a record that is used again by then shows the request of its new operation.
        // SAFETY: records are never freed, and any thread may read these two fields.
        let is_it = || unsafe {
            (*operation).now.phase.load(Ordering::Acquire) == phase::PENDING && (*operation).request.get() == request
        };
        // SAFETY: records are never freed. Those that are pending on a worker are given back under its lock.
        unsafe {
            if is_it()
                && let Some(worker) = (*operation).worker.get().as_ref()
            {
                worker.with(|_| {
                    if is_it() && std::ptr::eq((*operation).worker.get(), worker) {
                        (*operation).callback.set(0);
                        found = true;
                    }
                });
            }
        }
    });
    found
}
