//! What the launcher says of this process, for messages where MPI cannot be asked.

/// The environment variables by which launchers tell a process its rank: Open MPI, PMIx, MPICH and its kin, Slurm.
const RANKS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];

/// The rank of this process among those that were launched together, where a launcher says so.
pub fn rank() -> Option<u32> {
    RANKS.iter().find_map(|name| std::env::var(name).ok())?.trim().parse().ok()
}

/// Whether this process is the one that speaks for all: the first, or one that no launcher numbered.
pub fn is_first() -> bool {
    RANKS.iter().find_map(|name| std::env::var(name).ok()).is_none_or(|rank| rank == "0")
}
