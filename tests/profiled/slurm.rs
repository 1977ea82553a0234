//! Jobs under Slurm, on hosts that are namespaces of this machine (`tests/cluster/slurm.sh`). Heavy; root, and Debian's slurm-wlm and munge.
//!
//! `proctrack/cgroup`, which kills what outlives the tasks of a step, is tested where there is a freezer of cgroups of version 1.
//!
//! What works there with Debian's packages (Slurm 22.05): MPICH 4.0.2 under `srun --mpi=pmi2` (and `none`, which it takes as well, and
//! `mpiexec.mpich` inside an allocation), Open MPI 4.1.4 under `srun --mpi=pmix` (not `pmi2`, nor `none`) and by `mpirun` inside an
//! allocation.

use std::fs;
use std::path::PathBuf;

use common::{
    Cluster, Done, Mpi, Profile, Program, Run, check, check_profile, job_folder, library, root, shared_library, skip,
    target_folder, wait_for,
};
use tempfile::TempDir;

struct Slurm {
    cluster: Cluster,
    /// `$SLURM_CONF`.
    configuration: String,
}

/// A job's folder, and what is exported to all its processes.
struct Place<'a> {
    slurm: &'a Slurm,
    mpi: Mpi,
    folder: TempDir,
}

impl Slurm {
    /// Two nodes. Nothing where this system permits none, which is said.
    fn start(more: &[&str]) -> Option<Slurm> {
        // SAFETY: asks for a number.
        if unsafe { libc::geteuid() } != 0 {
            skip("Slurm's daemons need root");
            return None;
        }
        let cluster = Cluster::start(2)?;
        let script = root().join("tests/cluster/slurm.sh");
        let more: Vec<String> = more.iter().map(|line| format!("'{line}'")).collect();
        let done = cluster.on("login", &format!("'{}' 2 {}", script.display(), more.join(" ")));
        if done.status.code() == Some(77) {
            skip(done.stderr.trim_end());
            return None;
        }
        assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
        Some(Slurm { cluster, configuration: done.stdout.trim_end().to_owned() })
    }

    /// As real sites have it: what is left of a step is killed about 50 ms after its last task on a node.
    fn with_cgroups(more: &[&str]) -> Option<Slurm> {
        Slurm::start(&[&["ProctrackType=proctrack/cgroup"], more].concat())
    }

    /// The end of what Slurm's daemons say of themselves.
    fn log(&self) -> String {
        let of_host = |host: &String| self.cluster.on(host, "tail -n 20 /tmp/slurm*.log").stdout;
        self.cluster.hosts().iter().map(of_host).collect()
    }

    fn place(&self, mpi: Mpi) -> Place<'_> {
        Place { slurm: self, mpi, folder: job_folder() }
    }

    /// What commsee left on the hosts. A job's last processes may be a moment behind it.
    fn check_nothing_is_left(&self, context: impl Fn() -> String) {
        let left = || self.cluster.left_on_hosts();
        wait_for("end of clearing away", || left().is_empty().then_some(()), || format!("{:?}\n{}", left(), context()));
    }
}

impl Place<'_> {
    /// A shell's line on the login host, in the folder, with `$T` for `through` and `$S` for `srun` with what the MPI library needs.
    fn on(&self, line: &str) -> Done {
        self.slurm.cluster.on("login", &self.line(line))
    }

    fn line(&self, line: &str) -> String {
        let preload = match self.mpi {
            Mpi::OpenMpi => String::new(),
            _ => format!(
                "export LD_PRELOAD='{}:{}'\n",
                shared_library("unclosed").display(),
                shared_library("yield").display()
            ),
        };
        format!(
            "cd '{}'\nexport SLURM_CONF='{}' TRUTH_DIR=\"$PWD/truth\" COMMSEE_OUT=run-%j.db\n{preload}\
             export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_oob_tcp_if_include=10.77.0.0/24\n\
             export OMPI_MCA_mpi_yield_when_idle=1 T='{}' L='{}' S='srun --mpi={} -N2 -n4'\n{line}",
            self.folder.path().display(),
            self.slurm.configuration,
            target_folder().join("release/through").display(),
            library().display(),
            if self.mpi == Mpi::OpenMpi { "pmix" } else { "pmi2" },
        )
    }

    /// Writes a batch script with such lines, and gives its name.
    fn script(&self, line: &str) -> &'static str {
        fs::write(self.folder.path().join("truth/job.sh"), format!("#!/bin/bash\n{}\n", self.line(line)))
            .expect("a script");
        "truth/job.sh"
    }

    /// Submits such a script, and gives the job's number.
    fn submit(&self, options: &str, line: &str) -> String {
        let done = self.on(&format!("sbatch --parsable -N2 -n4 -o truth/output {options} {}", self.script(line)));
        assert!(done.status.success(), "{}", done.stderr);
        done.stdout.trim_end().to_owned()
    }

    /// Runs such a script to its end: the status of its line, in the worst of an array's tasks, with what was said.
    /// (`sbatch --wait` may look every 32 s only.)
    fn batch(&self, options: &str, line: &str) -> Done {
        let job = self.submit(options, &format!("{line}\necho $? >>truth/status"));
        self.wait_until_over(&job);
        let mut done = self.on("exit $(sort -n truth/status | tail -n 1)");
        done.stderr.push_str(&self.output());
        done
    }

    /// Until all ranks have come to the meeting point of `meet.h`.
    fn wait_until_met(&self) {
        let truth = self.folder.path().join("truth");
        let met = || (0..4).all(|rank| truth.join(format!("here-{rank}")).exists());
        wait_for("ranks that meet", || met().then_some(()), || self.output());
    }

    /// What the script said.
    fn output(&self) -> String {
        fs::read_to_string(self.folder.path().join("truth/output")).unwrap_or_default()
    }

    /// Until Slurm knows no more of the job.
    fn wait_until_over(&self, job: &str) {
        let line = format!("squeue -h -j {job} 2>/dev/null || true");
        wait_for("end of the job", || self.on(&line).stdout.is_empty().then_some(()), || self.output());
    }

    fn profiles(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path()).expect("the folder").map(|entry| entry.unwrap().path());
        let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "db")).collect();
        found.sort();
        found
    }

    /// The one profile, which bears the job's number, in the place where `Run` has it.
    fn into_run(self, done: Done) -> Run {
        let output = || format!("{}{}\n{}", done.stdout, done.stderr, self.output());
        let found = self.profiles();
        assert_eq!(found.len(), 1, "{found:?}: {}", output());
        let name = found[0].file_stem().unwrap().to_str().unwrap();
        assert!(name.strip_prefix("run-").is_some_and(|job| job.parse::<u32>().is_ok()), "{name}: {}", output());
        fs::rename(&found[0], self.folder.path().join("profile.db")).expect("a file");
        Run::of(self.mpi, 4, done, self.folder)
    }

    /// What this command makes of a job that did not end well.
    fn check_made_by(self, command: &str, context: &str) {
        assert_eq!(self.profiles(), Vec::<PathBuf>::new(), "{context}: {}", self.output());
        let made = self.on(command);
        assert!(made.status.success(), "{context}: {command}: {}\n{}", made.stderr, self.output());
        self.check_whole(context);
    }

    /// A job that did not end well: its profile is whole.
    fn check_whole(self, context: &str) {
        self.slurm.check_nothing_is_left(|| format!("{context}\n{}", self.output()));
        let done = self.on("true");
        let run = self.into_run(done);
        let profile = Profile::read(&run.profile_path());
        assert_eq!(profile.ranks.len(), 4, "{context}");
        assert!(profile.ranks.iter().all(|rank| rank.state != "finished"), "{context}");
        check_profile(&run, &profile);
        assert_eq!(run.left_behind(), Vec::<PathBuf>::new(), "{context}");
    }
}

/// A way for a job to end: what rank does what, options of `srun`, and what `scancel` is told of job JOB.
struct Way {
    how: &'static str,
    options: &'static str,
    cancel: &'static str,
}

/// MPICH over PMI-2 and Open MPI over PMIx.
const WAYS: [Way; 8] = [
    Way { how: "is-killed 1", options: "-K", cancel: "" },
    // The first task of its node; the others live on for a while.
    Way { how: "is-killed 0", options: "-K", cancel: "" },
    Way { how: "segfaults 1", options: "-K", cancel: "" },
    Way { how: "one-exits-3 3", options: "-K", cancel: "" },
    Way { how: "waits", options: "", cancel: "JOB" },
    Way { how: "waits", options: "", cancel: "-s TERM JOB.0" },
    Way { how: "waits", options: "", cancel: "JOB.0" },
    Way { how: "aborts-7", options: "", cancel: "" },
];

impl Way {
    /// The lines for it, with this in front of the program.
    fn line(&self, before: &str, program: &str) -> String {
        let started = format!("$S {} {before} '{program}' {}", self.options, self.how);
        if self.cancel.is_empty() {
            return started;
        }
        let job = "${SLURM_JOB_ID:-$(squeue -h -o %i)}";
        let cancel = self.cancel.replace("JOB", job);
        let met = "for r in 0 1 2 3; do until [ -e truth/here-$r ]; do sleep 0.02; done; done";
        format!("{started} & {met}; scancel {cancel}; wait $!")
    }
}

fn compiled(mpi: Mpi, program: &str) -> String {
    Program { name: program, link: Vec::new() }.compiled(mpi).display().to_string()
}

/// The lines that the documentation gives, by hand or in a batch script.
fn check_lines(slurm: &Slurm, is_batch: bool) {
    for mpi in Mpi::ALL {
        let program = compiled(mpi, "exits");
        // What is exported does not replace what is set already.
        let by_hand = "P=$L${LD_PRELOAD:+:$LD_PRELOAD}; unset LD_PRELOAD COMMSEE_OUT; \
                       $S --export=ALL,LD_PRELOAD=$P,COMMSEE_OUT=run-%j.db";
        let exec = format!("$S $T exec -- '{program}' returns");
        for line in [exec.clone(), format!("$T run -o run-%j.db -- {exec}"), format!("{by_hand} '{program}' returns")] {
            let place = slurm.place(mpi);
            let done = match is_batch {
                true => place.batch("", &line),
                false => place.on(&line),
            };
            assert!(done.status.success(), "{mpi}: {line}: {}{}{}", done.stdout, done.stderr, slurm.log());
            let run = place.into_run(done);
            check(&run);
            assert!(run.output().contains("the sum is 6\n"), "{mpi}: {line}: {}", run.output());
            let hosts: Vec<String> = run.profile().ranks.into_iter().map(|rank| rank.host).collect();
            assert!(hosts.iter().any(|host| host == "node1") && hosts.iter().any(|host| host == "node2"), "{hosts:?}");
            slurm.check_nothing_is_left(|| run.output());
        }
    }
}

/// Shards in a directory that all hosts share, and how they become a profile after the job.
const SHARED: (&str, &str) = ("export COMMSEE_DIR=$PWD/shards;", "$T recover -o run-%j.db shards");
/// Shards on the nodes, which are reached after the job.
const ON_NODES: (&str, &str) = ("", "$T recover --all-hosts --rsh vssh");

/// `scancel` of a job, and of a step, which leaves its batch script alive.
fn check_cancelled(slurm: &Slurm, (before, command): (&str, &str)) {
    for mpi in Mpi::ALL {
        for what in ["", ".0"] {
            let place = slurm.place(mpi);
            let job = place.submit("", &format!("{before} $S $T exec -- '{}' waits", compiled(mpi, "exits")));
            place.wait_until_met();
            assert!(place.on(&format!("scancel {job}{what}")).status.success());
            place.wait_until_over(&job);
            place.check_made_by(command, &format!("{mpi}: scancel JOB{what}"));
        }
    }
}

#[test]
#[ignore = "heavy: needs Slurm"]
fn srun_leaves_one_profile() {
    let Some(slurm) = Slurm::start(&[]) else { return };
    check_lines(&slurm, false);
    drop(slurm);
    let Some(slurm) = Slurm::with_cgroups(&[]) else { return };
    check_lines(&slurm, false);
}

#[test]
#[ignore = "heavy: needs Slurm"]
fn a_job_that_is_cancelled_loses_nothing() {
    let Some(slurm) = Slurm::start(&[]) else { return };
    check_cancelled(&slurm, SHARED);
    check_cancelled(&slurm, ON_NODES);
}

/// `/tmp` and `/dev/shm` of the job's own, on every node, which go with the job: shards in a shared directory do not.
#[test]
#[ignore = "heavy: needs Slurm"]
fn private_directories_of_a_job_change_nothing() {
    let Some(slurm) = Slurm::start(&["JobContainerType=job_container/tmpfs", "PrologFlags=contain"]) else { return };
    // `srun` by hand does not always wait for the prolog: "Nodes are still not ready", whatever the program.
    check_lines(&slurm, true);
    check_cancelled(&slurm, SHARED);
}

/// A launcher of its own inside the allocation, by `through run`.
#[test]
#[ignore = "heavy: needs Slurm"]
fn launchers_inside_an_allocation_leave_one_profile() {
    let Some(slurm) = Slurm::start(&[]) else { return };
    for mpi in Mpi::ALL {
        let launcher = if mpi == Mpi::OpenMpi { "mpirun.openmpi" } else { "mpiexec.mpich" };
        let place = slurm.place(mpi);
        let line = format!("$T run -o run-%j.db -- {launcher} -n 4 '{}' returns", compiled(mpi, "exits"));
        let done = place.batch("", &line);
        assert!(done.status.success(), "{mpi}: {}{}", done.stderr, place.output());
        assert!(place.output().contains("4 ranks on 2 hosts"), "{mpi}: {}", place.output());
        let run = place.into_run(done);
        check(&run);
        slurm.check_nothing_is_left(|| run.output());
    }
}

/// Each step, and each task of an array, has a profile of its own.
#[test]
#[ignore = "heavy: needs Slurm"]
fn steps_and_tasks_of_an_array_keep_apart() {
    let Some(slurm) = Slurm::start(&[]) else { return };
    for mpi in Mpi::ALL {
        let program = compiled(mpi, "exits");
        let place = slurm.place(mpi);
        let step = format!("$S $T exec -- '{program}' returns");
        let done = place.batch("", &format!("{step} && {step}"));
        assert!(done.status.success(), "{mpi}: {}{}", done.stderr, place.output());
        let of_steps = place.profiles();
        assert_eq!(of_steps.len(), 2, "{mpi}: {of_steps:?}\n{}", place.output());
        for profile in &of_steps {
            let profile = Profile::read(profile);
            assert_eq!((profile.ranks.len(), profile.total("MPI_Allreduce")), (4, 400), "{mpi}");
        }

        // Both at once: each has half of the processors.
        let place = slurm.place(mpi);
        let own = "mkdir truth/$SLURM_ARRAY_TASK_ID; TRUTH_DIR=$PWD/truth/$SLURM_ARRAY_TASK_ID";
        let done = place.batch("--array=1-2", &format!("{own} {step}"));
        assert!(done.status.success(), "{mpi}: {}{}", done.stderr, place.output());
        let of_tasks = place.profiles();
        assert_eq!(of_tasks.len(), 2, "{mpi}: {of_tasks:?}\n{}", place.output());
        for profile in &of_tasks {
            let profile = Profile::read(profile);
            assert_eq!((profile.ranks.len(), profile.total("MPI_Allreduce")), (4, 400), "{mpi}");
        }
        slurm.check_nothing_is_left(|| place.output());
    }
}

/// The shards stay on the nodes, and while the job has these, all can be had: by the next line of the batch script, and by `through run` itself.
#[test]
#[ignore = "heavy: needs Slurm"]
fn what_dead_ranks_leave_is_collected_in_the_allocation() {
    // Directories that go with the job: nobody else could have it.
    let own = ["JobContainerType=job_container/tmpfs", "PrologFlags=contain"];
    let Some(slurm) = Slurm::with_cgroups(&own) else { return };
    for mpi in Mpi::ALL {
        let program = compiled(mpi, "exits");
        // The whole job ends with its script.
        for way in WAYS.iter().filter(|way| way.cancel != "JOB") {
            let lines = [
                format!("{}\n$T recover --all-hosts", way.line("$T exec --", &program)),
                way.line("$T exec --", &program).replacen("$S", "$T run -o run-%j.db -- $S", 1),
            ];
            for line in lines {
                let place = slurm.place(mpi);
                place.batch("", &line);
                place.check_whole(&format!("{mpi}: {line}"));
            }
        }
    }
}

/// The same without a batch script: the allocation ends with the step, and Slurm gives no way to the nodes any more.
#[test]
#[ignore = "heavy: needs Slurm"]
fn what_dead_ranks_leave_without_a_script_stays_on_its_hosts() {
    let Some(slurm) = Slurm::with_cgroups(&[]) else { return };
    for mpi in Mpi::ALL {
        let program = compiled(mpi, "exits");
        for way in &WAYS {
            let place = slurm.place(mpi);
            place.on(&way.line("$T exec --", &program));
            let told = place.on("$T recover --all-hosts");
            let (said, context) = (&told.stderr, format!("{mpi}: {} {}", way.how, way.cancel));
            assert_eq!(told.status.code(), Some(1), "{context}: {said}");
            for words in ["shards of ranks 0-2 in /dev/shm", "shards of rank 3 in /dev/shm", "(srun: error: "] {
                assert!(said.contains(words), "{context}: {said}");
            }
            place.check_made_by(ON_NODES.1, &context);
        }
    }
}

/// Slurm's shortest limit is a minute.
#[test]
#[ignore = "heavy: needs Slurm"]
fn a_job_whose_time_is_up_loses_nothing() {
    let Some(slurm) = Slurm::start(&[]) else { return };
    check_time_limit(&slurm);
    drop(slurm);
    let Some(slurm) = Slurm::with_cgroups(&[]) else { return };
    check_time_limit(&slurm);
}

fn check_time_limit(slurm: &Slurm) {
    let places: Vec<_> = Mpi::ALL
        .into_iter()
        .map(|mpi| {
            let place = slurm.place(mpi);
            let line = format!("{} $S $T exec -- '{}' waits", SHARED.0, compiled(mpi, "exits"));
            let job = place.submit("-t 1", &line);
            place.wait_until_met();
            (place, job)
        })
        .collect();
    for (place, job) in places {
        place.wait_until_over(&job);
        let what = format!("{}: time limit", place.mpi);
        place.check_made_by(SHARED.1, &what);
    }
}
