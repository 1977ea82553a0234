//! The profile of the pages, with the lines of the program that ships: `examples/heat.c`.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::Coder;
use crate::common::heat;

/// A function of the program, and what its line says.
type Line = (&'static str, &'static str);

const MAIN: Line = ("main", "change = step(");

/// Which calls are made where, with the callers from the inside.
const CALLS: &[(&str, &str, &[Line])] = &[
    ("W0.0", "MPI_Init", &[("main", "MPI_Init(")]),
    ("W0.0", "MPI_Bcast", &[("read_input", "MPI_Bcast("), ("main", "if (!read_input(")]),
    ("W0.0", "MPI_Cart_create", &[("make_grid", "MPI_Cart_create("), ("main", "    make_grid(")]),
    ("W0.0", "MPI_Comm_dup", &[("open_output", "MPI_Comm_dup("), ("main", "    open_output(")]),
    ("a0.1", "MPI_Isend", &[("exchange", "MPI_Isend("), ("step", "    exchange("), MAIN]),
    ("a0.1", "MPI_Irecv", &[("exchange", "MPI_Irecv("), ("step", "    exchange("), MAIN]),
    ("a0.1", "MPI_Waitall", &[("exchange", "MPI_Waitall("), ("step", "    exchange("), MAIN]),
    ("a0.1", "MPI_Allreduce", &[("residual", "MPI_Allreduce(&largest"), ("step", "= residual("), MAIN]),
    ("b0.2", "MPI_Allreduce", &[("smooth", "plate->sums, plate->height"), ("step", "    smooth("), MAIN]),
    ("b4.2", "MPI_Allreduce", &[("smooth", "plate->sums, plate->height"), ("step", "    smooth("), MAIN]),
    ("d0.3", "MPI_Gather", &[("report", "MPI_Gather("), ("main", "report(&plate)")]),
];

const BIRTHPLACES: &[(&str, Line)] = &[
    ("a0.1", ("make_grid", "MPI_Cart_create(")),
    ("b0.2", ("make_rows", "MPI_Cart_sub(")),
    ("b4.2", ("make_rows", "MPI_Cart_sub(")),
    ("d0.3", ("open_output", "MPI_Comm_dup(")),
];

/// The profile `heat.db`, as `through run … ./heat --grid 4x2 --steps 2000 --uneven` leaves it.
pub fn shipped(path: &Path) {
    heat(path);
    let db = Connection::open(path).unwrap();
    db.execute("UPDATE metadata SET value = value || ' --uneven' WHERE key = 'command'", []).unwrap();
}

/// The same with up to eight callers of each call.
pub fn shipped_with_code(path: &Path) {
    shipped(path);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/heat.c");
    let source = fs::read_to_string(source).unwrap();
    let code = |(function, text): Line| {
        let line = source.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("no line has {text}"));
        (function, "/home/me/examples/heat.c", line as i64 + 1)
    };
    let mut coder = Coder::open(path);
    for (comm, line) in BIRTHPLACES {
        coder.born(comm, code(*line));
    }
    for (comm, op, stack) in CALLS {
        coder.called(comm, op, &stack.iter().map(|line| code(*line)).collect::<Vec<_>>());
    }
}
