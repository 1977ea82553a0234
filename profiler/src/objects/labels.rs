//! What the program calls its communicators by last (`MPI_Comm_set_name`).

use std::collections::HashMap;
use std::ptr::NonNull;

use parking_lot::Mutex;
use vocabulary::shard::{LABELS, Text, set_text};

use crate::objects::communicators::Record;
use crate::shard::memory;
use crate::shard::texts::Texts;

/// By the communicator's number.
struct Labels {
    places: Option<HashMap<u32, NonNull<Text>>>,
    texts: Texts,
}

// SAFETY: texts are only touched under the lock.
unsafe impl Send for Labels {}

static ALL: Mutex<Labels> = parking_lot::const_mutex(Labels { places: None, texts: Texts::new(LABELS) });

pub unsafe fn set(record: Record, label: &str) {
    let Labels { places, texts } = &mut *ALL.lock();
    let places = places.get_or_insert_default();
    // SAFETY: records are never freed, and texts stay where they are.
    unsafe {
        let number = (*record).number;
        if let Some(place) = places.get_mut(&number) {
            set_text(&mut place.as_mut().text, label);
        } else if places.try_reserve(1).is_err() {
            memory::lose_call();
        } else if let Some(place) = texts.add(number, 0, label) {
            places.insert(number, place);
        }
    }
}
