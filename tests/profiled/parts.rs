//! Profiles of parts of a job, joined: of real shards, as hosts would leave them that share no file system.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Launch, Mpi, execute, library};
use commsee::shard::{HEADER_BYTES, Header, set_text};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

/// The shards of four ranks that were killed, two in each of the directories node1 and node2, and all in the directory all.
struct Left(TempDir);

impl Left {
    fn of(mpi: Mpi, says_ranks: bool) -> Left {
        let run = Launch::new(mpi, "exits").ranks(4).arguments(&["is-killed"]).run();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let shards = run.left_over().shards;
        assert_eq!(shards.len(), 4, "{mpi}: {}", run.output());
        for shard in shards {
            let mut bytes = fs::read(&shard).expect("a shard");
            let mut header: Header = bytemuck::pod_read_unaligned(&bytes[..HEADER_BYTES]);
            assert_eq!(header.local_ranks, 4, "{mpi}: the launcher says that all are here");
            let host = if header.world_rank < 2 { "node1" } else { "node2" };
            set_text(&mut header.host, host);
            (header.local_ranks, header.boot) = (if says_ranks { 2 } else { 0 }, [7, u64::from(header.world_rank / 2)]);
            header.seal();
            bytes[..HEADER_BYTES].copy_from_slice(bytemuck::bytes_of(&header));
            for directory in [host, "all"] {
                fs::create_dir_all(folder.path().join(directory)).expect("a folder");
                fs::write(folder.path().join(directory).join(shard.file_name().unwrap()), &bytes).expect("a file");
            }
        }
        Left(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn shards(&self, directory: &str) -> usize {
        fs::read_dir(self.path(directory)).expect("the folder").count()
    }

    /// Status and output of `through recover`.
    fn recover(&self, words: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(library().with_file_name("through"));
        let done = execute(command.arg("recover").args(words).current_dir(self.0.path()));
        (done.status.code(), format!("{}{}", done.stdout, done.stderr))
    }

    #[track_caller]
    fn recovered(&self, words: &[&str]) -> String {
        let (status, said) = self.recover(words);
        assert_eq!(status, Some(0), "{said}");
        said
    }
}

/// All that stands in a profile.
fn rows(profile: &Path) -> BTreeMap<String, Vec<Vec<Value>>> {
    let db = Connection::open_with_flags(profile, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the profile opens");
    let mut names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").expect("the schema");
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let all = |name: &String| {
        let mut statement = db.prepare(&format!("SELECT * FROM {name}")).expect("the table");
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| (0..columns).map(|column| row.get(column)).collect()).unwrap();
        rows.map(Result::unwrap).collect::<Vec<Vec<Value>>>()
    };
    names.iter().map(|name| (name.clone(), all(name))).collect()
}

#[test]
fn parts_make_the_profile_that_all_shards_make() {
    for mpi in Mpi::ALL {
        let left = Left::of(mpi, true);
        left.recovered(&["all", "-o", "whole.db"]);
        assert_eq!(left.shards("all"), 0, "a whole profile needs no shards");
        let whole = rows(&left.path("whole.db"));
        assert!(whole["part"].is_empty(), "nor carries them");

        for (node, missing) in [("node1", "2-3"), ("node2", "0-1")] {
            let said = left.recovered(&[node, "-o", &format!("{node}.db")]);
            assert!(said.contains(&format!("without ranks {missing}, which ran on other hosts")), "{said}");
            let next =
                format!("the shards here are kept; recover on the other hosts, and join: through recover {node}.db");
            assert!(said.contains(&next), "{said}");
            assert_eq!(left.shards(node), 2);
        }
        let before = ["node1.db", "node2.db"].map(|name| fs::read(left.path(name)).unwrap());
        let said = left.recovered(&["node1.db", "node2.db", "-o", "joined.db"]);
        assert!(!said.contains("without") && said.contains("through recover --clean"), "{said}");
        assert_eq!(rows(&left.path("joined.db")), whole, "{mpi}");
        assert_eq!(["node1.db", "node2.db"].map(|name| fs::read(left.path(name)).unwrap()), before);

        // A profile and shards; the order does not matter, and what is there twice is said, and counted once.
        let said = left.recovered(&["node2.db", "node1", "-o", "mixed.db"]);
        assert!(!said.contains("without") && !said.contains("left out"), "{said}");
        assert_eq!((rows(&left.path("mixed.db")), left.shards("node1")), (whole.clone(), 0), "{mpi}");
        let said = left.recovered(&["node2.db", "node1.db", "node2", "-o", "twice.db"]);
        assert!(said.contains("node2.db, rank 2 and one more shard: left out: rank 2 is there already"), "{said}");
        assert_eq!(rows(&left.path("twice.db")), whole, "{mpi}");

        let cost = |name: &str| fs::metadata(left.path(name)).unwrap().len();
        let bytes = |part: &Vec<Value>| if let Value::Integer(bytes) = part[1] { bytes } else { 0 };
        let shards: i64 = rows(&left.path("node1.db"))["part"].iter().map(bytes).sum();
        eprintln!("{mpi}: 2 shards of {shards} bytes; profiles: part {}, whole {}", cost("node1.db"), cost("whole.db"));
        assert!(cost("node1.db") < cost("whole.db") + shards as u64 / 4, "shards are compressed");
    }
}

#[test]
fn what_is_joined_with_ranks_missing_is_a_part_again() {
    let left = Left::of(Mpi::Mpich, false);
    let third = fs::read_dir(left.path("node2")).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    fs::create_dir(left.path("node3")).unwrap();
    fs::rename(&third, left.path("node3").join(third.file_name().unwrap())).unwrap();
    for node in ["node1", "node2", "node3"] {
        let said = left.recovered(&[node, "-o", &format!("{node}.db")]);
        assert!(said.contains("other hosts may have some"), "nobody said how many: {said}");
    }
    let said = left.recovered(&["node1.db", "node3.db", "-o", "two.db"]);
    assert!(said.contains("without rank 2: no shard on this host; other hosts may have some"), "{said}");
    assert!(!said.contains("are kept"), "{said}");
    left.recovered(&["two.db", "node2.db", "-o", "three.db"]);
    left.recovered(&["all", "-o", "whole.db"]);
    assert_eq!(rows(&left.path("three.db")), rows(&left.path("whole.db")));
}

#[test]
fn what_cannot_be_joined_is_said() {
    let (left, other) = (Left::of(Mpi::Mpich, true), Left::of(Mpi::OpenMpi, true));
    left.recovered(&["all", "-o", "whole.db"]);
    left.recovered(&["node1", "-o", "part.db"]);
    let (status, said) = left.recover(&["part.db", "whole.db"]);
    assert!(status == Some(2) && said.contains("whole.db: cannot be joined"), "{said}");
    let shard = fs::read_dir(left.path("node1")).unwrap().next().unwrap().unwrap().path();
    let (status, said) = left.recover(&[shard.to_str().unwrap()]);
    assert!(status == Some(2) && said.contains("is a shard: name its directory"), "{said}");
    // Parts of two runs are two profiles.
    other.recovered(&["node1", "-o", "part.db"]);
    let said = left.recovered(&["part.db", other.path("part.db").to_str().unwrap()]);
    assert_eq!(said.matches("2 shards of 4 ranks").count(), 2, "{said}");
    // So is a shard that lies in two directories.
    fs::create_dir(left.path("copies")).unwrap();
    fs::copy(&shard, left.path("copies").join(shard.file_name().unwrap())).unwrap();
    let said = left.recovered(&["node1", "node1/../node1", "copies", "-o", "twice.db"]);
    assert_eq!((said.matches("left out: rank").count(), said.matches("is there already").count()), (1, 1), "{said}");
    // A damaged part is left out, and said.
    let db = Connection::open(left.path("part.db")).unwrap();
    db.execute("UPDATE part SET shard = substr(shard, 1, 100) WHERE rank = 0", []).unwrap();
    db.close().unwrap();
    let said = left.recovered(&["part.db", "-o", "rest.db"]);
    assert!(said.contains("part.db, rank 0: left out: is damaged"), "{said}");
    let db = Connection::open(left.path("part.db")).unwrap();
    db.execute("UPDATE part SET bytes = 1 << 60", []).unwrap();
    db.close().unwrap();
    let (status, said) = left.recover(&["part.db", "-o", "none.db"]);
    assert!(status == Some(2) && said.contains("part.db: is damaged"), "{said}");
}
