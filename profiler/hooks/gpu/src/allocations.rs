//! Allocations of memory that copies read and write, of devices and pinned: each is counted, and known by its site as long as it lives.

use std::collections::HashMap;
use std::ffi::CStr;

use commsee_hook::{AT_ONCE, Call, Route};
use commsee_runtime::signals::Undisturbed;

use crate::module::Module;

/// The call has allocated so much there.
pub fn count(module: &Module, call: &Call, function: &CStr, memory: &'static CStr, (address, bytes): (u64, u64)) {
    module.allocated(call, address, bytes);
    module.count(call, route(module, function, memory), 0, bytes, bytes, AT_ONCE);
}

/// The number of a route, which is asked for once. CUPTI's names of functions stay where they are.
fn route(module: &Module, function: &CStr, memory: &'static CStr) -> u32 {
    static NUMBERS: Undisturbed<Option<HashMap<usize, u32>>> = Undisturbed::new(None);
    let key = function.as_ptr() as usize;
    let known = NUMBERS.with(|numbers| numbers.get_or_insert_default().get(&key).copied());
    known.unwrap_or_else(|| {
        let number = module.route_number(&Route {
            layer: c"gpu-alloc".as_ptr(),
            function: function.as_ptr(),
            memory: memory.as_ptr(),
            kind: c"gpu".as_ptr(),
            ..Route::NONE
        });
        NUMBERS.with(|numbers| {
            let numbers = numbers.get_or_insert_default();
            if numbers.try_reserve(1).is_ok() {
                numbers.insert(key, number);
            }
        });
        number
    })
}
