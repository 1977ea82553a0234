//! What `through` says of jobs whose shards are on other hosts, by the notes that hosts leave.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use commsee::profile::hosts::{Folder as Hosts, JOINED, Note};
use commsee::profile::recover::run_name;

use crate::common::Folder;
use crate::shards::{DEAD, write};

/// The notes of two hosts that nobody here knows, with a rank each, of a job whose profile is wanted in the folder.
fn told(folder: &Folder) -> Hosts {
    let run = run_name([0xabcd_ef01, DEAD.into()]);
    let hosts = Hosts::new(folder.0.path(), &run, JOINED);
    for rank in 0..2 {
        let note = Note {
            run: run.clone(),
            launch: String::new(),
            host: format!("node{rank}.nowhere"),
            rank,
            world_size: 2,
            local_ranks: Some(1),
            directories: vec!["/nowhere/shards".into()],
            roll: None,
            wanted: folder.path("run.db"),
            command: "./crashed".to_owned(),
            started_unix_ns: 1,
            slurm_job: None,
        };
        hosts.tell(&note).unwrap();
        hosts.write(&format!("{rank}.records"), rank.to_string().as_bytes()).unwrap();
    }
    hosts
}

/// A way to hosts on which nothing but this status comes back.
fn agent(folder: &Folder, status: u8) -> String {
    let path = folder.path("agent");
    fs::write(&path, format!("#!/bin/sh\nexit {status}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn recover_says_where_the_shards_are_and_how_they_are_fetched() {
    let folder = Folder::empty();
    told(&folder);
    let answer = folder.through(&["recover"]);
    assert_eq!(answer.status, 1, "{}", answer.err);
    let line = "run 00000000: there are shards of rank 0 on node0.nowhere, rank 1 on node1.nowhere; when it has ended, fetch them: through recover --all-hosts\n";
    assert!(answer.err.ends_with(line), "{}", answer.err);
}

#[test]
fn a_run_that_was_recovered_as_a_whole_is_told_of_no_more() {
    let folder = Folder::empty();
    let hosts = told(&folder);
    fs::create_dir(folder.path("shards")).unwrap();
    (0..2).for_each(|rank| write(&folder.path("shards"), "", rank, 2, DEAD));
    folder.through(&["recover", "shards", "-o", "run.db"]).ok();
    assert!(!hosts.exists());
    let answer = folder.through(&["recover", "--all-hosts"]);
    assert!(answer.status == 1 && answer.err.contains("nothing to fetch"), "{}", answer.err);
}

#[test]
fn collect_says_why_it_has_no_profile_and_what_to_do() {
    for (status, said) in [
        (255, "node1.nowhere cannot be reached (AGENT: exit status: 255); it has the shards of rank 1 in "),
        (127, "was not found); it has the shards"),
        (3, "node1.nowhere still runs rank 1; when they have ended, run: through recover --all-hosts --rsh AGENT"),
        (4, "node1.nowhere cannot move the shards of rank 1 from /nowhere/shards to "),
    ] {
        let folder = Folder::empty();
        let hosts = told(&folder);
        let agent = agent(&folder, status);
        let answer = folder.through(&["recover", "--all-hosts", "--rsh", &agent]);
        assert_eq!(answer.status, 1, "{}", answer.err);
        assert!(answer.err.contains(&said.replace("AGENT", &agent)), "{status}: {}", answer.err);
        assert_eq!(
            answer.err.matches(&format!("through recover --all-hosts --rsh {agent}\n")).count(),
            2,
            "{}",
            answer.err
        );
        assert!(hosts.exists());
    }
    // All answered, and there was nothing: it has been removed there.
    let folder = Folder::empty();
    let hosts = told(&folder);
    (0..2).for_each(|at| Hosts::set_carried(&hosts.told()[at].path).unwrap());
    let answer = folder.through(&["recover", "--all-hosts"]);
    assert!(answer.status == 1 && answer.err.contains("its hosts have no shards left"), "{}", answer.err);
    assert!(!hosts.exists());
}

#[test]
fn what_hosts_tell_stays_where_their_ranks_may_live() {
    let folder = Folder::empty();
    let hosts = told(&folder);
    let here = folder.0.path().to_str().unwrap();
    let answer = folder.through(&["recover", "--clean", here]);
    assert!(answer.status == 1 && answer.err.contains("unknown whether its job has ended"), "{}", answer.err);
    assert_eq!(hosts.told().len(), 2);
    folder.through(&["recover", "--clean", "--force", here]).ok();
    assert!(!hosts.exists());
}
