//! From a library's handles to 64 bits: read without a lock, changed under one.

use std::sync::{Mutex, MutexGuard};

use crate::table::{Shared, Writer};

pub struct Pointers {
    table: Shared<u64>,
    writer: Mutex<Writer>,
    /// Says that there is no memory.
    lost: fn(),
}

impl Pointers {
    /// `lost` is called where there is no memory for an entry.
    pub const fn new(lost: fn()) -> Pointers {
        Pointers { table: Shared::new(), writer: Mutex::new(Writer::new()), lost }
    }

    #[inline(always)]
    pub fn get(&self, key: usize) -> Option<u64> {
        self.table.get(key)
    }

    /// False if there is no memory: it is not known then, as if it had been made before this module was there. Null is known to nobody.
    pub fn set(&self, key: usize, value: u64) -> bool {
        if key == 0 {
            return false;
        }
        let is_set = self.table.set(&mut self.writer(), key, value);
        if !is_set {
            (self.lost)();
        }
        is_set
    }

    pub fn remove(&self, key: usize) -> Option<u64> {
        self.table.remove(&mut self.writer(), key)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
