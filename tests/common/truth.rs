//! The ground truth: what a program said of itself (`tests/programs/truth.h`), put into the profile's terms, and the
//! comparison with the profile, in both directions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs;

use commsee::bytes;
use commsee::calls;
use commsee::creators;

use super::launch::Run;
use super::profile::Profile;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub calls: u64,
    pub failed: u64,
    pub sent: u64,
    pub received: u64,
}

impl Counts {
    fn add(&mut self, more: &Counts) {
        self.calls += more.calls;
        self.failed += more.failed;
        self.sent += more.sent;
        self.received += more.received;
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommFacts {
    pub creator: String,
    pub size: u32,
    pub parent: Option<String>,
    pub root: u32,
    pub label: Option<String>,
    pub freed: bool,
    pub ranks: BTreeSet<u32>,
}

/// Communicator, operation, datatype, whether it is contiguous, rank.
pub type UseKey = (String, String, String, bool, u32);

/// Communicator, operation of the call, that of the requests, lower edge of their bucket, peer, rank.
pub type CompletedKey = (String, String, String, u64, i64, u32);

/// File, communicator, operation, lower edge of the bucket, rank.
pub type FileKey = (String, String, String, u64, u32);

/// Everything that can be known beforehand of a profile.
#[derive(Debug, Default)]
pub struct Facts {
    pub communicators: BTreeMap<String, CommFacts>,
    /// By communicator, operation, lower edge of the bucket, rank.
    pub calls: BTreeMap<(String, String, u64, u32), Counts>,
    /// Those of them that count in the first bucket by rule, by that of their own bytes.
    pub own_sizes: BTreeMap<(String, String, u64, u32), Counts>,
    /// Requests and bytes.
    pub completed: BTreeMap<CompletedKey, (u64, u64)>,
    /// Calls on files, by name, communicator, operation, lower edge of the bucket, rank.
    pub files: BTreeMap<FileKey, Counts>,
    /// The same rows by phase in addition.
    pub phases: BTreeMap<(String, String, u64, u32, String), Counts>,
    /// Calls and bytes.
    pub uses: BTreeMap<UseKey, (u64, u64)>,
    /// By communicator, operation, sender, receiver: calls and bytes.
    pub matrix: BTreeMap<(String, String, u32, u32), (u64, u64)>,
    /// By communicator, operation, rank.
    pub involved: BTreeMap<(String, String, u32), u64>,
}

/// Compares what the program said with the profile it left, and reports every difference.
pub fn check(run: &Run) {
    check_profile(run, &run.profile());
}

/// The same with a profile that was found elsewhere.
pub fn check_profile(run: &Run, profile: &Profile) {
    let mut said = Facts::said(run, profile);
    if !profile.meta["options"].contains("COMMSEE_DATATYPES=1") {
        said.uses.clear();
    }
    let mut differences = Vec::new();
    let mut found = Facts::found(profile);
    if said.uses.is_empty() && profile.meta["options"].contains("COMMSEE_DATATYPES=1") {
        // The program states no uses of datatypes.
        found.uses.clear();
    }
    if said.own_sizes.is_empty() {
        found.own_sizes.clear();
    }
    if said.completed.is_empty() {
        found.completed.clear();
    }
    if said.files.is_empty() {
        found.files.clear();
    } else {
        check_opened(&said, profile);
    }
    said.forget_what_libraries_hide(&mut found);
    compare("completed", &said.completed, &found.completed, &mut differences);
    compare("own size", &said.own_sizes, &found.own_sizes, &mut differences);
    compare("file", &said.files, &found.files, &mut differences);
    compare("communicator", &said.communicators, &found.communicators, &mut differences);
    compare("calls", &said.calls, &found.calls, &mut differences);
    compare("calls in a phase", &said.phases, &found.phases, &mut differences);
    compare("datatype", &said.uses, &found.uses, &mut differences);
    compare("messages", &said.matrix, &found.matrix, &mut differences);
    compare("involved", &said.involved, &found.involved, &mut differences);
    if !differences.is_empty() {
        let shown = differences.len().min(40);
        let labels: Vec<String> = said.communicators.iter().map(|(name, facts)| format!("{name} {facts:?}")).collect();
        panic!(
            "{} differences ({} ranks under {}):\n{}\nthe program's communicators:\n{}\n--- stderr\n{}",
            differences.len(),
            run.ranks,
            run.mpi,
            differences[..shown].join("\n"),
            labels[..labels.len().min(30)].join("\n"),
            run.stderr,
        );
    }
}

/// By whom files were opened follows from the calls. Files of one name in different folders are told together.
fn check_opened(said: &Facts, profile: &Profile) {
    /// Ranks that opened it; opens and views.
    type Openings = (BTreeSet<u32>, [u64; 2]);
    let mut expected: BTreeMap<(&str, &str), Openings> = BTreeMap::new();
    for ((file, comm, op, _, rank), counts) in &said.files {
        let (ranks, times) = expected.entry((file, comm)).or_default();
        let succeeded = counts.calls - counts.failed;
        match op.as_str() {
            "MPI_File_open" if succeeded > 0 => {
                ranks.insert(*rank);
                times[0] += succeeded;
            }
            "MPI_File_set_view" => times[1] += succeeded,
            _ => {}
        }
    }
    let mut found: BTreeMap<(&str, &str), (u64, [u64; 2])> = BTreeMap::new();
    let mut files = BTreeSet::new();
    for opened in &profile.opened {
        assert!(files.insert((opened.id, &opened.comm)), "stands twice: {opened:?}");
        let (ranks, times) = found.entry((opened.file.as_deref().unwrap_or_default(), &opened.comm)).or_default();
        *ranks = (*ranks).max(opened.ranks);
        *times = [times[0] + opened.opens, times[1] + opened.views];
    }
    let expected: BTreeMap<_, _> =
        expected.into_iter().map(|(file, (ranks, times))| (file, (ranks.len() as u64, times))).collect();
    assert_eq!(found, expected, "opened files");
}

fn compare<K: Ord + Debug, V: PartialEq + Debug>(
    what: &str,
    said: &BTreeMap<K, V>,
    found: &BTreeMap<K, V>,
    differences: &mut Vec<String>,
) {
    for (key, value) in said {
        match found.get(key) {
            None => differences.push(format!("{what} {key:?}: missing, expected {value:?}")),
            Some(other) if other != value => {
                differences.push(format!("{what} {key:?}: expected {value:?}, found {other:?}"));
            }
            Some(_) => {}
        }
    }
    for (key, value) in found.iter().filter(|(key, _)| !said.contains_key(key)) {
        differences.push(format!("{what} {key:?}: not expected, found {value:?}"));
    }
}

/// `ANY_ORDINAL` of truth.h.
const ANY_ORDINAL: u32 = 1 << 30;

/// The name of the one communicator with a label, for programs whose threads race for the places.
fn labelled(profile: &Profile, label: &str) -> String {
    let mut with_label = profile.communicators.iter().filter(|known| known.label.as_deref() == Some(label));
    match (with_label.next(), with_label.next()) {
        (Some(one), None) => one.comm.clone(),
        (None, _) => format!("a communicator labelled {label}"),
        _ => panic!("several communicators are labelled {label}"),
    }
}

/// What one member of a communicator said of it.
struct Member {
    world_rank: u32,
    creator: String,
    parent: String,
    ordinal: u32,
    rank: u32,
    size: u32,
    named: bool,
    freed: bool,
}

impl Facts {
    /// What the program's processes said, in the names and buckets of a profile.
    pub fn said(run: &Run, profile: &Profile) -> Facts {
        let edges: Vec<u64> =
            profile.meta["bucket_edges"].split(',').map(|edge| bytes::parse(edge).expect("a bucket's edge")).collect();
        // An edge belongs to the bucket below it; the first bucket begins at 0.
        let lower_edge = |size: u64| edges.iter().copied().filter(|edge| *edge < size).max().unwrap_or(0);
        let logs: Vec<String> = (0..run.ranks)
            .map(|rank| {
                let path = run.truth_folder().join(rank.to_string());
                fs::read_to_string(&path)
                    .unwrap_or_else(|error| panic!("{}: {error}\n{}", path.display(), run.output()))
            })
            .collect();
        let lines = || {
            let by_rank = (0u32..).zip(&logs);
            by_rank.flat_map(|(rank, log)| log.lines().map(move |line| (rank, line.split('\t').collect::<Vec<_>>())))
        };
        let number = |word: &str| word.parse::<u64>().unwrap_or_else(|_| panic!("'{word}' is no number"));

        let mut members: BTreeMap<&str, Vec<Member>> = BTreeMap::new();
        for (world_rank, line) in lines() {
            if let ["comm", label, creator, parent, ordinal, rank, size, named, freed] = line[..] {
                members.entry(label).or_default().push(Member {
                    world_rank,
                    creator: creator.to_owned(),
                    parent: parent.to_owned(),
                    ordinal: number(ordinal) as u32,
                    rank: number(rank) as u32,
                    size: number(size) as u32,
                    named: named == "1",
                    freed: freed == "1",
                });
            }
        }
        // The process that is rank 0 supplies the name; of the two of an intercommunicator, the one with the lower
        // world rank.
        let root = |label: &str| -> &Member {
            let known = members.get(label).unwrap_or_else(|| panic!("'{label}' was never made"));
            known.iter().filter(|member| member.rank == 0).min_by_key(|member| member.world_rank).expect("a rank 0")
        };
        let name = |label: &str, world_rank: u32| match label {
            "-" | "*" => label.to_owned(),
            "WORLD" => "W0.0".to_owned(),
            "SELF" => format!("S{world_rank}.0"),
            label => {
                let root = root(label);
                if root.ordinal == ANY_ORDINAL {
                    return labelled(profile, label);
                }
                let letter = calls::find(&root.creator).and_then(|call| call.letter).expect("a creator's letter");
                format!("{letter}{}.{}", root.world_rank, root.ordinal)
            }
        };

        let mut facts = Facts::default();
        for (rank, line) in lines() {
            let op = || line[2].to_owned();
            match line[..] {
                ["call", label, _, size, calls, failed, sent, received, phase] => {
                    let lo = lower_edge(number(size));
                    let counts = Counts {
                        calls: number(calls),
                        failed: number(failed),
                        sent: number(sent),
                        received: number(received),
                    };
                    facts.add_call((name(label, rank), op(), lo, rank), phase, counts);
                    if label == "SELF" {
                        facts.communicators.insert(name(label, rank), alone(rank));
                    }
                }
                ["edge", label, _, destination, calls, bytes] => {
                    let key = (name(label, rank), op(), rank, number(destination) as u32);
                    let entry = facts.matrix.entry(key).or_default();
                    *entry = (entry.0 + number(calls), entry.1 + number(bytes));
                }
                ["involved", label, _, calls] => {
                    *facts.involved.entry((name(label, rank), op(), rank)).or_default() += number(calls);
                }
                ["use", label, _, datatype, contiguous, calls, bytes] => {
                    let key = (name(label, rank), op(), datatype.to_owned(), contiguous == "1", rank);
                    let entry = facts.uses.entry(key).or_default();
                    *entry = (entry.0 + number(calls), entry.1 + number(bytes));
                }
                ["size", label, _, size, calls, sent, received] => {
                    let lo = lower_edge(number(size));
                    let entry = facts.own_sizes.entry((name(label, rank), op(), lo, rank)).or_default();
                    entry.calls += number(calls);
                    entry.sent += number(sent);
                    entry.received += number(received);
                }
                ["done", label, _, text, size, requests, bytes] => {
                    let (started, peer) = text.split_once(' ').expect("an operation and a rank");
                    let peer = peer.parse().expect("a rank");
                    let key = (name(label, rank), op(), started.to_owned(), lower_edge(number(size)), peer, rank);
                    let entry = facts.completed.entry(key).or_default();
                    *entry = (entry.0 + number(requests), entry.1 + number(bytes));
                }
                ["file", label, _, file, size, calls, failed, sent, received] => {
                    let key = (file.to_owned(), name(label, rank), op(), lower_edge(number(size)), rank);
                    facts.files.entry(key).or_default().add(&Counts {
                        calls: number(calls),
                        failed: number(failed),
                        sent: number(sent),
                        received: number(received),
                    });
                }
                ["comm", ..] => {}
                _ => panic!("rank {rank} wrote a line that is none: {line:?}"),
            }
        }
        facts.calls.retain(|_, counts| *counts != Counts::default());
        facts.own_sizes.retain(|_, counts| *counts != Counts::default());
        facts.phases.retain(|_, counts| *counts != Counts::default());

        for (label, list) in &members {
            let root = root(label);
            let parent = (root.parent != "-").then(|| name(&root.parent, root.world_rank));
            let ranks: BTreeSet<u32> = list.iter().map(|member| member.world_rank).collect();
            assert_eq!(ranks.len(), root.size as usize, "the program did not log every member of {label}");
            let known = CommFacts {
                creator: root.creator.clone(),
                size: root.size,
                parent,
                root: root.world_rank,
                label: root.named.then(|| (*label).to_owned()),
                freed: list.iter().all(|member| member.freed),
                ranks,
            };
            let twice = facts.communicators.insert(name(label, root.world_rank), known);
            assert!(twice.is_none(), "the program gives two communicators one name: {label}");
        }
        let world = CommFacts { size: run.ranks as u32, ranks: (0..run.ranks as u32).collect(), ..alone(0) };
        // A program with sessions need not have it.
        if lines().any(|(_, line)| line.get(1) == Some(&"WORLD")) {
            facts.communicators.insert("W0.0".to_owned(), CommFacts { creator: origin(creators::WORLD), ..world });
        }
        facts
    }

    /// Sends of several sizes that were pending at once may have shared a handle, or not: they are taken together with others that the
    /// same calls completed.
    fn forget_what_libraries_hide(&mut self, found: &mut Facts) {
        let hidden = |(comm, op, started, _, _, rank): &CompletedKey| {
            (started == "-").then(|| (comm.clone(), op.clone(), *rank))
        };
        let calls: BTreeSet<_> = self.completed.keys().filter_map(hidden).collect();
        for facts in [self, found] {
            let mut all: BTreeMap<CompletedKey, (u64, u64)> = BTreeMap::new();
            for ((comm, op, started, lo, peer, rank), (requests, bytes)) in std::mem::take(&mut facts.completed) {
                let is_hidden =
                    ["-", "MPI_Isend"].contains(&started.as_str()) && calls.contains(&(comm.clone(), op.clone(), rank));
                let (started, lo) = if is_hidden { ("-".to_owned(), 0) } else { (started, lo) };
                let entry = all.entry((comm, op, started, lo, peer, rank)).or_default();
                *entry = (entry.0 + requests, entry.1 + bytes);
            }
            facts.completed = all;
        }
    }

    fn add_call(&mut self, key: (String, String, u64, u32), phase: &str, more: Counts) {
        let (comm, op, lo, rank) = key.clone();
        let in_phase = self.phases.entry((comm, op, lo, rank, phase.to_owned())).or_default();
        for counts in [self.calls.entry(key).or_default(), in_phase] {
            counts.add(&more);
        }
    }

    /// What the profile holds.
    pub fn found(profile: &Profile) -> Facts {
        let mut facts = Facts::default();
        for communicator in &profile.communicators {
            let known = CommFacts {
                creator: communicator.creator.clone(),
                size: communicator.size,
                parent: communicator.parent.clone(),
                root: communicator.root_rank.unwrap_or(u32::MAX),
                label: communicator.label.clone(),
                freed: communicator.freed,
                ranks: communicator.ranks.iter().copied().collect(),
            };
            facts.communicators.insert(communicator.comm.clone(), known);
        }
        for call in &profile.calls {
            let counts =
                Counts { calls: call.calls, failed: call.failed, sent: call.bytes_sent, received: call.bytes_recv };
            facts.add_call((call.comm.clone(), call.op.clone(), call.bucket_lo, call.rank), &call.phase, counts);
        }
        for one in &profile.completed {
            let started = one.started.clone().unwrap_or_else(|| "-".to_owned());
            let (lo, peer) = (one.bucket_lo.unwrap_or(0), one.peer.map_or(-1, i64::from));
            facts
                .completed
                .insert((one.comm.clone(), one.op.clone(), started, lo, peer, one.rank), (one.requests, one.bytes));
        }
        for on_file in &profile.files {
            let (file, rank) = (on_file.file.clone().unwrap_or_default(), on_file.rank.unwrap_or(u32::MAX));
            let key = (file, on_file.comm.clone(), on_file.op.clone(), on_file.bucket_lo, rank);
            facts.files.entry(key).or_default().add(&Counts {
                calls: on_file.calls,
                failed: on_file.failed,
                sent: on_file.bytes_written,
                received: on_file.bytes_read,
            });
        }
        for call in &profile.own_sizes {
            let counts = Counts { calls: call.calls, failed: 0, sent: call.bytes_sent, received: call.bytes_recv };
            facts.own_sizes.insert((call.comm.clone(), call.op.clone(), call.bucket_lo, call.rank), counts);
        }
        for edge in &profile.matrix {
            let key = (edge.comm.clone(), edge.op.clone(), edge.src, edge.dst.unwrap_or(u32::MAX));
            facts.matrix.insert(key, (edge.calls, edge.bytes));
        }
        for used in &profile.datatypes {
            let key = (used.comm.clone(), used.op.clone(), used.datatype.clone(), used.contiguous, used.rank);
            facts.uses.insert(key, (used.calls, used.bytes));
        }
        for involved in &profile.involved {
            facts.involved.insert((involved.comm.clone(), involved.op.clone(), involved.rank), involved.calls);
        }
        facts
    }
}

/// `MPI_COMM_SELF` of a process.
fn alone(rank: u32) -> CommFacts {
    CommFacts {
        creator: origin(creators::SELF),
        size: 1,
        parent: None,
        root: rank,
        label: None,
        freed: false,
        ranks: BTreeSet::from([rank]),
    }
}

fn origin(letter: char) -> String {
    creators::origin(letter).expect("a predefined communicator").to_owned()
}
