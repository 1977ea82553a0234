//! A library between memory of GPUs, for MPI libraries that are aware of it.

use super::{Exchange, Library, Task, Unavailable};
use crate::memory::Kind;

pub struct OnGpu {
    pub library: Box<dyn Library>,
}

impl Library for OnGpu {
    fn name(&self) -> String {
        format!("{}@gpu", self.library.name())
    }

    fn memory(&self) -> Kind {
        if self.library.takes_device_memory() { Kind::Device } else { self.library.memory() }
    }

    fn gives_memory_to_mpi(&self) -> bool {
        self.library.gives_memory_to_mpi()
    }

    fn is_pairwise(&self) -> bool {
        self.library.is_pairwise()
    }

    fn prepare(&self, task: &Task) -> Result<Box<dyn Exchange>, Unavailable> {
        if !self.library.takes_device_memory() {
            let why = "it copies memory itself, which must be the host's".to_owned();
            return Err(Unavailable { library: self.name(), why });
        }
        self.library.prepare(task)
    }
}
