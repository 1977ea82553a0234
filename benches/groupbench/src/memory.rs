//! The memory of a rank: its arenas one behind the other, private or in a window that the ranks of a host share.

use std::ptr::{NonNull, addr_of_mut};

use mpi::ffi::{self, MPI_Aint, MPI_Win};

use crate::gpu::Driver;
use crate::mpi::World;
use crate::pattern::{Arena, Delivery, Extent, Pattern, Place};

/// Where arenas begin: at pages of their own.
const ALIGNED: u64 = 4096;

/// Where each rank's arenas begin, in its memory.
#[derive(Clone, Debug)]
pub struct Layout {
    extents: Vec<Extent>,
}

impl Layout {
    pub fn of(pattern: &Pattern) -> Layout {
        Layout { extents: pattern.extents() }
    }

    /// Bytes from the begin of a rank's memory.
    pub fn offset(&self, rank: usize, place: Place) -> u64 {
        let extent = self.extents.get(rank).copied().unwrap_or_default();
        let given = extent.given.next_multiple_of(ALIGNED);
        let relay = extent.relay.next_multiple_of(ALIGNED);
        place.offset
            + match place.arena {
                Arena::Given => 0,
                Arena::Relay => given,
                Arena::Result => given + relay,
            }
    }

    /// Ranks without messages need none.
    pub fn bytes(&self, rank: usize) -> u64 {
        self.extents.get(rank).map_or(0, |extent| {
            [extent.given, extent.relay, extent.result].iter().map(|bytes| bytes.next_multiple_of(ALIGNED)).sum()
        })
    }

    fn given(&self, rank: usize) -> u64 {
        self.extents.get(rank).map_or(0, |extent| extent.given)
    }
}

/// What a library needs of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Private,
    /// The ranks of a host see each other's.
    Shared,
    /// Of a GPU.
    Device,
}

#[derive(Debug, thiserror::Error)]
pub enum NoMemory {
    #[error(
        "{bytes} bytes of memory for messages cannot be had on rank {rank}: take smaller sizes by --bytes, or fewer ranks on a host"
    )]
    Refused { bytes: u64, rank: usize },
    #[error("memory of a GPU: {0}")]
    NoGpu(String),
}

/// One rank's memory for a pattern.
pub struct Memory {
    layout: Layout,
    rank: usize,
    begin: NonNull<u8>,
    bytes: usize,
    window: Option<Window>,
    /// Where it is a GPU's.
    driver: Option<&'static Driver>,
}

/// Memory that the ranks of a host share.
struct Window {
    window: MPI_Win,
    /// Where each rank of the world has it here; null for those of other hosts.
    begins: Vec<*mut u8>,
}

impl Memory {
    /// Collective: all ranks have it or none.
    pub fn new(world: &World, pattern: &Pattern, kind: Kind) -> Result<Memory, NoMemory> {
        let layout = Layout::of(pattern);
        let bytes = layout.bytes(world.rank()).max(ALIGNED);
        let refused = |has: bool| {
            let missing = world.all(if has { 0.0 } else { bytes as f64 });
            let rank = missing.iter().position(|bytes| *bytes > 0.0);
            rank.map(|rank| NoMemory::Refused { bytes: missing[rank] as u64, rank })
        };
        let driver = match kind {
            Kind::Device => Some(world.agreed(Driver::get(world.node().rank())).map_err(NoMemory::NoGpu)?),
            Kind::Private | Kind::Shared => None,
        };
        // Shared memory that cannot be had ends the job: its size is asked first, from memory of one's own.
        let begin = match driver {
            Some(driver) => driver.allocate(bytes as usize).and_then(NonNull::new),
            None => private(bytes),
        };
        let has_room = kind != Kind::Shared || has_shared_room(world, bytes);
        let told = refused(begin.is_some() && has_room);
        let (begin, window) = match (told, begin) {
            (None, Some(own)) if kind == Kind::Shared => {
                free(own, bytes as usize);
                let (begin, window) = shared(world, bytes);
                (begin, Some(window))
            }
            (None, Some(begin)) => (begin, None),
            (told, begin) => {
                if let Some(begin) = begin {
                    release(begin, bytes as usize, driver);
                }
                return Err(told.unwrap_or(NoMemory::Refused { bytes, rank: world.rank() }));
            }
        };
        Ok(Memory { layout, rank: world.rank(), begin, bytes: bytes as usize, window, driver })
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Of this rank.
    pub fn extent(&self) -> Extent {
        self.layout.extents.get(self.rank).copied().unwrap_or_default()
    }

    pub fn begin(&self) -> *mut u8 {
        self.begin.as_ptr()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// This rank's own.
    pub fn at(&self, place: Place) -> *mut u8 {
        let offset = self.layout.offset(self.rank, place) as usize;
        assert!(offset <= self.bytes, "{place:?} lies outside of the memory of rank {}", self.rank);
        // SAFETY: within the memory.
        unsafe { self.begin.as_ptr().add(offset) }
    }

    /// Another rank's of this host, where memory is shared.
    pub fn of(&self, rank: usize, place: Place) -> Option<*mut u8> {
        if rank == self.rank {
            return Some(self.at(place));
        }
        let begin = *self.window.as_ref()?.begins.get(rank)?;
        // SAFETY: the layout is that of all ranks.
        (!begin.is_null()).then(|| unsafe { begin.add(self.layout.offset(rank, place) as usize) })
    }

    fn write(&mut self, place: Place, bytes: &[u8]) {
        let to = self.at(place);
        // SAFETY: extents hold all messages and deliveries; nobody else writes while nothing is in flight.
        unsafe {
            match self.driver {
                Some(driver) => driver.write(to, bytes),
                None => std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()),
            }
        }
    }

    fn read(&self, place: Place, bytes: &mut [u8]) {
        let from = self.at(place);
        // SAFETY: as above.
        unsafe {
            match self.driver {
                Some(driver) => driver.read(from, bytes),
                None => std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()),
            }
        }
    }

    /// What this rank gives, written by `seed`; where its result will be, the contrary of what must arrive.
    pub fn prepare(&mut self, pattern: &Pattern, seed: u64) {
        let mut part = vec![0; PART_BYTES];
        for (offset, bytes) in parts(self.layout.given(self.rank)) {
            let part = &mut part[..bytes];
            contents(seed, self.rank, offset, part);
            self.write(Place { arena: Arena::Given, offset }, part);
        }
        for delivery in deliveries(pattern, self.rank) {
            for (offset, bytes) in parts(delivery.bytes) {
                let part = &mut part[..bytes];
                contents(seed, delivery.source, delivery.source_offset + offset, part);
                part.iter_mut().for_each(|byte| *byte = !*byte);
                self.write(Place { arena: Arena::Result, offset: delivery.offset + offset }, part);
            }
        }
    }

    /// Bytes that are not what must have arrived.
    pub fn wrong(&self, pattern: &Pattern, seed: u64) -> u64 {
        let mut wrong = 0;
        let (mut expected, mut got) = (vec![0; PART_BYTES], vec![0; PART_BYTES]);
        for delivery in deliveries(pattern, self.rank) {
            for (offset, bytes) in parts(delivery.bytes) {
                let (expected, got) = (&mut expected[..bytes], &mut got[..bytes]);
                contents(seed, delivery.source, delivery.source_offset + offset, expected);
                self.read(Place { arena: Arena::Result, offset: delivery.offset + offset }, got);
                if got != expected {
                    wrong += got.iter().zip(expected.iter()).filter(|(got, expected)| got != expected).count() as u64;
                }
            }
        }
        wrong
    }
}

/// What is written or checked at once.
const PART_BYTES: usize = 1 << 16;

/// Begin and length of the parts of so many bytes.
fn parts(bytes: u64) -> impl Iterator<Item = (u64, usize)> {
    (0..bytes).step_by(PART_BYTES).map(move |begin| (begin, (bytes - begin).min(PART_BYTES as u64) as usize))
}

fn deliveries(pattern: &Pattern, rank: usize) -> impl Iterator<Item = &Delivery> {
    pattern.deliveries.iter().filter(move |delivery| delivery.destination == rank)
}

/// What rank `source` gives from `offset` on: every word depends on its place, so that no other word is taken for it.
fn contents(seed: u64, source: usize, offset: u64, into: &mut [u8]) {
    let word = |index: u64| {
        // splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
        let mut word = seed ^ (source as u64).rotate_left(40) ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ (word >> 31)).to_le_bytes()
    };
    let mut at = 0;
    while at < into.len() {
        let position = offset + at as u64;
        let bytes = word(position / 8);
        let skipped = (position % 8) as usize;
        let part = (8 - skipped).min(into.len() - at);
        into[at..at + part].copy_from_slice(&bytes[skipped..skipped + part]);
        at += part;
    }
}

fn private(bytes: u64) -> Option<NonNull<u8>> {
    let bytes = usize::try_from(bytes).ok()?;
    // SAFETY: a new mapping. MAP_POPULATE touches it: unwritten pages would all be the kernel's one page of zeroes.
    let begin = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
            -1,
            0,
        )
    };
    if begin == libc::MAP_FAILED { None } else { NonNull::new(begin.cast()) }
}

/// Whether the ranks of this host together find room where shared memory lies, which is small in many containers. Collective.
fn has_shared_room(world: &World, bytes: u64) -> bool {
    let wanted = world.all(bytes as f64);
    let here = |rank: &usize| world.host(*rank) == world.host(world.rank());
    let all: f64 = (0..world.size()).filter(here).map(|rank| wanted[rank]).sum();
    // SAFETY: zeroes are a valid value, which the call writes to.
    let free = unsafe {
        let mut system: libc::statvfs = std::mem::zeroed();
        match libc::statvfs(c"/dev/shm".as_ptr(), &raw mut system) {
            0 => system.f_bavail as f64 * system.f_frsize as f64,
            // Where there is none it lies elsewhere.
            _ => f64::INFINITY,
        }
    };
    all < free
}

fn free(begin: NonNull<u8>, bytes: usize) {
    // SAFETY: as `private` made it.
    unsafe { libc::munmap(begin.as_ptr().cast(), bytes) };
}

fn shared(world: &World, bytes: u64) -> (NonNull<u8>, Window) {
    let node = world.node();
    let mut begins = vec![std::ptr::null_mut::<u8>(); world.size()];
    let mut own: *mut u8 = std::ptr::null_mut();
    // SAFETY: collective over the ranks of this host; pointers are written before they are read.
    let window = unsafe {
        let mut window = ffi::RSMPI_WIN_NULL;
        ffi::MPI_Win_allocate_shared(
            bytes as MPI_Aint,
            1,
            ffi::RSMPI_INFO_NULL,
            node.raw(),
            addr_of_mut!(own).cast(),
            addr_of_mut!(window),
        );
        std::ptr::write_bytes(own, 0, bytes as usize);
        window
    };
    let kin = (0..world.size()).filter(|rank| world.host(*rank) == world.host(world.rank()));
    for (index, rank) in kin.enumerate() {
        let (mut size, mut unit): (MPI_Aint, i32) = (0, 0);
        // SAFETY: as above; ranks of the host are ordered as in the world.
        unsafe {
            let begin = addr_of_mut!(begins[rank]).cast();
            ffi::MPI_Win_shared_query(window, index as i32, addr_of_mut!(size), addr_of_mut!(unit), begin);
        }
    }
    let begin = NonNull::new(own).expect("MPI_Win_allocate_shared ends the job where it fails");
    (begin, Window { window, begins })
}

/// Gives back what is no window.
fn release(begin: NonNull<u8>, bytes: usize, driver: Option<&Driver>) {
    match driver {
        // SAFETY: made by the driver, and not used any more.
        Some(driver) => unsafe { driver.free(begin.as_ptr()) },
        None => free(begin, bytes),
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match &mut self.window {
            // SAFETY: collective, as all ranks drop it at one place.
            Some(window) => unsafe {
                ffi::MPI_Win_free(addr_of_mut!(window.window));
            },
            None => release(self.begin, self.bytes, self.driver),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_depend_on_place_alone() {
        let mut whole = vec![0; 100];
        contents(7, 3, 5, &mut whole);
        let mut part = vec![0; 31];
        contents(7, 3, 5 + 13, &mut part);
        assert_eq!(part, whole[13..44]);
        contents(7, 4, 5, &mut part);
        assert_ne!(part, whole[..31]);
        contents(8, 3, 5, &mut part);
        assert_ne!(part, whole[..31]);
    }
}
