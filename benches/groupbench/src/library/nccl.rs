//! NCCL: sends and receives of a step in one group, between memory of GPUs. The library is opened when it is asked for. (NCCL's point-to-point calls, <https://docs.nvidia.com/deeplearning/nccl/user-guide>)

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use super::{Exchange, Library, Task, Unavailable};
use crate::gpu::{self, Driver};
use crate::memory::Kind;
use crate::mpi::World;

pub struct Nccl;

/// ncclInt8.
const BYTES: c_int = 0;

#[repr(C)]
#[derive(Clone, Copy)]
struct UniqueId([u8; 128]);

type Transfer = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, *mut c_void, *mut c_void) -> c_int;

/// The functions that are used, and the communicator of all ranks, which lives as long as the process.
struct Opened {
    driver: &'static Driver,
    get_id: unsafe extern "C" fn(*mut UniqueId) -> c_int,
    init: unsafe extern "C" fn(*mut *mut c_void, c_int, UniqueId, c_int) -> c_int,
    group_start: unsafe extern "C" fn() -> c_int,
    group_end: unsafe extern "C" fn() -> c_int,
    send: Transfer,
    receive: Transfer,
    error: unsafe extern "C" fn(c_int) -> *const c_char,
    comm: *mut c_void,
    stream: *mut c_void,
}

// SAFETY: the benchmark has one thread.
unsafe impl Send for Opened {}
// SAFETY: as above.
unsafe impl Sync for Opened {}

impl Opened {
    /// What this process can do alone: library, driver and GPU.
    fn load(place: usize) -> Result<Opened, String> {
        let library = gpu::open(c"libnccl.so.2")?;
        let driver = Driver::get(place)?;
        // SAFETY: types as the header nccl.h has them.
        unsafe {
            Ok(Opened {
                driver,
                get_id: gpu::symbol(library, c"ncclGetUniqueId")?,
                init: gpu::symbol(library, c"ncclCommInitRank")?,
                group_start: gpu::symbol(library, c"ncclGroupStart")?,
                group_end: gpu::symbol(library, c"ncclGroupEnd")?,
                send: gpu::symbol(library, c"ncclSend")?,
                receive: gpu::symbol(library, c"ncclRecv")?,
                error: gpu::symbol(library, c"ncclGetErrorString")?,
                comm: std::ptr::null_mut(),
                stream: driver.stream()?,
            })
        }
    }

    /// Collective over the world: the communicator.
    fn connect(&mut self, world: &World) -> Result<(), String> {
        let mut id = UniqueId([0; 128]);
        let identified = if world.is_root() {
            // SAFETY: writes to `id`.
            self.check(unsafe { (self.get_id)(&raw mut id) })
        } else {
            Ok(())
        };
        world.agreed(identified)?;
        world.broadcast(&mut id.0);
        let mut comm = std::ptr::null_mut();
        // SAFETY: rank 0's identifier on all ranks; writes to `comm`.
        let code = unsafe { (self.init)(&raw mut comm, world.size() as c_int, id, world.rank() as c_int) };
        self.comm = comm;
        self.check(code)
    }

    fn check(&self, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: a constant text of the library.
        let said = gpu::text(unsafe { (self.error)(code) });
        Err(format!("NCCL: {}", said.unwrap_or_else(|| code.to_string())))
    }

    /// Collective; once for all cases. Errors are the same on all ranks.
    fn get(world: &World) -> Result<&'static Opened, String> {
        static OPENED: OnceLock<Result<Opened, String>> = OnceLock::new();
        let opened = OPENED.get_or_init(|| {
            let alone = Opened::load(world.node().rank());
            let mut opened = world.agreed(alone)?;
            let connected = opened.connect(world);
            world.agreed(connected)?;
            Ok(opened)
        });
        opened.as_ref().map_err(Clone::clone)
    }
}

impl Library for Nccl {
    fn name(&self) -> String {
        "nccl".to_owned()
    }

    fn memory(&self) -> Kind {
        Kind::Device
    }

    fn gives_memory_to_mpi(&self) -> bool {
        false
    }

    fn prepare(&self, task: &Task) -> Result<Box<dyn Exchange>, Unavailable> {
        let opened = Opened::get(task.world).map_err(|why| Unavailable { library: self.name(), why })?;
        let rank = task.world.rank();
        let own = task.messages.iter().filter(|message| message.source == rank || message.destination == rank);
        let mut transfers = Vec::new();
        for message in own {
            if message.source == rank {
                let (at, bytes) = (task.memory.at(message.from), message.bytes as usize);
                transfers.push(Part { at, bytes, peer: message.destination as c_int, is_send: true });
            }
            if message.destination == rank {
                let (at, bytes) = (task.memory.at(message.to), message.bytes as usize);
                transfers.push(Part { at, bytes, peer: message.source as c_int, is_send: false });
            }
        }
        Ok(Box::new(Group { opened, transfers }))
    }
}

struct Part {
    at: *mut u8,
    bytes: usize,
    peer: c_int,
    is_send: bool,
}

struct Group {
    opened: &'static Opened,
    transfers: Vec<Part>,
}

impl Exchange for Group {
    fn start(&mut self) {
        let Opened { comm, stream, .. } = *self.opened;
        let asked = |code: c_int| {
            if let Err(why) = self.opened.check(code) {
                panic!("{why}");
            }
        };
        if self.transfers.is_empty() {
            return;
        }
        // SAFETY: memory of the GPU, which outlives the exchange.
        unsafe {
            asked((self.opened.group_start)());
            for part in &self.transfers {
                let call = if part.is_send { self.opened.send } else { self.opened.receive };
                asked(call(part.at.cast(), part.bytes, BYTES, part.peer, comm, stream));
            }
            asked((self.opened.group_end)());
        }
    }

    fn wait(&mut self) {
        // SAFETY: the stream of `start`.
        unsafe { self.opened.driver.synchronize(self.opened.stream) };
    }
}
