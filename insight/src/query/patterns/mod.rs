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

use std::collections::BTreeMap;

use commsee::ranks::Ranks;

pub use fit::Fit;
pub use shape::{Branching, Grid, Shape, Way};

use self::links::Links;
use self::recognise::recognise;
use through_core::query::Error;
use through_core::query::catalog::{Catalog, Communicator, Detail, unsigned};
use through_core::query::filter::Filter;
use through_core::query::open::Profile;

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

/// By the communicator's number, pairs ascending. Operations are added up here: SQLite would sort all rows for it.
fn messages(profile: &Profile, filter: &Filter) -> Result<BTreeMap<i64, Vec<Link>>, Error> {
    let (condition, values) = filter.edge_condition();
    let sql = format!("SELECT x.comm, x.src, x.dst, x.calls, x.bytes FROM edge x WHERE {condition}");
    let mut by_comm: BTreeMap<i64, Vec<Link>> = BTreeMap::new();
    profile.query::<(), ()>(&sql, values, |row| {
        let link = Link { src: row.get(1)?, dst: row.get(2)?, calls: row.get(3)?, bytes: unsigned(row.get(4)?) };
        by_comm.entry(row.get(0)?).or_default().push(link);
        Ok(())
    })?;
    for links in by_comm.values_mut() {
        links.sort_by_key(|link| (link.src, link.dst));
        links.dedup_by(|next, kept| {
            let is_same = (next.src, next.dst) == (kept.src, kept.dst);
            if is_same {
                kept.calls = kept.calls.saturating_add(next.calls);
                kept.bytes = kept.bytes.saturating_add(next.bytes);
            }
            is_same
        });
    }
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
    if pattern.unjudged.is_some() {
        pattern.ranks = all;
        return pattern;
    }
    let most = links.iter().filter(|link| link.src != link.dst).map(|link| link.bytes).max().unwrap_or(0);
    // All that was sent, by all members or by those that took part; then what was more than a little.
    for least in [0, (most / LIGHT).max(1)] {
        let active = active(&all, &links, least);
        for ranks in [&all, &active] {
            let is_tried = std::ptr::eq(ranks, &active) && active == all;
            if !is_tried && judge(&mut pattern, ranks, &links, least) {
                return pattern;
            }
        }
    }
    pattern.ranks = all;
    pattern
}

/// Members that sent or got at least so many bytes from another one.
fn active(members: &[i64], links: &[Link], least: u64) -> Vec<i64> {
    let mut is_active = vec![false; members.len()];
    for link in links.iter().filter(|link| link.bytes >= least && link.src != link.dst) {
        for rank in [link.src, link.dst] {
            members.binary_search(&rank).into_iter().for_each(|at| is_active[at] = true);
        }
    }
    members.iter().zip(is_active).filter(|(_, is)| *is).map(|(rank, _)| *rank).collect()
}

/// Whether links with at least so many bytes make a pattern of these ranks, which is then that of the communicator.
fn judge(pattern: &mut Pattern, ranks: &[i64], links: &[Link], least: u64) -> bool {
    let mut fits = recognise(&numbered(ranks, links, least)).into_iter();
    let Some(fit) = fits.next() else { return false };
    pattern.also = fits.take_while(|other| other.wrong() == fit.wrong()).map(|other| other.shape).collect();
    pattern.ranks = ranks.to_vec();
    tell_differences(pattern, &fit, links);
    pattern.fit = Some(fit);
    true
}

fn numbered(ranks: &[i64], links: &[Link], least: u64) -> Links {
    let number = |rank: i64| ranks.binary_search(&rank).ok().map(|number| number as u32);
    let heavy = links.iter().filter(|link| link.bytes >= least);
    Links::new(ranks.len(), heavy.filter_map(|link| Some((number(link.src)?, number(link.dst)?))))
}

/// Of all links, also those that were too light to be looked at.
fn tell_differences(pattern: &mut Pattern, fit: &Fit, links: &[Link]) {
    let (extra, lacking) = fit.differences(&numbered(&pattern.ranks, links, 0));
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
