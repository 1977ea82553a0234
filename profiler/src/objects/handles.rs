//! A table from handles to the records of communicators. Looking up takes no lock; entering and leaving are serial.

use std::sync::atomic::{AtomicU64, Ordering};

use commsee_runtime::table::{Shared, Writer};
use vocabulary::shard::Communicator;

use crate::guest::serial::Serial;
use crate::guest::state;
use crate::mpi::abi::Word;
use crate::shard::memory;

type Record = *mut Communicator;

pub struct Handles {
    table: Shared<Record>,
    writer: Serial<Writer>,
}

/// Raised whenever a handle of any table loses its meaning, or calls begin to be counted in another phase: so that nobody trusts what
/// he found before. 0 is no generation.
static GENERATION: AtomicU64 = AtomicU64::new(1);

#[inline(always)]
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// What was found out so far is looked up again.
pub fn next_generation() {
    GENERATION.fetch_add(1, Ordering::Release);
    state::raise_epoch();
}

impl Handles {
    pub const fn new() -> Handles {
        Handles { table: Shared::new(), writer: Serial::new(Writer::new()) }
    }

    pub fn find(&self, handle: Word) -> Option<Record> {
        self.table.get(handle)
    }

    /// Gives a record a handle, which may have been another record's until now.
    pub fn enter(&self, handle: Word, record: Record) {
        self.writer.with(|writer| {
            let known = self.table.get(handle);
            if !self.table.set(writer, handle, record) {
                // Then it is not known, or met as one that another library made.
                self.table.remove(writer, handle);
                memory::lose_call();
            }
            // Nobody remembers that a handle means nothing.
            match known {
                Some(known) if known != record => next_generation(),
                // But hook modules do.
                _ => state::raise_epoch(),
            }
        });
    }

    /// Takes a handle away.
    pub fn leave(&self, handle: Word) -> Option<Record> {
        self.writer.with(|writer| {
            let record = self.table.remove(writer, handle)?;
            next_generation();
            Some(record)
        })
    }
}
