//! What layers below MPI did: `through ucx` on a profile whose numbers are small enough to add up by hand.

use insta::assert_snapshot;

use crate::common::{Builder, Did, Folder, MS, Moved, REMOTE, UNKNOWN, Way};

const EAGER: Way = Way(["ucp", "ucp_tag_send_nbx", "eager", "posix", "memory", "memory"]);
const EAGER_TCP: Way = Way(["ucp", "ucp_tag_send_nbx", "eager", "tcp", "eth0", "network"]);
const GET: Way = Way(["ucp", "ucp_tag_send_nbx", "rndv-get", "", "", ""]);
const PUT: Way = Way(["ucp", "ucp_tag_send_nbx", "rndv-put", "rc_mlx5", "mlx5_0:1", "network"]);
const RECEIVE: Way = Way(["ucp-rx", "ucp_tag_recv_nbx", "eager", "", "", ""]);
const SHORT: Way = Way(["uct", "uct_ep_am_short", "eager", "posix", "memory", "memory"]);
const SHORT_TCP: Way = Way(["uct", "uct_ep_am_short", "eager", "tcp", "eth0", "network"]);
const CONTROL: Way = Way(["uct", "uct_ep_am_bcopy", "control", "rc_mlx5", "mlx5_0:1", "network"]);
const GET_ZCOPY: Way = Way(["uct", "uct_ep_get_zcopy", "rndv-get", "rc_mlx5", "mlx5_1:1", "network"]);
const PUT_ZCOPY: Way = Way(["uct", "uct_ep_put_zcopy", "rndv-put", "rc_mlx5", "mlx5_0:1", "network"]);
const WIREUP: Way = Way(["uct", "uct_ep_am_bcopy", "wireup", "tcp", "eth0", "network"]);
const REPLY: Way = Way(["uct", "uct_ep_am_short", "reply", "posix", "memory", "memory"]);
const ARRIVAL: Way = Way(["uct-rx", "uct_am", "eager", "tcp", "eth0", "network"]);

/// Ranks 0 and 1 are on node0, 2 and 3 on node1.
pub fn layered() -> Folder {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("ucx.db"), 4);
    profile.meta("command", "./app -n 4");
    profile.meta("mpi_library", "Open MPI v4.1.4");
    profile.meta("ranks", "4");
    profile.comm("W0.0", None, None, 4, "0-3");
    profile.comm("s0.1", Some("row"), Some("W0.0"), 2, "0,2");
    profile.comm("s1.1", None, Some("W0.0"), 2, "1,3");
    // Rank 0 sends 10 messages of 100 bytes to rank 1, and rank 1 sends 20 of 100 bytes to rank 2.
    for (rank, dst, calls) in [(0, 1, 10), (1, 2, 20)] {
        profile.cell("W0.0", "MPI_Send", 0, rank, Did(calls, 100 * calls, 0, 10 * MS));
        profile.cell("W0.0", "MPI_Recv", 0, dst, Did(calls, 0, 100 * calls, 10 * MS));
        profile.edge("W0.0", "MPI_Send", (rank as i64, dst as i64), calls, 100 * calls);
        let send = ("W0.0", "MPI_Send", 0);
        let ends = (rank as i64, dst as i64);
        profile.transfer(send, if rank == 0 { EAGER } else { EAGER_TCP }, ends, Moved(calls, 100 * calls, 0, 0));
        profile.transfer(send, if rank == 0 { SHORT } else { SHORT_TCP }, ends, Moved(calls, 108 * calls, 0, 0));
        let receive = ("W0.0", "MPI_Recv", 0);
        profile.transfer(receive, RECEIVE, (dst as i64, UNKNOWN), Moved(calls, 100 * calls, 2, 4000));
    }
    profile.edge("W0.0", "MPI_Send", (3, -1), 1, 7);
    profile.transfer(("W0.0", "MPI_Recv", 0), ARRIVAL, (2, UNKNOWN), Moved(20, 2160, 0, 0));
    // Rank 0 broadcasts 3 times 4096 bytes to rank 2, which gets them.
    profile.cell("s0.1", "MPI_Bcast", 2, 0, Did(3, 12_288, 0, 2 * MS));
    profile.cell("s0.1", "MPI_Bcast", 2, 2, Did(3, 0, 12_288, 4 * MS));
    profile.transfer(("s0.1", "MPI_Bcast", 2), GET, (0, 2), Moved(3, 12_288, 3, 90_000));
    profile.transfer(("s0.1", "MPI_Bcast", 0), CONTROL, (0, 2), Moved(3, 192, 0, 0));
    profile.transfer(("s0.1", "MPI_Bcast", 0), CONTROL, (2, 0), Moved(3, 48, 0, 0));
    profile.transfer(("s0.1", "MPI_Bcast", 2), GET_ZCOPY, (2, 0), Moved(3, 12_288, 3, 60_000));
    // Ranks 1 and 3 exchange 16384 bytes each, which the sender puts, in two operations.
    for (rank, peer) in [(1, 3), (3, 1)] {
        profile.cell("s1.1", "MPI_Allreduce", 3, rank, Did(1, 16_384, 16_384, MS));
        let ends = (rank as i64, peer);
        profile.transfer(("s1.1", "MPI_Allreduce", 3), PUT, ends, Moved(1, 16_384, 1, 50_000));
        profile.transfer(("s1.1", "MPI_Allreduce", 2), PUT_ZCOPY, ends, Moved(2, 16_384, 2, 40_000));
        profile.transfer(("s1.1", "MPI_Allreduce", 0), CONTROL, ends, Moved(2, 128, 0, 0));
    }
    // What belongs to no call.
    for rank in 0..4 {
        profile.transfer(("-", "-", 1), WIREUP, (rank, UNKNOWN), Moved(1, 200, 0, 0));
    }
    profile.transfer(("-", "-", 0), REPLY, (1, 0), Moved(5, 60, 0, 0));
    profile.transfer(("-", "-", 0), WIREUP, (3, REMOTE), Moved(1, 100, 0, 0));
    profile.note("ucx", "UCX 1.13.1: UCP and UCT", 4);
    profile.note("ucx", "uct mlx5: refused (operation table of UCX 1.10 is not known)", 1);
    profile.finish(|_| 1000 * MS);
    folder
}

#[test]
fn the_top_contributors_look_like_this() {
    assert_snapshot!(layered().through(&["ucx", "ucx.db"]).ok());
}
