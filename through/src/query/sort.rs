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
}

impl SortKey {
    pub const ALL: [SortKey; 8] = [
        SortKey::Time,
        SortKey::Calls,
        SortKey::Bytes,
        SortKey::Comm,
        SortKey::Size,
        SortKey::Op,
        SortKey::Bucket,
        SortKey::Rank,
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
        }
    }

    pub fn of(name: &str) -> Option<SortKey> {
        SortKey::ALL.into_iter().find(|key| key.name() == name)
    }
}
