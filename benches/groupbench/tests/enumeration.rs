//! Pairs of the families equal an enumeration that shares no code with them: by going through all pairs of ranks and asking what the definition says.

use std::collections::BTreeMap;
use std::process::Command;

use groupbench::pattern::{Direction, Family, Pattern, Shape, striped};
use proptest::prelude::*;

const FAMILIES: [Family; 3] = [Family::Rail, Family::Fan, Family::Dense];
const DIRECTIONS: [Direction; 4] = [Direction::Uni, Direction::Bi, Direction::Omni, Direction::In];

/// Whether the definition of the one-way pattern of group `from` has this pair.
fn has(family: Family, g: usize, k: usize, from: usize, source: usize, destination: usize) -> bool {
    let (group, index) = (source / g, source % g);
    let (other, place) = (destination / g, destination % g);
    let is_sender = group == from && index < k && other != from;
    is_sender
        && match family {
            Family::Rail => place == index,
            Family::Fan => true,
            Family::Dense => place < k,
            Family::Itself => false,
        }
}

fn expected(family: Family, direction: Direction, n: usize, g: usize, k: usize) -> BTreeMap<(usize, usize), ()> {
    let mut pairs = BTreeMap::new();
    for source in 0..n * g {
        for destination in 0..n * g {
            let is = match direction {
                Direction::Uni => has(family, g, k, 0, source, destination),
                Direction::In => has(family, g, k, 0, destination, source),
                Direction::Bi => has(family, g, k, 0, source, destination) || has(family, g, k, 0, destination, source),
                Direction::Omni => (0..n).any(|group| has(family, g, k, group, source, destination)),
            };
            if is {
                pairs.insert((source, destination), ());
            }
        }
    }
    pairs
}

/// Messages that a sender divides its count over.
fn parts(family: Family, n: usize, g: usize, k: usize) -> usize {
    match family {
        Family::Rail => n - 1,
        Family::Fan => g,
        Family::Dense => k * (n - 1),
        Family::Itself => 1,
    }
}

#[test]
fn pairs_equal_the_definition() {
    let mut checked = 0;
    for (family, direction) in FAMILIES.into_iter().flat_map(|family| DIRECTIONS.map(|direction| (family, direction))) {
        for (n, g) in (2..=6).flat_map(|n| (1..=6).map(move |g| (n, g))) {
            for k in 1..=g {
                let shape = Shape { n, g };
                if (family, direction) == (Family::Fan, Direction::Omni) {
                    assert!(family.pairs(direction, shape, k, 1).is_err());
                    continue;
                }
                let parts = parts(family, n, g, k);
                // A count that divides, and one with a remainder.
                for count in [720 * 720, 1 + 7 * parts as u64] {
                    let pairs = family.pairs(direction, shape, k, count).unwrap();
                    let found: BTreeMap<_, _> =
                        pairs.iter().map(|&(source, to, bytes)| ((source, to), bytes)).collect();
                    assert_eq!(found.len(), pairs.len(), "no pair twice");
                    assert!(
                        found.keys().eq(expected(family, direction, n, g, k).keys()),
                        "{family:?} {direction:?} {n} {g} {k}"
                    );
                    for bytes in found.into_values() {
                        assert!(bytes.abs_diff(count / parts as u64) <= 1 && bytes >= count / parts as u64);
                        assert!(count % parts as u64 != 0 || bytes == count / parts as u64);
                    }
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 2000, "{checked}");
}

#[test]
fn the_numbers_of_pairs_are_those_of_the_paper() {
    for (n, g) in (2..=6).flat_map(|n| (1..=6).map(move |g| (n, g))) {
        for k in 1..=g {
            let count = |family: Family, direction| {
                family.pairs(direction, Shape { n, g }, k, 64).map(|pairs| pairs.len()).ok()
            };
            for (family, one_way, all) in [
                (Family::Rail, k * (n - 1), Some(n * (n - 1) * k)),
                (Family::Fan, k * g * (n - 1), None),
                (Family::Dense, k * k * (n - 1), Some(n * (n - 1) * k * k)),
            ] {
                assert_eq!(count(family, Direction::Uni), Some(one_way));
                assert_eq!(count(family, Direction::In), Some(one_way));
                assert_eq!(count(family, Direction::Bi), Some(2 * one_way));
                assert_eq!(count(family, Direction::Omni), all);
            }
        }
    }
}

#[test]
fn a_sender_of_rail_and_dense_gives_its_whole_count() {
    for (family, n, g, k) in [(Family::Rail, 4, 3, 2), (Family::Dense, 3, 4, 3)] {
        let mut sent = BTreeMap::<usize, u64>::new();
        for (source, _, bytes) in family.pairs(Direction::Omni, Shape { n, g }, k, 1_000_003).unwrap() {
            *sent.entry(source).or_default() += bytes;
        }
        assert!(sent.values().all(|bytes| *bytes == 1_000_003), "{sent:?}");
    }
}

#[test]
fn the_program_prints_the_same() {
    let words = [
        "pairs",
        "--family",
        "dense",
        "--direction",
        "bi",
        "-n",
        "3",
        "-g",
        "2",
        "-k",
        "2",
        "--bytes",
        "1K",
        "--format",
        "csv",
    ];
    let done = Command::new(env!("CARGO_BIN_EXE_groupbench")).args(words).output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty());
    let mut text = "step,src,dst,bytes\n".to_owned();
    for (source, destination, bytes) in Family::Dense.pairs(Direction::Bi, Shape { n: 3, g: 2 }, 2, 1024).unwrap() {
        text += &format!("0,{source},{destination},{bytes}\n");
    }
    assert_eq!(String::from_utf8(done.stdout).unwrap(), text);
}

/// Moves bytes, each named by its owner and place, as the steps say.
fn executed(pattern: &Pattern) -> bool {
    use groupbench::pattern::{Arena, Place};
    let mut memory = BTreeMap::<(usize, u8, u64), (usize, u64)>::new();
    let key = |rank: usize, place: Place, at: u64| (rank, place.arena as u8, place.offset + at);
    for step in &pattern.steps {
        let mut moved = Vec::new();
        for message in &step.messages {
            for at in 0..message.bytes {
                let byte = match message.from.arena {
                    Arena::Given => Some((message.source, message.from.offset + at)),
                    _ => memory.get(&key(message.source, message.from, at)).copied(),
                };
                moved.push((key(message.destination, message.to, at), byte));
            }
        }
        for (place, byte) in moved {
            let Some(byte) = byte else { return false };
            memory.insert(place, byte);
        }
    }
    pattern.deliveries.iter().all(|delivery| {
        (0..delivery.bytes).all(|at| {
            let place = Place { arena: Arena::Result, offset: delivery.offset };
            memory.get(&key(delivery.destination, place, at)) == Some(&(delivery.source, delivery.source_offset + at))
        })
    })
}

proptest! {
    #[test]
    fn striped_patterns_deliver_what_they_did(n in 2usize..5, g in 1usize..5, k in 1usize..5, count in 0u64..200, family in 0usize..3) {
        let k = k.min(g);
        let shape = Shape { n, g };
        let pattern = FAMILIES[family].pattern(Direction::Bi, shape, k, count).unwrap();
        prop_assert!(executed(&pattern));
        let striped = striped(&pattern, shape);
        prop_assert!(executed(&striped));
        // All ranks of a group send across: none more than a byte a message beyond its share.
        prop_assert_eq!(&striped.deliveries, &pattern.deliveries);
        let crossing = |pattern: &Pattern| -> u64 {
            pattern.messages().filter(|one| shape.group(one.source) != shape.group(one.destination)).map(|one| one.bytes).sum()
        };
        prop_assert_eq!(crossing(&striped), crossing(&pattern));
        for messages in striped.steps.iter().map(|step| &step.messages) {
            let inside = messages.iter().filter(|one| shape.group(one.source) == shape.group(one.destination)).count();
            prop_assert!(inside == 0 || inside == messages.len());
        }
    }

    #[test]
    fn what_is_given_to_the_reader_of_patterns_never_panics(text in "(src,dst,bytes\n)?[0-9,\n%a-z .-]{0,80}") {
        let _ = groupbench::pattern::Matrix::read(&text);
        let _ = groupbench::pattern::Matrix::read(&format!("%%MatrixMarket matrix coordinate integer general\n{text}"));
    }
}
