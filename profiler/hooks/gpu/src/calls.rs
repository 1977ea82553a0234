//! In which MPI call a copy was asked for, by the number that CUPTI gives to the call and to the copy's record.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use commsee_hook::Call;

/// So many are kept, which is some hundred times what CUPTI's buffers hold: some calls copy nothing, and their numbers never come again.
const MOST: usize = 1 << 18;

#[derive(Clone, Copy)]
struct Begun {
    call: Call,
    /// Of a graph, which may have any number of copies.
    is_launch: bool,
}

struct Kept {
    calls: HashMap<u32, Begun>,
    /// Numbers from the oldest on, also of calls that are gone.
    order: VecDeque<u32>,
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

fn with<T>(work: impl FnOnce(&mut Kept) -> T) -> T {
    let mut kept = KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    work(kept.get_or_insert_with(|| Kept { calls: HashMap::new(), order: VecDeque::new() }))
}

pub fn begin(correlation: u32, call: Call, is_launch: bool) {
    with(|kept| {
        if kept.calls.try_reserve(1).is_err() || kept.order.try_reserve(1).is_err() {
            crate::module::say_what_is_lost();
            return;
        }
        if kept.calls.insert(correlation, Begun { call, is_launch }).is_none() {
            kept.order.push_back(correlation);
        }
        while kept.order.len() > MOST {
            let oldest = kept.order.pop_front();
            oldest.and_then(|oldest| kept.calls.remove(&oldest));
        }
    });
}

/// The call has failed.
pub fn forget(correlation: u32) {
    with(|kept| kept.calls.remove(&correlation));
}

/// Which one it was. None where nothing was counted then.
pub fn of(correlation: u32) -> Option<Call> {
    with(|kept| {
        let begun = *kept.calls.get(&correlation)?;
        if !begun.is_launch {
            kept.calls.remove(&correlation);
        }
        Some(begun.call)
    })
}
