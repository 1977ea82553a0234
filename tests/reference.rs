//! The reference pages that are written from tables. `UPDATE_PAGES=1 cargo test --test reference` rewrites them.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use commsee::calls::{CALLS, RULES};
use commsee::settings::VARIABLES;

fn check(page: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference").join(page);
    if env::var_os("UPDATE_PAGES").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "docs/reference/{page} is out of date: UPDATE_PAGES=1 cargo test --test reference");
}

#[test]
fn calls() {
    let mut page = String::from(
        "# Calls\n\n\
         Written from `calls.table`. A call with a large-count form `NAME_c` is counted as `NAME` in both forms; a call from \
         Fortran (`mpif.h`, `use mpi`, `use mpi_f08`) under the same name and by the same rules as one from C.\n\n\
         ## Rules for bytes\n\n\
         `size` is that of the datatype in bytes; with `MPI_IN_PLACE` a call counts as without it. An edge of a bucket \
         belongs to the bucket below it.\nA call that fails carries no bytes.\n\n\
         | rule | bytes sent | bytes received | bucket by |\n|---|---|---|---|\n",
    );
    for rule in &RULES {
        writeln!(page, "| `{}` | {} | {} | {} |", rule.name, rule.sent, rule.received, rule.bucket).unwrap();
    }
    page += "\nBeyond the table:\n\n\
        - A nonblocking receive belongs to the bucket of the message that arrived, as a blocking one does; until its \
        completion is seen it counts in the first bucket without bytes. A combined call (`MPI_Isendrecv`) belongs to \
        the bucket of what it sends.\n\
        - Setting up a persistent request carries no bytes. `MPI_Start` carries those of its request, in the bucket of its \
        message. `MPI_Startall` is one call in the first bucket, to which the bytes of all its requests are added on \
        their communicators.\n\
        - Completion calls carry no bytes. Over requests of one communicator they belong to it, over several to the row `*`, over \
        none that is active to the row `-`.\n\
        - A matched receive belongs to the communicator of its probe.\n\
        - Calls that make a communicator belong to its parent, `MPI_Comm_free` to the communicator that is freed, `MPI_Init` and the \
        like to `MPI_COMM_WORLD`.\n\
        - A window and a file belong to the communicator that they were made over, also when that one has been freed; \
        `MPI_File_delete` to the row `-`.\n\
        - In the matrix the source of a one-sided call is the process that calls and its destination is the target, also \
        where the data goes the other way, as in `MPI_Get`. A call that gives and takes counts there with the larger of \
        both.\n\
        - Synchronization of windows, and all else that moves no data itself, carries no bytes.\n\
        - A nonblocking read of a file adds what it brought when its completion is seen, in the bucket of what was asked for. \
        Of split collectives a write carries its bytes at the begin, a read at the end.\n\
        - The start of a partitioned send carries no bytes: each partition is a message when a call marks it ready. That of a \
        partitioned receive carries all that arrived, in the bucket of the whole.\n\
        - In an intercommunicator blocks go to and come from the remote group; at the root of a rooted collective only \
        the root of its group takes part: the others of it count without bytes, in the first bucket.\n\n\
        ## Functions\n\nA function of the class `comm` with a letter in the last column makes communicators whose names begin with it \
        ([names](names.md)). Every function is counted from C, in the form `NAME_c` where the table says so, and from Fortran.\n\n\
        | function | class | since MPI | large count | rule | bytes sent | bytes received | bucket by | makes |\n\
        |---|---|---|---|---|---|---|---|---|\n";
    for call in &CALLS {
        let rule = RULES.iter().find(|rule| rule.name == call.rule).expect("every call has a rule");
        let (major, minor) = call.since;
        let large = if call.large { "yes" } else { "" };
        let letter = call.letter.map(|letter| format!("`{letter}`")).unwrap_or_default();
        writeln!(
            page,
            "| `{}` | {} | {major}.{minor} | {large} | `{}` | {} | {} | {} | {letter} |",
            call.name,
            call.class.name(),
            call.rule,
            rule.sent,
            rule.received,
            rule.bucket,
        )
        .unwrap();
    }
    check("calls.md", &page);
}

#[test]
fn environment() {
    let mut page = String::from(
        "# Environment variables\n\nRead once, in `MPI_Init`. `through run` and `through exec` set some of them.\n\n\
         | variable | default | meaning |\n|---|---|---|\n",
    );
    for variable in VARIABLES {
        let default = if variable.default.is_empty() { String::new() } else { format!("`{}`", variable.default) };
        writeln!(page, "| `{}` | {default} | {} |", variable.name, variable.meaning).unwrap();
    }
    page += "\nThe directory of shards needs 32 KiB per rank, and 48 bytes more for each (communicator, operation, bucket) and \
        64 for each communicator that a rank uses (256 more where it has a name). Where it has no space, counters are kept in memory and commsee says so.\n";
    check("environment.md", &page);
}

#[test]
fn views() {
    check("views.md", &through::views::page());
}
