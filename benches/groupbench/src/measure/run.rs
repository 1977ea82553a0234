//! One pattern of one size by one library: warmed up, verified, and executed until the interval of its median is narrow.

use std::sync::atomic::{AtomicBool, Ordering};

use commsee::bench::Summary;

use super::clock::{Clock, local_s};
use super::cold::{self, Sweep};
use super::sync::Together;
use super::{round_trip, warm_up};
use crate::composition::{Composition, CompositionError};
use crate::library::Library;
use crate::memory::Layout;
use crate::mpi::World;
use crate::pattern::Pattern;

/// What is measured. Its pattern's ranks are those of the world.
pub struct Case {
    pub pattern: Pattern,
    /// Half the round trip of its first pair is measured as well: it goes one way.
    pub is_one_way: bool,
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Executions that count, at least and at most.
    pub least_reps: usize,
    pub most_reps: usize,
    /// Seconds for executions that count.
    pub most_s: f64,
    /// Part of the median that the interval may be away from it on either side.
    pub precision: f64,
    /// Executions before: `None` until they are warm.
    pub warm_up: Option<usize>,
    pub is_verified: bool,
    pub is_cold: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            // Fewer bound no median.
            least_reps: FEWEST,
            most_reps: 1000,
            most_s: 2.0,
            precision: 0.025,
            warm_up: None,
            is_verified: true,
            is_cold: false,
        }
    }
}

/// One execution, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Of the rank that took longest.
    pub time_s: f64,
    /// From the first start to the last end, on the common clock.
    pub span_s: f64,
    /// From the first start to the last.
    pub skew_s: f64,
    /// The rank that took longest.
    pub slowest: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The interval is narrow enough.
    Interval,
    /// As many executions as were allowed.
    Reps,
    /// The time is over.
    Time,
    /// Somebody interrupted it.
    Interrupted,
}

impl Stopped {
    pub fn name(self) -> &'static str {
        match self {
            Stopped::Interval => "interval",
            Stopped::Reps => "reps",
            Stopped::Time => "time",
            Stopped::Interrupted => "interrupted",
        }
    }
}

/// What is known of a case, on all ranks alike.
#[derive(Clone, Debug)]
pub struct Measured {
    pub samples: Vec<Sample>,
    /// Medians of each rank's own time; not a number for ranks without messages.
    pub rank_medians_s: Vec<f64>,
    /// All executions, with those that did not count.
    pub executions: usize,
    pub stopped: Stopped,
    /// Bytes that were not where they belong, of all ranks, in both verifications.
    pub wrong: u64,
    pub half_trip_s: Option<f64>,
    /// How far two ranks' clocks may be apart.
    pub clock_error_s: f64,
}

impl Measured {
    pub fn times_s(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.time_s).collect()
    }

    /// Why the numbers are not to be believed: nothing is faster than half the round trip of its first pair, and where ranks begin further
    /// apart than half the time that is measured, it is mostly that they waited for each other.
    pub fn flag(&self) -> Option<&'static str> {
        let summary = Summary::of(&self.times_s())?;
        let skews: Vec<f64> = self.samples.iter().map(|sample| sample.skew_s).collect();
        let apart_s = Summary::of(&skews)?.median - self.clock_error_s;
        // The whole interval, so that noise alone is no reason.
        let highest_s = summary.interval.map_or(summary.median, |interval| interval.high);
        let is_too_fast = self.half_trip_s.is_some_and(|half_s| highest_s < half_s);
        // Being too fast is blamed on the begin where that explains it.
        let is_early = is_too_fast && apart_s > summary.median / 10.0;
        (is_early || apart_s > summary.median / 2.0).then_some("skew")
    }
}

/// What all cases of a run have in common.
pub struct Measurement<'a> {
    pub world: &'a World,
    pub clock: Clock,
    pub together: Box<dyn Together>,
    pub limits: Limits,
    pub groups: Vec<Option<usize>>,
    pub seed: u64,
    /// Set by a signal.
    pub interrupted: &'a AtomicBool,
}

/// Fewer executions bound no median.
const FEWEST: usize = 6;
/// Executions whose times are exchanged at once.
const MOST_BATCH: usize = 256;
/// Seconds that a batch should last.
const BATCH_S: f64 = 0.02;
/// Batches in a row that some rank came late to, before that is given up.
const FRUITLESS: usize = 50;
/// Seconds that executions are spread over before a narrow interval ends them: those of one moment are alike.
const LEAST_S: f64 = 0.1;
/// Executions that may be spent until they are warm.
const MOST_WARM_UP: usize = 64;

impl Measurement<'_> {
    /// Collective. Errors are the same on all ranks.
    pub fn measure(&mut self, case: &Case, library: &dyn Library) -> Result<Measured, CompositionError> {
        self.clock.refresh(self.world);
        let layout = Layout::of(&case.pattern);
        let set_bytes = (0..case.pattern.ranks).map(|rank| layout.bytes(rank)).max().unwrap_or(0);
        // Hosts may have caches of different sizes; all ranks make as many sets.
        let sets =
            if self.limits.is_cold { self.world.all_max(&[cold::sets(set_bytes) as f64])[0] as usize } else { 1 };
        let mut compositions = (0..sets)
            .map(|_| Composition::placed(self.world, case.pattern.clone(), &self.groups, library))
            .collect::<Result<Vec<_>, _>>()?;
        let half_trip_s = self.half_trip_s(case, library);
        let sweep = if self.limits.is_cold { Sweep::beside(set_bytes) } else { None };
        let mut running = Running { executions: 0, sweep, is_in: self.is_in(&case.pattern), own_s: Vec::new() };

        let mut wrong = 0;
        if self.limits.is_verified {
            wrong += compositions[0].verify(self.world, self.seed);
            running.executions += 1;
        } else {
            compositions[0].fill(self.seed);
        }
        compositions.iter_mut().skip(1).for_each(|one| one.fill(self.seed));
        let each_s = self.warm_up(&mut running, &mut compositions);
        let (samples, stopped) = self.repeat(&mut running, &mut compositions, each_s);
        if self.limits.is_verified {
            wrong += compositions[0].verify(self.world, self.seed ^ u64::MAX);
            running.executions += 1;
        }
        let own = Summary::of(&running.own_s).filter(|_| running.is_in).map_or(f64::NAN, |own| own.median);
        Ok(Measured {
            samples,
            rank_medians_s: self.world.all(own),
            executions: running.executions,
            stopped,
            wrong,
            half_trip_s,
            clock_error_s: self.clock.error_s(),
        })
    }

    fn is_in(&self, pattern: &Pattern) -> bool {
        let rank = self.world.rank();
        pattern.messages().any(|message| message.source == rank || message.destination == rank)
    }

    fn half_trip_s(&self, case: &Case, library: &dyn Library) -> Option<f64> {
        // A few executions say nothing of times.
        let is_wanted = case.is_one_way && library.is_pairwise() && self.limits.most_reps >= FEWEST;
        let first = case.pattern.messages().next().filter(|_| is_wanted)?;
        if first.source == first.destination {
            return None;
        }
        round_trip::half_s(self.world, (first.source, first.destination), first.bytes, &self.groups, library)
    }

    /// Seconds from one execution to the next.
    fn warm_up(&mut self, running: &mut Running, compositions: &mut [Composition]) -> f64 {
        let begin = local_s();
        let before = running.executions;
        let mut times_s = Vec::new();
        loop {
            let is_over = match self.limits.warm_up {
                // Those that a rank came late for are warm as well.
                Some(count) => running.executions - before >= count || self.is_interrupted(),
                None => {
                    let is_long = running.executions - before >= 2 && local_s() - begin > self.limits.most_s / 4.0;
                    warm_up::is_over(&times_s)
                        || running.executions - before >= MOST_WARM_UP
                        || is_long
                        || self.is_interrupted()
                }
            };
            // Rank 0's time decides.
            let mut is_over = [u8::from(is_over)];
            self.world.broadcast(&mut is_over);
            if is_over[0] != 0 {
                break;
            }
            times_s.extend(self.batch(running, compositions, 1).iter().map(|sample| sample.time_s));
        }
        running.own_s.clear();
        // With what it takes to begin together: how long a batch lasts depends on both.
        (local_s() - begin) / (running.executions - before).max(1) as f64
    }

    fn repeat(
        &mut self,
        running: &mut Running,
        compositions: &mut [Composition],
        each_s: f64,
    ) -> (Vec<Sample>, Stopped) {
        let begin = local_s();
        let mut each_s = each_s;
        let mut samples = Vec::new();
        let mut fruitless = 0;
        loop {
            let left = self.limits.most_reps.saturating_sub(samples.len());
            let wanted = if each_s > 0.0 { (BATCH_S / each_s) as usize } else { 1 };
            let batch = wanted.clamp(1, MOST_BATCH).min(left.max(1));
            // Rank 0 says how many, since its times are its own.
            let mut batch = [batch as u64];
            self.world.broadcast(&mut batch);
            let batch_begin = local_s();
            let new = self.batch(running, compositions, batch[0] as usize);
            each_s = (local_s() - batch_begin) / batch[0] as f64;
            fruitless = if new.is_empty() { fruitless + 1 } else { 0 };
            samples.extend(new);
            let stopped = self.decided(&samples, local_s() - begin, fruitless);
            if let Some(stopped) = stopped {
                return (samples, stopped);
            }
        }
    }

    /// Whether it is enough: the same on all ranks.
    fn decided(&self, samples: &[Sample], spent_s: f64, fruitless: usize) -> Option<Stopped> {
        const KINDS: [Stopped; 4] = [Stopped::Interval, Stopped::Reps, Stopped::Time, Stopped::Interrupted];
        let Limits { least_reps, most_reps, most_s, precision, .. } = self.limits;
        let is_interrupted =
            self.world.all_max(&[f64::from(u8::from(self.interrupted.load(Ordering::Relaxed)))])[0] > 0.0;
        let times: Vec<f64> = samples.iter().map(|sample| sample.time_s).collect();
        let is_enough = samples.len() >= least_reps;
        let decided = if is_interrupted {
            Some(Stopped::Interrupted)
        } else if samples.len() >= most_reps {
            Some(Stopped::Reps)
        } else if is_enough
            && spent_s >= LEAST_S.min(most_s)
            && Summary::of(&times).is_some_and(|summary| summary.is_within(precision))
        {
            Some(Stopped::Interval)
        } else if (is_enough || fruitless > FRUITLESS) && spent_s > most_s {
            Some(Stopped::Time)
        } else {
            None
        };
        // 0 to go on, or the place of the reason.
        let mut said =
            [decided.and_then(|kind| KINDS.iter().position(|one| *one == kind)).map_or(0, |place| place as u8 + 1)];
        self.world.broadcast(&mut said);
        (said[0] > 0).then(|| KINDS[usize::from(said[0]) - 1])
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Executions with their times, as all ranks saw them together; those without that some rank came late for.
    fn batch(&mut self, running: &mut Running, compositions: &mut [Composition], count: usize) -> Vec<Sample> {
        let (mut own_s, mut starts, mut ends) =
            (Vec::with_capacity(count), Vec::with_capacity(count), Vec::with_capacity(count));
        let mut late = Vec::with_capacity(count);
        for _ in 0..count {
            let composition = &mut compositions[running.executions % compositions.len()];
            if let Some(sweep) = &mut running.sweep {
                sweep.run();
            }
            composition.arm();
            let in_time = self.together.wait(self.world, &self.clock);
            let begin = local_s();
            composition.run();
            let end = local_s();
            running.executions += 1;
            own_s.push(if running.is_in { end - begin } else { 0.0 });
            starts.push(self.clock.common_s(begin));
            ends.push(self.clock.common_s(end));
            late.push(f64::from(u8::from(!in_time)));
        }
        // Maxima, in one call: own times, last starts, first starts and last ends, and who was late. Ranks without messages have neither begin nor end.
        let world = self.world;
        let unless_out = |value: f64| if running.is_in { value } else { f64::NEG_INFINITY };
        let mut told = own_s.clone();
        told.extend(starts.iter().map(|start| unless_out(*start)));
        told.extend(starts.iter().map(|start| unless_out(-start)));
        told.extend(ends.iter().map(|end| unless_out(*end)));
        told.extend(&late);
        let told = world.all_max(&told);
        let [longest, last_start, first_start, last_end, late] =
            [0, 1, 2, 3, 4].map(|part| &told[part * count..][..count]);
        let is_slowest =
            |(own, longest): (&f64, &f64)| if own >= longest { world.rank() as f64 } else { f64::INFINITY };
        let slowest = world.all_min(&own_s.iter().zip(longest).map(is_slowest).collect::<Vec<_>>());
        match late.iter().any(|late| *late > 0.0) {
            true => self.together.widen(),
            false => self.together.narrow(),
        }
        let counts = |index: &usize| late[*index] == 0.0;
        running.own_s.extend((0..count).filter(counts).map(|index| own_s[index]));
        let sample = |index: usize| Sample {
            time_s: longest[index],
            span_s: last_end[index] + first_start[index],
            skew_s: last_start[index] + first_start[index],
            slowest: slowest[index] as usize,
        };
        (0..count).filter(counts).map(sample).collect()
    }
}

/// What goes on from batch to batch.
struct Running {
    executions: usize,
    sweep: Option<Sweep>,
    /// Whether this rank has messages.
    is_in: bool,
    /// Of this rank, of executions that count.
    own_s: Vec<f64>,
}
