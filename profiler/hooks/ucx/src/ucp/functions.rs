//! The functions that are counted, by name.

use crate::module::protocol::Protocol;
use crate::module::routes::Routes;

pub struct Described {
    pub name: &'static str,
    /// Until something tells otherwise.
    pub protocol: Protocol,
    pub arrives: bool,
}

macro_rules! functions {
    ($($variant:ident $name:literal $protocol:ident $arrives:literal,)*) => {
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Function {
            $($variant,)*
        }

        pub static DESCRIBED: [Described; COUNT] =
            [$(Described { name: $name, protocol: Protocol::$protocol, arrives: $arrives },)*];

        const COUNT: usize = [$($name,)*].len();
    };
}

functions! {
    TagSendNb "ucp_tag_send_nb" Eager false,
    TagSendNbr "ucp_tag_send_nbr" Eager false,
    TagSendNbx "ucp_tag_send_nbx" Eager false,
    TagSendSyncNb "ucp_tag_send_sync_nb" Eager false,
    TagSendSyncNbx "ucp_tag_send_sync_nbx" Eager false,
    TagRecvNb "ucp_tag_recv_nb" Eager true,
    TagRecvNbr "ucp_tag_recv_nbr" Eager true,
    TagRecvNbx "ucp_tag_recv_nbx" Eager true,
    TagMsgRecvNb "ucp_tag_msg_recv_nb" Eager true,
    TagMsgRecvNbx "ucp_tag_msg_recv_nbx" Eager true,
    AmSendNb "ucp_am_send_nb" Eager false,
    AmSendNbx "ucp_am_send_nbx" Eager false,
    AmRecvDataNbx "ucp_am_recv_data_nbx" Eager true,
    StreamSendNb "ucp_stream_send_nb" Eager false,
    StreamSendNbx "ucp_stream_send_nbx" Eager false,
    Put "ucp_put" Rma false,
    PutNb "ucp_put_nb" Rma false,
    PutNbi "ucp_put_nbi" Rma false,
    PutNbx "ucp_put_nbx" Rma false,
    Get "ucp_get" Rma false,
    GetNb "ucp_get_nb" Rma false,
    GetNbi "ucp_get_nbi" Rma false,
    GetNbx "ucp_get_nbx" Rma false,
    AtomicPost "ucp_atomic_post" Rma false,
    AtomicFetchNb "ucp_atomic_fetch_nb" Rma false,
    AtomicOpNbx "ucp_atomic_op_nbx" Rma false,
    AtomicAdd32 "ucp_atomic_add32" Rma false,
    AtomicAdd64 "ucp_atomic_add64" Rma false,
    AtomicFadd32 "ucp_atomic_fadd32" Rma false,
    AtomicFadd64 "ucp_atomic_fadd64" Rma false,
    AtomicSwap32 "ucp_atomic_swap32" Rma false,
    AtomicSwap64 "ucp_atomic_swap64" Rma false,
    AtomicCswap32 "ucp_atomic_cswap32" Rma false,
    AtomicCswap64 "ucp_atomic_cswap64" Rma false,
    EpFlush "ucp_ep_flush" None false,
    EpFlushNb "ucp_ep_flush_nb" None false,
    EpFlushNbx "ucp_ep_flush_nbx" None false,
    WorkerFlush "ucp_worker_flush" None false,
    WorkerFlushNb "ucp_worker_flush_nb" None false,
    WorkerFlushNbx "ucp_worker_flush_nbx" None false,
}

const _: () = assert!(Function::TagSendNbx as u8 % 2 != Function::TagRecvNbx as u8 % 2);

pub static ROUTES: [Routes; COUNT] = [const { Routes::new() }; COUNT];

/// Whether a function reads or writes another process's memory.
#[inline(always)]
pub fn is_one_sided(function: Function) -> bool {
    DESCRIBED[function as usize].protocol == Protocol::Rma
}
