//! The size of a datatype. The sizes of predefined ones are read once, in `MPI_Init`; a derived one is asked for each time,
//! because its handle may be freed and given to another.

mod describe;
mod registry;

use std::env;

use vocabulary::settings;

pub use registry::{Recent, are_recorded, forget, number_of};

use crate::guest::set_once::SetOnce;
use crate::mpi::abi::{Datatypes, Word, abi};
use crate::mpi::{pmpi, real};

/// Open addressing with at most half of the places taken.
struct Sizes {
    slots: Box<[(Word, u64)]>,
    shift: u32,
}

const EMPTY: Word = Word::MAX;

static SIZES: SetOnce<Sizes> = SetOnce::new();

#[inline(always)]
fn first_slot(datatype: Word, shift: u32) -> usize {
    ((datatype as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize
}

/// Reads the sizes of all predefined datatypes, and whether uses of datatypes are recorded.
pub fn prepare() {
    if settings::is_on(env::var(settings::DATATYPES).ok().as_deref()) {
        registry::record();
    }
    let known: Vec<(Word, Option<u64>)> = match abi().family.datatypes {
        Datatypes::Values { handles, told_bytes } => {
            handles.iter().map(|handle| (*handle, told_bytes(*handle))).collect()
        }
        Datatypes::Symbols(names) => names.iter().filter_map(|name| Some((real::data(name)?, None))).collect(),
    };
    let slots = (known.len() * 2).next_power_of_two();
    let mut sizes = Sizes { slots: vec![(EMPTY, 0); slots].into(), shift: 64 - slots.trailing_zeros() };
    for (handle, told) in known {
        let Some(size) = told.or_else(|| ask(handle)) else { continue };
        let mut slot = first_slot(handle, sizes.shift);
        while sizes.slots[slot].0 != EMPTY {
            slot = (slot + 1) % slots;
        }
        sizes.slots[slot] = (handle, size);
    }
    // SAFETY: called in `MPI_Init`, before recording starts.
    unsafe { SIZES.set(sizes) };
}

/// Bytes of data in one element; 0 where the library cannot say.
#[inline(always)]
pub fn size(datatype: Word) -> u64 {
    predefined(datatype).unwrap_or_else(|| asked(datatype))
}

#[cold]
#[inline(never)]
fn asked(datatype: Word) -> u64 {
    let datatype = datatype & abi().mask;
    // A call that was given none may only seem to have succeeded.
    if datatype == abi().datatype_null { 0 } else { ask(datatype).unwrap_or(0) }
}

/// The same of a predefined datatype, whose handle never means anything else.
#[inline(always)]
pub fn predefined(datatype: Word) -> Option<u64> {
    let datatype = datatype & abi().mask;
    // SAFETY: wrappers get here only while recording is on.
    let sizes = unsafe { SIZES.get() };
    let mut slot = first_slot(datatype, sizes.shift);
    while let Some((handle, size)) = sizes.slots.get(slot) {
        if *handle == datatype {
            return Some(*size);
        }
        if *handle == EMPTY {
            break;
        }
        slot = (slot + 1) & (sizes.slots.len() - 1);
    }
    None
}

fn ask(datatype: Word) -> Option<u64> {
    let mut size = 0;
    // SAFETY: the handle comes from a call that succeeded, or from the family's table.
    unsafe { pmpi::type_size_x(datatype, &mut size)? };
    u64::try_from(size).ok()
}
