//! Which process is which: every worker has a number that no other one shares, and its address tells it.

use std::ptr::null_mut;

use crate::abi::ucp::{
    Address, WORKER_ADDRESS_ATTR_FIELD_UID, Worker, WorkerAddressAttr, WorkerAddressQuery, WorkerGetAddress,
    WorkerReleaseAddress,
};
use crate::abi::ucs;
use crate::inflight::endpoints;
use crate::module::Module;

/// None where UCX is older than 1.12, or does not tell.
pub fn of_address(address: Address) -> Option<u64> {
    let query = real!(Ucp, ucp_worker_address_query, WorkerAddressQuery)?;
    let mut attr = WorkerAddressAttr { field_mask: WORKER_ADDRESS_ATTR_FIELD_UID, worker_uid: 0 };
    // SAFETY: an address that UCX or the program gave.
    let status = unsafe { query(address, &raw mut attr) };
    (status == ucs::OK).then_some(attr.worker_uid)
}

/// Tells the core how others know this worker.
pub fn tell(module: &Module, worker: Worker) {
    let get = real!(Ucp, ucp_worker_get_address, WorkerGetAddress);
    let release = real!(Ucp, ucp_worker_release_address, WorkerReleaseAddress);
    let (Some(get), Some(release)) = (get, release) else { return };
    let (mut address, mut length) = (null_mut(), 0);
    // SAFETY: a worker that was just made.
    unsafe {
        if get(worker, &raw mut address, &raw mut length) != ucs::OK {
            return;
        }
        match of_address(address) {
            Some(identity) => {
                module.own_identity(identity);
                endpoints::tell_own(module.peer(identity));
            }
            None => module.note("UCX before 1.12 has no worker identities: peers are unknown"),
        }
        release(worker, address);
    }
}
