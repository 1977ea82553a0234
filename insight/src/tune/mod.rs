//! Which algorithms of a collective to compare, and how: files that force one, and a script that runs the program with each in turn and lets `through compare` judge.

pub mod algorithms;

use std::collections::BTreeMap;
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

/// A collective on communicators of some sizes.
pub struct Plan {
    pub collective: &'static Collective,
    /// Ascending.
    pub sizes: Vec<u64>,
    pub library: Library,
    pub algorithms: Vec<&'static str>,
    /// How often each configuration is run.
    pub runs: u32,
    /// How a shell finds this program.
    pub through: String,
}

/// An algorithm for each size, or one for all.
struct Configuration {
    name: String,
    algorithms: Vec<&'static str>,
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

/// Those that a library can be told to take.
pub fn algorithms(collective: &Collective, library: Library) -> Vec<&'static str> {
    match library {
        Library::OpenMpi => collective.openmpi_algorithms.iter().map(|(_, name)| *name).collect(),
        Library::Mpich { version } => collective.mpich_algorithms(version).to_vec(),
    }
}

impl Plan {
    /// Whether it changes the algorithm on communicators of so many ranks: MPICH's variables know no size.
    pub fn changes(&self, ranks: u64) -> bool {
        match self.library {
            Library::OpenMpi => self.sizes.contains(&ranks),
            Library::Mpich { .. } => true,
        }
    }

    /// How many there are beside the default.
    pub fn configuration_count(&self) -> usize {
        let exponent = self.independent_sizes().try_into().unwrap_or(u32::MAX);
        self.algorithms.len().saturating_pow(exponent)
    }

    fn independent_sizes(&self) -> usize {
        if self.library == Library::OpenMpi { self.sizes.len() } else { 1 }
    }

    /// Every algorithm on every size.
    fn configurations(&self) -> Vec<Configuration> {
        let mut all: Vec<Vec<&str>> = vec![Vec::new()];
        for _ in 0..self.independent_sizes() {
            let with = |one: &Vec<&'static str>, name: &&'static str| [one.as_slice(), &[*name]].concat();
            all = all.iter().flat_map(|one| self.algorithms.iter().map(move |name| with(one, name))).collect();
        }
        let name = |algorithms: &[&str]| match algorithms {
            [name] => (*name).to_owned(),
            names => {
                self.sizes.iter().zip(names).map(|(size, name)| format!("{size}-{name}")).collect::<Vec<_>>().join("+")
            }
        };
        all.into_iter().map(|algorithms| Configuration { name: name(&algorithms), algorithms }).collect()
    }

    /// The script, and what it needs.
    pub fn files(&self) -> Vec<File> {
        let configurations = self.configurations();
        let mut files = Vec::new();
        if self.library == Library::OpenMpi {
            for one in &configurations {
                files.push(File { name: format!("{}.rules", one.name), text: self.rules(&one.algorithms) });
            }
        }
        files.push(File { name: SCRIPT.to_owned(), text: self.script(&configurations) });
        files
    }

    /// A file for `coll_tuned_dynamic_rules_filename`. A rule holds from its size up to that of the next one, the first one for all smaller
    /// communicators, too. Algorithm 0 leaves the choice to the library.
    fn rules(&self, algorithms: &[&str]) -> String {
        let number = |wanted: &str| {
            let mut known = self.collective.openmpi_algorithms.iter();
            known.find(|(_, name)| *name == wanted).map_or(0, |(number, _)| *number)
        };
        let mut sizes = BTreeMap::from([(1, (0, "as usual"))]);
        for ranks in &self.sizes {
            sizes.insert(ranks + 1, (0, "as usual"));
        }
        for (ranks, name) in self.sizes.iter().zip(algorithms) {
            sizes.insert(*ranks, (number(name), *name));
        }
        let Collective { openmpi, op, .. } = self.collective;
        let mut rules = format!("1 # collectives\n{openmpi} # {op}\n{} # sizes of communicators\n", sizes.len());
        for (ranks, (number, name)) in sizes {
            let _ = write!(rules, "{ranks} # ranks\n1 # sizes of messages\n0 {number} 0 0 # from 0 bytes: {name}\n");
        }
        rules
    }

    /// What is set for a configuration, in a shell.
    fn setting(&self, name: &str) -> String {
        match self.library {
            Library::OpenMpi => format!(
                "OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_dynamic_rules_filename=\"$here/{name}.rules\""
            ),
            Library::Mpich { .. } => format!("MPIR_CVAR_{}_INTRA_ALGORITHM={name}", self.collective.mpich),
        }
    }

    fn script(&self, configurations: &[Configuration]) -> String {
        let (op, through) = (self.collective.op, &self.through);
        let sizes = self.sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" and ");
        let scope = match self.library {
            Library::OpenMpi => format!("{op} on communicators of {sizes} ranks"),
            Library::Mpich { .. } => format!("{op} on all communicators (MPICH's variable knows no size)"),
        };
        let mut script = format!(
            "#!/bin/sh\n# Compares algorithms of {scope}.\n# Runs the program with each in turn, {} times, so that what else happens on the machine hits all alike.\n#\n#     sh {SCRIPT} mpirun -n 64 ./app\n\n\
             [ $# -gt 0 ] || {{ echo \"usage: sh $0 LAUNCHER ARGUMENTS...\" >&2; exit 2; }}\nset -e\nhere=$(cd \"$(dirname \"$0\")\" && pwd)\nrun=1\nwhile [ $run -le {} ]; do\n    {through} run -o \"$here/default-$run.db\" -- \"$@\"\n",
            self.runs, self.runs
        );
        for Configuration { name, .. } in configurations {
            let _ = writeln!(script, "    {} {through} run -o \"$here/{name}-$run.db\" -- \"$@\"", self.setting(name));
        }
        script += "    run=$((run + 1))\ndone\n";
        for Configuration { name, .. } in configurations {
            let _ = write!(
                script,
                "\necho \"== {name} against default\"\n{through} compare \"$here\"/default-*.db -- \"$here\"/{name}-*.db --top 5\n"
            );
        }
        if configurations.len() as u32 * self.runs > 1 {
            let _ = write!(script, "\necho \"== all\"\n{through} compare \"$here\"/*.db --top 5\n");
        }
        script
    }
}

pub const SCRIPT: &str = "compare.sh";

#[cfg(test)]
mod tests {
    use super::algorithms::find;
    use super::*;

    fn files(sizes: &[u64], library: Library) -> Vec<File> {
        let collective = find("MPI_Alltoallv").unwrap();
        let algorithms = super::algorithms(collective, library);
        Plan { collective, sizes: sizes.to_vec(), library, algorithms, runs: 5, through: "through".to_owned() }.files()
    }

    fn names(files: &[File]) -> Vec<&str> {
        files.iter().map(|file| file.name.as_str()).collect()
    }

    fn numbers(text: &str) -> Vec<String> {
        text.lines().map(|line| line.split('#').next().unwrap().trim().to_owned()).collect()
    }

    #[test]
    fn rules_hold_for_one_size() {
        let files = files(&[16], Library::OpenMpi);
        assert_eq!(names(&files), ["basic_linear.rules", "pairwise.rules", SCRIPT]);
        assert_eq!(
            numbers(&files[1].text),
            ["1", "4", "3", "1", "1", "0 0 0 0", "16", "1", "0 2 0 0", "17", "1", "0 0 0 0"]
        );
    }

    #[test]
    fn every_algorithm_is_tried_on_every_size() {
        let files = files(&[16, 17, 64], Library::OpenMpi);
        assert_eq!(files.len(), 8 + 1);
        assert_eq!(files[1].name, "16-basic_linear+17-basic_linear+64-pairwise.rules");
        assert_eq!(
            numbers(&files[1].text)[3..].chunks(3).map(|rule| format!("{} {}", rule[0], rule[2])).collect::<Vec<_>>(),
            ["1 0 0 0 0", "16 0 1 0 0", "17 0 1 0 0", "18 0 0 0 0", "64 0 2 0 0", "65 0 0 0 0"]
        );
        assert_eq!(files[8].text.matches(" against default").count(), 8);
        let of_one = super::tests::files(&[1], Library::OpenMpi);
        assert_eq!(numbers(&of_one[0].text)[2..6], ["2", "1", "1", "0 1 0 0"]);
        // Its variable knows no size.
        assert_eq!(names(&super::tests::files(&[16, 64], Library::Mpich { version: (4, 0) })), [SCRIPT]);
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
