//! The tables of `cargo bench --bench percall`: what is saved is read again, and those of several machines are put together.

#[path = "../benches/percall/cases.rs"]
#[allow(dead_code)]
mod cases;
#[path = "../benches/percall/combine.rs"]
mod combine;
#[path = "../benches/percall/figures.rs"]
#[allow(dead_code)]
mod figures;
#[path = "../benches/percall/saved.rs"]
mod saved;

use cases::CASES;
use combine::combine;
use figures::{Figures, Floor, Measured, Row};

/// Two cases, each with what it takes alone, with the floor and with each library; with instructions where there is
/// valgrind.
fn machine(processor: &str, libraries: &[&str], ns: [&[f64]; 2], valgrind: bool) -> Measured {
    let figures = |ns: f64| Figures { ns, grown_bytes: 0.0, instructions: valgrind.then_some(10.0 * ns) };
    let row = |(case, ns): (&'static cases::Case, &[f64])| Row {
        case,
        alone: figures(ns[0]),
        floor: Some(figures(ns[1])),
        with: ns[2..].iter().map(|ns| Some(figures(*ns))).collect(),
    };
    Measured {
        processor: processor.to_owned(),
        version: "MPICH 4.0.2".to_owned(),
        rounds: 5,
        others: 0.25,
        floor: Floor { ns: 20.0, ticks: 50.5 },
        threads_floor_ns: None,
        pinned: None,
        libraries: libraries.iter().map(|name| (*name).to_owned()).collect(),
        rows: CASES.iter().zip(ns).map(row).collect(),
    }
}

fn lines(all: &[Measured]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("figures.csv");
    saved::write(&file, all).expect("a file");
    std::fs::read_to_string(file).expect("the file")
}

#[test]
fn what_is_saved_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("figures.csv");
    let mut measured = machine("one", &["commsee", "other"], [&[1.0, 2.5, 3.0, 9.0], &[1.0, 2.0, 3.0, 4.0]], true);
    // A library that failed, and one that has no instructions.
    measured.rows[1].with[1] = None;
    measured.rows[0].with[1].as_mut().expect("figures").instructions = None;
    saved::write(&file, std::slice::from_ref(&measured)).expect("a file");
    let read = saved::read(&file).expect("figures");
    assert_eq!(lines(&read), lines(&[measured]));
    assert_eq!(lines(&read).lines().count(), 1 + 4 + 3);
    std::fs::write(&file, "case,ns\n").expect("a file");
    assert!(saved::read(&file).is_err());
}

#[test]
fn each_row_is_from_the_machine_with_the_worst_ratio() {
    // The floor of a case is 10 ns on one, 20 ns on two: 30 ns more are 3 floors there, 40 ns here only 2.
    let one = machine("one", &["commsee"], [&[10.0, 20.0, 40.0], &[10.0, 20.0, 20.0]], false);
    let two = machine("two", &["other", "commsee"], [&[10.0, 30.0, 90.0, 50.0], &[10.0, 30.0, 90.0, 35.0]], true);
    let combined = combine(vec![one, two]);
    let [mpich] = &combined[..] else { panic!("one MPI library") };
    assert_eq!(mpich.libraries(), ["commsee", "other"]);
    let [(0, first), (1, second)] = &mpich.rows[..] else { panic!("a row of each machine") };
    assert_eq!((first.with[0].expect("commsee").ns, first.with[1].is_none()), (40.0, true));
    assert_eq!((second.with[0].expect("commsee").ns, second.with[1].expect("other").ns), (35.0, 90.0));
    // Where there was no valgrind, the instructions are those of the other machine.
    assert_eq!(first.instructions(&first.with[0].expect("commsee")), Some(400.0));
}

#[test]
fn instructions_are_those_of_the_first_file() {
    let latest = machine("one", &["commsee"], [&[10.0, 20.0, 25.0], &[10.0, 20.0, 40.0]], true);
    let older = machine("two", &["commsee"], [&[10.0, 20.0, 50.0], &[10.0, 20.0, 30.0]], true);
    let combined = combine(vec![latest, older]);
    let [(1, first), (0, second)] = &combined[0].rows[..] else { panic!("a row of each machine") };
    let added = |row: &Row| row.with[0].map(|with| (with.ns, row.instructions(&with).expect("counted")));
    assert_eq!((added(first), added(second)), (Some((50.0, 150.0)), Some((40.0, 300.0))));
}
