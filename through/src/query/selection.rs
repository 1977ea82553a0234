//! What is asked for by name and range, before anybody knows what that means in a profile.

use commsee::ranks::RankSet;

use super::range::{BucketPick, ByteRange, TimeRange};

/// Every condition that is given must hold; nothing is no condition.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub comm: Vec<String>,
    /// Communicators that were made like these.
    pub family: Vec<String>,
    pub op: Vec<String>,
    pub rank: Vec<RankSet>,
    pub host: Vec<String>,
    pub bytes: Option<ByteRange>,
    pub bucket: Vec<BucketPick>,
    pub p2p: bool,
    pub collectives: bool,
    pub time: Option<TimeRange>,
    pub site: Vec<String>,
    pub phase: Vec<String>,
    pub layer: Vec<String>,
    pub function: Vec<String>,
    pub transport: Vec<String>,
    pub device: Vec<String>,
    pub protocol: Vec<String>,
    /// Of the timeline.
    pub window: Option<TimeRange>,
}
