//! From calls that have returned to the core's counters.

use super::Ended;
use super::thread::Thread;
use crate::chosen::{Chosen, How};
use crate::functions::Kind;
use crate::module::Module;

/// Groups larger than this do without what the plugin says of their sends and receives, which is the number of channels alone: each has
/// to be found among all.
const MOST_SEARCHED: usize = 256;

/// One call, and how it was done as far as the plugin said so in it.
#[inline(always)]
pub fn one(module: &Module, thread: &Thread, ended: &Ended) {
    let how = thread.with_chosen(|chosen| if chosen.is_empty() { How::default() } else { how(ended, chosen) });
    count(module, thread, ended, how.unwrap_or_default());
}

/// Those of a group, which the library sorts before it does them.
pub fn all(module: &Module, thread: &Thread, ended: &[Ended]) {
    let is_large = ended.len() > MOST_SEARCHED;
    thread.with_chosen(|chosen| {
        if is_large {
            chosen.retain(|chosen| !is_peer_to_peer(chosen.function.kind()));
        }
        for ended in ended {
            let is_left_out = is_large && is_peer_to_peer(ended.function.kind());
            let how = if chosen.is_empty() || is_left_out { How::default() } else { how(ended, chosen) };
            count(module, thread, ended, how);
        }
    });
}

fn is_peer_to_peer(kind: Kind) -> bool {
    matches!(kind, Kind::Send | Kind::Receive)
}

/// What the plugin said of it; each of its words is for one operation.
fn how(ended: &Ended, chosen: &mut Vec<Chosen>) -> How {
    let expected = ended.communicator.map_or(0, |communicator| communicator.expected);
    let is_it = |chosen: &Chosen| {
        chosen.communicator == expected
            && chosen.function == ended.function
            // NCCL does some collectives as those of bytes.
            && (chosen.count == ended.count || chosen.count == ended.size_bytes)
            && (chosen.peer == ended.peer || ended.peer < 0)
    };
    match chosen.iter().position(is_it) {
        Some(place) => chosen.remove(place).how,
        None => How::default(),
    }
}

#[inline(always)]
fn count(module: &Module, thread: &Thread, ended: &Ended, how: How) {
    if !thread.alike.count(module, ended, how) {
        count_first(module, thread, ended, how);
    }
}

#[inline(never)]
fn count_first(module: &Module, thread: &Thread, ended: &Ended, how: How) {
    let mut call = ended.call;
    let route = thread.latest.number(module, ended, how);
    let peer = match ended.communicator {
        Some(communicator) => {
            module.on(&mut call, communicator.number);
            communicator.peer(module, ended.peer)
        }
        None => 0,
    };
    module.count(&call, route, peer, ended.size_bytes, ended.bytes, ended.duration_ns);
    if call.is_traced() {
        module.event(&call, route, peer, ended.bytes, ended.begin_ns, ended.begin_ns + ended.duration_ns);
    } else if route != 0 {
        thread.alike.keep(module, ended, &call, how, route, peer);
    }
}
