//! The three families of group-to-group patterns, their directions, and messages of ranks to themselves
//! (Hidayetoglu et al., CommBench, ICS 2024; rank = group · g + index).

use clap::ValueEnum;

use super::{Pattern, Shape, piece};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Family {
    /// Rank s of a group sends to rank s of the other groups: C/(n-1) each
    Rail,
    /// k ranks of a group send to all g ranks of the other groups: C/g each
    Fan,
    /// k ranks of a group send to k ranks of the other groups: C/(k(n-1)) each
    Dense,
    /// k ranks of every group send C bytes to themselves
    #[value(name = "self")]
    Itself,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Direction {
    /// From group 0 to the others
    Uni,
    /// From group 0 to the others, and back
    Bi,
    /// From every group to all others
    Omni,
    /// From the other groups to group 0
    In,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FamilyError {
    #[error("{0} group(s): a pattern between groups needs two or more; give more ranks, or smaller groups by -g")]
    FewGroups(usize),
    #[error("-k {k} of groups of {g} ranks: k is from 1 to g")]
    Active { k: usize, g: usize },
    #[error(
        "fan has no omnidirectional form: its senders and receivers are different ranks; take dense, or --direction bi"
    )]
    OmniFan,
}

impl Family {
    pub fn name(self) -> &'static str {
        match self {
            Family::Rail => "rail",
            Family::Fan => "fan",
            Family::Dense => "dense",
            Family::Itself => "self",
        }
    }

    /// The pattern of `count` bytes C with `k` active ranks in each group.
    pub fn pattern(self, direction: Direction, shape: Shape, k: usize, count: u64) -> Result<Pattern, FamilyError> {
        Ok(Pattern::of_pairs(shape.ranks(), self.pairs(direction, shape, k, count)?))
    }

    /// Source, destination and bytes, sources in ascending order.
    pub fn pairs(
        self,
        direction: Direction,
        shape: Shape,
        k: usize,
        count: u64,
    ) -> Result<Vec<(usize, usize, u64)>, FamilyError> {
        let Shape { n, g } = shape;
        if k == 0 || k > g {
            return Err(FamilyError::Active { k, g });
        }
        if self == Family::Itself {
            let active = (0..n).flat_map(|group| (0..k).map(move |index| shape.rank(group, index)));
            return Ok(active.map(|rank| (rank, rank, count)).collect());
        }
        if n < 2 {
            return Err(FamilyError::FewGroups(n));
        }
        if (self, direction) == (Family::Fan, Direction::Omni) {
            return Err(FamilyError::OmniFan);
        }
        let senders = if direction == Direction::Omni { 0..n } else { 0..1 };
        let mut pairs: Vec<_> = senders.flat_map(|group| self.pairs_of_group(group, shape, k, count)).collect();
        let reversed = |pairs: &[(usize, usize, u64)]| -> Vec<_> {
            pairs.iter().map(|&(source, destination, bytes)| (destination, source, bytes)).collect()
        };
        match direction {
            Direction::Uni | Direction::Omni => {}
            Direction::In => pairs = reversed(&pairs),
            Direction::Bi => pairs.extend(reversed(&pairs)),
        }
        pairs.sort_by_key(|(source, ..)| *source);
        Ok(pairs)
    }

    fn pairs_of_group(self, group: usize, shape: Shape, k: usize, count: u64) -> Vec<(usize, usize, u64)> {
        let Shape { n, g } = shape;
        let mut pairs = Vec::new();
        for sender in 0..k {
            let source = shape.rank(group, sender);
            for (position, other) in (0..n).filter(|other| *other != group).enumerate() {
                match self {
                    Family::Rail => {
                        pairs.push((source, shape.rank(other, sender), piece(count, n - 1, position).0));
                    }
                    Family::Fan => {
                        pairs.extend((0..g).map(|to| (source, shape.rank(other, to), piece(count, g, to).0)));
                    }
                    Family::Dense => pairs.extend(
                        (0..k)
                            .map(|to| (source, shape.rank(other, to), piece(count, k * (n - 1), position * k + to).0)),
                    ),
                    Family::Itself => {}
                }
            }
        }
        pairs
    }
}

impl Direction {
    pub fn name(self) -> &'static str {
        match self {
            Direction::Uni => "uni",
            Direction::Bi => "bi",
            Direction::Omni => "omni",
            Direction::In => "in",
        }
    }
}
