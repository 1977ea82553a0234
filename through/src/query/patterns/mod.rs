//! Patterns of who sends to whom on each communicator: rings, halos, stars, trees, butterflies, and the links that do not fit.

mod fit;
mod grids;
mod links;
mod numbering;
mod recognise;
mod shape;
mod trees;

#[cfg(test)]
mod generated;

use std::collections::{BTreeMap, HashMap};

use commsee::ranks::Ranks;

pub use fit::Fit;
pub use shape::{Branching, Grid, Shape, Way};

use self::links::Links;
use self::recognise::recognise;
use super::catalog::{Catalog, Communicator, Detail, unsigned};
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// Messages from one rank to another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// World ranks.
    pub src: i64,
    pub dst: i64,
    pub calls: i64,
    pub bytes: u64,
}

/// Why no pattern was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unjudged {
    /// It joins two groups.
    Intercommunicator,
    /// The profile lacks members of it.
    Missing,
}

/// The pattern of a communicator.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub comm: Communicator,
    /// World ranks among which the pattern was looked for, ascending: the members, or those that sent or got anything.
    pub ranks: Vec<i64>,
    pub links: usize,
    pub calls: i64,
    pub bytes: u64,
    /// `None`: it is none that is known.
    pub fit: Option<Fit>,
    /// Other shapes that fit as well.
    pub also: Vec<Shape>,
    pub unjudged: Option<Unjudged>,
    /// Links that do not fit, the heaviest first.
    pub extra: Vec<Link>,
    /// Links of the pattern that are not there.
    pub lacking: Vec<Link>,
}

/// Links that carry less than this part of what the heaviest one carries are no part of a pattern: a result that is collected
/// once does not hide the halo that is exchanged in each step.
const LIGHT: u64 = 100;

/// Of each communicator with messages between ranks, the heaviest first.
pub fn patterns(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<Pattern>, Error> {
    if catalog.detail != Detail::Rank {
        let asked = "a pattern of ranks";
        return Err(Error::Coarse { path: profile.path.clone(), detail: catalog.detail, asked });
    }
    let known: Ranks = catalog.processes.iter().filter_map(|process| u32::try_from(process.rank).ok()).collect();
    let mut patterns: Vec<Pattern> = messages(profile, filter)?
        .into_iter()
        .filter_map(|(comm, links)| Some(pattern(catalog.communicators.get(&comm)?.clone(), &known, links)))
        .collect();
    patterns.sort_by(|a, b| {
        (b.bytes, b.calls).cmp(&(a.bytes, a.calls)).then_with(|| a.comm.name_key().cmp(&b.comm.name_key()))
    });
    Ok(patterns)
}

/// By the communicator's number. Added up here: rows do not lie by ranks, and SQLite would sort them all.
fn messages(profile: &Profile, filter: &Filter) -> Result<BTreeMap<i64, Vec<Link>>, Error> {
    let (condition, values) = filter.edge_condition();
    let sql = format!("SELECT x.comm, x.src, x.dst, x.calls, x.bytes FROM edge x WHERE {condition}");
    let mut sums: HashMap<(i64, i64, i64), (i64, u64)> = HashMap::new();
    profile.query::<(), ()>(&sql, values, |row| {
        let (calls, bytes): (i64, i64) = (row.get(3)?, row.get(4)?);
        let sum = sums.entry((row.get(0)?, row.get(1)?, row.get(2)?)).or_default();
        *sum = (sum.0.saturating_add(calls), sum.1.saturating_add(unsigned(bytes)));
        Ok(())
    })?;
    let mut by_comm: BTreeMap<i64, Vec<Link>> = BTreeMap::new();
    for ((comm, src, dst), (calls, bytes)) in sums {
        by_comm.entry(comm).or_default().push(Link { src, dst, calls, bytes });
    }
    by_comm.values_mut().for_each(|links| links.sort_unstable_by_key(|link| (link.src, link.dst)));
    Ok(by_comm)
}

fn pattern(comm: Communicator, known: &Ranks, links: Vec<Link>) -> Pattern {
    let members = comm.ranks.as_deref().map(Ranks::read).unwrap_or_default();
    let bytes = links.iter().fold(0, |sum: u64, link| sum.saturating_add(link.bytes));
    let calls = links.iter().fold(0, |sum: i64, link| sum.saturating_add(link.calls));
    let mut pattern = Pattern {
        ranks: Vec::new(),
        links: links.iter().filter(|link| link.src != link.dst).count(),
        calls,
        bytes,
        fit: None,
        also: Vec::new(),
        unjudged: None,
        extra: Vec::new(),
        lacking: Vec::new(),
        comm,
    };
    pattern.unjudged = match () {
        () if pattern.comm.remote_size > 0 => Some(Unjudged::Intercommunicator),
        () if pattern.comm.size.is_some_and(|size| members.within(known).count() < size) => Some(Unjudged::Missing),
        () => None,
    };
    // The members are ranks that the profile has a row for: as many as the file states at most.
    let all: Vec<i64> =
        members.within(known).ranges().iter().flat_map(|(first, last)| *first..=*last).map(i64::from).collect();
    let mut active: Vec<i64> =
        links.iter().flat_map(|link| [link.src, link.dst]).filter(|rank| all.binary_search(rank).is_ok()).collect();
    active.sort_unstable();
    active.dedup();
    if pattern.unjudged.is_some() {
        pattern.ranks = all;
        return pattern;
    }
    let most = links.iter().filter(|link| link.src != link.dst).map(|link| link.bytes).max().unwrap_or(0);
    let heavy: Vec<Link> = links.iter().filter(|link| link.bytes >= most / LIGHT).copied().collect();
    let mut heavy_active: Vec<i64> = heavy
        .iter()
        .filter(|link| link.src != link.dst)
        .flat_map(|link| [link.src, link.dst])
        .filter(|rank| all.binary_search(rank).is_ok())
        .collect();
    heavy_active.sort_unstable();
    heavy_active.dedup();
    let attempts = [(&all, &links), (&active, &links), (&all, &heavy), (&heavy_active, &heavy)];
    for (at, (ranks, of)) in attempts.iter().enumerate() {
        if attempts[..at].contains(&(*ranks, *of)) {
            continue;
        }
        let mut fits = recognise(&numbered(ranks, of)).into_iter();
        if let Some(fit) = fits.next() {
            pattern.also = fits.take_while(|other| other.wrong() == fit.wrong()).map(|other| other.shape).collect();
            pattern.ranks.clone_from(ranks);
            tell_differences(&mut pattern, &fit, &links);
            pattern.fit = Some(fit);
            return pattern;
        }
    }
    pattern.ranks = all;
    pattern
}

fn numbered(ranks: &[i64], links: &[Link]) -> Links {
    let number = |rank: i64| ranks.binary_search(&rank).ok().map(|number| number as u32);
    Links::new(ranks.len(), links.iter().filter_map(|link| Some((number(link.src)?, number(link.dst)?))))
}

/// Of all links, also those that were too light to be looked at.
fn tell_differences(pattern: &mut Pattern, fit: &Fit, links: &[Link]) {
    let (extra, lacking) = fit.differences(&numbered(&pattern.ranks, links));
    let rank = |number: u32| pattern.ranks[number as usize];
    let found = |src: i64, dst: i64| links.binary_search_by_key(&(src, dst), |link| (link.src, link.dst)).ok();
    pattern.lacking =
        lacking.into_iter().map(|(src, dst)| Link { src: rank(src), dst: rank(dst), ..Link::default() }).collect();
    let is_outside = |link: &&Link| {
        let is_in = |rank| pattern.ranks.binary_search(&rank).is_ok();
        link.src != link.dst && !(is_in(link.src) && is_in(link.dst))
    };
    let inside = extra.into_iter().filter_map(|(src, dst)| found(rank(src), rank(dst))).map(|at| links[at]);
    pattern.extra = inside.chain(links.iter().filter(is_outside).copied()).collect();
    pattern.extra.sort_by_key(|link| std::cmp::Reverse((link.bytes, link.calls)));
}
