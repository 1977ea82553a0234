//! Names of shards and of what lies beside them: they tell the run.

/// How names of files and directories tell the run.
pub fn run_name(run: [u64; 2]) -> String {
    format!("{:016x}{:016x}", run[0], run[1])
}

/// The name of a shard: `commsee-RUN-RANK.shard`.
pub fn shard_name(run: [u64; 2], rank: u32) -> String {
    format!("commsee-{}-{rank}.shard", run_name(run))
}

/// The name of a copy that `MPI_Pcontrol(2)` makes of a shard: `commsee-RUN-RANK.snapshot-N`.
pub fn snapshot_name(run: [u64; 2], rank: u32, number: u32) -> String {
    format!("commsee-{}-{rank}.snapshot-{number}", run_name(run))
}

/// The run that a shard's name tells.
pub fn run_in_name(name: &str) -> Option<[u64; 2]> {
    let digits = name.strip_prefix("commsee-")?.get(..32)?;
    let word = |half: &str| u64::from_str_radix(half, 16).ok();
    Some([word(digits.get(..16)?)?, word(digits.get(16..)?)?])
}
