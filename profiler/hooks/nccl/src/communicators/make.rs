//! How communicators come about. A split is known when it is complete: at the end of its group, or when it is first used.

use std::ffi::{CStr, c_char, c_int};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use commsee_runtime::{guard, probe};

use super::{Communicator, New, UNKNOWN, ask, identity, is_complete, register};
use crate::abi::{Config, FIRST_WITH_NAME, Handle, MAGIC};
use crate::library::{self, Vendor};
use crate::module::Module;
use crate::{expected, unseen};

/// A communicator whose handle the program will have at a place of its own.
#[derive(Clone, Copy)]
pub struct Unfinished {
    place: usize,
    identity: [u64; 2],
    letter: u8,
    label: [u8; super::LABEL_BYTES],
    parent: u32,
    /// Of which this is no more than a part, where that is known.
    parent_ranks: Option<u32>,
    expected: u32,
}

/// The letters before a name's numbers, such as `nccl:s0.1`.
pub mod letter {
    pub const INIT: u8 = b'i';
    pub const CLIQUE: u8 = b'a';
    pub const SPLIT: u8 = b's';
    pub const SHRINK: u8 = b'h';
    pub const GROW: u8 = b'g';
    /// Made before this module was there, or unseen by it.
    pub const UNSEEN: u8 = b'u';
}

/// Those whose call was nonblocking.
static UNFINISHED: Mutex<Vec<Unfinished>> = Mutex::new(Vec::new());

/// By its id: all is known but the handle, which is there when the call returns.
pub fn initialized<V: Vendor>(
    module: &Module,
    handle: Handle,
    ranks: u32,
    rank: u32,
    id: &[u8],
    label: &[u8],
    expected: u32,
) {
    guard::guarded(|| {
        library::note::<V>(module);
        let identity = identity::of_id(id, ranks);
        register::<V>(module, handle, &New { identity, ranks, rank, letter: letter::INIT, label, parent: 0, expected })
    });
}

/// All ranks are this process's.
pub fn clique<V: Vendor>(module: &Module, handles: &[Handle], expected: &[u32]) {
    library::note::<V>(module);
    let (identity, ranks) = (identity::of_process(module.now_ns(), handles.as_ptr() as usize), handles.len() as u32);
    for (place, (rank, handle)) in (0..).zip(handles).enumerate() {
        let expected = expected.get(place).copied().unwrap_or(0);
        let new = New { identity, ranks, rank, letter: letter::CLIQUE, label: b"", parent: 0, expected };
        register::<V>(module, *handle, &new);
    }
}

/// A split begins: its number among those of the parent, which all ranks count alike.
pub fn next_split(parent: &Communicator) -> u32 {
    parent.split.fetch_add(1, Ordering::Relaxed)
}

pub fn next_shrink(parent: &Communicator) -> u32 {
    parent.shrunk.fetch_add(1, Ordering::Relaxed)
}

pub fn next_growth(parent: &Communicator) -> u32 {
    parent.grown.fetch_add(1, Ordering::Relaxed)
}

impl Unfinished {
    fn new(
        place: *mut Handle,
        identity: [u64; 2],
        letter: u8,
        label: &[u8],
        parent: Option<&Communicator>,
        expected: u32,
    ) -> Unfinished {
        let mut kept = [0; super::LABEL_BYTES];
        let length = label.len().min(kept.len() - 1);
        kept[..length].copy_from_slice(&label[..length]);
        let is_part = |letter| matches!(letter, letter::SPLIT | letter::SHRINK);
        Unfinished {
            place: place as usize,
            identity,
            letter,
            label: kept,
            parent: parent.map_or(0, |parent| parent.number),
            parent_ranks: parent.map(|parent| parent.ranks).filter(|ranks| *ranks > 0 && is_part(letter)),
            expected,
        }
    }

    pub fn split(
        place: *mut Handle,
        parent: &Communicator,
        nth: u32,
        color: c_int,
        label: &[u8],
        expected: u32,
    ) -> Unfinished {
        let identity = identity::of_split(parent.identity, nth, color);
        // What tells its sisters apart where the program gives no name.
        let color = if label.is_empty() { format!("color {color}") } else { String::new() };
        let label = if label.is_empty() { color.as_bytes() } else { label };
        Unfinished::new(place, identity, letter::SPLIT, label, Some(parent), expected)
    }

    pub fn shrunk(
        place: *mut Handle,
        parent: &Communicator,
        nth: u32,
        excluded: &mut [c_int],
        label: &[u8],
        expected: u32,
    ) -> Unfinished {
        excluded.sort_unstable();
        let identity = identity::of_shrink(parent.identity, nth, excluded);
        Unfinished::new(place, identity, letter::SHRINK, label, Some(parent), expected)
    }

    /// Of an old rank.
    pub fn grown(
        place: *mut Handle,
        parent: &Communicator,
        nth: u32,
        ranks: u32,
        label: &[u8],
        expected: u32,
    ) -> Unfinished {
        let identity = identity::of_grown(parent.identity, nth, ranks);
        Unfinished::new(place, identity, letter::GROW, label, Some(parent), expected)
    }

    /// Of a new one.
    pub fn joined(place: *mut Handle, id: &[u8], ranks: u32, label: &[u8], expected: u32) -> Unfinished {
        Unfinished::new(place, identity::of_id(id, ranks), letter::GROW, label, None, expected)
    }

    /// The call that makes it has returned: the handle lies at its place. Where it does not, it is kept until the program uses it.
    pub fn finish<V: Vendor>(self, module: &Module) -> Option<&'static Communicator> {
        match self.handle() {
            Some(handle) => self.take_in::<V>(module, handle),
            None => {
                self.leave();
                None
            }
        }
    }

    fn take_in<V: Vendor>(self, module: &Module, handle: Handle) -> Option<&'static Communicator> {
        if !is_complete::<V>(handle) {
            self.leave();
            return None;
        }
        let is_possible = |(ranks, _): &(u32, u32)| self.parent_ranks.is_none_or(|most| *ranks <= most);
        let asked = ask::<V>(handle).filter(is_possible);
        if asked.is_none() && V::state().is_some() {
            // It said too early that it is complete.
            self.leave();
            return None;
        }
        let (ranks, rank) = asked.unwrap_or(UNKNOWN);
        let hash = expected::made(self.expected, ranks, rank);
        let length = self.label.iter().position(|byte| *byte == 0).unwrap_or(0);
        let new = New {
            identity: match self.letter {
                letter::GROW => hash.map_or(self.identity, |hash| [hash, ranks.into()]),
                _ => self.identity,
            },
            ranks,
            rank,
            letter: self.letter,
            label: &self.label[..length],
            parent: self.parent,
            expected: self.expected,
        };
        register::<V>(module, handle, &new)
    }

    /// What lies at its place now. The program may have given that up.
    fn handle(&self) -> Option<Handle> {
        let mut bytes = [0; size_of::<usize>()];
        let is_there = probe::read(self.place, &mut bytes) == bytes.len();
        Some(usize::from_ne_bytes(bytes) as Handle).filter(|handle| is_there && !handle.is_null())
    }

    /// It goes on when the call returns.
    pub fn leave(self) {
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // A place that is used again has what was put there last.
        unfinished.retain(|other| {
            let is_other = other.place != self.place;
            if !is_other && other.expected != self.expected {
                expected::withdraw(other.expected);
            }
            is_other
        });
        if unfinished.try_reserve(1).is_ok() {
            unfinished.push(self);
        }
    }
}

/// Those of a communicator that is freed come to nothing, unless their handle is there.
pub fn forget_parts(parent: u32) {
    let mut unfinished = UNFINISHED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    unfinished.retain(|one| {
        let is_nothing = one.parent == parent && one.handle().is_none();
        if is_nothing {
            expected::withdraw(one.expected);
        }
        !is_nothing
    });
}

/// One that was left unfinished, by the handle that the program uses. Only then is it known to be one: the place where the library put it
/// may be anything by now.
pub fn finish_left<V: Vendor>(module: &Module, handle: Handle) -> Option<&'static Communicator> {
    let left = {
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let place = unfinished.iter().position(|one| one.handle() == Some(handle))?;
        unfinished.remove(place)
    };
    left.take_in::<V>(module, handle)
}

/// A handle that is not known, with which a call succeeded: one that was left unfinished, or was made unseen.
pub fn first_seen<V: Vendor>(module: &Module, handle: Handle) -> Option<&'static Communicator> {
    if handle.is_null() {
        return None;
    }
    if let Some(left) = finish_left::<V>(module, handle) {
        return Some(left);
    }
    if !is_complete::<V>(handle) {
        return None;
    }
    let (ranks, rank) = ask::<V>(handle)?;
    library::note::<V>(module);
    let own = || identity::of_process(module.now_ns(), handle as usize);
    let identity = unseen::only(ranks, rank).unwrap_or_else(own);
    let new = New { identity, ranks, rank, letter: letter::UNSEEN, label: b"", parent: 0, expected: 0 };
    register::<V>(module, handle, &new)
}

/// The name that the program gave a communicator, if its configuration has one.
///
/// # Safety
/// The program's argument, which the library has read.
pub unsafe fn name<'a>(config: *const Config) -> &'a [u8] {
    // SAFETY: as demanded; what is read lies within the size that the program gave.
    unsafe {
        let Some(size) = config.cast::<usize>().as_ref() else { return b"" };
        if *size < size_of::<Config>() || (*config).magic != MAGIC || (*config).version < FIRST_WITH_NAME {
            return b"";
        }
        text((*config).comm_name)
    }
}

/// SAFETY: null, or ends with a zero byte.
unsafe fn text<'a>(place: *const c_char) -> &'a [u8] {
    // SAFETY: as demanded.
    if place.is_null() { b"" } else { unsafe { CStr::from_ptr(place) }.to_bytes() }
}
