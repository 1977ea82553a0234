//! The blocks of a shard, and the entries of most of them. Everything here is plain data in the machine's own byte order: a shard is read on the
//! machine (or the kind of machine) that wrote it.

use bytemuck::{Pod, Zeroable};

use super::bound::Bound;
use crate::buckets::MAX_EDGES;

/// What the entries of a block are, in [`BlockHeader::kind`].
pub const COMMUNICATORS: u32 = 1;
pub const CELLS: u32 = 2;
pub const EDGES: u32 = 3;
/// Names of phases: [`Text`] entries.
pub const PHASES: u32 = 4;
/// Descriptions of datatypes: [`Text`] entries.
pub const DATATYPES: u32 = 5;
pub const USES: u32 = 6;
/// The calls that threads are in: [`InFlightCall`](super::InFlightCall) entries.
pub const IN_FLIGHT_CALLS: u32 = 7;
/// What the program called communicators by last: [`Text`] entries.
pub const LABELS: u32 = 8;
/// How layers below MPI moved data: [`Text`] entries (`transfer.rs`).
pub const ROUTES: u32 = 9;
pub const PEERS: u32 = 10;
/// What hook modules say of themselves: [`Text`] entries.
pub const NOTES: u32 = 11;
/// The timeline of a thread, whose number stands in the block's header.
pub const EVENTS: u32 = 12;
pub const TRANSFERS: u32 = 13;
/// Communicators of layers, and what transfers belong to beside MPI calls.
pub const LAYER_COMMUNICATORS: u32 = 14;
pub const CONTEXTS: u32 = 15;
/// Where in the code calls are made (`site.rs`).
pub const MODULES: u32 = 16;
pub const PLACES: u32 = 17;
pub const SITES: u32 = 18;
pub const SITE_CELLS: u32 = 19;
/// Paths of modules, and names of what an interpreter runs: [`Text`] entries. `flags` is the part of a text that is longer than one.
pub const CODE_TEXTS: u32 = 20;
/// What calls that complete requests have completed (`completed.rs`).
pub const COMPLETED: u32 = 21;
/// Files by name, and what was done with them (`files.rs`).
pub const FILES: u32 = 22;
pub const FILE_CELLS: u32 = 23;
/// What the process ran in: [`Text`] entries, with parts as those of code (`surroundings.rs`).
pub const SURROUNDINGS: u32 = 24;

pub const BLOCK_MAGIC: u32 = 0x6b6f_6c62;

/// Stands before the entries of a block.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockHeader {
    pub magic: u32,
    pub kind: u32,
    /// Size of the whole block, this header included.
    pub bytes: u32,
    /// Entries in use. Raised after the entry is whole.
    pub used: u32,
    pub reserved: [u32; 12],
}

/// One cache line, so that entries of 64 bytes never straddle two.
pub const BLOCK_HEADER_BYTES: usize = size_of::<BlockHeader>();

/// The number of the row `-`: calls that belong to no communicator.
pub const NO_COMM: u32 = 0;
/// The number of the row `*`: completion calls over requests of several communicators.
pub const SEVERAL_COMMS: u32 = 1;
/// The number of the first real communicator of a process, its `MPI_COMM_WORLD`.
pub const FIRST_COMM: u32 = 2;

/// The number of a site that is not known.
pub const NO_SITE: u32 = 0;
/// Sites that a communicator may have been made at: those of higher numbers are not known of it.
pub const MOST_BIRTHPLACES: u32 = (1 << 24) - 1;

/// Bits of [`Communicator::flags`].
pub const INTER: u8 = 1;
pub const FREED: u8 = 2;
/// The process at the other end belongs to another `MPI_COMM_WORLD`.
pub const REMOTE: u8 = 4;
/// Somebody remembers what its handle means, and must be told when that ends.
pub const REMEMBERED: u8 = 8;

/// A communicator as one of its processes saw it: one cache line.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Communicator {
    /// What all its processes computed alike, without a message (docs/reference/names.md).
    pub identity: [u64; 2],
    /// This process's number for it, which cells and edges refer to.
    pub number: u32,
    /// The number of the communicator it was made from, or [`NO_COMM`].
    pub parent: u32,
    /// The world rank of its rank 0; of an intercommunicator, the lower of both groups' rank 0.
    pub root: u32,
    /// How many communicators this process had been given when it was made: the name's second part, where this
    /// process is `root`.
    pub counter: u32,
    /// This process's rank in it.
    pub rank: u32,
    /// Processes in the (local) group.
    pub size: u32,
    /// [`Communicator::remote_size`], and the high end of [`Communicator::site`].
    pub remote: u32,
    /// Creating calls seen with this one as parent.
    pub children: u32,
    pub letter: u8,
    pub flags: u8,
    /// The low end of [`Communicator::site`].
    pub site_low: u16,
    /// Collective calls on the timeline so far.
    pub collectives: u32,
    /// What the program calls it by.
    pub handle: u64,
}

const _: () = assert!(size_of::<Communicator>() == 64);

impl Communicator {
    /// Processes in the remote group; 0 for an intracommunicator.
    #[inline(always)]
    pub const fn remote_size(&self) -> u32 {
        self.remote & Communicator::REMOTE_SIZE
    }

    /// Processes that one may send to: those of the remote group, if there is one.
    #[inline(always)]
    pub const fn peers(&self) -> u32 {
        if self.flags & INTER == 0 { self.size } else { self.remote_size() }
    }

    /// Whether a rank is one of them.
    #[inline(always)]
    pub fn has_peer(&self, rank: i32) -> bool {
        u32::try_from(rank).is_ok_and(|rank| rank < self.peers())
    }

    pub fn set_remote_size(&mut self, size: u32) {
        self.remote = self.remote & !Communicator::REMOTE_SIZE | size.min(Communicator::REMOTE_SIZE);
    }

    /// Its birthplace: where in the code it was made. [`NO_SITE`] where that is not known.
    pub const fn site(&self) -> u32 {
        self.remote >> 24 << 16 | self.site_low as u32
    }

    #[inline(always)]
    pub fn set_site(&mut self, site: u32) {
        (self.remote, self.site_low) = self.words_with_site(site);
    }

    /// The words `remote` and `site_low` of a communicator that was made there, and is like this one otherwise.
    #[inline(always)]
    pub const fn words_with_site(&self, site: u32) -> (u32, u16) {
        let site = if site > MOST_BIRTHPLACES { NO_SITE } else { site };
        (self.remote & Communicator::REMOTE_SIZE | site >> 16 << 24, site as u16)
    }

    /// No machine has more processes.
    const REMOTE_SIZE: u32 = (1 << 24) - 1;
}

/// A bit of the buckets of calls that count in the first bucket by rule, such as those of the [v,w] collectives: the other bits are the
/// bucket of the bytes that this rank gave or took, whichever are more.
pub const OWN_SIZE: u8 = 64;
const _: () = assert!(MAX_EDGES < OWN_SIZE as usize && OWN_SIZE as usize + MAX_EDGES < BUCKET_FAILED as usize);

/// Receives whose message has not arrived: their size is not known yet.
pub const BUCKET_PENDING: u8 = 255;
/// How often a communicator took part in completion calls that were charged to the row `*`.
pub const BUCKET_INVOLVED: u8 = 254;
/// Calls that returned an error. They are among the calls of the lowest bucket.
pub const BUCKET_FAILED: u8 = 253;

/// The number of calls outside any phase.
pub const NO_PHASE: u8 = 0;
/// The number that phases share for which there was no number left.
pub const OTHER_PHASE: u8 = u8::MAX;

/// The counters of one (communicator, operation, phase, bucket) in one thread.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Cell {
    pub key: u64,
    pub calls: u64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    pub ticks: u64,
    /// The shortest call and the longest.
    pub ticks_min: Bound,
    pub ticks_max: Bound,
}

const _: () = assert!(size_of::<Cell>() == 48);

impl Cell {
    /// The key outside any phase; [`Cell::phase_bits`] are added for a phase.
    #[inline(always)]
    pub const fn key(comm: u32, operation: u16, bucket: u8) -> u64 {
        (comm as u64) << 32 | (operation as u64) << 16 | bucket as u64
    }

    /// A phase as it stands in a key.
    #[inline(always)]
    pub const fn phase_bits(phase: u8) -> u64 {
        (phase as u64) << 8
    }

    /// The phase in a key.
    #[inline(always)]
    pub const fn phase_of(key: u64) -> u8 {
        (key >> 8) as u8
    }

    pub fn phase(&self) -> u8 {
        Cell::phase_of(self.key)
    }

    pub fn comm(&self) -> u32 {
        (self.key >> 32) as u32
    }

    pub fn operation(&self) -> u16 {
        Cell::operation_of(self.key)
    }

    pub const fn operation_of(key: u64) -> u16 {
        (key >> 16) as u16
    }

    pub fn bucket(&self) -> u8 {
        self.key as u8
    }
}

/// No world rank: the receiver belongs to another `MPI_COMM_WORLD`.
pub const REMOTE_RANK: u32 = u32::MAX;

/// Messages of one (communicator, operation, destination) in one thread.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Edge {
    pub key: u64,
    /// World rank of the destination, or [`REMOTE_RANK`].
    pub world_rank: u32,
    pub reserved: u32,
    pub calls: u64,
    pub bytes: u64,
}

impl Edge {
    /// `destination` is a rank of the communicator and stays below 2²² (4 million), an operation below 2¹⁰, a
    /// communicator's number below 2³².
    #[inline(always)]
    pub fn key(comm: u32, operation: u16, destination: u32) -> u64 {
        (comm as u64) << 32 | ((operation & 0x3ff) as u64) << 22 | (destination & 0x3f_ffff) as u64
    }

    pub fn comm(&self) -> u32 {
        (self.key >> 32) as u32
    }

    pub fn operation(&self) -> u16 {
        (self.key >> 22) as u16 & 0x3ff
    }
}

pub const TEXT_BYTES: usize = 248;

/// What a number of this process stands for: a phase's name, or a datatype's description.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Text {
    pub number: u32,
    /// [`CONTIGUOUS`], for a datatype.
    pub flags: u32,
    pub text: [u8; TEXT_BYTES],
}

/// A bit of [`Text::flags`]: the datatype's elements lie in memory without gaps.
pub const CONTIGUOUS: u32 = 1;

/// Datatype arguments of one (communicator, operation, datatype) in one thread.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Use {
    /// Made by [`Edge::key`], with the datatype's number in the place of the destination.
    pub key: u64,
    pub calls: u64,
    pub bytes: u64,
}

impl Use {
    pub fn comm(&self) -> u32 {
        (self.key >> 32) as u32
    }

    pub fn operation(&self) -> u16 {
        (self.key >> 22) as u16 & 0x3ff
    }

    pub fn datatype(&self) -> u32 {
        self.key as u32 & 0x3f_ffff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_communicator_keeps_its_remote_size_and_its_birthplace() {
        let most = (1 << 24) - 1;
        for size in [0, 1, 255, 65_536, most] {
            for site in [0, 1, 65_535, 65_536, MOST_BIRTHPLACES] {
                let mut one = Communicator::zeroed();
                one.set_site(site);
                one.set_remote_size(size);
                one.set_site(site);
                assert_eq!((one.site(), one.remote_size()), (site, size));
            }
        }
        let mut other = Communicator::zeroed();
        other.set_remote_size(7);
        other.set_site(MOST_BIRTHPLACES + 1);
        assert_eq!((other.site(), other.remote_size()), (NO_SITE, 7));
    }

    /// Programs that are running read by these numbers.
    #[test]
    fn words_of_a_communicator_stay_where_they_are() {
        use std::mem::offset_of;
        let words =
            [offset_of!(Communicator, size), offset_of!(Communicator, remote), offset_of!(Communicator, handle)];
        assert_eq!((words, offset_of!(Communicator, site_low)), ([36, 40, 56], 50));
    }
}
