//! How ranks begin together. No way is exact: how far apart they really began is measured each time (`skew_s`).

use clap::ValueEnum;
use mpi::ffi;

use super::clock::{Clock, local_s};
use crate::mpi::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sync {
    /// MPI_Barrier
    Barrier,
    /// A dissemination barrier of the benchmark's own: the same algorithm under every MPI library
    Dissemination,
    /// A time that all ranks wait for, on clocks that are synchronised; where a rank comes late, the execution does not count
    Window,
}

impl Sync {
    pub fn name(self) -> &'static str {
        match self {
            Sync::Barrier => "barrier",
            Sync::Dissemination => "dissemination",
            Sync::Window => "window",
        }
    }
}

/// A way to begin together; [`Synchroniser`] has those of the program.
pub trait Together {
    /// Returns together on all ranks, as far as that goes. Whether this rank was in time: where one was not, the execution does not count.
    fn wait(&mut self, world: &World, clock: &Clock) -> bool;

    /// Some rank came late to one of the last executions. On all ranks alike.
    fn widen(&mut self) {}

    /// None did.
    fn narrow(&mut self) {}
}

const TAG: i32 = 31_998;
/// What a window begins with, and at most has.
const FIRST_SLACK_S: f64 = 50e-6;
const MOST_SLACK_S: f64 = 5e-3;

pub struct Synchroniser {
    sync: Sync,
    slack_s: f64,
}

impl Synchroniser {
    pub fn new(sync: Sync) -> Synchroniser {
        Synchroniser { sync, slack_s: FIRST_SLACK_S }
    }
}

impl Together for Synchroniser {
    fn wait(&mut self, world: &World, clock: &Clock) -> bool {
        match self.sync {
            Sync::Barrier => world.barrier(),
            Sync::Dissemination => disseminate(world),
            Sync::Window => {
                let mut begin = [clock.now_s() + self.slack_s];
                world.broadcast(&mut begin);
                let mut waited = 0u32;
                while clock.common_s(local_s()) < begin[0] {
                    waited += 1;
                    std::hint::spin_loop();
                }
                return waited > 0;
            }
        }
        true
    }

    /// The next windows are longer.
    fn widen(&mut self) {
        self.slack_s = (2.0 * self.slack_s).min(MOST_SLACK_S);
    }

    fn narrow(&mut self) {
        self.slack_s = (self.slack_s / 2.0).max(FIRST_SLACK_S);
    }
}

/// In round i every rank tells the one 2^i further (Hensgen, Finkel and Manber, 1988).
fn disseminate(world: &World) {
    let (rank, size) = (world.rank(), world.size());
    let mut distance = 1;
    while distance < size {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        // SAFETY: messages without bytes.
        unsafe {
            ffi::MPI_Sendrecv(
                std::ptr::null(),
                0,
                ffi::RSMPI_UINT8_T,
                to as i32,
                TAG,
                std::ptr::null_mut(),
                0,
                ffi::RSMPI_UINT8_T,
                from as i32,
                TAG,
                world.control(),
                ffi::RSMPI_STATUS_IGNORE,
            );
        }
        distance *= 2;
    }
}
