//! What an operation is counted as: its route, its peer and its bytes.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Mutex;

use commsee_hook::{ARRIVES, Call, Role, Route};

use super::communicators::Known;
use crate::chosen::How;
use crate::functions::{Function, Kind};
use crate::module::Module;

/// Which of the layers that an operation is counted in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Layer {
    /// What the program asked for.
    Asked,
    /// What the GPU did for that.
    Kernel,
    /// What proxies sent for that.
    Proxy,
}

/// An operation of the program, as far as NCCL has told of it.
#[derive(Clone, Copy)]
pub struct Operation {
    pub communicator: &'static Known,
    /// The call that it began in.
    pub call: Call,
    /// When it was begun, where the timeline is wanted; else 0.
    pub begin_ns: u64,
    pub function: Function,
    pub how: How,
    pub size_bytes: u64,
    /// The peer or the root; -1 for none.
    pub peer: i32,
}

impl Operation {
    /// What this rank's send buffer holds, or what it receives by `ncclRecv`.
    fn bytes(&self) -> u64 {
        let (ranks, rank) = (self.communicator.ranks, self.communicator.rank);
        self.size_bytes.saturating_mul(self.function.blocks(ranks, rank, self.peer))
    }

    pub fn count(&self, module: &Module, layer: Layer, duration_ns: u64) {
        let route = route(module, layer, Some(self.function), self.how);
        let peer = self.communicator.peer(module, self.peer);
        let bytes = self.bytes();
        module.count(&self.call, route, peer, self.size_bytes, bytes, duration_ns);
        if self.call.is_traced() && layer == Layer::Asked {
            module.event(&self.call, route, peer, bytes, self.begin_ns, module.now_ns());
        }
    }
}

/// The call that this thread is in, on a communicator. None while nothing is counted.
pub fn call_on(module: &Module, communicator: u32) -> Option<Call> {
    let mut call = Call::NONE;
    // SAFETY: the call may be written.
    if !unsafe { module.here(&raw mut call) } {
        return None;
    }
    if communicator != 0 {
        module.on(&mut call, communicator);
    }
    Some(call)
}

/// When something begins that belongs on the timeline.
pub fn begin_ns(module: &Module, call: &Call) -> u64 {
    if call.is_traced() { module.now_ns() } else { 0 }
}

type Key = (Layer, Option<Function>, How);

/// The number of a route, which is asked for once.
pub fn route(module: &Module, layer: Layer, function: Option<Function>, how: How) -> u32 {
    static NUMBERS: Mutex<Option<HashMap<Key, u32>>> = Mutex::new(None);
    let key = (layer, function, how);
    let mut numbers = NUMBERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let numbers = numbers.get_or_insert_default();
    if let Some(number) = numbers.get(&key) {
        return *number;
    }
    let number = new_route(module, layer, function, how);
    if numbers.try_reserve(1).is_ok() {
        numbers.insert(key, number);
    }
    number
}

#[cold]
fn new_route(module: &Module, layer: Layer, function: Option<Function>, how: How) -> u32 {
    let is_receive = function.is_some_and(|function| function.kind() == Kind::Receive);
    let arrives = layer == Layer::Asked && is_receive;
    let (name, role) = match layer {
        Layer::Asked if arrives => (c"nccl-rx", Role::Message),
        Layer::Asked => (c"nccl", Role::Message),
        Layer::Kernel => (c"nccl-kernel", Role::Device),
        Layer::Proxy => (c"nccl-proxy", Role::Wire),
    };
    let function = function.map_or(String::new(), |function| format!("nccl{}", function.name()));
    let (Ok(function), Ok(protocol)) = (CString::new(function), CString::new(how.text())) else { return 0 };
    module.route_number(&Route {
        layer: name.as_ptr(),
        function: function.as_ptr(),
        protocol: protocol.as_ptr(),
        flags: if arrives { ARRIVES } else { 0 },
        role: role as u32,
        ..Route::NONE
    })
}
