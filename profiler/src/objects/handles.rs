//! A table from handles to the records of communicators. Looking up takes no lock; entering and leaving are serial.

use std::sync::atomic::{AtomicU32, Ordering};

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
    /// Raised whenever a handle gets another meaning, so that nobody trusts what he found before.
    epoch: AtomicU32,
}

impl Handles {
    pub const fn new() -> Handles {
        Handles { table: Shared::new(), writer: Serial::new(Writer::new()), epoch: AtomicU32::new(0) }
    }

    #[inline(always)]
    pub fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    pub fn find(&self, handle: Word) -> Option<Record> {
        self.table.get(handle)
    }

    /// Gives a record a handle, which may have been another record's until now.
    pub fn enter(&self, handle: Word, record: Record) {
        self.writer.with(|writer| {
            if !self.table.set(writer, handle, record) {
                // Then it is not known, or met as one that another library made.
                self.table.remove(writer, handle);
                memory::lose_call();
            }
            self.raise_epoch();
        });
    }

    /// Takes a handle away.
    pub fn leave(&self, handle: Word) -> Option<Record> {
        self.writer.with(|writer| {
            let record = self.table.remove(writer, handle)?;
            self.raise_epoch();
            Some(record)
        })
    }

    /// There is one writer at a time.
    fn raise_epoch(&self) {
        self.epoch.store(self.epoch().wrapping_add(1), Ordering::Release);
        state::raise_epoch();
    }
}
