//! What NCCL calls while it works.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use commsee_hook::AT_ONCE;
use commsee_runtime::guard;

use super::abi::{Descriptor, SUCCESS, StateArguments, Version, event, state};
use super::communicators::{Known, known};
use super::handles::Handle;
use super::rows::{self, Layer, Operation};
use super::wanted::wanted;
use super::{api_calls, datatypes, operations, proxies};
use crate::calls;
use crate::chosen::{Chosen, How, Word};
use crate::functions::{Function, Kind};
use crate::module::{self, Module};

/// An event begins. What NCCL is given for it is always written: NCCL does not reset all places that it keeps such things in.
///
/// # Safety
/// As NCCL calls it, with a descriptor of this version.
pub unsafe fn start(
    version: Version,
    context: *mut c_void,
    handle: *mut *mut c_void,
    descriptor: *const Descriptor,
) -> c_int {
    let begun = || {
        let module = module::get()?;
        // SAFETY: as demanded.
        let descriptor = unsafe { descriptor.as_ref() }?;
        // SAFETY: as demanded.
        unsafe { begin(module, version, context, descriptor) }
    };
    let begun = guard::guarded(begun).flatten();
    if !handle.is_null() {
        // SAFETY: NCCL's place.
        unsafe { *handle = begun.map_or(ptr::null_mut(), Handle::pointer) };
    }
    SUCCESS
}

/// # Safety
/// As NCCL calls it.
pub unsafe extern "C" fn stop(handle: *mut c_void) -> c_int {
    guard::guarded(|| {
        let Some(module) = module::get() else { return };
        match Handle::of(handle) {
            Some(Handle::Operation(number)) => operations::enqueued(module, number),
            Some(Handle::Channel(number)) => operations::channel_ended(module, number),
            Some(Handle::ApiCall(_) | Handle::Proxy(_) | Handle::Step(_)) | None => {}
        }
    });
    SUCCESS
}

/// # Safety
/// As NCCL calls it.
pub unsafe extern "C" fn record(handle: *mut c_void, state: c_int, arguments: *const StateArguments) -> c_int {
    guard::guarded(|| {
        // SAFETY: NCCL's own, if any.
        let (Some(module), Some(arguments)) = (module::get(), unsafe { arguments.as_ref() }) else { return };
        // SAFETY: the state says which of them it is.
        unsafe {
            match (Handle::of(handle), state) {
                (Some(Handle::Channel(number)), state::KERNEL_CHANNEL_STOP) => {
                    operations::channel_timed(number, arguments.kernel_end_ns);
                }
                (Some(Handle::Step(number)), state::SEND_WAIT) => {
                    proxies::sent(module, number, arguments.sent_bytes as u64);
                }
                _ => {}
            }
        }
    });
    SUCCESS
}

/// # Safety
/// As [`start`].
unsafe fn begin(module: &Module, version: Version, context: *mut c_void, event: &Descriptor) -> Option<Handle> {
    // SAFETY: as demanded: the type says which member it is. Contexts are of this process but for some of PROXY_OP.
    unsafe {
        match event.kind(version) {
            event::COLL_API => api_call(module, known(context)?, &Asked::coll_api(event)),
            event::P2P_API => api_call(module, known(context)?, &Asked::p2p_api(event)),
            event::COLL => operation(module, known(context)?, event.parent, &Asked::coll(event)),
            event::P2P => operation(module, known(context)?, event.parent, &Asked::p2p(event, version)),
            event::KERNEL_CHANNEL => match Handle::of(event.parent)? {
                Handle::Operation(number) => operations::channel_began(number, event.members.kernel_channel.begin_ns),
                _ => None,
            },
            event::PROXY_OP => proxy(module, context, event),
            event::PROXY_STEP => match Handle::of(event.parent)? {
                Handle::Proxy(number) => Some(Handle::Step(number)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// What the program asked for, in NCCL's words, which need not stay where they are.
struct Asked {
    function: *const c_char,
    datatype: *const c_char,
    count: u64,
    peer: i32,
    how: How,
}

impl Asked {
    /// # Safety
    /// It is of this type.
    unsafe fn coll_api(event: &Descriptor) -> Asked {
        // SAFETY: as demanded.
        let told = unsafe { event.members.coll_api };
        let how = How::default();
        Asked { function: told.function, datatype: told.datatype, count: told.count as u64, peer: told.root, how }
    }

    /// # Safety
    /// As above.
    unsafe fn p2p_api(event: &Descriptor) -> Asked {
        // SAFETY: as demanded.
        let told = unsafe { event.members.p2p_api };
        let how = How::default();
        Asked { function: told.function, datatype: told.datatype, count: told.count as u64, peer: -1, how }
    }

    /// The count of AllGather and Broadcast is bytes here, with a datatype of one byte.
    ///
    /// # Safety
    /// As above.
    unsafe fn coll(event: &Descriptor) -> Asked {
        // SAFETY: as demanded; NCCL's words are texts or null.
        unsafe {
            let told = event.members.coll;
            let (algorithm, protocol) = (Word::new(text(told.algorithm)), Word::new(text(told.protocol)));
            let how = How { algorithm, protocol, channels: told.channels };
            Asked { function: told.function, datatype: told.datatype, count: told.count as u64, peer: told.root, how }
        }
    }

    /// # Safety
    /// As above, and of this version.
    unsafe fn p2p(event: &Descriptor, version: Version) -> Asked {
        // SAFETY: as demanded. Newer libraries hand a plugin of v4 a number of channels that was never set.
        unsafe {
            let told = event.members.p2p;
            let channels = if version == Version::V4 { 0 } else { told.channels };
            let how = How { channels, ..How::default() };
            Asked { function: told.function, datatype: told.datatype, count: told.count as u64, peer: told.peer, how }
        }
    }

    /// None for a function that is not counted.
    fn function(&self) -> Option<Function> {
        // SAFETY: NCCL's own name, or null.
        Function::of_name(unsafe { text(self.function) })
    }

    /// The root or the peer, where it has one: NCCL says 0 for those without.
    fn peer(&self, function: Function) -> i32 {
        match function.kind() {
            Kind::Rooted | Kind::Send | Kind::Receive => self.peer,
            Kind::Collective | Kind::Control => -1,
        }
    }

    fn size_bytes(&self) -> Option<u64> {
        // SAFETY: NCCL's own name, or null.
        let element_bytes = datatypes::size_bytes(unsafe { text(self.datatype) })?;
        Some(self.count.saturating_mul(element_bytes))
    }

    /// As it is counted. None where it is not.
    fn operation(&self, module: &Module, communicator: &'static Known, function: Function) -> Option<Operation> {
        let call = rows::call_on(module, communicator.number())?;
        Some(Operation {
            communicator,
            call,
            begin_ns: rows::begin_ns(module, &call),
            function,
            how: self.how,
            size_bytes: self.size_bytes()?,
            peer: self.peer(function),
        })
    }
}

/// A call of the program; the wrappers count those on communicators that they have made.
fn api_call(module: &Module, communicator: &'static Known, asked: &Asked) -> Option<Handle> {
    if communicator.wrapped().is_some() || calls::is_nested() {
        return None;
    }
    api_calls::begin(module, asked.operation(module, communicator, asked.function()?)?)
}

/// What NCCL does for a call.
fn operation(module: &Module, communicator: &'static Known, parent: *mut c_void, asked: &Asked) -> Option<Handle> {
    let function = asked.function()?;
    let peer = asked.peer(function);
    let operation = match (communicator.wrapped(), Handle::of(parent)) {
        (Some(communicator), _) => {
            calls::chosen(&Chosen { communicator, function, count: asked.count, peer, how: asked.how });
            None
        }
        (None, Some(Handle::ApiCall(number))) => api_calls::done_by(module, number, asked.how, peer),
        // Made past the wrappers, and used through them.
        (None, _) if calls::is_nested() => None,
        // Nothing was told of the call itself: v4.
        (None, _) => {
            let operation = asked.operation(module, communicator, function)?;
            operation.count(module, Layer::Asked, AT_ONCE);
            Some(operation)
        }
    };
    let wanted = wanted();
    if !wanted.kernels && !wanted.proxies {
        return None;
    }
    operations::begin(module, operation.or_else(|| asked.operation(module, communicator, function))?)
}

/// # Safety
/// It is a PROXY_OP; its context and its parent are of the process that it names.
unsafe fn proxy(module: &Module, context: *mut c_void, event: &Descriptor) -> Option<Handle> {
    // SAFETY: as demanded.
    let told = unsafe { event.members.proxy_op };
    // What arrives is counted where it is sent.
    if told.is_send == 0 {
        return None;
    }
    if told.pid != std::process::id() as libc::pid_t {
        return proxies::begin_for_other(module);
    }
    let parent = match Handle::of(event.parent) {
        Some(Handle::Operation(number)) => Some(number),
        _ => None,
    };
    // SAFETY: it is of this process.
    proxies::begin(module, unsafe { known(context) }?, parent, &told)
}

/// # Safety
/// It is null, or ends with a zero byte.
unsafe fn text<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        return b"";
    }
    // SAFETY: as demanded.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}
