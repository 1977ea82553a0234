//! What hook modules told of themselves: their names, routes, peers, communicators and notes. Most of it is told in `MPI_Init`, before there is a
//! shard: it is kept here and written when there is one.

use std::collections::HashMap;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use commsee_hook::{Drain, MODULES};
use parking_lot::Mutex;
use vocabulary::shard::{
    BLOCK_HEADER_BYTES, BlockHeader, CONTEXTS, Context, FOREIGN, FREED, LAYER_COMMUNICATORS, LayerCommunicator, NOTES,
    OWN, PEERS, Peer, ROUTE_BITS, ROUTES, Route, set_text,
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed, xxh3_128_with_seed};

use crate::guest::signals;
use crate::shard;
use crate::shard::texts::Texts;
use crate::thread::layer_calls::Belonging;

static REGISTRY: Mutex<Option<Registry>> = parking_lot::const_mutex(None);

/// No module knows more routes; what comes after them is counted without one.
const MOST_ROUTES: usize = 4096;

struct Registry {
    modules: Vec<String>,
    routes: Numbered<Route>,
    /// Identities that no two processes of a job share, whatever the module.
    peers: Numbered<u64>,
    own: Numbered<u64>,
    notes: Numbered<(i32, String)>,
    route_texts: Texts,
    note_texts: Texts,
    peer_block: Entries<Peer>,
    /// By number, from 1.
    communicators: Vec<Known>,
    communicator_numbers: HashMap<([u64; 2], u32), u32>,
    /// The counter of each communicator, and how many a module has told.
    counters: HashMap<[u64; 2], u32>,
    counted: [u32; MODULES],
    communicators_written: usize,
    communicator_block: Entries<LayerCommunicator>,
    contexts: Numbered<Belonging>,
    context_block: Entries<Context>,
    drains: [Option<(Drain, usize)>; MODULES],
    /// Names of modules that speak another version.
    strangers: Vec<String>,
}

/// A communicator, and where it stands in the shard.
struct Known {
    entry: LayerCommunicator,
    place: Option<NonNull<LayerCommunicator>>,
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
    signals::undisturbed(|| locked(work))
}

fn locked<T: Default>(work: impl FnOnce(&mut Registry) -> T) -> T {
    let Some(mut registry) = REGISTRY.try_lock_for(LONGEST_WAIT) else { return T::default() };
    let registry = registry.get_or_insert_with(|| Registry {
        modules: Vec::new(),
        routes: Numbered::new(),
        peers: Numbered::new(),
        own: Numbered::new(),
        notes: Numbered::new(),
        route_texts: Texts::new(ROUTES),
        note_texts: Texts::new(NOTES),
        peer_block: Entries::new(PEERS),
        communicators: Vec::new(),
        communicator_numbers: HashMap::new(),
        counters: HashMap::new(),
        counted: [0; MODULES],
        communicators_written: 0,
        communicator_block: Entries::new(LAYER_COMMUNICATORS),
        contexts: Numbered::new(),
        context_block: Entries::new(CONTEXTS),
        drains: [None; MODULES],
        strangers: Vec::new(),
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

pub fn route(module: i32, route: Route) -> u32 {
    with(|registry| match registry.module(module) {
        Some(_) if registry.routes.all.len() < MOST_ROUTES || registry.routes.numbers.contains_key(&route) => {
            registry.routes.number(route)
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

/// A module that speaks another version of the interface.
pub fn refuse(name: String) {
    with(|registry| {
        if !registry.strangers.contains(&name) {
            registry.strangers.push(name);
        }
    });
}

pub fn is_refused(name: &str) -> bool {
    with(|registry| registry.strangers.iter().any(|stranger| stranger == name))
}

/// No key or event has room for more.
const MOST_CONTEXTS: usize = (1 << (u32::BITS - ROUTE_BITS)) - 1;

/// The number of a context, 0 is none.
pub fn context(belonging: Belonging) -> u32 {
    with(|registry| {
        let Belonging { communicator, within, .. } = belonging;
        let contexts = &registry.contexts;
        let is_full = contexts.all.len() >= MOST_CONTEXTS && !contexts.numbers.contains_key(&belonging);
        let is_known =
            communicator as usize <= registry.communicators.len() && within as usize <= registry.routes.all.len();
        match belonging {
            Belonging::NONE => 0,
            _ if is_full || !is_known => 0,
            _ => registry.contexts.number(belonging),
        }
    })
}

/// What a context is.
pub fn belonging(context: u32) -> Belonging {
    with(|registry| registry.contexts.all.get((context as usize).wrapping_sub(1)).copied().unwrap_or_default())
}

/// A communicator of a layer: its own identity and rank, and the rest of its entry. Without a layer it is the module's.
pub fn communicator(module: i32, mut entry: LayerCommunicator, label: &str, layer: &str) -> u32 {
    with(|registry| {
        let Some(own) = registry.module(module) else { return 0 };
        let name = if layer.is_empty() { own.clone() } else { layer.to_owned() };
        let seed = xxh3_64(name.as_bytes());
        let own = [entry.identity[0].to_ne_bytes(), entry.identity[1].to_ne_bytes()];
        let hash = xxh3_128_with_seed(own.as_flattened(), seed);
        // MPI's rows that are no communicators begin with 0.
        entry.identity = [(hash >> 64) as u64 | 1, hash as u64];
        if let Some(known) = registry.communicator_numbers.get(&(entry.identity, entry.rank)) {
            return *known;
        }
        let counted = &mut registry.counted[module as usize % MODULES];
        entry.counter = *registry.counters.entry(entry.identity).or_insert_with(|| {
            *counted += 1;
            *counted - 1
        });
        entry.number = registry.communicators.len() as u32 + 1;
        set_text(&mut entry.layer, &name);
        set_text(&mut entry.label, label);
        registry.communicator_numbers.insert((entry.identity, entry.rank), entry.number);
        registry.communicators.push(Known { entry, place: None });
        entry.number
    })
}

pub fn communicator_freed(communicator: u32) {
    with(|registry| {
        let Some(known) = registry.communicators.get_mut((communicator as usize).wrapping_sub(1)) else { return };
        known.entry.flags |= FREED;
        if let (Some(place), true) = (known.place, shard::header().is_some()) {
            // SAFETY: entries stay where they are, and are written under the lock.
            unsafe { (*place.as_ptr()).flags |= FREED };
        }
    });
}

/// A module's function that collects what is complete.
pub fn drain(module: i32, drain: Option<Drain>, argument: usize) {
    with(|registry| {
        if registry.module(module).is_some() {
            registry.drains[module as usize % MODULES] = drain.map(|drain| (drain, argument));
        }
    });
}

/// All of them, to be called without the lock.
pub fn drains() -> [Option<(Drain, usize)>; MODULES] {
    with(|registry| registry.drains)
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
        let (route_texts, note_texts, modules) = (&mut self.route_texts, &mut self.note_texts, &self.modules);
        self.routes.write(|number, route| route_texts.add(number, route.flags(), &route.text()).map(|_| ()));
        self.notes.write(|number, (module, text)| {
            let name = modules.get(*module as usize).map_or("", String::as_str);
            note_texts.add(number, 0, &format!("{name}\n{text}")).map(|_| ())
        });
        let block = &mut self.peer_block;
        let peer = |identity: &u64, number, kind| Peer { identity: *identity, number, kind };
        self.own.write(|number, identity| block.add(peer(identity, number, OWN)).map(|_| ()));
        self.peers.write(|number, identity| block.add(peer(identity, number, FOREIGN)).map(|_| ()));
        for known in &mut self.communicators[self.communicators_written..] {
            known.place = self.communicator_block.add(known.entry);
            if known.place.is_none() {
                break;
            }
            self.communicators_written += 1;
        }
        let block = &mut self.context_block;
        self.contexts.write(|number, &Belonging { communicator, within, site, objects }| {
            block.add(Context { number, communicator, within, site, objects }).map(|_| ())
        });
    }
}

/// The block that entries of one kind are being written into.
struct Entries<T> {
    kind: u32,
    block: Option<NonNull<BlockHeader>>,
    entries: PhantomData<T>,
}

const BLOCK_BYTES: usize = 4 << 10;

impl<T: Copy> Entries<T> {
    const fn new(kind: u32) -> Entries<T> {
        Entries { kind, block: None, entries: PhantomData }
    }

    /// Where it stands now, if there was room for it.
    fn add(&mut self, entry: T) -> Option<NonNull<T>> {
        let capacity = ((BLOCK_BYTES - BLOCK_HEADER_BYTES) / size_of::<T>()) as u32;
        // SAFETY: the block is one of ours, which is never unmapped, and used under the lock.
        let used = |block: &NonNull<BlockHeader>| unsafe { block.as_ref() }.used;
        let header = match self.block.filter(|block| used(block) < capacity) {
            Some(header) => header,
            None => *self.block.insert(shard::block(self.kind, BLOCK_BYTES)?),
        };
        let place = (header.as_ptr() as usize + BLOCK_HEADER_BYTES + used(&header) as usize * size_of::<T>()) as *mut T;
        // SAFETY: the block has room for one entry behind the used ones.
        unsafe {
            place.write(entry);
            fence(Ordering::Release);
            (*header.as_ptr()).used += 1;
        }
        NonNull::new(place)
    }
}
