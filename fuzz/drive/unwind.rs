//! Unwind information of any bytes, and a step by the rule that is read of it, over a stack of any words. The first byte says what the rest
//! is: both sections as they are, or a table that leads to what follows, so that what is read there is reached.

use commsee_sites::rule::{Base, Caller, Room, Rule, Sections};
use commsee_sites::stack::Words;
use commsee_sites::step::{Registers, caller_of};

const INDEX: u64 = 0x10_0000;
pub const FRAMES: u64 = 0x20_0000;
pub const CODE: u64 = 0x30_0000;

pub fn drive(data: &[u8]) {
    let Some((rule, rest)) = rule(data) else { return };
    step(rule.unwrap_or(any(rest)), rest);
}

/// Whether a rule is read.
#[allow(dead_code)]
pub fn reaches(data: &[u8]) -> bool {
    rule(data).is_some_and(|(rule, _)| rule.is_some())
}

fn rule(data: &[u8]) -> Option<(Option<Rule>, &[u8])> {
    let (head, rest) = data.split_at_checked(4)?;
    let (index, frames) = rest.split_at(usize::from(u16::from_le_bytes([head[1], head[2]])).min(rest.len()));
    let address = CODE + u64::from(head[3]);
    let rule = if head[0] % 2 == 0 { read(index, frames, address) } else { read(&table(index), frames, address) };
    Some((rule, rest))
}

/// A table of one function, whose entry lies where the bytes say.
fn table(bytes: &[u8]) -> Vec<u8> {
    let offset = bytes.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
    // Version 1; the pointer to the frames and the table from the header on, in four bytes each; their number in four bytes.
    let mut index = vec![1, 0x1b, 0x03, 0x3b];
    index.extend(((FRAMES - INDEX - 4) as u32).to_le_bytes());
    index.extend(1u32.to_le_bytes());
    index.extend(((CODE - INDEX) as u32).to_le_bytes());
    index.extend((FRAMES as u32 - INDEX as u32 + u32::from(offset)).to_le_bytes());
    index
}

fn read(index: &[u8], frames: &[u8], address: u64) -> Option<Rule> {
    let mapped = |at: u64| frames.get(usize::try_from(at.checked_sub(FRAMES)?).ok()?..);
    let mut room = Room::new();
    Sections { index, index_address: INDEX, text_address: CODE, mapped: &mapped }.rule(address, &mut room)
}

/// A rule that compilers do not write.
fn any(bytes: &[u8]) -> Rule {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let bases = [Base::Caller, Base::Stack, Base::Frame, Base::Kept, Base::Lost];
    let callers = [Caller::Unknown, Caller::AboveStack, Caller::AboveFrame, Caller::AtStack, Caller::AtFrame];
    Rule {
        caller_offset: i32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]),
        return_offset: i16::from_le_bytes([byte(4), byte(5)]),
        frame_offset: i16::from_le_bytes([byte(6), byte(7)]),
        caller: callers[usize::from(byte(8)) % 5],
        return_base: bases[usize::from(byte(9)) % 5],
        frame_base: bases[usize::from(byte(10)) % 5],
        is_signal: byte(11) % 4 == 0,
    }
}

/// Words at addresses from 4096 on.
struct Stack<'a>(&'a [u8]);

impl Words for Stack<'_> {
    fn word(&mut self, address: usize) -> Option<usize> {
        let at = address.checked_sub(4096)?;
        Some(usize::from_ne_bytes(self.0.get(at..at.checked_add(8)?)?.try_into().ok()?))
    }
}

fn step(rule: Rule, bytes: &[u8]) {
    let mut frame = Registers { address: CODE as usize, stack: 4096, frame: 4096 + bytes.len() / 2 };
    for _ in 0..64 {
        let Some(caller) = caller_of(frame, &rule, &mut Stack(bytes)) else { return };
        assert!(rule.is_signal || caller.stack > frame.stack);
        assert!(caller.address != 0 && caller.stack % 8 == 0);
        frame = caller;
    }
}
