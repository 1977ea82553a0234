//! Placements of grids: each node takes a cell of the grid, as `grid_order` of Cray does. Swaps of two ranks do not find these, since
//! they would make it worse at first.

use super::nodes::Node;
use crate::query::patterns::{Grid, Pattern, Shape};

/// Grids that are taken into account, the heaviest first, and cells of each.
const MOST_GRIDS: usize = 2;
const MOST_CELLS: usize = 64;

pub fn placements(patterns: &[Pattern], ranks: &[i64], nodes: &[Node]) -> Vec<Vec<u32>> {
    let slots = nodes.first().map_or(0, |node| node.slots);
    let is_even = nodes.iter().all(|node| node.slots == slots) && slots * nodes.len() == ranks.len();
    if !is_even || slots < 2 {
        return Vec::new();
    }
    let grids = patterns.iter().filter(|pattern| pattern.ranks == ranks).filter_map(|pattern| {
        match &pattern.fit.as_ref()?.shape {
            Shape::Halo(grid) => Some(grid),
            _ => None,
        }
    });
    grids.take(MOST_GRIDS).flat_map(|grid| of_grid(grid, slots, ranks.len())).collect()
}

fn of_grid(grid: &Grid, slots: usize, ranks: usize) -> Vec<Vec<u32>> {
    let mut cells = cells(&grid.dims, slots as u32);
    // The smallest surface first.
    cells.sort_by_key(|cell| cell.iter().sum::<u32>());
    cells.truncate(MOST_CELLS);
    let place = |cell: &Vec<u32>| {
        let node = |rank: u32| {
            let point = grid.point(rank).into_iter();
            point.zip(&grid.dims).zip(cell).fold(0, |node, ((at, dim), width)| node * (dim / width) + at / width)
        };
        (0..ranks as u32).map(node).collect()
    };
    cells.iter().map(place).collect()
}

/// The ways to cut dimensions into equal cells with so many members.
fn cells(dims: &[u32], members: u32) -> Vec<Vec<u32>> {
    let Some((dim, rest)) = dims.split_first() else {
        return if members == 1 { vec![Vec::new()] } else { Vec::new() };
    };
    let widths = (1..=members.min(*dim)).filter(|width| dim.is_multiple_of(*width) && members.is_multiple_of(*width));
    widths
        .flat_map(|width| cells(rest, members / width).into_iter().map(move |rest| [vec![width], rest].concat()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::cells;

    #[test]
    fn cells_cut_evenly() {
        assert_eq!(cells(&[4, 4], 4), [[1, 4], [2, 2], [4, 1]]);
        assert_eq!(cells(&[6, 4], 8), [[2, 4]]);
        assert!(cells(&[5, 5], 3).is_empty());
    }
}
