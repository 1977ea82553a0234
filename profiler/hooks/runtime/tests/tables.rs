//! Both tables against the standard library's, operation by operation. Runs under Miri as well (CONTRIBUTING.md): there each round is
//! shorter.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use commsee_runtime::pointers::Pointers;
use commsee_runtime::table::{self, Owned, Shared, Slot, Writer};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    key: u64,
    value: u64,
}

impl Slot for Entry {
    const EMPTY: Entry = Entry { key: u64::MAX, value: 0 };

    fn is_empty(&self) -> bool {
        self.key == u64::MAX
    }

    fn clear(&mut self) {
        self.key = u64::MAX;
    }
}

/// A hash under which many keys share a first slot, and one that spreads them.
type Hash = fn(u64) -> u64;
const HASHES: [Hash; 4] = [table::hash, |key| key << 61, |_| 0, |_| u64::MAX];

/// Numbers that are the same in every run (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}

const STEPS: u64 = if cfg!(miri) { 600 } else { 200_000 };

fn get(table: &Owned<Entry>, hash: Hash, key: u64) -> Option<u64> {
    let place = table.find(hash(key), |entry| entry.key == key)?;
    // SAFETY: found just now.
    Some(unsafe { (*table.at(place)).value })
}

fn all(table: &Owned<Entry>) -> HashMap<u64, u64> {
    // SAFETY: there are so many slots.
    let slots = (0..table.capacity()).map(|place| unsafe { *table.at(place) });
    slots.filter(|slot| !slot.is_empty()).map(|slot| (slot.key, slot.value)).collect()
}

#[test]
fn an_owned_table_is_a_map() {
    for (hash, keys) in HASHES.into_iter().flat_map(|hash| [3, 20, 300].map(|keys| (hash, keys))) {
        let hash_of = |entry: &Entry| hash(entry.key);
        // Where all keys share one slot each step looks at all of them.
        let steps = if hash(1) == hash(2) { STEPS / 20 } else { STEPS };
        let (table, mut map) = (Owned::new(8).expect("memory"), HashMap::new());
        let mut numbers = Numbers(keys + 1);
        for step in 0..steps {
            let key = numbers.below(keys);
            match numbers.below(5) {
                0 | 1 => match table.find_or_vacant(hash(key), |entry: &Entry| entry.key == key) {
                    // SAFETY: found just now.
                    Ok(place) => unsafe {
                        (*table.at(place)).value = step;
                        map.insert(key, step);
                    },
                    // SAFETY: as above.
                    Err(vacant) => unsafe {
                        assert!(!table.put(vacant, Entry { key, value: step }) || table.keeps(vacant, hash_of));
                        assert_eq!(map.insert(key, step), None, "{key}");
                    },
                },
                2 if get(&table, hash, key).is_none() => {
                    assert!(table.reserve(hash_of));
                    table.insert(hash(key), Entry { key, value: step });
                    assert_eq!(map.insert(key, step), None, "{key}");
                }
                3 => {
                    let place = table.find(hash(key), |entry| entry.key == key);
                    assert_eq!(place.is_some(), map.remove(&key).is_some(), "{key}");
                    if let Some(place) = place {
                        // SAFETY: found just now.
                        unsafe { table.remove(place, hash_of) };
                    }
                }
                _ => assert_eq!(get(&table, hash, key), map.get(&key).copied(), "{key}"),
            }
            assert_eq!(table.len(), map.len());
            assert!(table.len() * 2 <= table.capacity(), "{} of {}", table.len(), table.capacity());
            if step % 97 == 0 {
                assert_eq!(all(&table), map.iter().map(|(key, value)| (*key, *value)).collect());
            }
        }
    }
}

#[test]
fn an_owned_table_in_which_entries_come_and_go_stays_small() {
    let table = Owned::new(8).expect("memory");
    for key in 0..STEPS {
        table.insert(table::hash(key), Entry { key, value: key });
        let place = table.find(table::hash(key), |entry| entry.key == key).expect("the entry");
        // SAFETY: found just now.
        unsafe { table.remove(place, |entry| table::hash(entry.key)) };
    }
    assert_eq!((table.len(), table.capacity(), table.is_empty()), (0, 8, true));
}

#[test]
fn what_is_idle_is_swept_out_and_the_rest_is_found() {
    let table = Owned::new(64).expect("memory");
    // Some share their slots, also around the end of the table.
    for key in 1..=30 {
        table.insert(table::hash(key / 3) | 0xf << 60, Entry { key, value: key });
    }
    let hash_of = |entry: &Entry| table::hash(entry.key / 3) | 0xf << 60;
    table.sweep(|entry| entry.key % 4 != 0, hash_of);
    assert_eq!(table.len(), 7);
    for key in 1..=30 {
        let found = table.find(table::hash(key / 3) | 0xf << 60, |entry| entry.key == key);
        assert_eq!(found.is_some(), key % 4 == 0, "{key}");
    }
}

/// Small ones keep half of their slots empty, large ones a quarter: memory is what they cost.
#[test]
fn large_tables_are_fuller_than_small_ones() {
    let table = Owned::new(8).expect("memory");
    let hash = |entry: &Entry| table::hash(entry.key);
    let slots_for = |entries: u64| {
        for key in table.len() as u64 + 1..=entries {
            assert!(table.reserve(hash));
            table.insert(table::hash(key), Entry { key, value: key });
        }
        table.capacity()
    };
    for (entries, slots) in
        [(4, 8), (5, 16), (512, 1024), (513, 2048), (1536, 2048), (1537, 4096), (3072, 4096), (3073, 8192)]
    {
        assert_eq!(slots_for(entries), slots, "{entries}");
    }
    let is_there = |key| table.find(table::hash(key), |entry: &Entry| entry.key == key).is_some();
    assert!((1..=3073).all(is_there) && !is_there(3074));
}

#[test]
fn a_shared_table_is_a_map() {
    for keys in [2, 40, 1500] {
        let (table, mut writer) = (Shared::<u64>::new(), Writer::new());
        let (mut map, mut numbers) = (HashMap::new(), Numbers(keys + 5));
        // Keys as handles are: small numbers, addresses, and the two words that are none.
        let word = |number: u64| match number {
            0 => usize::MAX,
            1 => usize::MAX - 1,
            odd if odd % 2 == 1 => odd as usize,
            even => 0x7f00_0000_0000 + 64 * even as usize,
        };
        for step in 0..STEPS {
            let key = word(numbers.below(keys));
            match numbers.below(3) {
                0 => {
                    let is_key = key < usize::MAX - 1;
                    assert_eq!(table.set(&mut writer, key, step), is_key);
                    if is_key {
                        map.insert(key, step);
                    }
                }
                1 => assert_eq!(table.remove(&mut writer, key), map.remove(&key)),
                _ => assert_eq!(table.get(key), map.get(&key).copied(), "{key:#x}"),
            }
        }
        (0..keys).map(word).for_each(|key| assert_eq!(table.get(key), map.get(&key).copied(), "{key:#x}"));
    }
}

/// A value is another one only as long as its key is: readers see a whole table at any time, also while it grows.
#[test]
fn a_shared_table_is_read_while_it_is_written() {
    static TABLE: Shared<u64> = Shared::new();
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    let keys: u64 = if cfg!(miri) { 200 } else { 50_000 };
    std::thread::scope(|scope| {
        for seed in 1..3 {
            scope.spawn(move || {
                let mut numbers = Numbers(seed);
                while !IS_OVER.load(Ordering::Relaxed) {
                    let known = KNOWN.load(Ordering::Acquire);
                    if known > 0 {
                        let key = numbers.below(known) + 1;
                        // Multiples of three go again.
                        let found = TABLE.get(key as usize);
                        assert!(found == Some(key * 3) || found.is_none() && key.is_multiple_of(3), "{key}: {found:?}");
                    }
                }
            });
        }
        let mut writer = Writer::new();
        for key in 1..=keys {
            assert!(TABLE.set(&mut writer, key as usize, key * 3));
            KNOWN.store(key, Ordering::Release);
            if key.is_multiple_of(3) {
                assert_eq!(TABLE.remove(&mut writer, key as usize), Some(key * 3));
            }
        }
        IS_OVER.store(true, Ordering::Relaxed);
    });
}

#[test]
fn pointers_know_neither_null_nor_what_was_removed() {
    static POINTERS: Pointers = Pointers::new(|| panic!("there is memory"));
    assert!(!POINTERS.set(0, 7));
    assert_eq!(POINTERS.get(0), None);
    assert!(POINTERS.set(16, 7) && POINTERS.set(16, 8));
    assert_eq!(
        (POINTERS.get(16), POINTERS.remove(16), POINTERS.get(16), POINTERS.remove(16)),
        (Some(8), Some(8), None, None)
    );
}
