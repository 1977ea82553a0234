//! The processes of the job, and what they tell each other besides the messages that are measured.

use std::ptr::addr_of_mut;

use mpi::collective::SystemOperation;
use mpi::ffi::{self, MPI_Comm, MPI_Request};
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

use super::shim;

/// A communicator that is freed when it goes.
pub struct Comm {
    comm: SimpleCommunicator,
}

impl Comm {
    pub fn raw(&self) -> MPI_Comm {
        self.comm.as_raw()
    }

    pub fn rank(&self) -> usize {
        self.comm.rank() as usize
    }

    pub fn size(&self) -> usize {
        self.comm.size() as usize
    }

    /// What MPI says of a call on this communicator that fails. Elsewhere errors end the job.
    pub fn tried(&self, call: impl FnOnce() -> i32) -> Result<(), String> {
        // SAFETY: predefined handlers.
        let handled = |handler| unsafe { ffi::MPI_Comm_set_errhandler(self.raw(), handler) };
        // SAFETY: constants of the bindings' shim.
        let (returned, fatal) = unsafe { (ffi::RSMPI_ERRORS_RETURN, ffi::RSMPI_ERRORS_ARE_FATAL) };
        handled(returned);
        let code = call();
        handled(fatal);
        if code == ffi::MPI_SUCCESS as i32 { Ok(()) } else { Err(text_of(code)) }
    }
}

/// What MPI fails at, whatever the communicator does that this one is a copy of.
fn ends_the_job(comm: &SimpleCommunicator) {
    // SAFETY: a predefined handler.
    unsafe { ffi::MPI_Comm_set_errhandler(comm.as_raw(), ffi::RSMPI_ERRORS_ARE_FATAL) };
}

fn text_of(code: i32) -> String {
    let mut text = [0u8; ffi::MPI_MAX_ERROR_STRING as usize];
    let mut length = 0;
    // SAFETY: as long as MPI demands.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), addr_of_mut!(length)) };
    String::from_utf8_lossy(&text[..length as usize]).into_owned()
}

pub struct World {
    /// Messages that are measured, and nothing else: a profile of the benchmark tells them by its name.
    measured: Comm,
    /// Round trips, which are no part of the pattern.
    round_trips: Comm,
    control: SimpleCommunicator,
    /// The ranks of this host.
    node: Comm,
    rank: usize,
    size: usize,
    /// The first rank of each rank's host.
    hosts: Vec<usize>,
    /// Whether the MPI library may be given memory of a GPU.
    is_cuda_aware: bool,
}

impl World {
    /// Collective over the ranks of a communicator, which stays the caller's; why it is none, without a message.
    pub fn over(comm: MPI_Comm) -> Result<World, String> {
        // SAFETY: what the calls write to; a communicator of the caller is live. The copy is no predefined one.
        let copy = unsafe {
            let (mut is_initialized, mut is_finalized, mut is_inter) = (0, 0, 0);
            ffi::MPI_Initialized(addr_of_mut!(is_initialized));
            ffi::MPI_Finalized(addr_of_mut!(is_finalized));
            if is_initialized == 0 || is_finalized != 0 {
                return Err(format!("MPI is {}", if is_finalized != 0 { "finalized" } else { "not initialized" }));
            }
            if comm == ffi::RSMPI_COMM_NULL {
                return Err("the communicator is MPI_COMM_NULL".to_owned());
            }
            ffi::MPI_Comm_test_inter(comm, addr_of_mut!(is_inter));
            if is_inter != 0 {
                return Err("the communicator is an inter-communicator".to_owned());
            }
            let mut copy = ffi::RSMPI_COMM_NULL;
            ffi::MPI_Comm_dup(comm, addr_of_mut!(copy));
            SimpleCommunicator::from_raw(copy)
        };
        Ok(World::new(&copy))
    }

    /// Collective over all processes of the job.
    pub fn new(world: &impl Communicator) -> World {
        let named = |name: &str| {
            let comm = world.duplicate();
            comm.set_name(name);
            ends_the_job(&comm);
            comm
        };
        let (measured, control) = (named("groupbench"), named("groupbench:control"));
        let round_trips = named("groupbench:round-trips");
        let node = control.split_shared(control.rank());
        node.set_name("groupbench:host");
        ends_the_job(&node);
        let mut first = control.rank();
        node.process_at_rank(0).broadcast_into(&mut first);
        let mut hosts = vec![0; control.size() as usize];
        control.all_gather_into(&first, &mut hosts[..]);
        World {
            rank: control.rank() as usize,
            size: control.size() as usize,
            hosts: hosts.into_iter().map(|rank| rank as usize).collect(),
            measured: Comm { comm: measured },
            round_trips: Comm { comm: round_trips },
            node: Comm { comm: node },
            control,
            is_cuda_aware: shim::is_cuda_aware(),
        }
    }

    /// Treats the MPI library as CUDA-aware, whatever it reports: Open MPI does not report what comes from UCX.
    pub fn assume_cuda_aware(&mut self) {
        self.is_cuda_aware = true;
    }

    /// Whether the MPI library may be given memory of a GPU. One that is silent about it may.
    pub fn is_cuda_aware(&self) -> bool {
        self.is_cuda_aware
    }

    /// Ends the job.
    pub fn abort(status: i32) {
        // SAFETY: MPI is initialised, and it does not return.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, status) };
    }

    pub fn rank(&self) -> usize {
        self.rank
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn is_root(&self) -> bool {
        self.rank == 0
    }

    /// The communicator whose messages are measured.
    pub fn measured(&self) -> &Comm {
        &self.measured
    }

    pub fn round_trips(&self) -> &Comm {
        &self.round_trips
    }

    pub fn node(&self) -> &Comm {
        &self.node
    }

    pub fn control(&self) -> MPI_Comm {
        self.control.as_raw()
    }

    /// The first rank on a rank's host.
    pub fn host(&self, rank: usize) -> usize {
        self.hosts[rank]
    }

    pub fn host_count(&self) -> usize {
        (0..self.size).filter(|rank| self.hosts[*rank] == *rank).count()
    }

    /// A communicator of those with the same colour, ordered as here; `None` for those without one.
    pub fn split(&self, colour: Option<usize>, key: usize) -> Option<Comm> {
        let colour = colour
            .map_or_else(mpi::topology::Color::undefined, |colour| mpi::topology::Color::with_value(colour as i32));
        let comm = self.measured.comm.split_by_color_with_key(colour, key as i32)?;
        comm.set_name("groupbench");
        Some(Comm { comm })
    }

    pub fn barrier(&self) {
        self.control.barrier();
    }

    /// What the root says, on all ranks.
    pub fn broadcast<T: mpi::datatype::Equivalence>(&self, value: &mut [T]) {
        self.control.process_at_rank(0).broadcast_into(value);
    }

    /// A text of the root, on all ranks.
    pub fn broadcast_text(&self, text: &str) -> String {
        let mut length = [text.len() as u64];
        self.broadcast(&mut length);
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(length[0] as usize, 0);
        bytes.chunks_mut(1 << 30).for_each(|part| self.broadcast(part));
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// A text of each rank, on all of them.
    pub fn all_texts(&self, text: &str) -> Vec<String> {
        // With an end each, so that no buffer is empty: where Rust says that nothing lies, Open MPI has MPI_IN_PLACE.
        let own = [text.as_bytes(), b"\0"].concat();
        let mut lengths = vec![0; self.size];
        self.control.all_gather_into(&(own.len() as i32), &mut lengths[..]);
        let begins: Vec<i32> = lengths
            .iter()
            .scan(0, |end, length| {
                let begin = *end;
                *end += length;
                Some(begin)
            })
            .collect();
        let mut bytes = vec![0u8; lengths.iter().sum::<i32>() as usize];
        {
            let mut parts = mpi::datatype::PartitionMut::new(&mut bytes[..], &lengths[..], &begins[..]);
            self.control.all_gather_varcount_into(&own[..], &mut parts);
        }
        let part = |(begin, length): (&i32, &i32)| {
            String::from_utf8_lossy(&bytes[*begin as usize..(begin + length - 1) as usize]).into_owned()
        };
        begins.iter().zip(&lengths).map(part).collect()
    }

    /// What succeeded on all ranks; else the first rank's reason on each of them.
    pub fn agreed<T>(&self, done: Result<T, String>) -> Result<T, String> {
        let said = self.all_texts(done.as_ref().err().map_or("", String::as_str));
        match said.into_iter().enumerate().find(|(_, said)| !said.is_empty()) {
            Some((rank, said)) => Err(format!("{said} (rank {rank})")),
            None => done,
        }
    }

    pub fn all_max(&self, values: &[f64]) -> Vec<f64> {
        self.reduced(values, SystemOperation::max())
    }

    pub fn all_min(&self, values: &[f64]) -> Vec<f64> {
        self.reduced(values, SystemOperation::min())
    }

    pub fn all_sum(&self, value: u64) -> u64 {
        let mut sum = 0;
        self.control.all_reduce_into(&value, &mut sum, SystemOperation::sum());
        sum
    }

    fn reduced(&self, values: &[f64], operation: SystemOperation) -> Vec<f64> {
        let mut reduced = vec![0.0; values.len()];
        self.control.all_reduce_into(values, &mut reduced[..], operation);
        reduced
    }

    /// A number of each rank, on all of them.
    pub fn all(&self, value: f64) -> Vec<f64> {
        let mut values = vec![0.0; self.size];
        self.control.all_gather_into(&value, &mut values[..]);
        values
    }
}

pub fn null_request() -> MPI_Request {
    // SAFETY: a constant of the bindings' shim.
    unsafe { ffi::RSMPI_REQUEST_NULL }
}

/// Completes all of them.
///
/// # Safety
/// The requests are valid.
pub unsafe fn wait_all(requests: &mut [MPI_Request]) {
    // SAFETY: the caller's.
    unsafe { ffi::MPI_Waitall(requests.len() as i32, requests.as_mut_ptr(), ffi::RSMPI_STATUSES_IGNORE) };
}

/// # Safety
/// The requests are inactive persistent ones.
pub unsafe fn start_all(requests: &mut [MPI_Request]) {
    if !requests.is_empty() {
        // SAFETY: the caller's.
        unsafe { ffi::MPI_Startall(requests.len() as i32, requests.as_mut_ptr()) };
    }
}

/// # Safety
/// The requests are inactive persistent ones.
pub unsafe fn free_all(requests: &mut [MPI_Request]) {
    for request in requests {
        // SAFETY: the caller's.
        unsafe { ffi::MPI_Request_free(addr_of_mut!(*request)) };
    }
}
