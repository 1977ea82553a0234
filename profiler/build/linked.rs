//! The functions of an MPI library that is linked into the program with `libcommsee.a`, where the loader knows no names: a table of
//! their addresses that the linker fills in. In `libcommsee.so` a script of the linker sets all of them to 0, so that it needs none.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use vocabulary::calls::CALLS;

use crate::table::EVERYWHERE;

/// A function of every library that neither commsee nor any library calls.
const UNUSED: &str = "PMPI_Wtick";

/// Parts of the names of functions that commsee calls where they are there: they came with MPI 4, or are macros in some libraries.
const RARE: [&str; 8] = ["ession", "Abi_", "_fromint", "_toint", "_envelope_c", "_pset", "_f2c", "Request_c2f"];

pub struct Linked {
    /// Rust: the sorted names and the table.
    pub table: String,
    /// For the linker.
    pub script: String,
}

/// `optional`: names that only some libraries have (`src/mpi/presence/`).
pub fn write(sources: &Path, optional: &[String]) -> Linked {
    let (mut strong, mut weak) = (BTreeSet::new(), BTreeSet::new());
    for call in &CALLS {
        let of_age = if call.since <= EVERYWHERE { &mut strong } else { &mut weak };
        of_age.insert(format!("P{}", call.name));
        if call.large {
            weak.insert(format!("P{}_c", call.name));
        }
        weak.insert(format!("p{}_", call.name.to_lowercase()));
        if let Some(name) = call.extension() {
            weak.insert(format!("P{name}"));
            weak.insert(format!("p{}_", name.to_lowercase()));
        }
    }
    // What commsee calls by itself.
    let mut files = Vec::new();
    rust_files(sources, &mut files);
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
        let text = fs::read_to_string(file).expect("a source file");
        for name in named(&text) {
            let is_everywhere = name.starts_with("PMPI_") && !RARE.iter().any(|part| name.contains(part));
            if is_everywhere {
                strong.insert(name)
            } else {
                weak.insert(name)
            };
        }
    }
    weak.insert(UNUSED.to_owned());
    weak.retain(|name| !strong.contains(name));
    let names: BTreeSet<&String> = strong.union(&weak).collect();

    let mut table = format!("pub const NAMES: [&std::ffi::CStr; {}] = [\n", names.len());
    names.iter().for_each(|name| writeln!(table, "    c\"{name}\",").unwrap());
    let place = |name: &str| names.iter().position(|known| *known == name).expect("it is in the table");
    let (everywhere, unused) = (place("PMPI_Init"), place(UNUSED));
    writeln!(table, "];\n\nconst EVERYWHERE: usize = {everywhere};\nconst UNUSED: usize = {unused};").unwrap();
    table += "\nstd::arch::global_asm!(\n    \".pushsection .data.rel.ro,\\\"aw\\\"\",\n    \".balign 8\",\n";
    table += "    \".hidden commsee_linked\",\n    \".globl commsee_linked\",\n    \"commsee_linked:\",\n";
    for name in &names {
        if weak.contains(*name) {
            writeln!(table, "    \".weak {name}\",").unwrap();
        }
        writeln!(table, "    \".quad {name}\",").unwrap();
    }
    table += "    \".popsection\",\n);\n";
    let absent = names.iter().map(|name| format!("{name} = 0;\n"));
    let plain = optional.iter().map(|name| format!("{name} = commsee_wrapper_{name};\n"));
    let script = absent.chain(plain).collect();
    Linked { table, script }
}

fn rust_files(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).expect("the sources").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            rust_files(&entry, files);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            files.push(entry);
        }
    }
}

/// Names of the profiling interface, and of predefined objects, that a source file has as C strings.
fn named(text: &str) -> impl Iterator<Item = String> {
    // Every other part lies between quotes; those before it end with the letter of C strings, or do not.
    let parts: Vec<&str> = text.split('"').collect();
    let strings = parts.windows(2).filter(|pair| {
        let before = pair[0].strip_suffix('c').and_then(|before| before.chars().next_back());
        before.is_some_and(|before| !before.is_alphanumeric() && before != '_')
    });
    let strings: Vec<&str> = strings.map(|pair| pair[1]).collect();
    let is_name = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let begins = |name: &&str| ["PMPI_", "pmpi_", "ompi_"].iter().any(|begin| name.starts_with(begin));
    let names: BTreeSet<String> = strings.into_iter().filter(is_name).filter(begins).map(str::to_owned).collect();
    names.into_iter()
}
