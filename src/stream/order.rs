//! Which process holds which rank of a layer's communicator: processes need not have the order of `MPI_COMM_WORLD` there, and one may hold
//! several ranks.

use serde::{Deserialize, Serialize};

use crate::ranks::format_ranges;

/// Ranks in the communicator that follow each other, in processes that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Stretch {
    position: u32,
    rank: u32,
    count: u32,
}

/// As stretches by position: one for as many ranks as have the usual order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order(Vec<Stretch>);

impl Order {
    /// Ranks in the communicator, and the world rank of the process that holds them.
    pub fn of(positions: impl Iterator<Item = u32>, rank: u32) -> Order {
        let mut order = Order(positions.map(|position| Stretch { position, rank, count: 1 }).collect());
        order.join();
        order
    }

    pub fn add(&mut self, other: Order) {
        if !other.0.is_empty() {
            self.0.extend(other.0);
            self.join();
        }
    }

    fn join(&mut self) {
        self.0.sort();
        let mut joined: Vec<Stretch> = Vec::with_capacity(self.0.len());
        for mut next in self.0.drain(..) {
            if let Some(last) = joined.last_mut() {
                let end = u64::from(last.position) + u64::from(last.count);
                // Two processes that call themselves the same rank: the first one counts.
                let told_twice = end.saturating_sub(next.position.into()).min(next.count.into()) as u32;
                next = Stretch {
                    position: next.position.saturating_add(told_twice),
                    rank: next.rank.saturating_add(told_twice),
                    count: next.count - told_twice,
                };
                let is_next = end == u64::from(next.position)
                    && u64::from(last.rank) + u64::from(last.count) == u64::from(next.rank);
                if is_next {
                    last.count = last.count.saturating_add(next.count);
                    continue;
                }
            }
            if next.count > 0 {
                joined.push(next);
            }
        }
        self.0 = joined;
    }

    /// The world ranks of all ranks from 0 on, such as `0,2,1,3`. Nothing where some are not known, and where they are the members in ascending
    /// order.
    pub fn text(&self, size: u32, members: &[(u32, u32)]) -> Option<String> {
        let mut known = 0u64;
        let mut ranges = Vec::with_capacity(self.0.len());
        for stretch in &self.0 {
            if u64::from(stretch.position) != known {
                return None;
            }
            known += u64::from(stretch.count);
            ranges.push((stretch.rank, stretch.rank.saturating_add(stretch.count - 1)));
        }
        (known == u64::from(size) && ranges != members).then(|| format_ranges(&ranges))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(u32, u32)]) -> Order {
        let mut order = Order::default();
        pairs.iter().for_each(|(position, rank)| order.add(Order::of([*position].into_iter(), *rank)));
        order
    }

    #[test]
    fn the_usual_order_is_one_stretch_and_not_told() {
        let order = of(&[(2, 6), (0, 4), (3, 7), (1, 5)]);
        assert_eq!(order.0, [Stretch { position: 0, rank: 4, count: 4 }]);
        assert_eq!(order.text(4, &[(4, 7)]), None);
        let order = of(&[(1, 4), (0, 0), (2, 6)]);
        assert_eq!(order.text(3, &[(0, 0), (4, 4), (6, 6)]), None);
    }

    #[test]
    fn another_order_is_told_where_all_of_it_is_known() {
        let order = of(&[(0, 0), (2, 1), (1, 2), (3, 3)]);
        assert_eq!(order.text(4, &[(0, 3)]).unwrap(), "0,2,1,3");
        assert_eq!(order.text(5, &[(0, 3)]), None);
        assert_eq!(of(&[(0, 0), (2, 1)]).text(2, &[(0, 1)]), None);
        let mut two_each = Order::of([0, 1].into_iter(), 0);
        two_each.add(Order::of([2, 3].into_iter(), 1));
        assert_eq!(two_each.text(4, &[(0, 1)]).unwrap(), "0,0-1,1");
    }

    #[test]
    fn what_is_told_twice_counts_once() {
        let order = of(&[(0, 0), (1, 1), (1, 5), (2, 2)]);
        assert_eq!(order.0.len(), 1, "{order:?}");
        let edge = of(&[(u32::MAX, u32::MAX), (u32::MAX - 1, u32::MAX - 1), (u32::MAX, 3)]);
        assert_eq!(edge.text(u32::MAX, &[]), None);
    }
}
