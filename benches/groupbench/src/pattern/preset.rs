//! What applications do, as patterns: pairs and bytes alone, without their arithmetic. C is the count that `--bytes` names, P the number of ranks.

use clap::ValueEnum;

use super::{Pattern, piece};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// Allreduce of C bytes in a ring: 2(P-1) steps, C/P from each rank to the next
    AllreduceRing,
    /// Allreduce of C bytes in a binomial tree: C up each edge, a level a step, then C down
    AllreduceTree,
    /// Halo exchange in a periodic grid of three dimensions: C to each of six neighbours, at once
    Halo,
    /// Transpose of an FFT in pencils: C/R from each rank to each other rank of its row of R
    FftRows,
    /// The other transpose: C/Q from each rank to each other rank of its column of Q
    FftColumns,
    /// What MPI_Alltoall does: C/P from each rank to each other one
    Alltoall,
    /// Particles that leave their cell: three steps, a dimension each, C to both neighbours
    Particles,
}

impl Preset {
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    pub fn pattern(self, ranks: usize, count: u64) -> Pattern {
        match self {
            Preset::AllreduceRing => ring(ranks, count),
            Preset::AllreduceTree => tree(ranks, count),
            Preset::Halo => Pattern::of_pairs(ranks, (0..3).flat_map(|axis| neighbours(ranks, axis, count))),
            Preset::FftRows => transpose(ranks, count, true),
            Preset::FftColumns => transpose(ranks, count, false),
            Preset::Alltoall => Pattern::of_pairs(ranks, (0..ranks).flat_map(|source| to_others(ranks, source, count))),
            Preset::Particles => {
                in_steps(ranks, (0..3).map(|axis| neighbours(ranks, axis, count)).filter(|pairs| !pairs.is_empty()))
            }
        }
    }
}

type Pairs = Vec<(usize, usize, u64)>;

fn in_steps(ranks: usize, steps: impl Iterator<Item = Pairs>) -> Pattern {
    let patterns = steps.map(|pairs| Pattern::of_pairs(ranks, pairs));
    patterns.reduce(|before, next| before.then(&next, false)).unwrap_or_else(|| Pattern::of_pairs(ranks, []))
}

/// Reduce-scatter, then allgather (Patarasuk and Yuan, JPDC 2009): in step i rank r sends chunk r − i.
fn ring(ranks: usize, count: u64) -> Pattern {
    let step = |index: usize| {
        let chunk = |rank: usize| (rank + 2 * ranks - index) % ranks;
        (0..ranks).map(|rank| (rank, (rank + 1) % ranks, piece(count, ranks, chunk(rank)).0)).collect()
    };
    let steps = if ranks > 1 { 2 * (ranks - 1) } else { 0 };
    in_steps(ranks, (0..steps).map(step))
}

/// A binomial tree over rank 0: in level i those whose lowest set bit is i send to the rank without it.
fn tree(ranks: usize, count: u64) -> Pattern {
    let level = |bit: usize| -> Pairs {
        let children = (0..ranks).filter(|rank| rank.trailing_zeros() as usize == bit && *rank > 0);
        children.map(|rank| (rank, rank & (rank - 1), count)).collect()
    };
    let levels: Vec<Pairs> = (0..ranks.next_power_of_two().trailing_zeros() as usize).map(level).collect();
    let turned = |pairs: &Pairs| pairs.iter().map(|&(child, parent, bytes)| (parent, child, bytes)).collect();
    let down: Vec<Pairs> = levels.iter().rev().map(turned).collect();
    in_steps(ranks, levels.into_iter().chain(down))
}

/// Both neighbours along an axis of the periodic grid; one message where they are the same rank, none where they are the rank itself.
fn neighbours(ranks: usize, axis: usize, count: u64) -> Pairs {
    let sides = sides(ranks, 3);
    let stride: usize = sides[axis + 1..].iter().product();
    let side = sides[axis];
    let mut pairs = Pairs::new();
    for rank in 0..ranks {
        let at = rank / stride % side;
        let towards = |to: usize| rank - at * stride + to * stride;
        let (up, down) = (towards((at + 1) % side), towards((at + side - 1) % side));
        if up != rank {
            pairs.push((rank, up, count));
        }
        if down != rank && down != up {
            pairs.push((rank, down, count));
        }
    }
    pairs
}

/// A block for each rank; its own stays where it is.
fn to_others(ranks: usize, source: usize, count: u64) -> impl Iterator<Item = (usize, usize, u64)> {
    (0..ranks).filter(move |to| *to != source).map(move |to| (source, to, piece(count, ranks, to).0))
}

fn transpose(ranks: usize, count: u64, rows: bool) -> Pattern {
    let sides = sides(ranks, 2);
    let (columns, line) = (sides[1], if rows { sides[1] } else { sides[0] });
    let is_kin = |one: usize, other: usize| match rows {
        true => one / columns == other / columns,
        false => one % columns == other % columns,
    };
    let place = |rank: usize| if rows { rank % columns } else { rank / columns };
    let pairs = (0..ranks).flat_map(|source| {
        (0..ranks)
            .filter(move |destination| *destination != source && is_kin(source, *destination))
            .map(move |destination| (source, destination, piece(count, line, place(destination)).0))
    });
    Pattern::of_pairs(ranks, pairs)
}

/// Sides of a grid, as equal as they come, the largest first: what MPI_Dims_create asks for (MPI 4.1, 8.5.2).
fn sides(ranks: usize, dimensions: usize) -> Vec<usize> {
    let mut sides = Vec::new();
    let mut left = ranks.max(1);
    for more in (1..=dimensions).rev() {
        // The smallest divisor that is at least the root.
        let side = (1..=left)
            .find(|side| left.is_multiple_of(*side) && side.checked_pow(more as u32).is_none_or(|all| all >= left));
        let side = side.unwrap_or(left);
        sides.push(side);
        left /= side;
    }
    sides.sort_unstable_by(|one, other| other.cmp(one));
    sides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_as_even_as_they_come() {
        for (ranks, expected) in
            [(8, [2, 2, 2]), (12, [3, 2, 2]), (7, [7, 1, 1]), (64, [4, 4, 4]), (6, [3, 2, 1]), (1, [1, 1, 1])]
        {
            assert_eq!(sides(ranks, 3), expected, "{ranks}");
        }
        assert_eq!(sides(8, 2), [4, 2]);
    }

    #[test]
    fn a_ring_moves_all_chunks_of_all_ranks_twice_but_once() {
        for ranks in 2..7 {
            let pattern = Preset::AllreduceRing.pattern(ranks, 1001);
            assert_eq!(pattern.steps.len(), 2 * (ranks - 1));
            assert_eq!(pattern.total_bytes(), 2 * (ranks as u64 - 1) * 1001, "every step moves each chunk once");
        }
    }

    #[test]
    fn a_tree_passes_each_edge_up_and_down() {
        for ranks in 1..10 {
            let pattern = Preset::AllreduceTree.pattern(ranks, 100);
            assert_eq!(pattern.total_bytes(), 2 * (ranks as u64 - 1) * 100, "{ranks}");
        }
    }

    #[test]
    fn neighbours_are_six_in_a_cube_and_three_in_the_smallest() {
        assert_eq!(Preset::Halo.pattern(27, 10).total_bytes(), 27 * 6 * 10);
        assert_eq!(Preset::Halo.pattern(8, 10).total_bytes(), 8 * 3 * 10);
        assert_eq!(Preset::Particles.pattern(27, 10).steps.len(), 3);
        assert_eq!(Preset::Halo.pattern(1, 10).total_bytes(), 0);
    }

    #[test]
    fn an_all_to_all_gives_all_blocks_but_the_own() {
        let pattern = Preset::Alltoall.pattern(4, 1000);
        assert_eq!((pattern.messages().count(), pattern.total_bytes()), (12, 4 * 750));
        assert_eq!(Preset::Alltoall.pattern(3, 1001).total_bytes(), 2 * 1001, "each block twice");
        assert_eq!(Preset::Alltoall.pattern(1, 10).total_bytes(), 0);
    }

    #[test]
    fn transposes_stay_in_rows_and_columns() {
        let rows = Preset::FftRows.pattern(8, 1000);
        assert!(rows.messages().all(|message| message.source / 2 == message.destination / 2));
        let columns = Preset::FftColumns.pattern(8, 1000);
        assert!(columns.messages().all(|message| message.source % 2 == message.destination % 2));
        assert_eq!(columns.total_bytes(), 8 * 750);
    }
}
