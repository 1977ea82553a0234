//! What the program calls its communicators by last (`MPI_Comm_set_name`).

use std::collections::HashMap;
use std::ptr::NonNull;

use vocabulary::shard::{LABELS, Text, set_text};

use crate::guest::signals::Undisturbed;
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

static ALL: Undisturbed<Labels> = Undisturbed::new(Labels { places: None, texts: Texts::new(LABELS) });

pub unsafe fn set(record: Record, label: &str) {
    // SAFETY: records are never freed.
    let number = unsafe { (*record).number };
    ALL.with(|labels| labels.set(number, label));
}

impl Labels {
    fn set(&mut self, number: u32, label: &str) {
        let places = self.places.get_or_insert_default();
        if let Some(place) = places.get_mut(&number) {
            // SAFETY: texts stay where they are.
            set_text(unsafe { &mut place.as_mut().text }, label);
        } else if places.try_reserve(1).is_err() {
            memory::lose_call();
        } else if let Some(place) = self.texts.add(number, 0, label) {
            places.insert(number, place);
        }
    }
}
