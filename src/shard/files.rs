//! Files that the program opens, and what it did with each.

use bytemuck::{Pod, Zeroable};

use super::bound::Bound;
use super::layout::Cell;

/// The number of a file whose name is not known, and of all that there was no number left for.
pub const UNNAMED_FILE: u32 = 0;
/// Names of files that a process keeps: a program may open one file after the other without end, each by another name.
pub const MOST_FILES: u32 = 4096;

pub const FILE_NAME_BYTES: usize = 240;

/// A file by its name.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct File {
    /// From 1 in each process.
    pub number: u32,
    pub reserved: u32,
    /// Of the path that the program gave, so that all processes know it alike; not 0. `name` may be the end of the path only.
    pub hash: u64,
    pub name: [u8; FILE_NAME_BYTES],
}

const _: () = assert!(size_of::<File>() == 256);

/// The counters of one (communicator, operation, phase, bucket, file) in one thread.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct FileCell {
    /// Made by [`super::Cell::key`], with the phase's bits.
    pub key: u64,
    /// [`File::number`], or [`UNNAMED_FILE`].
    pub file: u32,
    pub reserved: u32,
    pub calls: u64,
    pub bytes_written: u64,
    pub bytes_read: u64,
    pub ticks: u64,
}

const _: () = assert!(size_of::<FileCell>() == 48);

impl FileCell {
    pub const fn new(key: u64, file: u32) -> FileCell {
        FileCell { key, file, reserved: 0, calls: 0, bytes_written: 0, bytes_read: 0, ticks: 0 }
    }

    /// By what they are told apart.
    #[inline(always)]
    pub const fn key(&self) -> [u64; 2] {
        [self.key, self.file as u64]
    }

    /// The same without the file.
    pub fn cell(&self) -> Cell {
        let FileCell { key, calls, bytes_written, bytes_read, ticks, .. } = *self;
        Cell {
            key,
            calls,
            bytes_sent: bytes_written,
            bytes_recv: bytes_read,
            ticks,
            ticks_min: Bound::LONGEST,
            ticks_max: Bound::below(0),
        }
    }
}
