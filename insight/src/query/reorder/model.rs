//! What the members of a communicator exchange in a collective operation. A profile knows how much each rank gave and took, not the algorithm:
//! the table says which one is assumed. These are the ones of MPICH (Thakur, Rabenseifner, Gropp: Optimization of Collective Communication
//! Operations in MPICH, IJHPCA 2005), which Open MPI's `coll_tuned` has, too. Members are numbered in the order of their world ranks.

use super::traffic::Builder;

/// An algorithm, by what is exchanged between whom. `m` is a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// Each gives m to, and takes m from, the member whose number differs in one bit, for each bit.
    Doubling,
    /// The same with m for the lowest bit, m/2 for the next, and so on: vectors are halved on the way there and doubled on the way back.
    Halving,
    /// Each gives m to the next.
    Ring,
    /// Each gives 2ᵏ·m to the member 2ᵏ before it, at last the rest.
    Bruck,
    /// m along each branch of a binomial tree.
    Tree { root: u32 },
    /// m for each member behind a branch of it.
    Gathering { root: u32 },
    /// m between the root and each other member.
    Linear { root: u32 },
    /// The tree of `Tree` with each member as its root in turn, m of all of them together.
    TurningTree,
    /// m from each to each.
    Pairwise,
}

/// Bytes over all ranks, and calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Amount {
    pub sent: f64,
    pub received: f64,
    /// Of all ranks.
    pub calls: f64,
    pub members: f64,
}

/// Sizes from which other algorithms are taken: MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE, MPIR_CVAR_BCAST_SHORT_MSG_SIZE, with as many members as
/// MPIR_CVAR_BCAST_MIN_PROCS, MPIR_CVAR_ALLGATHER_LONG_MSG_SIZE of MPICH 4.
const LONG_ALLREDUCE: f64 = 2048.0;
const LONG_BCAST: f64 = 12288.0;
const FEWEST_OF_LONG_BCAST: f64 = 8.0;
const LONG_ALLGATHER: f64 = 524_288.0;

/// Which schemes an operation with these bytes goes by, with the m of each; `rule` is the byte rule of the call table. Of neighbourhood
/// collectives the matrix knows the messages; barriers carry nothing.
pub fn schemes(rule: &str, amount: &Amount, root: Root) -> Vec<(Scheme, f64)> {
    let Amount { sent, received, calls, members } = *amount;
    let others = (members - 1.0).max(1.0);
    let of_each = sent / members;
    let message = |bytes: f64, callers: f64| bytes / (calls * callers / members).max(1.0);
    let tree = match root {
        Root::One(root) => Scheme::Tree { root },
        Root::All => Scheme::TurningTree,
    };
    let root_rank = match root {
        Root::One(root) => root,
        Root::All => 0,
    };
    match rule {
        "bcast" if members >= FEWEST_OF_LONG_BCAST && message(received, others) >= LONG_BCAST => {
            let block = received / others / members;
            vec![(Scheme::Gathering { root: root_rank }, block), (Scheme::Ring, block * others)]
        }
        "bcast" => vec![(tree, received / others)],
        "reduce" => vec![(tree, of_each)],
        "allreduce" if message(sent, members) >= LONG_ALLREDUCE => vec![(Scheme::Halving, of_each)],
        "allreduce" | "scan" | "exscan" => vec![(Scheme::Doubling, of_each)],
        "gather" => vec![(Scheme::Gathering { root: root_rank }, of_each)],
        "gatherv" => vec![(Scheme::Linear { root: root_rank }, of_each)],
        "scatter" => vec![(Scheme::Gathering { root: root_rank }, received / members)],
        "scatterv" => vec![(Scheme::Linear { root: root_rank }, received / members)],
        "allgather" | "allgatherv" if message(sent, members) * members >= LONG_ALLGATHER => {
            vec![(Scheme::Ring, of_each * others)]
        }
        "allgather" | "allgatherv" => vec![(Scheme::Bruck, of_each)],
        "alltoall" | "alltoallv" | "alltoallw" | "reduce_scatter" | "reduce_scatter_block" => {
            vec![(Scheme::Pairwise, of_each / members)]
        }
        _ => Vec::new(),
    }
}

/// Who was the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// By its number among the members.
    One(u32),
    /// Many in turn.
    All,
}

impl Scheme {
    /// How many pairs it takes to write down.
    pub fn pairs(self, members: usize) -> usize {
        match self {
            Scheme::Doubling | Scheme::Halving | Scheme::Bruck | Scheme::TurningTree => {
                members * (members.max(2).ilog2() as usize + 1)
            }
            Scheme::Ring
            | Scheme::Tree { .. }
            | Scheme::Gathering { .. }
            | Scheme::Linear { .. }
            | Scheme::Pairwise => members,
        }
    }

    /// Adds what members exchange.
    pub fn add(self, members: &[u32], m: f64, traffic: &mut Builder) {
        let count = members.len();
        if count < 2 {
            return;
        }
        let mut pair = |one: usize, other: usize, bytes: f64| traffic.pair(members[one], members[other], bytes);
        let powers = || (0..usize::BITS).map(|bit| 1usize << bit).take_while(|power| *power < count);
        match self {
            Scheme::Doubling => by_bits(count, &mut pair, |_| 2.0 * m, 2.0 * m),
            Scheme::Halving => by_bits(count, &mut pair, |bit| 2.0 * m / f64::from(1u32 << bit.min(30)), 2.0 * m),
            Scheme::Ring => (0..count).for_each(|at| pair(at, (at + 1) % count, m)),
            Scheme::Bruck => {
                for power in powers() {
                    let blocks = power.min(count - power) as f64;
                    (0..count).for_each(|at| pair(at, (at + count - power) % count, m * blocks));
                }
            }
            Scheme::Tree { root } => branches(count, root, |one, other, _| pair(one, other, m)),
            Scheme::Gathering { root } => {
                branches(count, root, |one, other, behind| pair(one, other, m * behind as f64))
            }
            Scheme::Linear { root } => (0..count).for_each(|at| pair(at, root as usize % count, m)),
            Scheme::TurningTree => {
                for power in powers() {
                    // Of the members of a tree, those that are joined over this distance to their parents.
                    let joined = (count - power).div_ceil(2 * power) as f64;
                    (0..count).for_each(|at| pair(at, (at + power) % count, m * joined / count as f64));
                }
            }
            Scheme::Pairwise => traffic.group(members, 2.0 * m),
        }
    }
}

/// Of members that are no power of two the first ones are joined in pairs before and after, as MPICH does.
fn by_bits(count: usize, pair: &mut impl FnMut(usize, usize, f64), bytes: impl Fn(u32) -> f64, folded: f64) {
    let bits = count.ilog2();
    let rest = count - (1 << bits);
    (0..rest).for_each(|at| pair(2 * at, 2 * at + 1, folded));
    let member = |number: usize| if number < rest { 2 * number + 1 } else { number + rest };
    for bit in 0..bits {
        for number in (0..1usize << bits).filter(|number| number & 1 << bit == 0) {
            pair(member(number), member(number | 1 << bit), bytes(bit));
        }
    }
}

/// The branches of a binomial tree, with how many members are behind each.
fn branches(count: usize, root: u32, mut take: impl FnMut(usize, usize, usize)) {
    let member = |own: usize| (own + root as usize) % count;
    for own in 1..count {
        let behind = (own & own.wrapping_neg()).min(count - own);
        take(member(own), member(own & (own - 1)), behind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(scheme: Scheme, count: u32) -> f64 {
        let mut traffic = Builder::default();
        scheme.add(&(0..count).collect::<Vec<_>>(), 1.0, &mut traffic);
        traffic.finish(count as usize).total
    }

    /// As the paper counts them.
    #[test]
    fn schemes_move_what_their_algorithms_move() {
        assert_eq!(total(Scheme::Doubling, 8), 8.0 * 3.0);
        assert_eq!(total(Scheme::Doubling, 6), 2.0 * 2.0 + 4.0 * 2.0);
        // Each rank sends 2·m·(p − 1)/p.
        assert_eq!(total(Scheme::Halving, 8), 8.0 * 2.0 * 7.0 / 8.0);
        assert_eq!(total(Scheme::Ring, 5), 5.0);
        // Each gives away all blocks but one.
        assert_eq!((total(Scheme::Bruck, 8), total(Scheme::Bruck, 6)), (8.0 * 7.0, 6.0 * 5.0));
        assert_eq!((total(Scheme::Tree { root: 2 }, 7), total(Scheme::Linear { root: 6 }, 7)), (6.0, 6.0));
        // A block crosses as many branches as its number has bits.
        assert_eq!(total(Scheme::Gathering { root: 1 }, 8), 12.0);
        assert_eq!(total(Scheme::Pairwise, 8), 56.0);
        for count in [2, 3, 6, 8, 13] {
            assert!((total(Scheme::TurningTree, count) - f64::from(count - 1)).abs() < 1e-9, "{count}");
        }
    }
}
