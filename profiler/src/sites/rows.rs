//! The rows of modules, frames and sites, in the shard.

use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

use bytemuck::Zeroable;
use commsee_sites::loader::Extent;
use commsee_sites::registry::{File, Rows};
use vocabulary::shard::{Frame, Module, PASSED_OVER, Site};

use crate::shard::code::Code;

/// Under the lock of whoever adds them.
pub struct InShard {
    code: Code,
    /// By number, from 1.
    modules: Vec<NonNull<Module>>,
}

// SAFETY: the shard is never unmapped, and nobody else writes to these entries.
unsafe impl Send for InShard {}

/// A range that no code has: modules that are closed. Readers drop modules that have none at all, and their frames.
const NOWHERE: Extent = Extent { start: 0, end: 1, bias: 0 };

impl InShard {
    pub fn new() -> InShard {
        InShard { code: Code::new(), modules: Vec::new() }
    }
}

impl Rows for InShard {
    fn add_module(&mut self, file: &File, extent: Extent, is_passed_over: bool) -> Option<u32> {
        self.modules.try_reserve(1).ok()?;
        let mut module = Module {
            start: extent.start as u64,
            end: extent.end as u64,
            bias: extent.bias as u64,
            flags: if is_passed_over { PASSED_OVER } else { 0 },
            ..Module::zeroed()
        };
        module.set_build_id(file.build_id);
        let number = self.code.add_module(module, file.path)?;
        self.modules.push(self.code.latest_module()?);
        Some(number)
    }

    fn move_module(&mut self, module: u32, extent: Option<Extent>) {
        let Some(place) = (module as usize).checked_sub(1).and_then(|at| self.modules.get(at)) else { return };
        let extent = extent.unwrap_or(NOWHERE);
        // A reader may come at any time: meanwhile it is nowhere.
        // SAFETY: an entry of our own, which only we write to.
        unsafe {
            (&raw mut (*place.as_ptr()).end).write_volatile(NOWHERE.end as u64);
            (&raw mut (*place.as_ptr()).start).write_volatile(NOWHERE.start as u64);
            (&raw mut (*place.as_ptr()).bias).write_volatile(extent.bias as u64);
            fence(Ordering::Release);
            (&raw mut (*place.as_ptr()).end).write_volatile(extent.end as u64);
            fence(Ordering::Release);
            (&raw mut (*place.as_ptr()).start).write_volatile(extent.start as u64);
        }
    }

    fn add_frame(&mut self, module: u32, address: u64) -> Option<u32> {
        self.code.add_frame(Frame::of_module(module, address))
    }

    fn add_text(&mut self, text: &[u8]) -> Option<u32> {
        self.code.add_text(text)
    }

    fn add_interpreter_frame(&mut self, function: u32, file: u32, line: u32) -> Option<u32> {
        self.code.add_frame(Frame::of_interpreter(function, file, line))
    }

    fn add_site(&mut self, frame: u32, outer: u32) -> Option<u32> {
        self.code.add_site(Site { frame, outer })
    }
}
