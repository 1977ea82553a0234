//! The functions of CUDA whose calls are told, and what is read of their arguments: all are words, in the order of the function's
//! (`generated_cuda_meta.h`). Those of the run-time call the driver's, which are told, too.

use std::ffi::{CStr, c_void};

/// What a function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// One copy at most, if it is known between which addresses.
    Copies(Option<Ends>),
    /// Any number of copies: what was captured, or a list.
    CopiesMany,
    Allocates(Place, &'static CStr),
    /// What its first argument points to.
    Frees,
}

/// Where a copy's addresses are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// These arguments: from, to.
    Words(usize, usize),
    /// These words of the structure that the first argument points to are kinds of memory (`CUmemorytype`): from, to. Behind each come the address
    /// in the host's memory and that in a device's.
    Described(usize, usize),
}

/// Where an allocation's address and size are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The function returns the address where its first argument points to; the size is the second.
    Returned,
    /// The size is what it returns where the second one points to, times the fourth.
    Pitched,
    /// Both are arguments.
    Given,
}

const DEVICE: &CStr = c"device";
const PINNED: &CStr = c"pinned";
const MANAGED: &CStr = c"managed";

/// Functions of the driver. Some of the same name without `_v2` have narrower arguments, from CUDA 3.
const EXACTLY: [(&str, Function); 39] = {
    use Function::{Allocates, Copies, Frees};
    const TO_FROM: Function = Copies(Some(Ends::Words(1, 0)));
    const PEERS: Function = Copies(Some(Ends::Words(2, 0)));
    const IN_2D: Function = Copies(Some(Ends::Described(2, 9)));
    const IN_3D: Function = Copies(Some(Ends::Described(4, 15)));
    [
        ("cuMemcpy", TO_FROM),
        ("cuMemcpyAsync", TO_FROM),
        ("cuMemcpyHtoD_v2", TO_FROM),
        ("cuMemcpyHtoDAsync_v2", TO_FROM),
        ("cuMemcpyDtoH_v2", TO_FROM),
        ("cuMemcpyDtoHAsync_v2", TO_FROM),
        ("cuMemcpyDtoD_v2", TO_FROM),
        ("cuMemcpyDtoDAsync_v2", TO_FROM),
        ("cuMemcpyPeer", PEERS),
        ("cuMemcpyPeerAsync", PEERS),
        // To and from arrays, whose handles are no addresses.
        ("cuMemcpyDtoA_v2", PEERS),
        ("cuMemcpyHtoA_v2", PEERS),
        ("cuMemcpyHtoAAsync_v2", PEERS),
        ("cuMemcpyAtoD_v2", TO_FROM),
        ("cuMemcpyAtoH_v2", TO_FROM),
        ("cuMemcpyAtoHAsync_v2", TO_FROM),
        ("cuMemcpy2D_v2", IN_2D),
        ("cuMemcpy2DUnaligned_v2", IN_2D),
        ("cuMemcpy2DAsync_v2", IN_2D),
        ("cuMemcpy3D_v2", IN_3D),
        ("cuMemcpy3DAsync_v2", IN_3D),
        ("cuMemcpy3DPeer", IN_3D),
        ("cuMemcpy3DPeerAsync", IN_3D),
        ("cuMemAlloc_v2", Allocates(Place::Returned, DEVICE)),
        ("cuMemAllocPitch_v2", Allocates(Place::Pitched, DEVICE)),
        ("cuMemAllocAsync", Allocates(Place::Returned, DEVICE)),
        ("cuMemAllocFromPoolAsync", Allocates(Place::Returned, DEVICE)),
        ("cuMemMap", Allocates(Place::Given, DEVICE)),
        ("cuMemAllocManaged", Allocates(Place::Returned, MANAGED)),
        ("cuMemAllocHost_v2", Allocates(Place::Returned, PINNED)),
        ("cuMemHostAlloc", Allocates(Place::Returned, PINNED)),
        ("cuMemHostAlloc_v2", Allocates(Place::Returned, PINNED)),
        ("cuMemHostRegister", Allocates(Place::Given, PINNED)),
        ("cuMemHostRegister_v2", Allocates(Place::Given, PINNED)),
        ("cuMemFree_v2", Frees),
        ("cuMemFreeAsync", Frees),
        ("cuMemFreeHost", Frees),
        ("cuMemHostUnregister", Frees),
        ("cuMemUnmap", Frees),
    ]
};

/// What the names of others begin with: new ones come with each version.
const BEGINNINGS: [(&str, Function); 8] = [
    ("cuGraphLaunch", Function::CopiesMany),
    ("cudaGraphLaunch", Function::CopiesMany),
    ("cuMemcpyBatch", Function::CopiesMany),
    ("cudaMemcpyBatch", Function::CopiesMany),
    ("cuMemcpy3DBatch", Function::CopiesMany),
    ("cudaMemcpy3DBatch", Function::CopiesMany),
    ("cuMemcpy", Function::Copies(None)),
    ("cudaMemcpy", Function::Copies(None)),
];

impl Function {
    /// None of one that does nothing of that.
    pub fn named(name: &str) -> Option<Function> {
        // With the stream that a thread has by default.
        let plain = name.strip_suffix("_ptds").or_else(|| name.strip_suffix("_ptsz")).unwrap_or(name);
        let exactly = EXACTLY.into_iter().find(|(known, _)| *known == plain);
        let found = exactly.or_else(|| BEGINNINGS.into_iter().find(|(begin, _)| name.starts_with(begin)));
        found.map(|(_, function)| function)
    }
}

/// A function's arguments.
#[derive(Clone, Copy)]
pub struct Arguments(*const u64);

impl Arguments {
    /// # Safety
    /// They are those of a call that is told.
    pub unsafe fn of(told: *const c_void) -> Option<Arguments> {
        (!told.is_null()).then_some(Arguments(told.cast()))
    }

    /// # Safety
    /// The function has so many.
    unsafe fn word(self, number: usize) -> u64 {
        // SAFETY: as demanded.
        unsafe { self.0.add(number).read_unaligned() }
    }

    /// # Safety
    /// This argument points to words, or is null.
    unsafe fn behind(self, number: usize) -> Option<Arguments> {
        // SAFETY: as demanded.
        let pointer = unsafe { self.word(number) } as *const u64;
        (!pointer.is_null()).then_some(Arguments(pointer))
    }

    /// The addresses that a copy reads from and writes to; 0 is not known.
    ///
    /// # Safety
    /// They are those of a function with such ends.
    pub unsafe fn ends(self, ends: Ends) -> [u64; 2] {
        const HOST: u32 = 1;
        const DEVICE: u32 = 2;
        const UNIFIED: u32 = 4;
        // SAFETY: as demanded.
        unsafe {
            match ends {
                Ends::Words(from, to) => [self.word(from), self.word(to)],
                Ends::Described(from, to) => {
                    let Some(described) = self.behind(0) else { return [0; 2] };
                    [from, to].map(|kind| match described.word(kind) as u32 {
                        HOST => described.word(kind + 1),
                        DEVICE | UNIFIED => described.word(kind + 2),
                        _ => 0,
                    })
                }
            }
        }
    }

    /// Where memory is allocated, and how many bytes.
    ///
    /// # Safety
    /// They are those of a function with such a place, which has returned that it was successful.
    pub unsafe fn allocated(self, place: Place) -> Option<(u64, u64)> {
        // SAFETY: as demanded.
        unsafe {
            Some(match place {
                Place::Returned => (self.behind(0)?.word(0), self.word(1)),
                Place::Pitched => (self.behind(0)?.word(0), self.behind(1)?.word(0).saturating_mul(self.word(3))),
                Place::Given => (self.word(0), self.word(1)),
            })
        }
    }

    /// # Safety
    /// They are those of a function that frees.
    pub unsafe fn freed(self) -> u64 {
        // SAFETY: as demanded.
        unsafe { self.word(0) }
    }
}
