//! Libraries that are no call sites: what stands between a program and MPI. In one table; docs/reference/call-sites.md lists it.

/// Files that are passed over.
pub struct PassedOver {
    /// What these are.
    pub what: &'static str,
    /// Shell patterns of their names, without the folder.
    pub patterns: &'static [&'static str],
}

pub const PASSED_OVER: &[PassedOver] = &[
    PassedOver { what: "commsee and its modules", patterns: &["libcommsee*.so*"] },
    PassedOver {
        what: "Open MPI, with its Fortran and Java layers",
        patterns: &[
            "libmpi.so*",
            "libmpi_*.so*",
            "libopen_mpi.so*",
            "libopen-pal.so*",
            "libopen-rte.so*",
            "libprrte.so*",
            "liboshmem.so*",
            "mca_*.so",
            "libompitrace.so*",
            "libompi_dbg_*.so*",
        ],
    },
    PassedOver {
        what: "MPICH, and what has its ABI (Intel MPI, Cray MPICH, MVAPICH)",
        patterns: &["libmpich*.so*", "libmpicxx.so*", "libmpifort*.so*", "libmpl.so*", "libfmpich.so*", "libpmpi.so*"],
    },
    PassedOver {
        what: "libraries that translate between ABIs",
        patterns: &["libmpitrampoline.so*", "libmpiwrapper*.so*", "libwi4mpi*.so*"],
    },
    PassedOver {
        what: "transports below MPI",
        patterns: &["libucp.so*", "libuct.so*", "libucs.so*", "libfabric.so*", "libpsm2.so*"],
    },
    PassedOver {
        what: "NCCL, RCCL, oneCCL, CUDA and CUPTI",
        patterns: &["libnccl.so*", "librccl.so*", "libccl.so*", "libcuda.so*", "libcudart.so*", "libcupti.so*"],
    },
    PassedOver { what: "PyTorch", patterns: &["libtorch*.so*", "libc10*.so*"] },
    PassedOver {
        what: "mpi4py, and what other extension modules of Python wrap MPI by",
        patterns: &["MPI.*.so", "MPI.so", "petsc4py*.so", "PETSc.*.so", "SLEPc.*.so"],
    },
    PassedOver { what: "PETSc and SLEPc", patterns: &["libpetsc*.so*", "libslepc*.so*"] },
    PassedOver { what: "Boost.MPI", patterns: &["libboost_mpi*.so*"] },
    PassedOver { what: "coarrays of Fortran", patterns: &["libcaf_*.so*"] },
    PassedOver { what: "other tools", patterns: &["libscorep_*.so*", "libmpiP.so*", "libmpitrace.so*"] },
];

/// Every pattern.
pub fn patterns() -> impl Iterator<Item = &'static str> {
    PASSED_OVER.iter().flat_map(|row| row.patterns.iter().copied())
}
