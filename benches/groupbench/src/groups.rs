//! Which ranks make a group: as the system is built, or as the user says.

use std::collections::BTreeMap;
use std::str::FromStr;

use commsee::ranks::RankSet;

use crate::pattern::Shape;

/// Where groups come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// Ranks that can share memory (MPI_COMM_TYPE_SHARED).
    Node,
    /// The NUMA domain that a rank's first processor belongs to, on its host.
    Numa,
    /// The same of the processor's package.
    Socket,
    /// So many ranks each, in the order of ranks.
    Size(usize),
    /// A group a line: ranks such as `0-3,8`.
    File(String),
}

impl FromStr for GroupBy {
    type Err = String;

    fn from_str(text: &str) -> Result<GroupBy, String> {
        match text {
            "node" => Ok(GroupBy::Node),
            "numa" => Ok(GroupBy::Numa),
            "socket" => Ok(GroupBy::Socket),
            _ => match text.strip_prefix("g=") {
                Some(size) => match size.parse() {
                    Ok(size @ 1..) => Ok(GroupBy::Size(size)),
                    _ => Err(format!("{size:?} is no size of a group")),
                },
                None => Ok(GroupBy::File(text.to_owned())),
            },
        }
    }
}

impl std::fmt::Display for GroupBy {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GroupBy::Node => out.write_str("node"),
            GroupBy::Numa => out.write_str("numa"),
            GroupBy::Socket => out.write_str("socket"),
            GroupBy::Size(size) => write!(out, "g={size}"),
            GroupBy::File(file) => out.write_str(file),
        }
    }
}

/// Groups, and the world rank of each of their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    pub shape: Shape,
    /// World rank of group · g + index.
    pub ranks: Vec<usize>,
    /// World ranks that take no part.
    pub idle: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupsError {
    #[error("{ranks} rank(s) for {n} group(s) of {g}: start {} ranks or more, or ask for fewer", n * g)]
    FewRanks { ranks: usize, n: usize, g: usize },
    #[error("line {line} of the file of groups: {text:?} is no list of ranks such as 0-3,8")]
    Line { line: usize, text: String },
    #[error("rank {0} stands in the file of groups and is not in the job, or stands there twice")]
    Rank(usize),
    #[error("there is no group")]
    None,
}

impl Groups {
    /// Groups by what each rank says of its place: equal words, one group, in the order of their first ranks. Groups are made equal by leaving out the last ranks of larger ones.
    pub fn of_places(places: &[String], n: Option<usize>, g: Option<usize>) -> Result<Groups, GroupsError> {
        let mut first = BTreeMap::<&str, usize>::new();
        let mut groups = Vec::<Vec<usize>>::new();
        for (rank, place) in places.iter().enumerate() {
            let at = *first.entry(place).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[at].push(rank);
        }
        Groups::of_lists(groups, places.len(), n, g)
    }

    /// Groups of `size` ranks, or of as many as `n` groups leave.
    pub fn of_size(world: usize, size: usize, n: Option<usize>) -> Result<Groups, GroupsError> {
        let groups = (0..world / size).map(|group| (group * size..(group + 1) * size).collect()).collect();
        Groups::of_lists(groups, world, Some(n.unwrap_or(world / size)), Some(size))
    }

    pub fn of_file(text: &str, world: usize, n: Option<usize>, g: Option<usize>) -> Result<Groups, GroupsError> {
        let mut groups = Vec::new();
        let mut seen = vec![false; world];
        for (line, text) in text.lines().enumerate() {
            let text = text.split('#').next().unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            let told = || GroupsError::Line { line: line + 1, text: text.to_owned() };
            let mut group = Vec::new();
            // In the order of the file: it says which ranks are active first.
            for part in text.split(',') {
                let ranks = RankSet::parse(part.trim()).map_err(|_| told())?;
                for rank in ranks.ranges().iter().flat_map(|&(first, last)| first as usize..=last as usize) {
                    match seen.get_mut(rank) {
                        Some(seen) if !*seen => *seen = true,
                        _ => return Err(GroupsError::Rank(rank)),
                    }
                    group.push(rank);
                }
            }
            groups.push(group);
        }
        Groups::of_lists(groups, world, n, g)
    }

    fn of_lists(
        mut groups: Vec<Vec<usize>>,
        world: usize,
        n: Option<usize>,
        g: Option<usize>,
    ) -> Result<Groups, GroupsError> {
        let g = match g {
            Some(g) => g,
            None => groups.iter().map(Vec::len).min().ok_or(GroupsError::None)?,
        };
        groups.retain(|group| group.len() >= g);
        let n = n.unwrap_or(groups.len());
        if n == 0 || g == 0 || groups.len() < n {
            return Err(GroupsError::FewRanks { ranks: world, n: n.max(1), g });
        }
        let ranks: Vec<usize> = groups[..n].iter().flat_map(|group| &group[..g]).copied().collect();
        Ok(Groups { shape: Shape { n, g }, idle: world - ranks.len(), ranks })
    }

    /// The first `n` of them.
    pub fn first(&self, n: usize) -> Result<Groups, GroupsError> {
        let Shape { n: all, g } = self.shape;
        let world = self.ranks.len() + self.idle;
        if n > all {
            return Err(GroupsError::FewRanks { ranks: world, n, g });
        }
        Ok(Groups { shape: Shape { n, g }, ranks: self.ranks[..n * g].to_vec(), idle: world - n * g })
    }

    /// Group and index of each world rank.
    pub fn places(&self, world: usize) -> Vec<Option<(usize, usize)>> {
        let mut places = vec![None; world];
        for (at, &rank) in self.ranks.iter().enumerate() {
            places[rank] = Some((at / self.shape.g, at % self.shape.g));
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn equal_places_are_one_group() {
        let groups = Groups::of_places(&words("b a b a b"), None, None).unwrap();
        assert_eq!((groups.shape, groups.idle), (Shape { n: 2, g: 2 }, 1));
        assert_eq!(groups.ranks, [0, 2, 1, 3]);
        assert_eq!(groups.places(5)[3], Some((1, 1)));
        assert_eq!(groups.places(5)[4], None);
    }

    #[test]
    fn too_few_ranks_are_told() {
        assert!(Groups::of_size(4, 2, Some(3)).unwrap_err().to_string().contains("start 6 ranks"));
        assert!(Groups::of_size(4, 8, None).is_err());
        assert_eq!(Groups::of_size(7, 3, None).unwrap().idle, 1);
    }

    #[test]
    fn files_name_each_rank_once() {
        let groups = Groups::of_file("0,2 # even\n\n1,3\n", 4, None, None).unwrap();
        assert_eq!(groups.ranks, [0, 2, 1, 3]);
        assert_eq!(
            Groups::of_file("2-3,0-1\n", 4, None, None).unwrap().ranks,
            [2, 3, 0, 1],
            "in the order of the file"
        );
        assert_eq!(Groups::of_file("0,1\n1,2\n", 4, None, None), Err(GroupsError::Rank(1)));
        assert_eq!(Groups::of_file("0,9\n", 4, None, None), Err(GroupsError::Rank(9)));
        assert!(matches!(Groups::of_file("a\n", 4, None, None), Err(GroupsError::Line { line: 1, .. })));
        assert!(Groups::of_file("", 4, None, None).is_err());
    }
}
