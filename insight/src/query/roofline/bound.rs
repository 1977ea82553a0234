//! How long a call takes at least, by what was measured.
//!
//! A message takes as long as one of its size was measured to take. Of collectives the bounds are those of Chan, Heimlich, Purkayastha and van de Geijn
//! (Collective communication: theory, practice, and experience, CCPE 19, 2007, section 3): ⌈log2 p⌉ messages one after the other, and the bytes
//! that the busiest rank has to send or receive; 2 (p−1)/p of the vector for an allreduce.

use through_core::query::operations::Operations;

use super::missing::{Missing, What};
use super::placed::Place;
use super::possible::{Curve, Possible, Reach};

/// What a bound rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The time of a message of this size.
    Message,
    /// Latency times depth, and the bytes of the busiest rank over the bandwidth of one.
    Collective,
    /// An exchange between as many ranks was measured.
    Exchange,
}

impl Basis {
    pub fn name(self) -> &'static str {
        match self {
            Basis::Message => "message",
            Basis::Collective => "collective",
            Basis::Exchange => "exchange",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    shape: Shape,
    /// Of a message, or those that the busiest rank has to move.
    pub bytes: f64,
    /// Whether the call only starts what another one completes.
    pub is_started_only: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Message,
    /// Several at once: latencies overlap.
    Nonblocking,
    /// Neighbours exchange: one message after another is not needed.
    Neighbours,
    Tree,
    /// With the bytes of a block.
    Exchange {
        block_bytes: f64,
    },
}

impl Bound {
    /// Nothing of calls that move no data, or of which no bound is known.
    pub fn of(name: &str, row: &Operations, ranks: u64) -> Option<Bound> {
        let bare = name.strip_prefix("MPI_")?;
        let (bare, is_nonblocking) = match BLOCKING.iter().find(|(started, _)| *started == bare) {
            Some((_, blocking)) => (*blocking, true),
            None => (bare, false),
        };
        let calls = row.rank_calls.max(1) as f64;
        let (sent, received) = (row.bytes_sent as f64 / calls, row.bytes_recv as f64 / calls);
        // Calls and bytes are sums over the ranks: what a root alone has is that of as many calls as there are ranks.
        let ranks = ranks.max(1) as f64;
        let others = (ranks - 1.0) / ranks;
        let (shape, bytes) = match bare {
            "Send" | "Ssend" | "Rsend" | "Bsend" | "Start" => (Shape::Message, sent.max(received)),
            "Recv" | "Mrecv" => (Shape::Message, received),
            "Sendrecv" | "Sendrecv_replace" => (Shape::Message, sent.max(received)),
            "Barrier" => (Shape::Tree, 0.0),
            "Bcast" => (Shape::Tree, sent * ranks),
            "Reduce" | "Scan" | "Exscan" => (Shape::Tree, sent),
            "Allreduce" => (Shape::Tree, 2.0 * others * sent),
            "Reduce_scatter" | "Reduce_scatter_block" => (Shape::Tree, others * sent),
            "Allgather" | "Allgatherv" => (Shape::Tree, others * received),
            "Gather" | "Gatherv" => (Shape::Tree, others * received * ranks),
            "Scatter" | "Scatterv" => (Shape::Tree, others * sent * ranks),
            "Alltoall" | "Alltoallv" | "Alltoallw" => {
                (Shape::Exchange { block_bytes: sent / ranks }, others * sent.max(received))
            }
            name if name.starts_with("Neighbor_") => (Shape::Neighbours, sent.max(received)),
            _ => return None,
        };
        let shape = if is_nonblocking && shape == Shape::Message { Shape::Nonblocking } else { shape };
        Some(Bound { shape, bytes, is_started_only: is_nonblocking })
    }

    /// Seconds of one call on one rank.
    pub fn time_s(&self, possible: &Possible, at: Place) -> Result<(f64, Basis, Reach), Missing> {
        let lacks = |crosses_hosts, what| Missing { crosses_hosts, what };
        let curve = |crosses_hosts| possible.message(crosses_hosts).ok_or(lacks(crosses_hosts, What::Message));
        let latency_s = |curve: &Curve, crosses_hosts| curve.latency_s().ok_or(lacks(crosses_hosts, What::Latency));
        if matches!(self.shape, Shape::Message | Shape::Nonblocking) {
            let (mut time_s, mut reach) = (0.0, Reach::Measured);
            for (crosses_hosts, part) in [(false, 1.0 - at.crossing), (true, at.crossing)] {
                if part <= 0.0 {
                    continue;
                }
                let curve = curve(crosses_hosts)?;
                let (own_s, own_reach) = curve.time_s(self.bytes).ok_or(lacks(crosses_hosts, What::Message))?;
                let overlapped_s = match self.shape {
                    Shape::Nonblocking => latency_s(curve, crosses_hosts)?,
                    _ => 0.0,
                };
                time_s += part * (own_s - overlapped_s).max(0.0);
                reach = reach.max(own_reach);
            }
            return Ok((time_s, Basis::Message, reach));
        }
        let crosses_hosts = at.hosts > 1;
        if let Shape::Exchange { block_bytes } = self.shape
            && let Some(time_s) = possible.exchange_s(at.ranks, crosses_hosts, block_bytes)
        {
            return Ok((time_s, Basis::Exchange, Reach::Measured));
        }
        let curve = curve(crosses_hosts)?;
        let depth = if self.shape == Shape::Neighbours { 1 } else { depth(at.ranks) };
        let time_s = f64::from(depth) * latency_s(curve, crosses_hosts)? + self.bytes / curve.bandwidth();
        Ok((time_s, Basis::Collective, Reach::Measured))
    }
}

/// ⌈log2 p⌉.
fn depth(ranks: u64) -> u32 {
    ranks.max(1).next_power_of_two().trailing_zeros()
}

/// Operations that return before they are done, and those that do the same.
const BLOCKING: &[(&str, &str)] = &[
    ("Isend", "Send"),
    ("Issend", "Ssend"),
    ("Irsend", "Rsend"),
    ("Ibsend", "Bsend"),
    ("Irecv", "Recv"),
    ("Imrecv", "Mrecv"),
    ("Start", "Start"),
    ("Isendrecv", "Sendrecv"),
    ("Isendrecv_replace", "Sendrecv_replace"),
    ("Ibarrier", "Barrier"),
    ("Ibcast", "Bcast"),
    ("Ireduce", "Reduce"),
    ("Iscan", "Scan"),
    ("Iexscan", "Exscan"),
    ("Iallreduce", "Allreduce"),
    ("Ireduce_scatter", "Reduce_scatter"),
    ("Ireduce_scatter_block", "Reduce_scatter_block"),
    ("Iallgather", "Allgather"),
    ("Iallgatherv", "Allgatherv"),
    ("Igather", "Gather"),
    ("Igatherv", "Gatherv"),
    ("Iscatter", "Scatter"),
    ("Iscatterv", "Scatterv"),
    ("Ialltoall", "Alltoall"),
    ("Ialltoallv", "Alltoallv"),
    ("Ialltoallw", "Alltoallw"),
    ("Ineighbor_allgather", "Neighbor_allgather"),
    ("Ineighbor_allgatherv", "Neighbor_allgatherv"),
    ("Ineighbor_alltoall", "Neighbor_alltoall"),
    ("Ineighbor_alltoallv", "Neighbor_alltoallv"),
    ("Ineighbor_alltoallw", "Neighbor_alltoallw"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Of four ranks that call ten times each.
    fn row(bytes_sent: u64, bytes_recv: u64) -> Operations {
        Operations {
            comm: 2,
            op: 0,
            bucket: 0,
            ranks: 4,
            calls: 10,
            again: 0,
            rank_calls: 40,
            rank_calls_max: 10,
            failed: 0,
            bytes_sent,
            bytes_recv,
            time_ns: 0,
            rank_max_ns: 0,
            rank_min_ns: 0,
            time_min_ns: None,
            time_max_ns: None,
        }
    }

    #[test]
    fn the_busiest_rank_moves_what_the_operation_demands() {
        let bytes = |name, sent, received| Bound::of(name, &row(sent, received), 4).unwrap().bytes;
        // Vectors and blocks of 100 bytes, as profiles count them.
        assert_eq!(bytes("MPI_Bcast", 1000, 3000), 100.0);
        assert_eq!(bytes("MPI_Reduce", 4000, 1000), 100.0);
        assert_eq!(bytes("MPI_Allreduce", 4000, 4000), 150.0);
        assert_eq!(bytes("MPI_Allgather", 4000, 16_000), 300.0);
        assert_eq!(bytes("MPI_Gather", 4000, 4000), 300.0);
        assert_eq!(bytes("MPI_Scatterv", 4000, 4000), 300.0);
        assert_eq!(bytes("MPI_Alltoall", 16_000, 16_000), 300.0);
        assert_eq!(bytes("MPI_Reduce_scatter_block", 16_000, 4000), 300.0);
        assert_eq!(bytes("MPI_Barrier", 0, 0), 0.0);
        assert_eq!(bytes("MPI_Send", 4000, 0), 100.0);
        assert!(Bound::of("MPI_Comm_dup", &row(0, 0), 4).is_none() && Bound::of("-", &row(0, 0), 4).is_none());
    }

    #[test]
    fn trees_have_so_many_levels() {
        assert_eq!([1, 2, 3, 4, 5, 8, 9].map(depth), [0, 1, 2, 2, 3, 3, 4]);
    }

    #[test]
    fn operations_are_those_of_the_table_of_calls() {
        for (started, blocking) in BLOCKING {
            for name in [started, blocking] {
                assert!(commsee::calls::find(&format!("MPI_{name}")).is_some(), "{name}");
            }
        }
    }
}
