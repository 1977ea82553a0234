//! From a frame to its caller.

use crate::rule::{Base, Caller, Rule};
use crate::stack::Words;

/// What is known of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// Where the code goes on.
    pub address: usize,
    pub stack: usize,
    /// 0 where nobody knows.
    pub frame: usize,
}

/// Larger frames are a mistake of whoever wrote the rule.
const MOST_FRAME_BYTES: usize = 256 << 20;

/// The upper bits of a return address may be signed (AArch64).
const ADDRESS_BITS: usize = if cfg!(target_arch = "aarch64") { (1 << 48) - 1 } else { usize::MAX };

/// The caller of a frame. None at the end of the stack, and where it makes no sense any more.
#[inline(always)]
pub fn caller_of(frame: Registers, rule: &Rule, words: &mut impl Words) -> Option<Registers> {
    let offset = rule.caller_offset as isize as usize;
    let stack = match rule.caller {
        Caller::Unknown => return None,
        Caller::AboveStack => frame.stack.wrapping_add(offset),
        Caller::AboveFrame => frame.frame.wrapping_add(offset),
        Caller::AtStack => words.word(frame.stack.wrapping_add(offset))?,
        Caller::AtFrame => words.word(frame.frame.wrapping_add(offset))?,
    };
    // A stack grows downwards, but a signal may have come on another one. Those who never come to an end are counted.
    let is_above = stack.wrapping_sub(frame.stack).wrapping_sub(1) < MOST_FRAME_BYTES;
    if stack & 7 != 0 || !is_above && !rule.is_signal {
        return None;
    }
    let at = |base: Base, offset: i16| {
        let from = match base {
            Base::Caller => stack,
            Base::Stack => frame.stack,
            Base::Frame => frame.frame,
            Base::Kept | Base::Lost => return None,
        };
        Some(from.wrapping_add(offset as isize as usize))
    };
    let address = words.word(at(rule.return_base, rule.return_offset)?)? & ADDRESS_BITS;
    if address == 0 {
        return None;
    }
    let frame = match rule.frame_base {
        Base::Kept => frame.frame,
        base => match at(base, rule.frame_offset) {
            Some(place) => words.word(place)?,
            None => 0,
        },
    };
    Some(Registers { address, stack, frame })
}
