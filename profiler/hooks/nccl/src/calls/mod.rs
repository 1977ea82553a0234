//! A call of the program, from its begin to the counters.
//!
//! ```text
//! wrapper ─▶ Begun ── real call ──▶ Ended ── in a group ──▶ group.rs ── its end ──▶ count.rs
//!                        │  └────────────── alone ────────────────────────────────────▲
//!                        └── the plugin says how (chosen) ─────────────────────────────┘
//! ```

mod count;
mod creation;
mod group;
mod operation;
mod routes;
mod thread;

pub use creation::{clique, first_id, free, grow, initialize, shrink, split};
pub use group::{end as group_end, simulate as group_simulate, start as group_start};
pub use operation::{Amount, control, operate, varying};

use commsee_hook::Call;
use commsee_runtime::stack;

use crate::abi::Code;
use crate::chosen::Chosen;
use crate::functions::Function;
use crate::module::{self, Module};
use thread::Thread;

/// The plugin is told how an operation is done. True in a thread that is in a call of ours: that one counts it.
pub fn chosen(chosen: &Chosen) -> bool {
    let Some(thread) = module::get().and_then(thread::current) else { return false };
    let is_inside = thread.is_inside(stack::pointer());
    if is_inside {
        thread.keep(chosen);
    }
    is_inside
}

/// Whether the thread is in a call of the program's that a wrapper has seen, and counts.
pub fn is_nested() -> bool {
    module::get().and_then(thread::current).is_some_and(|thread| thread.is_inside(stack::pointer()))
}

/// A call that the program makes, and not the library within one.
struct Begun {
    module: &'static Module,
    thread: &'static Thread,
    call: Call,
    /// False between `MPI_Pcontrol(0)` and `(1)`: communicators are taken in all the same.
    is_counted: bool,
    entered: u32,
    begin_ns: u64,
}

impl Begun {
    /// None where the call is only passed on.
    #[inline(always)]
    fn new(communicator: u32, route: impl FnOnce(&Thread, &Module) -> u32) -> Option<Begun> {
        let module = module::get()?;
        let thread = thread::current(module)?;
        let stack = stack::pointer();
        if thread.is_inside(stack) {
            return None;
        }
        let mut call = Call::NONE;
        // SAFETY: the call may be written.
        let is_counted = unsafe { module.here(&raw mut call) };
        let entered = if is_counted { module.enter(route(thread, module), communicator, thread.next()) } else { 0 };
        thread.enter(stack);
        Some(Begun { module, thread, call, is_counted, entered, begin_ns: module.now_ns() })
    }

    /// The call has returned. Its end.
    #[inline(always)]
    fn leave(&self) -> u64 {
        let end_ns = self.module.now_ns();
        self.thread.leave();
        if self.is_counted {
            self.module.leave(self.entered);
        }
        end_ns
    }
}

/// A call that has returned, and is not counted yet.
#[derive(Clone, Copy)]
struct Ended {
    call: Call,
    layer: &'static str,
    arrivals: &'static str,
    function: Function,
    /// None for a group over several.
    communicator: Option<&'static crate::communicators::Communicator>,
    is_over_several: bool,
    count: u64,
    size_bytes: u64,
    bytes: u64,
    /// The peer or the root; -1 for none.
    peer: i32,
    begin_ns: u64,
    end_ns: u64,
}

/// Whether the library took a call: what it refused, the program did not do.
#[inline(always)]
fn is_taken<V: crate::library::Vendor>(code: Code) -> bool {
    code == crate::abi::SUCCESS || code == V::IN_PROGRESS
}
