//! Writes the swept calls as a program of C or of Fortran.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::script::{Script, What};
use common::{Mpi, c_source, fortran_source, fortran_symbols, mpi_symbols};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    /// The number of the interface: 1 `mpif.h`, 2 `use mpi`, 3 `use mpi_f08`.
    Fortran(u32),
}

impl Language {
    pub fn letter(self) -> &'static str {
        if self == Language::C { "C" } else { "F" }
    }

    /// How this language's program starts MPI.
    pub fn init(self) -> &'static str {
        if self == Language::Fortran(2) { "MPI_Init_thread" } else { "MPI_Init" }
    }

    /// Whether a library has a function for this language.
    pub fn has(self, mpi: Mpi, function: &str) -> bool {
        let lower = function.to_lowercase();
        match self {
            Language::C => mpi_symbols(mpi).contains(function),
            Language::Fortran(3) => {
                ["_f08_", "_f08ts_"].iter().any(|ending| fortran_symbols(mpi).contains(&format!("{lower}{ending}")))
            }
            Language::Fortran(_) => fortran_symbols(mpi).contains(&format!("{lower}_")),
        }
    }
}

pub fn compile(script: &Script, mpi: Mpi, language: Language) -> PathBuf {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a source");
        path
    };
    match language {
        Language::C => c_source(mpi, &write("sweep.c", c(script)), "sweep"),
        Language::Fortran(interface) => {
            fortran_source(mpi, &write("sweep.F90", fortran(script)), "sweep", "sweep_helpers", interface)
        }
    }
}

fn c(script: &Script) -> String {
    let mut body = String::new();
    for step in script.steps() {
        match &step.what {
            What::Helper(name) => body += &format!("    {};\n", helper(name, &step.label, "PMPI_Comm_c2f(", ")")),
            What::Call { call, arguments, .. } => {
                let arguments = arguments.join(", ");
                writeln!(body, "    TRY({}({arguments}));", call.name).unwrap();
            }
        }
    }
    C_FRAME
        .replace("BODY", &body)
        .replace("    SESSION\n", if has_sessions(script) { "    MPI_Session session;\n" } else { "" })
}

fn fortran(script: &Script) -> String {
    let mut body = String::new();
    for step in script.steps() {
        match &step.what {
            What::Helper(name) => writeln!(body, "    call {}", helper(name, &step.label, "HANDLE(", ")")).unwrap(),
            What::Call { call, arguments, .. } => {
                let words: Vec<String> = arguments.iter().map(|argument| fortran_argument(argument)).collect();
                let error = if call.name == "MPI_Pcontrol" { "" } else { ", error" };
                writeln!(body, "    call {}({}{error})", call.name, words.join(", ")).unwrap();
                writeln!(body, "    call try(\"{}\")", call.name).unwrap();
            }
        }
    }
    FORTRAN_FRAME
        .replace("BODY", &body)
        .replace("    SESSION\n", if has_sessions(script) { "    SESSION_T :: session\n" } else { "" })
}

/// Libraries before MPI 4 have no type for them.
fn has_sessions(script: &Script) -> bool {
    script.functions().contains("MPI_Session_init")
}

/// The call of a helper, with the communicator as a Fortran handle where it wants one.
fn helper(name: &str, label: &str, before: &str, after: &str) -> String {
    if name == "settle" { "settle()".to_owned() } else { format!("{name}({before}{label}{after})") }
}

fn fortran_argument(argument: &str) -> String {
    match argument.trim_start_matches('&') {
        "MPI_INT" => "MPI_INTEGER".to_owned(),
        "false" => ".false.".to_owned(),
        other => other.replace("[0]", "(1)"),
    }
}

const C_FRAME: &str = r#"#include "sweep.h"
#include <stdio.h>

#define TRY(call)                                                                                                      \
    if ((call) != MPI_SUCCESS) {                                                                                       \
        fprintf(stderr, "fails: %s\n", #call);                                                                         \
        PMPI_Abort(MPI_COMM_WORLD, 98);                                                                                \
    }
#define false 0

static int out[64], in[64], counts[1] = {3}, displs[1], places[1], ones[1] = {1}, twos[1] = {2}, weights[1] = {1}, truths[1] = {1}, memory[64];
static MPI_Aint displacements[1], displacement, memory_bytes = sizeof memory;
static MPI_Offset offset, file_bytes = 4096;
static MPI_Count partition = 3;

int main(int argc, char **argv)
{
    MPI_Comm own = MPI_COMM_NULL, made, ring, bridge, cart, pair;
    MPI_Request request, requests[1];
    MPI_Message message;
    MPI_Win win;
    MPI_File file;
    MPI_Info info;
    void *base;
    char file_name[32];
    SESSION
    MPI_Group group, other_group;
    MPI_Datatype types[1] = {MPI_INT};
    int world_rank, partner, index, indices[1], outcount, flag;
    MPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    PMPI_Info_create(&info);
    partner = 1 - world_rank;
    snprintf(file_name, sizeof file_name, "sweep-%d.out", world_rank);
    group = PMPI_Group_f2c(group_of(world_rank)), other_group = PMPI_Group_f2c(group_of(partner));
    (void)message, (void)made, (void)ring, (void)bridge, (void)cart, (void)displacements;
BODY
    MPI_Finalize();
    return 0;
}
"#;

const FORTRAN_FRAME: &str = r#"
#if INTERFACE == 3
#define COMM_T type(MPI_Comm)
#define REQUEST_T type(MPI_Request)
#define MESSAGE_T type(MPI_Message)
#define SESSION_T type(MPI_Session)
#define GROUP_T type(MPI_Group)
#define WIN_T type(MPI_Win)
#define FILE_T type(MPI_File)
#define INFO_T type(MPI_Info)
#define BASE_T type(c_ptr)
#define DATATYPE_T type(MPI_Datatype)
#define HANDLE(x) x%MPI_VAL
#else
#define COMM_T integer
#define REQUEST_T integer
#define MESSAGE_T integer
#define SESSION_T integer
#define GROUP_T integer
#define WIN_T integer
#define FILE_T integer
#define INFO_T integer
#define BASE_T integer(MPI_ADDRESS_KIND)
#define DATATYPE_T integer
#define HANDLE(x) x
#endif
program main
    use iso_c_binding
#include "fortran_mpi.h"
    interface
        subroutine sender(comm) bind(c)
            import; integer(c_int), value :: comm
        end subroutine
        subroutine receiver(comm) bind(c)
            import; integer(c_int), value :: comm
        end subroutine
        subroutine settle() bind(c)
        end subroutine
        integer(c_int) function group_of(rank) bind(c)
            import; integer(c_int), value :: rank
        end function
    end interface
    COMM_T :: own, made, ring, bridge, cart, pair
    WIN_T :: win
    FILE_T :: file
    INFO_T :: info
    BASE_T :: base
    REQUEST_T :: request, requests(1)
    MESSAGE_T :: message
    SESSION
    GROUP_T :: group, other_group
    DATATYPE_T :: types(1)
    integer :: out(64), in(64), counts(1), displs(1), places(1), ones(1), twos(1), weights(1), memory(64)
    integer(MPI_ADDRESS_KIND) :: displacements(1), displacement, memory_bytes
    integer(MPI_OFFSET_KIND) :: offset, file_bytes
    integer(MPI_COUNT_KIND) :: partition
    character(32) :: file_name
    logical :: truths(1), flag
    integer :: error, world_rank, partner, index, indices(1), outcount, provided
    counts = 3; displs = 0; places = 0; ones = 1; weights = 1; displacements = 0; truths = .true.; out = 0
    twos = 2; displacement = 0; memory_bytes = 256; offset = 0; file_bytes = 4096; partition = 3; memory = 0
    types = MPI_INTEGER
#if INTERFACE == 2
    call MPI_Init_thread(MPI_THREAD_SINGLE, provided, error)
#else
    call MPI_Init(error)
#endif
    call MPI_Comm_rank(MPI_COMM_WORLD, world_rank, error)
    call MPI_Info_create(info, error)
    partner = 1 - world_rank
    write (file_name, '(a,i0,a)') "sweep-", world_rank, ".out"
    HANDLE(group) = group_of(world_rank)
    HANDLE(other_group) = group_of(partner)
BODY
    call MPI_Finalize(error)
contains
    subroutine try(what)
        character(*), intent(in) :: what
        if (error /= MPI_SUCCESS) then
            write (0, *) "fails: ", what
            call abort()
        end if
    end subroutine
end program
"#;
