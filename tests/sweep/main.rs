//! Every profiled function is called at least once, in C and in Fortran through each of its interfaces, and must be in the
//! profile with its communicator, its calls, its bytes and its messages. `sweep.txt` lists the calls.

mod expected;
mod program;
mod script;

use std::collections::BTreeSet;

use common::{Launch, Mpi, check_invariants, library};
use commsee::calls::CALLS;
use program::Language;
use script::Script;

/// Runs what a library has of the script in one language, compares, and returns the functions that were called.
fn sweep(mpi: Mpi, language: Language) -> BTreeSet<String> {
    let script = Script::read().available(|function| language.has(mpi, function), language);
    let program = program::compile(&script, mpi, language);
    let launch = Launch::of(mpi, program).preload(library()).variable("COMMSEE_BUCKETS", "8,16");
    let run = launch.with_windows().run().succeeded();
    run.discard_other_files();
    let profile = run.profile();
    check_invariants(&profile, run.ranks);
    let differences = expected::differences(&script, language, &profile, run.ranks);
    assert!(differences.is_empty(), "{language:?} under {mpi}:\n{}", differences.join("\n"));
    script.functions()
}

#[test]
fn c() {
    let mut called: BTreeSet<String> = Script::read().elsewhere();
    for mpi in [Mpi::OpenMpi, Mpi::Mpich, Mpi::Standard] {
        if mpi.is_there() {
            called.extend(sweep(mpi, Language::C));
        }
    }
    let all = CALLS.iter().map(|call| call.name).filter(|name| Mpi::Standard.is_there() || exists(name));
    let missing: Vec<_> = all.filter(|name| !called.contains(*name)).collect();
    assert!(missing.is_empty(), "no sweep calls {missing:?}");
}

/// Whether one of the libraries that are always at hand has a function.
fn exists(function: &str) -> bool {
    Mpi::ALL.into_iter().any(|mpi| Language::C.has(mpi, function))
}

#[test]
fn mpif_h() {
    Mpi::ALL.into_iter().for_each(|mpi| assert!(sweep(mpi, Language::Fortran(1)).len() > 100));
}

#[test]
fn use_mpi() {
    Mpi::ALL.into_iter().for_each(|mpi| assert!(sweep(mpi, Language::Fortran(2)).len() > 100));
}

#[test]
fn use_mpi_f08() {
    Mpi::ALL.into_iter().for_each(|mpi| assert!(sweep(mpi, Language::Fortran(3)).len() > 100));
}
