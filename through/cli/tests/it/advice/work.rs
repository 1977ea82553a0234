//! Work, bytes and time that ranks or communicators do not share alike.

use super::{none, of, one};
use crate::common::{Did, MS};

#[test]
fn ranks_that_work_longer() {
    let told = |wall: i64, waits: i64| {
        of("load-imbalance", 4, wall, |profile| {
            for rank in [0, 2, 3] {
                profile.cell("W0.0", "MPI_Recv", 0, rank, Did(1, 0, 8, waits * MS));
            }
        })
    };
    // Work of 2000, and three times 2000 less what they wait: 80 % of the maximum if that is 533.3.
    assert_eq!(one(told(2000, 534))["ranks"], "1");
    none(told(2000, 533));
    // 100 ms between mean and maximum.
    assert_eq!(one(told(400, 134))["level"], "high");
    none(told(400, 133));
    // Less is told of one that works twice the mean, as what may be the scheduler's.
    let finding = one(told(154, 113));
    assert_eq!((finding["ranks"].as_str(), finding["level"].as_str()), (Some("1"), Some("info")));
    one(told(100, 67));
    none(told(100, 66));
    one(told(40, 40));
    none(told(39, 39));
}

/// A 2×2 grid in which rank 1 works longest. Its row, the other one and all ranks wait in turn for others, or for it.
#[test]
fn an_imbalance_is_told_beside_waiting_for_others() {
    let told = |of_all: [i64; 4], of_row: i64| {
        of("load-imbalance", 4, 600, |profile| {
            profile.comm("s2.1", Some("row"), Some("W0.0"), 2, "2-3");
            for (rank, time) in of_all.into_iter().enumerate() {
                profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(2, 0, 0, time * MS));
            }
            for rank in [2, 3] {
                profile.cell("s2.1", "MPI_Allreduce", 0, rank, Did(5, 8, 8, of_row * MS));
            }
        })
    };
    // Half of 250 ms is waiting for another rank each time, more than half of the 480 ms that rank 1 works longer.
    let finding = one(told([310, 150, 60, 60], 250));
    assert_eq!((finding["ranks"].as_str(), finding["level"].as_str()), (Some("1"), Some("warn")));
    // All wait for rank 1: that says it.
    none(told([310, 150, 310, 310], 0));
}

#[test]
fn an_imbalance_is_told_beside_a_little_waiting_for_the_same_rank() {
    let told = |waits: i64| {
        of("load-imbalance", 4, 2000, |profile| {
            for rank in 0..4 {
                let more = if rank == 1 { 0 } else { waits };
                profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(2, 0, 0, (10 + more) * MS));
                let receives = if rank == 1 { 0 } else { 1200 - more };
                profile.cell("W0.0", "MPI_Recv", 0, rank, Did(1, 0, 8, receives * MS));
            }
        })
    };
    // Rank 1 works 900 ms longer than the mean, 3.6 s over all ranks: the others wait for it 900 ms of that.
    one(told(299));
    none(told(300));
}

#[test]
fn a_slow_node() {
    let told = |ranks: usize, waits: i64| {
        of("slow-node", ranks, 2000, |profile| {
            for rank in 0..ranks - 2 {
                profile.cell("W0.0", "MPI_Recv", 0, rank, Did(1, 0, 8, waits * MS));
            }
        })
    };
    // Two ranks a node, two thirds of which wait: the mean is 85 % of the most if they wait 450.
    let finding = one(told(6, 451));
    assert_eq!((finding["ranks"].as_str(), finding["comm"].as_str()), (Some("4-5"), None));
    none(told(6, 450));
    none(told(4, 900));
}

#[test]
fn of_two_nodes_the_slow_one_is_an_imbalance() {
    let findings = of("load-imbalance", 4, 2000, |profile| {
        for rank in [0, 1] {
            profile.cell("W0.0", "MPI_Recv", 0, rank, Did(1, 0, 8, 1000 * MS));
        }
    });
    assert_eq!(one(findings)["ranks"], "2-3");
}

#[test]
fn uneven_bytes() {
    let told = |calls: i64, most: i64| {
        of("uneven-bytes", 4, 2000, |profile| {
            for rank in 0..4 {
                let sent = if rank == 1 { most } else { 2000 };
                profile.cell("W0.0", "MPI_Alltoallv", 0, rank, Did(calls, sent, 3000, 500 * MS));
            }
        })
    };
    assert_eq!(one(told(10, 6000))["ranks"], "1");
    none(told(10, 5999));
    none(told(9, 6000));
}

#[test]
fn an_odd_sibling() {
    let told = |siblings: usize, odd: i64, bytes: i64| {
        of("odd-sibling", 2 * siblings, 300, |profile| {
            for sibling in 0..siblings {
                let (first, name) = (2 * sibling, format!("s{}.1", 2 * sibling));
                profile.comm(&name, None, Some("W0.0"), 2, &format!("{first}-{}", first + 1));
                for rank in [first, first + 1] {
                    let (bytes, time) = if sibling == 1 { (bytes, odd) } else { (1000, 100) };
                    profile.cell(&name, "MPI_Alltoallv", 0, rank, Did(10, bytes, bytes, time * MS));
                }
            }
        })
    };
    let finding = one(told(3, 150, 1000));
    assert_eq!((finding["comm"].as_str(), finding["gain_s"].as_f64()), (Some("s2.1"), Some(0.05)));
    none(told(3, 149, 1000));
    none(told(2, 150, 1000));
    none(told(3, 150, 1001));
}

#[test]
fn an_operation_that_is_slower_though_smaller() {
    let told = |small: i64, bytes: i64| {
        of("slower-though-smaller", 4, 300, |profile| {
            profile.comm("s0.1", None, Some("W0.0"), 2, "0-1");
            for rank in 0..4 {
                profile.cell("W0.0", "MPI_Alltoall", 0, rank, Did(10, 10_000, 10_000, 70 * MS));
            }
            for rank in 0..2 {
                profile.cell("s0.1", "MPI_Alltoall", 0, rank, Did(10, bytes, bytes, small * MS));
            }
        })
    };
    assert_eq!(one(told(105, 10_000))["comm"], "s0.1");
    none(told(104, 10_000));
    none(told(105, 10_102));
}
