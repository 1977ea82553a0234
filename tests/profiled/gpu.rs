//! The module for GPUs on a stand-in for CUPTI: that what CUPTI tells is counted as it is, and in which call. Whether CUPTI tells it is for
//! tests/gpu.sh, on a GPU.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use common::{
    Launch, Mpi, Program, Run, answer, execute, fetched, hook, library, shared_library, shared_library_of, skip,
    through,
};

pub fn program(mpi: Mpi) -> PathBuf {
    let standin = shared_library("standin_cupti").display().to_string();
    Program { name: "copies", link: vec![standin, "-lpthread".to_owned()] }.compiled(mpi)
}

pub fn launch(mpi: Mpi) -> Launch {
    let standin = shared_library("standin_cupti").display().to_string();
    Launch::of(mpi, program(mpi)).ranks(2).variable("COMMSEE_CUPTI", &standin)
}

pub fn counted(launch: Launch) -> Launch {
    launch.preload(library()).preload(hook("gpu")).variable("COMMSEE_HOOKS", "gpu")
}

fn notes(run: &Run) -> Vec<String> {
    answer(&run.profile_path(), "SELECT text, ranks FROM notes WHERE module = 'gpu' ORDER BY 1")
}

/// What a rank of `copies.c` does: communicator, operation, direction, memory, device, bucket, from and to, calls, bytes, nanoseconds.
fn told(rank: usize) -> Vec<String> {
    let row = |comm: &str, op: &str, what: &str, bucket: u64, calls: u64, bytes: u64, ns: u64| {
        format!("{comm}|{op}|{what}|{bucket}|{rank}|{rank}|{calls}|{bytes}|{ns}")
    };
    vec![
        // Before MPI_Init.
        row("-", "-", "HtoD|pageable to device|gpu0", 128, 1, 999, 1000),
        row("-", "-", "HtoD|pageable to device|gpu0", 1024, 3, 12_000, 6000),
        row("-", "-", "HtoD|pinned to device|gpu0", 1024, 1, 4000, 1000),
        row("-", "-", "HtoD|pinned to device|gpu0", 0, 10_000, 640_000, 100_000),
        row("-", "-", "DtoD|device to managed|gpu0", 1 << 18, 1, 1 << 20, 300),
        row("-", "-", "PtoP|device to device|gpu0 to gpu1", 1 << 18, 1, 1 << 20, 700),
        row("-", "-", "DtoH|device to pinned|gpu0", 1 << 20, 1, 2 << 20, 0),
        row("d0.1", "MPI_Comm_free", "DtoH|device to pageable|gpu0", 128, 1, 1000, 5000),
        row("d0.1", "MPI_Comm_free", "DtoD|device to device|gpu0", 0, 5, 500, 2500),
    ]
}

const ROWS: &str = "SELECT comm, op, function, protocol, device, bucket_lo, src, dst, calls, bytes, \
                    CAST(round(coalesce(time_s, 0) * 1e9) AS INTEGER) FROM transfers WHERE layer = 'gpu' AND role = 'device' AND kind = 'gpu'";

#[test]
fn copies_are_counted_in_the_calls_that_they_are_made_in() {
    for mpi in Mpi::ALL {
        let run = counted(launch(mpi)).run().succeeded();
        let (mut wanted, mut found): (Vec<_>, _) = ((0..2).flat_map(told).collect(), answer(&run.profile_path(), ROWS));
        wanted.sort();
        found.sort();
        assert_eq!(found, wanted, "{mpi}");
        assert_eq!(answer(&run.profile_path(), "SELECT count(*) FROM transfers"), ["18"], "{mpi}");
        assert_eq!(notes(&run), ["CUPTI 13.0.1|2", "CUPTI has lost some copies: they are not counted|2"], "{mpi}");
    }
}

/// The launcher tells the ranks.
#[test]
fn copies_of_programs_without_mpi_are_counted() {
    for mpi in Mpi::ALL {
        let run = counted(launch(mpi)).arguments(&["alone"]).run().succeeded();
        let row = |rank, what: &str, bucket, calls, bytes, ns| {
            format!("-|-|{what}|gpu0|{bucket}|{rank}|{rank}|{calls}|{bytes}|{ns}")
        };
        let of = |rank| {
            [
                row(rank, "HtoD|pageable to device", 128, 1, 999, 1000),
                row(rank, "DtoH|device to pinned", 1024, 3, 12_000, 3000),
            ]
        };
        let (mut wanted, mut found): (Vec<_>, _) = ((0..2).flat_map(of).collect(), answer(&run.profile_path(), ROWS));
        wanted.sort();
        found.sort();
        assert_eq!(found, wanted, "{mpi}");
        assert_eq!(answer(&run.profile_path(), "SELECT count(*) FROM profile"), ["0"], "{mpi}");
    }
}

/// Both ranks are on one host.
#[test]
fn copies_go_from_memory_to_memory() {
    for mpi in Mpi::ALL {
        let run = counted(launch(mpi)).run().succeeded();
        let told = |words: &[&str]| -> Value {
            let mut command = Command::new(through());
            command.arg("traffic").arg(run.profile_path()).args(["--layer", "gpu", "--format", "json"]).args(words);
            let told = execute(&mut command);
            assert!(told.status.success(), "{}", told.stderr);
            serde_json::from_str(&told.stdout).expect("JSON")
        };
        let rows = |document: &Value, array: &str, names: [&str; 4]| -> Vec<String> {
            let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let row = |row: &Value| names.map(|name| word(&row[name])).join(" ");
            let mut rows: Vec<String> = document[array].as_array().expect(array).iter().map(row).collect();
            rows.sort();
            rows
        };
        let wanted = ["gpu0 gpu0 12 2098152", "gpu0 gpu1 2 2097152", "gpu0 host 4 4196304", "host gpu0 20010 1313998"];
        assert_eq!(rows(&told(&[]), "matrix", ["src_memory", "dst_memory", "calls", "bytes"]), wanted, "{mpi}");
        for words in [&["--graph"][..], &["--graph", "--by", "device"]] {
            let graph = told(words);
            let nodes = rows(&graph, "nodes", ["kind", "label", "host", "label"]);
            let host = answer(&run.profile_path(), "SELECT host FROM ranks LIMIT 1").remove(0);
            let node = |kind: &str, name: &str| format!("{kind} {name} {host} {name}");
            assert_eq!(nodes, [node("gpu", "gpu0"), node("gpu", "gpu1"), node("host", "host")], "{mpi}");
            let edges = rows(&graph, "edges", ["from", "to", "calls", "bytes"]);
            let plain = |edge: &String| {
                edge.replace("host host", "host").replace(&format!(" of {host}"), "").replace("gpu gpu", "gpu")
            };
            let mut edges: Vec<String> = edges.iter().map(plain).collect();
            edges.sort();
            assert_eq!(edges, wanted, "{mpi}: {words:?}");
        }
    }
}

#[test]
fn copies_are_on_the_timeline_when_they_were_made() {
    for mpi in Mpi::ALL {
        let run = counted(launch(mpi)).variable("COMMSEE_TRACE", "1M").run().succeeded();
        let events = "SELECT rank, function, count(*), sum(bytes), min(begin_s >= 0), max(end_s - begin_s < 1), max(begin_s < 60) FROM events \
                      WHERE op = 'MPI_Comm_free' AND function = 'DtoH' OR function = 'PtoP' GROUP BY 1, 2 ORDER BY 1, 2";
        let wanted = ["0|DtoH|1|1000|1|1|1", "0|PtoP|1|1048576|1|1|1", "1|DtoH|1|1000|1|1|1", "1|PtoP|1|1048576|1|1|1"];
        assert_eq!(answer(&run.profile_path(), events), wanted, "{mpi}");
    }
}

/// Ranks of one host have one clock, and one beginning.
#[test]
fn programs_without_mpi_have_a_timeline() {
    for mpi in Mpi::ALL {
        let run = counted(launch(mpi)).arguments(&["alone"]).variable("COMMSEE_TRACE", "1M").run().succeeded();
        let events = "SELECT rank, kind, function, count(*), sum(bytes), min(begin_s > -60), max(begin_s < 60) FROM events GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
        let of = |rank| [format!("{rank}|layer|DtoH|3|12000|1|1"), format!("{rank}|layer|HtoD|1|999|1|1")];
        let wanted: Vec<String> = (0..2).flat_map(of).collect();
        assert_eq!(answer(&run.profile_path(), events), wanted, "{mpi}");
        assert_eq!(run.left_behind(), Vec::<PathBuf>::new(), "{mpi}");
    }
}

/// The timeline that a rank began before `MPI_Init` is none of the job's: others do not wait for its clock.
#[test]
fn a_timeline_from_before_mpi_init_is_that_of_its_rank() {
    for mpi in Mpi::ALL {
        for _ in 0..3 {
            let run = counted(launch(mpi)).arguments(&["one"]).variable("COMMSEE_TRACE", "1M").run().succeeded();
            let clocks = "SELECT rank, begin_error_s IS NOT NULL FROM clocks ORDER BY 1";
            assert_eq!(answer(&run.profile_path(), clocks), ["0|1", "1|1"], "{mpi}");
            let sent =
                "SELECT rank, count(*) FROM events WHERE kind = 'call' AND op = 'MPI_Sendrecv' GROUP BY 1 ORDER BY 1";
            assert_eq!(answer(&run.profile_path(), sent), ["0|8", "1|8"], "{mpi}");
            assert_eq!(run.left_behind(), Vec::<PathBuf>::new(), "{mpi}");
        }
    }
}

/// NVIDIA's own library, where there is no GPU.
#[test]
fn the_real_cupti_is_asked_and_its_answer_said() {
    let folder = fetched("COMMSEE_GPU_LIBRARIES").map(|folder| folder.join("cupti"));
    let Some(cupti) = folder.map(|folder| folder.join("libcupti.so.13")).filter(|cupti| cupti.is_file()) else {
        return skip("CUPTI (its wheel cannot be had here)");
    };
    if Path::new("/dev/nvidia0").exists() {
        return skip("CUPTI without a GPU (there is one)");
    }
    for mpi in Mpi::ALL {
        let launch = launch(mpi).arguments(&["other"]).variable("COMMSEE_CUPTI", &cupti.display().to_string());
        let run = counted(launch).run().succeeded();
        assert_eq!(answer(&run.profile_path(), "SELECT count(*) FROM transfers"), ["0"], "{mpi}");
        assert_eq!(notes(&run), ["CUPTI cannot be used (CUPTI_ERROR_UNKNOWN): copies are not counted|2"], "{mpi}");
    }
}

/// It goes first, whichever it is; what is not counted then is said.
#[test]
fn another_tool_that_watches_the_gpu_is_left_alone() {
    for mpi in Mpi::ALL {
        let nothing = |launch: Launch, note: &str| {
            let run = counted(launch.arguments(&["other"])).run().succeeded();
            assert_eq!(answer(&run.profile_path(), "SELECT count(*) FROM transfers"), ["0"], "{mpi}: {note}");
            assert_eq!(notes(&run), [format!("{note}|2")], "{mpi}");
        };
        let other = "CUDA_INJECTION64_PATH names another tool, /nowhere/libtool.so: copies are not counted";
        nothing(launch(mpi).variable("CUDA_INJECTION64_PATH", "/nowhere/libtool.so"), other);
        nothing(launch(mpi).variable("SUBSCRIBE", "39"), "another tool watches the GPU: copies are not counted");
        nothing(launch(mpi).variable("SUBSCRIBE", "999"), "CUPTI cannot be used (CUPTI_ERROR): copies are not counted");
        let missing = "CUPTI (libcupti.so) was not found: copies are not counted; name it in COMMSEE_CUPTI";
        nothing(launch(mpi).variable("COMMSEE_CUPTI", "/nowhere/libcupti.so"), missing);
    }
}

/// The program's own, such as PyTorch's profiler: it finds CUPTI as it would without commsee, in whatever order it begins. What was told before is counted,
/// and what is not is said.
#[test]
fn a_tool_of_the_program_gets_cupti() {
    let [decoy, tool] = [shared_library("standin_cupti"), shared_library_of("cupti_tool", &["standin_cupti"])];
    let [decoy, tool] = [decoy, tool].map(|library| library.display().to_string());
    for mpi in Mpi::ALL {
        let program = Program { name: "gpu_tool", link: vec!["-ldl".to_owned()] }.compiled(mpi);
        // Of each copy it hears twice, once it has subscribed.
        for (order, expected) in [
            ("sre", "402"),
            ("2re", "402"),
            ("re", "2"),
            ("er", "2"),
            ("ser", "402"),
            ("esr", "402"),
            ("secr", "602"),
            ("!er", "2"),
            ("!sre", "402"),
        ] {
            let launch = || {
                let launch = Launch::of(mpi, program.clone()).ranks(2).variable("COMMSEE_CUPTI", &tool);
                launch.arguments(&[&decoy, &tool, order, expected])
            };
            launch().run().succeeded();
            let run = counted(launch()).run().succeeded();
            let rows = "SELECT function, calls, bytes FROM transfers ORDER BY src";
            let (copies, said): (&[&str], &[&str]) = match order.starts_with('!') {
                true => (&[], &["another tool watches the GPU: copies are not counted|2"]),
                false => (
                    &["HtoD|3|12000"; 2],
                    &["CUPTI 13.0.1|2", "another tool has started to watch the GPU: later copies are not counted|2"],
                ),
            };
            assert_eq!(answer(&run.profile_path(), rows), copies, "{mpi} {order}");
            assert_eq!(notes(&run), said, "{mpi} {order}");
        }
    }
}

/// Launchers and shells do not have it, since what they start may not find the library; tools of NVIDIA set it themselves, and Nsight Compute starts
/// nothing where it is set.
#[test]
fn the_variable_is_set_where_a_gpu_may_be_used_and_nowhere_else() {
    let variables = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).env("LD_PRELOAD", format!("{}:{}", library().display(), hook("gpu").display()));
        command.env("COMMSEE_HOOKS", "gpu").env("POSIXLY_CORRECT", "1").env_remove("CUDA_INJECTION64_PATH");
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{program}");
        String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
    };
    let own = std::fs::canonicalize(hook("gpu")).expect("the module").display().to_string();
    let show = "import os; print(os.environ.get('CUDA_INJECTION64_PATH'))";
    assert_eq!(variables("python3", &["-c", show]), own);
    for shell in ["sh", "bash"] {
        assert_eq!(variables(shell, &["-c", "echo \"$CUDA_INJECTION64_PATH\""]), "");
    }
    // It reads its environment before it has its own functions for that ready.
    assert_eq!(variables("bash", &["-c", "shopt -qo posix && echo posix"]), "posix");
    for mpi in Mpi::ALL {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let tool = folder.path().join("ncu");
        std::fs::copy(program(mpi), &tool).expect("a copy");
        let standin = shared_library("standin_cupti").display().to_string();
        let tool = Launch::of(mpi, tool).ranks(2).variable("COMMSEE_CUPTI", &standin).arguments(&["unset"]);
        assert_eq!(notes(&counted(tool).run().succeeded()), Vec::<String>::new(), "{mpi}");
    }
}

/// Not even the environment is changed where the module was not asked for.
#[test]
fn without_being_asked_for_it_does_nothing() {
    for mpi in Mpi::ALL {
        let run = counted(launch(mpi).arguments(&["unset"])).variable("COMMSEE_HOOKS", "").run().succeeded();
        assert_eq!(answer(&run.profile_path(), "SELECT count(*) FROM transfers"), ["0"], "{mpi}");
        assert_eq!(notes(&run), Vec::<String>::new(), "{mpi}");
    }
}
