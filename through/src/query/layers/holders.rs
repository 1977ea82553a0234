//! Which process holds which rank of a layer's communicator.

use std::collections::HashMap;

use crate::query::catalog::{Catalog, Communicator, Detail};
use crate::query::source::ALL_RANKS;

/// No process has more ranks of a communicator: what a file states is not believed beyond that.
const MOST_RANKS_OF_PROCESS: u64 = 64;

/// World ranks in the order of the communicator's ranks, as rows have them: a node is its lowest rank. Nothing where some are not known.
pub fn holders(comm: &Communicator, catalog: &Catalog) -> Option<Vec<i64>> {
    let size = comm.size.filter(|size| size / MOST_RANKS_OF_PROCESS <= catalog.processes.len() as u64)?;
    let text = comm.order.as_deref().or(comm.ranks.as_deref())?;
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for word in text.split(',') {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        ranges.push((first.parse().ok()?, last.parse().ok()?));
    }
    let count = |(first, last): &(u32, u32)| last.checked_sub(*first).map(|more| u64::from(more) + 1);
    let counted: Option<u64> = ranges.iter().map(count).sum();
    if counted != Some(size) {
        return None;
    }
    let ranks = ranges.into_iter().flat_map(|(first, last)| first..=last).map(i64::from);
    let on_node = lowest_on_node(catalog);
    Some(match catalog.detail {
        Detail::Rank => ranks.collect(),
        Detail::Node => ranks.map(|rank| on_node.get(&rank).copied().unwrap_or(rank)).collect(),
        Detail::Comm => ranks.map(|_| ALL_RANKS).collect(),
    })
}

fn lowest_on_node(catalog: &Catalog) -> HashMap<i64, i64> {
    let mut lowest: HashMap<&str, i64> = HashMap::new();
    let processes = catalog.processes.iter();
    processes.map(|process| (process.rank, *lowest.entry(&process.host).or_insert(process.rank))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::sample;

    #[test]
    fn ranks_are_known_where_all_of_them_are() {
        let mut catalog = sample::catalog();
        let of = |catalog: &Catalog, size: u64, ranks: Option<&str>, order: Option<&str>| {
            let (ranks, order) = (ranks.map(Into::into), order.map(str::to_owned));
            holders(&Communicator { size: Some(size), ranks, order, ..Communicator::default() }, catalog)
        };
        assert_eq!(of(&catalog, 3, Some("0-1,3"), None), Some(vec![0, 1, 3]));
        assert_eq!(of(&catalog, 4, Some("0-3"), Some("0,2,1,3")), Some(vec![0, 2, 1, 3]));
        assert_eq!(of(&catalog, 4, Some("0-1"), Some("0,0-1,1")), Some(vec![0, 0, 1, 1]));
        // A rank left no record, or several are in one process.
        assert_eq!(of(&catalog, 4, Some("0-2"), None), None);
        assert_eq!(of(&catalog, 4, None, None), None);
        for wrong in ["", "x", "3-0", "0-3,", "0-4294967295", "0-4294967296"] {
            assert_eq!(of(&catalog, 4, Some("0-3"), Some(wrong)), None, "{wrong}");
        }
        assert_eq!(of(&catalog, 1 << 32, Some("0-4294967295"), None), None);
        catalog.processes[2].host = "n2".to_owned();
        catalog.processes[3].host = "n2".to_owned();
        catalog.detail = Detail::Node;
        assert_eq!(of(&catalog, 4, Some("0-3"), Some("0,2,1,3")), Some(vec![0, 2, 0, 2]));
        catalog.detail = Detail::Comm;
        assert_eq!(of(&catalog, 2, Some("0-1"), None), Some(vec![-1, -1]));
    }
}
