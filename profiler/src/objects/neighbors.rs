//! The neighbours of this process in a communicator with a topology, asked of the library when a neighbourhood collective
//! is first called over it.

use std::collections::HashMap;
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::guest::serial::Serial;
use crate::mpi::abi::{Word, abi};
use crate::mpi::pmpi;
use crate::objects::communicators::Record;
use crate::shard::memory;

/// Ranks of the communicator in the order of the buffers' blocks; beyond the border of a grid `MPI_PROC_NULL`, which is
/// negative and neither sends nor receives.
#[derive(Default)]
pub struct Neighbors {
    /// Of the communicator's record.
    number: u32,
    sources: Vec<c_int>,
    destinations: Vec<c_int>,
}

impl Neighbors {
    /// None at all.
    pub fn none() -> &'static Neighbors {
        &NOBODY
    }

    /// Places and ranks of the sources that exist.
    pub fn real_sources(&self) -> impl Iterator<Item = (usize, c_int)> {
        real(&self.sources)
    }

    pub fn real_destinations(&self) -> impl Iterator<Item = (usize, c_int)> {
        real(&self.destinations)
    }
}

fn real(ranks: &[c_int]) -> impl Iterator<Item = (usize, c_int)> {
    ranks.iter().copied().enumerate().filter(|(_, rank)| *rank >= 0)
}

/// Those asked for last, by the last digits of their numbers.
static LATEST: [AtomicPtr<Neighbors>; 16] = [const { AtomicPtr::new(ptr::null_mut()) }; 16];

static KNOWN: Serial<Option<HashMap<u32, &'static Neighbors>>> = Serial::new(None);

/// The neighbours in a communicator over which a call has just succeeded.
#[inline(always)]
pub fn of(record: Record, comm: Word) -> &'static Neighbors {
    // SAFETY: records are never freed.
    let number = unsafe { (*record).number };
    let place = &LATEST[number as usize % LATEST.len()];
    // SAFETY: null, or one that is kept, and was whole when it was put there.
    match unsafe { place.load(Ordering::Acquire).as_ref() } {
        Some(latest) if latest.number == number => latest,
        _ => look_up(record, comm, place),
    }
}

#[cold]
#[inline(never)]
fn look_up(record: Record, comm: Word, place: &AtomicPtr<Neighbors>) -> &'static Neighbors {
    // SAFETY: as above.
    let (number, rank) = unsafe { ((*record).number, (*record).rank as c_int) };
    let known = KNOWN.with(|known| known.as_ref()?.get(&number).copied()).flatten();
    // Without the lock: this calls the MPI library. The communicator is alive; one that has no topology gives nothing.
    // SAFETY: the caller passes a communicator.
    let asked =
        || unsafe { ask(comm & abi().mask, rank) }.and_then(|asked| memory::keep(Neighbors { number, ..asked }));
    let keep = |kept: &'static Neighbors| {
        let kept = KNOWN.with(|known| {
            let known = known.get_or_insert_default();
            known.try_reserve(1).ok().map(|()| *known.entry(number).or_insert(kept))
        });
        kept.unwrap_or(Some(&NOBODY))
    };
    let Some(found) = known.or_else(|| asked().and_then(keep)) else {
        memory::lose_call();
        return &NOBODY;
    };
    place.store(ptr::from_ref(found).cast_mut(), Ordering::Release);
    found
}

/// Where nothing could be found out: it is asked for again.
static NOBODY: Neighbors = Neighbors { number: u32::MAX, sources: Vec::new(), destinations: Vec::new() };

/// So many zeros, if there is memory for them.
fn zeros(length: c_int) -> Option<Vec<c_int>> {
    let length = usize::try_from(length).ok()?;
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(length).ok()?;
    zeros.resize(length, 0);
    Some(zeros)
}

fn copy(ranks: &[c_int]) -> Option<Vec<c_int>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(ranks.len()).ok()?;
    copy.extend_from_slice(ranks);
    Some(copy)
}

unsafe fn ask(comm: Word, rank: c_int) -> Option<Neighbors> {
    let mut neighbors = Neighbors::default();
    // SAFETY: the caller passes a communicator; what is asked of it has room for what the library says there is.
    unsafe {
        let mut topology = 0;
        pmpi::topo_test(comm, &mut topology)?;
        let family = abi().family;
        if topology == family.cart {
            let mut dimensions = 0;
            pmpi::cartdim_get(comm, &mut dimensions)?;
            neighbors.sources.try_reserve_exact(usize::try_from(dimensions).ok()? * 2).ok()?;
            for dimension in 0..dimensions {
                let (mut below, mut above) = (0, 0);
                pmpi::cart_shift(comm, dimension, 1, &mut below, &mut above)?;
                neighbors.sources.extend([below, above]);
            }
            neighbors.destinations = copy(&neighbors.sources)?;
        } else if topology == family.graph {
            let mut count = 0;
            pmpi::graph_neighbors_count(comm, rank, &mut count)?;
            neighbors.sources = zeros(count)?;
            pmpi::graph_neighbors(comm, rank, count, neighbors.sources.as_mut_ptr())?;
            neighbors.destinations = copy(&neighbors.sources)?;
        } else if topology == family.dist_graph {
            let (mut sources, mut destinations, mut weighted) = (0, 0, 0);
            pmpi::dist_graph_neighbors_count(comm, &mut sources, &mut destinations, &mut weighted)?;
            (neighbors.sources, neighbors.destinations) = (zeros(sources)?, zeros(destinations)?);
            let (mut in_weights, mut out_weights) = (zeros(sources)?, zeros(destinations)?);
            pmpi::dist_graph_neighbors(
                comm,
                sources,
                neighbors.sources.as_mut_ptr(),
                in_weights.as_mut_ptr(),
                destinations,
                neighbors.destinations.as_mut_ptr(),
                out_weights.as_mut_ptr(),
            )?;
        }
    }
    Some(neighbors)
}
