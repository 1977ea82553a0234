//! What hook modules told of themselves: their names, ways, peers and notes. Most of it is told in `MPI_Init`, before there is a
//! shard: it is kept here and written when there is one.

use std::collections::HashMap;
use std::hash::Hash;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use commsee_hook::MODULES;
use parking_lot::Mutex;
use vocabulary::shard::{ARRIVES, BLOCK_HEADER_BYTES, BlockHeader, FOREIGN, NOTES, OWN, PEERS, Peer, WAYS, Way};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::shard;
use crate::shard::texts::Texts;

static REGISTRY: Mutex<Option<Registry>> = parking_lot::const_mutex(None);

/// No module knows more ways; what comes after them is counted without one.
const MOST_WAYS: usize = 4096;

struct Registry {
    modules: Vec<String>,
    ways: Numbered<Way>,
    /// Identities that no two processes of a job share, whatever the module.
    peers: Numbered<u64>,
    own: Numbered<u64>,
    notes: Numbered<(i32, String)>,
    way_texts: Texts,
    note_texts: Texts,
    peer_block: Option<NonNull<BlockHeader>>,
}

// SAFETY: used under the lock.
unsafe impl Send for Registry {}

/// Things by number, from 1, and how many of them are in the shard.
struct Numbered<T> {
    all: Vec<T>,
    numbers: HashMap<T, u32>,
    written: usize,
}

impl<T: Hash + Eq + Clone> Numbered<T> {
    fn new() -> Numbered<T> {
        Numbered { all: Vec::new(), numbers: HashMap::new(), written: 0 }
    }

    fn number(&mut self, thing: T) -> u32 {
        if let Some(known) = self.numbers.get(&thing) {
            return *known;
        }
        self.all.push(thing.clone());
        let number = self.all.len() as u32;
        self.numbers.insert(thing, number);
        number
    }

    /// Writes those that are not in the shard yet, by their number, as long as there is room.
    fn write(&mut self, mut write: impl FnMut(u32, &T) -> Option<()>) {
        while let Some(thing) = self.all.get(self.written) {
            if write(self.written as u32 + 1, thing).is_none() {
                return;
            }
            self.written += 1;
        }
    }
}

/// A child made by `fork` finds the registry as it was: perhaps locked, by a thread that the child does not have.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

fn with<T: Default>(work: impl FnOnce(&mut Registry) -> T) -> T {
    let Some(mut registry) = REGISTRY.try_lock_for(LONGEST_WAIT) else { return T::default() };
    let registry = registry.get_or_insert_with(|| Registry {
        modules: Vec::new(),
        ways: Numbered::new(),
        peers: Numbered::new(),
        own: Numbered::new(),
        notes: Numbered::new(),
        way_texts: Texts::new(WAYS),
        note_texts: Texts::new(NOTES),
        peer_block: None,
    });
    let answer = work(registry);
    registry.write();
    answer
}

/// Everything that is known so far, into the shard.
pub fn write() {
    with(|_| ());
}

/// The number of a module, which may announce itself more than once.
pub fn open(name: String) -> Option<i32> {
    with(|registry| {
        let known = registry.modules.iter().position(|known| *known == name);
        if known.is_none() && registry.modules.len() == MODULES {
            return None;
        }
        let number = known.unwrap_or(registry.modules.len());
        if known.is_none() {
            registry.modules.push(name);
        }
        Some(number as i32)
    })
}

pub fn is_open(name: &str) -> bool {
    with(|registry| registry.modules.iter().any(|known| known == name))
}

pub fn way(module: i32, way: Way) -> u32 {
    with(|registry| match registry.module(module) {
        Some(_) if registry.ways.all.len() < MOST_WAYS || registry.ways.numbers.contains_key(&way) => {
            registry.ways.number(way)
        }
        _ => 0,
    })
}

pub fn own(module: i32, identity: u64) {
    with(|registry| {
        if let Some(identity) = registry.identity(module, identity) {
            registry.own.number(identity);
        }
    });
}

pub fn peer(module: i32, identity: u64) -> u32 {
    with(|registry| registry.identity(module, identity).map_or(0, |identity| registry.peers.number(identity)))
}

pub fn note(module: i32, text: String) {
    with(|registry| {
        if registry.module(module).is_some() {
            registry.notes.number((module, text));
        }
    });
}

impl Registry {
    fn module(&self, module: i32) -> Option<&String> {
        self.modules.get(usize::try_from(module).ok()?)
    }

    /// An identity among those of all modules.
    fn identity(&self, module: i32, identity: u64) -> Option<u64> {
        Some(xxh3_64_with_seed(&identity.to_ne_bytes(), xxh3_64(self.module(module)?.as_bytes())))
    }

    fn write(&mut self) {
        if shard::header().is_none() {
            return;
        }
        let (way_texts, note_texts, modules) = (&mut self.way_texts, &mut self.note_texts, &self.modules);
        self.ways
            .write(|number, way| way_texts.add(number, if way.arrives { ARRIVES } else { 0 }, &way.text()).map(|_| ()));
        self.notes.write(|number, (module, text)| {
            let name = modules.get(*module as usize).map_or("", String::as_str);
            note_texts.add(number, 0, &format!("{name}\n{text}")).map(|_| ())
        });
        let block = &mut self.peer_block;
        self.own.write(|number, identity| write_peer(block, Peer { identity: *identity, number, kind: OWN }));
        self.peers.write(|number, identity| write_peer(block, Peer { identity: *identity, number, kind: FOREIGN }));
    }
}

const PEER_BLOCK_BYTES: usize = 4 << 10;

fn write_peer(block: &mut Option<NonNull<BlockHeader>>, peer: Peer) -> Option<()> {
    const CAPACITY: u32 = ((PEER_BLOCK_BYTES - BLOCK_HEADER_BYTES) / size_of::<Peer>()) as u32;
    // SAFETY: the block is one of ours, which is never unmapped, and used under the lock.
    let used = |block: &NonNull<BlockHeader>| unsafe { block.as_ref() }.used;
    let header = match block.filter(|block| used(block) < CAPACITY) {
        Some(header) => header,
        None => *block.insert(shard::block(PEERS, PEER_BLOCK_BYTES)?),
    };
    let place = header.as_ptr() as usize + BLOCK_HEADER_BYTES + used(&header) as usize * size_of::<Peer>();
    // SAFETY: the block has room for one entry behind the used ones.
    unsafe {
        (place as *mut Peer).write(peer);
        fence(Ordering::Release);
        (*header.as_ptr()).used += 1;
    }
    Some(())
}
