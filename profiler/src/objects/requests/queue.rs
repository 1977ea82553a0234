//! The requests that stand behind the first one of their handle and those like it, oldest first.

use std::collections::VecDeque;

use super::request::{Kind, NOWHERE, Request};
use super::slot::common;
use crate::objects::records::Record;
use crate::objects::shortcuts::Shortcut;
use crate::shard::memory;

/// One group at least, while it is a slot's.
#[derive(Default)]
pub struct Queue {
    /// In groups that are alike.
    rest: VecDeque<Group>,
    /// The first group that the latest look has not seen all of, and how many of it it has.
    cursor: (usize, u16),
}

#[derive(Clone, Copy)]
struct Group {
    request: Request,
    count: u16,
}

impl Group {
    /// Whether one of this communicator that leaves nothing to be done is like these, and there is room for it.
    #[inline(always)]
    fn is_like(&self, comm: Record) -> bool {
        is_plain(&self.request) && self.request.comm == comm && self.count < u16::MAX
    }

    #[inline(always)]
    fn add(&mut self, shortcut: *const Shortcut) {
        self.count += 1;
        self.request.shortcut = common(self.request.shortcut, shortcut);
    }
}

/// Whether it leaves nothing to be done but for its communicator: so it does not matter which of those of one completes.
#[inline(always)]
pub fn is_plain(request: &Request) -> bool {
    request.kind == Kind::Plain && request.extra == NOWHERE
}

impl Queue {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// How many groups there are.
    #[inline(always)]
    pub fn groups(&self) -> usize {
        self.rest.len()
    }

    /// Puts one in that leaves nothing to be done. Returns whether there is memory for it.
    #[inline(always)]
    pub fn put_plain(&mut self, comm: Record, shortcut: *const Shortcut) -> bool {
        self.add(comm, shortcut) || self.put_group(Request { shortcut, ..Request::new(comm, Kind::Plain) })
    }

    /// The same of any.
    pub fn put(&mut self, request: Request) -> bool {
        is_plain(&request) && self.add(request.comm, request.shortcut) || self.put_group(request)
    }

    /// Adds one that leaves nothing to be done to the last group, if it is like those.
    #[inline(always)]
    fn add(&mut self, comm: Record, shortcut: *const Shortcut) -> bool {
        let last = self.rest.back_mut().filter(|group| group.is_like(comm));
        last.map(|group| group.add(shortcut)).is_some()
    }

    #[inline(always)]
    fn put_group(&mut self, request: Request) -> bool {
        if self.rest.len() == self.rest.capacity() && self.enlarge().is_none() {
            return false;
        }
        self.rest.push_back(Group { request, count: 1 });
        true
    }

    #[cold]
    #[inline(never)]
    fn enlarge(&mut self) -> Option<()> {
        memory::asked(|| self.rest.try_reserve(1)).ok()
    }

    /// A new look comes past.
    #[inline(always)]
    pub fn look_anew(&mut self) {
        self.cursor = (0, 0);
    }

    /// The next request that the latest look has not seen, which it sees now where `is_seen`.
    #[inline(always)]
    pub fn see_next(&mut self, is_seen: impl FnOnce(&Request) -> bool) -> Option<&Request> {
        let (at, seen) = self.cursor;
        let group = self.rest.get(at)?;
        if !is_seen(&group.request) {
            return None;
        }
        self.cursor = if seen + 1 < group.count { (at, seen + 1) } else { (at + 1, 0) };
        Some(&group.request)
    }

    /// The first group: what its requests are like, how many they are, and how many of them the latest look has seen.
    #[inline(always)]
    pub fn first(&self) -> Option<(&Request, u16, u16)> {
        let Group { request, count } = self.rest.front()?;
        Some((request, *count, if self.cursor.0 == 0 { self.cursor.1 } else { *count }))
    }

    /// Takes it out.
    #[inline(always)]
    pub fn drop_first(&mut self) {
        self.rest.pop_front();
        self.cursor = if self.cursor.0 == 0 { (0, 0) } else { (self.cursor.0 - 1, self.cursor.1) };
    }

    /// Takes the first request out that the latest look has not seen.
    pub fn take_unseen(&mut self) -> Option<Request> {
        let at = self.cursor.0;
        let group = self.rest.get_mut(at)?;
        let request = group.request;
        group.count -= 1;
        if group.count == 0 {
            self.rest.remove(at);
        } else if self.cursor.1 == group.count {
            self.cursor = (at + 1, 0);
        }
        Some(request)
    }
}
