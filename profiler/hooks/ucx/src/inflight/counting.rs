//! The end of an operation: it is counted, and its record is free for another one.

use super::operation::Operation;
use super::pool::Pool;
use crate::module;

/// Counts it unless it failed, and gives its record back.
///
/// # Safety
/// It is in no map, and neither UCX nor a thread knows its record any more.
pub unsafe fn complete(operation: *mut Operation, duration_ns: u64) {
    // SAFETY: as demanded.
    unsafe {
        if let (Some(module), false) = (module::get(), (*operation).failed) {
            let (shown, call, bytes) = (&(*operation).shown, &(*operation).call, (*operation).bytes);
            let route =
                (*operation).function.route(module, shown.protocol.get(), shown.carrier.get(), (*operation).memory);
            module.count(call, route, shown.peer.get(), bytes, bytes, duration_ns);
            if call.is_traced() {
                module.event(call, route, shown.peer.get(), bytes, (*operation).begin_ns, module.now_ns());
            }
        }
        discard(operation);
    }
}

/// Gives its record back.
///
/// # Safety
/// As above.
pub unsafe fn discard(operation: *mut Operation) {
    // SAFETY: as demanded: it came from a pool.
    unsafe {
        (*operation).shown.renew();
        Pool::give(operation);
    }
}
