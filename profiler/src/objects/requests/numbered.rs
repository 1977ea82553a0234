//! What few requests have, kept apart from the table by number, so that its slots stay small.

use crate::shard::memory;

pub struct Numbered<T> {
    all: Vec<T>,
    /// Room for as many numbers as there are, so that what becomes free needs no memory.
    free: Vec<u32>,
}

impl<T: Default> Numbered<T> {
    pub const fn none() -> Numbered<T> {
        Numbered { all: Vec::new(), free: Vec::new() }
    }

    #[inline(always)]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.all.get(number as usize)
    }

    #[inline(always)]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.all.get_mut(number as usize)
    }

    /// A free number, with what the last one has left there. None where there is no memory for it.
    #[inline(always)]
    pub fn take(&mut self) -> Option<u32> {
        match self.free.pop() {
            Some(free) => Some(free),
            None => self.add(),
        }
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self) -> Option<u32> {
        memory::asked(|| {
            self.all.try_reserve(1)?;
            self.free.try_reserve(self.all.len() + 1)
        })
        .ok()?;
        self.all.push(T::default());
        Some(self.all.len() as u32 - 1)
    }

    /// One that [`Numbered::take`] gave is free again.
    #[inline(always)]
    pub fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }
}
