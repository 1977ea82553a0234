//! Bytes as MPI counts them: an `int` of single bytes, and where that is too small one element of a datatype that has them all.

use std::ptr::addr_of_mut;

use mpi::ffi::{self, MPI_Aint, MPI_Datatype};

/// A count and the datatype that it counts.
pub struct Count {
    count: i32,
    datatype: MPI_Datatype,
    is_own: bool,
}

/// Bytes of the blocks that large messages are made of.
const BLOCK: u64 = 1 << 30;

impl Count {
    pub fn of(bytes: u64) -> Count {
        // SAFETY: a constant of the bindings' shim.
        let byte = unsafe { ffi::RSMPI_UINT8_T };
        if let Ok(count) = i32::try_from(bytes) {
            return Count { count, datatype: byte, is_own: false };
        }
        let (blocks, rest) = ((bytes / BLOCK) as i32, (bytes % BLOCK) as i32);
        let mut datatype = byte;
        // SAFETY: the arrays live through the call, and the block is freed after its last use (MPI 4.1, 5.1.9).
        unsafe {
            let mut block = byte;
            ffi::MPI_Type_contiguous(BLOCK as i32, byte, addr_of_mut!(block));
            let lengths = [blocks, rest];
            let places: [MPI_Aint; 2] = [0, (u64::from(blocks as u32) * BLOCK) as MPI_Aint];
            let types = [block, byte];
            ffi::MPI_Type_create_struct(2, lengths.as_ptr(), places.as_ptr(), types.as_ptr(), addr_of_mut!(datatype));
            ffi::MPI_Type_commit(addr_of_mut!(datatype));
            ffi::MPI_Type_free(addr_of_mut!(block));
        }
        Count { count: 1, datatype, is_own: true }
    }

    pub fn count(&self) -> i32 {
        self.count
    }

    pub fn datatype(&self) -> MPI_Datatype {
        self.datatype
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        if self.is_own {
            // SAFETY: made by `of`.
            unsafe { ffi::MPI_Type_free(addr_of_mut!(self.datatype)) };
        }
    }
}
