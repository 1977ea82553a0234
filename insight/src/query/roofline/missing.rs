//! Measurements that a comparison lacks, and how to make them.

/// One message, inside a host or between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    pub crosses_hosts: bool,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// None at all.
    Message,
    /// None that is small enough to tell the latency.
    Latency,
}

impl Missing {
    pub fn text(self) -> String {
        let what = match self.what {
            What::Message => "one message".to_owned(),
            What::Latency => format!("the latency (one message of at most {LATENCY_BYTES} bytes)"),
        };
        format!("{what} {}", if self.crosses_hosts { "between two hosts" } else { "inside a host" })
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

/// The largest message whose time is taken for the latency: a cache line, which takes no longer than a byte.
pub const LATENCY_BYTES: u32 = 64;
