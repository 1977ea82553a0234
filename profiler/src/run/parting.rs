//! How all ranks leave the gathering for the library's `MPI_Finalize`.
//!
//! MPICH 3.3 to 4.1 close the connections of UCX there, and wait in a barrier of the process manager before others have closed
//! theirs (<https://github.com/pmodels/mpich/pull/6596>). Over TCP closing waits for an answer wherever anything was sent: a rank that
//! closes late asks ranks that answer no more, and waits for ever. It goes well if
//! - ranks that sent to each other did so in both directions. Each then asks the other, and answers while it waits itself;
//! - none has its answers before all have asked, which is so if nobody makes progress from the last message until all ask at the same time.
//!
//! So with these libraries all meet over a tree instead of in the library's barrier, and then rest. Of a program over three hosts that
//! itself sends between pairs of ranks only, 5 of 6 runs with a barrier did not end; with a rest all do.

use std::ffi::c_int;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::mpi::abi;
use crate::run::tree::Tree;

/// How much longer the rest is than the way down the tree and up again, with what ranks do in between: those that share processors may hear
/// the last message late.
const REST_BY_WAY: u32 = 16;
const SHORTEST_REST: Duration = Duration::from_millis(50);
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Whether the library needs all this. The same on all ranks.
pub fn is_delicate() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| closes_alone(&abi::library_version()))
}

fn closes_alone(version: &str) -> bool {
    let Some((_, rest)) = version.split_once("MPICH Version:") else { return false };
    let mut numbers = rest.trim_start().split(|other: char| !other.is_ascii_digit()).map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else { return false };
    (major, minor) < (4, 2) && version.contains("ch4:ucx")
}

/// Connections that are none of the library's, such as the launcher's. None where that cannot be told.
static BEFORE: OnceLock<Option<Vec<u64>>> = OnceLock::new();

/// Before the library's `MPI_Init`, which connects.
pub fn expect() {
    if is_delicate() {
        BEFORE.get_or_init(connections);
    }
}

/// Collective: all go on together. `since`: when rank 0 has last told the others something. Returns how long they shall rest before they go on.
pub unsafe fn meet(tree: &Tree<'_>, since: Instant) -> Duration {
    // SAFETY: all ranks come here.
    unsafe {
        if !is_delicate() {
            tree.meet(|| 0);
            return Duration::ZERO;
        }
        // Before the last message, so that all rest from it on. Who has no connection asks nobody, and is asked by nobody.
        let is_connected = is_connected();
        // All have heard that, and said so.
        let rest = || (since.elapsed() * REST_BY_WAY).clamp(SHORTEST_REST, LONGEST_REST);
        let told = tree.meet(|| rest().as_nanos() as u64);
        if !is_connected {
            return Duration::ZERO;
        }
        told.map_or(SHORTEST_REST, Duration::from_nanos).max(SHORTEST_REST)
    }
}

/// Whether the library has connected this process over a network. Also where that cannot be told.
fn is_connected() -> bool {
    match (BEFORE.get(), connections()) {
        (Some(Some(before)), Some(now)) => now.iter().any(|connection| !before.contains(connection)),
        _ => true,
    }
}

/// The sockets with a peer over IP, by the numbers of their inodes.
fn connections() -> Option<Vec<u64>> {
    let names = fs::read_dir("/proc/self/fd").ok()?.flatten();
    let sockets =
        names.filter(|name| name.file_name().to_str().and_then(|name| name.parse().ok()).is_some_and(has_peer));
    Some(sockets.filter_map(|name| Some(fs::metadata(name.path()).ok()?.ino())).collect())
}

fn has_peer(descriptor: c_int) -> bool {
    // SAFETY: plain data, of which the call fills no more than the length says.
    unsafe {
        let mut peer: libc::sockaddr_storage = std::mem::zeroed();
        let mut bytes = size_of_val(&peer) as libc::socklen_t;
        libc::getpeername(descriptor, (&raw mut peer).cast(), &mut bytes) == 0
            && [libc::AF_INET, libc::AF_INET6].contains(&c_int::from(peer.ss_family))
    }
}
