//! What a request keeps of where its call was made, in the places of `shortcut` and `posted`: on the short path the shortcut of the call,
//! and its site; otherwise the site alone, as a number that is odd and so none of a shortcut.

use std::ptr;

use crate::objects::shortcuts::Shortcut;

/// A site in the place of a shortcut.
pub fn as_number(site: u32) -> *const Shortcut {
    ptr::without_provenance((site as usize) << 1 | 1)
}

fn is_number(kept: *const Shortcut) -> bool {
    kept.addr() & 1 != 0
}

/// The site that a request has kept.
pub fn of(kept: *const Shortcut, posted: u32) -> u32 {
    if is_number(kept) { (kept.addr() >> 1) as u32 } else { posted }
}

/// The same, so that any thread may have it: a shortcut is its thread's own.
pub fn for_any_thread(kept: *const Shortcut, posted: u32) -> *const Shortcut {
    as_number(of(kept, posted))
}

/// The shortcut that a request has kept, if it is still that of its call, whose counters have this key.
#[inline(always)]
pub fn shortcut<'a>(kept: *const Shortcut, posted: u32, cells: u64) -> Option<&'a Shortcut> {
    if is_number(kept) {
        return None;
    }
    // SAFETY: shortcuts are never freed.
    let shortcut = unsafe { &*kept };
    if shortcut.is_of(cells) && shortcut.site.get() == posted { Some(shortcut) } else { None }
}
