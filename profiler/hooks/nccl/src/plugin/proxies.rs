//! What NCCL's proxy threads send for an operation over the network.

use commsee_hook::{AT_ONCE, Call};

use super::abi::ProxyOp;
use super::communicators::Known;
use super::handles::Handle;
use super::operations;
use super::ring::Ring;
use super::rows::{self, Layer};
use crate::chosen::How;
use crate::module::Module;

/// What its transfers are counted with.
#[derive(Clone, Copy)]
struct Sending {
    call: Call,
    route: u32,
    peer: u32,
}

static SENDING: Ring<Sending> = Ring::new();

/// A proxy begins to send for an operation of this process. `parent` is the operation, where NCCL told of it.
pub fn begin(module: &Module, communicator: &Known, parent: Option<u64>, proxy: &ProxyOp) -> Option<Handle> {
    let operation = parent.and_then(operations::find);
    let call = match &operation {
        Some(operation) => operation.call,
        None => rows::call_on(module, communicator.number())?,
    };
    let (function, how) = operation.map_or((None, How::default()), |known| (Some(known.function), known.how));
    let route = rows::route(module, Layer::Proxy, function, how);
    put(Sending { call, route, peer: communicator.peer(module, proxy.peer) })
}

/// The same for another process, which sends through this one: of its operation and its communicator nothing is known here.
pub fn begin_for_other(module: &Module) -> Option<Handle> {
    let call = rows::call_on(module, 0)?;
    put(Sending { call, route: rows::route(module, Layer::Proxy, None, How::default()), peer: 0 })
}

fn put(sending: Sending) -> Option<Handle> {
    SENDING.put(sending).number.map(Handle::Proxy)
}

/// The network has taken so many bytes.
pub fn sent(module: &Module, number: u64, bytes: u64) {
    if let Some(Sending { call, route, peer }) = SENDING.change(number, |sending| *sending) {
        module.count(&call, route, peer, bytes, bytes, AT_ONCE);
    }
}
