//! Phases: their view, their filter, and that without either nobody sees them.

use crate::common::{Builder, Did, Folder, MS};

/// Two ranks that set something up and then solve something, twice.
fn phased() -> Folder {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("phased.db"), 2);
    profile.comm("W0.0", None, None, 2, "0-1");
    profile.comm("s0.1", Some("row"), Some("W0.0"), 2, "0-1");
    for (phase, factor) in [("", 1), ("set up", 2), ("solve", 10)] {
        profile.phase(phase);
        for rank in 0..2 {
            let time_ns = factor * (rank as i64 + 1) * MS;
            profile.cell("W0.0", "MPI_Send", 0, rank, Did(factor, 100 * factor, 0, time_ns));
            if phase != "set up" {
                profile.cell("s0.1", "MPI_Allreduce", 0, rank, Did(factor, 8, 8, time_ns));
            }
        }
        profile.cell("*", "MPI_Waitall", 0, 0, Did(factor, 0, 0, MS));
        profile.involved("s0.1", "MPI_Waitall", 0, factor);
        profile.involved("W0.0", "MPI_Waitall", 0, factor);
    }
    profile.phase("");
    profile.cell("W0.0", "MPI_Init", 0, 0, Did(1, 0, 0, 500 * MS));
    profile.finish(|_| 100 * MS);
    folder
}

#[test]
fn the_view_of_phases_looks_like_this() {
    insta::assert_snapshot!(phased().through(&["--phases"]).ok());
}

#[test]
fn the_view_of_phases_adds_up() {
    let rows = phased().through(&["--phases", "--format", "csv"]).csv();
    let of = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("phase"), ["", "set up", "solve"]);
    // Sends and waits count once per rank, the Allreduce once, and MPI_Init is no MPI time.
    assert_eq!(of("calls"), ["5", "6", "40"]);
    assert_eq!(of("bytes_sent"), ["216", "400", "2016"]);
    assert_eq!(of("mpi_s"), ["0.007", "0.007", "0.061"]);
    assert_eq!(of("time_s"), ["0.507", "0.007", "0.061"]);
    assert_eq!(
        (of("rank_max_s"), of("rank_min_s")),
        (
            ["0.004", "0.004", "0.04"].map(str::to_owned).to_vec(),
            ["0.003", "0.003", "0.021"].map(str::to_owned).to_vec(),
        )
    );
    let rows = phased().through(&["--phases", "--format", "csv", "--op", "allreduce", "--sort", "time"]).csv();
    assert_eq!(rows.iter().map(|row| &row["phase"]).collect::<Vec<_>>(), ["solve", ""]);
}

#[test]
fn without_a_filter_phases_are_added_up() {
    let folder = phased();
    let rows = folder.through(&["-a", "--op", "send", "--format", "csv"]).csv();
    assert_eq!(rows.len(), 2, "one row per rank");
    assert_eq!(
        (rows[1]["calls"].as_str(), rows[1]["bytes_sent"].as_str(), rows[1]["time_s"].as_str()),
        ("13", "1300", "0.026")
    );
    assert_eq!(rows[1]["phase"], "");
    let rows = folder.through(&["--op", "send", "--format", "csv"]).csv();
    assert_eq!(
        (rows[0]["calls"].as_str(), rows[0]["ranks"].as_str(), rows[0]["rank_max_s"].as_str()),
        ("26", "2", "0.026")
    );
    let rows = folder.through(&["-u", "--comm", "s0.1", "--format", "csv"]).csv();
    assert_eq!((rows[0]["calls"].as_str(), rows[0]["involved_calls"].as_str()), ("11", "13"));
    assert!(!folder.through(&["-a"]).ok().contains(" phase "));
}

#[test]
fn the_filter_leaves_the_phases_it_names() {
    let folder = phased();
    let calls = |words: &[&str]| {
        let words = [&["--op", "send", "--rank", "1", "-a", "--format", "csv"], words].concat();
        let rows = folder.through(&words).csv();
        rows.iter().map(|row| format!("{} {}", row["phase"], row["calls"])).collect::<Vec<_>>()
    };
    assert_eq!(calls(&["--phase", "solve"]), ["solve 10"]);
    assert_eq!(calls(&["--phase", ""]), [" 1"]);
    assert_eq!(calls(&["--phase", "solve,set up"]), ["set up 2", "solve 10"]);
    assert_eq!(calls(&["--phase", "solve", "--phase", ""]), [" 1", "solve 10"]);
    let document = folder.through(&["-a", "--phase", "", "--format", "json"]).json();
    assert!(document["rows"].as_array().unwrap().iter().all(|row| row["phase"] == ""));
    let document = folder.through(&["-a", "--format", "json"]).json();
    assert!(document["rows"].as_array().unwrap().iter().all(|row| row["phase"].is_null()));

    // In every view; several phases are one where a view does not tell them apart.
    let rows = folder.through(&["--phase", "set up,solve", "--format", "csv", "--op", "send"]).csv();
    assert_eq!((rows.len(), rows[0]["calls"].as_str(), rows[0]["ranks"].as_str()), (1, "24", "2"));
    let rows = folder.through(&["-e", "--phase", "set up", "--format", "csv"]).csv();
    assert_eq!((rows[0]["selected_s"].as_str(), rows[1]["selected_s"].as_str()), ("0.003", "0.004"));
    let involved = |words: &[&str]| {
        let document = folder.through(&[&["--format", "json"], words].concat()).json();
        document["involved"][0]["calls"].as_i64()
    };
    assert_eq!((involved(&[]), involved(&["--phase", "set up"])), (Some(13), Some(2)));
    let table = folder.through(&["-a", "--phase", "set up"]).ok();
    assert!(table.contains("shown only phase set up") && table.contains("phase  "), "{table}");
}

/// A time is that of a rank in all phases that are left, in every view.
#[test]
fn the_filter_of_times_looks_at_all_phases_together() {
    let folder = phased();
    let rows = |words: &[&str]| {
        folder.through(&[&["--op", "send", "--time", "0.02:", "--format", "csv"], words].concat()).csv()
    };
    assert_eq!(rows(&["-a"]).iter().map(|row| &row["rank"]).collect::<Vec<_>>(), ["1"]);
    assert_eq!(rows(&["--phases"]).len(), 3);
    assert_eq!(rows(&["-a", "--phase", "set up,solve"]).len(), 2);
    assert_eq!(folder.through(&["-a", "--op", "send", "--time", "0.02:", "--phase", "set up"]).status, 1);
}

#[test]
fn an_unknown_phase_is_a_mistake() {
    let answer = phased().through(&["--phase", "Solve"]);
    assert_eq!((answer.status, answer.out.as_str(), answer.err.lines().count()), (2, "", 1));
    assert!(answer.err.contains("'Solve'") && answer.err.contains("set up, solve"), "{}", answer.err);
    let answer = Folder::with_sample().through(&["--phase", "\u{1b}[31m"]);
    assert_eq!(answer.status, 2);
    assert!(answer.err.contains("the profile has: none") && !answer.err.contains('\u{1b}'), "{}", answer.err);
}
