//! How much of a run a profile keeps.

use crate::settings;
use crate::shard::Shard;

/// Rows up to which `COMMSEE_DETAIL=auto` keeps every rank's: some 100 MB and a few seconds of `MPI_Finalize`
/// (docs/explanation/scaling.md).
pub const AUTO_ROWS: u64 = 4_000_000;

/// Whose counters stand apart in a profile. Sums, extremes, and which rank had them, are the same in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Rank,
    Node,
    /// Nobody's: there are sums over the ranks only.
    Comm,
}

impl Detail {
    /// Reads the value of `COMMSEE_DETAIL`: `Some(None)` leaves it to [`Extent::detail`].
    pub fn parse(text: &str) -> Option<Option<Detail>> {
        Some(match text.trim().to_ascii_lowercase().as_str() {
            "" | "auto" => None,
            "rank" => Some(Detail::Rank),
            "node" => Some(Detail::Node),
            "comm" => Some(Detail::Comm),
            _ => return None,
        })
    }

    /// What `COMMSEE_DETAIL` of this process means for a run, and what is wrong with its value.
    pub fn wanted(extent: Extent) -> (Detail, Option<String>) {
        let text = std::env::var(settings::DETAIL).unwrap_or_default();
        match Detail::parse(&text) {
            Some(detail) => (detail.unwrap_or(extent.detail()), None),
            None => {
                let trouble = format!("COMMSEE_DETAIL={text} is none of rank, node, comm and auto: taken for auto");
                (extent.detail(), Some(trouble))
            }
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Detail::Rank => "rank",
            Detail::Node => "node",
            Detail::Comm => "comm",
        }
    }

    pub fn number(self) -> u64 {
        self as u64
    }

    pub fn of_number(number: u64) -> Detail {
        [Detail::Rank, Detail::Node].into_iter().find(|detail| detail.number() == number).unwrap_or(Detail::Comm)
    }
}

/// What must be known of all processes before the first of them tells what it counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Rows that the profile would have with every rank's counters.
    pub rows: u64,
    /// Whether any process named a phase: then there are sums over all phases.
    pub is_phased: bool,
}

impl Extent {
    pub fn of(shard: &Shard) -> Extent {
        Extent {
            rows: (shard.cells.len() + shard.edges.len() + shard.transfers.len()) as u64,
            is_phased: !shard.phases.is_empty(),
        }
    }

    pub fn and(self, other: Extent) -> Extent {
        Extent { rows: self.rows.saturating_add(other.rows), is_phased: self.is_phased || other.is_phased }
    }

    /// What `auto` means.
    pub fn detail(self) -> Detail {
        if self.rows <= AUTO_ROWS { Detail::Rank } else { Detail::Comm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert_eq!(Detail::parse(" Node"), Some(Some(Detail::Node)));
        assert_eq!((Detail::parse("auto"), Detail::parse("")), (Some(None), Some(None)));
        assert_eq!(Detail::parse("ranks"), None);
        for detail in [Detail::Rank, Detail::Node, Detail::Comm] {
            assert_eq!(Detail::of_number(detail.number()), detail);
            assert_eq!(Detail::parse(detail.name()), Some(Some(detail)));
        }
    }

    #[test]
    fn large_runs_are_summed_up() {
        let extent = |rows| Extent { rows, is_phased: false };
        assert_eq!(extent(AUTO_ROWS).detail(), Detail::Rank);
        assert_eq!(extent(AUTO_ROWS).and(extent(1)).detail(), Detail::Comm);
        assert_eq!(extent(u64::MAX).and(extent(1)).rows, u64::MAX);
    }
}
