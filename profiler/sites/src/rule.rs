//! How to get from a frame to the one that called it: what a row of a module's unwind information (DWARF call frame information) says of
//! one address, in a few bytes.
//!
//! Of the registers only three are followed: where the code is, the stack pointer and the frame pointer. Compilers need no others to tell
//! where a frame ends; what does is a frame that cannot be left, and the stack is shorter then.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, Encoding, EndianSlice, Format, NativeEndian, Operation, Pointer,
    Register, RegisterRule, UnwindContext, UnwindContextStorage, UnwindExpression, UnwindSection, UnwindTableRow,
    Vendor,
};

type Slice<'a> = EndianSlice<'a, NativeEndian>;

/// The numbers that registers have in unwind information (System V ABI of the processor).
#[cfg(target_arch = "x86_64")]
mod number {
    use gimli::Register;

    pub const FRAME: Register = Register(6);
    pub const STACK: Register = Register(7);
}

#[cfg(not(target_arch = "x86_64"))]
mod number {
    use gimli::Register;

    pub const FRAME: Register = Register(29);
    pub const STACK: Register = Register(31);
}

/// Where a value lies in memory, from one of the registers of the frame or from the caller's stack pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Base {
    /// The stack pointer that the caller had (the canonical frame address).
    Caller,
    Stack,
    Frame,
    /// In no memory: a register still has it.
    Kept,
    /// Nowhere.
    Lost,
}

/// What the caller's stack pointer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Caller {
    /// Nobody knows. The stack ends here.
    Unknown,
    /// A register and an offset.
    AboveStack,
    AboveFrame,
    /// What lies in memory there: frames that were aligned, and those that a signal interrupted.
    AtStack,
    AtFrame,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub caller_offset: i32,
    pub return_offset: i16,
    pub frame_offset: i16,
    pub caller: Caller,
    /// Where the return address lies: never [`Base::Kept`].
    pub return_base: Base,
    /// Where the caller's frame pointer lies.
    pub frame_base: Base,
    /// The frame was interrupted by a signal: the address is no return address, but the one of the next instruction.
    pub is_signal: bool,
}

impl Rule {
    pub const END: Rule = Rule {
        caller_offset: 0,
        return_offset: 0,
        frame_offset: 0,
        caller: Caller::Unknown,
        return_base: Base::Lost,
        frame_base: Base::Lost,
        is_signal: false,
    };
}

/// Room for reading unwind information, without memory of anybody's.
pub struct Room(UnwindContext<usize, Inline>);

/// No function saves more registers than there are, and compilers nest no deeper than this.
struct Inline;

impl UnwindContextStorage<usize> for Inline {
    type Rules = [(Register, RegisterRule<usize>); 40];
    type Stack = [UnwindTableRow<usize, Inline>; 4];
}

impl Room {
    pub fn new() -> Room {
        Room(UnwindContext::new_in())
    }
}

impl Default for Room {
    fn default() -> Room {
        Room::new()
    }
}

/// The unwind information of a mapped module: its sections `.eh_frame_hdr` and `.eh_frame`, and where they lie.
pub struct Sections<'a> {
    pub index: &'a [u8],
    pub index_address: u64,
    pub text_address: u64,
    /// What is mapped around an address, from there on: the section's length is written nowhere.
    pub mapped: &'a dyn Fn(u64) -> Option<&'a [u8]>,
}

impl Sections<'_> {
    /// What these sections say of an address. None where they say nothing that can be followed.
    pub fn rule(&self, address: u64, room: &mut Room) -> Option<Rule> {
        let bases = BaseAddresses::default().set_eh_frame_hdr(self.index_address).set_text(self.text_address);
        let index = EhFrameHdr::new(self.index, NativeEndian).parse(&bases, 8).ok()?;
        let Pointer::Direct(frames_address) = index.eh_frame_ptr() else { return None };
        let bases = bases.set_eh_frame(frames_address);
        let mut frames = EhFrame::new((self.mapped)(frames_address)?, NativeEndian);
        if cfg!(target_arch = "aarch64") {
            frames.set_vendor(Vendor::AArch64);
        }
        let entry = index.table()?.fde_for_address(&frames, &bases, address, EhFrame::cie_from_offset).ok()?;
        let is_signal = entry.is_signal_trampoline();
        let returns = entry.cie().return_address_register();
        let row = entry.unwind_info_for_address(&frames, &bases, &mut room.0, address).ok()?;
        rule_of(row, &frames, returns, is_signal)
    }
}

fn rule_of(
    row: &UnwindTableRow<usize, Inline>,
    frames: &EhFrame<Slice<'_>>,
    returns: Register,
    is_signal: bool,
) -> Option<Rule> {
    let (caller, caller_offset) = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => match *register {
            number::STACK => (Caller::AboveStack, *offset),
            number::FRAME => (Caller::AboveFrame, *offset),
            _ => return None,
        },
        CfaRule::Expression(expression) => match simple(expression, frames)? {
            (number::STACK, offset, true) => (Caller::AtStack, offset),
            (number::FRAME, offset, true) => (Caller::AtFrame, offset),
            (number::STACK, offset, false) => (Caller::AboveStack, offset),
            (number::FRAME, offset, false) => (Caller::AboveFrame, offset),
            _ => return None,
        },
    };
    let saved = |register: Register| match row.register(register) {
        None | Some(RegisterRule::SameValue) => Some((Base::Kept, 0)),
        Some(RegisterRule::Offset(offset)) => Some((Base::Caller, offset)),
        Some(RegisterRule::Expression(expression)) => match simple(&expression, frames)? {
            (number::STACK, offset, false) => Some((Base::Stack, offset)),
            (number::FRAME, offset, false) => Some((Base::Frame, offset)),
            _ => None,
        },
        _ => None,
    };
    // Neither a frame that was called by none, nor one whose return address is in a register: only a function that calls no other has it
    // there, and a frame that a signal interrupted in one is the end.
    let (return_base, return_offset) = saved(returns).filter(|(base, _)| *base != Base::Kept)?;
    let (frame_base, frame_offset) = saved(number::FRAME).unwrap_or((Base::Lost, 0));
    Some(Rule {
        caller_offset: i32::try_from(caller_offset).ok()?,
        return_offset: i16::try_from(return_offset).ok()?,
        frame_offset: i16::try_from(frame_offset).ok()?,
        caller,
        return_base,
        frame_base,
        is_signal,
    })
}

/// A register and an offset, and whether the value is what lies in memory there.
fn simple(expression: &UnwindExpression<usize>, frames: &EhFrame<Slice<'_>>) -> Option<(Register, i64, bool)> {
    let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };
    let mut operations = expression.get(frames).ok()?.operations(encoding);
    let Operation::RegisterOffset { register, offset, .. } = operations.next().ok()?? else { return None };
    match operations.next().ok()? {
        None => Some((register, offset, false)),
        Some(Operation::Deref { size: 8, space: false, .. }) => {
            operations.next().ok()?.is_none().then_some((register, offset, true))
        }
        Some(_) => None,
    }
}

const _: () = assert!(size_of::<Rule>() == 12);
