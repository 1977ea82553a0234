//! Partitioned messages of MPI 4: each message is marked ready in parts.

use mpi::ffi::MPI_Request;

use super::{Exchange, Library, Task, Unavailable};
use crate::mpi::{Count, free_all, has_partitioned, pready, precv_init, psend_init, start_all, tag, wait_all};

pub struct Partitioned;

/// Parts of a message whose bytes they divide; others have one.
const PARTITIONS: u64 = 4;

impl Library for Partitioned {
    fn name(&self) -> String {
        "partitioned".to_owned()
    }

    fn prepare(&self, task: &Task) -> Result<Box<dyn Exchange>, Unavailable> {
        if !has_partitioned() {
            let why = "this MPI library has no partitioned communication, which came with MPI 4".to_owned();
            return Err(Unavailable { library: self.name(), why });
        }
        let (rank, comm, tag) = (task.world.rank(), task.comm.raw(), tag(task.step));
        let (mut requests, mut partitions, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        let parts = |bytes: u64| if bytes > 0 && bytes.is_multiple_of(PARTITIONS) { PARTITIONS } else { 1 };
        for message in task.messages.iter().filter(|message| message.destination == rank) {
            let (parts, at) = (parts(message.bytes), task.memory.at(message.to));
            let each = Count::of(message.bytes / parts);
            // SAFETY: the memory outlives the exchange.
            requests.push(unsafe { precv_init(at, parts as i32, &each, message.source as i32, tag, comm) });
            counts.push(each);
        }
        let receives = requests.len();
        for message in task.messages.iter().filter(|message| message.source == rank) {
            let (parts, at) = (parts(message.bytes), task.memory.at(message.from));
            let each = Count::of(message.bytes / parts);
            // SAFETY: as above.
            requests.push(unsafe { psend_init(at, parts as i32, &each, message.destination as i32, tag, comm) });
            partitions.push(parts as i32);
            counts.push(each);
        }
        Ok(Box::new(Parts { requests, receives, partitions, _counts: counts }))
    }
}

struct Parts {
    requests: Vec<MPI_Request>,
    receives: usize,
    /// Of each message that is sent.
    partitions: Vec<i32>,
    _counts: Vec<Count>,
}

impl Exchange for Parts {
    fn arm(&mut self) {
        // SAFETY: inactive since `wait`.
        unsafe { start_all(&mut self.requests[..self.receives]) };
    }

    fn start(&mut self) {
        // SAFETY: as above; every part is marked once.
        unsafe {
            start_all(&mut self.requests[self.receives..]);
            for (request, partitions) in self.requests[self.receives..].iter().zip(&self.partitions) {
                (0..*partitions).for_each(|part| pready(part, *request));
            }
        }
    }

    fn wait(&mut self) {
        // SAFETY: persistent requests, active or not.
        unsafe { wait_all(&mut self.requests) };
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        // SAFETY: inactive since the last `wait`.
        unsafe { free_all(&mut self.requests) };
    }
}
