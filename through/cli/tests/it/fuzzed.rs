//! What the fuzz targets (`fuzz/`) were given and have found, once more: the same functions, on every build.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use tar::Archive;

use crate::common::Folder;

#[path = "../../../../fuzz/drive/mutate.rs"]
mod mutate;
#[path = "../../../../fuzz/drive/profile.rs"]
mod profile;
#[path = "../../../src/query/range.rs"]
mod range;
#[path = "../../../../fuzz/drive/shard.rs"]
mod shard;
#[path = "../../../../fuzz/drive/words.rs"]
mod words;

/// The inputs of a target, with their names.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus.tar.gz");
    let mut archive = Archive::new(GzDecoder::new(File::open(path).unwrap()));
    let mut inputs = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().into_owned();
        if entry.header().entry_type().is_file() && name.parent().is_some_and(|folder| folder.ends_with(target)) {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            inputs.push((name, bytes));
        }
    }
    assert!(inputs.len() > 50, "{} inputs of {target}", inputs.len());
    inputs
}

#[test]
fn words_are_read_or_refused() {
    corpus("words").iter().for_each(|(_, input)| words::drive(input));
}

#[test]
fn any_shard_becomes_a_profile_or_is_refused() {
    corpus("shard").iter().for_each(|(_, input)| shard::drive(input));
}

/// By the modules of the program, in a view that the input chooses.
#[test]
fn any_profile_is_shown_or_refused_in_the_view_that_it_chooses() {
    let folder = Folder::empty();
    corpus("profile").iter().for_each(|(_, input)| profile::drive(input, folder.0.path()));
}

/// By the program itself.
#[test]
fn any_profile_is_shown_or_refused() {
    let folder = Folder::empty();
    let path = folder.path("a.db");
    for (input, bytes) in corpus("profile") {
        mutate::write(&bytes, &path);
        let before = fs::read(&path).unwrap();
        for words in [
            &["--format=csv", "-a"][..],
            &["--format=json", "--top=0"],
            &["-u"],
            &["--in-flight"],
            &["--in-flight", "--format=json", "-r0,2-3"],
            &["--phases", "--phase="],
            &["layers", "--by=comm"],
            &["layers", "--all", "--format=json"],
            &["traffic"],
            &["traffic", "--graph", "--by=device"],
        ] {
            let answer = folder.through(&[words, &["a.db"]].concat());
            assert!(matches!(answer.status, 0..=2), "{words:?} of {}: {answer:?}", input.display());
            assert!(!answer.err.contains("panicked"), "{words:?} of {}: {}", input.display(), answer.err);
            assert!(answer.status != 2 || answer.err.lines().count() == 1, "{}: {}", input.display(), answer.err);
        }
        assert!(fs::read(&path).unwrap() == before, "{} was written to", input.display());
        assert_eq!(folder.names(), ["a.db"]);
    }
}
