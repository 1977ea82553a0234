//! Where in the code calls are made. A site is a frame and the site of the frames outside of it: so a stack of any depth is one number,
//! and stacks share what they have in common.
//!
//! Modules, frames, sites and their texts belong to the process, each numbered from 1 in the order in which they were added. The first
//! word of [`super::BlockHeader::reserved`] is the number of a block's first entry.

use bytemuck::{Pod, Zeroable};

use super::bound::Bound;
use super::layout::Cell;

/// The number of a text that is not there.
pub const NO_TEXT: u32 = 0;
/// [`Frame::module`] of a frame of an interpreter.
pub const NO_MODULE: u32 = 0;

/// An ELF file that was mapped into the process, or another range of its code.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Module {
    /// Mapped addresses, the end excluded. Where a range was mapped again, the module that was added last has it.
    pub start: u64,
    pub end: u64,
    /// An address less the bias is the file's own.
    pub bias: u64,
    /// Number of the text of its path.
    pub path: u32,
    /// The first bytes of its build id.
    pub build_id: [u8; 20],
    /// So many; 0 is none.
    pub build_id_bytes: u8,
    /// [`PASSED_OVER`].
    pub flags: u8,
    pub reserved: [u8; 6],
}

const _: () = assert!(size_of::<Module>() == 56);

/// A bit of [`Module::flags`]: its frames are left out of birthplaces and sites.
pub const PASSED_OVER: u8 = 1;

impl Module {
    pub fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    pub fn set_build_id(&mut self, id: &[u8]) {
        let bytes = id.len().min(self.build_id.len());
        self.build_id[..bytes].copy_from_slice(&id[..bytes]);
        self.build_id_bytes = bytes as u8;
    }

    /// Nothing where the file has none.
    pub fn build_id(&self) -> &[u8] {
        &self.build_id[..self.build_id.len().min(self.build_id_bytes.into())]
    }
}

/// A place in a module, or in what an interpreter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The module file's own address, inside of the call instruction: return address - 1 - bias. 0 for an interpreter.
    pub address: u64,
    /// Number of the module, or [`NO_MODULE`].
    pub module: u32,
    /// Of an interpreter: numbers of the texts of function and file, and the line. Else 0.
    pub function: u32,
    pub file: u32,
    pub line: u32,
}

impl Frame {
    pub fn of_module(module: u32, address: u64) -> Frame {
        Frame { address, module, function: NO_TEXT, file: NO_TEXT, line: 0 }
    }

    pub fn of_interpreter(function: u32, file: u32, line: u32) -> Frame {
        Frame { address: 0, module: NO_MODULE, function, file, line }
    }
}

/// A frame as it is written.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Place {
    /// Its address; of an interpreter the function, and above it the file.
    word: u64,
    module: u32,
    line: u32,
}

const _: () = assert!(size_of::<Place>() == 16);

impl From<Frame> for Place {
    fn from(Frame { address, module, function, file, line }: Frame) -> Place {
        let word = if module == NO_MODULE { u64::from(file) << 32 | u64::from(function) } else { address };
        Place { word, module, line }
    }
}

impl From<Place> for Frame {
    fn from(Place { word, module, line }: Place) -> Frame {
        match module {
            NO_MODULE => Frame::of_interpreter(word as u32, (word >> 32) as u32, line),
            _ => Frame::of_module(module, word),
        }
    }
}

/// A node of the tree of sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct Site {
    pub frame: u32,
    /// The site of the frames outside, which was added before; or [`super::NO_SITE`].
    pub outer: u32,
}

/// The counters of one (communicator, operation, phase, bucket, site) in one thread.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct SiteCell {
    /// Made by [`super::Cell::key`], with the phase's bits.
    pub key: u64,
    /// [`super::NO_SITE`] where it is not known.
    pub site: u32,
    pub reserved: u32,
    pub calls: u64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    pub ticks: u64,
}

const _: () = assert!(size_of::<SiteCell>() == 48);

impl SiteCell {
    pub const fn new(key: u64, site: u32) -> SiteCell {
        SiteCell { key, site, reserved: 0, calls: 0, bytes_sent: 0, bytes_recv: 0, ticks: 0 }
    }

    /// By what they are told apart.
    #[inline(always)]
    pub const fn key(&self) -> [u64; 2] {
        [self.key, self.site as u64]
    }

    /// The same without the site.
    pub fn cell(&self) -> Cell {
        let SiteCell { key, calls, bytes_sent, bytes_recv, ticks, .. } = *self;
        Cell { key, calls, bytes_sent, bytes_recv, ticks, ticks_min: Bound::LONGEST, ticks_max: Bound::below(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_the_same_when_they_are_read_again() {
        for frame in [Frame::of_module(7, u64::MAX - 3), Frame::of_interpreter(u32::MAX, 5, 1 << 30)] {
            assert_eq!(Frame::from(Place::from(frame)), frame);
        }
    }
}
