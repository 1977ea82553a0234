//! A small catalog for unit tests.

use super::catalog::{Bucket, Catalog, Communicator, Detail, Operation, Process};
use super::routes::Route;
use super::sites::Sites;

pub fn catalog() -> Catalog {
    let comm = |id, name: &str, label: Option<&str>| {
        let label = label.map(str::to_owned);
        (id, Communicator { id, name: name.to_owned(), label, ..Communicator::default() })
    };
    let operation = |name: &str, class: &str| Operation { name: name.to_owned(), class: class.to_owned() };
    let process = |rank| {
        Process::new(rank, "n1".to_owned(), 100 + rank, 2_000_000_000, 500_000_000 + rank, "finished".to_owned())
    };
    let route = |layer: &str, function: &str, transport: &str| Route {
        layer: layer.to_owned(),
        function: function.to_owned(),
        transport: transport.to_owned(),
        ..Route::default()
    };
    Catalog {
        meta: [("command".to_owned(), "./app".to_owned())].into(),
        detail: Detail::Rank,
        communicators: [
            comm(0, "-", None),
            comm(1, "*", None),
            comm(2, "W0.0", None),
            comm(3, "s0.1", Some("rows")),
            comm(4, "s1.1", Some("rows, odd")),
        ]
        .into(),
        operations: [(7, operation("MPI_Send", "p2p")), (8, operation("MPI_Allreduce", "collective"))].into(),
        buckets: [
            (0, Bucket { lo: 0, hi: Some(128) }),
            (1, Bucket { lo: 128, hi: Some(1024) }),
            (2, Bucket { lo: 1024, hi: None }),
        ]
        .into(),
        phases: [(0, String::new()), (1, "set up".to_owned()), (2, "solve".to_owned())].into(),
        routes: [
            (1, route("ucp", "ucp_tag_send_nbx", "")),
            (2, route("uct", "uct_ep_am_short", "tcp")),
            (3, route("uct", "uct_ep_am_short", "posix")),
        ]
        .into(),
        processes: (0..4).map(process).collect(),
        sites: Sites::default(),
    }
}
