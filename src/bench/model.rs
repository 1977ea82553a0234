//! How the bandwidth of a group grows with the ranks of it that are active, on a host with several network interfaces (NICs).
//!
//! k active ranks share the NICs that their messages take. The busiest NIC is the last to be done, so the group gets
//! k · f ÷ (active ranks on the busiest NIC), f being the bandwidth of one NIC. Models differ in which rank takes which NIC.

/// Which NIC each rank of a group takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Model {
    /// The first `p` ranks take one, the next `p` another: f · max(1, k/p).
    Packed { p: u64 },
    /// Ranks take `r` NICs in turn: f · k / ⌈k/r⌉.
    RoundRobin { r: u64 },
    /// Each rank has its own: f · k.
    Bijective,
    /// Rank i takes NIC `nics[i]`.
    Map { nics: Vec<u64> },
}

impl Model {
    pub fn name(&self) -> &'static str {
        match self {
            Model::Packed { .. } => "packed",
            Model::RoundRobin { .. } => "round-robin",
            Model::Bijective => "bijective",
            Model::Map { .. } => "map",
        }
    }

    /// p or r.
    pub fn parameter(&self) -> Option<u64> {
        match self {
            Model::Packed { p } => Some(*p),
            Model::RoundRobin { r } => Some(*r),
            Model::Bijective | Model::Map { .. } => None,
        }
    }

    /// How many of the first `k` ranks of a group take the NIC that most of them take.
    pub fn busiest(&self, k: u64) -> u64 {
        match self {
            Model::Packed { p } => k.min(*p),
            Model::RoundRobin { r } => k.div_ceil(*r),
            Model::Bijective => k.min(1),
            Model::Map { nics } => {
                let active = || nics.iter().take(usize::try_from(k).unwrap_or(usize::MAX));
                active().map(|nic| active().filter(|other| *other == nic).count() as u64).max().unwrap_or(0)
            }
        }
    }

    /// The bandwidth of `k` ranks in units of that of one NIC.
    pub fn scale(&self, k: u64) -> f64 {
        k as f64 / self.busiest(k).max(1) as f64
    }

    /// All that may hold for groups of `g` ranks, each once: one rank a NIC is bijective, and one NIC for all is packed by g.
    fn all(g: u64) -> impl Iterator<Item = Model> {
        let packed = (2..=g).map(|p| Model::Packed { p });
        let round_robin = (2..g).map(|r| Model::RoundRobin { r });
        [Model::Bijective].into_iter().chain(packed).chain(round_robin)
    }
}

/// A bandwidth that was measured with `k` active ranks in each group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub k: u64,
    pub bandwidth: f64,
    /// Half the width of its interval over the bandwidth; 0 where it is not known.
    pub noise: f64,
}

/// A model with the f that suits the measurements best.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    pub model: Model,
    /// Of one NIC, in the unit of the bandwidths.
    pub nic_bandwidth: f64,
    /// Root of the mean of squared relative errors.
    pub residual: f64,
    pub standing: Standing,
}

/// How a model compares with the one that fits best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Best,
    /// It says the same at every k that was measured.
    Same,
    /// Its errors are larger, but noise may do that.
    Near,
    Worse,
}

impl Standing {
    pub fn name(self) -> &'static str {
        match self {
            Standing::Best => "best",
            Standing::Same => "same predictions",
            Standing::Near => "within noise",
            Standing::Worse => "worse",
        }
    }
}

/// Numbers that differ by rounding alone.
const ROUNDING: f64 = 1e-9;
/// Groups larger than this are not searched for every p and r.
const MOST_RANKS: u64 = 4096;

/// Ranks for which every map is tried: 2^15 of them tell different bandwidths.
const MOST_MAPPED: u64 = 16;

/// All models of groups of `g` ranks, with a map where one is known, the best first. A map that is found is there only where noise does not explain
/// the errors of all others, since it has a choice for each rank. Points that are no bandwidth, or of more than `g` ranks, are left out; none tell nothing.
pub fn fit(points: &[Point], g: u64, map: Option<&[u64]>) -> Vec<Fit> {
    let is_one = |point: &&Point| point.bandwidth.is_finite() && point.bandwidth > 0.0 && (1..=g).contains(&point.k);
    let points: Vec<Point> = points.iter().filter(is_one).copied().collect();
    if points.is_empty() {
        return Vec::new();
    }
    let given = map.map(|nics| Model::Map { nics: nics.to_vec() });
    let models = given.into_iter().chain(Model::all(g.min(MOST_RANKS)));
    let mut fits: Vec<Fit> = models.map(|model| fitted(model, &points)).collect();
    fits.sort_by(|a, b| is_rounded(a.residual).total_cmp(&is_rounded(b.residual)));
    let found = if map.is_none() { found(&points) } else { None };
    if let Some(found) = found.filter(|found| fits[0].residual > allowed(found.residual, &points).max(ROUNDING)) {
        fits.insert(0, found);
    }
    let best = fits[0].clone();
    let allowed = allowed(best.residual, &points);
    for fit in &mut fits[1..] {
        fit.standing = match () {
            () if says_the_same(fit, &best, &points) => Standing::Same,
            () if fit.residual <= allowed => Standing::Near,
            () => Standing::Worse,
        };
    }
    fits[0].standing = Standing::Best;
    fits
}

/// Least squares of relative errors, so that small bandwidths count as much as large ones.
fn fitted(model: Model, points: &[Point]) -> Fit {
    let parts: Vec<f64> = points.iter().map(|point| model.scale(point.k) / point.bandwidth).collect();
    let nic_bandwidth = parts.iter().sum::<f64>() / parts.iter().map(|part| part * part).sum::<f64>();
    let squares = parts.iter().map(|part| (nic_bandwidth * part - 1.0).powi(2)).sum::<f64>();
    Fit { model, nic_bandwidth, residual: (squares / points.len() as f64).sqrt(), standing: Standing::Worse }
}

/// The map that suits best, if every k up to the largest was measured: with one rank more the busiest NIC has as many ranks as before, or one more.
fn found(points: &[Point]) -> Option<Fit> {
    let most = points.iter().map(|point| point.k).max()?;
    if most > MOST_MAPPED || !(1..=most).all(|k| points.iter().any(|point| point.k == k)) {
        return None;
    }
    let residual = |steps: u64| fitted(Model::Map { nics: map(steps, most) }, points);
    (0..1u64 << (most - 1)).map(residual).min_by(|a, b| a.residual.total_cmp(&b.residual))
}

/// Bit i of `steps`: rank i + 1 takes the busiest NIC. The others take the first that is less busy, or else a new one.
fn map(steps: u64, ranks: u64) -> Vec<u64> {
    let (mut nics, mut taken) = (vec![0], vec![1u64]);
    for step in (0..ranks - 1).map(|rank| steps >> rank & 1) {
        let most = taken.iter().copied().max().unwrap_or(0);
        let is_free = |load: &u64| if step == 1 { *load == most } else { *load < most };
        let nic = taken.iter().position(is_free).unwrap_or(taken.len());
        if nic == taken.len() {
            taken.push(0);
        }
        taken[nic] += 1;
        nics.push(nic as u64);
    }
    nics
}

/// Exact fits are equally exact.
fn is_rounded(residual: f64) -> f64 {
    if residual < ROUNDING { 0.0 } else { residual }
}

fn says_the_same(one: &Fit, other: &Fit, points: &[Point]) -> bool {
    let said = |fit: &Fit, k| fit.nic_bandwidth * fit.model.scale(k);
    points.iter().all(|point| (said(one, point.k) / said(other, point.k) - 1.0).abs() < ROUNDING)
}

/// The largest residual that noise may explain, beside one that fits best: that of the measurements, and what the ratio of two variances of as many
/// points leaves open at 95 % (Fisher's z: its standard error is that of 1/√(ν − 1), ν = points − 1).
fn allowed(best: f64, points: &[Point]) -> f64 {
    let noise = (points.iter().map(|point| point.noise.powi(2)).sum::<f64>() / points.len() as f64).sqrt();
    let freedom = points.len() as f64 - 1.0;
    let of_ratio = match () {
        () if best < ROUNDING => 0.0,
        () if freedom <= 1.0 => f64::INFINITY,
        () => best * (ONE_SIDED / (freedom - 1.0).sqrt()).exp(),
    };
    noise.max(of_ratio)
}

/// Of the normal distribution, at 95 % on one side.
const ONE_SIDED: f64 = 1.645;

#[cfg(test)]
mod tests {
    use super::*;

    fn points(model: &Model, f: f64, ks: impl IntoIterator<Item = u64>) -> Vec<Point> {
        let point = |k| Point { k, bandwidth: f * model.scale(k), noise: 0.0 };
        ks.into_iter().map(point).collect()
    }

    #[test]
    fn models_are_what_their_formulas_say() {
        for k in 1..=16u64 {
            for m in 1..=16u64 {
                let (k_, m_) = (k as f64, m as f64);
                assert_eq!(Model::Packed { p: m }.scale(k), (k_ / m_).max(1.0));
                assert_eq!(Model::RoundRobin { r: m }.scale(k), k_ / (k_ / m_).ceil());
                // The same from the map that each of them is.
                let packed = Model::Map { nics: (0..16).map(|rank| rank / m).collect() };
                let round_robin = Model::Map { nics: (0..16).map(|rank| rank % m).collect() };
                assert_eq!(packed.scale(k), Model::Packed { p: m }.scale(k));
                assert_eq!(round_robin.scale(k), Model::RoundRobin { r: m }.scale(k));
            }
            assert_eq!(Model::Bijective.scale(k), k as f64);
        }
    }

    #[test]
    fn what_a_model_made_gives_that_model() {
        for g in 2..=12 {
            for model in Model::all(g) {
                let made = points(&model, 12.5e9, 1..=g);
                let fits = fit(&made, g, None);
                let equal: Vec<&Fit> =
                    fits.iter().filter(|fit| matches!(fit.standing, Standing::Best | Standing::Same)).collect();
                let found = equal.iter().find(|fit| fit.model == model);
                let found = found.unwrap_or_else(|| panic!("{model:?} of {g}: {:?}", fits[0]));
                assert!((found.nic_bandwidth / 12.5e9 - 1.0).abs() < 1e-9 && found.residual < 1e-9);
                // Whatever says the same does so at every k.
                for other in equal {
                    assert!(made.iter().all(|point| {
                        (other.nic_bandwidth * other.model.scale(point.k) / point.bandwidth - 1.0).abs() < 1e-6
                    }));
                }
                assert!(fits.iter().all(|fit| fit.standing != Standing::Near), "without noise nothing is near");
            }
        }
    }

    #[test]
    fn eight_ranks_on_four_nics_are_told_apart() {
        let packed = fit(&points(&Model::Packed { p: 2 }, 25e9, 1..=8), 8, None);
        assert_eq!((packed[0].model.clone(), packed[0].standing), (Model::Packed { p: 2 }, Standing::Best));
        assert_eq!(packed[1].standing, Standing::Worse);
        let round_robin = fit(&points(&Model::RoundRobin { r: 4 }, 25e9, 1..=8), 8, None);
        assert_eq!(round_robin[0].model, Model::RoundRobin { r: 4 });
        assert_eq!(round_robin[1].standing, Standing::Worse);
    }

    #[test]
    fn few_points_tell_nothing_apart_and_that_is_said() {
        let one = fit(&points(&Model::Packed { p: 2 }, 1e9, [1]), 4, None);
        assert!(one[1..].iter().all(|fit| fit.standing == Standing::Same), "{one:?}");
        // At k = 1 and 2, four NICs in turn, two, and one for each rank are all the same.
        let two = fit(&points(&Model::Bijective, 1e9, [1, 2]), 4, None);
        assert_eq!((two[0].model.clone(), two[0].standing), (Model::Bijective, Standing::Best));
        let same: Vec<&Model> = two.iter().filter(|fit| fit.standing == Standing::Same).map(|fit| &fit.model).collect();
        assert_eq!(same, [&Model::RoundRobin { r: 2 }, &Model::RoundRobin { r: 3 }]);
        assert_eq!(fit(&[], 4, None), []);
        let wrong = [Point { k: 9, bandwidth: 1.0, noise: 0.0 }, Point { k: 1, bandwidth: f64::NAN, noise: 0.0 }];
        assert_eq!(fit(&wrong, 4, None), []);
    }

    #[test]
    fn noise_hides_small_differences_only() {
        // ±3 %, in turn: four NICs for eight ranks, whichever way, but not eight, nor one.
        let model = Model::RoundRobin { r: 4 };
        let mut noisy = points(&model, 10e9, 1..=8);
        for (at, point) in noisy.iter_mut().enumerate() {
            point.bandwidth *= if at % 2 == 0 { 1.03 } else { 0.97 };
            point.noise = 0.03;
        }
        let fits = fit(&noisy, 8, None);
        assert_eq!(fits[0].model, model);
        assert!((fits[0].nic_bandwidth / 10e9 - 1.0).abs() < 0.02 && (fits[0].residual - 0.03).abs() < 0.001);
        for far in [Model::Bijective, Model::Packed { p: 8 }] {
            let fit = fits.iter().find(|fit| fit.model == far).unwrap();
            assert_eq!(fit.standing, Standing::Worse, "{fit:?}");
        }
        // A wide interval may be anything.
        noisy.iter_mut().for_each(|point| point.noise = 2.0);
        assert!(fit(&noisy, 8, None)[1..].iter().all(|fit| fit.standing == Standing::Near));
    }

    #[test]
    fn a_map_is_tried_where_one_is_given() {
        let nics = [0, 0, 1, 0];
        let map = Model::Map { nics: nics.to_vec() };
        assert_eq!((1..=4).map(|k| map.busiest(k)).collect::<Vec<_>>(), [1, 2, 2, 3]);
        let made = points(&map, 5e9, 1..=4);
        let fits = fit(&made, 4, Some(&nics));
        assert_eq!((fits[0].model.clone(), fits[0].standing), (map.clone(), Standing::Best));
    }

    #[test]
    fn a_map_is_found_where_no_model_explains_the_measurements() {
        let nics = vec![0, 0, 1, 0, 2, 2, 1, 0];
        let map = Model::Map { nics };
        let fits = fit(&points(&map, 5e9, 1..=8), 8, None);
        assert_eq!(fits[0].standing, Standing::Best);
        assert!((1..=8).all(|k| fits[0].model.busiest(k) == map.busiest(k)), "{:?}", fits[0]);
        assert!(fits[1..].iter().all(|fit| fit.standing == Standing::Worse));
        // Not from some k alone, and not where a model says as much.
        assert!(!matches!(fit(&points(&map, 5e9, [1, 2, 4, 8]), 8, None)[0].model, Model::Map { .. }));
        let packed = fit(&points(&Model::Packed { p: 4 }, 5e9, 1..=8), 8, None);
        assert!(packed.iter().all(|fit| !matches!(fit.model, Model::Map { .. })));
    }

    #[test]
    fn large_groups_end() {
        let fits = fit(&points(&Model::Packed { p: 32 }, 1e9, [1, 32, 64, 1024]), u64::MAX, None);
        assert_eq!(fits[0].model, Model::Packed { p: 32 });
    }
}
