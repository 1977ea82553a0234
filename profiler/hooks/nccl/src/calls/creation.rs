//! Calls that make communicators, and that free them. They are counted as calls without data. Pointers are the program's own arguments, which
//! the library has read by the time that they are read here.

use std::ffi::c_int;
use std::ptr;

use commsee_runtime::{guard, memory};

use super::operation::{control, ended, record};
use super::thread::{Thread, push};
use super::{Amount, Begun, is_nested, is_taken};
use crate::abi::{Code, Config, Handle, NO_COLOR, SUCCESS, UniqueId};
use crate::communicators::make::{self, Unfinished};
use crate::communicators::{self, Communicator};
use crate::expected;
use crate::functions::Function;
use crate::library::Vendor;
use crate::module::{self, Module};

/// One rank of a communicator, by its id. The handle is there when the call returns.
pub fn initialize<V: Vendor>(
    function: Function,
    place: *mut Handle,
    ranks: c_int,
    rank: c_int,
    id: &[u8],
    config: *const Config,
    real: impl FnOnce() -> Code,
) -> Code {
    if is_nested() {
        return real();
    }
    let (ranks, rank) = (ranks.unsigned_abs(), rank.unsigned_abs());
    let making = Making::new::<V>(function, ptr::null_mut(), Some(ranks), Some(rank));
    let code = real();
    // SAFETY: the program's configuration and its place for the handle.
    making.done::<V>(code, |module, number| unsafe {
        let handle = place.as_ref().filter(|handle| is_taken::<V>(code) && !handle.is_null())?;
        make::initialized::<V>(module, *handle, ranks, rank, id, make::name(config), number);
        communicators::known(*handle)
    });
    code
}

/// All ranks of a communicator at once.
pub fn clique<V: Vendor>(function: Function, places: *mut Handle, ranks: c_int, real: impl FnOnce() -> Code) -> Code {
    let count = u32::try_from(ranks).unwrap_or(0);
    let Some(module) = module::get().filter(|_| count > 0 && !places.is_null() && !is_nested()) else { return real() };
    let expect = |rank| expected::expect(Some(count), Some(rank));
    let expected = guard::guarded(|| {
        let mut rank = 0..;
        memory::list(count as usize, || rank.next().map_or(0, expect))
    });
    let expected = expected.flatten().unwrap_or_default();
    let code = control::<V>(function, ptr::null_mut(), real);
    guard::guarded(|| {
        if is_taken::<V>(code) {
            // SAFETY: the library has filled in as many.
            make::clique::<V>(module, unsafe { std::slice::from_raw_parts(places, count as usize) }, &expected);
        }
        expected.iter().copied().for_each(expected::withdraw);
    });
    code
}

pub fn split<V: Vendor>(
    function: Function,
    parent: Handle,
    color: c_int,
    place: *mut Handle,
    config: *const Config,
    real: impl FnOnce() -> Code,
) -> Code {
    derive::<V>(function, parent, color == NO_COLOR, real, |parent, number| {
        let nth = make::next_split(parent);
        // SAFETY: the library has read it.
        let name = unsafe { make::name(config) };
        (color != NO_COLOR).then(|| Unfinished::split(place, parent, nth, color, name, number))
    })
}

pub fn shrink<V: Vendor>(
    function: Function,
    parent: Handle,
    excluded: *const c_int,
    count: c_int,
    place: *mut Handle,
    config: *const Config,
    real: impl FnOnce() -> Code,
) -> Code {
    derive::<V>(function, parent, false, real, |parent, number| {
        let count = usize::try_from(count).ok().filter(|_| !excluded.is_null()).unwrap_or(0);
        // SAFETY: the program's list, which the library has read.
        let mut sorted = memory::list(count, || 0)?;
        for (place, at) in sorted.iter_mut().zip(0..) {
            // SAFETY: as above.
            *place = unsafe { excluded.add(at).read() };
        }
        // SAFETY: as above.
        let name = unsafe { make::name(config) };
        Some(Unfinished::shrunk(place, parent, make::next_shrink(parent), &mut sorted, name, number))
    })
}

/// `parent` is null for ranks that join.
pub fn grow<V: Vendor>(
    function: Function,
    parent: Handle,
    ranks: c_int,
    id: &[u8],
    place: *mut Handle,
    config: *const Config,
    real: impl FnOnce() -> Code,
) -> Code {
    if is_nested() {
        return real();
    }
    let ranks = ranks.unsigned_abs();
    if !parent.is_null() {
        return derive::<V>(function, parent, false, real, |parent, number| {
            let nth = make::next_growth(parent);
            // SAFETY: the library has read it.
            Some(Unfinished::grown(place, parent, nth, ranks, unsafe { make::name(config) }, number))
        });
    }
    let making = Making::new::<V>(function, ptr::null_mut(), Some(ranks), None);
    let code = real();
    // SAFETY: as above.
    let name = unsafe { make::name(config) };
    making.done::<V>(code, |module, number| {
        making.finish::<V>(module, code, Unfinished::joined(place, id, ranks, name, number))
    });
    code
}

/// A communicator of another one. `make` tells what it will be; None where this rank is in none.
fn derive<V: Vendor>(
    function: Function,
    parent: Handle,
    is_in_none: bool,
    real: impl FnOnce() -> Code,
    make: impl FnOnce(&Communicator, u32) -> Option<Unfinished>,
) -> Code {
    if is_nested() {
        return real();
    }
    let making = if is_in_none {
        Making { begun: begin::<V>(function, parent), function, expected: 0 }
    } else {
        Making::new::<V>(function, parent, None, None)
    };
    let code = real();
    // That of a nonblocking communicator may say success while it goes on: the communicator itself does not.
    let is_alone = making.begun.as_ref().is_some_and(|begun| !begun.thread.is_in_group());
    let goes_on = code == SUCCESS && is_alone && !communicators::is_complete::<V>(parent);
    let told = if goes_on { V::IN_PROGRESS } else { code };
    making.done::<V>(told, |module, number| {
        let Some(parent) = communicators::known_or_new::<V>(module, parent).filter(|_| is_taken::<V>(told)) else {
            expected::withdraw(number);
            return None;
        };
        if let Some(unfinished) = make(parent, number) {
            making.finish::<V>(module, told, unfinished);
        }
        Some(parent)
    });
    code
}

/// The program asks whether a communicator is complete, which is not counted: one that was left unfinished is taken in.
pub fn ask_state<V: Vendor>(comm: Handle, real: impl FnOnce() -> Code) -> Code {
    let code = real();
    if code == SUCCESS && communicators::known(comm).is_none() {
        finish_left::<V>(comm);
    }
    code
}

/// What was left unfinished, and its user now hands to the library: before the call, so that what the plugin says in it has a communicator.
#[cold]
pub(super) fn finish_left<V: Vendor>(comm: Handle) -> Option<&'static Communicator> {
    let module = module::get().filter(|_| !comm.is_null() && !is_nested())?;
    guard::guarded(|| make::finish_left::<V>(module, comm)).flatten()
}

/// The program frees a communicator.
pub fn free<V: Vendor>(function: Function, comm: Handle, real: impl FnOnce() -> Code) -> Code {
    let Some(module) = module::get().filter(|_| !is_nested()) else { return real() };
    if communicators::known(comm).is_none() {
        finish_left::<V>(comm);
    }
    let known = communicators::forget(comm);
    let begun = begin_on::<V>(function, known.map_or(0, |known| known.number));
    let code = real();
    let Some(begun) = begun else {
        // Before MPI is initialized, or behind its end.
        settle::<V>(module, code, comm, known);
        return code;
    };
    let end = begun.leave();
    guard::recorded(|| {
        settle::<V>(module, code, comm, known);
        if begun.is_counted && is_taken::<V>(code) {
            record(&begun, ended::<V>(&begun, function, known, Amount::None, -1, end));
        }
    });
    code
}

fn settle<V: Vendor>(module: &Module, code: Code, comm: Handle, known: Option<&'static Communicator>) {
    match known {
        Some(known) if is_taken::<V>(code) => {
            module.communicator_freed(known.number);
            make::forget_parts(known.number);
            expected::withdraw(known.expected);
        }
        Some(known) => communicators::keep(comm, known),
        None => {}
    }
}

/// A call that makes a communicator, until it has returned.
struct Making {
    begun: Option<Begun>,
    function: Function,
    /// What the plugin finds it by; 0 for none.
    expected: u32,
}

impl Making {
    fn new<V: Vendor>(function: Function, parent: Handle, ranks: Option<u32>, rank: Option<u32>) -> Making {
        let is_watched = V::HAS_PLUGIN && module::get().is_some();
        let expected = guard::guarded(|| if is_watched { expected::expect(ranks, rank) } else { 0 }).unwrap_or(0);
        Making { begun: begin::<V>(function, parent), function, expected }
    }

    /// The call has returned. `take_in` tells the communicator that the call is counted on.
    fn done<V: Vendor>(&self, code: Code, take_in: impl FnOnce(&Module, u32) -> Option<&'static Communicator>) {
        let end = self.begun.as_ref().map(Begun::leave);
        guard::recorded(|| {
            let Some(module) = module::get() else { return };
            let communicator = take_in(module, self.expected);
            let group = self.begun.as_ref().map(|begun| begun.thread).filter(|thread| thread.is_in_group());
            // What a nonblocking call makes, the plugin is told of later.
            let is_left = code == V::IN_PROGRESS
                || code == SUCCESS && group.is_some_and(|thread| push(&thread.expected, self.expected));
            if !is_left {
                expected::withdraw(self.expected);
            }
            if let (Some(begun), Some(end)) = (&self.begun, end)
                && begun.is_counted
                && is_taken::<V>(code)
            {
                record(begun, ended::<V>(begun, self.function, communicator, Amount::None, -1, end));
            }
        });
    }

    /// What was made is taken in, now or when it is complete.
    fn finish<V: Vendor>(&self, module: &Module, code: Code, unfinished: Unfinished) -> Option<&'static Communicator> {
        let group = self.begun.as_ref().map(|begun| begun.thread).filter(|thread| thread.is_in_group());
        match group {
            Some(thread) => {
                push(&thread.unfinished, unfinished);
            }
            // Before MPI is initialized nobody knows of groups.
            None if code == SUCCESS && self.begun.is_some() => return unfinished.finish::<V>(module),
            None => unfinished.leave(),
        }
        None
    }
}

fn begin<V: Vendor>(function: Function, parent: Handle) -> Option<Begun> {
    begin_on::<V>(function, communicators::known(parent).map_or(0, |known| known.number))
}

fn begin_on<V: Vendor>(function: Function, communicator: u32) -> Option<Begun> {
    Begun::new(communicator, |thread: &Thread, module: &Module| thread.latest.of_call(module, V::LAYER, function))
}

/// The first of the ids that the program passes; none of a null pointer.
pub fn first_id<'a, const BYTES: usize>(ids: *const UniqueId<BYTES>) -> &'a [u8] {
    // SAFETY: null, or the program's list, which the library has read when this is looked at.
    unsafe { ids.as_ref() }.map_or(&[], |id| &id.0)
}
