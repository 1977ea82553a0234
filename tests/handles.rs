//! The table from handles to records, as the library is compiled with it.

extern crate commsee as vocabulary;

mod abi {
    pub type Word = usize;
}
#[allow(dead_code)]
#[path = "../profiler/src/objects/handles.rs"]
mod handles;
/// Memory that is never refused.
mod memory {
    pub fn lose_call() {
        panic!("there is memory");
    }
    pub fn give_up_call() {
        panic!("nobody holds the lock for long");
    }
}
#[allow(dead_code)]
#[path = "../profiler/src/guest/generation.rs"]
mod generation;
#[allow(dead_code)]
#[path = "../profiler/src/guest/serial.rs"]
mod serial;
#[allow(dead_code)]
#[path = "../profiler/src/guest/state.rs"]
mod state;

/// The folders in which it finds them.
mod guest {
    pub(crate) use crate::{generation, serial, state};
}
mod mpi {
    pub(crate) use crate::abi;
}
mod shard {
    pub(crate) use crate::memory;
}

use std::collections::HashMap;
use std::ptr;
use std::sync::OnceLock;

use bytemuck::Zeroable;
use commsee::shard::{Communicator, REMEMBERED};
use generation::generation;
use handles::Handles;

/// As many as the tests tell apart.
const RECORDS: usize = 60_000;

fn record(number: usize) -> *mut Communicator {
    static RECORDS_AT: OnceLock<usize> = OnceLock::new();
    assert!(number < RECORDS);
    let first =
        RECORDS_AT.get_or_init(|| vec![Communicator::zeroed(); RECORDS].leak().as_mut_ptr().expose_provenance());
    ptr::with_exposed_provenance_mut::<Communicator>(*first).wrapping_add(number)
}

#[test]
fn what_a_program_passes_by_mistake_is_not_found() {
    let handles = Handles::new();
    assert_eq!((handles.find(7), handles.leave(7)), (None, None));
    handles.enter(7, record(1));
    handles.leave(7);
    // The values that mark empty and abandoned places.
    assert_eq!((handles.find(usize::MAX), handles.find(usize::MAX - 1)), (None, None));
}

/// Few handles that come and go leave gaps, behind which a handle may stand that is entered once more; many make the table
/// grow.
#[test]
fn a_handle_means_what_was_entered_last() {
    for count in [5, 100, 3000] {
        let (handles, mut known) = (Handles::new(), HashMap::new());
        // Knuth's MMIX generator.
        let mut random = 1u64;
        for step in 0..RECORDS {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let handle = (random >> 33) as usize % count * 16;
            match random >> 62 {
                0 | 1 => {
                    handles.enter(handle, record(step));
                    known.insert(handle, record(step));
                }
                2 => assert_eq!(handles.leave(handle), known.remove(&handle)),
                _ => assert_eq!(handles.find(handle), known.get(&handle).copied()),
            }
        }
    }
}

/// What was found holds as long as the generation: it ends with each handle whose meaning somebody remembers.
#[test]
fn a_generation_ends_with_what_is_remembered() {
    let handles = Handles::new();
    let remembered = Box::leak(Box::new(Communicator { flags: REMEMBERED, ..Communicator::zeroed() }));
    let before = generation();
    handles.enter(16, remembered);
    assert_eq!(handles.leave(16), Some(ptr::from_mut(remembered)));
    assert!(generation() > before);
}
