//! The batch job that a process belongs to, as the batch system tells it in environment variables.

use std::env;

/// How one batch system tells a job. An empty name: it does not tell that.
struct System {
    name: &'static str,
    /// The first of them that is set is the job's id.
    id: &'static [&'static str],
    /// Set in the tasks of an array of jobs: the number of the task, and the id of the array where it is not the job's.
    task: &'static str,
    array: &'static str,
    step: &'static str,
    /// The step's name of what the batch script starts by itself.
    no_step: &'static str,
    nodes: &'static str,
}

/// In a job within a job (Flux in an allocation of Slurm) the outer one counts, which people know by its id.
const SYSTEMS: [System; 8] = [
    // Components of a heterogeneous job have ids of their own: the first one's is the job's.
    System {
        name: "Slurm",
        id: &["SLURM_JOB_ID_HET_GROUP_0", "SLURM_JOB_ID"],
        task: "SLURM_ARRAY_TASK_ID",
        array: "SLURM_ARRAY_JOB_ID",
        step: "SLURM_STEP_ID",
        no_step: "batch",
        nodes: "SLURM_JOB_NUM_NODES",
    },
    // The id names the task itself: 1234[7].server.
    System { name: "PBS", id: &["PBS_JOBID"], nodes: "PBS_NUM_NODES", ..UNKNOWN },
    System { name: "LSF", id: &["LSB_JOBID"], task: "LSB_JOBINDEX", ..UNKNOWN },
    System { name: "Flux", id: &["FLUX_JOB_ID"], nodes: "FLUX_JOB_NNODES", ..UNKNOWN },
    System { name: "Cobalt", id: &["COBALT_JOBID"], nodes: "COBALT_JOBSIZE", ..UNKNOWN },
    System { name: "PJM", id: &["PJM_JOBID"], task: "PJM_BULKNUM", nodes: "PJM_NODE", ..UNKNOWN },
    System { name: "OAR", id: &["OAR_JOB_ID"], ..UNKNOWN },
    // Last, since other software sets a variable of this name as well.
    System { name: "Grid Engine", id: &["JOB_ID"], task: "SGE_TASK_ID", nodes: "NHOSTS", ..UNKNOWN },
];

const UNKNOWN: System = System { name: "", id: &[], task: "", array: "", step: "", no_step: "", nodes: "" };

/// What stands for the id where there is no batch job, and for the step where jobs have none.
const NONE: &str = "0";

/// All empty outside of batch jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// The batch system's name.
    pub system: String,
    /// As the batch system's commands take it; of a task of an array `ARRAY_TASK`.
    pub id: String,
    pub step: String,
    /// The number of the task in an array of jobs.
    pub task: String,
    /// Nodes of the job; 0 where it is not known.
    pub nodes: u32,
}

impl Job {
    /// Of this process.
    pub fn of_environment() -> Job {
        Job::told(|name| env::var(name).ok())
    }

    fn told(variable: impl Fn(&str) -> Option<String>) -> Job {
        let told = |name: &str| Some(name).filter(|name| !name.is_empty()).and_then(&variable);
        let set = |name: &str| told(name).filter(|value| !value.is_empty());
        let job = SYSTEMS.iter().find_map(|system| Some((system, system.id.iter().find_map(|name| set(name))?)));
        let Some((system, id)) = job else { return Job::default() };
        // 0 (LSF) and "undefined" (Grid Engine): not of an array. Slurm counts from 0, and tells it by the array's id.
        let is_task = |task: &String| !system.array.is_empty() || !["0", "undefined"].contains(&task.as_str());
        let task = set(system.task).filter(is_task).unwrap_or_default();
        let id = match task.as_str() {
            "" => id,
            task => format!("{}_{task}", set(system.array).unwrap_or(id)),
        };
        Job {
            system: system.name.to_owned(),
            id: plain(&id),
            step: plain(&set(system.step).unwrap_or_else(|| system.no_step.to_owned())),
            task: plain(&task),
            nodes: set(system.nodes).and_then(|nodes| nodes.parse().ok()).unwrap_or(0),
        }
    }

    /// For the name of a file.
    pub fn id_or_none(&self) -> &str {
        if self.id.is_empty() { NONE } else { &self.id }
    }

    pub fn step_or_none(&self) -> &str {
        if self.step.is_empty() { NONE } else { &self.step }
    }

    /// `1234`, with its step where the batch system has steps: `1234.0`. Nothing outside of batch jobs.
    pub fn title(&self) -> Option<String> {
        match (self.id.as_str(), self.step.as_str()) {
            ("", _) => None,
            (id, "") => Some(id.to_owned()),
            (id, step) => Some(format!("{id}.{step}")),
        }
    }
}

/// What can stand in the name of a file without surprise: `1234[7].server` becomes `1234_7.server`.
fn plain(text: &str) -> String {
    let text = text.replace(']', "");
    let is_plain = |c: char| c.is_alphanumeric() || "_.-+@:,".contains(c);
    text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(variables: &[(&str, &str)]) -> (String, String, String, u32) {
        let value =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let job = Job::told(value);
        (job.system.clone(), job.title().unwrap_or_default(), job.task, job.nodes)
    }

    fn is(system: &str, title: &str, task: &str, nodes: u32) -> (String, String, String, u32) {
        (system.to_owned(), title.to_owned(), task.to_owned(), nodes)
    }

    #[test]
    fn slurm_names_jobs_steps_arrays_and_components() {
        let job = [("SLURM_JOB_ID", "17"), ("SLURM_JOB_NUM_NODES", "2")];
        assert_eq!(told(&job), is("Slurm", "17.batch", "", 2));
        let step = [("SLURM_STEP_ID", "0")];
        assert_eq!(told(&[&job[..], &step].concat()), is("Slurm", "17.0", "", 2));
        let array = [("SLURM_ARRAY_JOB_ID", "16"), ("SLURM_ARRAY_TASK_ID", "0")];
        assert_eq!(told(&[&job[..], &step, &array].concat()), is("Slurm", "16_0.0", "0", 2));
        let component = [("SLURM_JOB_ID", "18"), ("SLURM_JOB_ID_HET_GROUP_0", "17"), ("SLURM_STEP_ID", "3")];
        assert_eq!(told(&component), is("Slurm", "17.3", "", 0));
    }

    #[test]
    fn other_batch_systems_name_tasks_in_their_own_ways() {
        assert_eq!(told(&[("PBS_JOBID", "12[7].head")]), is("PBS", "12_7.head", "", 0));
        assert_eq!(told(&[("LSB_JOBID", "5"), ("LSB_JOBINDEX", "0")]), is("LSF", "5", "", 0));
        assert_eq!(told(&[("LSB_JOBID", "5"), ("LSB_JOBINDEX", "3")]), is("LSF", "5_3", "3", 0));
        assert_eq!(told(&[("JOB_ID", "5"), ("SGE_TASK_ID", "undefined")]), is("Grid Engine", "5", "", 0));
        assert_eq!(told(&[("JOB_ID", "5"), ("SGE_TASK_ID", "1")]), is("Grid Engine", "5_1", "1", 0));
        assert_eq!(told(&[("FLUX_JOB_ID", "\u{192}5x"), ("SLURM_JOB_ID", "")]), is("Flux", "\u{192}5x", "", 0));
    }

    #[test]
    fn no_job_has_no_name_and_none_leads_elsewhere() {
        assert_eq!(told(&[]), is("", "", "", 0));
        assert_eq!((Job::default().id_or_none(), Job::default().step_or_none()), ("0", "0"));
        assert_eq!(told(&[("JOB_ID", "../a b")]).1, ".._a_b");
    }
}
