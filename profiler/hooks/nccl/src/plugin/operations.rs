//! What NCCL does for a call: how long the GPU took, by the timestamps of its channels. They come late, in other threads, and one by one.

use super::communicators::Known;
use super::handles::Handle;
use super::ring::Ring;
use super::rows::{Layer, Operation};
use crate::functions::Kind;
use crate::module::Module;

#[derive(Clone, Copy)]
struct Running {
    operation: Operation,
    /// NCCL has put it into a queue of the GPU.
    is_enqueued: bool,
    is_counted: bool,
    channels: Channels,
}

/// The channels of its kernel that NCCL has told of. All times are the GPU's.
#[derive(Clone, Copy, Default)]
struct Channels {
    begun: u16,
    ended: u16,
    /// A timestamp is missing.
    is_broken: bool,
    begin_ns: u64,
    end_ns: u64,
}

impl Running {
    /// Whether all channels are known to have ended.
    fn is_over(&self) -> bool {
        let expected = u16::from(self.operation.how.channels);
        expected > 0 && self.channels.ended >= expected
    }

    /// Whether those that NCCL has told of have. That is all that can be known where it says no number, as v4 does of sends, or
    /// another one than it tells of, as older libraries do of sends.
    fn is_quiet(&self) -> bool {
        self.channels.begun > 0 && self.channels.ended == self.channels.begun
    }

    /// Whether it counts though no more is to come.
    fn is_done(&self) -> bool {
        let is_exact = matches!(self.operation.function.kind(), Kind::Collective | Kind::Rooted);
        self.is_over() || !is_exact || self.operation.how.channels == 0
    }

    fn count_if(&mut self, module: &Module, is_time: impl FnOnce(&Running) -> bool) {
        if self.is_enqueued && !self.is_counted && self.is_quiet() && is_time(self) {
            self.is_counted = true;
            if !self.channels.is_broken {
                let duration_ns = self.channels.end_ns.saturating_sub(self.channels.begin_ns);
                self.operation.count(module, Layer::Kernel, duration_ns);
            }
        }
    }
}

static RUNNING: Ring<Running> = Ring::new();

/// NCCL begins an operation.
pub fn begin(module: &Module, operation: Operation) -> Option<Handle> {
    let channels = Channels { begin_ns: u64::MAX, ..Channels::default() };
    let put = RUNNING.put(Running { operation, is_enqueued: false, is_counted: false, channels });
    if let Some(mut gone) = put.gone {
        gone.count_if(module, Running::is_done);
    }
    put.number.map(Handle::Operation)
}

/// It is in a queue of the GPU.
pub fn enqueued(module: &Module, number: u64) {
    RUNNING.change(number, |running| {
        running.is_enqueued = true;
        running.count_if(module, Running::is_over);
    });
}

/// A channel of its kernel began.
pub fn channel_began(number: u64, begin_ns: u64) -> Option<Handle> {
    RUNNING.change(number, |running| {
        let channels = &mut running.channels;
        channels.begun = channels.begun.saturating_add(1);
        channels.is_broken |= begin_ns == 0;
        channels.begin_ns = channels.begin_ns.min(begin_ns);
        Handle::Channel(number)
    })
}

/// The GPU's time when a channel ended.
pub fn channel_timed(number: u64, end_ns: u64) {
    RUNNING.change(number, |running| {
        let channels = &mut running.channels;
        channels.is_broken |= end_ns < channels.begin_ns;
        channels.end_ns = channels.end_ns.max(end_ns);
    });
}

/// A channel ended.
pub fn channel_ended(module: &Module, number: u64) {
    RUNNING.change(number, |running| {
        running.channels.ended = running.channels.ended.saturating_add(1);
        // A library that is closed ends channels without their time.
        running.channels.is_broken |= running.channels.end_ns == 0;
        running.count_if(module, Running::is_over);
    });
}

/// What an operation is, for what NCCL does for it in turn.
pub fn find(number: u64) -> Option<Operation> {
    RUNNING.change(number, |running| running.operation)
}

/// Counts those that are done as far as can be known, on one communicator or on all: no more of them is to come, or nobody will hear
/// of it.
pub fn settle(module: &Module, communicator: Option<&Known>) {
    RUNNING.each(|running| {
        if communicator.is_none_or(|one| std::ptr::eq(one, running.operation.communicator)) {
            running.count_if(module, Running::is_done);
        }
    });
}
