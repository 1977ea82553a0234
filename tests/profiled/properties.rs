//! Programs drawn at random: whatever tree of communicators they make, names, members, parents and counts are exact.
//! `COMMSEE_SEEDS` sets how many are tried under each MPI library; a failure names its seed.

use common::{Launch, Mpi, check};

const STEPS: &str = "150";

fn random_trees(mpi: Mpi) {
    let seeds: usize = std::env::var("COMMSEE_SEEDS").map_or(12, |count| count.parse().expect("COMMSEE_SEEDS"));
    for seed in 1..=seeds {
        let ranks = 2 + seed % 5;
        eprintln!("{mpi}: random_tree {seed} {STEPS} on {ranks} ranks");
        let launch = Launch::new(mpi, "random_tree").ranks(ranks).arguments(&[&seed.to_string(), STEPS]);
        check(&launch.run().succeeded());
    }
}

#[test]
fn openmpi_random_trees_are_exact() {
    random_trees(Mpi::OpenMpi);
}

#[test]
fn mpich_random_trees_are_exact() {
    random_trees(Mpi::Mpich);
}
