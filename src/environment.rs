//! The environment variables that configure the MPI library and the layers below: a profile keeps them, so that runs with different ones are
//! told apart. It keeps no others, and none that launchers set for themselves or that may be secrets.

/// What is kept of `NAME=value`: paths fit.
pub const MOST_BYTES: usize = 1024;
/// What is kept of a process's settings.
pub const MOST_SETTINGS: usize = 256;

/// Names begin with one of these.
pub const FAMILIES: [&str; 10] =
    ["OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "MPIR_CVAR_", "MPICH_", "I_MPI_", "UCX_", "FI_", "NCCL_", "CCL_"];

/// Whole names. Slurm's lists of processors differ from node to node: each rank's own are kept instead.
pub const NAMES: [&str; 7] = [
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "SLURM_CPU_BIND_TYPE",
    "SLURM_CPUS_PER_TASK",
    "SLURM_DISTRIBUTION",
    "SLURM_HINT",
];

/// What begins so was not set by the user, or only says where something is. Found by comparing the environment of ranks with that of the shell, under
/// Open MPI 4.1 (`mpirun`, and `MPI_Init` of a singleton) and MPICH 4.0; those of Open MPI 5, Intel MPI, NCCL and oneCCL by their documentation.
const OF_LAUNCHERS: [&str; 26] = [
    "OMPI_MCA_ess",
    "OMPI_MCA_initial_wdir",
    "OMPI_MCA_mpi_oversubscribe",
    "OMPI_MCA_orte_",
    "OMPI_MCA_plm",
    "OMPI_MCA_pmix",
    "OMPI_MCA_prte_",
    "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
    "PMIX_MCA_mca_base_component_show_load_errors",
    "PMIX_MCA_psec",
    "PRTE_MCA_ess",
    "PRTE_MCA_plm",
    "PRTE_MCA_pmix",
    "PRTE_MCA_prte_",
    "MPIR_CVAR_CH3_INTERFACE_HOSTNAME",
    "MPICH_INTERFACE_HOSTNAME",
    "I_MPI_HYDRA_",
    "I_MPI_INFO_",
    "I_MPI_MPIRUN",
    "I_MPI_ROOT",
    "NCCL_COMM_ID",
    // The module nccl sets it.
    "NCCL_PROFILER_PLUGIN",
    "CCL_CONFIGURATION_PATH",
    "CCL_KVS_IP_",
    "CCL_LOCAL_",
    "CCL_ROOT",
];

/// A name that has one of these may be of a secret.
const SECRET: [&str; 8] = ["TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "COOKIE", "CREDENTIAL", "CERT"];

/// Whether a variable is a setting: then its name is a key of the metadata, too.
pub fn is_setting(name: &str) -> bool {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let upper = name.to_ascii_uppercase();
    (begins(&FAMILIES) || NAMES.contains(&name))
        && !begins(&OF_LAUNCHERS)
        && !SECRET.iter().any(|word| upper.contains(word))
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The settings among variables, as `NAME=value`, in the order of their names.
pub fn settings(variables: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let text = |(name, value): (String, String)| {
        // A line in the profile is one value, and a tab stands behind its ranks.
        let value = value.replace(|character: char| character.is_control(), " ");
        let mut text = format!("{name}={value}");
        let cut = (0..=MOST_BYTES.min(text.len())).rfind(|at| text.is_char_boundary(*at));
        text.truncate(cut.unwrap_or(0));
        text
    };
    let mut settings: Vec<String> = variables.filter(|(name, _)| is_setting(name)).map(text).collect();
    settings.sort_unstable();
    settings.truncate(MOST_SETTINGS);
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_are_kept() {
        let variables = [
            ("UCX_TLS", "self,sysv\nrc"),
            ("OMPI_MCA_coll_tuned_alltoallv_algorithm", "1"),
            ("OMPI_MCA_orte_hnp_uri", "345899008.0;tcp://192.0.2.2:33837"),
            ("OMPI_MCA_orte_precondition_transports", "bb7717504ae47422-a9b132d7a9a5eb89"),
            ("OMPI_MCA_ess_base_jobid", "345899009"),
            ("PMIX_MCA_psec", "native"),
            ("PMIX_RANK", "0"),
            ("OMPI_COMM_WORLD_RANK", "0"),
            ("MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "node7"),
            ("NCCL_API_TOKEN", "1234"),
            ("FI_CXI_AUTH_KEY", "1234"),
            ("I_MPI_secret", "1234"),
            ("OMP_PLACES", "cores"),
            ("OMP_STACKSIZE", "1G"),
            ("HOME", "/root"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
        ];
        let owned = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(
            settings(owned.into_iter()),
            ["OMPI_MCA_coll_tuned_alltoallv_algorithm=1", "OMP_PLACES=cores", "UCX_TLS=self,sysv rc"]
        );
    }

    #[test]
    fn values_are_cut() {
        let long = ("UCX_TLS".to_owned(), "ä".repeat(MOST_BYTES));
        let text = &settings([long].into_iter())[0];
        assert!(text.len() <= MOST_BYTES && text.len() >= MOST_BYTES - 1 && text.starts_with("UCX_TLS=ä"));
    }
}
