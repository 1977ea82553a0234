//! What hook modules counted in one process, as items.

use std::collections::HashMap;

use super::detail::Detail;
use super::group::NO_RANK;
use super::hash::hash;
use super::identity::{self, Identity};
use super::item::{Birthplace, Communicator, Context, Endpoint, Item, KnownRoute, Note, Transfer};
use super::order::Order;
use super::resolved::Resolved;
use crate::shard::{self, FOREIGN, FREED, NO_ROOT, OWN, Route, Shard, unrouted};

/// Seeds that tell names of different kinds apart (`resolved.rs` has those below).
const ROUTE: u8 = 3;
/// Of one that has flags.
const FLAGGED_ROUTE: u8 = 4;
const NOTE: u8 = 5;

/// What this process's numbers of routes, contexts and peers mean to all.
pub struct Numbers {
    routes: HashMap<u32, u64>,
    contexts: HashMap<u32, Context>,
    peers: HashMap<u32, u64>,
}

impl Numbers {
    pub fn of(resolved: &Resolved) -> Numbers {
        let shard = resolved.shard();
        let others = shard.peers.iter().filter(|peer| peer.kind == FOREIGN);
        let routes: HashMap<u32, u64> =
            shard.routes.iter().map(|entry| (entry.number, hash_of(&Route::of(entry)))).collect();
        let context = |entry: &shard::Context| {
            let within = routes.get(&entry.within).copied().unwrap_or(0);
            let site = resolved.site(entry.site);
            let objects = entry.objects.map(|object| resolved.site(object));
            (entry.number, Context { communicator: identity(shard, entry.communicator), within, site, objects })
        };
        Numbers {
            contexts: shard.contexts.iter().map(context).collect(),
            routes,
            peers: others.map(|peer| (peer.number, peer.identity)).collect(),
        }
    }

    /// 0 for what is not known, as in the shard.
    pub fn route(&self, routed: u32) -> u64 {
        self.routes.get(&unrouted(routed).0).copied().unwrap_or(0)
    }

    pub fn context(&self, routed: u32) -> Context {
        self.contexts.get(&unrouted(routed).1).copied().unwrap_or(Context::NONE)
    }

    pub fn peer(&self, number: u32) -> u64 {
        self.peers.get(&number).copied().unwrap_or(0)
    }
}

fn hash_of(route: &Route) -> u64 {
    match route.flags() {
        0 => hash(&route.text(), ROUTE),
        flags => hash(&format!("{flags}\n{}", route.text()), FLAGGED_ROUTE),
    }
}

/// The identity of a layer's communicator, by this process's number.
fn identity(shard: &Shard, number: u32) -> Identity {
    let all = &shard.layer_communicators;
    all.binary_search_by_key(&number, |entry| entry.number).map_or(identity::NO_COMM, |at| all[at].identity)
}

/// Communicators of layers, in the order of their identities.
pub fn communicators(resolved: &Resolved) -> Vec<Item> {
    let (shard, rank) = (resolved.shard(), resolved.rank());
    let told = shard.layer_communicators.iter().map(|entry| {
        let [layer, label] = [shard::text(&entry.layer), shard::text(&entry.label)];
        let parents = [identity(shard, entry.parent), resolved.identity(entry.parent_comm)];
        // Its rank 0 knows that it is in this process. Where nobody knows the ranks, the lowest of its processes is taken for it.
        let is_root = entry.rank == 0 || entry.size == 0;
        Communicator {
            identity: entry.identity,
            layer: Some(layer),
            letter: entry.letter,
            root: if is_root { rank } else { Some(entry.root).filter(|root| *root != NO_ROOT).unwrap_or(NO_RANK) },
            size: entry.size,
            remote_size: 0,
            parent: parents.into_iter().find(|parent| *parent != identity::NO_COMM),
            label: (!label.is_empty()).then_some(label),
            freed: entry.flags & FREED != 0,
            counter: is_root.then_some(entry.counter),
            source: rank,
            members: vec![(rank, rank)],
            order: Order::of([entry.rank].into_iter().filter(|_| entry.size > 0), rank),
            spread: None,
            birthplace: birthplace(resolved, entry, is_root),
        }
    });
    let mut all: Vec<Communicator> = told.collect();
    // Of several ranks in this process rank 0 comes first.
    all.sort_by_key(|communicator| (communicator.identity, communicator.counter.is_none()));
    all.dedup_by(|other, first| {
        let is_same = other.identity == first.identity;
        if is_same {
            first.order.add(std::mem::take(&mut other.order));
        }
        is_same
    });
    all.into_iter().map(|communicator| Item::Communicator(Box::new(communicator))).collect()
}

fn birthplace(resolved: &Resolved, entry: &shard::LayerCommunicator, is_root: bool) -> Option<Birthplace> {
    let site = resolved.site(entry.site);
    let told_by = if is_root { 0 } else { resolved.rank().saturating_add(1) };
    (site > 0).then_some(Birthplace { told_by, site })
}

/// Routes, the process's own identities, and notes.
pub fn names(resolved: &Resolved) -> Vec<Item> {
    let shard = resolved.shard();
    let routes = shard
        .routes
        .iter()
        .map(Route::of)
        .map(|route| Item::Route(Box::new(KnownRoute { hash: hash_of(&route), route })));
    let own = shard.peers.iter().filter(|peer| peer.kind == OWN);
    let endpoints = own.map(|peer| Item::Endpoint(Endpoint { identity: peer.identity, rank: resolved.rank() }));
    let notes = shard.notes.iter().map(|note| {
        let text = shard::text(&note.text);
        let (module, words) = text.split_once('\n').unwrap_or(("", &text));
        Item::Note(Note { hash: hash(&text, NOTE), module: module.to_owned(), text: words.to_owned(), ranks: 1 })
    });
    routes.chain(endpoints).chain(notes).collect()
}

pub fn transfers(resolved: &Resolved) -> Vec<Item> {
    let shard = resolved.shard();
    let numbers = Numbers::of(resolved);
    let is_summed = resolved.detail() == Detail::Comm;
    let counted = shard.transfers.iter().filter(|transfer| transfer.calls as i64 > 0);
    counted
        .map(|transfer| {
            let asynchronous = transfer.asynchronous;
            let bound = |ns: u64| if asynchronous > 0 { ns } else { 0 };
            Item::Transfer(Transfer {
                identity: resolved.identity(transfer.comm()),
                operation: transfer.operation(),
                bucket: transfer.bucket(),
                route: numbers.route(transfer.routed()),
                context: numbers.context(transfer.routed()),
                location: resolved.location(),
                rank: if is_summed { NO_RANK } else { resolved.rank() },
                peer: if is_summed { 0 } else { numbers.peer(transfer.peer()) },
                calls: transfer.calls,
                bytes: transfer.bytes,
                asynchronous,
                time_ns: bound((transfer.time_ns as i64).max(0) as u64),
                time_min_ns: bound(transfer.time_min_ns.ticks()),
                time_max_ns: bound(transfer.time_max_ns.ticks()),
            })
        })
        .collect()
}
