//! What the UCX module says of messages in the memory of devices, against what UCX says itself (`UCX_PROTO_INFO`). UCX is a real one, with its transports for CUDA;
//! CUDA's driver is a stand-in (`tests/programs/standin_cuda.c`).

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::ucx::seen;
use common::{Launch, Mpi, Run, answer, fetched, shared_library, skip};

/// As `ucx_device.c` has them.
const SIZES: [u64; 9] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// Each size twice: received early, and late.
const OF_A_SIZE: i64 = 2;

const SETTINGS: [&[(&str, &str)]; 5] = [
    &[],
    &[("UCX_RNDV_THRESH", "1k")],
    &[("UCX_RNDV_THRESH", "inf")],
    &[("UCX_RNDV_SCHEME", "get_zcopy")],
    &[("UCX_RNDV_SCHEME", "put_zcopy")],
];

const MEMORIES: [[&str; 2]; 4] = [["host", "host"], ["cuda0", "cuda1"], ["host", "cuda1"], ["cuda0", "host"]];

/// A UCX with transports for CUDA.
pub fn ucx() -> Option<PathBuf> {
    let folder = fetched("COMMSEE_GPU_LIBRARIES").map(|folder| folder.join("ucx"));
    let folder = folder.filter(|folder| folder.join("ucx/libuct_cuda.so.0").is_file());
    if folder.is_none() {
        skip("UCX for CUDA (its wheel cannot be had here)");
    }
    folder
}

/// `ucx_device` over that UCX, with a driver, which lies in the folder.
pub fn launch(mpi: Mpi, ucx: &Path, memories: [&str; 2], folder: &TempDir) -> Launch {
    for library in ["libcuda.so.1", "libnvidia-ml.so.1"] {
        let link = folder.path().join(library);
        std::os::unix::fs::symlink(shared_library("standin_cuda"), link).expect("the driver's name");
    }
    let transports = "posix,sysv,cma,self,cuda_copy";
    let sizes = SIZES.map(|size| size.to_string()).join(",");
    let launch = seen(mpi, "ucx_device", transports).arguments(&memories).variable("COMMSEE_BUCKETS", &sizes);
    let found = format!("{}:{}", folder.path().display(), ucx.display());
    // Else it would have to patch the driver's code to see what is allocated.
    launch.variable("LD_LIBRARY_PATH", &found).variable("UCX_MEMTYPE_CACHE", "n")
}

fn told(launch: Launch, settings: &[(&str, &str)]) -> Launch {
    settings.iter().fold(launch, |launch, (name, value)| launch.variable(name, value))
}

/// A table of `UCX_PROTO_INFO=used`: what it is about, and how many operations of which sizes took which protocol.
struct Table {
    about: String,
    rows: Vec<(i64, [u64; 2], String)>,
}

/// All that a process wrote.
fn tables(path: &Path) -> Vec<Table> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut found, mut title) = (Vec::new(), String::new());
    for line in text.lines().filter_map(|line| line.split_once(" | ")) {
        let cells: Vec<&str> = line.1.trim_end().trim_end_matches('|').split('|').map(str::trim).collect();
        match cells[..] {
            [of] => title = of.to_owned(),
            ["Count", ..] => found.push(Table { about: std::mem::take(&mut title), rows: Vec::new() }),
            [count, range, what, ..] => {
                let (low, high) = range.split_once("..").unwrap_or((range, range));
                let row = (count.parse().expect("a count"), [bytes(low), bytes(high)], what.replace("(?) ", ""));
                found.last_mut().expect("a heading").rows.push(row);
            }
            _ => {}
        }
    }
    found
}

/// `262143`, `512K`, `inf`.
fn bytes(text: &str) -> u64 {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let shift = text[digits.len()..].chars().next().map_or(0, |unit| 10 * (1 + "KMG".find(unit).expect("a unit")));
    digits.parse::<u64>().map_or(u64::MAX, |number| number << shift)
}

impl Table {
    fn of(&self, size: u64) -> Option<&(i64, [u64; 2], String)> {
        self.rows.iter().find(|(_, [low, high], _)| (*low..=*high).contains(&size))
    }

    /// Beside the small messages of collective calls.
    fn large(&self) -> i64 {
        self.rows.iter().filter(|(_, [low, _], _)| *low > 0).map(|(count, ..)| count).sum()
    }
}

/// How UCX sent a message of that size from the one process to the other.
fn protocol(sender: &[Table], receiver: &[Table], memory: &str, size: u64) -> &'static str {
    let from = if memory == "host" { "from host" } else { "from cuda" };
    let is_send = |table: &&Table| table.about.starts_with("tagged message") && table.about.contains(from);
    let about: Vec<&str> = sender.iter().map(|table| table.about.as_str()).collect();
    let sent = sender.iter().filter(is_send).max_by_key(|table| table.large());
    let sent = sent.unwrap_or_else(|| panic!("no table of sends among {about:?}"));
    let (count, [low, high], what) = sent.of(size).expect("a size");
    // Of several fragments each counts there; and of host memory the messages of collective calls, too.
    if *low > 0 && memory != "host" && !what.starts_with("multi-frag") {
        let sizes = SIZES.iter().filter(|size| (*low..=*high).contains(size));
        assert_eq!(*count, OF_A_SIZE * sizes.count() as i64, "{}: {what}", sent.about);
    }
    if !what.starts_with("rendezvous") {
        assert!(what.contains("eager"), "{what}");
        return "eager";
    }
    // The receiver decides.
    let is_fetch = |table: &&Table| table.about.starts_with("rendezvous data fetch");
    let fetched = receiver.iter().filter(is_fetch).filter_map(|table| table.of(size)).find(|(count, ..)| *count > 0);
    let (_, _, how) = fetched.expect("a rendezvous has a receiver");
    if how.contains("read from remote") || how.contains("copy from") {
        "rndv-get"
    } else if how.contains("write to remote") || how.contains("copy to attached") {
        "rndv-put"
    } else {
        assert!(how.contains("fragmented") || how == "zero-copy", "{how}");
        "rndv-am"
    }
}

/// By size: protocols of the messages of a layer, and how many.
fn found(run: &Run, layer: &str, op: &str) -> Vec<String> {
    let sql = format!(
        "SELECT bucket_hi, protocol, sum(calls), sum(bytes) FROM transfers WHERE layer = '{layer}' AND op = '{op}' GROUP BY 1, 2 ORDER BY 1, 2"
    );
    answer(&run.profile_path(), &sql)
}

fn number(run: &Run, sql: &str) -> f64 {
    Connection::open(run.profile_path()).expect("the profile").query_row(sql, [], |row| row.get(0)).expect(sql)
}

/// Nearly all belongs to a call, and no copy is on the wire.
fn is_linked(run: &Run, memories: [&str; 2], of: &str) {
    let copied =
        answer(&run.profile_path(), "SELECT DISTINCT src FROM transfers WHERE transport = 'cuda_copy' ORDER BY 1");
    let is_device = |rank: &usize| memories[*rank] != "host";
    let wanted: Vec<String> = (0..2).filter(is_device).map(|rank| rank.to_string()).collect();
    assert!(wanted.iter().all(|rank| copied.contains(rank)), "{of}: {copied:?}");
    for layer in ["uct", "uct-copy"] {
        let linked = format!(
            "SELECT coalesce(1.0 * sum(CASE WHEN op <> '-' THEN bytes END) / sum(bytes), 1.0) FROM transfers \
             WHERE layer = '{layer}' AND protocol <> 'wireup'"
        );
        assert!(number(run, &linked) >= 0.999, "{of}: {} of {layer}", number(run, &linked));
    }
    let copies = "SELECT count(*) * 1.0 FROM transfers WHERE (layer = 'uct-copy') <> (transport IN ('self', 'cuda_copy')) AND layer LIKE 'uct%' \
                  AND layer <> 'uct-rx'";
    assert_eq!(number(run, copies), 0.0, "{of}");
    let elsewhere = "SELECT count(*) * 1.0 FROM transfers WHERE layer = 'uct-copy' AND src IS NOT dst";
    assert_eq!(number(run, elsewhere), 0.0, "{of}");
}

#[test]
fn messages_in_device_memory_are_sent_as_ucx_says() {
    let Some(ucx) = ucx() else { return };
    for mpi in Mpi::ALL {
        for settings in SETTINGS {
            for memories in MEMORIES {
                let of = format!("{mpi} {settings:?} {memories:?}");
                let folder = tempfile::tempdir().expect("a temporary folder");
                let logs = folder.path().join("%p").display().to_string();
                let launch = told(launch(mpi, &ucx, memories, &folder), settings);
                let launch = launch.variable("UCX_PROTO_INFO", "used").variable("UCX_LOG_FILE", &logs);
                let run = launch.run().succeeded();
                run.profile();
                let of_rank = |rank: &str| {
                    let pid = answer(&run.profile_path(), &format!("SELECT pid FROM ranks WHERE rank = {rank}"));
                    tables(&folder.path().join(&pid[0]))
                };
                let (sender, receiver) = (of_rank("0"), of_rank("1"));
                let line = |size: &u64| {
                    let protocol = protocol(&sender, &receiver, memories[0], *size);
                    format!("{size}|{protocol}|{OF_A_SIZE}|{}", OF_A_SIZE as u64 * size)
                };
                let wanted: Vec<String> = SIZES.iter().map(line).collect();
                assert_eq!(found(&run, "ucp", "MPI_Isend"), wanted, "{of}");
                assert_eq!(found(&run, "ucp-rx", "MPI_Irecv"), wanted, "{of}");
                is_linked(&run, memories, &of);
                for (layer, op, memory) in [("ucp", "MPI_Isend", memories[0]), ("ucp-rx", "MPI_Irecv", memories[1])] {
                    let sql = format!("SELECT DISTINCT memory FROM transfers WHERE layer = '{layer}' AND op = '{op}'");
                    assert_eq!(answer(&run.profile_path(), &sql), [memory], "{of}");
                }
            }
        }
    }
}

/// The older protocols write no tables: both ends say the same, and the threshold is kept.
#[test]
fn older_protocols_say_the_same_at_both_ends() {
    let Some(ucx) = ucx() else { return };
    for mpi in Mpi::ALL {
        for settings in SETTINGS {
            for memories in MEMORIES {
                let of = format!("{mpi} {settings:?} {memories:?}");
                let folder = tempfile::tempdir().expect("a temporary folder");
                let launch = told(launch(mpi, &ucx, memories, &folder), settings);
                let run = launch.variable("UCX_PROTO_ENABLE", "n").run().succeeded();
                run.profile();
                let sent = found(&run, "ucp", "MPI_Isend");
                assert_eq!(found(&run, "ucp-rx", "MPI_Irecv"), sent, "{of}");
                let eager = match settings {
                    [("UCX_RNDV_THRESH", "1k")] => Some(2),
                    [("UCX_RNDV_THRESH", "inf")] => Some(SIZES.len()),
                    _ => None,
                };
                let is_eager = |line: &&String| line.contains("|eager|");
                assert_eq!(sent.len(), SIZES.len(), "{of}: {sent:?}");
                assert!(eager.is_none_or(|eager| sent.iter().filter(is_eager).count() == eager), "{of}: {sent:?}");
                is_linked(&run, memories, &of);
            }
        }
    }
}
