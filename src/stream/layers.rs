//! What hook modules counted in one process, as items.

use std::collections::HashMap;

use super::detail::Detail;
use super::group::NO_RANK;
use super::item::{Endpoint, Item, KnownWay, Note, Transfer};
use super::resolved::{Resolved, hash};
use crate::shard::{self, FOREIGN, OWN, Shard, Way};

/// Seeds that tell names of different kinds apart (`resolved.rs` has those below).
const WAY: u8 = 3;
const ARRIVING_WAY: u8 = 4;
const NOTE: u8 = 5;

/// What this process's numbers of ways and peers mean to all.
pub struct Numbers {
    ways: HashMap<u32, u64>,
    peers: HashMap<u32, u64>,
}

impl Numbers {
    pub fn of(shard: &Shard) -> Numbers {
        let others = shard.peers.iter().filter(|peer| peer.kind == FOREIGN);
        Numbers {
            ways: shard.ways.iter().map(|entry| (entry.number, hash_of(&Way::of(entry)))).collect(),
            peers: others.map(|peer| (peer.number, peer.identity)).collect(),
        }
    }

    /// 0 for what is not known, as in the shard.
    pub fn way(&self, number: u32) -> u64 {
        self.ways.get(&number).copied().unwrap_or(0)
    }

    pub fn peer(&self, number: u32) -> u64 {
        self.peers.get(&number).copied().unwrap_or(0)
    }
}

fn hash_of(way: &Way) -> u64 {
    hash(&way.text(), if way.arrives { ARRIVING_WAY } else { WAY })
}

/// Ways, the process's own identities, and notes.
pub fn names(resolved: &Resolved) -> Vec<Item> {
    let shard = resolved.shard();
    let ways = shard.ways.iter().map(Way::of).map(|way| Item::Way(Box::new(KnownWay { hash: hash_of(&way), way })));
    let own = shard.peers.iter().filter(|peer| peer.kind == OWN);
    let endpoints = own.map(|peer| Item::Endpoint(Endpoint { identity: peer.identity, rank: resolved.rank() }));
    let notes = shard.notes.iter().map(|note| {
        let text = shard::text(&note.text);
        let (module, words) = text.split_once('\n').unwrap_or(("", &text));
        Item::Note(Note { hash: hash(&text, NOTE), module: module.to_owned(), text: words.to_owned(), ranks: 1 })
    });
    ways.chain(endpoints).chain(notes).collect()
}

pub fn transfers(resolved: &Resolved) -> Vec<Item> {
    let shard = resolved.shard();
    let numbers = Numbers::of(shard);
    let is_summed = resolved.detail() == Detail::Comm;
    let counted = shard.transfers.iter().filter(|transfer| transfer.calls as i64 > 0);
    counted
        .map(|transfer| {
            let later = transfer.later;
            let bound = |ticks: u64| if later > 0 { resolved.ns(ticks) } else { 0 };
            Item::Transfer(Transfer {
                identity: resolved.identity(transfer.comm()),
                operation: transfer.operation(),
                bucket: transfer.bucket(),
                way: numbers.way(transfer.way()),
                location: resolved.location(),
                rank: if is_summed { NO_RANK } else { resolved.rank() },
                peer: if is_summed { 0 } else { numbers.peer(transfer.peer()) },
                calls: transfer.calls,
                bytes: transfer.bytes,
                later,
                time_ns: bound(transfer.ticks),
                time_min_ns: bound(transfer.ticks_min.ticks()),
                time_max_ns: bound(transfer.ticks_max.ticks()),
            })
        })
        .collect()
}
