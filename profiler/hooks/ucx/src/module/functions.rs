//! The functions of UCP that are counted.

use super::Module;
use super::memory::{self, Memory};
use super::protocol::Protocol;
use super::routes::{Carrier, Routes};

/// What is known of a function before it is called.
pub struct Described {
    /// As UCX spells it.
    pub name: &'static str,
    /// Until something tells otherwise.
    pub protocol: Protocol,
    pub way: Way,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It is posted, and may go on after the call.
    Posts,
    /// The same for what arrives.
    Receives,
    /// It returns when it is done, and progresses what others posted meanwhile.
    Blocks,
}

impl Described {
    #[inline(always)]
    pub fn arrives(&self) -> bool {
        self.way == Way::Receives
    }

    /// Whether it reads or writes another process's memory.
    #[inline(always)]
    pub fn is_one_sided(&self) -> bool {
        self.protocol == Protocol::Rma
    }
}

macro_rules! functions {
    ($($name:ident $protocol:ident $way:ident,)*) => {
        /// Each has the name that UCX gave it.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Function {
            $($name,)*
        }

        static DESCRIBED: [Described; COUNT] =
            [$(Described { name: stringify!($name), protocol: Protocol::$protocol, way: Way::$way },)*];

        const COUNT: usize = [$(Way::$way,)*].len();
    };
}

functions! {
    ucp_tag_send_nb Eager Posts,
    ucp_tag_send_nbr Eager Posts,
    ucp_tag_send_nbx Eager Posts,
    ucp_tag_send_sync_nb Eager Posts,
    ucp_tag_send_sync_nbx Eager Posts,
    ucp_tag_recv_nb Eager Receives,
    ucp_tag_recv_nbr Eager Receives,
    ucp_tag_recv_nbx Eager Receives,
    ucp_tag_msg_recv_nb Eager Receives,
    ucp_tag_msg_recv_nbx Eager Receives,
    ucp_am_send_nb Eager Posts,
    ucp_am_send_nbx Eager Posts,
    ucp_am_recv_data_nbx Eager Receives,
    ucp_stream_send_nb Eager Posts,
    ucp_stream_send_nbx Eager Posts,
    ucp_put Rma Blocks,
    ucp_put_nb Rma Posts,
    ucp_put_nbi Rma Posts,
    ucp_put_nbx Rma Posts,
    ucp_get Rma Blocks,
    ucp_get_nb Rma Posts,
    ucp_get_nbi Rma Posts,
    ucp_get_nbx Rma Posts,
    ucp_atomic_post Rma Posts,
    ucp_atomic_fetch_nb Rma Posts,
    ucp_atomic_op_nbx Rma Posts,
    ucp_atomic_add32 Rma Blocks,
    ucp_atomic_add64 Rma Blocks,
    ucp_atomic_fadd32 Rma Blocks,
    ucp_atomic_fadd64 Rma Blocks,
    ucp_atomic_swap32 Rma Blocks,
    ucp_atomic_swap64 Rma Blocks,
    ucp_atomic_cswap32 Rma Blocks,
    ucp_atomic_cswap64 Rma Blocks,
    ucp_ep_flush None Blocks,
    ucp_ep_flush_nb None Posts,
    ucp_ep_flush_nbx None Posts,
    ucp_worker_flush None Blocks,
    ucp_worker_flush_nb None Posts,
    ucp_worker_flush_nbx None Posts,
}

static ROUTES: [[Routes; COUNT]; memory::COUNT] = [const { [const { Routes::new() }; COUNT] }; memory::COUNT];

impl Function {
    #[inline(always)]
    pub const fn described(self) -> &'static Described {
        &DESCRIBED[self as usize]
    }

    /// How an operation of this function moved its data, and where they lie.
    #[inline(always)]
    pub fn route(self, module: &Module, protocol: Protocol, carrier: Carrier, memory: Memory) -> u32 {
        let described = self.described();
        let layer = if described.arrives() { "ucp-rx" } else { "ucp" };
        let routes = &ROUTES[usize::from(memory) % memory::COUNT][self as usize];
        routes.number(module, layer, described.name, protocol, carrier, memory)
    }
}
