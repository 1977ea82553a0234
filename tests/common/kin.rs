//! MPI libraries that have the ABI of one of Debian's: newer MPICHs and Intel MPI have MPICH's, and Open MPI 5 has Open MPI 4's.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::compile::{Program, programs};
use super::mpi::Mpi;
use super::paths::fetched;

/// Programs whose part for MPI 4 calls functions for large counts.
const WITH_LARGE_COUNTS: [&str; 2] = ["io", "rma"];

/// That of the hosts of a cluster.
pub const NETWORK: &str = "10.77.0.0/24";

/// One, unpacked with `lib` and `bin`.
#[derive(Clone)]
pub struct Kin {
    folder: PathBuf,
}

impl Kin {
    /// Those in the folder that `COMMSEE_KIN` names (`./test` fetches some), by their names.
    pub fn all() -> Vec<Kin> {
        let Some(folder) = fetched("COMMSEE_KIN") else { return Vec::new() };
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut kin: Vec<Kin> = entries.map(|entry| Kin { folder: entry.expect("an entry").path() }).collect();
        kin.sort_by_key(|kin| kin.folder.clone());
        kin
    }

    pub fn name(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8")
    }

    /// Whose ABI it has.
    pub fn mpi(&self) -> Mpi {
        if self.name().starts_with("openmpi-") { Mpi::OpenMpi } else { Mpi::Mpich }
    }

    pub fn is_intel(&self) -> bool {
        self.library("libmpi_ilp64.so.4").exists()
    }

    /// One of its libraries.
    pub fn library(&self, file: &str) -> PathBuf {
        self.folder.join("lib").join(file)
    }

    /// The file that its programs load.
    pub fn mpi_library(&self) -> PathBuf {
        self.library(if self.mpi() == Mpi::OpenMpi { "libmpi.so.40" } else { "libmpi.so.12" })
    }

    /// A C program of `tests/programs/` for it.
    pub fn compiled(&self, name: &str) -> PathBuf {
        self.compiled_with(name, &[])
    }

    /// The same with more to link. Debian's `mpi.h` serves all of MPICH's ABI; Open MPI 5 has one of its own, with functions of MPI 4
    /// (`mpi4.h`).
    pub fn compiled_with(&self, name: &str, more: &[&str]) -> PathBuf {
        let folder = self.folder.display();
        let mut link: Vec<String> = more.iter().map(|flag| (*flag).to_owned()).collect();
        link.extend([format!("-L{folder}/lib"), "-Wl,--allow-shlib-undefined".to_owned()]);
        match self.mpi() {
            Mpi::OpenMpi => {
                link.extend([format!("-I{folder}/include"), "-l:libmpi.so.40".to_owned()]);
                if !self.name().starts_with("openmpi-4") && !WITH_LARGE_COUNTS.contains(&name) {
                    link.extend(["-include".to_owned(), programs().join("mpi4.h").display().to_string()]);
                }
                Program { name, link }.compiled_by("cc", self.name(), &[])
            }
            mpi => {
                // The compiler's command adds Debian's library behind.
                link.extend(["-l:libmpi.so.12", "-Wl,--as-needed"].map(str::to_owned));
                Program { name, link }.compiled(mpi)
            }
        }
    }

    /// What it finds its parts by.
    fn environment(&self) -> Vec<(String, String)> {
        let folder = self.folder.display().to_string();
        let root = if self.mpi() == Mpi::OpenMpi { "OPAL_PREFIX" } else { "I_MPI_ROOT" };
        let libraries = self.folder.join("lib").display().to_string();
        [(root, folder), ("LD_LIBRARY_PATH", libraries)].map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    fn command(&self) -> PathBuf {
        self.folder.join(if self.mpi() == Mpi::OpenMpi { "bin/mpirun" } else { "bin/mpiexec" })
    }

    /// The names that its launcher's process may have.
    pub fn launcher_names(&self) -> &'static [&'static str] {
        if self.mpi() == Mpi::OpenMpi { &["mpirun", "prterun"] } else { &["mpiexec", "mpiexec.hydra"] }
    }

    /// As [`Mpi::launcher`].
    pub fn launcher(&self, ranks: usize, preload: &[&Path]) -> Command {
        let list: Vec<&str> = preload.iter().map(|path| path.to_str().expect("a path in UTF-8")).collect();
        let list = list.join(":");
        let mut command = Command::new(self.command());
        command.envs(self.environment());
        if self.mpi() == Mpi::OpenMpi {
            command.env("OMPI_MCA_mpi_yield_when_idle", "1").env("OMPI_MCA_mtl", "^ofi,psm,psm2");
            command.args(["--oversubscribe", "--allow-run-as-root"]);
        }
        command.args(["-n", &ranks.to_string()]);
        if !list.is_empty() {
            match self.mpi() {
                Mpi::OpenMpi => command.args(["-x", &format!("LD_PRELOAD={list}")]),
                _ => command.args(["-genv", "LD_PRELOAD", &list]),
            };
        }
        command
    }

    /// The same over hosts of a [`Cluster`](super::Cluster), with so many ranks each: the variables for the launcher, and its words up to
    /// the ranks' own variables. `vssh`: the command that reaches a host; `order`: as [`Job::ordered`](super::Job::ordered) takes it.
    pub fn over_hosts(
        &self,
        vssh: &str,
        hosts: &[(String, usize)],
        order: Option<&Path>,
    ) -> (Vec<(String, String)>, Vec<String>) {
        let folder = self.folder.display().to_string();
        let named = |(host, ranks): &(String, usize)| match self.is_intel() {
            true => vec![host.clone(); *ranks].join(","),
            false => format!("{host}:{ranks}"),
        };
        let hosts = hosts.iter().map(named).collect::<Vec<_>>().join(",");
        let order = order.map(|file| file.to_str().expect("a path in UTF-8"));
        let mapping = order.map_or("slot".to_owned(), |file| format!("rankfile:file={file}"));
        let variables = match self.mpi() {
            Mpi::OpenMpi => vec![
                ("PRTE_MCA_plm_ssh_agent", vssh),
                ("PRTE_MCA_prte_if_include", NETWORK),
                ("PMIX_MCA_ptl_tcp_if_include", NETWORK),
                ("OMPI_MCA_btl", "tcp,self"),
                ("OMPI_MCA_btl_tcp_if_include", NETWORK),
                ("OMPI_MCA_mpi_yield_when_idle", "1"),
            ],
            _ if self.is_intel() => vec![
                ("I_MPI_HYDRA_BOOTSTRAP", "ssh"),
                ("I_MPI_HYDRA_BOOTSTRAP_EXEC", vssh),
                // It comes without a library for networks, and finds Debian's.
                ("I_MPI_FABRICS", "ofi"),
                ("FI_PROVIDER", "tcp"),
                ("FI_TCP_IFACE", "eth0"),
            ],
            // Over UCX 4.3.2 hangs, without commsee as well.
            _ => vec![("MPIR_CVAR_CH4_NETMOD", "ofi"), ("FI_PROVIDER", "tcp")],
        };
        let mut words = match self.mpi() {
            Mpi::OpenMpi => vec!["--allow-run-as-root", "--prefix", &folder, "-H", &hosts, "--map-by", &mapping],
            _ if self.is_intel() => Vec::new(),
            _ => vec!["-launcher", "ssh", "-launcher-exec", vssh],
        };
        match (self.mpi(), order) {
            (Mpi::OpenMpi, None) => words.extend(["--bind-to", "none"]),
            (Mpi::OpenMpi, Some(_)) => {}
            (_, Some(file)) => words.extend(["-machinefile", file]),
            (_, None) if self.is_intel() => words.extend(["-ppn", "1", "-hosts", &hosts]),
            (_, None) => words.extend(["-hosts", &hosts]),
        }
        let mut environment = self.environment();
        environment.extend(variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
        let command = self.command().display().to_string();
        (environment, std::iter::once(command).chain(words.into_iter().map(str::to_owned)).collect())
    }
}
