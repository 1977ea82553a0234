//! What is measured.

/// Where a case is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `percall.c`: one thread, on one processor.
    C,
    /// `percall.c` on two ranks, each on a processor of its own.
    Pair,
    /// `percall_threads.c`: four threads under `MPI_THREAD_MULTIPLE`, on as many processors as there are.
    Threads,
    /// `percall.F90`.
    Fortran,
}

/// How the calls are to be recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    On,
    /// The program has called `MPI_Pcontrol(0)`.
    Paused,
    /// `COMMSEE_DISABLE=1`.
    Disabled,
    /// `COMMSEE_TRACE=1`.
    Timeline,
    /// `COMMSEE_DATATYPES=1`.
    Datatypes,
    /// `COMMSEE_SITES=1`.
    Sites,
    /// `COMMSEE_SITES=8`.
    Stacks,
    /// With the UCX hook module, and UCX below Open MPI.
    Module,
}

impl Recording {
    pub fn variable(self) -> Option<(&'static str, &'static str)> {
        match self {
            Recording::On | Recording::Paused => None,
            Recording::Disabled => Some(("COMMSEE_DISABLE", "1")),
            Recording::Timeline => Some(("COMMSEE_TRACE", "1")),
            Recording::Datatypes => Some(("COMMSEE_DATATYPES", "1")),
            Recording::Sites => Some(("COMMSEE_SITES", "1")),
            Recording::Stacks => Some(("COMMSEE_SITES", "8")),
            Recording::Module => Some(("COMMSEE_HOOKS", "ucx")),
        }
    }
}

pub struct Case {
    /// In tables for the terminal.
    pub name: &'static str,
    /// In tables for the documentation.
    pub title: &'static str,
    pub program: Program,
    /// What the program calls it.
    pub word: &'static str,
    pub recording: Recording,
    /// MPI calls per iteration, of all ranks, as they follow one another.
    pub calls: u32,
    pub length: Length,
}

/// How often a case is repeated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// A share of the iterations asked for, so many times over, of which the fastest counts. Many short repetitions, about
    /// a millisecond each, find a moment between two interruptions even on a busy machine.
    Share(usize, usize),
    /// So many iterations, so many times over, however many are asked for.
    Fixed(usize, usize),
}

pub const THREADS: u32 = 4;
/// Communicators made and freed in the longest case, where the growth of the process is measured.
pub const CYCLES: usize = 100_000;

const fn case(name: &'static str, title: &'static str, calls: u32) -> Case {
    let (program, recording, length) = (Program::C, Recording::On, Length::Share(10, 50));
    Case { name, title, program, word: name, recording, calls, length }
}

const fn recorded(recording: Recording, word: &'static str, name: &'static str, title: &'static str) -> Case {
    Case { word, recording, ..case(name, title, 1) }
}

/// One call, as a loop of nothing else.
pub const FLOOR: Case = case("floor", "the floor", 1);
pub const THREADS_FLOOR: Case = Case { program: Program::Threads, ..FLOOR };

pub const CASES: &[Case] = &[
    case("send_proc_null", "`MPI_Send` to `MPI_PROC_NULL`", 1),
    case("iprobe", "`MPI_Iprobe`", 1),
    case("test_null", "`MPI_Test`, null request", 1),
    case("test_inactive", "`MPI_Test`, inactive persistent request", 1),
    case("testany_16_pending", "`MPI_Testany` of 16 pending receives", 1),
    case("sendrecv_self", "`MPI_Sendrecv` to self", 1),
    case("bcast_self", "`MPI_Bcast` on `MPI_COMM_SELF`", 1),
    case("barrier_self", "`MPI_Barrier` on `MPI_COMM_SELF`", 1),
    case("allreduce_self", "`MPI_Allreduce` on `MPI_COMM_SELF`", 1),
    case("allreduce_dup", "`MPI_Allreduce` on a duplicate of it", 1),
    case("allreduce_4_comms", "`MPI_Allreduce` over 4 communicators in turn", 1),
    case("allreduce_64_comms", "`MPI_Allreduce` over 64 communicators in turn", 1),
    case("allreduce_2_sizes", "`MPI_Allreduce` of 4 bytes and of 256 bytes in turn", 2),
    case("allreduce_2_datatypes", "`MPI_Allreduce` of `MPI_INT` and of `MPI_FLOAT` in turn", 2),
    case("isend_irecv_waitall_self", "`MPI_Isend`, `MPI_Irecv`, `MPI_Waitall` of both, to self", 3),
    case("isend_irecv_waitall_4_comms", "`MPI_Isend`, `MPI_Irecv`, `MPI_Waitall`, over 4 communicators in turn", 3),
    case("isend_irecv_waitall_64_comms", "`MPI_Isend`, `MPI_Irecv`, `MPI_Waitall`, over 64 communicators in turn", 3),
    case("isend_irecv_wait_each", "`MPI_Isend`, `MPI_Irecv`, `MPI_Wait` of each, to self", 4),
    case("2_isend_2_irecv_waitall", "2 `MPI_Irecv`, 2 `MPI_Isend`, `MPI_Waitall` of all, to self", 5),
    case("4_irecv_isend_waitall", "4 times `MPI_Irecv` and `MPI_Isend`, `MPI_Waitall` of all, to self", 9),
    case(
        "2_isend_2_irecv_waitall_2_comms",
        "2 `MPI_Irecv`, 2 `MPI_Isend`, `MPI_Waitall` of all, one of each on each of 2 communicators",
        5,
    ),
    case(
        "2_isend_2_irecv_waitall_border",
        "2 `MPI_Irecv`, 2 `MPI_Isend`, `MPI_Waitall` of all, one of each with `MPI_PROC_NULL`",
        5,
    ),
    case(
        "2_isend_2_irecv_waitall_2_sizes",
        "2 `MPI_Irecv`, 2 `MPI_Isend`, `MPI_Waitall` of all, of 4 bytes and of 256 bytes",
        5,
    ),
    Case {
        length: Length::Share(400, 50),
        ..case("16_isend_16_irecv_waitany", "16 `MPI_Isend`, 16 `MPI_Irecv`, `MPI_Waitany` until all are complete", 64)
    },
    Case {
        length: Length::Share(400, 50),
        ..case("32_isend_32_irecv_waitall", "32 `MPI_Isend`, 32 `MPI_Irecv`, `MPI_Waitall` of all", 65)
    },
    case("startall_waitall", "`MPI_Startall`, `MPI_Waitall` of a persistent send and receive, to self", 2),
    case("start_wait_each", "`MPI_Start`, `MPI_Wait` of each of these", 4),
    Case {
        length: Length::Share(100, 50),
        ..case(
            "startall_16_waitany",
            "`MPI_Startall` of 8 persistent receives and 8 sends, `MPI_Waitany` until all are complete",
            17,
        )
    },
    case("irecv_send_waitall_1", "`MPI_Irecv`, `MPI_Send`, `MPI_Waitall` of one request, to self", 3),
    case("isend_mprobe_mrecv_wait", "`MPI_Isend`, `MPI_Mprobe`, `MPI_Mrecv`, `MPI_Wait`, to self", 4),
    case("neighbor_allgather", "`MPI_Neighbor_allgather` on a grid of one process", 1),
    case("improbe", "`MPI_Improbe` that finds nothing", 1),
    case("pcontrol_allreduce", "`MPI_Pcontrol` that begins one of three phases in turn, `MPI_Allreduce`", 1),
    case("waitall_64_null", "`MPI_Waitall` of 64 null requests", 1),
    case("put_flush", "`MPI_Put`, `MPI_Win_flush`", 2),
    // 50 000 cycles: tools that cannot live with 65 536 communicators can still be measured.
    Case { length: Length::Fixed(1_000, 50), ..case("dup_free", "`MPI_Comm_dup`, `MPI_Comm_free`", 2) },
    Case {
        word: "dup_free",
        length: Length::Fixed(CYCLES, 1),
        ..case("dup_free_100k", "`MPI_Comm_dup`, `MPI_Comm_free`, 100 000 times", 2)
    },
    // There and back, two calls each on two ranks.
    Case { program: Program::Pair, ..case("pingpong", "8 bytes to another rank and back, `MPI_Send`, `MPI_Recv`", 4) },
    Case {
        program: Program::Threads,
        word: "allreduce",
        ..case("allreduce_4_threads", "`MPI_Allreduce` in 4 threads, each on its own communicator", 1)
    },
    Case {
        program: Program::Threads,
        word: "isend_irecv_waitall",
        ..case("isend_irecv_waitall_4_threads", "`MPI_Isend`, `MPI_Irecv`, `MPI_Waitall` in 4 threads, likewise", 3)
    },
    // The last one of its program: from the first request that is handed over on, all threads take a lock.
    Case {
        program: Program::Threads,
        length: Length::Share(100, 50),
        word: "handed_over",
        ..case(
            "handed_over_4_threads",
            "`MPI_Irecv` in another thread, `MPI_Send`, `MPI_Wait`, in 4 threads in turn",
            3,
        )
    },
    Case {
        program: Program::Fortran,
        word: "send_proc_null",
        ..case("send_proc_null_fortran", "`MPI_Send` to `MPI_PROC_NULL` in Fortran", 1)
    },
    Case {
        program: Program::Fortran,
        word: "allreduce_self",
        ..case("allreduce_self_fortran", "`MPI_Allreduce` on `MPI_COMM_SELF` in Fortran", 1)
    },
    Case {
        program: Program::Fortran,
        word: "allreduce_dup",
        ..case("allreduce_dup_fortran", "`MPI_Allreduce` on a duplicate of it in Fortran", 1)
    },
    Case {
        program: Program::Fortran,
        word: "isend_irecv_waitall_self",
        ..case(
            "isend_irecv_waitall_self_fortran",
            "`MPI_Isend`, `MPI_Irecv`, `MPI_Waitall` of both, to self, in Fortran",
            3,
        )
    },
    recorded(Recording::Timeline, "send_proc_null", "send_proc_null_timeline", "`MPI_Send` with `COMMSEE_TRACE=1`"),
    recorded(
        Recording::Timeline,
        "allreduce_self",
        "allreduce_self_timeline",
        "`MPI_Allreduce` with `COMMSEE_TRACE=1`",
    ),
    recorded(
        Recording::Datatypes,
        "send_proc_null",
        "send_proc_null_datatypes",
        "`MPI_Send` with `COMMSEE_DATATYPES=1`",
    ),
    recorded(
        Recording::Datatypes,
        "allreduce_self",
        "allreduce_self_datatypes",
        "`MPI_Allreduce` with `COMMSEE_DATATYPES=1`",
    ),
    recorded(Recording::Sites, "send_proc_null", "send_proc_null_sites", "`MPI_Send` with `COMMSEE_SITES=1`"),
    recorded(Recording::Sites, "allreduce_self", "allreduce_self_sites", "`MPI_Allreduce` with `COMMSEE_SITES=1`"),
    recorded(Recording::Sites, "barrier_self", "barrier_self_sites", "`MPI_Barrier` with `COMMSEE_SITES=1`"),
    Case {
        recording: Recording::Sites,
        word: "isend_irecv_waitall_self",
        ..case(
            "isend_irecv_waitall_self_sites",
            "`MPI_Isend`, `MPI_Irecv`, `MPI_Waitall` of both, to self, with `COMMSEE_SITES=1`",
            3,
        )
    },
    Case {
        program: Program::Fortran,
        recording: Recording::Sites,
        word: "allreduce_self",
        ..case("allreduce_self_fortran_sites", "`MPI_Allreduce` in Fortran with `COMMSEE_SITES=1`", 1)
    },
    recorded(Recording::Stacks, "allreduce_self", "allreduce_self_stacks", "`MPI_Allreduce` with `COMMSEE_SITES=8`"),
    recorded(
        Recording::Module,
        "send_proc_null",
        "send_proc_null_ucx",
        "`MPI_Send` to `MPI_PROC_NULL` with the UCX module",
    ),
    recorded(Recording::Module, "allreduce_self", "allreduce_self_ucx", "`MPI_Allreduce` with the UCX module"),
    recorded(Recording::Module, "sendrecv_self", "sendrecv_self_ucx", "`MPI_Sendrecv` to self with the UCX module"),
    Case {
        recording: Recording::Module,
        word: "isend_irecv_waitall_self",
        ..case(
            "isend_irecv_waitall_self_ucx",
            "`MPI_Isend`, `MPI_Irecv`, `MPI_Waitall` of both, to self, with the UCX module",
            3,
        )
    },
    Case {
        recording: Recording::Module,
        word: "32_isend_32_irecv_waitall",
        length: Length::Share(400, 50),
        ..case(
            "32_isend_32_irecv_waitall_ucx",
            "32 `MPI_Isend`, 32 `MPI_Irecv`, `MPI_Waitall` of all, with the UCX module",
            65,
        )
    },
    recorded(Recording::Paused, "send_proc_null_paused", "send_proc_null_paused", "`MPI_Send` after `MPI_Pcontrol(0)`"),
    recorded(Recording::Paused, "test_null_paused", "test_null_paused", "`MPI_Test` after `MPI_Pcontrol(0)`"),
    recorded(Recording::Disabled, "send_proc_null", "send_proc_null_disabled", "`MPI_Send` under `COMMSEE_DISABLE=1`"),
    recorded(Recording::Disabled, "test_null", "test_null_disabled", "`MPI_Test` under `COMMSEE_DISABLE=1`"),
];
