//! Nonblocking and persistent messages: receives are posted first, before the clock starts.

use std::ptr::addr_of_mut;

use mpi::ffi::{self, MPI_Comm, MPI_Request};

use super::{Exchange, Library, Task, Unavailable};
use crate::mpi::{Count, free_all, null_request, start_all, tag, wait_all};

pub struct TwoSided {
    pub is_persistent: bool,
}

impl Library for TwoSided {
    fn name(&self) -> String {
        if self.is_persistent { "persistent" } else { "twosided" }.to_owned()
    }

    fn prepare(&self, task: &Task) -> Result<Box<dyn Exchange>, Unavailable> {
        let rank = task.world.rank();
        let receives = task.messages.iter().filter(|message| message.destination == rank).map(|message| Operation {
            at: task.memory.at(message.to),
            count: Count::of(message.bytes),
            peer: message.source as i32,
        });
        let sends = task.messages.iter().filter(|message| message.source == rank).map(|message| Operation {
            at: task.memory.at(message.from),
            count: Count::of(message.bytes),
            peer: message.destination as i32,
        });
        let messages = Messages {
            receives: receives.collect(),
            sends: sends.collect(),
            tag: tag(task.step),
            comm: task.comm.raw(),
        };
        Ok(if self.is_persistent { Box::new(Persistent::new(messages)) } else { Box::new(Nonblocking::new(messages)) })
    }
}

/// A message as this rank sees it.
struct Operation {
    at: *mut u8,
    count: Count,
    peer: i32,
}

struct Messages {
    receives: Vec<Operation>,
    sends: Vec<Operation>,
    tag: i32,
    comm: MPI_Comm,
}

struct Nonblocking {
    messages: Messages,
    requests: Vec<MPI_Request>,
}

impl Nonblocking {
    fn new(messages: Messages) -> Nonblocking {
        let requests = vec![null_request(); messages.receives.len() + messages.sends.len()];
        Nonblocking { messages, requests }
    }
}

impl Exchange for Nonblocking {
    fn arm(&mut self) {
        let Messages { receives, tag, comm, .. } = &self.messages;
        for (receive, request) in receives.iter().zip(&mut self.requests) {
            // SAFETY: the memory outlives the exchange, and nobody touches it before `wait`.
            unsafe {
                let (count, datatype) = (receive.count.count(), receive.count.datatype());
                ffi::MPI_Irecv(receive.at.cast(), count, datatype, receive.peer, *tag, *comm, addr_of_mut!(*request));
            }
        }
    }

    fn start(&mut self) {
        let Messages { receives, sends, tag, comm } = &self.messages;
        for (send, request) in sends.iter().zip(&mut self.requests[receives.len()..]) {
            // SAFETY: as above.
            unsafe {
                let (count, datatype) = (send.count.count(), send.count.datatype());
                ffi::MPI_Isend(send.at.cast(), count, datatype, send.peer, *tag, *comm, addr_of_mut!(*request));
            }
        }
    }

    fn wait(&mut self) {
        // SAFETY: null, or as made above.
        unsafe { wait_all(&mut self.requests) };
    }
}

struct Persistent {
    requests: Vec<MPI_Request>,
    receives: usize,
    /// Datatypes live as long as what was made of them.
    _counts: Vec<Count>,
}

impl Persistent {
    fn new(Messages { receives, sends, tag, comm }: Messages) -> Persistent {
        let (mut requests, mut counts, first_send) = (Vec::new(), Vec::new(), receives.len());
        for (index, Operation { at, count, peer }) in receives.into_iter().chain(sends).enumerate() {
            let mut request = null_request();
            let (at, number, datatype) = (at.cast(), count.count(), count.datatype());
            // SAFETY: the memory outlives the exchange.
            unsafe {
                match index < first_send {
                    true => ffi::MPI_Recv_init(at, number, datatype, peer, tag, comm, addr_of_mut!(request)),
                    false => ffi::MPI_Send_init(at, number, datatype, peer, tag, comm, addr_of_mut!(request)),
                }
            };
            requests.push(request);
            counts.push(count);
        }
        Persistent { requests, receives: first_send, _counts: counts }
    }
}

impl Exchange for Persistent {
    fn arm(&mut self) {
        // SAFETY: inactive since `wait`.
        unsafe { start_all(&mut self.requests[..self.receives]) };
    }

    fn start(&mut self) {
        // SAFETY: as above.
        unsafe { start_all(&mut self.requests[self.receives..]) };
    }

    fn wait(&mut self) {
        // SAFETY: persistent requests, active or not.
        unsafe { wait_all(&mut self.requests) };
    }
}

impl Drop for Persistent {
    fn drop(&mut self) {
        // SAFETY: inactive since the last `wait`.
        unsafe { free_all(&mut self.requests) };
    }
}
