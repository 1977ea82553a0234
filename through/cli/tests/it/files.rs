//! `through --files`: what was done with each file, and what filters leave of it.

use std::path::Path;

use crate::common::{Answer, Builder, Did, Folder, MS};

const KIB: i64 = 1 << 10;
const MIB: i64 = 1 << 20;

/// Four ranks that write a checkpoint together, a log in small pieces by themselves, and each a file of its own. Also the profile of the
/// how-to page.
pub fn ocean(path: &Path) {
    let mut profile = Builder::new(path, 4);
    profile.meta("command", "./ocean --days 30");
    profile.meta("mpi_library", "Open MPI v4.1.4");
    profile.meta("start_time", "2026-11-21T07:15:00Z");
    profile.meta("ranks", "4");
    profile.comm("W0.0", None, None, 4, "0-3");
    profile.comm("s0.1", Some("writers"), Some("W0.0"), 2, "0,2");
    for (number, name) in [(1, "restart.nc"), (2, "tracks.log"), (3, "restart.nc"), (4, "mesh.dat")] {
        profile.file(number, name);
    }
    for rank in 0..4 {
        profile.cell("W0.0", "MPI_Init", 0, rank, Did(1, 0, 0, 200 * MS));
        profile.on_file(1, "W0.0", "MPI_File_open", 0, rank, Did(3, 0, 0, 12 * MS));
        profile.on_file(1, "W0.0", "MPI_File_set_view", 0, rank, Did(3, 0, 0, MS));
        profile.on_file(1, "W0.0", "MPI_File_write_all", 3, rank, Did(30, 30 * 8 * MIB, 0, 900 * MS));
        profile.on_file(1, "W0.0", "MPI_File_close", 0, rank, Did(3, 0, 0, 7 * MS));
        profile.on_file(2, "W0.0", "MPI_File_open", 0, rank, Did(1, 0, 0, 4 * MS));
        let slow = if rank == 3 { 2 } else { 1 };
        profile.on_file(2, "W0.0", "MPI_File_write_at", 0, rank, Did(5000, 5000 * 64, 0, 400 * slow * MS));
        profile.on_file(2, "W0.0", "MPI_File_close", 0, rank, Did(1, 0, 0, 2 * MS));
        profile.on_file(4, "W0.0", "MPI_File_open", 0, rank, Did(1, 0, 0, 5 * MS));
        profile.on_file(4, "W0.0", "MPI_File_iread_at", 3, rank, Did(2, 0, 2 * 64 * KIB, MS));
        profile.on_file(4, "W0.0", "MPI_File_close", 0, rank, Did(1, 0, 0, MS));
    }
    for rank in [0, 2] {
        profile.on_file(3, "s0.1", "MPI_File_open", 0, rank, Did(1, 0, 0, 3 * MS));
        profile.on_file(3, "s0.1", "MPI_File_read_all_begin", 3, rank, Did(1, 0, 0, 10 * MS));
        profile.on_file(3, "s0.1", "MPI_File_read_all_end", 3, rank, Did(1, 0, 8 * MIB, 30 * MS));
        profile.on_file(3, "s0.1", "MPI_File_close", 0, rank, Did(1, 0, 0, MS));
    }
    profile.on_file(2, "-", "MPI_File_delete", 0, 0, Did(1, 0, 0, MS));
    profile.finish(|_| 30_000 * MS);
}

pub fn folder() -> Folder {
    let folder = Folder::empty();
    ocean(&folder.path("ocean.db"));
    folder
}

#[test]
fn files_look_like_this() {
    let mut table = folder().through(&["--files"]).ok();
    table.push_str(&folder().through(&["--files", "--format", "csv"]).ok());
    insta::assert_snapshot!(table);
}

/// What a column means is said where it is.
#[test]
fn a_column_without_room_is_not_explained() {
    let folder = folder();
    let at = |columns: &str| Answer::of(folder.command(&["--files"]).env("COLUMNS", columns).output().unwrap()).ok();
    let (narrow, wide) = (at("80"), at("160"));
    assert!(wide.contains(" coll. ") && wide.contains("\ncoll.: share"), "{wide}");
    assert!(!narrow.contains("coll.") && narrow.contains("\nrate: bytes per second"), "{narrow}");
}

#[test]
fn rates_are_of_calls_that_wait() {
    let rows = folder().through(&["--files", "--format", "csv"]).csv();
    let row = |file: &str, comm: &str| rows.iter().find(|row| row["file"] == file && row["comm"] == comm).unwrap();
    let rate = |file, comm, column: &str| row(file, comm)[column].parse::<f64>().unwrap();
    let is = |value: f64, wanted: f64| assert!((value / wanted - 1.0).abs() < 1e-9, "{value} {wanted}");
    // Those of opening and closing do not count, nor what is started only.
    is(rate("restart.nc", "W0.0", "bytes_per_s_of_a_rank"), (30 * 8 * MIB) as f64 / 0.9);
    is(rate("restart.nc", "W0.0", "bytes_per_s_of_all"), 4.0 * (30 * 8 * MIB) as f64 / 0.9);
    // One that is slower pulls the mean down, and not the others.
    is(rate("tracks.log", "W0.0", "bytes_per_s_of_a_rank"), 4.0 * 320_000.0 / 2.0);
    is(rate("tracks.log", "W0.0", "bytes_per_s_of_all"), 3.5 * 320_000.0 / 0.4);
    // Both halves of a split call.
    is(rate("restart.nc", "s0.1", "bytes_per_s_of_a_rank"), (8 * MIB) as f64 / 0.04);
    let started = row("mesh.dat", "W0.0");
    assert_eq!(
        ["bytes_per_s_of_a_rank", "bytes_per_s_of_all", "access_bytes", "accesses"].map(|name| started[name].as_str()),
        ["", "", "65536", "8"]
    );
    assert_eq!(row("restart.nc", "s0.1")["accesses"], "2");
    assert_ne!(row("restart.nc", "W0.0")["id"], row("restart.nc", "s0.1")["id"]);
    assert_eq!(row("tracks.log", "-")["ranks"], "0");
}

#[test]
fn filters_choose_calls_and_not_who_opened() {
    let folder = folder();
    let rows = |words: &[&str]| folder.through(&[&["--files", "--format", "csv"], words].concat()).csv();
    let small = rows(&["--bytes", ":128", "--op", "File_write_at"]);
    assert_eq!(small.len(), 1);
    assert_eq!([&small[0]["file"], &small[0]["calls"], &small[0]["opens"]], ["tracks.log", "20000", "4"]);
    let of_some = rows(&["--rank", "1-2", "--comm", "W0.0", "--sort", "calls"]);
    let first = &of_some[0];
    assert_eq!([&first["file"], &first["ranks"], &first["opens"], &first["calls"]], ["tracks.log", "2", "2", "10004"]);
    assert_eq!([&of_some[1]["file"], &of_some[1]["views_set"]], ["restart.nc", "6"]);
    assert_eq!(rows(&["--comm", "writers"]).len(), 1);
    assert_eq!(rows(&["--top", "2", "--sort", "bytes"])[0]["file"], "restart.nc");
    assert_eq!(folder.through(&["--files", "-p"]).status, 1);
    for option in ["--time=1:", "--site=a.c"] {
        assert_eq!(folder.through(&["--files", option]).status, 2, "{option}");
    }
}

#[test]
fn files_without_a_name_are_one_and_explained() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 1);
    profile.meta("ranks", "1");
    profile.comm("W0.0", None, None, 1, "0");
    profile.on_file(0, "W0.0", "MPI_File_open", 0, 0, Did(9, 0, 0, MS));
    profile.finish(|_| 100 * MS);
    let table = folder.through(&["--files"]).ok();
    let said = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Without a name: files beyond the first 4096 names"), "{table}");
    let sample = Folder::with_sample();
    assert!(sample.through(&["--files"]).err.contains("no files were opened"));
}

#[test]
fn advice_on_tiny_accesses_names_the_file() {
    let folder = folder();
    let found = folder.through(&["advise", "ocean.db", "--format", "json"]).json();
    let findings = found["findings"].as_array().unwrap();
    let tiny: Vec<_> = findings.iter().filter(|finding| finding["topic"] == "tiny-file-accesses").collect();
    assert_eq!(tiny.len(), 1, "{findings:#?}");
    let text = tiny[0]["text"].as_str().unwrap();
    assert!(text.contains("20000 accesses (100.0 % of all) to tracks.log read or write 64 B each"), "{text}");
    let command = tiny[0]["command"].as_str().unwrap();
    assert!(command.contains("--files --comm W0.0 --op File_write_at"), "{command}");
}

#[test]
fn a_profile_without_files_and_requests_says_so() {
    let folder = Folder::with_sample();
    let told = |view: &str| {
        let answer = folder.through(&[view]);
        assert_eq!(answer.status, 1, "{view}");
        answer.err
    };
    assert_eq!(told("--files"), "through: sample.db: no files were opened by MPI_File_open\n");
    assert_eq!(told("--completed"), "through: sample.db: no requests were completed\n");
}
