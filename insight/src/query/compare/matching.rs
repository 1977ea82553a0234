//! Which communicators of one run are those of another. The names of two runs on equally many ranks are the same unless the program was changed;
//! else they are recognised by what made them, under the match of their parent.

use std::collections::HashMap;

use super::run::{Comm, Run};
use super::shape::{self, Kind};

/// Why two communicators are taken for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Name, members, parent, creator, and what else is known.
    Identity,
    /// Creator and parent, with the label, the birthplace or the members.
    Shape,
    /// Creator and parent alone, in the order of making.
    Order,
}

impl How {
    pub fn name(self) -> &'static str {
        match self {
            How::Identity => "identity",
            How::Shape => "shape",
            How::Order => "order",
        }
    }
}

/// Kinds of the one run with the kinds of the other: each is in one pair at most.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    pub pairs: Vec<(usize, usize, How)>,
}

/// What must be equal beside creator and parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feature {
    Name,
    /// World ranks.
    Members,
    Size,
    /// In relation to the ranks of the run.
    Part,
    Birthplace,
    /// Both have one. Numbers in it may differ, since there is one for each row of a grid.
    Label,
    /// How many such siblings there are: then they are matched in the order of making.
    Siblings,
}

use Feature::{Birthplace, Label, Members, Name, Part, Siblings, Size};

/// The surest first.
const OF_EQUAL_RANKS: &[(&[Feature], How)] = &[
    (&[Name, Members, Size, Birthplace, Label], How::Identity),
    (&[Members, Label, Birthplace], How::Shape),
    (&[Members, Label], How::Shape),
    (&[Name, Members, Size, Birthplace], How::Identity),
    (&[Members, Birthplace], How::Shape),
    (&[Name, Members, Size], How::Identity),
    (&[Members, Size], How::Shape),
    (&[Label, Size], How::Shape),
    (&[Label], How::Shape),
    (&[Birthplace, Size], How::Shape),
    (&[Size, Siblings], How::Order),
    (&[Siblings], How::Order),
];

const OF_OTHER_RANKS: &[(&[Feature], How)] = &[
    (&[Birthplace, Label, Siblings], How::Shape),
    (&[Label, Siblings], How::Shape),
    (&[Birthplace, Siblings], How::Shape),
    (&[Label, Part], How::Shape),
    (&[Label, Size], How::Shape),
    (&[Label], How::Shape),
    (&[Siblings], How::Order),
    (&[Part], How::Order),
    (&[Size], How::Order),
];

/// Whatever their parents: a program that makes them of another one now.
const OF_OTHER_PARENTS: &[(&[Feature], How)] = &[(&[Label, Part], How::Shape), (&[Label], How::Shape)];

/// Those of one call are one kind where the runs have different numbers of ranks.
pub fn kinds(run: &Run, is_by_call: bool) -> Vec<Kind> {
    if is_by_call { shape::by_call(run) } else { shape::single(run) }
}

/// Finds the kinds of the first run in the second.
pub fn matches(a: (&Run, &[Kind]), b: (&Run, &[Kind])) -> Matches {
    let mut search = Search { a, b, of_a: vec![None; a.1.len()], of_b: vec![false; b.1.len()], pairs: Vec::new() };
    let steps = if a.0.ranks == b.0.ranks { OF_EQUAL_RANKS } else { OF_OTHER_RANKS };
    let (below_a, below_b) = (below(a.1), below(b.1));
    let none = Vec::new();
    let at = |below: &HashMap<Option<usize>, Vec<usize>>, parent| below.get(&parent).unwrap_or(&none).clone();
    search.among(&at(&below_a, None), &at(&below_b, None), steps);
    let mut next = 0;
    while let Some((a, b, _)) = search.pairs.get(next).copied() {
        search.among(&at(&below_a, Some(a)), &at(&below_b, Some(b)), steps);
        next += 1;
    }
    let (all_a, all_b): (Vec<usize>, Vec<usize>) = ((0..a.1.len()).collect(), (0..b.1.len()).collect());
    let before = search.pairs.len();
    search.among(&all_a, &all_b, OF_OTHER_PARENTS);
    let mut next = before;
    while let Some((a, b, _)) = search.pairs.get(next).copied() {
        search.among(&at(&below_a, Some(a)), &at(&below_b, Some(b)), steps);
        next += 1;
    }
    Matches { pairs: search.pairs }
}

fn below(kinds: &[Kind]) -> HashMap<Option<usize>, Vec<usize>> {
    let mut below: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (at, kind) in kinds.iter().enumerate() {
        below.entry(kind.parent).or_default().push(at);
    }
    below
}

struct Search<'a> {
    a: (&'a Run, &'a [Kind]),
    b: (&'a Run, &'a [Kind]),
    of_a: Vec<Option<usize>>,
    of_b: Vec<bool>,
    pairs: Vec<(usize, usize, How)>,
}

impl Search<'_> {
    fn among(&mut self, of_a: &[usize], of_b: &[usize], steps: &[(&[Feature], How)]) {
        for (features, how) in steps {
            let left_a = of_a.iter().copied().filter(|at| self.of_a[*at].is_none());
            let left_b = of_b.iter().copied().filter(|at| !self.of_b[*at]);
            let alike_a = alike(self.a, left_a, features);
            let mut alike_b = alike(self.b, left_b, features);
            let mut found: Vec<(usize, usize)> = Vec::new();
            for (key, ours) in alike_a {
                let Some(theirs) = alike_b.remove(&key) else { continue };
                if !features.contains(&Siblings) || ours.len() == theirs.len() {
                    found.extend(ours.into_iter().zip(theirs));
                }
            }
            // Of a table without order.
            found.sort_unstable();
            for (a, b) in found {
                self.of_a[a] = Some(b);
                self.of_b[b] = true;
                self.pairs.push((a, b, *how));
            }
        }
    }
}

/// Kinds by what must be equal, each list in the order of making.
fn alike(
    (run, kinds): (&Run, &[Kind]),
    of: impl Iterator<Item = usize>,
    features: &[Feature],
) -> HashMap<String, Vec<usize>> {
    let mut alike: HashMap<String, Vec<usize>> = HashMap::new();
    for at in of {
        if let Some(key) = key(run, &kinds[at], features) {
            alike.entry(key).or_default().push(at);
        }
    }
    alike.values_mut().for_each(|list| list.sort_by_key(|at| shape::order(run, &kinds[*at].members)));
    alike
}

/// Nothing: it lacks what must be equal.
fn key(run: &Run, kind: &Kind, features: &[Feature]) -> Option<String> {
    let comm: &Comm = &run.comms[*kind.members.first()?];
    let mut key = comm.creator.clone();
    // The rows `-` and `*` are no communicators, and never stand for one.
    if matches!(comm.name.as_str(), "-" | "*") {
        key += &comm.name;
    }
    for feature in features {
        key.push('\n');
        match feature {
            Name => key += &comm.name,
            Members => key += &comm.ranks.as_ref().map(ToString::to_string).unwrap_or_default(),
            Size => key += &comm.size.unwrap_or(0).to_string(),
            Part => key += &part(comm.size.unwrap_or(0), run.ranks),
            Birthplace => key += comm.birthplace.as_deref().unwrap_or_default(),
            Label => key.extend(comm.label.as_ref()?.chars().filter(|letter| !letter.is_ascii_digit())),
            Siblings => {}
        }
    }
    Some(key)
}

/// `1/2`: in lowest terms.
fn part(size: u64, ranks: u64) -> String {
    let (mut a, mut b) = (size, ranks);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let common = a.max(1);
    format!("{}/{}", size / common, ranks / common)
}
