//! One-sided operations that were posted last, and complete by no callback.

use super::operation::Link;

const MOST: usize = 64;

/// Such an operation: its buffer here and there.
#[derive(Clone, Copy)]
pub struct OneSided {
    pub near: (usize, usize),
    pub far: (u64, u64),
    pub link: Link,
}

pub struct Latest {
    operations: [OneSided; MOST],
    next: usize,
    /// So many of them were written: none in programs without such operations.
    count: usize,
}

impl Latest {
    pub const fn new() -> Latest {
        let none = OneSided { near: (0, 0), far: (0, 0), link: Link::NONE };
        Latest { operations: [none; MOST], next: 0, count: 0 }
    }

    pub fn remember(&mut self, operation: OneSided) {
        self.operations[self.next % MOST] = operation;
        self.next = self.next.wrapping_add(1);
        self.count = (self.count + 1).min(MOST);
    }

    /// The last one that touches this byte there, or here.
    pub fn recall(&self, near: usize, far: u64) -> Option<Link> {
        let backwards = (1..=self.count).map(|back| &self.operations[self.next.wrapping_sub(back) % MOST]);
        let touches = |operation: &&OneSided| {
            let (there, here) = (operation.far, operation.near);
            (there.0..there.1).contains(&far) || near != 0 && (here.0..here.1).contains(&near)
        };
        backwards.clone().find(touches).map(|operation| operation.link)
    }
}
