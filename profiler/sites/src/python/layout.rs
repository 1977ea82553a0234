//! Where CPython keeps what, version by version. 3.13 says so itself (`_Py_DebugOffsets`); for the older ones it is written down here,
//! from their headers.

use std::ffi::{CStr, c_char, c_void};

use commsee_runtime::probe;

/// How instructions are numbered and lines are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Bytes; pairs of differences (`co_lnotab`).
    Pairs,
    /// Units of two bytes; pairs of differences, some without a line (PEP 626).
    Ranges,
    /// The address of the instruction; the table of locations (PEP 657).
    Locations,
}

/// Offsets in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// From a thread's state to the frame that it runs, through one more structure in some versions.
    pub state_to_frame: usize,
    pub through: Option<usize>,
    pub frame_to_code: usize,
    pub frame_to_outer: usize,
    pub frame_to_instruction: usize,
    /// Who owns a frame, where some belong to the interpreter itself.
    pub frame_to_owner: Option<usize>,
    pub lines: Lines,
    pub code_to_file: usize,
    pub code_to_function: usize,
    pub code_to_lines: usize,
    pub code_to_first_line: usize,
    pub code_to_instructions: usize,
    pub text_to_characters: usize,
    pub text_to_wide_characters: usize,
}

/// As much of these structures as is ever read.
pub const MOST_OFFSET: usize = 256;

const OLD: Layout = Layout {
    state_to_frame: 24,
    through: None,
    frame_to_code: 32,
    frame_to_outer: 24,
    frame_to_instruction: 104,
    frame_to_owner: None,
    lines: Lines::Pairs,
    code_to_file: 104,
    code_to_function: 112,
    code_to_lines: 120,
    code_to_first_line: 40,
    code_to_instructions: 0,
    text_to_characters: 48,
    text_to_wide_characters: 72,
};

const V3_10: Layout = Layout { frame_to_instruction: 96, lines: Lines::Ranges, ..OLD };

const V3_11: Layout = Layout {
    state_to_frame: 56,
    through: Some(8),
    frame_to_code: 32,
    frame_to_outer: 48,
    frame_to_instruction: 56,
    frame_to_owner: None,
    lines: Lines::Locations,
    code_to_file: 112,
    code_to_function: 128,
    code_to_lines: 136,
    code_to_first_line: 72,
    code_to_instructions: 184,
    text_to_characters: 48,
    text_to_wide_characters: 72,
};

const V3_12: Layout = Layout {
    through: Some(0),
    frame_to_code: 0,
    frame_to_outer: 8,
    frame_to_owner: Some(70),
    code_to_first_line: 68,
    code_to_instructions: 192,
    text_to_characters: 40,
    text_to_wide_characters: 56,
    ..V3_11
};

/// What is known of an interpreter of this version, such as `3.11.2 (main, …)`. `runtime` is the address of `_PyRuntime`.
pub fn of_version(version: &CStr, runtime: *const c_void) -> Option<Layout> {
    let version = version.to_str().ok()?;
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let (major, minor) = (numbers.next()?, numbers.next()?);
    match (major.parse().ok()?, minor.parse().ok()?) {
        (3u32, 9u32) => Some(OLD),
        (3, 10) => Some(V3_10),
        (3, 11) => Some(V3_11),
        (3, 12) => Some(V3_12),
        (3, 13) => of_debug_offsets(runtime),
        _ => None,
    }
}

/// What 3.13 says of itself, if it has one lock for all threads.
fn of_debug_offsets(runtime: *const c_void) -> Option<Layout> {
    let mut bytes = [0; 600];
    if runtime.is_null() || probe::read(runtime as usize, &mut bytes) < bytes.len() {
        return None;
    }
    let word = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let (version, is_free_threaded) = (word(8)?, word(16)? != 0);
    if bytes[..8] != *b"xdebugpy" || version >> 16 != 0x030d || is_free_threaded {
        return None;
    }
    let offset = |at: usize| word(at).map(|offset| offset as usize).filter(|offset| *offset <= MOST_OFFSET - 8);
    Some(Layout {
        state_to_frame: offset(184)?,
        through: None,
        frame_to_code: offset(240)?,
        frame_to_outer: offset(232)?,
        frame_to_instruction: offset(248)?,
        frame_to_owner: Some(offset(264)?),
        lines: Lines::Locations,
        code_to_file: offset(280)?,
        code_to_function: offset(296)?,
        code_to_lines: offset(304)?,
        code_to_first_line: offset(312)?,
        code_to_instructions: offset(344)?,
        text_to_characters: offset(560)?,
        // The structure of wide ones has two words more.
        text_to_wide_characters: offset(560)? + 16,
    })
}

/// What is called of an interpreter, and where its types are.
#[derive(Clone, Copy)]
pub struct Interpreter {
    pub layout: Layout,
    /// The state of the calling thread, also where that does not hold the interpreter's lock: it only reads data of the thread's own.
    pub state: unsafe extern "C" fn() -> *const c_void,
    /// The type of code objects: what has another one is no code.
    pub code_type: usize,
}

/// The interpreter of this process, if it has one that is known.
pub fn find() -> Option<Interpreter> {
    let symbol = |name: &CStr| {
        // SAFETY: a plain search.
        let place = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        (!place.is_null()).then_some(place)
    };
    let (state, version) = (symbol(c"PyGILState_GetThisThreadState")?, symbol(c"Py_GetVersion")?);
    let code_type = symbol(c"PyCode_Type")? as usize;
    let runtime = symbol(c"_PyRuntime").unwrap_or(std::ptr::null_mut());
    // SAFETY: these are the types of these functions in all versions. The second one gives a constant text.
    unsafe {
        let version = std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(version)();
        let layout = of_version(CStr::from_ptr(version), runtime)?;
        let state = std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_void>(state);
        Some(Interpreter { layout, state, code_type })
    }
}
