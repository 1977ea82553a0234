//! Which allocations copies read and wrote, on a stand-in for CUPTI, and over UCX on a stand-in for the driver.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::{gpu, ucx_device};
use common::{Launch, Mpi, Program, Run, answer, execute, hook, shared_library, source, through};

fn launch(mpi: Mpi) -> Launch {
    let standin = shared_library("standin_cupti").display().to_string();
    let program = Program { name: "objects", link: vec![standin.clone()] }.compiled(mpi);
    let launch = Launch::of(mpi, program).ranks(2).variable("COMMSEE_CUPTI", &standin);
    gpu::counted(launch).variable("COMMSEE_SITES", "1").variable("COMMSEE_PASS_OVER", "standin_cu*.so")
}

/// The rows of `layers --by object`: layer, source, target, function, calls, bytes. An object is the variable that its line of the program
/// assigns, with its memory, its allocations and their bytes.
fn moves(run: &Run, program: &str) -> Vec<String> {
    let mut command = Command::new(through());
    command.args(["layers", "--by", "object", "--top", "0", "--format", "json"]).arg(run.profile_path());
    let told = execute(&mut command);
    let document: Value = serde_json::from_str(&told.stdout).unwrap_or_else(|_| panic!("{}", told.stderr));
    let text = std::fs::read_to_string(source(program)).expect("the program");
    let end = |row: &Value, end: &str| {
        let memory = row[format!("{end}_memory")].as_str().expect("memory").to_owned();
        let Some(line) = row[end].as_str() else { return memory };
        let line = line.strip_prefix(&format!("{program}.c:")).and_then(|line| line.parse::<usize>().ok());
        let line = text.lines().nth(line.unwrap_or_else(|| panic!("{row}")) - 1).expect("a line");
        let name = line.split(" = ").next().expect("a variable").trim().to_owned();
        let [made, bytes] = ["allocations", "allocated"].map(|what| row[format!("{end}_{what}")].to_string());
        format!("{name} {memory} {made} {bytes}")
    };
    let row = |row: &Value| {
        let [source, target] = ["source", "target"].map(|name| end(row, name));
        let [layer, function] = ["layer", "function"].map(|name| row[name].as_str().expect(name));
        format!("{layer}: {source} > {target}: {function} {} {}", row["calls"], row["bytes"])
    };
    let mut rows: Vec<String> = document["moves"].as_array().expect("moves").iter().map(row).collect();
    rows.sort();
    rows
}

const FIELD: &str = "field[at] device 6 50331648";
const HALO: &str = "halo pinned 2 131072";

#[test]
fn copies_belong_to_what_they_read_and_write() {
    for mpi in Mpi::ALL {
        let run = launch(mpi).run().succeeded();
        let row = |source: &str, target: &str, function: &str, calls: u64, bytes: u64| {
            format!("gpu: {source} > {target}: {function} {} {}", 2 * calls, 2 * bytes)
        };
        let mut wanted = vec![
            row(HALO, FIELD, "HtoD", 5, 5 * 65536),
            row("pageable", FIELD, "HtoD", 1, 100),
            row(FIELD, HALO, "DtoH", 1, 640),
            row(FIELD, "pageable", "DtoH", 1, 64),
            // In a call of MPI.
            row(FIELD, FIELD, "DtoD", 1, 1000),
            row("pageable", "device", "HtoD", 2, 30),
            row(FIELD, "uint64_t again device 2 1024", "DtoD", 1, 512),
        ];
        wanted.sort();
        assert_eq!(moves(&run, "objects"), wanted, "{mpi}");
        let allocated = "SELECT function, memory, role, sum(calls), sum(bytes) FROM transfers WHERE layer = 'gpu-alloc' GROUP BY 1, 2, 3 ORDER BY 1";
        let wanted = [
            "cuMemAllocManaged|managed||2|2097152",
            "cuMemAlloc_v2|device||10|50333696",
            "cuMemHostAlloc|pinned||2|131072",
        ];
        assert_eq!(answer(&run.profile_path(), allocated), wanted, "{mpi}");
        let in_call = "SELECT o.name, x.source_object = x.target_object FROM transfer x JOIN operation o ON o.id = x.op \
                       WHERE x.bytes = 1000 AND x.source_object > 0";
        assert_eq!(answer(&run.profile_path(), in_call), ["MPI_Comm_free|1", "MPI_Comm_free|1"], "{mpi}");
    }
}

/// Without call sites nothing is an object; allocations are counted all the same.
#[test]
fn without_sites_there_are_no_objects() {
    for mpi in Mpi::ALL {
        let run = launch(mpi).variable("COMMSEE_SITES", "0").run().succeeded();
        let objects = "SELECT count(*) FROM transfer WHERE source_object > 0 OR target_object > 0";
        assert_eq!(answer(&run.profile_path(), objects), ["0"], "{mpi}");
        let allocations = "SELECT sum(calls) FROM transfers WHERE layer = 'gpu-alloc'";
        assert_eq!(answer(&run.profile_path(), allocations), ["14"], "{mpi}");
        let mut command = Command::new(through());
        let told = execute(command.args(["layers", "--by", "object"]).arg(run.profile_path()));
        assert!(told.stderr.contains("has no objects") && told.status.code() == Some(1), "{}", told.stderr);
    }
}

/// Beyond them memory has no object, and that is said.
#[test]
fn so_many_live_allocations_are_known() {
    for mpi in Mpi::ALL {
        let run = launch(mpi).arguments(&["many"]).run().succeeded();
        let allocations =
            "SELECT sum(calls), sum(bytes) FROM transfers WHERE layer = 'gpu-alloc' AND function = 'cuMemHostAlloc'";
        assert_eq!(answer(&run.profile_path(), allocations), ["40002|771072"], "{mpi}");
        let notes = "SELECT text, ranks FROM notes WHERE text LIKE '%live%'";
        let note = "more than 16384 live allocations: copies of others have no object|2";
        assert_eq!(answer(&run.profile_path(), notes), [note], "{mpi}");
    }
}

/// The driver moves them, in no call of the program's.
#[test]
fn pages_of_managed_memory_are_counted_where_it_is_wanted() {
    for mpi in Mpi::ALL {
        let rows = "SELECT o.name, w.function, w.protocol, w.device, x.source_object > 0 AND x.source_object = x.target_object, \
                    sum(x.calls), sum(x.bytes), sum(coalesce(x.time_ns, 0)) FROM transfer x JOIN operation o ON o.id = x.op \
                    JOIN way w ON w.id = x.way WHERE w.protocol = 'managed' GROUP BY 1, 2, 3, 4, 5 ORDER BY 2";
        let run = launch(mpi).run().succeeded();
        assert_eq!(answer(&run.profile_path(), rows), Vec::<String>::new(), "{mpi}");
        let run = launch(mpi).variable("COMMSEE_MANAGED", "1").run().succeeded();
        let wanted = [
            "-|CPU page fault|managed||1|2|0|0",
            "-|DtoD migration|managed|gpu0 to gpu1|1|2|16384|1000",
            "-|DtoH migration|managed|gpu0|1|2|8192|1000",
            "-|GPU page fault|managed|gpu1|1|2|0|0",
            "-|HtoD migration|managed|gpu0|1|2|131072|1000",
        ];
        assert_eq!(answer(&run.profile_path(), rows), wanted, "{mpi}");
    }
}

/// What UCX sends and receives in the memory of devices, and how it takes it there.
#[test]
fn messages_belong_to_the_memory_that_they_lie_in() {
    let Some(ucx) = ucx_device::ucx() else { return };
    for mpi in Mpi::ALL {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let standin = shared_library("standin_cupti");
        let launch = ucx_device::launch(mpi, &ucx, ["cuda0", "cuda1"], &folder).preload(standin.clone());
        let launch = launch.preload(hook("gpu")).variable("COMMSEE_HOOKS", "ucx,gpu").variable("COMMSEE_SITES", "1");
        let run = launch.variable("COMMSEE_CUPTI", &standin.display().to_string());
        let run = run.variable("COMMSEE_PASS_OVER", "standin_cu*.so:libcuda.so*").run().succeeded();
        let messages: BTreeMap<&str, &str> = [("ucp", "MPI_Isend"), ("ucp-rx", "MPI_Irecv")].into();
        for (layer, op) in messages {
            let rows = format!(
                "SELECT count(*) > 0, sum(x.source_object > 0), sum(x.target_object > 0), count(*) FROM transfer x \
                 JOIN operation o ON o.id = x.op JOIN way w ON w.id = x.way WHERE w.layer = '{layer}' AND o.name = '{op}'"
            );
            let found = answer(&run.profile_path(), &rows).remove(0);
            let numbers: Vec<&str> = found.split('|').collect();
            let (known, unknown) = if layer == "ucp" { (numbers[1], numbers[2]) } else { (numbers[2], numbers[1]) };
            assert!(numbers[0] == "1" && known == numbers[3] && unknown == "0", "{mpi} {layer}: {found}");
        }
    }
}
