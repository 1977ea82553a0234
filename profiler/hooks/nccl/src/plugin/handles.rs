//! What NCCL is given for an event: a number and what it is the number of, in the place of a pointer. NCCL hands them on and reads
//! nothing there. Zero is none.

use std::ffi::c_void;
use std::ptr;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handle {
    /// A call of the program.
    ApiCall(u64),
    /// What NCCL does for it.
    Operation(u64),
    /// A channel of an operation's kernel.
    Channel(u64),
    /// What a proxy sends.
    Proxy(u64),
    /// A transfer of that.
    Step(u64),
}

const KIND_BITS: u32 = 3;

impl Handle {
    pub fn pointer(self) -> *mut c_void {
        let (kind, number) = match self {
            Handle::ApiCall(number) => (1, number),
            Handle::Operation(number) => (2, number),
            Handle::Channel(number) => (3, number),
            Handle::Proxy(number) => (4, number),
            Handle::Step(number) => (5, number),
        };
        ptr::without_provenance_mut((number << KIND_BITS | kind) as usize)
    }

    pub fn of(pointer: *mut c_void) -> Option<Handle> {
        let word = pointer.addr() as u64;
        let number = word >> KIND_BITS;
        Some(match word & ((1 << KIND_BITS) - 1) {
            1 => Handle::ApiCall(number),
            2 => Handle::Operation(number),
            3 => Handle::Channel(number),
            4 => Handle::Proxy(number),
            5 => Handle::Step(number),
            _ => return None,
        })
    }
}
