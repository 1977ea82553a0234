//! What NCCL told a profiler plugin on a GPU (`tests/inputs/nccl/`, written down by `tests/programs/recorder.c`), handed to the plugin of the module for
//! NCCL again. The program has no wrapped function of NCCL's, so the plugin counts by itself.

use std::collections::BTreeMap;
use std::fs;

use common::{Launch, Mpi, answer, hook, root};

/// What two ranks of `nccl_gpu.c` had NCCL do on a GPU: the version of the plugin's interface, and where it was written down.
const RECORDED: [(usize, &str); 3] = [(4, "2.28.9-v4"), (5, "2.28.9-v5"), (6, "2.32.3-v6")];

fn recording(name: &str) -> String {
    root().join("tests/inputs/nccl").join(name).display().to_string()
}

fn recorded(mpi: Mpi, version: usize, name: &str) -> Launch {
    let launch = Launch::new(mpi, "recorded").preload(hook("nccl")).ranks(2).variable("COMMSEE_HOOKS", "nccl");
    launch.arguments(&[&version.to_string(), &recording(name)])
}

/// Sums of what has the same key, as lines.
fn summed(lines: impl Iterator<Item = (String, u64)>) -> Vec<String> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (key, amount) in lines {
        let sum = sums.entry(key).or_default();
        *sum = (sum.0 + 1, sum.1 + amount);
    }
    sums.into_iter().map(|(key, (calls, amount))| format!("{key}|{calls}|{amount}")).collect()
}

/// The program that was recorded knew what it called, as far as NCCL tells a plugin of it.
#[test]
fn what_nccl_told_on_a_gpu_is_what_the_program_did() {
    for mpi in Mpi::ALL {
        for (version, name) in RECORDED {
            let run = recorded(mpi, version, name).run().succeeded();
            let told = (0..2).flat_map(|rank| {
                let path = recording(&format!("{name}.truth.{rank}"));
                let text = fs::read_to_string(&path).expect("what the program did");
                let lines = text.lines().map(|line| {
                    let (key, bytes) = line.rsplit_once('|').expect("bytes");
                    (key.to_owned(), bytes.parse().expect("a number"))
                });
                lines.collect::<Vec<_>>()
            });
            let rows = "SELECT layer_comm, layer, function, scope, src, dst, sum(calls), sum(bytes) FROM transfers GROUP BY 1, 2, 3, 4, 5, 6";
            let mut found = answer(&run.profile_path(), rows);
            found.sort();
            let mut wanted = summed(told);
            wanted.sort();
            assert_eq!(found, wanted, "{mpi}, NCCL {name}");
        }
    }
}

/// What a recording says of times and of the network, by function: each operation from the begin of its first channel to the end of its last, and the bytes
/// of each step of a send.
#[derive(Default)]
struct Measured {
    kernels: Vec<(String, u64)>,
    proxies: Vec<(String, u64)>,
}

impl Measured {
    fn read(name: &str) -> Measured {
        const SEND_WAIT: &str = "9";
        const KERNEL_STOP: &str = "22";
        let mut measured = Measured::default();
        for rank in 0..2 {
            let text = fs::read_to_string(recording(&format!("{name}.{rank}"))).expect("a recording");
            let mut functions: BTreeMap<&str, &str> = BTreeMap::new();
            let mut parents: BTreeMap<&str, &str> = BTreeMap::new();
            let mut channels: BTreeMap<&str, Vec<(&str, u64, u64)>> = BTreeMap::new();
            for line in text.lines() {
                match line.split(' ').collect::<Vec<_>>()[1..] {
                    ["start", number, _, "coll" | "p2p", _, function, ..] => _ = functions.insert(number, function),
                    ["start", number, _, "kernel_ch", parent, _, timer] => {
                        let begin = timer.parse().expect("a time");
                        parents.insert(number, parent);
                        channels.entry(parent).or_default().push((number, begin, 0));
                    }
                    ["start", number, _, "proxy_op", parent, _, _, _, _, _, "1"] => _ = parents.insert(number, parent),
                    ["start", number, _, "proxy_step", parent, _] if parents.contains_key(parent) => {
                        parents.insert(number, parents[parent]);
                    }
                    ["record", number, SEND_WAIT, bytes] => {
                        if let Some(function) = parents.get(number).and_then(|parent| functions.get(parent)) {
                            measured.proxies.push((format!("nccl{function}"), bytes.parse().expect("bytes")));
                        }
                    }
                    ["record", number, KERNEL_STOP, timer] => {
                        let of = channels.get_mut(parents[number]).expect("its operation");
                        let channel = of.iter_mut().find(|channel| channel.0 == number).expect("it began");
                        channel.2 = timer.parse().expect("a time");
                    }
                    _ => {}
                }
            }
            for (operation, channels) in channels {
                let begin = channels.iter().map(|channel| channel.1).min().expect("a channel");
                let end = channels.iter().map(|channel| channel.2).max().expect("a channel");
                measured.kernels.push((format!("nccl{}", functions[operation]), end - begin));
            }
        }
        measured
    }
}

#[test]
fn times_on_the_gpu_and_bytes_of_the_network_are_those_that_nccl_told() {
    for mpi in Mpi::ALL {
        for (version, name) in RECORDED {
            let run = recorded(mpi, version, name).variable("COMMSEE_NCCL", "kernels,proxies").run().succeeded();
            let measured = Measured::read(name);
            let kernels = "SELECT function, sum(later), CAST(round(sum(time_s) * 1e9) AS INTEGER) FROM transfers WHERE layer = 'nccl-kernel' GROUP BY 1 ORDER BY 1";
            assert_eq!(
                answer(&run.profile_path(), kernels),
                summed(measured.kernels.into_iter()),
                "{mpi}, NCCL {name}"
            );
            let proxies = "SELECT function, sum(calls), sum(bytes) FROM transfers WHERE layer = 'nccl-proxy' GROUP BY 1 ORDER BY 1";
            assert_eq!(
                answer(&run.profile_path(), proxies),
                summed(measured.proxies.into_iter()),
                "{mpi}, NCCL {name}"
            );
        }
    }
}
