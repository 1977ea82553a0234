//! A call of the program, from its begin to the counters.
//!
//! ```text
//! wrapper ─▶ Begun ── real call ──▶ Ended ── in a group ──▶ group.rs ── its end ──▶ count.rs
//!                        │  └────────────── alone ────────────────────────────────────▲
//!                        └── the plugin says how (chosen) ─────────────────────────────┘
//! ```

mod alike;
mod count;
mod creation;
mod group;
mod operation;
mod routes;
mod thread;
mod tls;

pub use creation::{ask_state, clique, first_id, free, grow, initialize, shrink, split};
pub use group::{end as group_end, simulate as group_simulate, start as group_start};
pub use operation::{Amount, control, operate, varying};

use commsee_hook::{AT_ONCE, Call};
use commsee_runtime::{stack, thread_state};

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
    /// The core's word for a call that other modules see; None where there are none.
    entered: Option<u32>,
    clock: Clock,
    begin: u64,
}

/// What its time is taken by: the processor's counter by itself, where nothing but the duration is wanted.
#[derive(Clone, Copy)]
enum Clock {
    /// The nanoseconds of 2^32 ticks.
    Ticks(u64),
    Core,
}

impl Clock {
    #[inline(always)]
    fn now(self, module: &Module) -> u64 {
        match self {
            Clock::Ticks(_) => thread_state::ticks(),
            Clock::Core => module.now_ns(),
        }
    }
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
        // SAFETY: the thread's own state.
        let here = unsafe { thread.alike.here(module, thread.state()) };
        let is_counted = here.is_some();
        let call = here.unwrap_or(Call::NONE);
        let is_seen = is_counted && module::has_others();
        let entered = is_seen.then(|| module.enter(route(thread, module), communicator, thread.next()));
        thread.enter(stack);
        let clock = match thread_state::tick_factor() {
            factor if factor != 0 && !call.is_traced() => Clock::Ticks(factor),
            _ => Clock::Core,
        };
        Some(Begun { module, thread, call, is_counted, entered, clock, begin: clock.now(module) })
    }

    /// The call has returned. Its end.
    #[inline(always)]
    fn leave(&self) -> u64 {
        let end = self.clock.now(self.module);
        self.thread.leave();
        if let Some(entered) = self.entered {
            self.module.leave(entered);
        }
        end
    }

    /// The duration up to its end.
    #[inline(always)]
    fn duration_ns(&self, end: u64) -> u64 {
        let duration_ns = match self.clock {
            Clock::Ticks(factor) => thread_state::nanoseconds(factor, self.begin, end),
            Clock::Core => end.saturating_sub(self.begin),
        };
        duration_ns.min(AT_ONCE - 1)
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
    duration_ns: u64,
    /// Where the call is traced.
    begin_ns: u64,
}

/// Whether the library took a call: what it refused, the program did not do.
#[inline(always)]
fn is_taken<V: crate::library::Vendor>(code: Code) -> bool {
    code == crate::abi::SUCCESS || code == V::IN_PROGRESS
}
