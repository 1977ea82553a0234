//! The table of calls against reality: what the library exports, and what the installed MPI libraries offer.

use std::collections::BTreeSet;
use std::fs;
use std::iter;
use std::path::Path;
use std::process::Command;

use common::{Kin, Mpi, fortran_symbols, library, mpi_symbols, symbols};
use commsee::calls::CALLS;

/// The functions of the table, with the forms that exist for large counts and in extensions.
fn table() -> BTreeSet<String> {
    let large = CALLS.iter().filter(|call| call.large).map(|call| format!("{}_c", call.name));
    plain().chain(large).collect()
}

/// Those that Fortran has, too.
fn plain() -> impl Iterator<Item = String> {
    CALLS.iter().flat_map(|call| iter::once(call.name.to_owned()).chain(call.extension()))
}

/// Wrapped, but no operations of the profile.
const BESIDE_THE_TABLE: [&str; 1] = ["MPI_Type_free"];

/// The Fortran entry points of a function, as compilers and the modules of MPI libraries write them.
fn fortran_forms(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let endings = ["", "_", "__", "_f08_", "_f08ts_", "_f08_large_", "_f08ts_large_", "_cptr", "_cptr_", "_cptr__"];
    let upper = ["", "_CPTR"].map(|ending| format!("{}{ending}", name.to_uppercase()));
    endings.iter().map(|ending| format!("{lower}{ending}")).chain(upper).collect()
}

#[test]
fn the_library_exports_the_table_and_nothing_else() {
    let names = plain().chain(BESIDE_THE_TABLE.map(str::to_owned));
    let fortran: BTreeSet<String> = names.flat_map(|name| fortran_forms(&name)).collect();
    let own = |name: &String| {
        name.starts_with("commsee_") || fortran.contains(name) || BESIDE_THE_TABLE.contains(&name.as_str())
    };
    let exported: BTreeSet<String> = symbols(&library()).into_iter().filter(|name| !own(name)).collect();
    let table = table();
    let missing: Vec<_> = table.difference(&exported).collect();
    let superfluous: Vec<_> = exported.difference(&table).collect();
    assert!(missing.is_empty() && superfluous.is_empty(), "missing {missing:?}, superfluous {superfluous:?}");
}

/// The groups of `unprofiled.txt`: the reason and the names.
fn unprofiled() -> Vec<(String, Vec<String>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/unprofiled.txt");
    let text = fs::read_to_string(path).expect("tests/unprofiled.txt");
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(reason) => groups.push((reason.to_owned(), Vec::new())),
            None => groups.last_mut().expect("a reason first").1.extend(line.split(' ').map(str::to_owned)),
        }
    }
    groups
}

fn names(entry: &str, function: &str) -> bool {
    let plain = function.strip_suffix("_c").unwrap_or(function);
    let entry = entry.trim_end_matches('?');
    match entry.strip_suffix('*') {
        Some(begin) => plain.starts_with(begin),
        None => [function, plain].contains(&entry),
    }
}

#[test]
fn every_function_of_mpi_is_profiled_or_has_a_reason() {
    let functions: BTreeSet<String> = [Mpi::OpenMpi, Mpi::Mpich, Mpi::Standard]
        .into_iter()
        .filter(|mpi| mpi.is_there())
        .flat_map(mpi_symbols)
        .cloned()
        .chain(Kin::all().iter().flat_map(|kin| symbols(&kin.mpi_library())))
        .collect();
    let is_of_c = |name: &&str| ["MPI_", "MPIX_"].iter().any(|begin| name.starts_with(begin));
    let functions: BTreeSet<&str> = functions.iter().map(String::as_str).filter(is_of_c).collect();
    assert!(functions.len() > 500, "both libraries together export {} functions", functions.len());
    let (table, groups) = (table(), unprofiled());
    let entries: Vec<&String> = groups.iter().flat_map(|(_, names)| names).collect();

    let listed = |name: &str| entries.iter().any(|entry| names(entry, name));
    let unknown: Vec<_> = functions.iter().filter(|name| !table.contains(**name) && !listed(name)).collect();
    assert!(unknown.is_empty(), "neither profiled nor listed in unprofiled.txt: {unknown:?}");
    let both: Vec<_> = table.iter().filter(|name| listed(name)).collect();
    assert!(both.is_empty(), "profiled, and listed in unprofiled.txt all the same: {both:?}");
    if !Mpi::Standard.is_there() {
        // What MPI 4.1 and 5.0 brought is in no other library.
        return;
    }
    let idle: Vec<_> = entries
        .iter()
        .filter(|entry| !entry.ends_with('?') && !functions.iter().any(|name| names(entry, name)))
        .collect();
    assert!(idle.is_empty(), "listed in unprofiled.txt, exported by no MPI library: {idle:?}");
    let absent: Vec<_> = table.iter().filter(|name| !functions.contains(name.as_str())).collect();
    assert!(absent.is_empty(), "in the table, but no MPI library has them: {absent:?}");
}

#[test]
fn every_fortran_entry_point_is_known() {
    let exported = symbols(&library());
    for mpi in Mpi::ALL {
        let offered = fortran_symbols(mpi);
        let forms = plain().flat_map(|name| fortran_forms(&name));
        let wanted: Vec<String> = forms.filter(|form| offered.contains(form)).collect();
        assert!(wanted.len() > 300, "{mpi} offers {} forms", wanted.len());
        let missing: Vec<_> = wanted.iter().filter(|form| !exported.contains(*form)).collect();
        assert!(missing.is_empty(), "{mpi} has {missing:?}");
    }
}

/// Calls that touch no request take no lock, whatever the thread level: no instruction of theirs is atomic.
#[test]
fn calls_without_requests_have_no_atomic_instruction() {
    let calls = [
        "MPI_Send",
        "MPI_Recv",
        "MPI_Iprobe",
        "MPI_Sendrecv",
        "MPI_Barrier",
        "MPI_Bcast",
        "MPI_Allreduce",
        "MPI_Alltoall",
    ];
    let output_of = |command: &mut Command| {
        let output = command.arg(library()).output().expect("binutils");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let symbols = output_of(&mut Command::new("nm"));
    let symbols: Vec<&str> = symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    for call in calls {
        // The exported function hands over to the one that records.
        let recorded = format!("{call}_recorded");
        let is_one = |symbol: &str| symbol == call || symbol.contains(&recorded);
        let functions = symbols.iter().filter(|symbol| is_one(symbol));
        let listing: String = functions
            .map(|function| {
                let disassemble = format!("--disassemble={function}");
                output_of(Command::new("objdump").args(["-d", "--no-show-raw-insn", &disassemble]))
            })
            .collect();
        let is_atomic = |line: &&str| {
            let instruction = line.split('\t').nth(1).unwrap_or_default();
            let is_exclusive =
                ["ldxr", "ldaxr", "ldadd", "swp", "cas"].iter().any(|begin| instruction.starts_with(begin));
            instruction.starts_with("lock ")
                || instruction.starts_with("xchg ") && instruction.contains('(')
                || is_exclusive
        };
        assert!(listing.lines().count() > 50, "{call}: {listing}");
        assert_eq!(listing.lines().find(is_atomic), None, "{call}");
    }
}
