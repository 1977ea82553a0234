//! Which pending operation an address belongs to. An interval stands in a hash table under the granules that it touches, of a
//! size class at least as large as itself: never more than two. So it is put in, taken out and found in constant time,
//! without an allocation; a search looks at each class in use.

use std::ptr::null_mut;

use commsee_runtime::memory;

use super::operation::{INTERVALS, Operation};

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum What {
    /// libucp's record of the request.
    Request,
    /// The buffer of the message.
    Buffer,
}

/// An entry, inside of the operation's record.
pub struct Node {
    next: *mut Node,
    /// What points here: a head, or another node's `next`.
    link: *mut *mut Node,
    granule: usize,
    low: usize,
    high: usize,
    operation: *mut Operation,
    class: u8,
    what: What,
}

const HEADS: usize = 1024;
const SMALLEST_CLASS: u32 = 6;
const CLASSES: usize = usize::BITS as usize + 1;

pub struct Index {
    heads: Box<[*mut Node; HEADS]>,
    /// Entries in each class.
    in_class: [u32; CLASSES],
    classes: u64,
}

impl Index {
    /// None if there is no memory.
    pub fn new() -> Option<Index> {
        Some(Index { heads: memory::boxed([null_mut(); HEADS])?, in_class: [0; CLASSES], classes: 0 })
    }

    #[inline(always)]
    fn head(granule: usize, class: u32) -> usize {
        (granule ^ (class as usize) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (usize::BITS - 10)
    }

    /// Puts an interval of an operation in.
    ///
    /// # Safety
    /// The operation stays until [`Index::take_out`]; no other interval of it is of that kind.
    pub unsafe fn put(&mut self, operation: *mut Operation, what: What, low: usize, high: usize) {
        if low >= high || high - low > 1 << 62 {
            return;
        }
        let class = (usize::BITS - (high - low - 1).leading_zeros()).max(SMALLEST_CLASS);
        let (first, last) = (low >> class, (high - 1) >> class);
        for (place, granule) in [first, last].into_iter().enumerate().take(if first == last { 1 } else { 2 }) {
            // SAFETY: two nodes of each kind are the operation's own. What they are linked to does not move: the heads lie in a box, other nodes in
            // operations that stay, as demanded.
            unsafe {
                let node = &raw mut (*operation).nodes[2 * what as usize + place];
                let head = &raw mut self.heads[Index::head(granule, class)];
                let next = *head;
                node.write(Node { next, link: head, granule, low, high, operation, class: class as u8, what });
                if !next.is_null() {
                    (*next).link = &raw mut (*node).next;
                }
                *head = node;
            }
            self.in_class[class as usize] += 1;
        }
        self.classes |= 1 << class;
    }

    /// Takes all intervals of an operation out.
    ///
    /// # Safety
    /// They were put in here, if anywhere.
    pub unsafe fn take_out(&mut self, operation: *mut Operation) {
        for place in 0..2 * INTERVALS {
            // SAFETY: a node with a link is in here, as demanded, and so are its neighbors: heads, and nodes of operations that stay.
            unsafe {
                let node = &raw mut (*operation).nodes[place];
                if (*node).link.is_null() {
                    continue;
                }
                let next = (*node).next;
                *(*node).link = next;
                if !next.is_null() {
                    (*next).link = (*node).link;
                }
                (*node).link = null_mut();
                let class = (*node).class as usize;
                let Some(left) = self.in_class.get_mut(class) else { continue };
                *left -= 1;
                if *left == 0 {
                    self.classes &= !(1 << class);
                }
            }
        }
    }

    /// The operation with an interval of that kind around the address. Of several, one for which `fits`, the oldest of them.
    ///
    /// # Safety
    /// Operations in here are in use.
    pub unsafe fn find(
        &self,
        what: What,
        address: usize,
        fits: impl Fn(*mut Operation) -> bool,
    ) -> Option<*mut Operation> {
        let (mut found, mut fitting) = (None, None);
        let mut classes = self.classes;
        while classes != 0 {
            let class = classes.trailing_zeros();
            classes &= classes - 1;
            let granule = address >> class;
            let mut node = self.heads[Index::head(granule, class)];
            // SAFETY: linked nodes are part of operations in use.
            while let Some(entry) = unsafe { node.as_ref() } {
                let here = entry.granule == granule && entry.class as u32 == class && entry.what == what;
                if here && (entry.low..entry.high).contains(&address) {
                    found = Some(entry.operation);
                    if fits(entry.operation) {
                        fitting = found;
                    }
                }
                node = entry.next;
            }
        }
        fitting.or(found)
    }
}
