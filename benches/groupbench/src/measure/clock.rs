//! One clock for all ranks: each rank's own, corrected by what round trips to rank 0 tell of its offset and drift.
//! (Hunold and Carpen-Amarie, MPI Benchmarking Revisited, 2016: offset by the fastest of several round trips, drift by regression over time.)

use std::ptr::addr_of_mut;

use mpi::ffi;

use crate::mpi::World;

/// Round trips of one measurement of an offset.
const ROUNDS: usize = 20;
/// Offsets are measured again after so long.
const FRESH_S: f64 = 2.0;
/// Measurements that drift is estimated from.
const KEPT: usize = 32;
const TAG: i32 = 31_999;

/// Seconds of this process's monotonic clock.
pub fn local_s() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to `time`.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Rank 0's clock less this rank's, at a time of this rank's.
#[derive(Clone, Copy, Debug)]
struct Offset {
    at_s: f64,
    offset_s: f64,
    /// Half of the round trip: how far it may be wrong.
    error_s: f64,
}

/// What turns a rank's own time into that of rank 0, which begins where the clock was made.
#[derive(Debug)]
pub struct Clock {
    offsets: Vec<Offset>,
    line: Line,
    /// When rank 0 measured last, on its own clock.
    measured_s: f64,
    begin_s: f64,
    /// On all ranks: how far the clocks of two ranks may be apart.
    error_s: f64,
}

/// offset = level + slope · (time − middle)
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Line {
    middle_s: f64,
    level_s: f64,
    slope: f64,
}

impl Clock {
    /// Collective.
    pub fn new(world: &World) -> Clock {
        let mut begin = [local_s()];
        world.broadcast(&mut begin);
        let mut clock = Clock {
            offsets: Vec::new(),
            line: Line::default(),
            measured_s: f64::NEG_INFINITY,
            begin_s: begin[0],
            error_s: 0.0,
        };
        clock.refresh(world);
        clock
    }

    /// Measures again if that is due. Collective.
    pub fn refresh(&mut self, world: &World) {
        let now = local_s();
        let mut is_due = [u8::from(now - self.measured_s > FRESH_S)];
        world.broadcast(&mut is_due);
        if is_due[0] == 0 {
            return;
        }
        self.measured_s = now;
        // Ranks of one host read one clock. Rank 0 answers the others in turn.
        let root_host = world.host(0);
        if world.is_root() {
            (1..world.size()).filter(|rank| world.host(*rank) != root_host).for_each(|rank| answer(world, rank));
            self.offsets = vec![Offset { at_s: now, offset_s: 0.0, error_s: 0.0 }];
        } else if world.host(world.rank()) == root_host {
            self.offsets = vec![Offset { at_s: now, offset_s: 0.0, error_s: 0.0 }];
        } else {
            self.offsets.push(ask(world));
            if self.offsets.len() > KEPT {
                self.offsets.remove(0);
            }
        }
        self.line = fit(&self.offsets);
        let residual = self.offsets.iter().map(|one| (one.offset_s - self.line.at(one.at_s)).abs()).fold(0.0, f64::max);
        let error = self.offsets.last().map_or(0.0, |one| one.error_s).max(residual);
        // Two ranks may be wrong in opposite directions.
        self.error_s = 2.0 * world.all_max(&[error])[0];
    }

    /// Seconds since the clock was made, alike on all ranks.
    pub fn common_s(&self, local_s: f64) -> f64 {
        local_s + self.line.at(local_s) - self.begin_s
    }

    pub fn now_s(&self) -> f64 {
        self.common_s(local_s())
    }

    pub fn error_s(&self) -> f64 {
        self.error_s
    }
}

impl Line {
    fn at(self, time_s: f64) -> f64 {
        self.level_s + self.slope * (time_s - self.middle_s)
    }
}

fn answer(world: &World, rank: usize) {
    for _ in 0..ROUNDS {
        let (mut asked, mut time) = (0.0, 0.0);
        exchange(world, rank, None, Some(&mut asked));
        let _: f64 = asked;
        time += local_s();
        exchange(world, rank, Some(time), None);
    }
}

fn ask(world: &World) -> Offset {
    let mut best = Offset { at_s: 0.0, offset_s: 0.0, error_s: f64::INFINITY };
    for _ in 0..ROUNDS {
        let (begin, mut there) = (local_s(), 0.0);
        exchange(world, 0, Some(begin), None);
        exchange(world, 0, None, Some(&mut there));
        let end = local_s();
        let (middle, error_s) = (f64::midpoint(begin, end), (end - begin) / 2.0);
        if error_s < best.error_s {
            best = Offset { at_s: middle, offset_s: there - middle, error_s };
        }
    }
    best
}

/// Sends or receives one number.
fn exchange(world: &World, peer: usize, send: Option<f64>, receive: Option<&mut f64>) {
    // SAFETY: blocking calls on one number each.
    unsafe {
        let (peer, comm) = (peer as i32, world.control());
        if let Some(value) = send {
            ffi::MPI_Send((&raw const value).cast(), 1, ffi::RSMPI_DOUBLE, peer, TAG, comm);
        }
        if let Some(value) = receive {
            let at = addr_of_mut!(*value).cast();
            ffi::MPI_Recv(at, 1, ffi::RSMPI_DOUBLE, peer, TAG, comm, ffi::RSMPI_STATUS_IGNORE);
        }
    }
}

/// Least squares; the last offset alone where they do not span enough time for a slope that means something.
fn fit(offsets: &[Offset]) -> Line {
    let Some(last) = offsets.last() else { return Line::default() };
    let constant = Line { middle_s: last.at_s, level_s: last.offset_s, slope: 0.0 };
    if offsets.len() < 3 || last.at_s - offsets[0].at_s < 1.0 {
        return constant;
    }
    let count = offsets.len() as f64;
    let middle_s = offsets.iter().map(|one| one.at_s).sum::<f64>() / count;
    let level_s = offsets.iter().map(|one| one.offset_s).sum::<f64>() / count;
    let (mut together, mut alone) = (0.0, 0.0);
    for one in offsets {
        together += (one.at_s - middle_s) * (one.offset_s - level_s);
        alone += (one.at_s - middle_s).powi(2);
    }
    if alone > 0.0 { Line { middle_s, level_s, slope: together / alone } } else { constant }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_found() {
        let offsets: Vec<Offset> = (0..10)
            .map(|index| Offset {
                at_s: 100.0 + 2.0 * f64::from(index),
                offset_s: 5.0 + 1e-6 * f64::from(index),
                error_s: 1e-6,
            })
            .collect();
        let line = fit(&offsets);
        assert!((line.slope - 5e-7).abs() < 1e-12, "{line:?}");
        assert!((line.at(120.0) - (5.0 + 1e-5)).abs() < 1e-9, "{line:?}");
        assert_eq!(fit(&offsets[..2]).slope, 0.0);
        assert_eq!(fit(&offsets[..2]).at(200.0), offsets[1].offset_s);
    }
}
