//! All processes that were started together: the group that world ranks refer to. It is that of `MPI_COMM_WORLD`, or in a
//! program with sessions only that of the process set `mpi://WORLD`, which has the same ranks (MPI-4.1, 11.3.2).

use std::ffi::c_int;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::mpi::abi::{Word, abi};
use crate::mpi::pmpi::{self, Group};

/// A group's handle; 0 is none in any family.
static GROUP: AtomicU64 = AtomicU64::new(0);

/// Takes the group of a communicator.
pub fn of_communicator(comm: Word) -> Option<()> {
    // SAFETY: the communicator is alive.
    let group = unsafe { Group::of(comm) }?;
    keep(group);
    Some(())
}

/// Takes a group over, in the place of the one before.
pub fn keep(group: Group) {
    forget();
    GROUP.store(group.handle() as u64, Ordering::Release);
    mem::forget(group);
}

/// The group's handle, while MPI is there.
#[inline(always)]
pub fn group() -> Option<Word> {
    match GROUP.load(Ordering::Acquire) {
        0 => None,
        handle => Some(handle as Word),
    }
}

/// Gives the group back to the library before that ends.
pub fn forget() {
    drop(Group::from_handle(GROUP.swap(0, Ordering::AcqRel)));
}

/// World ranks of some ranks of a group. `u32::MAX` stands for a process of another world.
pub unsafe fn world_ranks(of: Word, ranks: &[c_int]) -> Option<Vec<u32>> {
    let mut translated = Vec::new();
    translated.try_reserve_exact(ranks.len()).ok()?;
    translated.resize(ranks.len(), abi().family.undefined);
    // SAFETY: both groups are alive, and there is room for as many ranks as are asked for.
    unsafe {
        let count = ranks.len() as c_int;
        pmpi::group_translate_ranks(of, count, ranks.as_ptr(), group()?, translated.as_mut_ptr())?;
    }
    Some(translated.into_iter().map(|rank| u32::try_from(rank).unwrap_or(u32::MAX)).collect())
}

/// World ranks of a whole group, in its order.
pub unsafe fn members(group: Word) -> Option<Vec<u32>> {
    // SAFETY: the caller passes a group.
    let size = unsafe { pmpi::group_size(group)? };
    let mut ranks: Vec<c_int> = Vec::new();
    ranks.try_reserve_exact(usize::try_from(size).ok()?).ok()?;
    ranks.extend(0..size);
    // SAFETY: as above; it has these ranks.
    unsafe { world_ranks(group, &ranks) }
}
