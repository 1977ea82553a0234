//! The calls of layers that a thread is in, one in the other. A program may leave one without a word, by an exception or by `longjmp`:
//! nothing of a call lies on the stack, and one that was left is found out by the next question, since the MPI call that it was made in
//! is over, or the stack has become as short as it was before.

use std::cell::Cell;

use commsee_runtime::stack;

use crate::thread::in_flight::InFlight;

/// Layers call each other only a few times over; what is deeper belongs to the call around it.
const MOST: usize = 16;

/// What a context is. Each may be 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Belonging {
    /// The layer's.
    pub communicator: u32,
    /// The route of a layer's call.
    pub within: u32,
    /// Of the program's call.
    pub site: u32,
    /// The sites where it allocated what is read, and what is written.
    pub objects: [u32; 2],
}

impl Belonging {
    pub const NONE: Belonging = Belonging { communicator: 0, within: 0, site: 0, objects: [0; 2] };
}

impl Default for Belonging {
    fn default() -> Belonging {
        Belonging::NONE
    }
}

#[derive(Clone, Copy)]
pub struct LayerCall {
    pub module: u32,
    pub route: u32,
    pub communicator: u32,
    /// The number of the context that is counted in it, as calls have it.
    pub context: u32,
    pub sequence: u64,
    /// Where the stack ended when it was entered: what it calls lies below.
    pub stack: usize,
    /// The begin of the MPI call that it was made in, or 0.
    pub begin_ticks: u64,
}

pub struct Layers {
    depth: Cell<usize>,
    /// The thread pointer of the thread that they are of; 0 once that has ended.
    owner: Cell<u64>,
    /// The same where no call is known.
    outside: Cell<u64>,
    calls: [Cell<LayerCall>; MOST],
    /// The context that was asked for last, and its number.
    last: Cell<(Belonging, u32)>,
}

impl Layers {
    pub const fn new() -> Layers {
        const NONE: LayerCall =
            LayerCall { module: 0, route: 0, communicator: 0, context: 0, sequence: 0, stack: 0, begin_ticks: 0 };
        Layers {
            depth: Cell::new(0),
            owner: Cell::new(0),
            outside: Cell::new(0),
            calls: [const { Cell::new(NONE) }; MOST],
            last: Cell::new((Belonging::NONE, 0)),
        }
    }

    /// Whether no call is known: then none is there.
    #[inline(always)]
    pub fn are_none(&self) -> bool {
        self.depth.get() == 0
    }

    /// The thread that asks is the one that they are of. Modules read it there.
    pub fn own(&self) -> *const u64 {
        self.owner.set(stack::thread_pointer() as u64);
        self.set_depth(self.depth.get());
        self.owner.as_ptr()
    }

    /// Where modules read whether the thread is in no call.
    pub fn outside(&self) -> *const u64 {
        self.outside.as_ptr()
    }

    fn set_depth(&self, depth: usize) {
        self.depth.set(depth);
        self.outside.set(if depth == 0 { self.owner.get() } else { 0 });
    }

    /// The innermost call.
    pub fn innermost(&self, in_flight: &InFlight) -> Option<LayerCall> {
        self.forget_left(in_flight, stack::pointer());
        Some(self.calls.get(self.depth.get().checked_sub(1)?)?.get())
    }

    /// Drops calls that the program has left. Whoever is called from one has a lower stack pointer than it had.
    fn forget_left(&self, in_flight: &InFlight, pointer: usize) {
        while let Some(call) = self.depth.get().checked_sub(1).and_then(|at| self.calls.get(at)) {
            let call = call.get();
            let is_over = call.begin_ticks != 0 && !in_flight.is_inside(call.begin_ticks);
            if pointer < call.stack && !is_over {
                return;
            }
            self.set_depth(self.depth.get() - 1);
        }
    }

    /// Returns what [`Layers::leave`] needs: 0 is nothing.
    pub fn enter(&self, in_flight: &InFlight, call: LayerCall) -> u32 {
        self.forget_left(in_flight, call.stack);
        let depth = self.depth.get();
        let Some(place) = self.calls.get(depth) else { return 0 };
        place.set(call);
        self.set_depth(depth + 1);
        depth as u32 + 1
    }

    /// What was left inside of the call is over, too.
    pub fn leave(&self, entered: u32) {
        if let Some(outer) = (entered as usize).checked_sub(1)
            && outer < self.depth.get()
        {
            self.set_depth(outer);
        }
    }

    /// The thread has ended.
    pub fn leave_all(&self) {
        self.owner.set(0);
        self.set_depth(0);
    }

    /// The number of a context, which `ask` knows.
    pub fn context(&self, context: Belonging, ask: impl FnOnce(Belonging) -> u32) -> u32 {
        let (last, number) = self.last.get();
        if last == context && (number != 0 || context == Belonging::NONE) {
            return number;
        }
        let number = ask(context);
        self.last.set((context, number));
        number
    }
}
