//! Rows in memory, a call as a wrapper makes it, and the stack as the C library's unwinder sees it.

#![allow(dead_code)]

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, Once};

use commsee_sites::loader::Extent;
use commsee_sites::registry::{File, Rows};
use commsee_sites::{python, registry, sites};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    Code { module: u32, address: u64 },
    Interpreter { function: String, file: String, line: u32 },
}

#[derive(Clone, Debug)]
pub struct Module {
    pub path: String,
    pub extent: Option<Extent>,
    pub is_passed_over: bool,
}

pub struct Tables {
    pub modules: Vec<Module>,
    pub frames: Vec<Frame>,
    pub texts: Vec<String>,
    pub sites: Vec<(u32, u32)>,
}

pub static TABLES: Mutex<Tables> =
    Mutex::new(Tables { modules: Vec::new(), frames: Vec::new(), texts: Vec::new(), sites: Vec::new() });

struct Memory;

fn add<T>(entries: &mut Vec<T>, entry: T) -> Option<u32> {
    entries.push(entry);
    Some(entries.len() as u32)
}

impl Rows for Memory {
    fn add_module(&mut self, file: &File, extent: Extent, is_passed_over: bool) -> Option<u32> {
        let path = String::from_utf8_lossy(file.path).into_owned();
        add(&mut TABLES.lock().unwrap().modules, Module { path, extent: Some(extent), is_passed_over })
    }

    fn move_module(&mut self, module: u32, extent: Option<Extent>) {
        TABLES.lock().unwrap().modules[module as usize - 1].extent = extent;
    }

    fn add_frame(&mut self, module: u32, address: u64) -> Option<u32> {
        add(&mut TABLES.lock().unwrap().frames, Frame::Code { module, address })
    }

    fn add_text(&mut self, text: &[u8]) -> Option<u32> {
        add(&mut TABLES.lock().unwrap().texts, String::from_utf8_lossy(text).into_owned())
    }

    fn add_interpreter_frame(&mut self, function: u32, file: u32, line: u32) -> Option<u32> {
        let mut tables = TABLES.lock().unwrap();
        let text = |number: u32| tables.texts[number as usize - 1].clone();
        let frame = Frame::Interpreter { function: text(function), file: text(file), line };
        add(&mut tables.frames, frame)
    }

    fn add_site(&mut self, frame: u32, outer: u32) -> Option<u32> {
        add(&mut TABLES.lock().unwrap().sites, (frame, outer))
    }
}

pub fn start(patterns: &[&str]) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        registry::start(Box::new(Memory), patterns);
        python::start();
    });
}

/// The frames of a site, the innermost first.
pub fn frames(mut site: u32) -> Vec<Frame> {
    let tables = TABLES.lock().unwrap();
    let mut frames = Vec::new();
    while site != 0 {
        let (frame, outer) = tables.sites[site as usize - 1];
        frames.push(tables.frames[frame as usize - 1].clone());
        site = outer;
    }
    frames
}

/// Where a frame's call is, as long as its module is mapped.
pub fn address(frame: &Frame) -> usize {
    let Frame::Code { module, address } = frame else { return 0 };
    let extent = TABLES.lock().unwrap().modules[*module as usize - 1].extent.unwrap();
    extent.bias.wrapping_add(*address as usize)
}

pub fn addresses(site: u32) -> Vec<usize> {
    frames(site).iter().map(address).collect()
}

/// The name of the file that a frame is in.
pub fn file(frame: &Frame) -> String {
    match frame {
        Frame::Code { module, .. } => {
            let path = TABLES.lock().unwrap().modules[*module as usize - 1].path.clone();
            path.rsplit('/').next().unwrap_or_default().to_owned()
        }
        Frame::Interpreter { file, .. } => file.clone(),
    }
}

/// Calls a function with the place that it returns to, as wrappers are called.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C" fn call(body: extern "C" fn(*mut c_void, usize), argument: *mut c_void) {
    std::arch::naked_asm!("mov rax, rdi", "mov rdi, rsi", "mov rsi, [rsp]", "jmp rax");
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub unsafe extern "C" fn call(body: extern "C" fn(*mut c_void, usize), argument: *mut c_void) {
    std::arch::naked_asm!("mov x2, x0", "mov x0, x1", "mov x1, x30", "br x2");
}

/// What was found at a call.
#[derive(Default)]
pub struct Seen {
    pub depth: usize,
    pub site: u32,
    /// The calls as the C library's unwinder sees them.
    pub expected: Vec<usize>,
}

pub extern "C" fn look(seen: *mut c_void, return_address: usize) {
    // SAFETY: as passed by `seen`.
    let seen = unsafe { &mut *seen.cast::<Seen>() };
    seen.site = sites::of_stack(return_address, seen.depth);
    seen.expected = backtrace();
    // Those that are none of the program's.
    let first = seen.expected.iter().position(|address| *address == return_address - 1);
    seen.expected.drain(..first.unwrap_or(seen.expected.len()));
    seen.expected.truncate(seen.depth);
}

/// The calls that this function is in.
#[inline(never)]
pub fn backtrace() -> Vec<usize> {
    unsafe extern "C" {
        fn _Unwind_Backtrace(step: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int, list: *mut c_void)
        -> c_int;
        fn _Unwind_GetIPInfo(context: *mut c_void, is_before: *mut c_int) -> usize;
    }
    unsafe extern "C" fn step(context: *mut c_void, list: *mut c_void) -> c_int {
        let mut is_before = 0;
        // SAFETY: passed below.
        unsafe {
            let address = _Unwind_GetIPInfo(context, &mut is_before);
            (*list.cast::<Vec<usize>>()).push(address - usize::from(is_before == 0));
        }
        0
    }
    let mut list: Vec<usize> = Vec::new();
    // SAFETY: the list outlives the call.
    unsafe { _Unwind_Backtrace(step, (&raw mut list).cast()) };
    // At its end the C library puts a zero.
    list.retain(|address| *address != usize::MAX && *address != 0);
    list
}

/// What a wrapper would find here.
#[macro_export]
macro_rules! seen {
    ($depth:expr) => {{
        let mut seen = $crate::common::Seen { depth: $depth, ..Default::default() };
        // SAFETY: the body takes what is passed.
        unsafe { $crate::common::call($crate::common::look, (&raw mut seen).cast()) };
        seen
    }};
}
