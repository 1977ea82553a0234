//! How unevenly the ranks of a communicator spend MPI time on it, by the measures of other tools. All of them are over the ranks that called.

use std::collections::{BTreeMap, HashMap};

use super::catalog::{Catalog, Detail};
use super::source::{Relation, Source};
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// MPI times of ranks, summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// How many ranks called.
    pub ranks: u32,
    pub sum_ns: i64,
    /// Of the rank that spent most, and of the one that spent least; of equals the lowest rank.
    pub max_ns: i64,
    pub max_rank: i64,
    pub min_ns: i64,
    pub min_rank: i64,
    /// Sum of the squared distances from the mean.
    squares: f64,
}

impl Spread {
    pub fn of(times: &[(i64, i64)]) -> Option<Spread> {
        let most = times.iter().max_by_key(|(rank, ns)| (*ns, std::cmp::Reverse(*rank)))?;
        let least = times.iter().min_by_key(|(rank, ns)| (*ns, *rank))?;
        let sum: i128 = times.iter().map(|(_, ns)| i128::from(*ns)).sum();
        let mean = sum as f64 / times.len() as f64;
        Some(Spread {
            ranks: u32::try_from(times.len()).unwrap_or(u32::MAX),
            sum_ns: sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
            max_ns: most.1,
            max_rank: most.0,
            min_ns: least.1,
            min_rank: least.0,
            squares: times.iter().map(|(_, ns)| (*ns as f64 - mean).powi(2)).sum(),
        })
    }

    fn mean(&self) -> f64 {
        self.sum_ns as f64 / f64::from(self.ranks.max(1))
    }

    /// Maximum over mean, as Hatchet's `load_imbalance` has it: 1 is even.
    pub fn max_over_mean(&self) -> Option<f64> {
        (self.mean() > 0.0).then(|| self.max_ns as f64 / self.mean())
    }

    /// Imb.Time of CrayPat: maximum less mean.
    pub fn imb_time_ns(&self) -> i64 {
        (self.max_ns as f64 - self.mean()).round() as i64
    }

    /// Imb.% of CrayPat as a fraction: 0 where all ranks spend the same, 1 where one spends all
    /// (DeRose, Homer, Johnson: Detecting Application Load Imbalance on High End Massively Parallel Systems, Euro-Par 2007).
    pub fn imb(&self) -> Option<f64> {
        let ranks = f64::from(self.ranks);
        let is_known = self.ranks > 1 && self.max_ns > 0;
        is_known.then(|| (self.max_ns as f64 - self.mean()) / self.max_ns as f64 * ranks / (ranks - 1.0))
    }

    /// Coefficient of variation as mpiP prints it: sample deviation over mean.
    pub fn cov(&self) -> Option<f64> {
        let is_known = self.ranks > 1 && self.mean() > 0.0;
        is_known.then(|| (self.squares / f64::from(self.ranks - 1)).sqrt() / self.mean())
    }
}

/// How time spreads over the ranks of one communicator.
#[derive(Clone, Debug)]
pub struct OnComm {
    pub comm: i64,
    pub whole: Spread,
    /// By operation, the one with the most Imb.Time first.
    pub operations: Vec<(i64, Spread)>,
}

/// The one with the most Imb.Time first. Operations outside of the run time, such as `MPI_Init`, are left out.
pub fn imbalance(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<OnComm>, Error> {
    if catalog.detail != Detail::Rank {
        let (path, detail) = (profile.path.clone(), catalog.detail);
        return Err(Error::Coarse { path, detail, asked: "imbalance between ranks" });
    }
    let Relation { sql, values } = Source::new(profile, catalog, filter).parts()?;
    let outside = catalog.operations.keys().filter(|op| catalog.is_outside_span(**op));
    let outside: Vec<String> = outside.map(i64::to_string).collect();
    let sql =
        format!("SELECT n.comm, n.op, n.rank, n.time_ns FROM ({sql}) n WHERE n.op NOT IN ({})", outside.join(","));
    // Added up here: cells do not lie by ranks, and SQLite would sort them all.
    let mut groups: BTreeMap<(i64, i64), Times> = BTreeMap::new();
    profile.query::<(), ()>(&sql, values, |row| {
        let (comm, op, rank, time_ns): (i64, i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let sum = groups.entry((comm, op)).or_default().entry(rank).or_default();
        *sum = sum.saturating_add(time_ns);
        Ok(())
    })?;
    let mut wholes: BTreeMap<i64, (Times, Vec<(i64, Spread)>)> = BTreeMap::new();
    for ((comm, op), times) in groups {
        let (whole, operations) = wholes.entry(comm).or_default();
        for (rank, ns) in &times {
            let sum = whole.entry(*rank).or_default();
            *sum = sum.saturating_add(*ns);
        }
        operations.extend(spread(times).map(|spread| (op, spread)));
    }
    let mut found: Vec<OnComm> = Vec::new();
    for (comm, (times, mut operations)) in wholes {
        operations.sort_by_key(|(op, spread)| (std::cmp::Reverse(spread.imb_time_ns()), *op));
        found.extend(spread(times).map(|whole| OnComm { comm, whole, operations }));
    }
    found.sort_by_key(|on_comm| (std::cmp::Reverse(on_comm.whole.imb_time_ns()), on_comm.comm));
    Ok(found)
}

/// By rank.
type Times = HashMap<i64, i64>;

fn spread(times: Times) -> Option<Spread> {
    let mut times: Vec<(i64, i64)> = times.into_iter().collect();
    times.sort_unstable();
    Spread::of(&times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(times: &[i64]) -> Spread {
        Spread::of(&(0..).zip(times.iter().copied()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn measures_are_those_of_their_tools() {
        let one = spread(&[2, 4, 4, 6]);
        assert_eq!((one.max_rank, one.min_rank, one.imb_time_ns()), (3, 0, 2));
        assert_eq!(one.max_over_mean(), Some(1.5));
        assert!((one.imb().unwrap() - 2.0 / 6.0 * 4.0 / 3.0).abs() < 1e-12);
        assert!((one.cov().unwrap() - (8.0f64 / 3.0).sqrt() / 4.0).abs() < 1e-12);
    }

    #[test]
    fn the_ends_of_imbalance() {
        let even = spread(&[5, 5, 5]);
        assert_eq!((even.imb(), even.cov(), even.max_over_mean()), (Some(0.0), Some(0.0), Some(1.0)));
        assert_eq!((even.max_rank, even.min_rank), (0, 0));
        let one_has_all = spread(&[0, 0, 0, 8]);
        assert_eq!((one_has_all.imb(), one_has_all.max_over_mean()), (Some(1.0), Some(4.0)));
        let alone = spread(&[7]);
        assert_eq!((alone.imb(), alone.cov(), alone.imb_time_ns()), (None, None, 0));
        let nothing = spread(&[0, 0]);
        assert_eq!((nothing.imb(), nothing.cov(), nothing.max_over_mean()), (None, None, None));
        assert!(Spread::of(&[]).is_none() && spread(&[i64::MAX, i64::MAX, i64::MIN]).cov().is_some());
    }
}
