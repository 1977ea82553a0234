//! The Python frames of the calling thread, read without the interpreter's help.

use commsee_runtime::probe;

use super::layout::{Interpreter, Layout, Lines};
use super::lines;

/// What was read of the interpreter, in its order: the same again means the same frames.
#[derive(Default)]
pub struct Transcript {
    pieces: Vec<(usize, usize)>,
    bytes: Vec<u8>,
}

/// Longer names and paths are cut, and longer tables of lines are not read to their end.
const MOST_TEXT_BYTES: usize = 1024;
const MOST_TABLE_BYTES: usize = 1 << 20;

impl Transcript {
    pub const fn nothing() -> Transcript {
        Transcript { pieces: Vec::new(), bytes: Vec::new() }
    }

    pub fn clear(&mut self) {
        self.pieces.clear();
        self.bytes.clear();
    }

    /// Reads what may not be there; the offset of the copy.
    fn read(&mut self, address: usize, bytes: usize) -> Option<usize> {
        let at = self.bytes.len();
        self.bytes.try_reserve(bytes).ok()?;
        self.pieces.try_reserve(1).ok()?;
        self.bytes.resize(at + bytes, 0);
        if probe::read(address, &mut self.bytes[at..]) < bytes {
            self.bytes.truncate(at);
            return None;
        }
        self.pieces.push((address, bytes));
        Some(at)
    }

    /// Whether all that was read is as it was. `room` is for the copy.
    pub fn is_still_so(&self, room: &mut Vec<u8>) -> bool {
        room.clear();
        if self.pieces.is_empty() || room.try_reserve(self.bytes.len()).is_err() {
            return false;
        }
        room.resize(self.bytes.len(), 0);
        probe::read_pieces(&self.pieces, room) && *room == self.bytes
    }

    fn word(&self, at: usize) -> Option<usize> {
        Some(usize::from_ne_bytes(self.bytes.get(at..at + 8)?.try_into().ok()?))
    }

    fn int(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.bytes.get(at..at + 4)?.try_into().ok()?))
    }
}

/// The part of a structure that has some fields. Others, such as counts of references, change all the time.
struct Part {
    at: usize,
    low: usize,
}

impl Part {
    fn of(transcript: &mut Transcript, address: usize, fields: impl Iterator<Item = usize> + Clone) -> Option<Part> {
        let (low, high) = (fields.clone().min()?, fields.max()? + 8);
        let at = transcript.read(address.checked_add(low)?, high - low)?;
        Some(Part { at, low })
    }

    fn word(&self, transcript: &Transcript, field: usize) -> Option<usize> {
        transcript.word(self.at + field - self.low)
    }

    fn int(&self, transcript: &Transcript, field: usize) -> Option<u32> {
        transcript.int(self.at + field - self.low)
    }
}

/// Of every object: its type.
const TO_TYPE: usize = 8;

/// A frame as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    pub code: usize,
    /// Its address or its number.
    pub instruction: usize,
    outer: usize,
    is_code: bool,
}

/// Where a Python function is.
pub struct Position<'a> {
    pub function: &'a [u8],
    pub file: &'a [u8],
    pub line: u32,
}

/// The frames of a thread, the innermost first.
pub struct Frames<'a> {
    interpreter: &'a Interpreter,
    transcript: &'a mut Transcript,
    next: usize,
    function: [u8; MOST_TEXT_BYTES],
    file: [u8; MOST_TEXT_BYTES],
}

impl<'a> Frames<'a> {
    /// Those of a thread's state. None where there is none to be read.
    pub fn new(interpreter: &'a Interpreter, state: usize, transcript: &'a mut Transcript) -> Option<Frames<'a>> {
        let layout = &interpreter.layout;
        let place = transcript.read(state.checked_add(layout.state_to_frame)?, 8)?;
        let mut next = transcript.word(place)?;
        if let Some(offset) = layout.through {
            let place = transcript.read(next.checked_add(offset)?, 8)?;
            next = transcript.word(place)?;
        }
        Some(Frames { interpreter, transcript, next, function: [0; MOST_TEXT_BYTES], file: [0; MOST_TEXT_BYTES] })
    }

    /// The next frame that is a function's.
    pub fn running(&mut self) -> Option<Running> {
        /// Of the interpreter's own frames one follows another one's at most, and generators' are in between.
        const MOST_OTHERS: usize = 16;
        for _ in 0..MOST_OTHERS {
            let running = self.step()?;
            self.next = running.outer;
            if running.is_code {
                return Some(running);
            }
        }
        None
    }

    fn step(&mut self) -> Option<Running> {
        /// `FRAME_OWNED_BY_CSTACK`
        const INTERPRETER: u32 = 3;
        let layout = self.interpreter.layout;
        if self.next == 0 || self.next & 7 != 0 {
            return None;
        }
        let fields = [layout.frame_to_code, layout.frame_to_outer, layout.frame_to_instruction];
        let fields = fields.into_iter().chain(layout.frame_to_owner);
        let frame = Part::of(self.transcript, self.next, fields)?;
        let is_own = layout
            .frame_to_owner
            .is_some_and(|owner| frame.int(self.transcript, owner).map(|owner| owner & 0xff) == Some(INTERPRETER));
        let instruction = match layout.lines {
            Lines::Locations => frame.word(self.transcript, layout.frame_to_instruction)?,
            Lines::Pairs | Lines::Ranges => frame.int(self.transcript, layout.frame_to_instruction)? as usize,
        };
        let code = frame.word(self.transcript, layout.frame_to_code)?;
        let outer = frame.word(self.transcript, layout.frame_to_outer)?;
        Some(Running { code, instruction, outer, is_code: !is_own && code != 0 && code & 7 == 0 })
    }

    /// Where a frame is. None where it is none.
    pub fn position(&mut self, running: Running) -> Option<Position<'_>> {
        let layout = self.interpreter.layout;
        let kind = self.transcript.read(running.code.checked_add(TO_TYPE)?, 8)?;
        if self.transcript.word(kind)? != self.interpreter.code_type {
            return None;
        }
        let fields = [layout.code_to_file, layout.code_to_function, layout.code_to_lines, layout.code_to_first_line];
        let code = Part::of(self.transcript, running.code, fields.into_iter())?;
        let first_line = code.int(self.transcript, layout.code_to_first_line)?;
        let function = code.word(self.transcript, layout.code_to_function)?;
        let file = code.word(self.transcript, layout.code_to_file)?;
        let lines = code.word(self.transcript, layout.code_to_lines)?;
        let instruction = match layout.lines {
            Lines::Pairs => running.instruction,
            Lines::Ranges => running.instruction.checked_mul(2)?,
            Lines::Locations => {
                running.instruction.checked_sub(running.code.checked_add(layout.code_to_instructions)?)?
            }
        };
        let function = text(self.transcript, &layout, function, &mut self.function)?;
        let file = text(self.transcript, &layout, file, &mut self.file)?;
        let line = line(self.transcript, &layout, lines, first_line, instruction)?;
        Some(Position { function: &self.function[..function], file: &self.file[..file], line })
    }
}

/// The line of an instruction; 0 where the code says none.
fn line(
    transcript: &mut Transcript,
    layout: &Layout,
    table: usize,
    first_line: u32,
    instruction: usize,
) -> Option<u32> {
    const BYTES_TO_LENGTH: usize = 16;
    const BYTES_TO_CONTENTS: usize = 32;
    let length = transcript.read(table.checked_add(BYTES_TO_LENGTH)?, 8)?;
    let length = transcript.word(length)?.min(MOST_TABLE_BYTES);
    let contents = transcript.read(table.checked_add(BYTES_TO_CONTENTS)?, length)?;
    Some(lines::line(layout.lines, &transcript.bytes[contents..contents + length], first_line, instruction))
}

/// Copies a text of the interpreter's as UTF-8, and returns how many bytes it has.
fn text(transcript: &mut Transcript, layout: &Layout, address: usize, into: &mut [u8]) -> Option<usize> {
    const TO_LENGTH: usize = 16;
    const TO_STATE: usize = 32;
    let head = Part::of(transcript, address, [TO_LENGTH, TO_STATE].into_iter())?;
    let length = head.word(transcript, TO_LENGTH)?.min(MOST_TEXT_BYTES);
    let state = head.int(transcript, TO_STATE)?;
    // `interned` has two bits, `kind` three, `compact` and `ascii` one each.
    let (width, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1 != 0, state >> 6 & 1 != 0);
    if !is_compact || !matches!(width, 1 | 2 | 4) {
        return None;
    }
    let characters = if is_ascii { layout.text_to_characters } else { layout.text_to_wide_characters };
    let width = width as usize;
    let from = transcript.read(address.checked_add(characters)?, length * width)?;
    let bytes = &transcript.bytes[from..from + length * width];
    let mut end = 0;
    for unit in bytes.chunks_exact(width) {
        let code = unit.iter().rev().fold(0, |code, byte| code << 8 | u32::from(*byte));
        let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        let Some(room) = into.get_mut(end..end + character.len_utf8()) else { break };
        character.encode_utf8(room);
        end += character.len_utf8();
    }
    Some(end)
}
