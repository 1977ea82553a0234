//! Message-size buckets. An edge belongs to the bucket below it: with edges 128 and 1024 the first bucket holds 0 to
//! 128 bytes, the second 129 to 1024, the third everything larger.

use crate::bytes;

include!(concat!(env!("OUT_DIR"), "/buckets.rs"));

/// How many edges there may be at most.
pub const MAX_EDGES: usize = 32;

/// Ascending edges in bytes, and a start for the search by a size's bit length.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Buckets {
    edges: [u64; MAX_EDGES + 1],
    start: [u8; 65],
    count: u8,
}

impl Buckets {
    /// `edges` ascends strictly, starts above 0 and has at most [`MAX_EDGES`] entries.
    pub fn new(edges: &[u64]) -> Result<Buckets, String> {
        if edges.is_empty() || edges.len() > MAX_EDGES {
            return Err(format!("{} bucket edges: between 1 and {MAX_EDGES} are possible", edges.len()));
        }
        if edges[0] == 0 || edges.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err("bucket edges must ascend and start above 0".to_owned());
        }
        let mut buckets = Buckets { edges: [u64::MAX; MAX_EDGES + 1], start: [0; 65], count: edges.len() as u8 };
        buckets.edges[..edges.len()].copy_from_slice(edges);
        for (bits, start) in buckets.start.iter_mut().enumerate() {
            let least = if bits == 0 { 0 } else { 1u64 << (bits - 1) };
            *start = edges.iter().filter(|edge| **edge < least).count() as u8;
        }
        Ok(buckets)
    }

    /// One bucket for all sizes that there can be.
    pub fn undivided() -> Buckets {
        Buckets::new(&[i64::MAX as u64]).expect("one edge")
    }

    /// Which of these buckets holds what a bucket of others held. Their edges have all edges of these among them.
    pub fn holding(&self, bucket: u8, others: &Buckets) -> u8 {
        others.bounds(bucket).1.map_or(self.count, |edge| self.of(edge)).min(self.of(u64::MAX))
    }

    /// Reads a list such as `128,1K,8K`.
    pub fn parse(text: &str) -> Result<Buckets, String> {
        let edges = text.split(',').map(bytes::parse).collect::<Result<Vec<_>, _>>()?;
        Buckets::new(&edges)
    }

    /// The bucket of a message, counted from 0. Never panics: the last edge is followed by `u64::MAX`.
    #[inline(always)]
    pub fn of(&self, message_bytes: u64) -> u8 {
        // The bit length narrows the search to the edges of one power of two: with edges further apart than that, as the
        // default ones are, the loop compares once or twice.
        let mut bucket = self.start[64 - message_bytes.leading_zeros() as usize];
        while let Some(edge) = self.edges.get(bucket as usize) {
            if message_bytes <= *edge {
                break;
            }
            bucket += 1;
        }
        bucket
    }

    /// The edges in bytes.
    pub fn edges(&self) -> &[u64] {
        &self.edges[..usize::from(self.count)]
    }

    /// The bounds of a bucket: what is below it (excluded, but 0 for the first, which holds 0) and its upper edge
    /// (included; `None` for the last).
    pub fn bounds(&self, bucket: u8) -> (u64, Option<u64>) {
        let edges = self.edges();
        let bucket = usize::from(bucket);
        let low = if bucket == 0 { 0 } else { edges.get(bucket - 1).copied().unwrap_or(u64::MAX) };
        (low, edges.get(bucket).copied())
    }
}

impl Default for Buckets {
    fn default() -> Buckets {
        Buckets::new(DEFAULT_EDGES_BYTES).expect("build.rs checked them")
    }
}

impl std::fmt::Display for Buckets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<String> = self.edges().iter().map(|edge| bytes::exact(*edge)).collect();
        f.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_belongs_to_the_bucket_below_it() {
        let buckets = Buckets::default();
        for (index, edge) in buckets.edges().iter().enumerate() {
            assert_eq!(buckets.of(*edge), index as u8);
            assert_eq!(buckets.of(*edge + 1), index as u8 + 1);
        }
        assert_eq!(buckets.of(0), 0);
        assert_eq!(buckets.of(u64::MAX), 7);
        assert_eq!(buckets.bounds(0), (0, Some(128)));
        assert_eq!(buckets.bounds(7), (33_554_432, None));
    }

    #[test]
    fn fewer_buckets_hold_more() {
        let fine = Buckets::new(&[128, 1024, 8192]).unwrap();
        let coarse = Buckets::new(&[1024]).unwrap();
        assert_eq!([0, 1, 2, 3].map(|bucket| coarse.holding(bucket, &fine)), [0, 0, 1, 1]);
        assert_eq!([0, 1, 2, 3].map(|bucket| fine.holding(bucket, &fine)), [0, 1, 2, 3]);
        assert_eq!([0, 1, 2].map(|bucket| Buckets::undivided().holding(bucket, &fine)), [0, 0, 0]);
    }

    #[test]
    fn dense_edges_agree_with_a_linear_search() {
        let edges = [1, 2, 3, 5, 6, 7, 100, 101, 127, 128, 129, u64::MAX - 1];
        let buckets = Buckets::new(&edges).unwrap();
        for size in (0..300).chain([u64::MAX - 2, u64::MAX - 1, u64::MAX]) {
            assert_eq!(usize::from(buckets.of(size)), edges.iter().filter(|edge| **edge < size).count(), "{size}");
        }
    }

    #[test]
    fn lists_are_read_and_written() {
        assert_eq!(Buckets::parse("128,1K,8K").unwrap().to_string(), "128,1K,8K");
        for wrong in ["", "0", "2,1", "1,1", "x", &vec!["1"; 40].join(",")] {
            assert!(Buckets::parse(wrong).is_err(), "{wrong}");
        }
    }
}
