//! The core's numbers of routes, each asked for once.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Mutex;

use commsee_hook::{ARRIVES, Role, Route};
use commsee_runtime::{guard, memory};

use super::Ended;
use crate::chosen::How;
use crate::functions::{self, Function, Kind};
use crate::module::Module;

/// What a route is made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Parts {
    /// Its layer, which tells the library.
    layer: &'static str,
    function: Function,
    how: How,
    device: i32,
    is_over_several: bool,
}

static ALL: Mutex<Option<HashMap<Parts, u32>>> = Mutex::new(None);

/// The route that a thread used last for each function.
pub struct Latest(Box<[Cell<Known>]>);

type Known = Option<(Parts, u32)>;

impl Latest {
    /// None without memory.
    pub fn new() -> Option<Latest> {
        memory::list(functions::COUNT, || Cell::new(None)).map(Latest)
    }

    /// The number of the route of an operation.
    #[inline(always)]
    pub fn number(&self, module: &Module, ended: &Ended, how: How) -> u32 {
        let layer = if ended.function.kind() == Kind::Receive { ended.arrivals } else { ended.layer };
        let device = ended.communicator.map_or(-1, |communicator| communicator.device());
        let (function, is_over_several) = (ended.function, ended.is_over_several);
        self.of(module, ended.layer, Parts { layer, function, how, device, is_over_several })
    }

    /// The number of the route of a call: what happens within it has its function.
    #[inline(always)]
    pub fn of_call(&self, module: &Module, layer: &'static str, function: Function) -> u32 {
        self.of(module, layer, Parts { layer, function, how: How::default(), device: -1, is_over_several: false })
    }

    #[inline(always)]
    fn of(&self, module: &Module, prefix: &str, parts: Parts) -> u32 {
        let place = &self.0[parts.function as usize];
        match place.get() {
            Some((known, number)) if known == parts => number,
            _ => {
                let number = guard::guarded(|| number(module, prefix, parts)).unwrap_or(0);
                if number != 0 {
                    place.set(Some((parts, number)));
                }
                number
            }
        }
    }
}

#[cold]
#[inline(never)]
fn number(module: &Module, prefix: &str, parts: Parts) -> u32 {
    let mut all = ALL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let all = all.get_or_insert_with(HashMap::new);
    if let Some(known) = all.get(&parts) {
        return *known;
    }
    let text = |text: String| CString::new(text).unwrap_or_default();
    let is_gpu = parts.device >= 0;
    let layer = text(parts.layer.to_owned());
    let function = text(parts.function.full_name(prefix));
    let protocol = text(parts.how.text());
    let device = text(if is_gpu { format!("gpu{}", parts.device) } else { String::new() });
    let number = module.route_number(&Route {
        flags: if parts.function.kind() == Kind::Receive { ARRIVES } else { 0 },
        layer: layer.as_ptr(),
        function: function.as_ptr(),
        protocol: protocol.as_ptr(),
        device: device.as_ptr(),
        kind: if is_gpu { c"gpu".as_ptr() } else { c"".as_ptr() },
        // A group over several communicators, as the row of MPI's calls of that kind is called.
        scope: if parts.is_over_several { c"*".as_ptr() } else { c"".as_ptr() },
        role: if parts.function.kind() == Kind::Control { Role::None } else { Role::Message } as u32,
        ..Route::NONE
    });
    if all.try_reserve(1).is_ok() {
        all.insert(parts, number);
    }
    number
}
