//! What the profile must say of a swept program.

use std::collections::BTreeMap;

use commsee::calls::{Class, Shape};

use crate::program::Language;
use crate::script::{Script, What};
use common::Profile;

/// Of each call 3 MPI_INT.
const BYTES: u64 = 12;
/// The buckets' edges (`COMMSEE_BUCKETS=8,16`).
const EDGES: [u64; 2] = [8, 16];

/// By communicator's label, operation, lower edge of the bucket and rank: calls, bytes sent, bytes received.
type Counts = BTreeMap<(String, String, u64, u32), [u64; 3]>;
/// By communicator's label, operation, source and destination: messages, bytes.
type Messages = BTreeMap<(String, String, u32, u32), [u64; 2]>;

/// Message size, bytes sent and received, and whether a message goes to another rank (here this one itself), by the rules
/// as docs/reference/calls.md tells them, for a communicator of one process.
fn by_rule(rule: &str) -> Option<([u64; 3], bool)> {
    let sized = |sent: bool, received: bool| [BYTES, BYTES * u64::from(sent), BYTES * u64::from(received)];
    let first = [0, BYTES, BYTES];
    Some(match rule {
        // A start is in the bucket of its message, which the script states.
        "none" | "start" => ([0; 3], false),
        "send" => (sized(true, false), true),
        "recv" => (sized(false, true), false),
        "sendrecv" | "sendrecv_replace" => (sized(true, true), true),
        "bcast" | "exscan" => (sized(true, false), false),
        "gather"
        | "scatter"
        | "allgather"
        | "alltoall"
        | "reduce"
        | "allreduce"
        | "reduce_scatter_block"
        | "reduce_scatter"
        | "scan" => (sized(true, true), false),
        "gatherv" | "scatterv" | "allgatherv" | "alltoallv" | "alltoallw" => (first, false),
        "put" => (sized(true, false), true),
        "get" => (sized(false, true), true),
        "get_accumulate" => (sized(true, true), true),
        "write" => (sized(true, false), false),
        "read" => (sized(false, true), false),
        "read_begin" | "precv" | "psend" => (sized(false, false), false),
        "neighbor_allgather" | "neighbor_alltoall" => (sized(true, true), true),
        "neighbor_allgatherv" | "neighbor_alltoallv" | "neighbor_alltoallw" => (first, true),
        _ => return None,
    })
}

fn stated(script: &Script, language: Language, ranks: usize) -> (Counts, Messages) {
    let (mut counts, mut messages) = (Counts::new(), Messages::new());
    for rank in 0..ranks as u32 {
        let mut add = |label: &str, op: &str, [size, sent, received]: [u64; 3], to: Option<u32>| {
            let bucket = EDGES.into_iter().filter(|edge| *edge < size).max().unwrap_or(0);
            let count = counts.entry((label.to_owned(), op.to_owned(), bucket, rank)).or_default();
            count.iter_mut().zip([1, sent, received]).for_each(|(sum, more)| *sum += more);
            if to.is_some() {
                let message = messages.entry((label.to_owned(), op.to_owned(), rank, rank)).or_default();
                message.iter_mut().zip([1, sent.max(received)]).for_each(|(sum, more)| *sum += more);
            }
        };
        add("WORLD", language.init(), [0; 3], None);
        add("WORLD", "MPI_Finalize", [0; 3], None);
        for step in script.steps() {
            let What::Call { call, bytes, message_to, .. } = &step.what else { continue };
            let persistent = call.shape == Shape::Persistent;
            let (usual, to_itself) = match by_rule(call.rule) {
                // Setting up carries nothing.
                Some(([size, ..], _)) if persistent => ([size, 0, 0], false),
                Some(usual) => usual,
                None => (bytes.unwrap_or_else(|| panic!("sweep.txt: {} needs its bytes", call.name)), false),
            };
            let freeing = call.name == "MPI_Comm_free";
            let label = if freeing { "" } else { &step.label };
            let to = message_to.or(to_itself.then_some(0));
            add(label, call.name, bytes.unwrap_or(usual), to.filter(|_| call.class != Class::Collective));
        }
    }
    (counts, messages)
}

fn found(profile: &Profile) -> (Counts, Messages) {
    let label = |comm: &str| match profile.communicator(comm) {
        None => comm.to_owned(),
        Some(known) => match known.creator.as_str() {
            "MPI_COMM_WORLD" => "WORLD".to_owned(),
            "MPI_COMM_SELF" => "SELF".to_owned(),
            // Those without a label are made and freed at once.
            _ => known.label.clone().unwrap_or_default(),
        },
    };
    let (mut counts, mut messages) = (Counts::new(), Messages::new());
    for call in &profile.calls {
        assert_eq!(call.failed, 0, "{call:?}");
        let count = counts.entry((label(&call.comm), call.op.clone(), call.bucket_lo, call.rank)).or_default();
        let more = [call.calls, call.bytes_sent, call.bytes_recv];
        count.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    for edge in &profile.matrix {
        let to = edge.dst.expect("no other world");
        let message = messages.entry((label(&edge.comm), edge.op.clone(), edge.src, to)).or_default();
        message.iter_mut().zip([edge.calls, edge.bytes]).for_each(|(sum, more)| *sum += more);
    }
    (counts, messages)
}

/// In both directions.
pub fn differences(script: &Script, language: Language, profile: &Profile, ranks: usize) -> Vec<String> {
    let (stated, found) = (stated(script, language, ranks), found(profile));
    let mut lines = compare(&stated.0, &found.0);
    lines.extend(compare(&stated.1, &found.1));
    lines
}

fn compare<K: Ord + std::fmt::Debug, const N: usize>(
    stated: &BTreeMap<K, [u64; N]>,
    found: &BTreeMap<K, [u64; N]>,
) -> Vec<String> {
    let keys: std::collections::BTreeSet<&K> = stated.keys().chain(found.keys()).collect();
    let differing = keys.into_iter().filter(|key| stated.get(key) != found.get(key));
    differing.map(|key| format!("{key:?}: stated {:?}, found {:?}", stated.get(key), found.get(key))).collect()
}
