//! Lists of ranks as people write them: `0-3,8`.

/// Writes ranks as ascending ranges. `ranks` ascends without repetition.
pub fn format(ranks: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*rank) => *last = *rank,
            _ => ranges.push((*rank, *rank)),
        }
    }
    format_ranges(&ranges)
}

/// Writes ranges of ranks, both ends included, that ascend without touching one another.
pub fn format_ranges(ranges: &[(u32, u32)]) -> String {
    let range = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

/// How many ranks a list names; `None` if it is none.
pub fn count(list: &str) -> Option<u64> {
    let set = RankSet::parse(list.trim()).ok()?;
    set.ranges().iter().try_fold(0u64, |sum, (low, high)| sum.checked_add(u64::from(high - low) + 1))
}

/// A set of ranks that a user named, as ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankSet(Vec<(u32, u32)>);

impl RankSet {
    /// Reads a list such as `0,4-7`.
    pub fn parse(text: &str) -> Result<RankSet, String> {
        let wrong = || format!("'{text}' is no list of ranks: write it as 0,4-7");
        let rank = |word: &str| word.trim().parse::<u32>().map_err(|_| wrong());
        let range = |word: &str| match word.split_once('-') {
            None => rank(word).map(|only| (only, only)),
            Some((low, high)) => {
                let (low, high) = (rank(low)?, rank(high)?);
                if low <= high { Ok((low, high)) } else { Err(format!("'{word}' counts down: write {high}-{low}")) }
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

    #[test]
    fn lists_are_short() {
        assert_eq!(format(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(format(&[5]), "5");
        assert_eq!(format(&[1, 3, 5, 6]), "1,3,5-6");
        assert_eq!(format(&[]), "");
        assert_eq!(format(&[u32::MAX - 1, u32::MAX]), "4294967294-4294967295");
    }

    #[test]
    fn lists_are_read() {
        let set = RankSet::parse("0,4-7").unwrap();
        assert!(set.contains(0) && set.contains(5) && !set.contains(3) && !set.contains(8));
        assert_eq!((count("0-3,8\n"), count("0-4294967295"), count("x")), (Some(5), Some(1 << 32), None));
        for wrong in ["", "a", "1-", "-1", "3-1", "1,,2", "99999999999"] {
            assert!(RankSet::parse(wrong).is_err(), "{wrong}");
        }
    }
}
