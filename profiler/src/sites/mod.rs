//! Where in the code: the call sites of calls, and the birthplaces of what they make. A site is a number, which stands for a frame and
//! the site of the frames outside of it; 0 stands for none.

#![allow(dead_code, reason = "called by the wrappers as soon as these ask for sites")]

/// Before recording starts.
pub fn start() {}

/// The site of one frame: the caller, or the innermost one outside of what is passed over.
#[inline(always)]
pub fn of_caller(_return_address: usize) -> u32 {
    // STUB
    0
}

/// The site of this thread's stack: at most so many frames, without those that are passed over.
pub fn of_stack(_depth: usize) -> u32 {
    // STUB
    0
}

/// Where something is made.
pub fn birthplace(return_address: usize) -> u32 {
    of_caller(return_address)
}
