//! Objects: the memory that the program allocated at one site, as modules tell it. Ranges of addresses are known as long as they live, so that what is
//! read or written by address counts for its object.

use commsee_hook::Call;
use vocabulary::shard::ROUTE_BITS;

use super::{change, registry};
use crate::guest::guard;
use crate::guest::signals::Undisturbed;
use crate::sites;

/// So many live allocations are known; those beyond them belong to no object. They are moved in memory by each new one: 16384 take microseconds.
const MOST: usize = 1 << 14;

struct Range {
    begin: u64,
    /// Behind its last byte.
    end: u64,
    site: u32,
}

/// Sorted, without overlaps.
static LIVE: Undisturbed<Vec<Range>> = Undisturbed::new(Vec::new());

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_allocated(module: i32, call: *const Call, address: u64, bytes: u64) {
    guard::guarded(|| {
        // SAFETY: the module passes a call.
        let site = registry::belonging(unsafe { (*call).context } >> ROUTE_BITS).site;
        if site == 0 || bytes == 0 {
            return;
        }
        let range = Range { begin: address, end: address.saturating_add(bytes), site };
        if !LIVE.with(|live| add(live, range)) {
            registry::note(module, format!("more than {MOST} live allocations: copies of others have no object"));
        }
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_freed(address: u64) {
    if sites::are_counted() {
        guard::guarded(|| LIVE.with(|live| live.retain(|range| range.begin != address)));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_moves(call: *mut Call, source: u64, target: u64) {
    if !sites::are_counted() {
        return;
    }
    guard::guarded(|| {
        let objects = LIVE.with(|live| [source, target].map(|address| site_of(live, address)));
        if objects != [0; 2] {
            // SAFETY: the module passes a call.
            unsafe { change(call, |belonging| belonging.objects = objects) };
        }
    });
}

/// What was there before was freed unseen. False where there is no room.
fn add(live: &mut Vec<Range>, range: Range) -> bool {
    live.retain(|known| known.end <= range.begin || range.end <= known.begin);
    if live.len() >= MOST || live.try_reserve(1).is_err() {
        return false;
    }
    let at = live.partition_point(|known| known.begin < range.begin);
    live.insert(at, range);
    true
}

/// 0 is none.
fn site_of(live: &[Range], address: u64) -> u32 {
    let before = live.partition_point(|range| range.begin <= address).checked_sub(1).and_then(|at| live.get(at));
    before.filter(|range| address < range.end).map_or(0, |range| range.site)
}
