//! Copies within a host, out of memory that its ranks share: no message at all. The receiver copies when the sender's flag says that its data are there.

use std::ptr::addr_of_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use mpi::ffi::{self, MPI_Aint, MPI_Win};

use super::{Exchange, Library, Task, Unavailable};
use crate::memory::Kind;

pub struct Shared;

impl Library for Shared {
    fn name(&self) -> String {
        "shared".to_owned()
    }

    fn memory(&self) -> Kind {
        Kind::Shared
    }

    fn takes_device_memory(&self) -> bool {
        false
    }

    fn prepare(&self, task: &Task) -> Result<Box<dyn Exchange>, Unavailable> {
        let world = task.world;
        if let Some(far) = task.messages.iter().find(|one| world.host(one.source) != world.host(one.destination)) {
            let why = format!(
                "ranks {} and {} are on different hosts; take it within groups only: shared/twosided",
                far.source, far.destination
            );
            return Err(Unavailable { library: self.name(), why });
        }
        let (rank, host) = (world.rank(), world.host(world.rank()));
        let here: Vec<_> = task.messages.iter().filter(|message| world.host(message.source) == host).collect();
        let flags = Flags::new(task, here.len());
        let copies = here.iter().enumerate().filter(|(_, message)| message.destination == rank);
        let copies = copies.filter_map(|(flag, message)| {
            let from = task.memory.of(message.source, message.from)?;
            Some(Copy { from, to: task.memory.at(message.to), bytes: message.bytes as usize, flag })
        });
        let copies = copies.collect();
        let sent =
            here.iter().enumerate().filter(|(_, message)| message.source == rank).map(|(flag, _)| flag).collect();
        Ok(Box::new(Copies { flags, copies, sent, epoch: 0 }))
    }
}

/// Two numbers for each message of the host, in the shared memory of its first rank: which execution has its data ready, and which was copied.
struct Flags {
    window: MPI_Win,
    begin: *mut Pair,
}

/// On cache lines of their own.
#[repr(C, align(128))]
struct Pair {
    ready: AtomicU64,
    done: AtomicU64,
}

impl Flags {
    fn new(task: &Task, messages: usize) -> Flags {
        let node = task.world.node();
        let bytes = if node.rank() == 0 { (messages.max(1) + 1) * size_of::<Pair>() } else { 0 };
        let (mut own, mut first): (*mut u8, *mut u8) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: collective over the host; pointers are written before they are read. Zeroes are flags of no execution.
        let window = unsafe {
            let mut window = ffi::RSMPI_WIN_NULL;
            let (info, own_at) = (ffi::RSMPI_INFO_NULL, addr_of_mut!(own).cast());
            ffi::MPI_Win_allocate_shared(bytes as MPI_Aint, 1, info, node.raw(), own_at, addr_of_mut!(window));
            let (mut size, mut unit): (MPI_Aint, i32) = (0, 0);
            ffi::MPI_Win_shared_query(window, 0, addr_of_mut!(size), addr_of_mut!(unit), addr_of_mut!(first).cast());
            if bytes > 0 {
                std::ptr::write_bytes(own, 0, bytes);
            }
            window
        };
        task.world.barrier();
        let aligned = first.align_offset(align_of::<Pair>());
        // SAFETY: one more than there are messages, so that all fit behind the gap.
        Flags { window, begin: unsafe { first.add(aligned) }.cast() }
    }

    fn pair(&self, message: usize) -> &Pair {
        // SAFETY: within the window, which lives as long as this; both numbers are atomic.
        unsafe { &*self.begin.add(message) }
    }
}

impl Drop for Flags {
    fn drop(&mut self) {
        // SAFETY: collective, as all ranks drop it at one place.
        unsafe { ffi::MPI_Win_free(addr_of_mut!(self.window)) };
    }
}

struct Copy {
    from: *const u8,
    to: *mut u8,
    bytes: usize,
    flag: usize,
}

struct Copies {
    flags: Flags,
    copies: Vec<Copy>,
    /// Flags of the messages that this rank sends.
    sent: Vec<usize>,
    epoch: u64,
}

impl Exchange for Copies {
    fn start(&mut self) {
        self.epoch += 1;
        for &flag in &self.sent {
            self.flags.pair(flag).ready.store(self.epoch, Ordering::Release);
        }
    }

    fn wait(&mut self) {
        for copy in &self.copies {
            let pair = self.flags.pair(copy.flag);
            until(&pair.ready, self.epoch);
            // SAFETY: the sender does not touch it before it is done; nobody else writes to the result.
            unsafe { std::ptr::copy_nonoverlapping(copy.from, copy.to, copy.bytes) };
            pair.done.store(self.epoch, Ordering::Release);
        }
        for &flag in &self.sent {
            until(&self.flags.pair(flag).done, self.epoch);
        }
    }
}

/// Spins, and lets others run where there are more ranks than processors.
fn until(number: &AtomicU64, epoch: u64) {
    let mut spins = 0u32;
    while number.load(Ordering::Acquire) < epoch {
        spins += 1;
        if spins.is_multiple_of(128) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}
