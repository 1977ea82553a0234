//! Which pattern links make.

use super::fit::Fit;
use super::grids::halos;
use super::links::Links;
use super::numbering::{along, in_a_cube};
use super::shape::{Branching, Shape, Way};
use super::trees;

/// The shapes that fit, the best first; of those that fit as well as each other, the more usual one.
pub fn recognise(links: &Links) -> Vec<Fit> {
    let members = links.members();
    if members < 2 || links.count() == 0 {
        return Vec::new();
    }
    if members == 2 {
        let pair = Way::ALL.into_iter().filter_map(|way| Fit::of(Shape::Pair(way), links));
        return pair.min_by_key(Fit::wrong).into_iter().collect();
    }
    let mut fits: Vec<Fit> = Vec::new();
    fits.extend(Way::ALL.into_iter().filter_map(|way| Fit::of(Shape::Ring(way), links)));
    // Once around is a ring.
    fits.extend(halos(links, 1).into_iter().filter(|fit| !is_periodic(fit)));
    fits.extend(trees::star(links));
    if members > 3 || fits.is_empty() {
        fits.extend(Fit::of(Shape::AllToAll, links));
    }
    fits.extend(halos(links, 2));
    fits.extend(halos(links, 3));
    fits.extend([Branching::Binomial, Branching::Binary].into_iter().filter_map(|kind| trees::numbered(links, kind)));
    if members.is_power_of_two() {
        fits.extend(Fit::of(Shape::Butterfly, links));
    }
    fits.extend(halos(links, 4));
    // Stable: in the order above.
    fits.sort_by_key(Fit::wrong);
    if fits.first().is_none_or(|best| best.wrong() > 0) {
        let fitting = renumbered(links);
        let is_better = |fit: &Fit| fits.first().is_none_or(|best| fit.wrong() < best.wrong());
        if let Some(fit) = fitting.filter(is_better) {
            fits.insert(0, fit);
        }
    }
    fits
}

fn is_periodic(fit: &Fit) -> bool {
    matches!(&fit.shape, Shape::Halo(grid) if grid.periodic.contains(&true))
}

/// Patterns that need no numbering.
fn renumbered(links: &Links) -> Option<Fit> {
    let mut fits: Vec<Fit> = Vec::new();
    if let Some(numbers) = along(links) {
        let rings = Way::ALL.into_iter().filter_map(|way| Fit::renumbered(Shape::Ring(way), links, numbers.clone()));
        fits.extend(rings);
        let lines = halos(&links.renumbered(&numbers), 1).into_iter().filter(|fit| !is_periodic(fit));
        fits.extend(lines.map(|fit| Fit { numbers: Some(numbers.clone()), ..fit }));
    }
    for are_mutual in [true, false] {
        let numbers = in_a_cube(&links.neighbours(are_mutual));
        fits.extend(numbers.and_then(|numbers| Fit::renumbered(Shape::Butterfly, links, numbers)));
    }
    fits.extend(trees::any(links));
    fits.into_iter().min_by_key(Fit::wrong)
}
