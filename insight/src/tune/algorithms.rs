//! Algorithms of collectives that MPI libraries let a user choose. Open MPI 4.1 and 5.0: `ompi_info --param coll tuned --level 9`, with the numbers of
//! collectives in `coll_base_functions.h`. MPICH 4 and 5: the control variables `MPIR_CVAR_*_INTRA_ALGORITHM`, with the values that its program `mpivars`
//! lists. Algorithms for two processes only, and those that call another collective, are left out.

pub struct Collective {
    pub op: &'static str,
    /// Its number in a rules file of Open MPI's component `tuned`.
    pub openmpi: u32,
    /// What `tuned` can be told to do, by number.
    pub openmpi_algorithms: &'static [(u32, &'static str)],
    /// The part of MPICH's variable that names it.
    pub mpich: &'static str,
    mpich_algorithms: &'static [&'static str],
}

/// What MPICH 4.0 has in the place of those of 4.1 and later, which refuse to start with a name that they do not know. It does so, too.
const BARRIERS_OF_MPICH_4_0: &[&str] = &["dissemination", "smp"];

impl Collective {
    /// Those of a version of MPICH, major and minor.
    pub fn mpich_algorithms(&self, version: (u32, u32)) -> &'static [&'static str] {
        if self.op == "MPI_Barrier" && version < (4, 1) { BARRIERS_OF_MPICH_4_0 } else { self.mpich_algorithms }
    }
}

pub fn find(op: &str) -> Option<&'static Collective> {
    COLLECTIVES.iter().find(|collective| collective.op == op)
}

pub const COLLECTIVES: &[Collective] = &[
    Collective {
        op: "MPI_Allgather",
        openmpi: 0,
        openmpi_algorithms: &[(1, "linear"), (2, "bruck"), (3, "recursive_doubling"), (4, "ring"), (5, "neighbor")],
        mpich: "ALLGATHER",
        mpich_algorithms: &["brucks", "recursive_doubling", "ring"],
    },
    Collective {
        op: "MPI_Allgatherv",
        openmpi: 1,
        openmpi_algorithms: &[(2, "bruck"), (3, "ring"), (4, "neighbor")],
        mpich: "ALLGATHERV",
        mpich_algorithms: &["brucks", "recursive_doubling", "ring"],
    },
    Collective {
        op: "MPI_Allreduce",
        openmpi: 2,
        openmpi_algorithms: &[
            (1, "basic_linear"),
            (2, "nonoverlapping"),
            (3, "recursive_doubling"),
            (4, "ring"),
            (5, "segmented_ring"),
            (6, "rabenseifner"),
        ],
        mpich: "ALLREDUCE",
        mpich_algorithms: &["recursive_doubling", "reduce_scatter_allgather", "smp"],
    },
    Collective {
        op: "MPI_Alltoall",
        openmpi: 3,
        openmpi_algorithms: &[(1, "linear"), (2, "pairwise"), (3, "modified_bruck"), (4, "linear_sync")],
        mpich: "ALLTOALL",
        mpich_algorithms: &["brucks", "pairwise", "scattered"],
    },
    Collective {
        op: "MPI_Alltoallv",
        openmpi: 4,
        openmpi_algorithms: &[(1, "basic_linear"), (2, "pairwise")],
        mpich: "ALLTOALLV",
        mpich_algorithms: &["scattered"],
    },
    Collective {
        op: "MPI_Barrier",
        openmpi: 6,
        openmpi_algorithms: &[(1, "linear"), (2, "double_ring"), (3, "recursive_doubling"), (4, "bruck"), (6, "tree")],
        mpich: "BARRIER",
        mpich_algorithms: &["k_dissemination", "recexch", "smp"],
    },
    Collective {
        op: "MPI_Bcast",
        openmpi: 7,
        openmpi_algorithms: &[
            (1, "basic_linear"),
            (2, "chain"),
            (3, "pipeline"),
            (4, "split_binary_tree"),
            (5, "binary_tree"),
            (6, "binomial"),
            (7, "knomial"),
            (8, "scatter_allgather"),
            (9, "scatter_allgather_ring"),
        ],
        mpich: "BCAST",
        mpich_algorithms: &["binomial", "scatter_recursive_doubling_allgather", "scatter_ring_allgather", "smp"],
    },
    Collective {
        op: "MPI_Gather",
        openmpi: 9,
        openmpi_algorithms: &[(1, "basic_linear"), (2, "binomial"), (3, "linear_sync")],
        mpich: "GATHER",
        mpich_algorithms: &["binomial"],
    },
    Collective {
        op: "MPI_Reduce",
        openmpi: 11,
        openmpi_algorithms: &[
            (1, "linear"),
            (2, "chain"),
            (3, "pipeline"),
            (4, "binary"),
            (5, "binomial"),
            (6, "in-order_binary"),
            (7, "rabenseifner"),
        ],
        mpich: "REDUCE",
        mpich_algorithms: &["binomial", "reduce_scatter_gather", "smp"],
    },
    Collective {
        op: "MPI_Reduce_scatter",
        openmpi: 12,
        openmpi_algorithms: &[(1, "non-overlapping"), (2, "recursive_halving"), (3, "ring"), (4, "butterfly")],
        mpich: "REDUCE_SCATTER",
        mpich_algorithms: &["pairwise", "recursive_doubling", "recursive_halving"],
    },
    Collective {
        op: "MPI_Reduce_scatter_block",
        openmpi: 13,
        openmpi_algorithms: &[
            (1, "basic_linear"),
            (2, "recursive_doubling"),
            (3, "recursive_halving"),
            (4, "butterfly"),
        ],
        mpich: "REDUCE_SCATTER_BLOCK",
        mpich_algorithms: &["pairwise", "recursive_doubling", "recursive_halving"],
    },
    Collective {
        op: "MPI_Scatter",
        openmpi: 15,
        openmpi_algorithms: &[(1, "basic_linear"), (2, "binomial"), (3, "linear_nb")],
        mpich: "SCATTER",
        mpich_algorithms: &["binomial"],
    },
];
