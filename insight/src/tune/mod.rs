//! Which algorithms of a collective to compare, and how: files that force one, and a script that runs the program with each in turn and lets `through compare` judge.

pub mod algorithms;

use std::fmt::Write as _;

use self::algorithms::Collective;

/// Which library the profile is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    OpenMpi,
    Mpich {
        /// Major and minor.
        version: (u32, u32),
    },
}

/// A collective on communicators of one size.
pub struct Plan {
    pub collective: &'static Collective,
    pub ranks: u64,
    pub library: Library,
    /// How often each is run.
    pub runs: u32,
    /// How a shell finds this program.
    pub through: String,
}

/// A file of the folder, with its text.
pub struct File {
    pub name: String,
    pub text: String,
}

impl Library {
    /// By the profile's `mpi_library`. Others of the family have switches of their own.
    pub fn of(family: &str, text: &str) -> Option<Library> {
        match family {
            "openmpi" => Some(Library::OpenMpi),
            "mpich" => Some(Library::Mpich { version: version_of(text.strip_prefix("MPICH Version:")?)? }),
            _ => None,
        }
    }
}

fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

impl Plan {
    pub fn algorithms(&self) -> Vec<&'static str> {
        match self.library {
            Library::OpenMpi => self.collective.openmpi_algorithms.iter().map(|(_, name)| *name).collect(),
            Library::Mpich { version } => self.collective.mpich_algorithms(version).to_vec(),
        }
    }

    /// Whether it changes the algorithm on communicators of so many ranks: MPICH's variables know no size.
    pub fn changes(&self, ranks: u64) -> bool {
        match self.library {
            Library::OpenMpi => ranks == self.ranks,
            Library::Mpich { .. } => true,
        }
    }

    /// The script, and what it needs.
    pub fn files(&self) -> Vec<File> {
        let mut files = Vec::new();
        if self.library == Library::OpenMpi {
            for (number, name) in self.collective.openmpi_algorithms {
                files.push(File { name: format!("{name}.rules"), text: self.rules(*number, name) });
            }
        }
        files.push(File { name: SCRIPT.to_owned(), text: self.script() });
        files
    }

    /// A file for `coll_tuned_dynamic_rules_filename`. A rule holds from its size up to that of the next one, the first one for all smaller
    /// communicators, too. Algorithm 0 leaves the choice to the library.
    fn rules(&self, number: u32, name: &str) -> String {
        let Plan { collective, ranks, .. } = self;
        let usual = (0, "as usual");
        let below = (*ranks > 1).then_some((1, usual));
        let sizes = below.into_iter().chain([(*ranks, (number, name)), (ranks + 1, usual)]);
        let mut rules = format!(
            "1 # collectives\n{} # {}\n{} # sizes of communicators\n",
            collective.openmpi,
            collective.op,
            sizes.clone().count()
        );
        for (ranks, (number, name)) in sizes {
            let _ = write!(rules, "{ranks} # ranks\n1 # sizes of messages\n0 {number} 0 0 # from 0 bytes: {name}\n");
        }
        rules
    }

    /// What is set for an algorithm, in a shell.
    fn setting(&self, name: &str) -> String {
        match self.library {
            Library::OpenMpi => format!(
                "OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_dynamic_rules_filename=\"$here/{name}.rules\""
            ),
            Library::Mpich { .. } => format!("MPIR_CVAR_{}_INTRA_ALGORITHM={name}", self.collective.mpich),
        }
    }

    fn script(&self) -> String {
        let (op, ranks, through) = (self.collective.op, self.ranks, &self.through);
        let scope = match self.library {
            Library::OpenMpi => format!("{op} on communicators of {ranks} ranks"),
            Library::Mpich { .. } => format!("{op} on all communicators (MPICH's variable knows no size)"),
        };
        let mut script = format!(
            "#!/bin/sh\n# Compares algorithms of {scope}.\n# Runs the program with each in turn, {} times, so that what else happens on the machine hits all alike.\n#\n#     sh {SCRIPT} mpirun -n 64 ./app\n\n\
             [ $# -gt 0 ] || {{ echo \"usage: sh $0 LAUNCHER ARGUMENTS...\" >&2; exit 2; }}\nset -e\nhere=$(cd \"$(dirname \"$0\")\" && pwd)\nrun=1\nwhile [ $run -le {} ]; do\n    {through} run -o \"$here/default-$run.db\" -- \"$@\"\n",
            self.runs, self.runs
        );
        for name in self.algorithms() {
            let _ = writeln!(script, "    {} {through} run -o \"$here/{name}-$run.db\" -- \"$@\"", self.setting(name));
        }
        script += "    run=$((run + 1))\ndone\n";
        for name in self.algorithms() {
            let _ = write!(
                script,
                "\necho \"== {name} against default\"\n{through} compare \"$here\"/default-*.db -- \"$here\"/{name}-*.db --top 5\n"
            );
        }
        script
    }
}

pub const SCRIPT: &str = "compare.sh";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_hold_for_one_size() {
        let collective = algorithms::find("MPI_Alltoallv").unwrap();
        let plan = Plan { collective, ranks: 16, library: Library::OpenMpi, runs: 5, through: "through".to_owned() };
        let files = plan.files();
        assert_eq!(
            files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(),
            ["basic_linear.rules", "pairwise.rules", SCRIPT]
        );
        let numbers = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.split('#').next().unwrap().trim().to_owned()).collect()
        };
        assert_eq!(
            numbers(&files[1].text),
            ["1", "4", "3", "1", "1", "0 0 0 0", "16", "1", "0 2 0 0", "17", "1", "0 0 0 0"]
        );
    }

    #[test]
    fn versions_have_algorithms_of_their_own() {
        let of = |text| Library::of("mpich", text);
        assert_eq!(of("MPICH Version: 4.0.2"), Some(Library::Mpich { version: (4, 0) }));
        assert_eq!(
            of("MPICH Version:      5.0.0rc2\nMPICH Release date: unknown"),
            Some(Library::Mpich { version: (5, 0) })
        );
        assert_eq!((of("MPICH Version:"), of("MVAPICH Version: 4.0"), of("")), (None, None, None));
        let barrier = algorithms::find("MPI_Barrier").unwrap();
        assert_eq!(barrier.mpich_algorithms((4, 0)), ["dissemination", "smp"]);
        assert_eq!(barrier.mpich_algorithms((4, 1)), ["k_dissemination", "recexch", "smp"]);
    }

    #[test]
    fn operations_and_algorithms_are_named_once() {
        let mut ops: Vec<&str> = algorithms::COLLECTIVES.iter().map(|collective| collective.op).collect();
        ops.sort_unstable();
        ops.dedup();
        assert_eq!(ops.len(), algorithms::COLLECTIVES.len());
        for collective in algorithms::COLLECTIVES {
            assert!(commsee::calls::find(collective.op).is_some());
            assert!(!collective.openmpi_algorithms.is_empty() && !collective.mpich_algorithms((4, 0)).is_empty());
        }
    }
}
