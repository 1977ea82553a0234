//! The values of filters as they are written: `1K:1M`, `0.1:2.5`, a bucket's number or edges.

use commsee::bytes;

/// Message sizes in bytes, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    pub low: u64,
    pub high: u64,
}

impl ByteRange {
    /// Reads `1K:1M`, `1M:`, `:128`, or one size.
    pub fn parse(text: &str) -> Result<ByteRange, String> {
        let (low, high) = text.split_once(':').unwrap_or((text, text));
        let low = side(low, 0, bytes::parse)?;
        let high = side(high, u64::MAX, bytes::parse)?;
        if low > high {
            Err(format!("'{text}' goes down: write the lower bound first"))
        } else {
            Ok(ByteRange { low, high })
        }
    }

    /// Whether a bucket can hold such a message. It holds more than `lo` and at most `hi` bytes; the first one 0 too.
    pub fn overlaps(&self, lo: u64, hi: Option<u64>) -> bool {
        let least = if lo == 0 { 0 } else { lo.saturating_add(1) };
        least <= self.high && self.low <= hi.unwrap_or(u64::MAX)
    }
}

/// Time in nanoseconds, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    pub low_ns: i64,
    pub high_ns: i64,
}

impl TimeRange {
    /// Reads seconds such as `0.1:2.5`, `0.1:` or `:2.5`.
    pub fn parse(text: &str) -> Result<TimeRange, String> {
        let (low, high) =
            text.split_once(':').ok_or_else(|| format!("'{text}' is not a range: write it as 0.1:2.5"))?;
        let (low_ns, high_ns) = (side(low, 0, seconds)?, side(high, i64::MAX, seconds)?);
        if low_ns > high_ns {
            Err(format!("'{text}' goes down: write the lower bound first"))
        } else {
            Ok(TimeRange { low_ns, high_ns })
        }
    }
}

/// A bucket, by its number or by its edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketPick {
    Number(u64),
    Edges { lo: u64, hi: Option<u64> },
}

impl BucketPick {
    /// Reads `2`, `128:1K`, `128-1K` (as tables print it), or `32M:` for the last bucket.
    pub fn parse(text: &str) -> Result<BucketPick, String> {
        let wrong = || format!("'{text}' is not a bucket: write its number (2) or its edges (1K:8K)");
        if let Some(last) = text.strip_prefix('>') {
            return Ok(BucketPick::Edges { lo: bytes::parse(last)?, hi: None });
        }
        match text.split_once([':', '-']) {
            None => text.trim().parse().map(BucketPick::Number).map_err(|_| wrong()),
            Some(("", "")) => Err(wrong()),
            Some((lo, "")) => Ok(BucketPick::Edges { lo: bytes::parse(lo)?, hi: None }),
            Some((lo, hi)) => Ok(BucketPick::Edges { lo: side(lo, 0, bytes::parse)?, hi: Some(bytes::parse(hi)?) }),
        }
    }
}

fn side<T>(text: &str, otherwise: T, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
    if text.trim().is_empty() { Ok(otherwise) } else { parse(text) }
}

fn seconds(text: &str) -> Result<i64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    let seconds = number.ok_or_else(|| format!("'{text}' is not a time in seconds: write it as 0.1"))?;
    Ok((seconds * 1e9).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(ByteRange::parse("1K:1M"), Ok(ByteRange { low: 1024, high: 1 << 20 }));
        assert_eq!(ByteRange::parse(":128"), Ok(ByteRange { low: 0, high: 128 }));
        assert_eq!(ByteRange::parse("1M:"), Ok(ByteRange { low: 1 << 20, high: u64::MAX }));
        assert_eq!(ByteRange::parse("8"), Ok(ByteRange { low: 8, high: 8 }));
        for wrong in ["2:1", "x:", "1:2:3", "-1:3"] {
            assert!(ByteRange::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bucket_holds_its_upper_edge_and_not_its_lower_one() {
        let of = |text| ByteRange::parse(text).unwrap();
        assert!(of("128:128").overlaps(0, Some(128)) && !of("128:128").overlaps(128, Some(1024)));
        assert!(of("0:0").overlaps(0, Some(128)) && of("129:").overlaps(128, Some(1024)));
        assert!(of("1G:").overlaps(1 << 25, None) && !of(":128").overlaps(128, None));
    }

    #[test]
    fn times() {
        assert_eq!(TimeRange::parse("0.1:2.5"), Ok(TimeRange { low_ns: 100_000_000, high_ns: 2_500_000_000 }));
        assert_eq!(TimeRange::parse(":1e-3").unwrap().high_ns, 1_000_000);
        assert_eq!(TimeRange::parse("1:").unwrap().high_ns, i64::MAX);
        for wrong in ["1", "a:", "2:1", "-1:", "nan:", "inf:"] {
            assert!(TimeRange::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn buckets() {
        assert_eq!(BucketPick::parse("2"), Ok(BucketPick::Number(2)));
        for text in ["128:1K", "128-1K"] {
            assert_eq!(BucketPick::parse(text), Ok(BucketPick::Edges { lo: 128, hi: Some(1024) }));
        }
        for text in ["32M:", ">32M"] {
            assert_eq!(BucketPick::parse(text), Ok(BucketPick::Edges { lo: 1 << 25, hi: None }));
        }
        assert!(BucketPick::parse(":").is_err() && BucketPick::parse("x").is_err() && BucketPick::parse("-1").is_ok());
    }
}
