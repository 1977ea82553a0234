//! Layers below MPI.

use super::{changed, none, of, one};
use crate::common::{Builder, Did, MS, Moved, Way};

const TCP: Way = Way(["uct", "uct_ep_am_short", "eager", "tcp", "eth0", "network"]);
const WIREUP: Way = Way(["uct", "uct_ep_am_bcopy", "wireup", "tcp", "eth0", "network"]);
const SHARED: Way = Way(["uct", "uct_ep_am_short", "eager", "posix", "memory", "memory"]);
const EAGER: Way = Way(["ucp", "ucp_tag_send_nbx", "eager", "tcp", "eth0", "network"]);
const RENDEZVOUS: Way = Way(["ucp", "ucp_tag_send_nbx", "rndv-get", "", "", ""]);
const TO_HOST: Way = Way(["gpu", "DtoH", "device to pinned", "", "gpu0", "gpu"]);
const FROM_HOST: Way = Way(["gpu", "HtoD", "pinned to device", "", "gpu0", "gpu"]);
const BETWEEN: Way = Way(["gpu", "DtoD", "device to device", "", "gpu0", "gpu"]);

#[test]
fn the_network_inside_a_node() {
    // Ranks 0 and 1 are on node0.
    let told = |way: fn() -> Way, peer: i64, messages: i64, bytes: i64| {
        of("network-inside-node", 4, 2000, |profile| {
            profile.cell("W0.0", "MPI_Send", 0, 0, Did(messages, bytes, 0, MS));
            profile.transfer(("W0.0", "MPI_Send", 0), way(), (0, peer), Moved(messages, bytes, 0, 0));
        })
    };
    let finding = one(told(|| TCP, 1, 1000, 8000));
    assert_eq!((finding["ranks"].as_str(), finding["level"].as_str()), (Some("0"), Some("warn")));
    none(told(|| TCP, 1, 999, 8000));
    one(told(|| TCP, 1, 10, 1 << 20));
    none(told(|| TCP, 2, 1000, 1 << 20));
    none(told(|| SHARED, 1, 1000, 1 << 20));
    none(told(|| WIREUP, 1, 1000, 1 << 20));
}

#[test]
fn messages_of_a_gpu_through_the_host() {
    // Rank 1 copies each way so many bytes in ten copies, which take so many milliseconds.
    let told = |op: &str, ways: &[Way], bytes: i64, milliseconds: i64| {
        of("staged-gpu-messages", 4, 2000, |profile| {
            let comm = if op == "-" { "-" } else { "W0.0" };
            for rank in 0..4 {
                profile.cell("W0.0", "MPI_Recv", 2, rank, Did(1, 8, 8, 1000 * MS));
            }
            for way in ways {
                profile.transfer((comm, op, 2), *way, (1, 1), Moved(10, bytes, 10, milliseconds * MS));
            }
        })
    };
    let finding = one(told("MPI_Waitall", &[TO_HOST, FROM_HOST], 1 << 19, 1));
    assert_eq!((finding["ranks"].as_str(), finding["level"].as_str()), (Some("1"), Some("info")));
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("20 copies with 1.00 MiB") && text.contains("take 2.00 ms on the GPUs"), "{text}");
    // Of 2000 ms the run gains up to 800.
    assert_eq!(one(told("MPI_Waitall", &[TO_HOST, FROM_HOST], 1 << 19, 400))["level"], "high");
    none(told("MPI_Waitall", &[TO_HOST, FROM_HOST], (1 << 19) - 1, 400));
    none(told("MPI_Waitall", &[BETWEEN], 1 << 30, 400));
    none(told("-", &[TO_HOST, FROM_HOST], 1 << 30, 400));
}

/// In a call of NCCL that is made in an MPI call.
#[test]
fn copies_of_nccl_are_its_own() {
    let build = |profile: &mut Builder| {
        profile.transfer(("W0.0", "MPI_Allreduce", 2), TO_HOST, (1, 1), Moved(10, 1 << 30, 10, MS));
    };
    one(changed("staged-gpu-messages", 4, 2000, build, ""));
    none(changed("staged-gpu-messages", 4, 2000, build, "UPDATE transfer SET within = (SELECT min(id) FROM way)"));
}

#[test]
fn a_threshold_that_messages_straddle() {
    let told = |eager: i64, others: i64| {
        of("straddled-threshold", 4, 2000, |profile| {
            profile.cell("W0.0", "MPI_Send", 2, 0, Did(eager + others, 100_000, 0, MS));
            profile.transfer(("W0.0", "MPI_Send", 2), EAGER, (0, 1), Moved(eager, 4096 * eager, 0, 0));
            profile.transfer(("W0.0", "MPI_Send", 2), RENDEZVOUS, (0, 1), Moved(others, 4096 * others, 0, 0));
        })
    };
    assert_eq!(one(told(10, 90))["level"], "info");
    one(told(90, 10));
    none(told(9, 91));
    none(told(91, 9));
    none(told(10, 89));
}
