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

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::mpi::abi::{self, Word};
use crate::mpi::pmpi;
use crate::run::tree::Tree;

/// How much longer the rest is than the way down the tree and up again: ranks that share processors may hear the last message late.
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

/// Collective: all go on together. Returns how long they shall rest before they do. `spans_hosts`: the job may.
pub unsafe fn meet(tree: &Tree, spans_hosts: bool) -> Duration {
    // SAFETY: all ranks come here.
    unsafe {
        if !is_delicate() {
            pmpi::barrier(tree.comm as Word);
            return Duration::ZERO;
        }
        tree.meet();
        let begin = Instant::now();
        tree.sum_up([0], |_, _| ());
        let rest = (begin.elapsed() * REST_BY_WAY).clamp(SHORTEST_REST, LONGEST_REST);
        let told = tree.spread([rest.as_nanos() as u64]);
        let uses_tcp = spans_hosts || chooses_tcp();
        if uses_tcp { told.map_or(SHORTEST_REST, |[rest_ns]| Duration::from_nanos(rest_ns)) } else { Duration::ZERO }
    }
}

/// Whether UCX shall use TCP inside of a host, too.
fn chooses_tcp() -> bool {
    std::env::var("UCX_TLS").is_ok_and(|names| names.contains("tcp"))
}

#[cfg(test)]
mod tests {
    use super::closes_alone;

    #[test]
    fn libraries_that_close_connections_alone_are_known_by_their_version() {
        let said = |version: &str, device: &str| {
            closes_alone(&format!(
                "MPICH Version:      {version}\nMPICH Release date: unknown\nMPICH Device:    \t{device}\n"
            ))
        };
        assert!(said("3.4", "ch4:ucx"));
        assert!(said("4.0.2", "ch4:ucx"));
        assert!(said("4.1.1p1", "ch4:ucx"));
        assert!(!said("4.2.0", "ch4:ucx"));
        assert!(!said("5.0.0a1", "ch4:ucx"));
        assert!(!said("4.0.2", "ch4:ofi"));
        assert!(!said("unreleased", "ch4:ucx"));
        assert!(!closes_alone("Open MPI v4.1.4, package: Debian OpenMPI"));
        assert!(!closes_alone(""));
    }
}
