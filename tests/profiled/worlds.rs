//! Worlds of one job that must not take each other's ranks for their own, and ranks that are waited for in vain.

use std::collections::BTreeSet;
use std::path::PathBuf;

use common::{Kin, Launch, Mpi, Profile, Run, library, shared_library, side_by_side};

/// Of each profile how many ranks it has, and how often they called MPI_Allreduce.
fn worlds(run: &Run) -> BTreeSet<(usize, u64)> {
    let names = ["profile.db", "profile-1.db", "profile-2.db", "profile-3.db"].map(|name| run.folder().join(name));
    let profiles = names.iter().filter(|path| path.exists()).map(|path| Profile::read(path));
    profiles.map(|profile| (profile.ranks.len(), profile.total("MPI_Allreduce"))).collect()
}

fn are_told_apart(launch: impl Fn() -> Launch, how: &str, ranks: usize) {
    let run = launch().ranks(ranks).arguments(&[how]).run().succeeded();
    let mut expected: BTreeSet<(usize, u64)> = [3, 5, 7].map(|times| (ranks, ranks as u64 * times)).into();
    if how == "multiple" {
        expected.pop_last();
    }
    assert_eq!(worlds(&run), expected, "{how}: {}", run.output());
    assert!(!run.stderr.contains("only ranks"), "{how}: {}", run.output());
    let mut left = run.left_behind();
    left.retain(|path| path.extension().is_none_or(|extension| extension != "db"));
    assert_eq!(left, Vec::<PathBuf>::new(), "{how}: {}", run.output());
}

const WAYS: [(&str, usize); 5] = [("several", 3), ("several", 2), ("at-once", 2), ("nested", 2), ("multiple", 2)];

#[test]
fn worlds_of_one_size_that_were_spawned_are_told_apart() {
    // Open MPI 5 does not preload in processes that are spawned, except under `through run`.
    for kin in Kin::all().into_iter().filter(|kin| kin.mpi() == Mpi::Mpich) {
        let program = kin.compiled("worlds");
        let launch = || Launch::of(kin.mpi(), program.clone()).under(&kin).preload(library());
        if kin.is_intel() {
            // It spawns over networks alone, and its ranks take each other's processors.
            let fabrics = [("I_MPI_FABRICS", "shm:ofi"), ("FI_PROVIDER", "tcp"), ("FI_TCP_IFACE", "lo")];
            let launch = || fabrics.iter().fold(launch(), |launch, (name, value)| launch.variable(name, value));
            are_told_apart(launch, "several", 2);
            continue;
        }
        WAYS.iter().for_each(|(how, ranks)| are_told_apart(launch, how, *ranks));
    }
    if Mpi::Standard.is_there() {
        WAYS.iter().for_each(|(how, ranks)| are_told_apart(|| Launch::new(Mpi::Standard, "worlds"), how, *ranks));
    }
    for how in ["several", "nested", "multiple"] {
        are_told_apart(|| Launch::new(Mpi::OpenMpi, "worlds"), how, 2);
    }
}

/// Open MPI's launcher lets the others go on. Its own `MPI_Finalize` hangs then in one of fifty runs, so that it is left out.
#[test]
fn a_rank_that_died_is_not_waited_for() {
    side_by_side(["kills", "exits"], |how| {
        let recovers = [("OMPI_MCA_orte_enable_recovery", "1"), ("OMPI_MCA_orte_abort_on_non_zero_status", "0")];
        let launch = Launch::new(Mpi::OpenMpi, "survivors").ranks(4).arguments(&[how]).limit(120);
        let launch = launch.preload(shared_library("ends_here"));
        let run = recovers.iter().fold(launch, |launch, (name, value)| launch.variable(name, value)).run().succeeded();
        assert_eq!(run.stdout, "commsee has finalized\n".repeat(3), "{}", run.output());
        let profile = Profile::read(&run.profile_path());
        let states: Vec<&str> = profile.ranks.iter().map(|rank| &*rank.state).collect();
        assert_eq!(states, ["finished", "ended before MPI_Finalize", "finished", "finished"], "{}", run.output());
        assert_eq!(profile.total("MPI_Barrier"), 4);
    });
}
