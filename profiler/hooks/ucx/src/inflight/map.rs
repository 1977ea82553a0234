//! Operations that are pending on a worker, by what UCX and its transports name them by: the request, and the buffer.
//!
//! ```text
//!              begin                                UCX returned a request
//!   (pool) ───────────▶ POSTING ──────────────────────────────────────────▶ PENDING, in the map
//!     ▲                    │ │                                                   │
//!     │   done at once, or │ └──────────▶ DONE: the callback comes first,        │ the callback:
//!     │   an error         │              and the post goes on                   │ out of the map
//!     └────────────────────┴─────────────────────┬───────────────────────────────┘
//!                                           complete: counted, unless it failed
//! ```
//!
//! Most operations are complete before anybody looks for one: they stand in a list, and are filed when somebody does. A request is filed
//! under the granule in which it lies. A buffer is filed under the granules that it touches, of a size class at least as large as itself:
//! never more than two. So all is put in, taken out and found in constant time, without an allocation; a search for a buffer looks at each
//! class in use.

use std::ptr::null_mut;

use commsee_runtime::memory;

use super::operation::{NODES, Node, Operation};

const HEAD_BITS: u32 = 10;
const HEADS: usize = 1 << HEAD_BITS;
const UNFILED: usize = HEADS;
const SMALLEST_CLASS: u32 = 6;
/// No class of buffers: these reach to that of half of all memory.
const REQUESTS: u32 = 63;
/// A request of UCX is some hundred bytes long.
const REQUEST_GRANULE_BITS: u32 = 8;

pub struct Map {
    /// Where lists begin, by the hash of what is filed there; behind those, of what is not filed. Other nodes point to them.
    heads: *mut *mut Node,
    /// How many entries each class of buffers has, and which have any.
    in_class: [u32; REQUESTS as usize],
    classes: u64,
    /// How long libucp's part of a request is, which lies before what the program gets.
    request_bytes: usize,
    next_order: u64,
}

/// Those that fit come first, then older ones.
struct Found {
    fits: bool,
    order: u64,
    operation: *mut Operation,
}

impl Map {
    /// None if there is no memory.
    pub fn new(request_bytes: usize) -> Option<Map> {
        let heads = memory::zeroed::<*mut Node>(HEADS + 1);
        let in_class = [0; REQUESTS as usize];
        (!heads.is_null()).then_some(Map { heads, in_class, classes: 0, request_bytes, next_order: 0 })
    }

    #[inline(always)]
    fn head(&self, place: usize) -> *mut *mut Node {
        // SAFETY: all places that are asked for are among the heads.
        unsafe { self.heads.add(place) }
    }

    /// # Safety
    /// The operation stays as it is until [`Map::take_out`], and this where it is.
    #[inline(always)]
    pub unsafe fn put(&mut self, operation: *mut Operation) {
        // SAFETY: as demanded; the node is part of the operation's record.
        unsafe {
            (*operation).order = self.next_order;
            self.next_order += 1;
            let node = &raw mut (*operation).nodes[0];
            (*node).operation = operation;
            (*node).class = REQUESTS as u8;
            link(node, self.head(UNFILED));
        }
    }

    /// Does nothing for one that is not in here.
    ///
    /// # Safety
    /// It is in no other map.
    #[inline(always)]
    pub unsafe fn take_out(&mut self, operation: *mut Operation) {
        // SAFETY: nodes in here are part of operations that stay.
        unsafe {
            for place in 0..NODES {
                let node = &raw mut (*operation).nodes[place];
                if !(*node).link.is_null() {
                    unlink(node);
                    self.leave_class(u32::from((*node).class));
                }
            }
        }
    }

    /// The oldest send whose request lies around the address.
    pub fn by_request(&mut self, address: usize) -> Option<*mut Operation> {
        self.file();
        let (first, last) = (address.wrapping_add(1), address.wrapping_add(self.request_bytes));
        let mut best = None;
        for granule in first >> REQUEST_GRANULE_BITS..=last >> REQUEST_GRANULE_BITS {
            // SAFETY: what is in here is in use.
            self.search(granule, REQUESTS, &mut best, |operation| unsafe {
                let is_there = (first..=last).contains(&((*operation).request as usize));
                // A receive's takes no part in what UCT does.
                (is_there && !(*operation).function.described().arrives()).then_some(true)
            });
        }
        best.map(|best| best.operation)
    }

    /// The oldest operation whose buffer has the address, and that `fits`; else the oldest with the address.
    pub fn by_buffer(&mut self, address: usize, fits: impl Fn(*mut Operation) -> bool) -> Option<*mut Operation> {
        self.file();
        let (mut best, mut classes) = (None, self.classes);
        while classes != 0 {
            let class = classes.trailing_zeros();
            classes &= classes - 1;
            // SAFETY: what is in here is in use.
            self.search(address >> class, class, &mut best, |operation| unsafe {
                let (low, high) = (*operation).buffer;
                (low..high).contains(&address).then(|| fits(operation))
            });
        }
        best.map(|best| best.operation)
    }

    /// Looks at every operation.
    pub fn each(&mut self, mut look: impl FnMut(*mut Operation)) {
        self.file();
        for place in 0..HEADS {
            // SAFETY: nodes in here are part of operations in use.
            let mut node = unsafe { *self.head(place) };
            // SAFETY: as above.
            while let Some(entry) = unsafe { node.as_ref() } {
                if u32::from(entry.class) == REQUESTS {
                    look(entry.operation);
                }
                node = entry.next;
            }
        }
    }

    /// Takes all operations out.
    pub fn drain(&mut self, mut take: impl FnMut(*mut Operation)) {
        self.file();
        for place in 0..HEADS {
            // SAFETY: as above.
            while let Some(entry) = unsafe { (*self.head(place)).as_ref() } {
                let operation = entry.operation;
                // SAFETY: it is in here.
                unsafe { self.take_out(operation) };
                take(operation);
            }
        }
    }

    /// Looks among what is filed there; `fits` tells of the ones that are meant whether they fit.
    fn search(
        &self,
        granule: usize,
        class: u32,
        best: &mut Option<Found>,
        fits: impl Fn(*mut Operation) -> Option<bool>,
    ) {
        // SAFETY: nodes in here are part of operations in use.
        let mut node = unsafe { *self.head(hash(granule, class)) };
        // SAFETY: as above.
        while let Some(entry) = unsafe { node.as_ref() } {
            node = entry.next;
            if entry.granule != granule || u32::from(entry.class) != class {
                continue;
            }
            let Some(fits) = fits(entry.operation) else { continue };
            // SAFETY: as above.
            let order = unsafe { (*entry.operation).order };
            let is_better = |best: &Found| (fits, best.order) > (best.fits, order);
            if best.as_ref().is_none_or(is_better) {
                *best = Some(Found { fits, order, operation: entry.operation });
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn file(&mut self) {
        // SAFETY: nodes in here are part of operations that stay, and so do the heads.
        unsafe {
            while !(*self.head(UNFILED)).is_null() {
                let node = *self.head(UNFILED);
                let operation = (*node).operation;
                unlink(node);
                self.file_as(node, (*operation).request as usize >> REQUEST_GRANULE_BITS, REQUESTS);
                let (low, high) = (*operation).buffer;
                if low >= high || high - low > 1 << 62 {
                    continue;
                }
                let class = (usize::BITS - (high - low - 1).leading_zeros()).max(SMALLEST_CLASS);
                let (first, last) = (low >> class, (high - 1) >> class);
                for (place, granule) in [first, last].into_iter().enumerate().take(if first == last { 1 } else { 2 }) {
                    let node = &raw mut (*operation).nodes[1 + place];
                    (*node).operation = operation;
                    self.file_as(node, granule, class);
                    self.in_class[class as usize] += 1;
                    self.classes |= 1 << class;
                }
            }
        }
    }

    unsafe fn file_as(&mut self, node: *mut Node, granule: usize, class: u32) {
        // SAFETY: the caller's node, which is in no list.
        unsafe {
            (*node).granule = granule;
            (*node).class = class as u8;
            link(node, self.head(hash(granule, class)));
        }
    }

    #[inline(always)]
    fn leave_class(&mut self, class: u32) {
        let Some(left) = self.in_class.get_mut(class as usize) else { return };
        *left -= 1;
        if *left == 0 {
            self.classes &= !(1 << class);
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: they are so many, and nobody points to them: the worker is gone.
        unsafe { memory::free(self.heads, HEADS + 1) };
    }
}

#[inline(always)]
fn hash(granule: usize, class: u32) -> usize {
    (granule ^ (class as usize) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (usize::BITS - HEAD_BITS)
}

/// SAFETY: the node is in no list, and the list of this head stays where it is.
#[inline(always)]
unsafe fn link(node: *mut Node, head: *mut *mut Node) {
    // SAFETY: as demanded.
    unsafe {
        let next = *head;
        (*node).next = next;
        (*node).link = head;
        if !next.is_null() {
            (*next).link = &raw mut (*node).next;
        }
        *head = node;
    }
}

/// SAFETY: the node is in a list.
#[inline(always)]
unsafe fn unlink(node: *mut Node) {
    // SAFETY: as demanded: its neighbors are in that list, too.
    unsafe {
        let next = (*node).next;
        *(*node).link = next;
        if !next.is_null() {
            (*next).link = (*node).link;
        }
        (*node).link = null_mut();
    }
}
