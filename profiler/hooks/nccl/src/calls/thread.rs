//! What a thread is in the middle of.

use std::cell::{Cell, RefCell, UnsafeCell};

use commsee_runtime::thread_state::State;
use commsee_runtime::{guard, memory};

use super::alike::Alike;
use super::routes::Latest;
use super::{Ended, tls};
use crate::chosen::Chosen;
use crate::communicators::make::Unfinished;
use crate::expected;
use crate::module::{self, Module};

/// Kept by the core as this thread's word; threads that end leave theirs to others.
pub struct Thread {
    /// What the core tells of the thread without a call.
    state: UnsafeCell<State>,
    /// Where the stack ended in the wrapper that the thread is in; 0 outside. Nothing lies on the stack, so that a call which the program left by
    /// an exception or a jump is found out by a shorter one.
    inside: Cell<usize>,
    sequence: Cell<u64>,
    /// How many groups are open, one in the other.
    pub groups: Cell<u32>,
    /// What was called in the open group.
    pub ended: RefCell<Vec<Ended>>,
    pub unfinished: RefCell<Vec<Unfinished>>,
    /// Numbers of [`crate::expected`] of what is made in the open group.
    pub expected: RefCell<Vec<u32>>,
    /// What the plugin said in the call that the thread is in.
    chosen: RefCell<Vec<Chosen>>,
    pub latest: Latest,
    pub alike: Alike,
}

/// None while nothing is recorded, and without memory.
#[inline(always)]
pub fn current(module: &Module) -> Option<&'static Thread> {
    // SAFETY: null, or an address of `made`, which is never freed; its state is told.
    match unsafe { tls::get().as_ref() } {
        // SAFETY: as above; only its thread has it.
        Some(thread) if unsafe { thread.state().is_own() } => Some(thread),
        _ => begin(module),
    }
}

/// The first time in a thread, or in a while: or nothing is recorded.
#[cold]
#[inline(never)]
fn begin(module: &Module) -> Option<&'static Thread> {
    // SAFETY: this thread's word, or null.
    let own = || unsafe { module.word().as_mut() };
    let word = own().or_else(|| if module.begin() { own() } else { None })?;
    if *word == 0 {
        *word = made()?;
    }
    // SAFETY: an address of `made`, which is never freed; only this thread has the word.
    let thread = unsafe { &*(*word as *const Thread) };
    let state = module.thread_state()?;
    // SAFETY: nobody refers to the state.
    unsafe { *thread.state.get() = state };
    thread.forget();
    tls::set((*word as *const Thread).cast_mut());
    Some(thread)
}

#[cold]
fn made() -> Option<u64> {
    // Its lists lie apart: the stack of a thread may be small.
    let new = || {
        Some(Thread {
            state: UnsafeCell::new(State::NONE),
            inside: Cell::new(0),
            sequence: Cell::new(0),
            groups: Cell::new(0),
            ended: RefCell::new(Vec::new()),
            unfinished: RefCell::new(Vec::new()),
            expected: RefCell::new(Vec::new()),
            chosen: RefCell::new(Vec::new()),
            latest: Latest::new()?,
            alike: Alike::new()?,
        })
    };
    let place = guard::guarded(|| memory::kept(new()?)).flatten();
    if place.is_none() {
        module::say_what_is_lost();
    }
    Some(place?.as_ptr() as u64)
}

impl Thread {
    /// What the core tells of it.
    #[inline(always)]
    pub fn state(&self) -> &State {
        // SAFETY: it changes in `begin` alone, where nobody refers to it.
        unsafe { &*self.state.get() }
    }

    /// Whoever had it ended, maybe in the middle of something.
    fn forget(&self) {
        self.inside.set(0);
        self.alike.forget();
        self.groups.set(0);
        clear(&self.ended);
        clear(&self.unfinished);
        take(&self.expected).into_iter().for_each(expected::withdraw);
        clear(&self.chosen);
    }

    /// Whether the thread is in a wrapper, which has called whoever asks with its stack.
    #[inline(always)]
    pub fn is_inside(&self, stack: usize) -> bool {
        stack < self.inside.get()
    }

    #[inline(always)]
    pub fn enter(&self, stack: usize) {
        self.inside.set(stack);
    }

    #[inline(always)]
    pub fn leave(&self) {
        self.inside.set(0);
    }

    #[inline(always)]
    pub fn next(&self) -> u64 {
        self.sequence.set(self.sequence.get() + 1);
        self.sequence.get()
    }

    #[inline(always)]
    pub fn is_in_group(&self) -> bool {
        self.groups.get() > 0
    }

    /// The room of a list of calls that were counted, for the next group.
    pub fn give_back(&self, mut ended: Vec<Ended>) {
        ended.clear();
        if let Ok(mut list) = self.ended.try_borrow_mut()
            && list.capacity() == 0
        {
            *list = ended;
        }
    }

    /// What the plugin says belongs to the call that the thread is in.
    pub fn keep(&self, chosen: &Chosen) {
        push(&self.chosen, *chosen);
    }

    /// What it said, and forgets it.
    #[inline(always)]
    pub fn with_chosen<T>(&self, work: impl FnOnce(&mut Vec<Chosen>) -> T) -> Option<T> {
        let mut chosen = self.chosen.try_borrow_mut().ok()?;
        let result = work(&mut chosen);
        chosen.clear();
        Some(result)
    }
}

/// Adds to a list; false without memory, or where the list is in use.
pub fn push<T>(list: &RefCell<Vec<T>>, value: T) -> bool {
    let Ok(mut list) = list.try_borrow_mut() else { return false };
    let more = list.len().max(16);
    if list.len() == list.capacity() && list.try_reserve(more).is_err() {
        module::say_what_is_lost();
        return false;
    }
    list.push(value);
    true
}

/// Takes what a list has.
pub fn take<T>(list: &RefCell<Vec<T>>) -> Vec<T> {
    list.try_borrow_mut().map(|mut list| std::mem::take(&mut *list)).unwrap_or_default()
}

fn clear<T>(list: &RefCell<Vec<T>>) {
    if let Ok(mut list) = list.try_borrow_mut() {
        list.clear();
    }
}
