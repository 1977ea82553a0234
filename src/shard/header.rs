//! The first page of a shard: whose it is, and how it is to be read. Plain data in the machine's own byte order, as all of it.

use bytemuck::{Pod, Zeroable};

use super::event::Sync;
use super::text::{set_text, text};
use crate::buckets::MAX_EDGES;
use crate::job::Job;

pub const MAGIC: [u8; 8] = *b"commsee\0";
/// Raised with every change of the format from the first release on: a reader accepts its own alone.
pub const FORMAT: u32 = 1;
pub const HEADER_BYTES: usize = 4096;

/// Where the process stands, in [`Header::state`].
pub const RUNNING: u32 = 1;
/// `MPI_Finalize` was reached: all counters are final.
pub const FINISHED: u32 = 2;
/// In a program with sessions only: the process has exited after the last of them.
pub const LEFT: u32 = 3;
/// A copy that was made by `MPI_Pcontrol(2)` while counting went on.
pub const SNAPSHOT: u32 = 4;

/// In [`Header::library`], of a program without MPI.
pub const WITHOUT_MPI: &str = "none";

/// What the clock of the tick counts is, in [`Header::clock`].
pub const CLOCK_TSC: u32 = 1;
pub const CLOCK_VIRTUAL_COUNTER: u32 = 2;
pub const CLOCK_MONOTONIC: u32 = 3;

/// How the process holds the lock of its shard, in [`Header::lock`]. Nothing, where the file system has no locks.
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

/// What the scheduler says of a thread until now, in nanoseconds: how long it ran, and how long it was ready to run without a processor. Zero where
/// that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Scheduled {
    pub ran_ns: u64,
    pub ready_ns: u64,
}

impl Scheduled {
    /// Of `/proc/PID/schedstat`, `109684 3246868 2`: nanoseconds on a processor, nanoseconds ready without one, and time slices.
    pub fn of_text(text: &str) -> Scheduled {
        let mut numbers = text.split_ascii_whitespace().map_while(|word| word.parse().ok());
        match (numbers.next(), numbers.next()) {
            (Some(ran_ns), Some(ready_ns)) => Scheduled { ran_ns, ready_ns },
            _ => Scheduled::default(),
        }
    }
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
    /// Processors of this host that are switched on; 0 where that is not known.
    pub processors: u32,
    /// Functions that others have in front of commsee: their calls are not recorded.
    pub hidden: [u8; 256],
    /// Of the main thread, where the run time begins and ends.
    pub scheduled: [Scheduled; 2],
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
        (constant.latest, constant.scheduled[1]) = (Moment::default(), Scheduled::default());
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        bytemuck::bytes_of(&constant).iter().fold(0xcbf2_9ce4_8422_2325, step)
    }
}

const _: () = assert!(size_of::<Header>() == HEADER_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedulers_numbers_are_read() {
        assert_eq!(Scheduled::of_text("109684 3246868 2\n"), Scheduled { ran_ns: 109_684, ready_ns: 3_246_868 });
        assert_eq!(Scheduled::of_text("garbage"), Scheduled::default());
    }
}
