//! The bytes of a shard. Everything here is plain data in the machine's own byte order: a shard is read on the machine
//! (or the kind of machine) that wrote it.

use bytemuck::{Pod, Zeroable};

use super::event::Sync;
use crate::buckets::MAX_EDGES;
use crate::job::Job;

pub const MAGIC: [u8; 8] = *b"commsee\0";
/// Raised with every change that an older version would misread: a reader accepts its own and those from [`OLDEST_FORMAT`] on. What is added to reserved words, which are
/// zero in older shards, and as further kinds of blocks leaves it as it is.
pub const FORMAT: u32 = 8;
/// The oldest that is read: what was added since is not in it.
pub const OLDEST_FORMAT: u32 = 5;
pub const HEADER_BYTES: usize = 4096;
pub const BLOCK_MAGIC: u32 = 0x6b6f_6c62;

/// Where the process stands, in [`Header::state`].
pub const RUNNING: u32 = 1;
/// `MPI_Finalize` was reached: all counters are final.
pub const FINISHED: u32 = 2;
/// In a program with sessions only: the process has exited after the last of them.
pub const LEFT: u32 = 3;
/// A copy that was made by `MPI_Pcontrol(2)` while counting went on.
pub const SNAPSHOT: u32 = 4;

/// What the clock of the tick counts is, in [`Header::clock`].
pub const CLOCK_TSC: u32 = 1;
pub const CLOCK_VIRTUAL_COUNTER: u32 = 2;
pub const CLOCK_MONOTONIC: u32 = 3;

/// How the process holds the lock of its shard, in [`Header::lock`]. Nothing, where the file system has no locks and in shards of
/// versions that took none.
pub const UNLOCKED: u32 = 0;
/// On a file system that no other kernel has, such as a disk or `/dev/shm`.
pub const LOCKED: u32 = 1;
/// On one between hosts, which all see the lock.
pub const LOCKED_FOR_ALL: u32 = 2;
/// On one between hosts that may keep the lock from other kernels.
pub const LOCKED_HERE: u32 = 3;

/// A moment on both clocks: two of them calibrate ticks against nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Moment {
    pub ticks: u64,
    pub monotonic_ns: u64,
}

/// The first page. Text fields end at their first zero byte.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Header {
    pub magic: [u8; 8],
    pub format: u32,
    pub state: u32,
    /// [`crate::calls::TABLE_HASH`]: operation numbers only mean something within one table.
    pub table_hash: u64,
    /// Drawn by rank 0 of `MPI_COMM_WORLD` and the same in all its processes.
    pub run: [u64; 2],
    /// From the environment variable `COMMSEE_LAUNCH`, or zero.
    pub launch: [u64; 2],
    /// Bytes of the file that are in use.
    pub used_bytes: u64,
    pub world_rank: u32,
    pub world_size: u32,
    pub pid: u32,
    pub clock: u32,
    /// Start of the process in clock ticks since boot, from `/proc/PID/stat`: with `pid` it tells whether it still lives.
    pub process_start: u64,
    /// `CLOCK_REALTIME` at the end of `MPI_Init`, in nanoseconds since 1970.
    pub start_realtime_ns: u64,
    /// Before `MPI_Init`.
    pub entered: Moment,
    /// After `MPI_Init`: the run time starts here.
    pub started: Moment,
    /// The latest calibration; in a finished shard the begin of `MPI_Finalize`, where the run time ends.
    pub latest: Moment,
    /// 1: openmpi, 2: mpich, 3: mpi5.
    pub family: u32,
    /// Level of thread support in force, 0 (single) to 3 (multiple).
    pub thread_level: u32,
    pub mpi_version: [u32; 2],
    pub edge_count: u32,
    /// Calls that found no room for a counter, and are missing from the profile.
    pub lost_calls: u32,
    pub edges_bytes: [u64; MAX_EDGES],
    pub host: [u8; 256],
    pub library: [u8; 256],
    pub options: [u8; 512],
    pub command: [u8; 2048],
    /// The bits of a handle that count.
    pub handle_mask: u64,
    /// [`Header::seal`]: over all that stays as it is while the process runs.
    pub checksum: u64,
    /// 1 between `MPI_Pcontrol(0)` and `(1)`: then it is not known in which call a thread is.
    pub paused: u32,
    /// One of [`UNLOCKED`] and what follows it.
    pub lock: u32,
    /// Where the timeline begins, on the clock of rank 0; 0 without one.
    pub trace_begin_ns: u64,
    /// The clock of this process against that of rank 0, at the begin and at the end.
    pub syncs: [Sync; 2],
    /// Events that were overwritten (ring buffer full).
    pub lost_events: u64,
    /// The kernel that the process runs under, and how it numbers processes and counts their starts: within both `pid` and
    /// `process_start` mean something. Zero where that is not known.
    pub boot: [u64; 2],
    pub namespaces: u64,
    /// Ranks on this host, where the launcher said so; else 0.
    pub local_ranks: u32,
    /// Zero, and part of the checksum: versions that know more words than others read each other's shards.
    pub reserved: [u8; 292],
    /// The batch job as [`Job`] has it, since whoever recovers the shard may be outside of it.
    pub job: [u8; 96],
    pub job_step: [u8; 32],
    pub job_task: [u8; 32],
    pub batch_system: [u8; 28],
    pub job_nodes: u32,
}

impl Header {
    pub fn set_job(&mut self, job: &Job) {
        set_text(&mut self.job, &job.id);
        set_text(&mut self.job_step, &job.step);
        set_text(&mut self.job_task, &job.task);
        set_text(&mut self.batch_system, &job.system);
        self.job_nodes = job.nodes;
    }

    pub fn job(&self) -> Job {
        Job {
            system: text(&self.batch_system),
            id: text(&self.job),
            step: text(&self.job_step),
            task: text(&self.job_task),
            nodes: self.job_nodes,
        }
    }

    /// Marks what stands in the header as whole. To be called again where one of the constant fields changes.
    pub fn seal(&mut self) {
        self.checksum = self.checksum_wanted();
    }

    /// Whether the header is as it was sealed, apart from what changes while the process runs.
    pub fn is_intact(&self) -> bool {
        self.checksum == self.checksum_wanted()
    }

    /// FNV-1a: it finds pages that were torn, not forgers. Counters have none, since they change with every call.
    fn checksum_wanted(&self) -> u64 {
        let mut constant = *self;
        (constant.state, constant.used_bytes, constant.lost_calls, constant.checksum) = (0, 0, 0, 0);
        (constant.paused, constant.syncs, constant.lost_events) = (0, [Sync::default(); 2], 0);
        constant.latest = Moment::default();
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        bytemuck::bytes_of(&constant).iter().fold(0xcbf2_9ce4_8422_2325, step)
    }
}

const _: () = assert!(size_of::<Header>() == HEADER_BYTES);

/// What the entries of a block are, in [`BlockHeader::kind`].
pub const COMMUNICATORS: u32 = 1;
pub const CELLS: u32 = 2;
pub const EDGES: u32 = 3;
/// Names of phases: [`Text`] entries.
pub const PHASES: u32 = 4;
/// Descriptions of datatypes: [`Text`] entries.
pub const DATATYPES: u32 = 5;
pub const USES: u32 = 6;
/// The calls that threads are in: [`InFlightCall`] entries.
pub const IN_FLIGHT_CALLS: u32 = 7;
/// What the program called communicators by last: [`Text`] entries.
pub const LABELS: u32 = 8;
/// How layers below MPI moved data: [`Text`] entries (`transfer.rs`).
pub const ROUTES: u32 = 9;
pub const PEERS: u32 = 10;
/// What hook modules say of themselves: [`Text`] entries.
pub const NOTES: u32 = 11;
/// Transfers whose times are ticks: modules told them so in the first version of their interface.
pub const TICKED_TRANSFERS: u32 = 12;
/// The timeline of a thread, whose number stands in the block's header.
pub const EVENTS: u32 = 13;
pub const TRANSFERS: u32 = 14;
/// Communicators of layers, and what transfers belong to beside MPI calls.
pub const LAYER_COMMUNICATORS: u32 = 15;
pub const CONTEXTS: u32 = 16;
/// Where in the code calls are made (`site.rs`).
pub const MODULES: u32 = 17;
/// As formats before 8 wrote them; since then: [`PLACES`].
pub const FRAMES: u32 = 18;
pub const SITES: u32 = 19;
pub const SITE_CELLS: u32 = 20;
/// Paths of modules, and names of what an interpreter runs: [`Text`] entries. `flags` is the part of a text that is longer than one.
pub const CODE_TEXTS: u32 = 21;
/// What calls that complete requests have completed (`completed.rs`).
pub const COMPLETED: u32 = 22;
/// Files by name, and what was done with them (`files.rs`).
pub const FILES: u32 = 23;
pub const FILE_CELLS: u32 = 24;
pub const PLACES: u32 = 25;

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

    pub fn phase(&self) -> u8 {
        (self.key >> 8) as u8
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

/// A duration in ticks, in half a word: exact below 2²⁷ ticks (some 50 ms), beyond with 27 binary digits (an error below 2·10⁻⁸),
/// in the same order as durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub struct Bound(u32);

impl Bound {
    /// Longer than any.
    pub const LONGEST: Bound = Bound(u32::MAX);
    const DIGITS: u32 = 27;
    /// From here on it is rounded.
    pub const EXACT_BELOW: u64 = 1 << Bound::DIGITS;

    /// The nearest one that is not longer.
    #[inline(always)]
    pub const fn below(ticks: u64) -> Bound {
        if ticks >> Bound::DIGITS == 0 { Bound(ticks as u32) } else { Bound::cut(ticks).0 }
    }

    /// The nearest one that is not shorter.
    #[inline(always)]
    pub const fn above(ticks: u64) -> Bound {
        if ticks >> Bound::DIGITS == 0 {
            return Bound(ticks as u32);
        }
        let (cut, is_exact) = Bound::cut(ticks);
        Bound(cut.0 + !is_exact as u32)
    }

    /// The leading digits of a duration that has more, and whether they are all of it.
    #[cold]
    const fn cut(ticks: u64) -> (Bound, bool) {
        let dropped = u64::BITS - ticks.leading_zeros() - Bound::DIGITS;
        let digits = (ticks >> dropped) as u32;
        // Half of all numbers of so many digits begin with a one, and only those occur.
        let step = 1 << (Bound::DIGITS - 1);
        (Bound((1 << Bound::DIGITS) + (dropped - 1) * step + (digits - step)), (digits as u64) << dropped == ticks)
    }

    /// Whether a call of so many ticks is neither shorter nor longer than these two. Of a long one it is not said.
    #[inline(always)]
    pub const fn are_around(shortest: Bound, longest: Bound, ticks: u64) -> bool {
        ticks >> Bound::DIGITS == 0 && ticks as u32 >= shortest.0 && ticks as u32 <= longest.0
    }

    pub const fn ticks(self) -> u64 {
        if self.0 >> Bound::DIGITS == 0 {
            return self.0 as u64;
        }
        let step = 1 << (Bound::DIGITS - 1);
        let rest = self.0 - (1 << Bound::DIGITS);
        let (digits, dropped) = ((step + rest % step) as u64, rest / step + 1);
        if dropped > digits.leading_zeros() { u64::MAX } else { digits << dropped }
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

/// What one thread is in: a call, or the program. The thread alone writes it: before a call `caller`, `comm`, `word` and
/// `begin_ticks`, then 0 as `end_ticks` where the clock may tell the same time twice, and after the call `end_ticks`. A thread has
/// [`IN_FLIGHT_LEVELS`] of them: calls that the program's callbacks make inside of a call take the next one.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct InFlightCall {
    /// Made by [`InFlightCall::word`].
    pub word: u64,
    /// The handle that the call was given, or a communicator's number.
    pub comm: u64,
    /// Of the latest call.
    pub begin_ticks: u64,
    /// Of the latest call that returned, or 0: inside of a call it is less than the begin. Both are 0 where no thread is.
    pub end_ticks: u64,
    /// Number of the thread in its process.
    pub thread: u32,
    /// 0: called by the program, else from within a call of the level below.
    pub level: u32,
    /// The call's return address, in the memory of the process. 0: unknown.
    pub caller: u64,
    /// The latest return address of a Fortran call that leaves it to the C function to count, and the one that the library's Fortran layer
    /// calls that function from.
    pub fortran_caller: u64,
    pub fortran_layer: u64,
}

const _: () = assert!(size_of::<InFlightCall>() == 64);

pub const IN_FLIGHT_LEVELS: usize = 3;

/// Low bits of `begin_ticks`, which the word has as well: so a reader sees that both were written together.
const IN_FLIGHT_CHECK: u64 = 0xffff;
const IN_FLIGHT_HANDLE: u64 = 1 << 32;

impl InFlightCall {
    /// Where [`InFlightCall::caller`] lies, for code that writes it without this structure.
    pub const CALLER_OFFSET: usize = std::mem::offset_of!(InFlightCall, caller);

    /// An operation; whether `comm` is a handle, which may be none at all, or a number.
    #[inline(always)]
    pub const fn word(operation: u16, is_handle: bool, begin_ticks: u64) -> u64 {
        (operation as u64) << 16 | (is_handle as u64 * IN_FLIGHT_HANDLE) | begin_ticks & IN_FLIGHT_CHECK
    }

    #[inline(always)]
    pub const fn is_inside(begin_ticks: u64, end_ticks: u64) -> bool {
        begin_ticks > end_ticks
    }

    /// The operation of the call that the thread is in. None in the program, and none where the reader came between two of the
    /// words: then the thread was just about to enter a call.
    pub fn operation(&self) -> Option<u16> {
        let is_whole = (self.word ^ self.begin_ticks) & IN_FLIGHT_CHECK == 0;
        (is_whole && InFlightCall::is_inside(self.begin_ticks, self.end_ticks)).then_some((self.word >> 16) as u16)
    }

    pub fn is_of_handle(&self) -> bool {
        self.word & IN_FLIGHT_HANDLE != 0
    }

    /// Where the program called, in C or in Fortran.
    #[inline(always)]
    pub fn called_from(&self) -> u64 {
        if self.caller == self.fortran_layer { self.fortran_caller } else { self.caller }
    }
}

/// The text of a field that ends at its first zero byte; bytes that are no UTF-8 are replaced.
pub fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(text_bytes(field)).into_owned()
}

/// The bytes of such a field.
pub fn text_bytes(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    &field[..end]
}

/// Fills a text field, cutting what does not fit at a character's boundary.
pub fn set_text(field: &mut [u8], text: &str) {
    let mut end = text.len().min(field.len() - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    field.fill(0);
    field[..end].copy_from_slice(&text.as_bytes()[..end]);
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

    /// Programs that are running write by these numbers.
    #[test]
    fn words_of_a_call_in_flight_stay_where_they_are() {
        use std::mem::offset_of;
        let words =
            [offset_of!(InFlightCall, word), offset_of!(InFlightCall, begin_ticks), offset_of!(InFlightCall, thread)];
        assert_eq!((words, InFlightCall::CALLER_OFFSET), ([0, 16, 32], 40));
        let words =
            [offset_of!(Communicator, size), offset_of!(Communicator, remote), offset_of!(Communicator, handle)];
        assert_eq!((words, offset_of!(Communicator, site_low)), ([36, 40, 56], 50));
    }

    #[test]
    fn bounds_lie_around_durations_in_their_order() {
        let mut durations: Vec<u64> =
            (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, (1 << bit) + 1, 3 << bit]).collect();
        durations.extend([0, u64::MAX, u64::MAX - 1, (1 << 27) + 12_345, 123_456_789_012_345]);
        durations.sort_unstable();
        for pair in durations.windows(2) {
            assert!(Bound::below(pair[0]) <= Bound::below(pair[1]) && Bound::above(pair[0]) <= Bound::above(pair[1]));
        }
        for ticks in durations {
            let (below, above) = (Bound::below(ticks).ticks(), Bound::above(ticks).ticks());
            assert!(below <= ticks && ticks <= above, "{below} {ticks} {above}");
            assert!(ticks >> 27 > 0 || below == ticks && above == ticks);
            assert!((ticks - below) as f64 <= ticks as f64 * 2e-8);
            assert!(Bound::above(ticks) < Bound::LONGEST);
        }
    }
}
