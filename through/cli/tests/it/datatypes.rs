//! The view of datatypes.

use crate::common::{Builder, Did, Folder};

fn typed() -> Folder {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("typed.db"), 2);
    profile.comm("W0.0", None, None, 2, "0-1");
    profile.comm("s0.1", Some("row"), Some("W0.0"), 2, "0-1");
    for rank in 0..2 {
        profile.cell("W0.0", "MPI_Send", 0, rank, Did(4, 400, 0, 1));
        profile.cell("s0.1", "MPI_Bcast", 0, rank, Did(1, 8, 8, 1));
        profile.used("W0.0", "MPI_Send", ("MPI_INT", true), rank, 3, 12);
        profile.used("W0.0", "MPI_Send", ("vector(16 x 4 of MPI_DOUBLE, stride 128)", false), rank, 1, 512);
        profile.used("s0.1", "MPI_Bcast", ("MPI_INT", true), rank, 1, 8 + rank as i64);
    }
    profile.finish(|_| 100);
    folder
}

#[test]
fn the_view_of_datatypes_looks_like_this() {
    insta::assert_snapshot!(typed().through(&["--datatypes"]).ok());
}

#[test]
fn ranks_are_added_up_and_filters_hold() {
    let folder = typed();
    let rows = |words: &[&str]| {
        let rows = folder.through(&[&["--datatypes", "--format", "csv"], words].concat()).csv();
        let show = |row: &std::collections::HashMap<String, String>| {
            let keys = ["comm", "op", "datatype", "contiguous", "ranks", "calls", "bytes"];
            keys.map(|key| row[key].as_str()).join(" ")
        };
        rows.iter().map(show).collect::<Vec<_>>()
    };
    let vector = "W0.0 MPI_Send vector(16 x 4 of MPI_DOUBLE, stride 128) false 2 2 1024";
    let (ints, bcast) = ("W0.0 MPI_Send MPI_INT true 2 6 24", "s0.1 MPI_Bcast MPI_INT true 2 2 17");
    assert_eq!(rows(&[]), [vector, ints, bcast]);
    assert_eq!(rows(&["--sort", "calls"]), [ints, vector, bcast]);
    assert_eq!(rows(&["--top", "1"]), [vector]);
    assert_eq!(rows(&["--comm", "row", "--rank", "1"]), ["s0.1 MPI_Bcast MPI_INT true 1 1 9"]);
    assert_eq!(rows(&["-c"]), [bcast]);
    let document = folder.through(&["--datatypes", "--format", "json", "--op", "bcast"]).json();
    assert_eq!(
        (document["datatypes"][0]["bytes"].as_i64(), document["datatypes"][0]["label"].as_str()),
        (Some(17), Some("row"))
    );
}

#[test]
fn what_datatypes_do_not_know_cannot_be_asked_of_them() {
    for filter in [["--bytes", "1K:"], ["--time", "1:"], ["--bucket", "1"], ["--phase", ""]] {
        assert_eq!(typed().through(&[&["--datatypes"][..], &filter].concat()).status, 2, "{filter:?}");
    }
}

#[test]
fn a_profile_without_datatypes_says_how_to_get_them() {
    let answer = Folder::with_sample().through(&["--datatypes"]);
    assert_eq!((answer.status, answer.out.as_str()), (1, ""));
    assert!(answer.err.contains("through run --datatypes"), "{}", answer.err);
}
