//! NCCL's functions, and RCCL's, which has the same and some more. What is no communication is not here: tests/profiled/nccl.rs lists it.

use std::ffi::{c_int, c_uint, c_void};

use super::{collectives, controls, wrappers};
use crate::abi::{Config, Handle, ID_BYTES, Stream, UniqueId};
use crate::calls::{self, Amount, operate};
use crate::functions::Function;
use crate::library::Nccl;

type Id = UniqueId<ID_BYTES>;

collectives! {
    Nccl:
    ncclAllReduce AllReduce (operation) none [];
    ncclAllReduceConfig AllReduce (operation) none [config];
    ncclBroadcast Broadcast (root) root [];
    ncclBroadcastConfig Broadcast (root) root [config];
    ncclReduce Reduce (operation, root) root [];
    ncclReduceConfig Reduce (operation, root) root [config];
    ncclAllGather AllGather () none [];
    ncclAllGatherConfig AllGather () none [config];
    ncclReduceScatter ReduceScatter (operation) none [];
    ncclReduceScatterConfig ReduceScatter (operation) none [config];
    ncclAlltoAll AlltoAll () none [];
    ncclAlltoAllConfig AlltoAll () none [config];
    ncclAllToAll AlltoAll () none [];
    ncclGather Gather (root) root [];
    ncclGatherConfig Gather (root) root [config];
    ncclScatter Scatter (root) root [];
    ncclScatterConfig Scatter (root) root [config];
    ncclAllReduceWithBias AllReduce (operation) none [bias];
}

wrappers! {
    Nccl:
    fn ncclBcast(buffer: *mut c_void, count: usize, datatype: c_int, root: c_int, comm: Handle, stream: Stream) { |real|
        operate::<Nccl>(Function::Broadcast, comm, || Amount::Of(count, datatype), root, real)
    }
    fn ncclAllToAllv(
        send: *const c_void,
        send_counts: *const usize,
        send_places: *const usize,
        receive: *mut c_void,
        receive_counts: *const usize,
        receive_places: *const usize,
        datatype: c_int,
        comm: Handle,
        stream: Stream,
    ) { |real|
        operate::<Nccl>(Function::AlltoAllV, comm, || calls::varying(comm, send_counts, datatype), -1, real)
    }
    fn ncclSend(send: *const c_void, count: usize, datatype: c_int, peer: c_int, comm: Handle, stream: Stream) { |real|
        operate::<Nccl>(Function::Send, comm, || Amount::Of(count, datatype), peer, real)
    }
    fn ncclRecv(receive: *mut c_void, count: usize, datatype: c_int, peer: c_int, comm: Handle, stream: Stream) { |real|
        operate::<Nccl>(Function::Recv, comm, || Amount::Of(count, datatype), peer, real)
    }
    fn ncclPutSignal(
        local: *const c_void,
        count: usize,
        datatype: c_int,
        peer: c_int,
        window: *mut c_void,
        offset: usize,
        signal: c_int,
        context: c_int,
        flags: c_uint,
        comm: Handle,
        stream: Stream,
    ) { |real|
        operate::<Nccl>(Function::PutSignal, comm, || Amount::Of(count, datatype), peer, real)
    }
    fn ncclSignal(peer: c_int, signal: c_int, context: c_int, flags: c_uint, comm: Handle, stream: Stream) { |real|
        operate::<Nccl>(Function::Signal, comm, || Amount::None, peer, real)
    }

    fn ncclGroupStart() { |real|
        calls::group_start::<Nccl>(real)
    }
    fn ncclGroupEnd() { |real|
        calls::group_end::<Nccl>(Function::GroupEnd, real)
    }
    fn ncclGroupSimulateEnd(info: *mut c_void) { |real|
        calls::group_simulate::<Nccl>(real)
    }

    fn ncclCommInitRank(place: *mut Handle, ranks: c_int, id: Id, rank: c_int) { |real|
        calls::initialize::<Nccl>(Function::CommInitRank, place, ranks, rank, &id.0, std::ptr::null(), real)
    }
    fn ncclCommInitRankConfig(place: *mut Handle, ranks: c_int, id: Id, rank: c_int, config: *mut Config) { |real|
        calls::initialize::<Nccl>(Function::CommInitRankConfig, place, ranks, rank, &id.0, config, real)
    }
    fn ncclCommInitRankScalable(
        place: *mut Handle,
        ranks: c_int,
        rank: c_int,
        id_count: c_int,
        ids: *mut Id,
        config: *mut Config,
    ) { |real|
        calls::initialize::<Nccl>(Function::CommInitRankScalable, place, ranks, rank, calls::first_id(ids), config, real)
    }
    fn ncclCommInitAll(places: *mut Handle, ranks: c_int, devices: *const c_int) { |real|
        calls::clique::<Nccl>(Function::CommInitAll, places, ranks, real)
    }
    fn ncclCommSplit(comm: Handle, color: c_int, key: c_int, place: *mut Handle, config: *mut Config) { |real|
        calls::split::<Nccl>(Function::CommSplit, comm, color, place, config, real)
    }
    fn ncclCommShrink(
        comm: Handle,
        excluded: *mut c_int,
        count: c_int,
        place: *mut Handle,
        config: *mut Config,
        flags: c_int,
    ) { |real|
        calls::shrink::<Nccl>(Function::CommShrink, comm, excluded, count, place, config, real)
    }
    fn ncclCommGrow(
        comm: Handle,
        ranks: c_int,
        id: *const Id,
        rank: c_int,
        place: *mut Handle,
        config: *mut Config,
    ) { |real|
        calls::grow::<Nccl>(Function::CommGrow, comm, ranks, calls::first_id(id), place, config, real)
    }
    // Programs with nonblocking communicators ask it until it says so.
    fn ncclCommGetAsyncError(comm: Handle, state: *mut c_int) { |real|
        calls::ask_state::<Nccl>(comm, real)
    }
    fn ncclCommDestroy(comm: Handle) { |real|
        calls::free::<Nccl>(Function::CommDestroy, comm, real)
    }
    fn ncclCommAbort(comm: Handle) { |real|
        calls::free::<Nccl>(Function::CommAbort, comm, real)
    }
}

controls! {
    Nccl:
    ncclWaitSignal WaitSignal (count: c_int, signals: *mut c_void, comm: Handle, stream: Stream) comm;
    ncclGetUniqueId GetUniqueId (id: *mut Id) none;
    ncclCommGetUniqueId CommGetUniqueId (comm: Handle, id: *mut Id) comm;
    ncclCommFinalize CommFinalize (comm: Handle) comm;
    ncclCommRevoke CommRevoke (comm: Handle, flags: c_int) comm;
    ncclCommSuspend CommSuspend (comm: Handle, flags: c_int) comm;
    ncclCommResume CommResume (comm: Handle) comm;
    ncclCommRegister CommRegister (comm: Handle, buffer: *mut c_void, bytes: usize, registered: *mut *mut c_void) comm;
    ncclCommDeregister CommDeregister (comm: Handle, registered: *mut c_void) comm;
    ncclCommWindowRegister CommWindowRegister (comm: Handle, buffer: *mut c_void, bytes: usize, window: *mut *mut c_void, flags: c_int) comm;
    ncclCommWindowDeregister CommWindowDeregister (comm: Handle, window: *mut c_void) comm;
    ncclMemAlloc MemAlloc (place: *mut *mut c_void, bytes: usize) none;
    ncclMemFree MemFree (place: *mut c_void) none;
}
