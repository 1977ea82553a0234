//! What is remembered of calls that take turns, as the library is compiled with it.

extern crate commsee as vocabulary;

mod shard {
    pub mod memory {
        use std::mem::ManuallyDrop;
        use std::ptr::NonNull;

        pub fn array<T>(length: usize) -> Option<NonNull<T>> {
            NonNull::new(ManuallyDrop::new(Vec::with_capacity(length)).as_mut_ptr())
        }
    }
}
#[allow(dead_code)]
#[path = "../profiler/src/guest/latest.rs"]
mod latest;
mod guest {
    pub(crate) use super::latest;
}
#[allow(dead_code)]
#[path = "../profiler/src/objects/turns.rs"]
mod turns;

use std::cell::Cell;
use std::ptr;

use turns::{Place, Turns};

/// Calls of one shortcut. Each size has counters of its own.
struct Calls<'a> {
    turns: &'a Turns,
    latest: Place,
    misses: Cell<u8>,
}

impl<'a> Calls<'a> {
    fn of(turns: &'a Turns) -> Calls<'a> {
        Calls { turns, latest: Place::none(), misses: Cell::new(0) }
    }

    /// Makes some, and tells how many did not take the turn that was thought to be theirs.
    fn make(&self, sizes: &[u64]) -> usize {
        sizes.iter().filter(|size| !self.make_one(**size)).count()
    }

    fn make_one(&self, size: u64) -> bool {
        let (latest, counters) = (&self.latest, ptr::without_provenance_mut(size as usize));
        if latest.reaches(size) {
            return true;
        }
        let next = self.turns.next(latest);
        let is_next = next.reaches(size);
        if is_next {
            latest.set(next);
        } else {
            self.turns.learn(latest, &self.misses, |_| {
                latest.lowest_bytes.set(size);
                latest.cell.set(counters);
            });
        }
        assert!(latest.reaches(size));
        assert_eq!(latest.cell.get(), counters);
        is_next
    }

    fn make_without_order(&self, count: usize) {
        let mut drawn = 1_u64;
        for _ in 0..count {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            self.make_one(drawn >> 34);
        }
    }
}

#[test]
fn an_order_is_learned_in_one_round() {
    let turns = Turns::none();
    for sizes in [&[1, 2][..], &[1, 2, 3, 4, 5, 6], &[5, 5, 7, 7, 9]] {
        let calls = Calls::of(&turns);
        calls.make(sizes);
        calls.make(&sizes[..1]);
        assert_eq!(calls.make(&sizes.repeat(3)), 0, "{sizes:?}");
    }
}

#[test]
fn neighbors_in_three_dimensions_take_turns() {
    let turns = Turns::none();
    let calls = Calls::of(&turns);
    let sizes: Vec<u64> = (1..=26).collect();
    calls.make(&sizes.repeat(2));
    assert!(calls.make(&sizes.repeat(10)) <= 10);
}

#[test]
fn a_call_out_of_turn_takes_no_turn_from_others() {
    let turns = Turns::none();
    let calls = Calls::of(&turns);
    calls.make(&[1, 2, 3, 4].repeat(2));
    // It is one, and so is what comes after it, and what comes then instead of it. Some lie where one of the others does.
    let misses: usize = (100..200).map(|odd| calls.make(&[1, 2, odd, 3, 4, 1, 2, 3, 4])).sum();
    assert!(misses <= 400, "{misses}");
}

#[test]
fn another_order_is_learned_too() {
    let turns = Turns::none();
    let calls = Calls::of(&turns);
    calls.make(&[1, 2, 3].repeat(4));
    calls.make(&[7, 8, 9, 10].repeat(100));
    assert_eq!(calls.make(&[7, 8, 9, 10].repeat(3)), 0);
    calls.make_without_order(10_000);
    calls.make(&[1, 2, 3].repeat(200));
    assert_eq!(calls.make(&[1, 2, 3].repeat(3)), 0);
}

/// Of so many shortcuts, with three sizes of their own each, how many of the calls in the third round were not next.
fn missed_of(shortcuts: u64) -> usize {
    let turns = Turns::none();
    let all: Vec<Calls> = (0..shortcuts).map(|_| Calls::of(&turns)).collect();
    let round = || (0..).zip(&all).map(|(number, calls)| calls.make(&[1, 2, 3].map(|size| 3 * number + size))).sum();
    [round(), round(), round()][2]
}

#[test]
fn many_shortcuts_take_turns() {
    assert!(missed_of(100) < 100);
}

/// What is kept where another place was is not taken for it.
#[test]
fn where_too_many_take_turns_calls_are_looked_up() {
    assert!(missed_of(3000) > 3000);
}

/// After a call out of turn that is not learned from, the next ones take their turns.
#[test]
fn where_nothing_is_learned_turns_are_taken() {
    let turns = Turns::none();
    let calls = Calls::of(&turns);
    calls.make(&[1, 2, 3, 4, 5, 6].repeat(3));
    calls.misses.set(100);
    assert_eq!(calls.make(&[1, 2, 4, 5, 6, 1, 2, 3, 4, 5, 6]), 1);
}
