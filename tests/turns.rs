//! The rings of calls that take turns, as the library is compiled with them.

extern crate commsee as vocabulary;

mod shard {
    pub mod memory {
        use std::ptr::NonNull;

        pub fn array<T>(length: usize) -> Option<NonNull<T>> {
            NonNull::new(Vec::leak(Vec::<T>::with_capacity(length)).as_mut_ptr())
        }
    }
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
        let next = self.turns.next(latest);
        let is_next = next.reaches(size);
        if latest.reaches(size) {
            assert_eq!(latest.cell.get(), counters);
            return true;
        }
        if is_next {
            latest.set(next);
        } else {
            latest.lowest_bytes.set(size);
            latest.cell.set(counters);
            self.turns.learn(latest, &self.misses);
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

impl Drop for Calls<'_> {
    fn drop(&mut self) {
        self.turns.forget(&self.latest);
    }
}

#[test]
fn an_order_is_learned_in_two_rounds() {
    let turns = Turns::none();
    for sizes in [&[1, 2][..], &[1, 2, 3, 4, 5, 6], &[1, 2, 1, 3], &[5, 5, 7, 7, 5, 9]] {
        let calls = Calls::of(&turns);
        calls.make(&sizes.repeat(2));
        assert_eq!(calls.make(&sizes.repeat(3)), 0, "{sizes:?}");
    }
}

#[test]
fn neighbors_in_three_dimensions_take_turns() {
    let turns = Turns::none();
    let calls = Calls::of(&turns);
    let sizes: Vec<u64> = (1..=26).collect();
    calls.make(&sizes.repeat(2));
    assert_eq!(calls.make(&sizes.repeat(3)), 0);
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

#[test]
fn places_are_given_back() {
    let turns = Turns::none();
    for _ in 0..1000 {
        Calls::of(&turns).make_without_order(1000);
    }
    let calls = Calls::of(&turns);
    calls.make(&[1, 2].repeat(2));
    assert_eq!(calls.make(&[1, 2].repeat(10)), 0);
}

#[test]
fn where_no_place_is_left_calls_are_looked_up() {
    let turns = Turns::none();
    let mut others: Vec<Calls> = (0..3000).map(|_| Calls::of(&turns)).collect();
    others.iter().for_each(|calls| _ = calls.make(&[1]));
    let calls = Calls::of(&turns);
    assert_eq!(calls.make(&[1, 2].repeat(10)), 20);
    others.truncate(2000);
    calls.make(&[1, 2].repeat(200));
    assert_eq!(calls.make(&[1, 2].repeat(10)), 0);
}
