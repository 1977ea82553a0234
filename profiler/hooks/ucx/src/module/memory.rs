//! Where the data of a message lie: told by the program, or by CUDA's driver, where the process has loaded that itself.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::OnceLock;

use commsee_runtime::real::{self, Loaded};

/// A kind of memory, by number. 0: it is not known.
pub type Memory = u8;

pub const NONE: Memory = 0;
/// Messages without data count as such, too.
pub const HOST: Memory = 1;
const MANAGED: Memory = 2;
/// Of a device that is not known.
const CUDA: Memory = 3;
const ROCM: Memory = 4;
const ROCM_MANAGED: Memory = 5;
/// Of CUDA's first device; those of the others follow.
const CUDA_0: Memory = 6;
/// More than a node has; those above are not told apart.
const DEVICES: u8 = 16;
pub const COUNT: usize = (CUDA_0 + DEVICES) as usize;

pub fn name(memory: Memory) -> String {
    match memory {
        NONE => String::new(),
        HOST => "host".to_owned(),
        MANAGED => "cuda-managed".to_owned(),
        CUDA => "cuda".to_owned(),
        ROCM => "rocm".to_owned(),
        ROCM_MANAGED => "rocm-managed".to_owned(),
        device => format!("cuda{}", device - CUDA_0),
    }
}

type GetAttributes = unsafe extern "C" fn(c_uint, *const c_int, *const *mut c_void, u64) -> c_int;

/// What can be asked where data lie.
#[derive(Clone, Copy)]
enum Asked {
    /// There is no driver of a device: all is memory of the host.
    Nobody,
    /// One that is not known here.
    Stranger,
    Cuda(GetAttributes),
}

/// UCX opens drivers before it makes a worker, and without them takes nothing that lies in a device.
static ASKED: OnceLock<Asked> = OnceLock::new();

/// A worker is made.
pub fn find_driver() {
    ASKED.get_or_init(|| {
        let address = Loaded::find(c"libcuda.so.1").map_or(0, |cuda| cuda.symbol(c"cuPointerGetAttributes") as usize);
        let is_other = |file: &[u8]| file.starts_with(b"libhsa-runtime64.so") || file.starts_with(b"libze_loader.so");
        match address {
            // SAFETY: the driver's own function, which has had this type since CUDA 7.
            address if address != 0 => Asked::Cuda(unsafe { std::mem::transmute::<usize, GetAttributes>(address) }),
            _ if real::libraries(is_other).is_empty() => Asked::Nobody,
            _ => Asked::Stranger,
        }
    });
}

/// Where the byte at this address lies. `told`: the program's own `ucs_memory_type_t`.
#[inline(always)]
pub fn of(address: usize, told: Option<u32>) -> Memory {
    match (told, ASKED.get().copied().unwrap_or(Asked::Stranger)) {
        (Some(0), _) | (None, Asked::Nobody) => HOST,
        (Some(1 | 2) | None, Asked::Cuda(ask)) => asked(ask, address),
        (Some(1), _) => CUDA,
        (Some(2), _) => MANAGED,
        (Some(3), _) => ROCM,
        (Some(4), _) => ROCM_MANAGED,
        _ => NONE,
    }
}

#[cold]
#[inline(never)]
fn asked(ask: GetAttributes, address: usize) -> Memory {
    // `CUpointer_attribute`, and of the first the value for a device.
    const MEMORY_TYPE: c_int = 2;
    const IS_MANAGED: c_int = 8;
    const DEVICE_ORDINAL: c_int = 9;
    const DEVICE: c_uint = 2;
    // `CUDA_ERROR_INVALID_VALUE`, `CUDA_ERROR_NOT_INITIALIZED`: nothing of the driver's.
    const FOREIGN: [c_int; 2] = [1, 3];
    let (mut kind, mut is_managed, mut device): (c_uint, c_uint, c_int) = (0, 0, -1);
    let attributes = [MEMORY_TYPE, IS_MANAGED, DEVICE_ORDINAL];
    let places: [*mut c_void; 3] = [(&raw mut kind).cast(), (&raw mut is_managed).cast(), (&raw mut device).cast()];
    // SAFETY: as many places as attributes, each of its attribute's type or larger. Any address may be asked for.
    let error = unsafe { ask(attributes.len() as c_uint, attributes.as_ptr(), places.as_ptr(), address as u64) };
    match (error, kind) {
        (0, _) if is_managed != 0 => MANAGED,
        (0, DEVICE) => {
            u8::try_from(device).ok().filter(|device| *device < DEVICES).map_or(CUDA, |device| CUDA_0 + device)
        }
        (0, _) => HOST,
        (error, _) if FOREIGN.contains(&error) => HOST,
        _ => NONE,
    }
}
