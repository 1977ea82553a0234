//! What communicators are called, who their members are and what they were made from.

use std::process::Command;

use common::{Launch, Mpi, Profile, Program, answer, check, check_invariants, execute, holds, shared_library, through};

/// What a thread remembers of its latest calls fits none of these, or means something else by now.
#[test]
fn calls_that_are_never_alike_are_told_apart() {
    for mpi in Mpi::ALL {
        for (ranks, steps) in [(2, "4000"), (4, "500")] {
            check(&Launch::new(mpi, "alternating").ranks(ranks).arguments(&[steps]).run().succeeded());
        }
    }
}

/// What a thread expects next is the next call, and is not.
#[test]
fn calls_that_take_turns_are_told_apart() {
    for mpi in Mpi::ALL {
        for (ranks, orders) in [(1, "200"), (2, "100"), (4, "20")] {
            check(&Launch::new(mpi, "turns").ranks(ranks).arguments(&[orders]).run().succeeded());
        }
    }
}

#[test]
fn every_creator_names_what_it_makes() {
    for mpi in Mpi::ALL {
        [2, 4, 5, 8].into_iter().for_each(|ranks| holds(mpi, "creators", ranks));
    }
}

/// Libraries hang a communicator of their own on the program's, and free it when that is freed.
#[test]
fn calls_from_within_mpi_are_followed() {
    for mpi in Mpi::ALL {
        [2, 3].into_iter().for_each(|ranks| holds(mpi, "nested", ranks));
    }
}

/// A moment is charged once, also where the call fails in which the other one was made: whatever is checked, no moment is charged twice
/// (`tests/common/invariants.rs`).
#[test]
fn a_call_is_not_charged_for_those_made_in_it() {
    for mpi in Mpi::ALL {
        for sites in ["0", "1"] {
            let run = Launch::new(mpi, "nested").ranks(2).variable("COMMSEE_SITES", sites).run().succeeded();
            check(&run);
            let time = |op: &str, comm: &str| {
                format!("(SELECT sum(time_s) FROM profile WHERE rank = 1 AND op = '{op}' AND comm = {comm})")
            };
            let refused = time("MPI_Comm_dup", "(SELECT comm FROM communicators WHERE label = 'refused')");
            let sql = format!("SELECT {refused} < {}", time("MPI_Barrier", "'W0.0'"));
            assert_eq!(answer(&run.profile_path(), &sql), ["1"], "{mpi}, sites {sites}");
        }
    }
}

/// Until the call that frees it has returned, and for good where the program has left that.
#[test]
fn a_communicator_is_used_while_it_is_freed() {
    for mpi in Mpi::ALL {
        [2, 3].into_iter().for_each(|ranks| holds(mpi, "freeing", ranks));
    }
}

/// Calls are told from those made within them also where the clock tells the same time at the end of one and at the begin of the next.
#[test]
#[cfg(target_arch = "x86_64")]
fn what_is_called_within_a_call_is_known_where_the_clock_ticks_slowly() {
    for mpi in Mpi::ALL {
        // The time-stamp counter tells no time twice.
        let launch = Launch::new(mpi, "freeing").ranks(2).variable("COMMSEE_DATATYPES", "1");
        // The signal is the clock's.
        let launch = launch.variable("UCX_ERROR_SIGNALS", "").variable("OMPI_MCA_opal_signal", "6");
        check(&launch.preload(shared_library("coarse_clock")).run().succeeded());
    }
}

#[test]
fn thousands_are_made_and_freed() {
    for mpi in Mpi::ALL {
        check(&Launch::new(mpi, "churn").ranks(4).arguments(&["5000", "1500"]).run().succeeded());
    }
}

/// More than 65 536, where MPI libraries and other tools run out of something.
#[test]
#[ignore = "takes about a minute"]
fn seventy_thousand_are_made_and_freed() {
    for mpi in Mpi::ALL {
        check(&Launch::new(mpi, "churn").ranks(4).arguments(&["70000", "0"]).limit(600).run().succeeded());
    }
}

#[test]
fn calls_that_the_library_makes_itself_are_not_the_programs() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich, Mpi::Standard].into_iter().filter(|mpi| mpi.is_there()) {
        [1, 2].into_iter().for_each(|ranks| holds(mpi, "inner", ranks));
    }
}

#[test]
fn communicators_made_behind_our_back_are_found() {
    for mpi in Mpi::ALL {
        let profile = Launch::new(mpi, "foreign").ranks(4).run().succeeded().profile();
        let of = |ranks: &[u32], creator: &str| -> Vec<String> {
            let found = profile.communicators.iter().filter(|one| one.ranks == ranks && one.creator == creator);
            found.map(|one| one.comm.clone()).collect()
        };
        let calls = |comm: &str, op: &str, rank: u32| {
            let rows = profile.calls.iter().filter(|call| call.comm == comm && call.op == op && call.rank == rank);
            rows.map(|call| call.calls).sum::<u64>()
        };
        let [all] = &of(&[0, 1, 2, 3], "unknown")[..] else { panic!("{mpi}: {:?}", profile.communicators) };
        for half in [[0, 2], [1, 3]] {
            let [parent] = &of(&half, "unknown")[..] else { panic!("{mpi}: {:?}", profile.communicators) };
            let [child] = &of(&half, "MPI_Comm_dup")[..] else { panic!("{mpi}: {:?}", profile.communicators) };
            assert_eq!(profile.communicator(child).unwrap().parent.as_ref(), Some(parent));
            assert_eq!(profile.communicator(parent).unwrap().root_rank, Some(half[1]), "its order is reversed");
            for rank in half {
                assert_eq!(calls(all, "MPI_Allreduce", rank), 3);
                assert_eq!(calls(parent, "MPI_Barrier", rank), 5);
                assert_eq!(calls(parent, "MPI_Comm_dup", rank), 1);
                assert_eq!(calls(parent, "MPI_Comm_free", rank), 1);
                assert_eq!(calls(child, "MPI_Barrier", rank), 1);
            }
        }
    }
}

/// Each world writes a profile of its own, and tells of the other one what it knows: how many processes it has.
#[test]
fn spawned_processes_are_a_world_of_their_own() {
    spawned(&[], "MPI_Comm_spawn");
    spawned(&["multiple"], "MPI_Comm_spawn_multiple");
}

fn spawned(arguments: &[&str], spawn: &str) {
    // Debian's MPICH cannot spawn: its launcher refuses.
    let run = Launch::new(Mpi::OpenMpi, "spawn").ranks(2).arguments(arguments).run().succeeded();
    assert_eq!(run.stdout.lines().filter(|line| *line == "child").count(), 2, "{}", run.output());
    // The name that was asked for is that of the world that was started, whichever ends first.
    let names = ["profile.db", "profile-1.db"];
    let profiles: Vec<Profile> = names.iter().map(|name| Profile::read(&run.folder().join(name))).collect();
    for (profile, creator) in profiles.iter().zip([spawn, "MPI_Comm_get_parent"]) {
        check_invariants(profile, 2);
        let bridge = profile.communicators.iter().find(|one| one.creator == creator).expect("a communicator between");
        assert_eq!((bridge.size, bridge.remote_size, &bridge.ranks[..]), (4, 2, &[0, 1][..]));
        let merged =
            profile.communicators.iter().find(|one| one.creator == "MPI_Intercomm_merge").expect("a merged one");
        assert_eq!((merged.size, &merged.ranks[..], merged.parent.as_ref()), (4, &[0, 1][..], Some(&bridge.comm)));
        // Messages to the other world have no world rank to go to.
        let [sent] = &profile.matrix[..] else { panic!("{:?}", profile.matrix) };
        assert_eq!((&sent.comm, sent.dst, sent.calls, sent.bytes), (&bridge.comm, None, 1, 4));
        assert_eq!((profile.total("MPI_Recv"), profile.total("MPI_Allreduce")), (1, 2));
        assert_eq!((profile.total("MPI_Comm_get_parent"), profile.total("MPI_Intercomm_merge")), (2, 2));
    }
}

/// They end first: theirs is not the name that was asked for, although they never asked who spawned them.
#[test]
fn spawned_processes_that_ask_for_no_parents_are_known_too() {
    let run = Launch::new(Mpi::OpenMpi, "spawn").ranks(2).arguments(&["silent"]).run().succeeded();
    let [first, second] = ["profile.db", "profile-1.db"].map(|name| Profile::read(&run.folder().join(name)));
    assert_eq!((first.total("MPI_Comm_spawn"), first.total("MPI_Allreduce")), (2, 0));
    assert_eq!((second.total("MPI_Comm_spawn"), second.total("MPI_Allreduce")), (0, 2));
    check_invariants(&second, 2);
    let parents = second.communicators.iter().find(|one| one.creator == "MPI_Comm_get_parent").expect("those");
    assert_eq!((parents.size, parents.remote_size, &parents.ranks[..]), (4, 2, &[0, 1][..]));
    assert_eq!(second.total("MPI_Comm_get_parent"), 0);
}

/// The summary is that of the world that was started.
#[test]
fn through_run_tells_of_spawned_processes_last() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = Program { name: "spawn", link: Vec::new() }.compiled(Mpi::OpenMpi);
    let mut command = Mpi::OpenMpi.run_by(&through(), &["-o", "run.db"], 2);
    let done = execute(command.arg(program).current_dir(folder.path()));
    assert!(done.status.success(), "{}", done.stderr);
    assert!(done.stderr.contains("\nprofile    run.db\n           run-1.db: spawned processes\n"), "{}", done.stderr);
    assert!(done.stderr.contains("Comm_spawn on W0.0"), "{}", done.stderr);
    let head = execute(Command::new(through()).arg(folder.path().join("run-1.db"))).stdout;
    assert!(head.contains("\nnote       spawned by processes that are not in this profile\n"), "{head}");
}

/// Each side of a connection knows a communicator of its own, also where both sides are of one world. MPICH over UCX can
/// neither open ports nor join, so under MPICH there is nothing to see.
#[test]
fn each_side_of_a_connection_has_its_communicator() {
    let cases = [
        ("connect", 2, ["MPI_Comm_accept", "MPI_Comm_connect"], ["k0.2", "q1.2"], ["s0.1", "s1.1"]),
        ("connect", 6, ["MPI_Comm_accept", "MPI_Comm_connect"], ["k0.2", "q1.2"], ["s0.1", "s1.1"]),
        ("join", 2, ["MPI_Comm_join", "MPI_Comm_join"], ["v0.1", "v1.1"], ["S0.0", "S1.0"]),
    ];
    for (how, ranks, ops, names, parents) in cases {
        let profile = Launch::new(Mpi::OpenMpi, "dynamic").ranks(ranks).arguments(&[how]).run().succeeded().profile();
        for side in 0..2 {
            let one = profile.communicator(names[side]).unwrap_or_else(|| panic!("{:?}", profile.communicators));
            let members: Vec<u32> = (0..ranks as u32).filter(|rank| *rank as usize % 2 == side).collect();
            assert_eq!((&*one.creator, one.parent.as_deref()), (ops[side], Some(parents[side])));
            assert_eq!((one.size, one.remote_size, &one.ranks), (ranks as u32, ranks as u32 / 2, &members));
            assert!(one.freed);
            let (sent, received) = if side == 0 { (200, 300) } else { (300, 200) };
            for rank in members {
                let of = |comm: &str, op: &str| {
                    let mut rows =
                        profile.calls.iter().filter(|row| (&*row.comm, &*row.op, row.rank) == (comm, op, rank));
                    let row = rows.next().unwrap_or_else(|| panic!("{op} of rank {rank} over {comm}"));
                    assert!(rows.next().is_none());
                    (row.calls, row.bytes_sent, row.bytes_recv)
                };
                assert_eq!(of(parents[side], ops[side]), (1, 0, 0));
                assert_eq!(of(names[side], "MPI_Send"), (1, sent, 0));
                assert_eq!(of(names[side], "MPI_Recv"), (1, 0, received));
                assert_eq!(of(names[side], "MPI_Allreduce"), (1, 4, 4));
                assert_eq!(of(names[side], "MPI_Comm_disconnect"), (1, 0, 0));
                // To the process opposite, which is the next one of the world, or the one before.
                let edges: Vec<_> = profile.matrix.iter().filter(|edge| edge.src == rank).collect();
                let [edge] = edges[..] else { panic!("{edges:?}") };
                let opposite = if side == 0 { rank + 1 } else { rank - 1 };
                assert_eq!((&*edge.comm, edge.dst, edge.calls, edge.bytes), (names[side], Some(opposite), 1, sent));
            }
        }
    }
}
