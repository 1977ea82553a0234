//! What calls of one process have completed, as items.

use super::detail::Detail;
use super::group::NO_RANK;
use super::item::{Completed, Item, Peer};
use super::resolved::Resolved;
use crate::counters::{CompletedOf, Completions, ns};
use crate::shard::{self, BUCKET_INVOLVED, Cell, NO_OPERATION, REMOTE_RANK};

/// In their order. What calls took that is charged to no request is told as well, so that times add up to those of the calls.
pub fn completed(resolved: &Resolved) -> Vec<Item> {
    let (entries, cells) = (&resolved.shard().completed, &resolved.shard().cells);
    let mut items = Vec::new();
    // Both lie in the order of keys.
    let of_call = |entry: &shard::Completed| entry.key[0];
    for part in entries.chunk_by(|one, other| of_call(one) == of_call(other)) {
        let key = of_call(&part[0]);
        // The bucket stands in the last bits.
        let first = cells.partition_point(|cell| cell.key < key);
        let calls = cells[first..].iter().take_while(|cell| cell.key >> 8 == key >> 8);
        let calls = calls.filter(|cell| cell.bucket() != BUCKET_INVOLVED);
        let taken_ns = calls.fold(0u64, |sum, cell| sum.saturating_add(ns(cell.ticks, resolved.ns_per_tick())));
        let mut rows: Vec<Item> = part.iter().map(|entry| item(resolved, entry)).collect();
        balance(&mut rows, taken_ns);
        items.extend(rows);
    }
    let mut items: Vec<Item> = items.into_iter().filter(|item| !is_empty(item)).collect();
    items.sort_by_key(Item::sort_key);
    // In less detail, or under one name of several phases, some are one.
    items.dedup_by(|more, sum| {
        let is_same = more.sort_key() == sum.sort_key();
        if is_same {
            sum.add(more.clone());
        }
        is_same
    });
    items
}

fn is_empty(item: &Item) -> bool {
    let Item::Completed(completed) = item else { return true };
    completed.counted == Completions::default()
}

/// Each duration is rounded by itself: the longest one takes what that leaves. What is more was charged to none.
fn balance(rows: &mut Vec<Item>, taken_ns: u64) {
    let slack_ns = rows.len() as u64;
    let mut counted: Vec<&mut Completed> = rows
        .iter_mut()
        .filter_map(|row| match row {
            Item::Completed(completed) => Some(&mut **completed),
            _ => None,
        })
        .collect();
    let charged_ns = counted.iter().fold(0u64, |sum, row| sum.saturating_add(row.counted.time_ns));
    let (less_ns, more_ns) = (taken_ns.saturating_sub(charged_ns), charged_ns.saturating_sub(taken_ns));
    let Some(longest) = counted.iter_mut().max_by_key(|row| row.counted.time_ns) else { return };
    if less_ns <= slack_ns {
        longest.counted.time_ns = longest.counted.time_ns.saturating_add(less_ns).saturating_sub(more_ns);
        return;
    }
    let rest = Completed {
        started: NO_OPERATION,
        bucket: 0,
        peer: Peer::NONE,
        counted: Completions { time_ns: less_ns, ..Completions::default() },
        ..(**longest).clone()
    };
    rows.push(Item::Completed(Box::new(rest)));
}

fn item(resolved: &Resolved, entry: &shard::Completed) -> Item {
    let calls: Cell = entry.calls();
    let time_ns = ns(entry.ticks, resolved.ns_per_tick());
    let is_single = resolved.detail() != Detail::Comm;
    Item::Completed(Box::new(Completed {
        identity: resolved.identity(calls.comm()),
        operation: calls.operation(),
        phase: resolved.phase(calls.phase()),
        location: resolved.location(),
        rank: if is_single { resolved.rank() } else { NO_RANK },
        started: entry.operation(),
        bucket: entry.bucket(),
        peer: match entry.world_rank {
            // Without ranks there is nobody that something came from.
            _ if !entry.has_peer() || !is_single => Peer::NONE,
            REMOTE_RANK => Peer::REMOTE,
            rank => Peer::of(rank),
        },
        counted: Completions::read(&CompletedOf { entry, time_ns }),
    }))
}
