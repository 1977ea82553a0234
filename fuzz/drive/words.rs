//! Words that people write: in the environment, and behind the options of `through`. The first byte says what the rest is.

use commsee::buckets::Buckets;
use commsee::ranks::{RankSet, Ranks};
use commsee::{bytes, settings};

use super::range::{BucketPick, ByteRange, TimeRange};

pub fn drive(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    let text = &*String::from_utf8_lossy(rest);
    match kind % 8 {
        0 => edges(text),
        1 => rank_list(text),
        2 => size(text),
        3 => byte_range(text),
        4 => {
            if let Ok(range) = TimeRange::parse(text) {
                assert!(0 <= range.low_ns && range.low_ns <= range.high_ns);
            }
        }
        5 => _ = BucketPick::parse(text),
        6 => file_name(text),
        _ => {
            _ = settings::Log::parse(text);
            _ = settings::is_on(Some(text));
            let places = settings::shard_directories(Some(text.to_owned()), Some(text.to_owned()));
            assert!(!places.is_empty() && places.iter().all(|place| !place.is_empty()));
        }
    }
}

/// `COMMSEE_BUCKETS`: what is written is read back, and the search agrees with a linear one.
fn edges(text: &str) {
    let Ok(buckets) = Buckets::parse(text) else { return };
    assert_eq!(Buckets::parse(&buckets.to_string()).unwrap().edges(), buckets.edges());
    for edge in buckets.edges() {
        for size in [edge.saturating_sub(1), *edge, edge.saturating_add(1), edge / 2, edge.saturating_mul(2)] {
            let linear = buckets.edges().iter().filter(|edge| **edge < size).count();
            assert_eq!(usize::from(buckets.of(size)), linear);
        }
    }
    for bucket in 0..=u8::MAX {
        _ = buckets.bounds(bucket);
    }
}

fn rank_list(text: &str) {
    let read = Ranks::read(text);
    assert_eq!(Ranks::read(&read.to_string()), read);
    assert_eq!(read.without(&read), Ranks::default());
    let Ok(set) = RankSet::parse(text) else { return };
    for (low, high) in set.ranges() {
        assert!(low <= high && set.contains(*low) && set.contains(*high));
        let some: Ranks = (*low..=*high).take(100).collect();
        assert_eq!(RankSet::parse(&some.to_string()).unwrap().ranges(), some.ranges());
    }
}

fn size(text: &str) {
    if let Ok(size) = bytes::parse(text) {
        assert_eq!(bytes::parse(&bytes::exact(size)), Ok(size));
    }
}

fn byte_range(text: &str) {
    let Ok(range) = ByteRange::parse(text) else { return };
    for (lo, hi) in [(0, Some(128)), (128, None), (range.low, Some(range.high)), (range.high, None), (u64::MAX, None)] {
        _ = range.overlaps(lo, hi);
    }
    assert!(range.overlaps(0, Some(u64::MAX)));
}

/// `COMMSEE_OUT`, with a text that is no word of ours in each place.
fn file_name(text: &str) {
    let name = settings::file_name(text, |letter| "jshpt".contains(letter).then(|| format!("<{letter}>")));
    if !text.contains('%') {
        assert_eq!(name, text);
    }
}
