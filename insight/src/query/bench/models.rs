//! Which ranks share a network interface: models fitted to the bandwidths of one pattern over k.

use std::collections::{BTreeMap, BTreeSet};

use commsee::bench::model::{Fit, Point, Standing, fit};

use super::results::{Case, Measured};

/// One pattern, library and size; `k` of its case is 0.
#[derive(Clone, Debug)]
pub struct Fitted {
    pub case: Case,
    pub points: Vec<Point>,
    /// The best first.
    pub fits: Vec<Fit>,
}

impl Fitted {
    /// Models that cannot be told from the best.
    pub fn alike(&self) -> impl Iterator<Item = &Fit> {
        self.fits.iter().filter(|fit| matches!(fit.standing, Standing::Same | Standing::Near))
    }

    /// The values of k that were measured.
    pub fn ks(&self) -> Vec<u64> {
        self.points.iter().map(|point| point.k).collect::<BTreeSet<u64>>().into_iter().collect()
    }
}

/// What suits each pattern. A map is tried for groups of as many ranks as it has.
pub fn fitted(results: &[Measured], nics: Option<&[u64]>) -> Vec<Fitted> {
    let mut patterns: BTreeMap<Case, Vec<Point>> = BTreeMap::new();
    for row in results.iter().filter(|row| row.is_sound() && row.case.step == 0) {
        let Some(bandwidth) = row.bandwidth() else { continue };
        let point = Point { k: row.case.k, bandwidth, noise: row.noise().unwrap_or(0.0) };
        patterns.entry(Case { k: 0, ..row.case.clone() }).or_default().push(point);
    }
    let fitted = |(case, points): (Case, Vec<Point>)| {
        let map = nics.filter(|nics| nics.len() as u64 == case.g);
        Fitted { fits: fit(&points, case.g, map), case, points }
    };
    patterns.into_iter().map(fitted).filter(|fitted| !fitted.fits.is_empty()).collect()
}
