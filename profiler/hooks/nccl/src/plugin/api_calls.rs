//! Calls of the program that no wrapper saw, from v5 on. NCCL tells of a call first, then how it does it, and for a send only then to
//! whom: a call is counted when all that is known, or at the end without it. NCCL does nothing of its own for some, such as Broadcast
//! from 2.29.2 on, and the same thing many times for one that was captured in a graph.

use commsee_hook::AT_ONCE;

use super::communicators::Known;
use super::handles::Handle;
use super::ring::Ring;
use super::rows::{Layer, Operation};
use crate::chosen::How;
use crate::module::Module;

#[derive(Clone, Copy)]
struct ApiCall {
    operation: Operation,
    is_counted: bool,
}

impl ApiCall {
    fn count(&mut self, module: &Module) {
        if !std::mem::replace(&mut self.is_counted, true) {
            self.operation.count(module, Layer::Asked, AT_ONCE);
        }
    }
}

static CALLS: Ring<ApiCall> = Ring::new();

/// The program makes a call. None where there is no memory to wait for more: then it is counted.
pub fn begin(module: &Module, operation: Operation) -> Option<Handle> {
    let mut call = ApiCall { operation, is_counted: false };
    let put = CALLS.put(call);
    if let Some(mut gone) = put.gone {
        gone.count(module);
    }
    if put.number.is_none() {
        call.count(module);
    }
    put.number.map(Handle::ApiCall)
}

/// NCCL begins to do what a call asked for. Counts the call, and returns it as far as it is known now; none where it is long gone.
pub fn done_by(module: &Module, number: u64, how: How, peer: i32) -> Option<Operation> {
    CALLS.change(number, |call| {
        call.operation.how = how;
        call.operation.peer = peer;
        call.count(module);
        call.operation
    })
}

/// Counts what NCCL has told no more of, on one communicator or on all.
pub fn settle(module: &Module, communicator: Option<&Known>) {
    CALLS.each(|call| {
        if communicator.is_none_or(|one| std::ptr::eq(one, call.operation.communicator)) {
            call.count(module);
        }
    });
}
