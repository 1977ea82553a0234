//! Half the round trip between two ranks: nothing one-way can be faster. A time below it means that the ranks did not begin together.

use super::clock::local_s;
use crate::composition::Composition;
use crate::library::Library;
use crate::mpi::World;
use crate::pattern::Pattern;

/// Rounds that count, after as many that do not.
const ROUNDS: usize = 50;

/// There and back, one message each. Collective; `None` where the library cannot do it.
pub fn half_s(
    world: &World,
    (one, other): (usize, usize),
    bytes: u64,
    groups: &[Option<usize>],
    library: &dyn Library,
) -> Option<f64> {
    let there = Pattern::of_pairs(one.max(other) + 1, [(one, other, bytes)]);
    let back = Pattern::of_pairs(one.max(other) + 1, [(other, one, bytes)]);
    let mut composition =
        Composition::over(world, world.round_trips(), there.then(&back, false), groups, library).ok()?;
    composition.fill(1);
    let mut best = f64::INFINITY;
    for round in 0..2 * ROUNDS {
        composition.arm();
        world.barrier();
        let begin = local_s();
        composition.run();
        // The one that began knows that the other was there.
        if world.rank() == one && round >= ROUNDS {
            best = best.min(local_s() - begin);
        }
    }
    Some(world.all_min(&[best])[0] / 2.0)
}
