//! How well a shape explains links.

use super::links::{Edge, Links};
use super::shape::Shape;

/// A shape with the numbers that its members have in it, and how far the links are from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    pub shape: Shape,
    /// `None`: members are numbered by their ranks.
    pub numbers: Option<Vec<u32>>,
    /// Links that the shape does not have, and links of it that are not there.
    pub extra: usize,
    pub lacking: usize,
}

/// Links that do not fit and links that lack may be so many, for each hundred of the shape: a wrong name is worse than none.
const WRONG_PERCENT: usize = 10;

/// How many may be wrong: one in any case, so that small communicators are recognised with an odd link too.
fn allowed(count: usize) -> usize {
    (count * WRONG_PERCENT / 100).max(1)
}

impl Fit {
    pub fn wrong(&self) -> usize {
        self.extra + self.lacking
    }

    /// `None` where too much is wrong.
    pub fn of(shape: Shape, links: &Links) -> Option<Fit> {
        let (mut extra, mut lacking) = (0, 0);
        let members = links.members() as u32;
        let most = allowed(links.count());
        for member in 0..members {
            let (wanted, there) = (shape.targets(members, member), links.to(member));
            let both = common(&wanted, there);
            extra += there.len() - both;
            lacking += wanted.len() - both;
            if extra + lacking > most {
                return None;
            }
        }
        Some(Fit { shape, numbers: None, extra, lacking })
    }

    /// Of members that are numbered otherwise than by rank.
    pub fn renumbered(shape: Shape, links: &Links, numbers: Vec<u32>) -> Option<Fit> {
        let fit = Fit::of(shape, &links.renumbered(&numbers))?;
        Some(Fit { numbers: Some(numbers), ..fit })
    }

    /// The links that are there and do not fit, and those that lack.
    pub fn differences(&self, links: &Links) -> (Vec<Edge>, Vec<Edge>) {
        if matches!(self.shape, Shape::AnyTree(_)) {
            return (Vec::new(), Vec::new());
        }
        let members = links.members() as u32;
        let by_rank: Vec<u32> = (0..members).collect();
        let numbers = self.numbers.as_ref().unwrap_or(&by_rank);
        let mut members_by_number = vec![0; numbers.len()];
        numbers.iter().enumerate().for_each(|(member, number)| members_by_number[*number as usize] = member as u32);
        let (mut extra, mut lacking) = (Vec::new(), Vec::new());
        for (member, number) in by_rank.iter().zip(numbers) {
            let targets = self.shape.targets(members, *number).into_iter();
            let mut wanted: Vec<u32> = targets.map(|number| members_by_number[number as usize]).collect();
            wanted.sort_unstable();
            let there = links.to(*member);
            let is_extra = |dst: &&u32| wanted.binary_search(dst).is_err();
            extra.extend(there.iter().filter(is_extra).map(|dst| (*member, *dst)));
            lacking.extend(wanted.iter().filter(|dst| !links.has(*member, **dst)).map(|dst| (*member, *dst)));
        }
        (extra, lacking)
    }
}

/// How many numbers two ascending lists share.
fn common(one: &[u32], other: &[u32]) -> usize {
    let (mut a, mut b, mut both) = (0, 0, 0);
    while let (Some(x), Some(y)) = (one.get(a), other.get(b)) {
        both += usize::from(x == y);
        a += usize::from(x <= y);
        b += usize::from(y <= x);
    }
    both
}
