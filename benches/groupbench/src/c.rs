//! The functions of `groupbench.h`: a composition over a communicator of a program that initialized MPI itself.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::AtomicBool;

use mpi::ffi::MPI_Comm;

use crate::composition::{Composition, CompositionError};
use crate::library::Choice;
use crate::measure::{Case, Clock, Limits, Measurement, Sync, Synchroniser};
use crate::mpi::World;
use crate::pattern::{Arena, Message, Pattern, Place, Step};

/// Steps have messages of their own tags.
const MOST_STEPS: c_int = 32_000;
/// Less than would overflow where sizes are added up.
const MOST_BYTES: u64 = 1 << 46;

/// `groupbench`.
pub struct Handle {
    // Before the world whose communicators it uses.
    composition: Option<Composition>,
    pattern: Pattern,
    under_way: Vec<bool>,
    groups: Vec<Option<usize>>,
    choice: Choice,
    world: World,
}

/// `groupbench_place`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CPlace {
    area: c_int,
    offset: u64,
}

/// `groupbench_times`.
#[repr(C)]
pub struct Times {
    min_s: f64,
    median_s: f64,
    ci_lo_s: f64,
    ci_hi_s: f64,
    mean_s: f64,
    p95_s: f64,
    max_s: f64,
    executions: u64,
}

/// The codes of the header, with what is told beside them.
enum Failure {
    Argument(String),
    Unavailable(String),
    Memory(String),
}

impl From<CompositionError> for Failure {
    fn from(error: CompositionError) -> Failure {
        let text = error.to_string();
        match error {
            CompositionError::Unavailable(_) => Failure::Unavailable(text),
            CompositionError::NoMemory(_) => Failure::Memory(text),
            CompositionError::FewRanks { .. } => Failure::Argument(text),
        }
    }
}

fn wrong<T>(text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Argument(text.into()))
}

thread_local! {
    static SAID: RefCell<CString> = RefCell::default();
}

/// The code of what was done, and its text for `groupbench_error`. A panic does not leave Rust.
fn coded(done: impl FnOnce() -> Result<(), Failure>) -> c_int {
    let (code, text) = match catch_unwind(AssertUnwindSafe(done)) {
        Ok(Ok(())) => return 0,
        Ok(Err(Failure::Argument(text))) => (1, text),
        Ok(Err(Failure::Unavailable(text))) => (2, text),
        Ok(Err(Failure::Memory(text))) => (3, text),
        Err(_) => (4, "a mistake in groupbench, which standard error has".to_owned()),
    };
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    SAID.with(|said| said.replace(text));
    code
}

/// # Safety
/// Null, or a handle of `groupbench_create`.
unsafe fn handle<'a>(composition: *mut Handle) -> Result<&'a mut Handle, Failure> {
    // SAFETY: the caller's.
    unsafe { composition.as_mut() }.ok_or_else(|| Failure::Argument("the composition is NULL".to_owned()))
}

impl Handle {
    /// Collective.
    fn new(comm: MPI_Comm, group_size: c_int, library: &str) -> Result<Handle, Failure> {
        let choice: Choice = library.parse().map_err(Failure::Argument)?;
        let Ok(group_size @ 1..) = usize::try_from(group_size) else {
            return wrong(format!("groups of {group_size} ranks"));
        };
        let world = World::over(comm).map_err(Failure::Argument)?;
        let groups = (0..world.size()).map(|rank| Some(rank / group_size)).collect();
        let pattern = Pattern { steps: Vec::new(), deliveries: Vec::new(), ranks: world.size() };
        Ok(Handle { composition: None, pattern, under_way: Vec::new(), groups, choice, world })
    }

    fn add(&mut self, step: c_int, ends: [(c_int, CPlace); 2], bytes: u64) -> Result<(), Failure> {
        if self.composition.is_some() {
            return wrong("the composition is prepared: nothing can be added");
        }
        if !(0..MOST_STEPS).contains(&step) {
            return wrong(format!("step {step}: steps are 0 to {}", MOST_STEPS - 1));
        }
        let size = self.world.size();
        let end = |(rank, place): (c_int, CPlace)| match usize::try_from(rank) {
            Ok(rank) if rank < size => Ok((rank, place_of(place, bytes)?)),
            _ => wrong(format!("rank {rank} of {size}")),
        };
        let [(source, from), (destination, to)] = [end(ends[0])?, end(ends[1])?];
        if to.arena == Arena::Given {
            return wrong("a message arrives in GROUPBENCH_RELAY or GROUPBENCH_RESULT");
        }
        let steps = &mut self.pattern.steps;
        steps.resize(steps.len().max(step as usize + 1), Step::default());
        steps[step as usize].messages.push(Message { source, destination, bytes, from, to });
        Ok(())
    }

    /// Collective.
    fn prepare(&mut self) -> Result<(), Failure> {
        if self.composition.is_some() {
            return wrong("the composition is prepared already");
        }
        let empty = self.pattern.steps.iter().position(|step| step.messages.is_empty());
        // Ranks that do not agree would wait for each other for ever.
        let mut hasher = DefaultHasher::new();
        self.pattern.steps.hash(&mut hasher);
        let mark = [hasher.finish()];
        let mut first = mark;
        self.world.broadcast(&mut first);
        let is_same = if first == mark { Ok(()) } else { Err("other messages were added than on rank 0".to_owned()) };
        self.world.agreed(is_same).map_err(Failure::Argument)?;
        match empty {
            _ if self.pattern.steps.is_empty() => return wrong("there is no message: add some"),
            Some(step) => return wrong(format!("step {step} has no message")),
            None => {}
        }
        let library = self.choice.library();
        let prepared = Composition::placed(&self.world, self.pattern.clone(), &self.groups, &*library)?;
        self.under_way = vec![false; prepared.steps()];
        self.composition = Some(prepared);
        Ok(())
    }

    /// A step of a prepared composition, which must be under way or not.
    fn step(&mut self, step: c_int, is_under_way: bool) -> Result<(usize, &mut Composition), Failure> {
        let Some(composition) = &mut self.composition else {
            return wrong("the composition is not prepared: call groupbench_prepare");
        };
        let index = usize::try_from(step).unwrap_or(usize::MAX);
        match self.under_way.get_mut(index) {
            None => wrong(format!("step {step} of {}", composition.steps())),
            Some(now) if *now != is_under_way => {
                wrong(format!("step {step} is {}", if *now { "under way" } else { "not started" }))
            }
            Some(now) => {
                *now = !is_under_way;
                Ok((index, composition))
            }
        }
    }

    fn at_rest(&self) -> Result<(), Failure> {
        match self.under_way.iter().position(|is_under_way| *is_under_way) {
            Some(step) => wrong(format!("step {step} is under way: wait for it")),
            None => Ok(()),
        }
    }

    /// Collective.
    fn measure(&mut self) -> Result<Times, Failure> {
        self.at_rest()?;
        if self.composition.is_none() {
            return wrong("the composition is not prepared: call groupbench_prepare");
        }
        static NEVER: AtomicBool = AtomicBool::new(false);
        let mut measurement = Measurement {
            world: &self.world,
            clock: Clock::new(&self.world),
            together: Box::new(Synchroniser::new(Sync::Barrier)),
            // Contents are the program's: there is nothing to verify them by.
            limits: Limits { is_verified: false, ..Limits::default() },
            groups: self.groups.clone(),
            seed: 1,
            interrupted: &NEVER,
        };
        let case = Case { pattern: self.pattern.clone(), is_one_way: false };
        let measured = measurement.measure(&case, &*self.choice.library())?;
        let Some(summary) = commsee::bench::Summary::of(&measured.times_s()) else {
            return wrong("no execution counted");
        };
        let bounds = summary.interval.map_or((f64::NAN, f64::NAN), |interval| (interval.low, interval.high));
        Ok(Times {
            min_s: summary.min,
            median_s: summary.median,
            ci_lo_s: bounds.0,
            ci_hi_s: bounds.1,
            mean_s: summary.mean,
            p95_s: summary.p95,
            max_s: summary.max,
            executions: summary.samples as u64,
        })
    }
}

fn place_of(place: CPlace, bytes: u64) -> Result<Place, Failure> {
    let arena = match place.area {
        0 => Arena::Given,
        1 => Arena::Relay,
        2 => Arena::Result,
        other => return wrong(format!("area {other}: take GROUPBENCH_GIVEN, GROUPBENCH_RELAY or GROUPBENCH_RESULT")),
    };
    match place.offset.checked_add(bytes) {
        Some(end) if end <= MOST_BYTES => Ok(Place { arena, offset: place.offset }),
        _ => wrong(format!("{bytes} bytes from {} on: no machine has as much memory", place.offset)),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn groupbench_error() -> *const c_char {
    SAID.with(|said| said.borrow().as_ptr())
}

/// # Safety
/// As `groupbench.h` says, as for all functions here: a live communicator, a text with its end, and where the handle goes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupbench_create(
    comm: MPI_Comm,
    group_size: c_int,
    library: *const c_char,
    composition: *mut *mut Handle,
) -> c_int {
    coded(|| {
        if library.is_null() || composition.is_null() {
            return wrong("library or composition is NULL");
        }
        // SAFETY: the caller's.
        let library = unsafe { CStr::from_ptr(library) }.to_string_lossy();
        let made = Handle::new(comm, group_size, &library);
        let made = Box::into_raw(Box::new(made?));
        // SAFETY: the caller's.
        unsafe { *composition = made };
        Ok(())
    })
}

/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupbench_add(
    composition: *mut Handle,
    step: c_int,
    source: c_int,
    from: CPlace,
    destination: c_int,
    to: CPlace,
    bytes: u64,
) -> c_int {
    // SAFETY: the caller's.
    coded(|| unsafe { handle(composition) }?.add(step, [(source, from), (destination, to)], bytes))
}

/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupbench_prepare(composition: *mut Handle) -> c_int {
    // SAFETY: the caller's.
    coded(|| unsafe { handle(composition) }?.prepare())
}

/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupbench_at(composition: *mut Handle, place: CPlace) -> *mut c_void {
    let mut found = null_mut();
    coded(|| {
        // SAFETY: the caller's.
        let handle = unsafe { handle(composition) }?;
        let place = place_of(place, 0)?;
        let at = handle.composition.as_ref().and_then(|composition| composition.at(place));
        found = at.map_or_else(|| wrong("no message of this rank reaches this place"), Ok)?.cast();
        Ok(())
    });
    found
}

/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupbench_start(composition: *mut Handle, step: c_int) -> c_int {
    coded(|| {
        // SAFETY: the caller's.
        let (step, composition) = unsafe { handle(composition) }?.step(step, false)?;
        composition.begin(step);
        Ok(())
    })
}

/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupbench_wait(composition: *mut Handle, step: c_int) -> c_int {
    coded(|| {
        // SAFETY: the caller's.
        let (step, composition) = unsafe { handle(composition) }?.step(step, true)?;
        composition.finish(step);
        Ok(())
    })
}

/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupbench_measure(composition: *mut Handle, times: *mut Times) -> c_int {
    coded(|| {
        if times.is_null() {
            return wrong("times is NULL");
        }
        // SAFETY: the caller's.
        unsafe { *times = handle(composition)?.measure()? };
        Ok(())
    })
}

/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groupbench_free(composition: *mut *mut Handle) -> c_int {
    coded(|| {
        // SAFETY: the caller's; null is nothing to free.
        unsafe {
            let Some(composition) = composition.as_mut().filter(|one| !one.is_null()) else { return Ok(()) };
            handle(*composition)?.at_rest()?;
            drop(Box::from_raw(std::mem::replace(composition, null_mut())));
        }
        Ok(())
    })
}
