//! What is measured.

/// Where a case is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `percall.c`: one thread, on one processor.
    C,
    /// `percall_threads.c`: four threads under `MPI_THREAD_MULTIPLE`, on as many processors as there are.
    Threads,
    /// `percall.F90`.
    Fortran,
}

/// Whether the calls are to be recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    On,
    /// The program has called `MPI_Pcontrol(0)`.
    Paused,
    /// `COMMSEE_DISABLE=1`, which other libraries do not know.
    Disabled,
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
    /// MPI calls per iteration: the floor counts as often.
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

pub const FLOOR: Case = case("floor", "the floor", 1);
pub const THREADS_FLOOR: Case = Case { program: Program::Threads, ..FLOOR };

pub const CASES: &[Case] = &[
    case("send_proc_null", "`MPI_Send` to `MPI_PROC_NULL`", 1),
    case("iprobe", "`MPI_Iprobe`", 1),
    case("test_null", "`MPI_Test`, null request", 1),
    case("sendrecv_self", "`MPI_Sendrecv` to self", 1),
    case("allreduce_self", "`MPI_Allreduce` on `MPI_COMM_SELF`", 1),
    case("allreduce_dup", "`MPI_Allreduce` on a duplicate of it", 1),
    case("isend_irecv_waitall_self", "`MPI_Isend`, `MPI_Irecv`, `MPI_Waitall` of both, to self", 3),
    case("isend_irecv_waitall_64_comms", "`MPI_Isend`, `MPI_Irecv`, `MPI_Waitall`, over 64 communicators in turn", 3),
    Case {
        length: Length::Share(400, 50),
        ..case("32_isend_32_irecv_waitall", "32 `MPI_Isend`, 32 `MPI_Irecv`, `MPI_Waitall` of all", 65)
    },
    // 50 000 cycles: tools that cannot live with 65 536 communicators can still be measured.
    Case { length: Length::Fixed(1_000, 50), ..case("dup_free", "`MPI_Comm_dup`, `MPI_Comm_free`", 2) },
    Case {
        word: "dup_free",
        length: Length::Fixed(CYCLES, 1),
        ..case("dup_free_100k", "`MPI_Comm_dup`, `MPI_Comm_free`, 100 000 times", 2)
    },
    Case {
        program: Program::Threads,
        word: "allreduce",
        ..case("allreduce_4_threads", "`MPI_Allreduce` in 4 threads, each on its own communicator", 1)
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
        word: "send_proc_null",
        recording: Recording::Paused,
        ..case("send_proc_null_paused", "`MPI_Send` after `MPI_Pcontrol(0)`", 1)
    },
    Case {
        word: "test_null",
        recording: Recording::Paused,
        ..case("test_null_paused", "`MPI_Test` after `MPI_Pcontrol(0)`", 1)
    },
    Case {
        word: "send_proc_null",
        recording: Recording::Disabled,
        ..case("send_proc_null_disabled", "`MPI_Send` under `COMMSEE_DISABLE=1`", 1)
    },
    Case {
        word: "test_null",
        recording: Recording::Disabled,
        ..case("test_null_disabled", "`MPI_Test` under `COMMSEE_DISABLE=1`", 1)
    },
];
