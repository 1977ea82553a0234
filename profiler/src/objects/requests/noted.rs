//! What a completing call notes of requests before it is forwarded: afterwards their handles are null, or another's.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use super::persistent::Persistent;
use super::request::{Kind, Request};
use super::slot::Slot;
use crate::mpi::abi::Word;
use crate::objects::records::Record;

/// One request as a completing call sees it.
#[derive(Clone, Copy)]
pub struct Seen {
    /// By which it is known.
    pub handle: Word,
    pub comm: Record,
    pub active: bool,
    pub kind: Kind,
    /// Where it was seen, or null: looking there again costs a comparison.
    pub slot: *mut Slot,
}

impl Seen {
    #[inline(always)]
    pub(super) fn of(handle: Word, request: &Request) -> Seen {
        let active = request.state.is_active();
        Seen { handle, comm: request.comm, active, kind: request.kind, slot: ptr::null_mut() }
    }
}

/// A request that a call was given, or several of one handle that stand one after the other and are alike, or none, if it is crossed out.
#[derive(Clone, Copy)]
pub struct Noted {
    pub handle: Word,
    /// Where it was seen, or null, as [`Seen::slot`].
    pub(super) slot: *mut Slot,
    /// Its place in the array that the call was given. With [`TOGETHER`] it stands for so many as the next field tells: that is written
    /// for nothing else, since a call notes many.
    at: u32,
    count: MaybeUninit<u32>,
    /// What is known of a persistent request that is started. Written for no other.
    persistent: MaybeUninit<*mut Persistent>,
}

/// No place: an array has less than 2³¹.
const TOGETHER: u32 = 1 << 31;

const _: () = assert!(size_of::<Noted>() == 32);

impl Noted {
    #[inline(always)]
    pub fn at(handle: Word, slot: *mut Slot, index: usize) -> Noted {
        let (count, persistent) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        Noted { handle, slot, at: index as u32, count, persistent }
    }

    /// A persistent request that is to be started.
    #[inline(always)]
    pub fn of_idle(handle: Word, slot: *mut Slot, persistent: *mut Persistent, index: usize) -> Noted {
        Noted { persistent: MaybeUninit::new(persistent), ..Noted::at(handle, slot, index) }
    }

    /// That request.
    ///
    /// # Safety
    /// It is one, the table has not changed since it was noted, and nobody else refers to it.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn idle(&self) -> (&mut Slot, &mut Persistent) {
        // SAFETY: as demanded; what is known of it lies apart from its slot.
        unsafe { (&mut *self.slot, &mut *self.persistent.assume_init()) }
    }

    /// Its slot, whoever has the table.
    ///
    /// # Safety
    /// The table is entered and has not changed since it was noted, and nobody refers to the slot.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn slot_unchanged(&self) -> &mut Slot {
        // SAFETY: as demanded.
        unsafe { &mut *self.slot }
    }

    #[inline(always)]
    pub fn new(seen: &Seen, index: usize) -> Noted {
        Noted::at(seen.handle, seen.slot, index)
    }

    /// The place of the first.
    #[inline(always)]
    pub fn index(&self) -> usize {
        (self.at & !TOGETHER) as usize
    }

    /// The same where it is known to stand for one: what receives is noted alone.
    #[inline(always)]
    pub fn index_of_one(&self) -> usize {
        debug_assert!(self.together().is_none());
        self.at as usize
    }

    /// How many it stands for, if not for one.
    #[inline(always)]
    pub fn together(&self) -> Option<u32> {
        // SAFETY: then it was written.
        if self.at & TOGETHER == 0 { None } else { Some(unsafe { self.count.assume_init() }) }
    }

    /// From now on it stands for so many.
    #[inline(always)]
    pub fn stand_for(&mut self, count: u32) {
        self.at |= TOGETHER;
        self.count = MaybeUninit::new(count);
    }

    /// It has completed, and stays where it is so that the others need not be moved.
    #[inline(always)]
    pub fn cross_out(&mut self) {
        self.stand_for(0);
    }

    #[inline(always)]
    pub fn is_crossed_out(&self) -> bool {
        self.together() == Some(0)
    }

    /// Each request that was noted, and its place in the array.
    pub fn each(noted: &[Noted]) -> impl Iterator<Item = (&Noted, usize)> {
        noted.iter().flat_map(|noted| noted.places().map(move |place| (noted, place)))
    }

    /// The places of all of them.
    pub fn places(&self) -> Range<usize> {
        self.index()..self.index() + self.together().unwrap_or(1) as usize
    }
}
