//! The rules, one file each. A rule looks for one thing and keeps to the thresholds that its topic states.

mod barrier;
mod bytes;
mod epoch;
mod flush;
mod fragments;
mod funnel;
mod gather;
mod hygiene;
mod imbalance;
mod late;
mod layout;
mod noise;
mod one_to_all;
mod polling;
mod processors;
mod receiver;
mod rooted;
mod sender;
mod siblings;
mod small;
mod startup;
mod timed;
mod tiny;
mod transport;

use super::finding::Finding;
use super::run::Run;
use crate::query::Error;

type Rule = fn(&Run) -> Result<Vec<Finding>, Error>;

pub const RULES: &[Rule] = &[
    late::find,
    imbalance::find,
    barrier::find,
    small::find,
    fragments::find,
    hygiene::find,
    polling::find,
    funnel::find,
    gather::find,
    bytes::find,
    siblings::find,
    sender::find,
    receiver::find,
    rooted::find,
    epoch::find,
    flush::find,
    one_to_all::find,
    layout::find,
    tiny::find,
    transport::find,
    startup::find,
    processors::find,
];
