//! The environment variables, in one table. The profiler reads them once, in `MPI_Init`.

use std::path::{Path, PathBuf};

/// One environment variable.
pub struct Variable {
    pub name: &'static str,
    pub default: &'static str,
    pub meaning: &'static str,
    /// Whether it changes what is recorded, so that runs with different values are runs of different configurations.
    pub is_measured: bool,
}

pub const OUT: &str = "COMMSEE_OUT";
/// The reference tool's variable for the output file, honoured where `COMMSEE_OUT` is not set.
pub const OUT_COMPATIBLE: &str = "MPISEE_OUTFILE";
pub const BUCKETS: &str = "COMMSEE_BUCKETS";
pub const DIR: &str = "COMMSEE_DIR";
pub const HOOKS: &str = "COMMSEE_HOOKS";
pub const DATATYPES: &str = "COMMSEE_DATATYPES";
pub const DETAIL: &str = "COMMSEE_DETAIL";
pub const TRACE: &str = "COMMSEE_TRACE";
pub const SITES: &str = "COMMSEE_SITES";
pub const FILES: &str = "COMMSEE_FILES";
/// Read by the module for NCCL itself.
pub const NCCL: &str = "COMMSEE_NCCL";
/// Read by the module for GPUs itself.
pub const CUPTI: &str = "COMMSEE_CUPTI";
pub const MANAGED: &str = "COMMSEE_MANAGED";
pub const PASS_OVER: &str = "COMMSEE_PASS_OVER";
pub const LOG: &str = "COMMSEE_LOG";
pub const DISABLE: &str = "COMMSEE_DISABLE";
pub const LIB: &str = "COMMSEE_LIB";
pub const NO_ARGS: &str = "COMMSEE_NO_ARGS";
pub const DEBUG_DIRS: &str = "COMMSEE_DEBUG_DIRS";
pub const PAGER: &str = "COMMSEE_PAGER";
/// Set by `through run`: ties the shards of a run to it, so that it recovers its own and no others.
pub const LAUNCH: &str = "COMMSEE_LAUNCH";

/// Where the shell was, or the batch job was submitted (Slurm, PBS, LSF, Grid Engine), when the program was started.
const STARTED_IN: [&str; 5] = ["PWD", "SLURM_SUBMIT_DIR", "PBS_O_WORKDIR", "LS_SUBCWD", "SGE_O_WORKDIR"];

pub const DEFAULT_OUT: &str = "commsee-%t.db";

/// Every variable; `docs/reference/environment.md` is checked against it.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: OUT,
        default: DEFAULT_OUT,
        meaning: "File name of the profile; a directory: the default name in it. %j is the batch system's job id (ARRAY_TASK for a task of \
                  an array), %s the job's step, %h the host, %p the process id, %t the time.",
        is_measured: false,
    },
    Variable { name: OUT_COMPATIBLE, default: "", meaning: "Used if COMMSEE_OUT is not set.", is_measured: false },
    Variable {
        name: BUCKETS,
        default: "128,1K,8K,64K,256K,1M,32M",
        meaning: "Upper edges of the message-size buckets, ascending. If ranks have different ones, the profile has the edges that all share.",
        is_measured: true,
    },
    Variable {
        name: DIR,
        default: "/dev/shm, else $TMPDIR, else /tmp",
        meaning: "Directory of the shards, the files that hold the counters while the program runs.",
        is_measured: false,
    },
    Variable {
        name: HOOKS,
        default: "",
        meaning: "Hook modules that may record: a list such as ucx,nccl,gpu. `through run --hooks` sets this and loads them.",
        is_measured: true,
    },
    Variable {
        name: DATATYPES,
        default: "",
        meaning: "1: record the datatypes of each operation on each communicator, for `through show --datatypes`. `through run --datatypes` sets this.",
        is_measured: true,
    },
    Variable {
        name: DETAIL,
        default: "auto",
        meaning: "How much the profile keeps apart: rank, node (sums over the ranks of a host) or comm (sums over the ranks of each \
                  communicator). Extremes, and which rank had them, are always kept. auto: rank up to 4 million rows, beyond that comm. \
                  The value on rank 0 counts; where no messages are sent (snapshots, sessions only), that of the process that writes \
                  the profile.",
        is_measured: true,
    },
    Variable {
        name: TRACE,
        default: "",
        meaning: "1: record a timeline of calls, messages and reports of hook modules, for `through export perfetto`, in a ring buffer of 4 MiB \
                  per process (87 000 events). A size such as 64M: a ring buffer of that size. `through run --trace` sets this.",
        is_measured: true,
    },
    Variable {
        name: SITES,
        default: "0",
        meaning: "1: also count calls by call site, the frame that made the call. A number up to 64: by that many frames of the stack. \
                  For `through sites`. `through run --sites` sets this.",
        is_measured: true,
    },
    Variable {
        name: PASS_OVER,
        default: "",
        meaning: "Libraries that do not count as call sites, as shell patterns of file names: `libsolver*.so*:libgrid.so.2`. A pattern with a slash \
                  is one of whole paths. [call-sites.md](call-sites.md) lists those that are always passed over.",
        is_measured: true,
    },
    Variable {
        name: FILES,
        default: "name",
        meaning: "How much the profile keeps of the path of a file that the program opens with MPI_File_open: name (the last component) or path (as \
                  the program gave it). For `through --files`.",
        is_measured: false,
    },
    Variable {
        name: NCCL,
        default: "",
        meaning: "What NCCL reports to the module nccl besides algorithms and protocols: kernels (times of operations on the GPU), proxies (bytes \
                  that its proxy threads send), or both with a comma.",
        is_measured: true,
    },
    Variable {
        name: CUPTI,
        default: "",
        meaning: "Path of the libcupti.so that the module gpu uses, if it finds none, or one that does not fit.",
        is_measured: false,
    },
    Variable {
        name: MANAGED,
        default: "0",
        meaning: "1: the module gpu also counts pages of managed memory that move, and page faults. Not tried on a GPU.",
        is_measured: true,
    },
    Variable {
        name: LOG,
        default: "info",
        meaning: "What commsee prints on standard error: off, warn, info or debug. The default of `through run` is warn.",
        is_measured: false,
    },
    Variable {
        name: DEBUG_DIRS,
        default: "/usr/lib/debug",
        meaning: "Directories in which `through` looks for separate debug data, separated by colons.",
        is_measured: false,
    },
    Variable { name: DISABLE, default: "", meaning: "1: forward every call and record nothing.", is_measured: false },
    Variable {
        name: NO_ARGS,
        default: "",
        meaning: "1: keep the program's name without its arguments.",
        is_measured: false,
    },
    Variable {
        name: LIB,
        default: "next to through, or in ../lib",
        meaning: "Where `through run` and `through exec` find libcommsee.so.",
        is_measured: false,
    },
    Variable {
        name: LAUNCH,
        default: "",
        meaning: "Set by `through run` to identify its own shards. Not for users.",
        is_measured: false,
    },
    Variable {
        name: PAGER,
        default: "$PAGER, else less",
        meaning: "The pager of `through`, for output that is taller than the terminal. cat: none.",
        is_measured: false,
    },
];

/// Of settings as a profile keeps them, `COMMSEE_OUT=a b.db COMMSEE_SITES=1`, those that change what is recorded.
pub fn measured(options: &str) -> String {
    let mut is_measured = true;
    let mut words = Vec::new();
    for word in options.split(' ') {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        // A word that sets nothing belongs to the value before it.
        if let Some(variable) = VARIABLES.iter().find(|variable| variable.name == name) {
            is_measured = variable.is_measured;
        }
        words.extend(is_measured.then_some(word));
    }
    words.join(" ")
}

/// What is said on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Log {
    Off,
    Warn,
    Info,
    Debug,
}

impl Log {
    pub fn parse(text: &str) -> Option<Log> {
        Some(match text.trim().to_ascii_lowercase().as_str() {
            "off" | "quiet" | "0" => Log::Off,
            "warn" => Log::Warn,
            "info" | "" => Log::Info,
            "debug" => Log::Debug,
            _ => return None,
        })
    }
}

/// What `COMMSEE_TRACE=1` allows each process.
pub const TRACE_BYTES: u64 = 4 << 20;

/// What a value of `COMMSEE_TRACE` allows each process for its timeline. `None`: it makes no sense.
pub fn trace_bytes(value: Option<&str>) -> Option<u64> {
    match value.map(str::trim) {
        Some("1") => Some(TRACE_BYTES),
        value if !is_on(value) => Some(0),
        value => crate::bytes::parse(value?).ok(),
    }
}

/// What is kept of the path of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileNames {
    /// Its last component.
    Last,
    Whole,
}

impl FileNames {
    pub fn parse(text: &str) -> Option<FileNames> {
        Some(match text.trim().to_ascii_lowercase().as_str() {
            "" | "name" => FileNames::Last,
            "path" => FileNames::Whole,
            _ => return None,
        })
    }
}

/// The most frames of a call site.
pub const MOST_FRAMES: usize = 64;

/// How many frames of each call a value of `COMMSEE_SITES` asks for. `None`: it makes no sense.
pub fn site_frames(value: Option<&str>) -> Option<usize> {
    match value.map(str::trim) {
        value if !is_on(value) => Some(0),
        value => value?.parse().ok().filter(|frames| *frames <= MOST_FRAMES),
    }
}

/// The shell patterns in a value of `COMMSEE_PASS_OVER`.
pub fn patterns(value: Option<&str>) -> Vec<String> {
    let patterns = value.unwrap_or_default().split(':').map(str::trim);
    patterns.filter(|pattern| !pattern.is_empty()).map(str::to_owned).collect()
}

/// The hook modules that a value of `COMMSEE_HOOKS` names.
pub fn hooks(value: Option<&str>) -> Vec<String> {
    let names = value.unwrap_or_default().split(',').map(|name| name.trim().to_ascii_lowercase());
    names.filter(|name| !name.is_empty()).collect()
}

/// Whether the value of a switch such as `COMMSEE_DISABLE` means yes.
pub fn is_on(value: Option<&str>) -> bool {
    !matches!(value.map(str::trim), None | Some("" | "0" | "no" | "off" | "false"))
}

/// Where shards live, in order of preference.
pub fn shard_directories(dir: Option<String>, tmpdir: Option<String>) -> Vec<String> {
    match dir.filter(|dir| !dir.is_empty()) {
        Some(dir) => vec![dir],
        None => ["/dev/shm".to_owned()]
            .into_iter()
            .chain(tmpdir.filter(|dir| !dir.is_empty()))
            .chain(["/tmp".to_owned()])
            .collect(),
    }
}

/// Where a profile goes that cannot be written where it is wanted, in order of preference: where the job was started, as far as the
/// process knows it, then where shards live. The profiler goes through them, and `through run` looks there.
pub fn profile_directories(started_in: &Path, set: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let told = STARTED_IN.iter().filter_map(|name| set(name)).map(PathBuf::from).filter(|place| place.is_absolute());
    let shards = shard_directories(set(DIR), set("TMPDIR")).into_iter().map(PathBuf::from);
    let mut places = Vec::new();
    for place in [started_in.to_owned()].into_iter().chain(told).chain(shards) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Fills in the name of the output file: what `value` knows of `%j` and the like, and `%%` for a percent sign.
pub fn file_name(pattern: &str, value: impl Fn(char) -> Option<String>) -> String {
    let mut name = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            name.push(character);
            continue;
        }
        match characters.next() {
            Some('%') => name.push('%'),
            Some(letter) => match value(letter) {
                Some(value) => name += &value,
                None => name.extend(['%', letter]),
            },
            None => name.push('%'),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_filled_in() {
        let value = |letter| (letter == 'j').then(|| "7%h".to_owned());
        assert_eq!(file_name("a-%j-%h.db", value), "a-7%h-%h.db");
        assert_eq!(file_name("100%%%q%", value), "100%%q%");
    }

    #[test]
    fn the_default_edges_are_those_of_buckets_toml() {
        let variable = VARIABLES.iter().find(|variable| variable.name == BUCKETS).unwrap();
        assert_eq!(variable.default, crate::buckets::Buckets::default().to_string());
    }

    #[test]
    fn settings_that_only_say_where_things_are_make_no_configuration() {
        assert_eq!(
            measured("COMMSEE_OUT=my run.db COMMSEE_SITES=1 COMMSEE_LOG=off COMMSEE_DIR=/a=b"),
            "COMMSEE_SITES=1"
        );
        assert_eq!(measured("COMMSEE_PASS_OVER=lib a.so COMMSEE_OUT=x"), "COMMSEE_PASS_OVER=lib a.so");
        assert_eq!(measured(""), "");
    }

    #[test]
    fn an_empty_variable_names_no_directory() {
        let empty = || Some(String::new());
        assert_eq!(shard_directories(empty(), empty()), ["/dev/shm", "/tmp"]);
        assert_eq!(shard_directories(None, Some("/scratch".to_owned())), ["/dev/shm", "/scratch", "/tmp"]);
        assert_eq!(shard_directories(Some("/mine".to_owned()), empty()), ["/mine"]);
    }

    #[test]
    fn a_profile_stays_near_where_its_job_was_started() {
        let set = |name: &str| match name {
            "PWD" => Some("/home/me/run".to_owned()),
            "SLURM_SUBMIT_DIR" => Some("/home/me".to_owned()),
            "PBS_O_WORKDIR" => Some("relative".to_owned()),
            "TMPDIR" => Some("/home/me".to_owned()),
            _ => None,
        };
        let places = profile_directories(Path::new("/home/me/run"), set);
        assert_eq!(places, ["/home/me/run", "/home/me", "/dev/shm", "/tmp"].map(PathBuf::from));
    }

    #[test]
    fn frames_of_a_call_site() {
        assert_eq!(
            [None, Some("0"), Some("off"), Some("1"), Some(" 64 ")].map(site_frames),
            [0, 0, 0, 1, 64].map(Some)
        );
        assert_eq!([Some("65"), Some("-1"), Some("many")].map(site_frames), [None; 3]);
        assert_eq!(patterns(Some("libsolver*.so*: libgrid.so.2 ::")), ["libsolver*.so*", "libgrid.so.2"]);
    }

    #[test]
    fn names_of_files() {
        assert_eq!(
            ["", "Name", " path"].map(FileNames::parse),
            [FileNames::Last, FileNames::Last, FileNames::Whole].map(Some)
        );
        assert_eq!(FileNames::parse("1"), None);
    }

    #[test]
    fn switches() {
        assert!(is_on(Some("1")) && is_on(Some("yes")));
        assert!(!is_on(None) && !is_on(Some("0")) && !is_on(Some("")));
    }
}
