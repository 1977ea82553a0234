//! To which communicator a matched message belongs: MPI has no call that tells, so it is kept from the probe to the
//! receive.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::abi::Word;
use crate::communicators::{self, Record};

struct Address(Record);

// SAFETY: records are never freed.
unsafe impl Send for Address {}

/// Several live messages may share a handle, as requests do: the latest is taken first, since a message is usually
/// received right behind its probe.
static MATCHED: Mutex<Option<HashMap<Word, Vec<Address>>>> = parking_lot::const_mutex(None);

/// `MPI_Mprobe` or `MPI_Improbe` has matched a message.
pub fn matched(message: Word, record: Record) {
    if record == communicators::none() {
        return;
    }
    MATCHED.lock().get_or_insert_default().entry(message).or_default().push(Address(record));
}

/// The message is about to be received (afterwards its handle may be another's); the row `-` if it was never seen, as
/// `MPI_MESSAGE_NO_PROC` is not.
pub fn received(message: Word) -> Record {
    let mut guard = MATCHED.lock();
    let messages = guard.get_or_insert_default();
    let Some(records) = messages.get_mut(&message) else { return communicators::none() };
    let record = records.pop().map_or(communicators::none(), |address| address.0);
    if records.is_empty() {
        messages.remove(&message);
    }
    record
}
