//! A table from handles to the records of communicators. Looking up takes no lock; entering and leaving are serial.

use commsee_runtime::table::{Shared, Writer};
use vocabulary::shard::{Communicator, REMEMBERED};

use crate::guest::generation;
use crate::guest::serial::Serial;
use crate::guest::state::{self, Alone, next_generation};
use crate::mpi::abi::Word;
use crate::shard::memory;

type Record = *mut Communicator;

pub struct Handles {
    table: Shared<Record>,
    writer: Serial<Writer>,
}

impl Handles {
    pub const fn new() -> Handles {
        Handles { table: Shared::new(), writer: Serial::new(Writer::new()) }
    }

    /// Whether a handle can be entered now.
    pub fn are_open(&self) -> bool {
        self.writer.with(|_| ()).is_some()
    }

    pub fn find(&self, handle: Word) -> Option<Record> {
        self.table.get(handle)
    }

    /// Gives a record a handle, which may have been another record's until now.
    #[inline(always)]
    pub fn enter(&self, handle: Word, record: Record) {
        match state::alone() {
            Some(alone) => self.enter_alone(alone, handle, record),
            None => self.enter_locked(handle, record),
        }
    }

    #[inline(always)]
    pub fn enter_alone(&self, alone: Alone, handle: Word, record: Record) {
        // SAFETY: what follows calls nothing that comes back here.
        let writer = unsafe { self.writer.of(alone) };
        match self.table.replace(writer, handle, record) {
            // Nobody remembers that a handle means nothing. But hook modules do.
            Some(None) => state::raise_epoch_of_handles(alone),
            replaced => self.replaced(writer, handle, record, replaced),
        }
    }

    #[cold]
    #[inline(never)]
    fn enter_locked(&self, handle: Word, record: Record) {
        let is_entered = self.writer.with(|writer| match self.table.replace(writer, handle, record) {
            Some(None) => state::raise_epoch(),
            replaced => self.replaced(writer, handle, record, replaced),
        });
        if is_entered.is_none() {
            // As where there is no room.
            memory::give_up_call();
        }
    }

    /// The handle had a meaning, or there was no room for it.
    #[cold]
    #[inline(never)]
    fn replaced(&self, writer: &mut Writer, handle: Word, record: Record, replaced: Option<Option<Record>>) {
        match replaced {
            Some(Some(known)) if known != record => next_generation(),
            Some(_) => state::raise_epoch(),
            None => {
                // Then it is not known, or met as one that another library made.
                if self.table.remove(writer, handle).is_some() {
                    next_generation();
                }
                memory::lose_call();
            }
        }
    }

    /// Takes a handle away.
    #[inline(always)]
    pub fn leave(&self, handle: Word) -> Option<Record> {
        match state::alone() {
            Some(alone) => self.leave_alone(alone, handle),
            None => self.leave_locked(handle),
        }
    }

    #[inline(always)]
    pub fn leave_alone(&self, alone: Alone, handle: Word) -> Option<Record> {
        // SAFETY: as above.
        let record = self.table.remove(unsafe { self.writer.of(alone) }, handle)?;
        // SAFETY: records are never freed.
        if unsafe { (*record).flags } & REMEMBERED != 0 {
            generation::end_alone();
        }
        state::raise_epoch_of_handles(alone);
        Some(record)
    }

    #[cold]
    #[inline(never)]
    fn leave_locked(&self, handle: Word) -> Option<Record> {
        let left = self.writer.with(|writer| {
            let record = self.table.remove(writer, handle)?;
            next_generation();
            Some(record)
        });
        left.unwrap_or_else(|| {
            memory::give_up_call();
            // It keeps its meaning, and its record is that of whoever gets the handle next.
            self.find(handle)
        })
    }
}
