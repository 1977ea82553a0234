//! How much of a run a profile keeps.

use crate::buckets::{Buckets, MAX_EDGES};
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
                let trouble = format!("COMMSEE_DETAIL={text} is not rank, node, comm or auto: using auto");
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

/// What is said where [`Extent::has_lost_edges`].
pub const OTHER_EDGES: &str = "ranks have different COMMSEE_BUCKETS: the profile keeps the edges that all share";

/// What must be known of all processes before the first of them tells what it counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Rows that the profile would have with every rank's counters.
    pub rows: u64,
    /// Whether any process named a phase: then there are sums over all phases.
    pub is_phased: bool,
    /// Any process is in it.
    pub is_some: bool,
    /// Edges of buckets that all processes have, ascending and behind them zeros: each was told its own.
    pub edges_bytes: [u64; MAX_EDGES],
    /// Some processes have others as well.
    pub has_lost_edges: bool,
}

impl Extent {
    pub fn of(shard: &Shard) -> Extent {
        let mut edges_bytes = [0; MAX_EDGES];
        let own = shard.buckets.edges();
        edges_bytes[..own.len()].copy_from_slice(own);
        Extent {
            rows: [
                shard.cells.len(),
                shard.edges.len(),
                shard.transfers.len(),
                shard.site_cells.len(),
                shard.file_cells.len(),
            ]
            .into_iter()
            .sum::<usize>() as u64,
            is_phased: !shard.phases.is_empty(),
            is_some: true,
            edges_bytes,
            has_lost_edges: false,
        }
    }

    pub fn of_all(extents: impl Iterator<Item = Extent>) -> Extent {
        extents.fold(Extent::default(), Extent::and)
    }

    pub fn and(self, other: Extent) -> Extent {
        let (edges_bytes, has_lost_edges) = match (self.is_some, other.is_some) {
            (false, _) => (other.edges_bytes, other.has_lost_edges),
            (_, false) => (self.edges_bytes, self.has_lost_edges),
            _ => {
                let mut common = [0; MAX_EDGES];
                let shared = self.edges_bytes.iter().filter(|edge| **edge > 0 && other.edges_bytes.contains(edge));
                common.iter_mut().zip(shared).for_each(|(place, edge)| *place = *edge);
                let has_lost = common != self.edges_bytes || common != other.edges_bytes;
                (common, has_lost || self.has_lost_edges || other.has_lost_edges)
            }
        };
        Extent {
            rows: self.rows.saturating_add(other.rows),
            is_phased: self.is_phased || other.is_phased,
            is_some: self.is_some || other.is_some,
            edges_bytes,
            has_lost_edges,
        }
    }

    /// The buckets that all counts can be told in: those between the edges that all processes have, or one of all sizes.
    pub fn buckets(self) -> Buckets {
        let count = self.edges_bytes.iter().take_while(|edge| **edge > 0).count();
        Buckets::new(&self.edges_bytes[..count]).unwrap_or_else(|_| Buckets::undivided())
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
    fn edges_are_those_that_all_have() {
        let of = |edges: &[u64]| {
            let mut edges_bytes = [0; MAX_EDGES];
            edges_bytes[..edges.len()].copy_from_slice(edges);
            Extent { is_some: true, edges_bytes, ..Extent::default() }
        };
        let all = Extent::of_all([of(&[128, 1024, 8192]), of(&[128, 1024, 8192])].into_iter());
        assert_eq!((all.buckets().edges(), all.has_lost_edges), (&[128, 1024, 8192][..], false));
        let some = Extent::of_all([of(&[128, 1024, 8192]), of(&[1024, 4096]), of(&[1024])].into_iter());
        assert_eq!((some.buckets().edges(), some.has_lost_edges), (&[1024][..], true));
        let none = of(&[1]).and(of(&[2]));
        assert_eq!((none.buckets().of(u64::MAX >> 1), none.has_lost_edges), (0, true));
    }

    #[test]
    fn large_runs_are_summed_up() {
        let extent = |rows| Extent { rows, ..Extent::default() };
        assert_eq!(extent(AUTO_ROWS).detail(), Detail::Rank);
        assert_eq!(extent(AUTO_ROWS).and(extent(1)).detail(), Detail::Comm);
        assert_eq!(extent(u64::MAX).and(extent(1)).rows, u64::MAX);
    }
}
