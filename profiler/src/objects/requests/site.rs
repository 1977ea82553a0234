//! The call site of a request, where they are counted: it stands in the place of its shortcut, as a number that is odd and so none of those.

use std::ptr;

use crate::objects::shortcuts::Shortcut;

/// A site in the place of a shortcut.
pub fn as_number(site: u32) -> *const Shortcut {
    ptr::without_provenance((site as usize) << 1 | 1)
}

/// The site that a request has kept.
pub fn of(kept: *const Shortcut) -> u32 {
    (kept.addr() >> 1) as u32
}
