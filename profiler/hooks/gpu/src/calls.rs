//! In which MPI call a copy was asked for, by the number that CUPTI gives to the call and to the copy's record.

use std::collections::{HashMap, VecDeque};

use commsee_hook::Call;
use commsee_runtime::signals::Undisturbed;

use crate::module;

/// So many are kept, which is some hundred times what a buffer of CUPTI's holds: some calls copy nothing, and their numbers never come again.
const MOST: usize = 1 << 16;

#[derive(Clone, Copy)]
struct Begun {
    call: Call,
    /// It may have any number of copies: of a graph, or of a batch.
    is_of_many: bool,
}

struct Kept {
    calls: HashMap<u32, Begun>,
    /// Numbers from the oldest on, also of calls that are gone.
    order: VecDeque<u32>,
}

static KEPT: Undisturbed<Option<Kept>> = Undisturbed::new(None);

fn with<T>(work: impl FnOnce(&mut Kept) -> T) -> T {
    KEPT.with(|kept| work(kept.get_or_insert_with(|| Kept { calls: HashMap::new(), order: VecDeque::new() })))
}

pub fn begin(correlation: u32, call: Call, is_of_many: bool) {
    let is_kept = with(|kept| {
        if kept.calls.try_reserve(1).is_err() || kept.order.try_reserve(1).is_err() {
            return false;
        }
        if kept.calls.insert(correlation, Begun { call, is_of_many }).is_none() {
            kept.order.push_back(correlation);
        }
        while kept.order.len() > MOST {
            let oldest = kept.order.pop_front();
            oldest.and_then(|oldest| kept.calls.remove(&oldest));
        }
        true
    });
    if !is_kept {
        module::say_what_is_lost();
    }
}

/// Changes for what the copies of a call count.
pub fn change(correlation: u32, change: impl FnOnce(&mut Call)) {
    let Some(mut call) = with(|kept| kept.calls.get(&correlation).map(|begun| begun.call)) else { return };
    change(&mut call);
    with(|kept| {
        if let Some(begun) = kept.calls.get_mut(&correlation) {
            begun.call = call;
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
        if !begun.is_of_many {
            kept.calls.remove(&correlation);
        }
        Some(begun.call)
    })
}
