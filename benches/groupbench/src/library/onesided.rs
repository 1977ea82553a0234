//! MPI_Put and MPI_Get in epochs of those alone that have messages for each other (post, start, complete, wait: MPI 4.1, 12.5.2).

use std::ptr::addr_of_mut;

use mpi::ffi::{self, MPI_Aint, MPI_Group, MPI_Win};

use super::{Exchange, Library, Task, Unavailable};
use crate::mpi::Count;
use crate::pattern::Message;

/// A rank of a message.
type End = fn(&Message) -> usize;

pub struct OneSided {
    pub is_put: bool,
}

impl Library for OneSided {
    fn name(&self) -> String {
        if self.is_put { "put" } else { "get" }.to_owned()
    }

    fn prepare(&self, task: &Task) -> Result<Box<dyn Exchange>, Unavailable> {
        let rank = task.world.rank();
        // Who acts: the sender puts, the receiver gets.
        let (origin, target): (End, End) = match self.is_put {
            true => (|message| message.source, |message| message.destination),
            false => (|message| message.destination, |message| message.source),
        };
        let layout = task.memory.layout();
        let accesses = task.messages.iter().filter(|message| origin(message) == rank).map(|message| {
            let (own, other) = if self.is_put { (message.from, message.to) } else { (message.to, message.from) };
            Access {
                at: task.memory.at(own),
                count: Count::of(message.bytes),
                target: target(message) as i32,
                offset: layout.offset(target(message), other) as MPI_Aint,
            }
        });
        let kin = |mine: End, other: End| {
            let mut ranks: Vec<i32> = task
                .messages
                .iter()
                .filter(|message| mine(message) == rank)
                .map(|message| other(message) as i32)
                .collect();
            ranks.sort_unstable();
            ranks.dedup();
            ranks
        };
        let comm = task.comm.raw();
        // SAFETY: a constant of the bindings' shim.
        let mut window = unsafe { ffi::RSMPI_WIN_NULL };
        let (begin, bytes) = (task.memory.begin(), task.memory.bytes() as MPI_Aint);
        // SAFETY: collective; the memory outlives the window.
        let made = task.comm.tried(|| unsafe {
            ffi::MPI_Win_create(begin.cast(), bytes, 1, ffi::RSMPI_INFO_NULL, comm, addr_of_mut!(window))
        });
        task.world.agreed(made).map_err(|why| {
            let why = format!("MPI_Win_create fails: {why}; under Open MPI --mca osc ^rdma may help");
            Unavailable { library: self.name(), why }
        })?;
        Ok(Box::new(Epoch {
            accesses: accesses.collect(),
            exposed: group(comm, &kin(target, origin)),
            accessed: group(comm, &kin(origin, target)),
            window,
            is_put: self.is_put,
        }))
    }
}

struct Access {
    at: *mut u8,
    count: Count,
    target: i32,
    offset: MPI_Aint,
}

struct Epoch {
    window: MPI_Win,
    /// Those who act on this rank's memory; `None` where nobody does.
    exposed: Option<MPI_Group>,
    accessed: Option<MPI_Group>,
    accesses: Vec<Access>,
    is_put: bool,
}

impl Epoch {
    fn expose(&self) {
        if let Some(group) = self.exposed {
            // SAFETY: what the peers access is not touched before `wait`.
            unsafe { ffi::MPI_Win_post(group, 0, self.window) };
        }
    }
}

impl Exchange for Epoch {
    fn arm(&mut self) {
        if self.is_put {
            self.expose();
        }
    }

    fn start(&mut self) {
        // What others get from this rank may have arrived in the step before: they wait for it here.
        if !self.is_put {
            self.expose();
        }
        let Some(group) = self.accessed else { return };
        // SAFETY: within the peer's window, as its layout says.
        unsafe {
            ffi::MPI_Win_start(group, 0, self.window);
            for Access { at, count, target, offset } in &self.accesses {
                let (at, count, datatype) = (at.cast(), count.count(), count.datatype());
                match self.is_put {
                    true => ffi::MPI_Put(at, count, datatype, *target, *offset, count, datatype, self.window),
                    false => ffi::MPI_Get(at, count, datatype, *target, *offset, count, datatype, self.window),
                };
            }
        }
    }

    fn wait(&mut self) {
        // SAFETY: epochs that were begun above.
        unsafe {
            if self.accessed.is_some() {
                ffi::MPI_Win_complete(self.window);
            }
            if self.exposed.is_some() {
                ffi::MPI_Win_wait(self.window);
            }
        }
    }
}

impl Drop for Epoch {
    fn drop(&mut self) {
        // SAFETY: collective, as all ranks drop it at one place.
        unsafe {
            for group in [&mut self.exposed, &mut self.accessed].into_iter().flatten() {
                ffi::MPI_Group_free(addr_of_mut!(*group));
            }
            ffi::MPI_Win_free(addr_of_mut!(self.window));
        }
    }
}

fn group(comm: ffi::MPI_Comm, ranks: &[i32]) -> Option<MPI_Group> {
    if ranks.is_empty() {
        return None;
    }
    // SAFETY: groups are written before they are read.
    unsafe {
        let (mut all, mut some) = (ffi::RSMPI_GROUP_NULL, ffi::RSMPI_GROUP_NULL);
        ffi::MPI_Comm_group(comm, addr_of_mut!(all));
        ffi::MPI_Group_incl(all, ranks.len() as i32, ranks.as_ptr(), addr_of_mut!(some));
        ffi::MPI_Group_free(addr_of_mut!(all));
        Some(some)
    }
}
