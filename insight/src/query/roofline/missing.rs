//! Measurements that a comparison lacks, and how to make them.

/// One message, inside a host or between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    pub crosses_hosts: bool,
}

impl Missing {
    pub fn what(self) -> &'static str {
        if self.crosses_hosts { "one message between two hosts" } else { "one message inside a host" }
    }

    /// Two ranks, placed so that the message goes where it is wanted.
    pub fn command(self) -> &'static str {
        if self.crosses_hosts {
            "mpirun -n 2 --map-by node groupbench run -g 1 --bytes 1:4M -o machine.db"
        } else {
            "mpirun -n 2 groupbench run -g 1 --bytes 1:4M -o machine.db"
        }
    }
}
