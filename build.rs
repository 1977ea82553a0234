//! Turns `calls.table` and `buckets.toml` into Rust constants (`$OUT_DIR/calls.rs`, `$OUT_DIR/buckets.rs`).
//! Whatever is wrong in either file stops the build with its line.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

const CLASSES: [&str; 9] =
    ["p2p", "completion", "collective", "neighborhood", "rma", "io", "partitioned", "comm", "control"];
const SHAPES: [&str; 6] = ["blocking", "request", "persistent", "creator", "hand", "own"];
const KINDS: [&str; 44] = [
    "ptr",
    "buf",
    "int",
    "fact",
    "length",
    "flag",
    "index",
    "indices",
    "outcount",
    "text",
    "string",
    "strings",
    "count",
    "counts",
    "displs",
    "aint",
    "aints",
    "offset",
    "mpicount",
    "type",
    "types",
    "comm",
    "newcomm",
    "oldcomm",
    "latecomm",
    "win",
    "newwin",
    "oldwin",
    "file",
    "newfile",
    "oldfile",
    "op",
    "info",
    "group",
    "errhandler",
    "request",
    "requests",
    "newrequest",
    "requestvalue",
    "status",
    "statuses",
    "message",
    "newmessage",
    "...",
];

fn main() {
    println!("cargo:rerun-if-changed=calls.table");
    println!("cargo:rerun-if-changed=buckets.toml");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let table = fs::read_to_string("calls.table").expect("calls.table");
    fs::write(Path::new(&out).join("calls.rs"), calls(&table)).expect("write calls.rs");
    let edges = fs::read_to_string("buckets.toml").expect("buckets.toml");
    fs::write(Path::new(&out).join("buckets.rs"), buckets(&edges)).expect("write buckets.rs");
}

fn calls(table: &str) -> String {
    let mut rules: Vec<(String, String)> = Vec::new();
    let mut functions: Vec<(String, String)> = Vec::new();
    let (mut own_rules, mut own_sizes): (Vec<String>, Vec<bool>) = (Vec::new(), Vec::new());
    let mut own_arguments: Vec<String> = Vec::new();
    for (number, line) in table.lines().enumerate() {
        let wrong = |what: &str| -> ! { panic!("calls.table:{}: {what}: {line}", number + 1) };
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        if let Some(name) = columns[0].strip_prefix("rule ") {
            let [_, arguments, sent, received, bucket] = columns[..] else { wrong("a rule has five columns") };
            let name = name.trim();
            if rules.iter().any(|(known, _)| known == name) {
                wrong("this rule stands twice");
            }
            let row = format!(
                "Rule {{ name: {name:?}, arguments: &{:?}, sent: {sent:?}, received: {received:?}, bucket: {bucket:?} }}",
                arguments.split_whitespace().collect::<Vec<_>>()
            );
            rules.push((name.to_owned(), row));
            own_rules.extend(bucket.starts_with("own bytes").then(|| name.to_owned()));
            continue;
        }
        let [name, class, since, large, shape, rule, arguments] = columns[..] else {
            wrong("a function has seven columns")
        };
        if functions.iter().any(|(known, _)| known == name) {
            wrong("this function stands twice");
        }
        let place = |list: &[&str], word: &str| list.contains(&word);
        if !place(&CLASSES, class) || !place(&SHAPES, shape) || !["c", "-"].contains(&large) {
            wrong("unknown class, shape or large");
        }
        let version: Vec<u8> = since.split('.').map(|part| part.parse().unwrap_or_else(|_| wrong("since"))).collect();
        let arguments = arguments
            .split_whitespace()
            .map(|word| {
                let (name, kind) = word.split_once(':').unwrap_or((word, word));
                if !place(&KINDS, kind) {
                    wrong("unknown kind of argument");
                }
                format!("Argument {{ name: {name:?}, kind: {kind:?} }}")
            })
            .collect::<Vec<_>>()
            .join(", ");
        let single = rule.chars().count() == 1;
        if !single && !rules.iter().any(|(known, _)| known == rule) {
            wrong("unknown rule");
        }
        let letter =
            if single { format!("Some({:?})", rule.chars().next().expect("one character")) } else { "None".into() };
        let rule = if single { "none" } else { rule };
        let row = format!(
            "Call {{ name: {name:?}, class: Class::{}, since: ({}, {}), large: {}, shape: Shape::{}, rule: {rule:?}, \
             letter: {letter} }}",
            capital(class),
            version[0],
            version[1],
            large == "c",
            capital(shape),
        );
        functions.push((name.to_owned(), row));
        own_arguments.push(arguments);
        own_sizes.push(own_rules.iter().any(|own| own == rule));
    }
    let mut text = String::new();
    writeln!(text, "/// Every profiled function; an operation's number is its place here.").unwrap();
    writeln!(text, "pub static CALLS: [Call; {}] = [", functions.len()).unwrap();
    functions.iter().for_each(|(_, row)| writeln!(text, "    {row},").unwrap());
    // Apart, so that libcommsee.so, which does not read them, does not hold them either.
    writeln!(text, "];\n/// The arguments of each.\nstatic ARGUMENTS: [&[Argument]; {}] = [", functions.len()).unwrap();
    own_arguments.iter().for_each(|arguments| writeln!(text, "    &[{arguments}],").unwrap());
    writeln!(text, "];\n/// Every rule for bytes.\npub static RULES: [Rule; {}] = [", rules.len()).unwrap();
    rules.iter().for_each(|(_, row)| writeln!(text, "    {row},").unwrap());
    writeln!(text, "];\n/// Whether ranks of one call may fall into different buckets, by operation.").unwrap();
    writeln!(text, "pub static OWN_SIZES: [bool; {}] = {own_sizes:?};", functions.len()).unwrap();
    writeln!(text, "/// The operations by name: `op::MPI_Send` is the place of `MPI_Send` in `CALLS`.").unwrap();
    writeln!(text, "#[allow(non_upper_case_globals, missing_docs)]\npub mod op {{").unwrap();
    for (number, (name, _)) in functions.iter().enumerate() {
        writeln!(text, "    pub const {name}: u16 = {number};").unwrap();
    }
    writeln!(text, "}}\n/// Tells two tables apart: an operation's number only has a meaning within one of them.")
        .unwrap();
    writeln!(text, "pub const TABLE_HASH: u64 = {:#x};", fnv(functions.iter().map(|(name, _)| name.as_str()))).unwrap();
    text
}

fn buckets(file: &str) -> String {
    let table = toml::de::DeTable::parse(file).unwrap_or_else(|error| panic!("buckets.toml: {error}"));
    let edges = table.get_ref().get("edges").and_then(|edges| edges.get_ref().as_array());
    let edges: Vec<i64> = edges
        .expect("buckets.toml: edges is a list")
        .iter()
        .map(|edge| {
            let edge = edge.get_ref().as_integer();
            let edge = edge.and_then(|edge| i64::from_str_radix(edge.as_str(), edge.radix()).ok());
            edge.expect("buckets.toml: an edge is a whole number of bytes")
        })
        .collect();
    assert!(edges.windows(2).all(|pair| pair[0] < pair[1]) && edges[0] > 0, "buckets.toml: edges ascend");
    format!("/// The edges of `buckets.toml`, in bytes.\npub const DEFAULT_EDGES_BYTES: &[u64] = &{edges:?};\n")
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// FNV-1a over the names, each ended by a zero byte.
fn fnv<'a>(names: impl Iterator<Item = &'a str>) -> u64 {
    let bytes = names.flat_map(|name| name.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
