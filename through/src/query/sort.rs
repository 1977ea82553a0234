//! What may come first.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    Time,
    Calls,
    Bytes,
    Comm,
    Size,
    Op,
    Bucket,
    Rank,
    /// Of measurements.
    Bandwidth,
    /// The other way round.
    TimeAscending,
    CallsAscending,
    BucketDescending,
}

impl SortKey {
    /// Those of profiles.
    pub const ALL: [SortKey; 11] = [
        SortKey::Time,
        SortKey::Calls,
        SortKey::Bytes,
        SortKey::Comm,
        SortKey::Size,
        SortKey::Op,
        SortKey::Bucket,
        SortKey::Rank,
        SortKey::TimeAscending,
        SortKey::CallsAscending,
        SortKey::BucketDescending,
    ];

    /// The numbers of mpisee's `-s`, from 0.
    pub const NUMBERS: [SortKey; 8] = [
        SortKey::Comm,
        SortKey::Time,
        SortKey::TimeAscending,
        SortKey::Op,
        SortKey::BucketDescending,
        SortKey::Bucket,
        SortKey::Calls,
        SortKey::CallsAscending,
    ];

    pub fn name(self) -> &'static str {
        match self {
            SortKey::Time => "time",
            SortKey::Calls => "calls",
            SortKey::Bytes => "bytes",
            SortKey::Comm => "comm",
            SortKey::Size => "size",
            SortKey::Op => "op",
            SortKey::Bucket => "bucket",
            SortKey::Rank => "rank",
            SortKey::Bandwidth => "bandwidth",
            SortKey::TimeAscending => "time-asc",
            SortKey::CallsAscending => "calls-asc",
            SortKey::BucketDescending => "bucket-desc",
        }
    }

    pub fn of(name: &str) -> Option<SortKey> {
        let numbered = name.parse().ok().and_then(|number: usize| SortKey::NUMBERS.get(number).copied());
        SortKey::ALL.into_iter().chain([SortKey::Bandwidth]).find(|key| key.name() == name).or(numbered)
    }
}
