//! Halos: for which dimensions links join neighbours on a grid.

use super::fit::Fit;
use super::links::Links;
use super::shape::{Grid, Shape, Way};

/// Links that are looked at before a grid is taken into account: most grids are ruled out by these.
const SAMPLE: usize = 32;
/// Of lattice field theory; more dimensions are not in use.
const MOST_DIMS: usize = 4;

/// What links along one dimension look like.
#[derive(Clone, Copy, Default)]
struct Axis {
    up: usize,
    down: usize,
    wraps: usize,
}

/// The grids of so many dimensions that the links fit, the best first.
pub fn halos(links: &Links, dimensions: usize) -> Vec<Fit> {
    let members = links.members() as u32;
    if links.count() == 0 || dimensions > MOST_DIMS {
        return Vec::new();
    }
    let every = links.count().div_ceil(SAMPLE);
    let sample: Vec<(u32, u32)> = links.all().step_by(every).collect();
    let mut fits: Vec<Fit> = Vec::new();
    for dims in factors(members, dimensions) {
        let open = |dims| Grid { dims, periodic: vec![true; dimensions], ways: Vec::new(), reach: dimensions };
        let grid = open(dims);
        let misfits = sample.iter().filter(|link| offset(&grid, **link).is_none()).count();
        if misfits <= 1 + sample.len() / 4 {
            fits.extend(shapes(grid, links).into_iter().filter_map(|grid| Fit::of(Shape::Halo(grid), links)));
        }
    }
    fits.sort_by_key(Fit::wrong);
    fits
}

/// The grids of these dimensions that the links suggest: periodic where most links around are there, one way where most go so.
fn shapes(grid: Grid, links: &Links) -> Vec<Grid> {
    let mut axes = vec![Axis::default(); grid.dims.len()];
    let mut by_reach = vec![0; grid.dims.len() + 1];
    for link in links.all() {
        let Some(steps) = offset(&grid, link) else { continue };
        let changed = steps.iter().filter(|(step, _)| *step != 0).count();
        by_reach[changed] += 1;
        if changed > 1 {
            continue;
        }
        for (axis, (step, wraps)) in axes.iter_mut().zip(steps) {
            axis.up += usize::from(step > 0);
            axis.down += usize::from(step < 0);
            axis.wraps += usize::from(wraps);
        }
    }
    let reaches: Vec<usize> = (1..by_reach.len()).take_while(|reach| by_reach[*reach] > 0).collect();
    let mut grids = Vec::new();
    // One link against the others may be the one that is wrong.
    for both_from in [4, 2] {
        let ways: Vec<Way> = axes.iter().map(|axis| way(axis.up, axis.down, both_from)).collect();
        let is_periodic = |at: usize| {
            let ends = links.members() / grid.dims[at] as usize * if ways[at] == Way::Both { 2 } else { 1 };
            grid.dims[at] > 2 && axes[at].wraps * 2 >= ends
        };
        let periodic: Vec<bool> = (0..axes.len()).map(is_periodic).collect();
        let of_reach =
            |reach: &usize| Grid { periodic: periodic.clone(), ways: ways.clone(), reach: *reach, ..grid.clone() };
        grids.extend(reaches.iter().map(of_reach).filter(|grid| !grids.contains(grid)).collect::<Vec<_>>());
    }
    grids
}

/// Both ways from such a part of the links on that goes the other way.
fn way(up: usize, down: usize, both_from: usize) -> Way {
    match () {
        () if up.min(down) * both_from >= up.max(down) => Way::Both,
        () if up > down => Way::Up,
        () => Way::Down,
    }
}

/// The step along each dimension, and whether it leads around; nothing between members that are no neighbours.
fn offset(grid: &Grid, (src, dst): (u32, u32)) -> Option<Vec<(i8, bool)>> {
    let (mut src, mut dst) = (src, dst);
    let mut steps = vec![(0, false); grid.dims.len()];
    for (step, dim) in steps.iter_mut().zip(&grid.dims).rev() {
        let (from, to) = (src % dim, dst % dim);
        (src, dst) = (src / dim, dst / dim);
        *step = match i64::from(to) - i64::from(from) {
            0 => (0, false),
            1 => (1, false),
            -1 => (-1, false),
            // From the last to the first is a step up.
            far if far == 1 - i64::from(*dim) => (1, true),
            far if far == i64::from(*dim) - 1 => (-1, true),
            _ => return None,
        };
    }
    Some(steps)
}

/// The ways to write a number as a product of so many numbers from 2 on, in any order.
fn factors(number: u32, count: usize) -> Vec<Vec<u32>> {
    if count <= 1 {
        return if number > 1 { vec![vec![number]] } else { Vec::new() };
    }
    let mut all = Vec::new();
    let mut small = 2;
    let mut divisors: Vec<u32> = Vec::new();
    while u64::from(small) * u64::from(small) <= u64::from(number) {
        if number.is_multiple_of(small) {
            divisors.extend([small, number / small]);
        }
        small += 1;
    }
    divisors.sort_unstable();
    divisors.dedup();
    for first in divisors {
        all.extend(factors(number / first, count - 1).into_iter().map(|rest| [vec![first], rest].concat()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::factors;

    #[test]
    fn grids_of_a_size_are_all_there() {
        assert_eq!(factors(12, 2), [[2, 6], [3, 4], [4, 3], [6, 2]]);
        assert_eq!(factors(8, 3), [[2, 2, 2]]);
        assert_eq!(factors(1024, 4).len(), 84);
        assert_eq!((factors(7, 2), factors(7, 1)), (vec![], vec![vec![7]]));
        assert!(factors(1, 1).is_empty() && factors(0, 2).is_empty());
    }
}
