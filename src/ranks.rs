//! Lists of ranks as people write them: `0-3,8`. Ranks are held as ranges, never one by one: a file may state any of them.

use std::fmt;

/// Writes ranges of ranks, both ends included, that ascend without touching one another.
pub fn format_ranges(ranges: &[(u32, u32)]) -> String {
    let range = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

/// A set of ranks: ranges, both ends included, that ascend without touching one another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranks(Vec<(u32, u32)>);

impl Ranks {
    /// 0 to `count` - 1, as far as ranks go.
    pub fn first(count: u64) -> Ranks {
        let last = count.checked_sub(1).map(|last| u32::try_from(last).unwrap_or(u32::MAX));
        Ranks(last.map(|last| (0, last)).into_iter().collect())
    }

    /// Reads what a profile says of a communicator's members. What makes no sense is left out.
    pub fn read(text: &str) -> Ranks {
        let range = |word: &str| {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            Some((first.parse().ok()?, last.parse().ok()?)).filter(|(first, last): &(u32, u32)| first <= last)
        };
        Ranks::of(text.split(',').filter_map(range).collect())
    }

    /// Of ranges in any order.
    fn of(mut ranges: Vec<(u32, u32)>) -> Ranks {
        ranges.sort_unstable();
        ranges.dedup_by(|next, kept| {
            let is_joined = next.0 <= kept.1.saturating_add(1);
            if is_joined {
                kept.1 = kept.1.max(next.1);
            }
            is_joined
        });
        Ranks(ranges)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many they are.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(first, last)| u64::from(last - first) + 1).sum()
    }

    pub fn contains(&self, rank: u32) -> bool {
        let before = self.0.partition_point(|(_, last)| *last < rank);
        self.0.get(before).is_some_and(|(first, _)| *first <= rank)
    }

    /// The ranges, both ends included.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }

    /// Those that are in both.
    pub fn within(&self, others: &Ranks) -> Ranks {
        let mut both = Vec::new();
        let (mut own, mut other) = (self.0.iter().peekable(), others.0.iter().peekable());
        while let (Some(a), Some(b)) = (own.peek(), other.peek()) {
            let (first, last) = (a.0.max(b.0), a.1.min(b.1));
            if first <= last {
                both.push((first, last));
            }
            // Whichever ends first meets nothing more.
            if a.1 < b.1 {
                own.next()
            } else {
                other.next()
            };
        }
        Ranks(both)
    }

    /// Those that are in either.
    pub fn with(&self, others: &Ranks) -> Ranks {
        Ranks::of(self.0.iter().chain(&others.0).copied().collect())
    }

    pub fn without(&self, others: &Ranks) -> Ranks {
        self.within(&others.inverse())
    }

    fn inverse(&self) -> Ranks {
        let mut gaps = Vec::new();
        let mut next = Some(0);
        for (first, last) in &self.0 {
            gaps.extend(next.filter(|next| next < first).map(|next| (next, first - 1)));
            next = last.checked_add(1);
        }
        gaps.extend(next.map(|next| (next, u32::MAX)));
        Ranks(gaps)
    }
}

impl FromIterator<u32> for Ranks {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> Ranks {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for rank in ranks {
            match ranges.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
                _ => ranges.push((rank, rank)),
            }
        }
        Ranks::of(ranges)
    }
}

impl fmt::Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_ranges(&self.0))
    }
}

/// The ranges of ranks that a user named, as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankSet(Vec<(u32, u32)>);

impl RankSet {
    /// Reads a list such as `0,4-7`.
    pub fn parse(text: &str) -> Result<RankSet, String> {
        let wrong = || format!("'{text}' is not a list of ranks: write 0,4-7");
        let rank = |word: &str| word.trim().parse::<u32>().map_err(|_| wrong());
        let range = |word: &str| match word.split_once('-') {
            None => rank(word).map(|only| (only, only)),
            Some((low, high)) => {
                let (low, high) = (rank(low)?, rank(high)?);
                if low <= high { Ok((low, high)) } else { Err(format!("'{word}' goes down: write {high}-{low}")) }
            }
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(RankSet)
    }

    pub fn contains(&self, rank: u32) -> bool {
        self.0.iter().any(|(low, high)| (*low..=*high).contains(&rank))
    }

    /// The ranges, both ends included.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(ranks: &[u32]) -> String {
        ranks.iter().copied().collect::<Ranks>().to_string()
    }

    #[test]
    fn lists_are_short() {
        assert_eq!(list(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(list(&[5]), "5");
        assert_eq!(list(&[1, 3, 5, 6]), "1,3,5-6");
        assert_eq!(list(&[6, 1, 5, 3, 5]), "1,3,5-6");
        assert_eq!(list(&[]), "");
        assert_eq!(list(&[u32::MAX - 1, u32::MAX]), "4294967294-4294967295");
    }

    #[test]
    fn what_a_file_says_costs_no_more_than_its_words() {
        let all = Ranks::read("0-4294967295");
        assert_eq!((all.count(), all.ranges()), (1 << 32, &[(0, u32::MAX)][..]));
        assert_eq!(Ranks::first(u64::MAX), all);
        assert_eq!(Ranks::first(0), Ranks::default());
        assert_eq!(Ranks::read("9,x,3-1,-,2-4,4294967296,1,10-,4-6").to_string(), "1-6,9");
        assert_eq!(Ranks::read("4294967295,0-4294967294,7"), all);
    }

    #[test]
    fn sets_are_compared_range_by_range() {
        let ranks = Ranks::read;
        assert_eq!(ranks("0-9").without(&ranks("3,5-6,20")).to_string(), "0-2,4,7-9");
        assert_eq!(ranks("0-4294967295").without(&ranks("0,4294967295")).to_string(), "1-4294967294");
        assert_eq!(ranks("2,4").without(&ranks("0-4294967295")), Ranks::default());
        assert_eq!(ranks("2,4").without(&Ranks::default()).to_string(), "2,4");
        assert_eq!((0..9).filter(|rank| ranks("1-2,5,7").contains(*rank)).collect::<Vec<_>>(), [1, 2, 5, 7]);
        assert_eq!(ranks("0-5,8-12,20").within(&ranks("4-9,12-30")).to_string(), "4-5,8-9,12,20");
    }

    #[test]
    fn lists_are_read() {
        let set = RankSet::parse("0,4-7").unwrap();
        assert!(set.contains(0) && set.contains(5) && !set.contains(3) && !set.contains(8));
        for wrong in ["", "a", "1-", "-1", "3-1", "1,,2", "99999999999"] {
            assert!(RankSet::parse(wrong).is_err(), "{wrong}");
        }
    }
}
