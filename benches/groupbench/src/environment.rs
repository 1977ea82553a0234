//! What a measurement was made in: without it nobody can repeat or compare it.

use std::collections::BTreeMap;
use std::env;
use std::fs;

/// Prefixes of variables that steer MPI libraries and their transports.
const PREFIXES: [&str; 12] = [
    "OMPI_MCA_",
    "PMIX_MCA_",
    "UCX_",
    "MPIR_CVAR_",
    "MPICH_",
    "I_MPI_",
    "MV2_",
    "FI_",
    "PSM2_",
    "NCCL_",
    "HCOLL_",
    "OMP_",
];
/// Variables of launchers, which differ from job to job.
const LEFT_OUT: [&str; 4] =
    ["OMPI_MCA_ess_base_", "OMPI_MCA_orte_", "PMIX_MCA_mca_base_component_show_load_errors", "OMPI_MCA_initial_wdir"];

/// Of this process; rank 0's is kept. `library`: what MPI_Get_library_version says.
pub fn of_process(library: &str) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut say = |key: &str, value: Option<String>| {
        if let Some(value) = value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty()) {
            facts.insert(key.to_owned(), value);
        }
    };
    let (name, version) = shortened(library);
    say("mpi", Some(name));
    say("mpi_library", Some(version));
    say("compiler", Some(env!("GROUPBENCH_MPICC").to_owned()));
    say("groupbench", Some(env!("CARGO_PKG_VERSION").to_owned()));
    let cpu_info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu_info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    say("cpu", model.map(|(_, name)| name.to_owned()));
    say("cpus", std::thread::available_parallelism().ok().map(|count| count.to_string()));
    say("kernel", fs::read_to_string("/proc/sys/kernel/osrelease").ok());
    say("governor", fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").ok());
    say("huge_pages", fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok());
    say("load", fs::read_to_string("/proc/loadavg").ok());
    for (name, value) in env::vars_os() {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        let is_of_launcher = LEFT_OUT.iter().any(|prefix| name.starts_with(prefix));
        if PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !is_of_launcher {
            say(&name, Some(value.into_owned()));
        }
    }
    facts
}

/// Name and version, and the first lines: some libraries go on with how they were configured.
fn shortened(library: &str) -> (String, String) {
    let library = library.trim_end_matches('\0').trim();
    let lines: Vec<String> =
        library.lines().take(4).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let first = lines.first().map_or("", String::as_str);
    let name = first.split(", ").next().unwrap_or_default().replace(" Version:", "");
    (name, lines.join("; "))
}

/// Processors that this process may run on.
pub fn cpus() -> Vec<u32> {
    // SAFETY: a set of zeroes is an empty one; the call writes into it.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        set
    };
    // SAFETY: within the set.
    (0..libc::CPU_SETSIZE as u32).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu as usize, &set) }).collect()
}

/// `0-3,8`.
pub fn cpu_list(cpus: &[u32]) -> String {
    let mut ranges = Vec::<(u32, u32)>::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    commsee::ranks::format_ranges(&ranges)
}

/// The NUMA domain of the first processor.
pub fn numa_domain(cpus: &[u32]) -> Option<u32> {
    let first = cpus.first()?;
    let entries = fs::read_dir(format!("/sys/devices/system/cpu/cpu{first}")).ok()?;
    entries.flatten().find_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok())
}

/// The package of the first processor.
pub fn socket(cpus: &[u32]) -> Option<u32> {
    let first = cpus.first()?;
    let path = format!("/sys/devices/system/cpu/cpu{first}/topology/physical_package_id");
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Processors' worth of time that a container may take, where that is limited (cgroup 2).
pub fn quota() -> Option<f64> {
    let text = fs::read_to_string("/sys/fs/cgroup/cpu.max").ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

/// Whether some ranks have to share a processor. `ranks`: host and processors of each; `quota`: of each host's container.
pub fn is_oversubscribed(ranks: &[(usize, Vec<u32>)], quota: Option<f64>) -> bool {
    let mut hosts = BTreeMap::<usize, Vec<&Vec<u32>>>::new();
    for (host, cpus) in ranks {
        hosts.entry(*host).or_default().push(cpus);
    }
    hosts.values().any(|sets| {
        let mut all: Vec<u32> = sets.iter().flat_map(|cpus| cpus.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        // Those that are bound to the same few processors.
        let is_crowded = |set: &Vec<u32>| sets.iter().filter(|other| ***other == *set).count() > set.len();
        sets.len() > all.len()
            || sets.iter().any(|set| is_crowded(set))
            || quota.is_some_and(|quota| sets.len() as f64 > quota)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_share_a_processor_are_seen() {
        let both = vec![0, 1];
        assert!(!is_oversubscribed(&[(0, both.clone()), (0, both.clone())], None));
        assert!(is_oversubscribed(&[(0, both.clone()), (0, both.clone()), (0, both.clone())], None));
        assert!(is_oversubscribed(&[(0, vec![1]), (0, vec![1])], None), "bound to one");
        assert!(!is_oversubscribed(&[(0, vec![1]), (7, vec![1])], None), "of two hosts");
        assert!(is_oversubscribed(&[(0, both.clone()), (0, both)], Some(1.5)), "of a small container");
    }

    #[test]
    fn libraries_say_their_names() {
        let (name, version) = shortened(
            "MPICH Version:\t4.0.2\nMPICH Release date:\tThu\nMPICH ABI:\t14:2:2\nMPICH Device:\tch4\nMPICH configure:\t--x\n\0",
        );
        assert_eq!(name, "MPICH 4.0.2");
        assert!(version.ends_with("MPICH Device: ch4"), "{version}");
        assert_eq!(shortened("Open MPI v4.1.4, package: Debian, ident: 4.1.4").0, "Open MPI v4.1.4");
    }

    #[test]
    fn processors_are_written_as_ranges() {
        assert_eq!(cpu_list(&[0, 1, 2, 5]), "0-2,5");
        assert_eq!(cpu_list(&[]), "");
    }
}
