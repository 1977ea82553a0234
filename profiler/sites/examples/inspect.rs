//! A library that tells who called it, for programs of the tests.

#[path = "../tests/common/mod.rs"]
mod common;

use std::ffi::{CStr, c_char};

use commsee_sites::sites;

/// `patterns` is a list of what is passed over, separated by colons.
///
/// # Safety
/// It is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inspect_start(patterns: *const c_char) {
    // SAFETY: as demanded.
    let patterns = unsafe { CStr::from_ptr(patterns) }.to_str().unwrap();
    common::start(&patterns.split(':').collect::<Vec<_>>());
}

/// Writes the frames of the calling thread, a line each, and returns the site.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub extern "C" fn inspect_stack(depth: u32, text: *mut c_char, bytes: usize) -> u32 {
    std::arch::naked_asm!("mov rcx, [rsp]", "jmp {}", sym inspect);
}

extern "C" fn inspect(depth: u32, text: *mut c_char, bytes: usize, return_address: usize) -> u32 {
    let site = match depth {
        0 => sites::of_caller(return_address),
        _ => sites::of_stack(return_address, depth as usize),
    };
    let mut lines = String::new();
    for frame in common::frames(site) {
        lines += &match &frame {
            common::Frame::Interpreter { function, file, line } => format!("{file}:{line} {function}\n"),
            common::Frame::Code { .. } => format!("{}+{:#x}\n", common::file(&frame), common::address(&frame)),
        };
    }
    let length = lines.len().min(bytes - 1);
    // SAFETY: the caller says how much room there is.
    unsafe {
        text.cast::<u8>().copy_from_nonoverlapping(lines.as_ptr(), length);
        text.add(length).write(0);
    }
    site
}
