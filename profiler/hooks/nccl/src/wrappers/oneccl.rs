//! oneCCL's functions in C, nearly NCCL's.

use std::ffi::{c_int, c_void};
use std::ptr::null;

use super::{collectives, controls, wrappers};
use crate::abi::{Handle, ONECCL_ID_BYTES, Stream, UniqueId};
use crate::calls::{self, Amount, operate};
use crate::functions::Function;
use crate::library::OneCcl;

type Id = UniqueId<ONECCL_ID_BYTES>;

collectives! {
    OneCcl:
    onecclAllReduce AllReduce (operation) none [];
    onecclBroadcast Broadcast (root) root [];
    onecclReduce Reduce (operation, root) root [];
    onecclAllGather AllGather () none [];
    onecclReduceScatter ReduceScatter (operation) none [];
    onecclAllToAll AlltoAll () none [];
    onecclScatter Scatter (root) root [];
}

wrappers! {
    OneCcl:
    fn onecclAllToAllV(
        send: *const c_void,
        send_counts: *const usize,
        receive: *mut c_void,
        receive_counts: *const usize,
        datatype: c_int,
        comm: Handle,
        stream: Stream,
    ) { |real|
        operate::<OneCcl>(Function::AlltoAllV, comm, || calls::varying(comm, send_counts, datatype), -1, real)
    }
    fn onecclSend(send: *const c_void, count: usize, datatype: c_int, peer: c_int, comm: Handle, stream: Stream) { |real|
        operate::<OneCcl>(Function::Send, comm, || Amount::Of(count, datatype), peer, real)
    }
    fn onecclRecv(receive: *mut c_void, count: usize, datatype: c_int, peer: c_int, comm: Handle, stream: Stream) { |real|
        operate::<OneCcl>(Function::Recv, comm, || Amount::Of(count, datatype), peer, real)
    }

    fn onecclGroupStart() { |real|
        calls::group_start::<OneCcl>(real)
    }
    fn onecclGroupEnd() { |real|
        calls::group_end::<OneCcl>(Function::GroupEnd, real)
    }

    // Its configuration has no name.
    fn onecclCommInitRank(place: *mut Handle, ranks: usize, id: Id, rank: c_int) { |real|
        calls::initialize::<OneCcl>(Function::CommInitRank, place, ranks as c_int, rank, &id.0, null(), real)
    }
    fn onecclCommInitRankConfig(place: *mut Handle, ranks: usize, id: Id, rank: c_int, config: *const c_void) { |real|
        calls::initialize::<OneCcl>(Function::CommInitRankConfig, place, ranks as c_int, rank, &id.0, null(), real)
    }
    fn onecclCommSplit(comm: Handle, color: c_int, key: c_int, place: *mut Handle, config: *mut c_void) { |real|
        calls::split::<OneCcl>(Function::CommSplit, comm, color, place, null(), real)
    }
    fn onecclCommDestroy(comm: Handle) { |real|
        calls::free::<OneCcl>(Function::CommDestroy, comm, real)
    }
    fn onecclCommAbort(comm: Handle) { |real|
        calls::free::<OneCcl>(Function::CommAbort, comm, real)
    }
}

controls! {
    OneCcl:
    onecclGetUniqueId GetUniqueId (id: *mut Id) none;
    onecclCommFinalize CommFinalize (comm: Handle) comm;
    onecclCommRegister CommRegister (comm: Handle, buffer: *mut c_void, bytes: usize, registered: *mut *mut c_void) comm;
    onecclCommDeregister CommDeregister (comm: Handle, registered: *mut c_void) comm;
    onecclCommWindowRegister CommWindowRegister (comm: Handle, buffer: *mut c_void, bytes: usize, window: *mut *mut c_void, flags: c_int) comm;
    onecclCommWindowDeregister CommWindowDeregister (comm: Handle, window: *mut c_void) comm;
    onecclMemAlloc MemAlloc (place: *mut *mut c_void, bytes: usize) none;
    onecclMemFree MemFree (place: *mut c_void) none;
}
