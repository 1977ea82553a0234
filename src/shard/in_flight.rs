//! The calls that threads are in.

use bytemuck::{Pod, Zeroable};

/// What one thread is in: a call, or the program. The thread alone writes it: `caller`, before the call `comm`, `word`, `begin_ticks` and 0 as
/// `end_ticks`, after it `end_ticks`. A thread has [`IN_FLIGHT_LEVELS`] of them: calls that the program's callbacks make inside of a call
/// take the next one.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct InFlightCall {
    /// Made by [`InFlightCall::word`].
    pub word: u64,
    /// The handle that the call was given, or a communicator's number.
    pub comm: u64,
    /// Of the latest call.
    pub begin_ticks: u64,
    /// Of the latest call that returned, or 0: inside of a call it is less than the begin. Both are 0 where no thread is.
    pub end_ticks: u64,
    /// Number of the thread in its process.
    pub thread: u32,
    /// 0: called by the program, else from within a call of the level below.
    pub level: u32,
    /// The call's return address, in the memory of the process. 0: unknown.
    pub caller: u64,
    /// Time of the calls that were made within this one, and are counted themselves.
    pub nested_ticks: u64,
    /// The stack pointer of its wrapper: whoever has a higher one has left the call by a jump.
    pub stack: u64,
}

const _: () = assert!(size_of::<InFlightCall>() == 64);

pub const IN_FLIGHT_LEVELS: usize = 8;

/// Low bits of `begin_ticks`, which the word has as well: so a reader sees that both were written together.
const IN_FLIGHT_CHECK: u64 = 0xffff;
const IN_FLIGHT_HANDLE: u64 = 1 << 32;

impl InFlightCall {
    /// An operation; whether `comm` is a handle, which may be none at all, or a number.
    #[inline(always)]
    pub const fn word(operation: u16, is_handle: bool, begin_ticks: u64) -> u64 {
        (operation as u64) << 16 | (is_handle as u64 * IN_FLIGHT_HANDLE) | begin_ticks & IN_FLIGHT_CHECK
    }

    #[inline(always)]
    pub const fn is_inside(begin_ticks: u64, end_ticks: u64) -> bool {
        begin_ticks > end_ticks
    }

    /// The operation of the call that the thread is in. None in the program, and none where the reader came between two of the
    /// words: then the thread was just about to enter a call.
    pub fn operation(&self) -> Option<u16> {
        let is_whole = (self.word ^ self.begin_ticks) & IN_FLIGHT_CHECK == 0;
        (is_whole && InFlightCall::is_inside(self.begin_ticks, self.end_ticks)).then_some((self.word >> 16) as u16)
    }

    pub fn is_of_handle(&self) -> bool {
        self.word & IN_FLIGHT_HANDLE != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs that are running write by these numbers.
    #[test]
    fn words_of_a_call_in_flight_stay_where_they_are() {
        use std::mem::offset_of;
        let words =
            [offset_of!(InFlightCall, word), offset_of!(InFlightCall, begin_ticks), offset_of!(InFlightCall, thread)];
        assert_eq!((words, offset_of!(InFlightCall, caller)), ([0, 16, 32], 40));
    }
}
