//! What is told of the run as a whole.

use std::collections::BTreeMap;

use super::Tables;
use crate::buckets::Buckets;
use crate::profile::utc::utc;
use crate::shard;
use crate::stream::Run;

impl Tables<'_> {
    pub(super) fn meta(&self, run: &Run, buckets: &Buckets) -> BTreeMap<&str, String> {
        let header = &run.header;
        let hex = |words: [u64; 2]| format!("{:016x}{:016x}", words[0], words[1]);
        let mut meta = BTreeMap::from([
            ("commsee_version", env!("CARGO_PKG_VERSION").to_owned()),
            ("command", shard::text(&header.command)),
            ("start_time", utc(header.start_realtime_ns)),
            ("end_time", utc(run.end_realtime_ns)),
            ("mpi_library", shard::text(&header.library)),
            ("mpi_family", ["unknown", "openmpi", "mpich", "mpi5"][(header.family as usize).min(3)].to_owned()),
            ("mpi_version", format!("{}.{}", header.mpi_version[0], header.mpi_version[1])),
            ("ranks", header.world_size.to_string()),
            ("ranks_recorded", run.ranks.to_string()),
            ("hosts", self.hosts.len().to_string()),
            ("detail", self.detail.name().to_owned()),
            ("bucket_edges", buckets.to_string()),
            ("clock", ["unknown", "tsc", "virtual counter", "monotonic"][(header.clock as usize).min(3)].to_owned()),
            ("clock_ns_per_tick", run.ns_per_tick.to_string()),
            (
                "thread_level",
                ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"]
                    [(header.thread_level as usize).min(3)]
                .to_owned(),
            ),
            ("options", shard::text(&header.options)),
            ("run", hex(header.run)),
            ("launch", if header.launch == [0, 0] { String::new() } else { hex(header.launch) }),
        ]);
        meta.extend(self.told.programs().map(|programs| ("programs", programs)));
        meta.extend(self.told.settings(run.ranks));
        let job = header.job();
        let nodes = if job.nodes > 0 { job.nodes.to_string() } else { String::new() };
        let of_job = [
            ("batch_system", job.system),
            ("job", job.id),
            ("job_step", job.step),
            ("job_task", job.task),
            ("job_nodes", nodes),
        ];
        meta.extend(of_job.into_iter().filter(|(_, value)| !value.is_empty()));
        if header.processors > 0 {
            meta.insert("processors", header.processors.to_string());
        }
        let hidden = shard::text(&header.hidden);
        if !hidden.is_empty() {
            meta.insert("hidden_calls", hidden);
        }
        if run.lost_calls > 0 {
            meta.insert("lost_calls", run.lost_calls.to_string());
        }
        if run.damaged > 0 {
            meta.insert("damaged_entries", run.damaged.to_string());
        }
        meta
    }
}
