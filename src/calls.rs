//! The table of MPI functions, as constants made from `calls.table`.

/// What kind of communication a function does; the word in the profile's column `class` is [`Class::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    P2p,
    Completion,
    Collective,
    Neighborhood,
    Rma,
    Io,
    Partitioned,
    Comm,
    Control,
}

impl Class {
    pub const fn name(self) -> &'static str {
        match self {
            Class::P2p => "p2p",
            Class::Completion => "completion",
            Class::Collective => "collective",
            Class::Neighborhood => "neighborhood",
            Class::Rma => "rma",
            Class::Io => "io",
            Class::Partitioned => "partitioned",
            Class::Comm => "comm",
            Class::Control => "control",
        }
    }
}

/// How the wrapper of a function is made; `calls.table` explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Blocking,
    Request,
    Persistent,
    Creator,
    Hand,
    Own,
}

/// One argument of a function.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    pub name: &'static str,
    pub kind: &'static str,
}

/// One MPI function.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The standard C name, without `_c`.
    pub name: &'static str,
    pub class: Class,
    /// The version of the MPI standard that brought it.
    pub since: (u8, u8),
    /// Whether a large-count form `NAME_c` exists.
    pub large: bool,
    pub shape: Shape,
    /// The name of its rule for bytes.
    pub rule: &'static str,
    /// The letter that begins the names of the communicators it makes.
    pub letter: Option<char>,
}

/// How bytes are counted, in words.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub name: &'static str,
    /// The arguments it looks at, in the order in which the profiler's function of the same name takes them.
    pub arguments: &'static [&'static str],
    pub sent: &'static str,
    pub received: &'static str,
    pub bucket: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/calls.rs"));

/// The operation with this name; `MPI_` may be left out and case does not matter.
pub fn find(name: &str) -> Option<&'static Call> {
    let bare = |text: &str| text.to_ascii_lowercase().trim_start_matches("mpi_").to_owned();
    CALLS.iter().find(|call| bare(call.name) == bare(name))
}

/// Whether the bucket of this operation is that of each rank's own bytes ([`crate::shard::OWN_SIZE`]).
pub fn has_own_size(operation: u16) -> bool {
    OWN_SIZES.get(usize::from(operation)).copied().unwrap_or(false)
}

impl Call {
    pub fn arguments(&self) -> &'static [Argument] {
        let number = CALLS.iter().position(|call| call.name == self.name);
        number.map_or(&[], |number| ARGUMENTS[number])
    }

    /// Its name in Open MPI 4, which has the persistent collectives of MPI 4 as an extension (`<mpi-ext.h>`); they are counted as this function.
    pub fn extension(&self) -> Option<String> {
        let is_one = self.shape == Shape::Persistent && matches!(self.class, Class::Collective | Class::Neighborhood);
        is_one.then(|| self.name.replacen("MPI_", "MPIX_", 1))
    }

    /// Whether the bucket tells a message size. A call without one is in the first bucket, as is the setup of a persistent receive, of which
    /// nothing has arrived.
    pub fn has_size(&self) -> bool {
        match self.rule {
            "none" => false,
            "recv" => self.shape != Shape::Persistent,
            _ => true,
        }
    }
}

/// Calls on files that are collective though their names do not say so.
const COLLECTIVE_ON_FILES: [&str; 9] =
    ["open", "close", "set_size", "preallocate", "set_info", "set_view", "seek_shared", "set_atomicity", "sync"];

/// Whether all processes that opened a file together make this call on it together (MPI-4.1, chapter 14).
pub fn is_collective_on_files(operation: u16) -> bool {
    let name = CALLS.get(usize::from(operation)).and_then(|call| call.name.strip_prefix("MPI_File_"));
    let is_told = |name: &str| name.contains("_all") || name.contains("_ordered");
    name.is_some_and(|name| is_told(name) || COLLECTIVE_ON_FILES.contains(&name))
}

/// Whether the time of this operation lies outside the span between the end of `MPI_Init` and the begin of
/// `MPI_Finalize`, which is the span that run time and MPI time are measured over.
pub fn outside_span(operation: u16) -> bool {
    let bounds = [op::MPI_Init, op::MPI_Init_thread, op::MPI_Finalize, op::MPI_Session_init, op::MPI_Session_finalize];
    bounds.contains(&operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_found_without_prefix_and_case() {
        assert_eq!(find("allreduce").unwrap().name, "MPI_Allreduce");
        assert_eq!(find("MPI_ISEND").unwrap().name, "MPI_Isend");
        assert!(find("Allreduc").is_none());
        assert_eq!(CALLS[op::MPI_Waitall as usize].name, "MPI_Waitall");
    }

    #[test]
    fn forms_with_a_size_for_each_rank_have_sizes_of_their_own() {
        for (operation, call) in (0..).zip(&CALLS) {
            let base = call.name.trim_end_matches("_init").to_lowercase();
            let is_sized = base.ends_with("allv") || base.ends_with("allw") || base.ends_with("gatherv");
            let is_sized = is_sized || base.ends_with("scatterv") || base == "mpi_startall";
            assert_eq!(has_own_size(operation), is_sized, "{}", call.name);
        }
    }

    #[test]
    fn calls_that_carry_no_bytes_have_no_size() {
        let has_size = |name: &str| find(name).unwrap().has_size();
        for name in ["Barrier", "Ibarrier", "Waitall", "Comm_dup", "Comm_free", "Win_fence", "Init", "Recv_init"] {
            assert!(!has_size(name), "{name}");
        }
        for name in ["Bcast", "Irecv", "Put", "Start", "Startall", "Send_init", "File_read", "Psend_init"] {
            assert!(has_size(name), "{name}");
        }
    }

    #[test]
    fn calls_on_files_are_collective_or_not() {
        let is_collective =
            |name: &str| is_collective_on_files(CALLS.iter().position(|call| call.name == name).unwrap() as u16);
        for name in ["open", "close", "sync", "set_view", "write_all", "iread_at_all", "read_ordered_end"] {
            assert!(is_collective(&format!("MPI_File_{name}")), "{name}");
        }
        for name in ["delete", "write", "iread_at", "read_shared", "iwrite_shared"] {
            assert!(!is_collective(&format!("MPI_File_{name}")), "{name}");
        }
        assert!(!is_collective("MPI_Allreduce"));
    }

    #[test]
    fn letters_are_unique() {
        let letters: Vec<char> = CALLS.iter().filter_map(|call| call.letter).collect();
        let distinct: std::collections::HashSet<_> = letters.iter().collect();
        assert_eq!(letters.len(), distinct.len());
        assert!(
            !letters.iter().any(|letter| ['W', 'S', 'x'].contains(letter)),
            "kept for WORLD, SELF and foreign ones"
        );
    }

    #[test]
    fn a_rule_only_looks_at_arguments_that_its_functions_have() {
        for call in &CALLS {
            let rule = RULES.iter().find(|rule| rule.name == call.rule).expect("every rule exists");
            for wanted in rule.arguments {
                let found = call.arguments().iter().any(|argument| argument.name == *wanted);
                assert!(found || matches!(call.shape, Shape::Hand | Shape::Own), "{} lacks {wanted}", call.name);
            }
        }
    }
}
