//! The core's numbers of routes, each asked for once.

use std::ffi::CString;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use commsee_hook::{ARRIVES, Role, Route};
use commsee_runtime::guard;

use crate::module::Module;
use crate::module::memory::{self, Memory};
use crate::module::protocol::{self, Protocol};

/// What carries data: a transport on a device. 0 is none.
pub type Carrier = u8;

#[derive(Clone, PartialEq, Eq)]
pub struct Transport {
    pub name: String,
    pub device: String,
    pub kind: &'static str,
}

/// How far a transport reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// To other processes.
    Wire,
    /// To its own process: messages to oneself.
    Own,
    /// To a device of its own process: it copies what other transports send, or have brought.
    Device,
}

impl Transport {
    pub fn reach(&self) -> Reach {
        match self.name.as_str() {
            "self" => Reach::Own,
            "cuda_copy" | "gdr_copy" | "rocm_copy" | "ze_copy" => Reach::Device,
            _ => Reach::Wire,
        }
    }
}

/// More than any node has; those above are not told apart.
pub const CARRIERS: usize = 64;

static TRANSPORTS: Mutex<Vec<Transport>> = Mutex::new(Vec::new());

pub fn carrier(transport: Transport) -> Carrier {
    let mut known = TRANSPORTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(place) = known.iter().position(|other| *other == transport) {
        return place as Carrier + 1;
    }
    if known.len() + 1 >= CARRIERS {
        return 0;
    }
    known.push(transport);
    known.len() as Carrier
}

fn transport(carrier: Carrier) -> Option<Transport> {
    let known = TRANSPORTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    known.get(usize::from(carrier).checked_sub(1)?).cloned()
}

/// Routes of one function.
pub struct Routes {
    numbers: [[AtomicU32; CARRIERS]; protocol::COUNT],
}

impl Routes {
    pub const fn new() -> Routes {
        Routes { numbers: [const { [const { AtomicU32::new(0) }; CARRIERS] }; protocol::COUNT] }
    }

    #[inline(always)]
    pub fn number(
        &self,
        module: &Module,
        layer: &'static str,
        function: &'static str,
        protocol: Protocol,
        carrier: Carrier,
        memory: Memory,
    ) -> u32 {
        let place = &self.numbers[protocol as usize][carrier as usize & (CARRIERS - 1)];
        match place.load(Ordering::Relaxed) {
            0 => ask(place, module, layer, function, protocol, carrier, memory),
            number => number,
        }
    }
}

#[cold]
fn ask(
    place: &AtomicU32,
    module: &Module,
    layer: &'static str,
    function: &'static str,
    protocol: Protocol,
    carrier: Carrier,
    memory: Memory,
) -> u32 {
    guard::guarded(|| {
        let text = |text: &str| CString::new(text).unwrap_or_default();
        let transport = transport(carrier);
        // What stays in the process is not on the wire.
        let is_local = transport.as_ref().is_some_and(|it| it.reach() != Reach::Wire);
        let (layer, role) = match layer {
            "uct" if is_local => ("uct-copy", Role::Device),
            "uct" | "uct-rx" => (layer, Role::Wire),
            _ => (layer, Role::Message),
        };
        let of = |part: fn(&Transport) -> &str| text(transport.as_ref().map_or("", part));
        let (layer_name, function, protocol) = (text(layer), text(function), text(protocol::NAMES[protocol as usize]));
        let memory = text(&memory::name(memory));
        let (name, device, kind) = (of(|it| &it.name), of(|it| &it.device), of(|it| it.kind));
        let route = Route {
            layer: layer_name.as_ptr(),
            function: function.as_ptr(),
            protocol: protocol.as_ptr(),
            transport: name.as_ptr(),
            device: device.as_ptr(),
            kind: kind.as_ptr(),
            flags: if layer.ends_with("-rx") { ARRIVES } else { 0 },
            role: role as u32,
            memory: memory.as_ptr(),
            ..Route::NONE
        };
        let number = module.route_number(&route);
        place.store(number, Ordering::Relaxed);
        number
    })
    .unwrap_or(0)
}
