//! Ways to move the messages of a step. A library prepares an exchange once; it is then armed, started and waited for as often as one likes.
//!
//! Another way, such as a library of a GPU's vendor, is another implementation of [`Library`].

mod collective;
mod mixed;
mod nccl;
mod on_gpu;
mod onesided;
mod partitioned;
mod shared;
mod twosided;

use std::str::FromStr;

use crate::memory::{Kind, Memory};
use crate::mpi::{Comm, World};
use crate::pattern::{Message, Shape};

/// What a library is given of a step.
pub struct Task<'a> {
    pub world: &'a World,
    /// Of all ranks of the world: what messages go over.
    pub comm: &'a Comm,
    pub memory: &'a Memory,
    /// Those of all ranks, in one order everywhere; a rank is one of the world.
    pub messages: &'a [Message],
    /// Its number in the pattern.
    pub step: usize,
    /// The group of each rank of the world.
    pub groups: &'a [Option<usize>],
    /// Whether it works inside groups on what crossed between them.
    pub assembles: bool,
}

/// A step that can be executed again and again.
pub trait Exchange {
    /// Takes what the rank gives, for libraries that need it in memory of their own. Called, unmeasured, when that was written.
    fn load(&mut self) {}

    /// What the receiving side may do before the clock starts: it does not wait for others.
    fn arm(&mut self) {}

    /// Does not wait for more than the library itself waits for.
    fn start(&mut self);

    /// All that this rank sends may be overwritten, all that it receives is there.
    fn wait(&mut self);

    /// Brings what arrived to where the pattern wants it, for the same libraries. Called, unmeasured, before that is read.
    fn land(&mut self) {}
}

/// Why a library cannot do a step: the same on all ranks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{library}: {why}")]
pub struct Unavailable {
    pub library: String,
    pub why: String,
}

pub trait Library {
    fn name(&self) -> String;

    fn memory(&self) -> Kind {
        Kind::Private
    }

    /// Collective over the world.
    fn prepare(&self, task: &Task) -> Result<Box<dyn Exchange>, Unavailable>;

    /// Whether it leaves memory to MPI or another library that knows GPUs.
    fn takes_device_memory(&self) -> bool {
        true
    }

    /// Whether MPI is given the memory of messages, which it has to know if it is a GPU's.
    fn gives_memory_to_mpi(&self) -> bool {
        true
    }

    /// Whether two ranks alone can use it, for a round trip.
    fn is_pairwise(&self) -> bool {
        true
    }
}

/// One library, or one within groups, another between them, and a third within groups afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    One(Name),
    Mixed {
        before: Name,
        across: Name,
        after: Name,
    },
    /// Between memory of GPUs.
    OnGpu(Box<Choice>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Name {
    /// MPI_Isend and MPI_Irecv; receives are posted before the clock starts
    Twosided,
    /// MPI_Send_init and MPI_Recv_init
    Persistent,
    /// MPI_Put between MPI_Win_post, start, complete and wait
    Put,
    /// MPI_Get, likewise
    Get,
    /// MPI_Psend_init and MPI_Precv_init of MPI 4, four partitions
    Partitioned,
    /// Copies out of memory that the ranks of a host share
    Shared,
    /// MPI_Scatter (or MPI_Iscatter, where scatters share ranks)
    Scatter,
    /// MPI_Alltoall; each rank also copies one block to itself
    Alltoall,
    /// MPI_Alltoallv
    Alltoallv,
    /// ncclSend and ncclRecv between GPUs
    Nccl,
}

/// That a library does not give memory of a GPU to an MPI library that takes it for the host's, and crashes. Collective.
pub(crate) fn admit(world: &World, library: &dyn Library) -> Result<(), Unavailable> {
    // One that takes none says so itself.
    if library.memory() != Kind::Device || !library.takes_device_memory() || !library.gives_memory_to_mpi() {
        return Ok(());
    }
    let own = match world.is_cuda_aware() {
        false => Err("the MPI library reports no CUDA support; if it is CUDA-aware, pass --cuda-aware".to_owned()),
        true => Ok(()),
    };
    world.agreed(own).map_err(|why| Unavailable { library: library.name(), why })
}

impl Name {
    fn library(self) -> Box<dyn Library> {
        match self {
            Name::Twosided => Box::new(twosided::TwoSided { is_persistent: false }),
            Name::Persistent => Box::new(twosided::TwoSided { is_persistent: true }),
            Name::Put => Box::new(onesided::OneSided { is_put: true }),
            Name::Get => Box::new(onesided::OneSided { is_put: false }),
            Name::Partitioned => Box::new(partitioned::Partitioned),
            Name::Shared => Box::new(shared::Shared),
            Name::Scatter => Box::new(collective::Scatter),
            Name::Alltoall => Box::new(collective::Alltoall),
            Name::Alltoallv => Box::new(collective::Alltoallv),
            Name::Nccl => Box::new(nccl::Nccl),
        }
    }

    pub fn text(self) -> &'static str {
        match self {
            Name::Twosided => "twosided",
            Name::Persistent => "persistent",
            Name::Put => "put",
            Name::Get => "get",
            Name::Partitioned => "partitioned",
            Name::Shared => "shared",
            Name::Scatter => "scatter",
            Name::Alltoall => "alltoall",
            Name::Alltoallv => "alltoallv",
            Name::Nccl => "nccl",
        }
    }
}

impl Choice {
    pub fn library(&self) -> Box<dyn Library> {
        match self {
            Choice::One(name) => name.library(),
            Choice::Mixed { before, across, after } => Box::new(mixed::Mixed {
                name: self.to_string(),
                before: before.library(),
                across: across.library(),
                after: after.library(),
            }),
            Choice::OnGpu(choice) => Box::new(on_gpu::OnGpu { library: choice.library() }),
        }
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Choice, String> {
        let name = |text: &str| {
            <Name as clap::ValueEnum>::from_str(text, true).map_err(|_| {
                let known: Vec<&str> =
                    <Name as clap::ValueEnum>::value_variants().iter().map(|name| name.text()).collect();
                format!(
                    "{text:?} is no library: {}, or WITHIN/ACROSS groups, such as shared/twosided, or BEFORE/ACROSS/AFTER; @gpu behind it: memory of GPUs",
                    known.join(", ")
                )
            })
        };
        if let Some(text) = text.strip_suffix("@gpu") {
            return match text.parse()? {
                Choice::OnGpu(_) => Err(format!("{text}@gpu: @gpu stands there twice")),
                choice => Ok(Choice::OnGpu(Box::new(choice))),
            };
        }
        let names = text.splitn(3, '/').map(name).collect::<Result<Vec<Name>, String>>()?;
        Ok(match names[..] {
            [before, across, after] => Choice::Mixed { before, across, after },
            [within, across] => Choice::Mixed { before: within, across, after: within },
            _ => Choice::One(names[0]),
        })
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Choice::One(name) => out.write_str(name.text()),
            Choice::Mixed { before, across, after } if before == after => {
                write!(out, "{}/{}", before.text(), across.text())
            }
            Choice::Mixed { before, across, after } => {
                write!(out, "{}/{}/{}", before.text(), across.text(), after.text())
            }
            Choice::OnGpu(choice) => write!(out, "{choice}@gpu"),
        }
    }
}

/// The group of each rank of the world, where groups are as the shape says over these ranks.
pub fn groups(shape: Shape, ranks: &[usize], world: usize) -> Vec<Option<usize>> {
    let mut groups = vec![None; world];
    for (place, &rank) in ranks.iter().enumerate() {
        groups[rank] = Some(shape.group(place));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_named_as_they_are_written() {
        for text in [
            "twosided",
            "persistent",
            "put",
            "get",
            "partitioned",
            "shared",
            "scatter",
            "alltoall",
            "alltoallv",
            "shared/put",
            "shared/put/persistent",
            "shared/put/get@gpu",
        ] {
            assert_eq!(text.parse::<Choice>().unwrap().to_string(), text);
        }
        assert_eq!("shared/put/shared".parse(), "shared/put".parse::<Choice>());
        assert!("put/put/put/put".parse::<Choice>().is_err());
        assert!("mpi".parse::<Choice>().unwrap_err().contains("twosided, persistent"));
    }
}
