//! Prints what was measured.

use super::cases::{CYCLES, Length};
use super::common::Library;
use super::measure::{Figures, Measured, Row};

/// For the terminal: a table for each library.
pub fn text(measured: &Measured, libraries: &[Library]) {
    println!("\n{}", setting(measured));
    for (at, library) in libraries.iter().enumerate() {
        println!("  {}", library.name);
        println!(
            "    {:<30} {:>10} {:>10} {:>12} {:>8} {:>13}",
            "case", "alone ns", "with ns", "overhead ns", "× floor", "instructions"
        );
        for row in &measured.rows {
            let with = &row.with[at];
            let [overhead, ratio] = overhead(measured, row, with);
            println!(
                "    {:<30} {:>10.1} {:>10} {overhead:>12} {ratio:>8} {:>13}",
                row.case.name,
                row.alone.ns,
                with.as_ref().map_or("-".to_owned(), |with| format!("{:.1}", with.ns)),
                instructions(row, with),
            );
            if let (true, Some(with)) = (grows(row), with) {
                let (alone, with) = (row.alone.grown_bytes, with.grown_bytes);
                println!("      memory grows by {with:.0} bytes a cycle, alone by {alone:.0}");
            }
        }
    }
}

/// For the documentation: one table, a group of columns for each library.
pub fn markdown(measured: &Measured, libraries: &[Library]) {
    println!("{}:\n", setting(measured));
    let columns = |library: &Library| format!(" {} | × floor | instructions |", library.name);
    println!("| overhead in ns | call alone |{}", libraries.iter().map(columns).collect::<String>());
    println!("|---|---|{}", "---|---|---|".repeat(libraries.len()));
    for row in &measured.rows {
        let columns = |with: &Option<Figures>| {
            let [overhead, ratio] = overhead(measured, row, with);
            format!(" {overhead} | {ratio} | {} |", instructions(row, with))
        };
        let columns: String = row.with.iter().map(columns).collect();
        println!("| {} | {} |{columns}", row.case.title, figure(row.alone.ns));
    }
    for row in measured.rows.iter().filter(|row| grows(row)) {
        let growth = |(library, with): (&Library, &Option<Figures>)| {
            Some(format!(", with {} by {:.0}", library.name, with.as_ref()?.grown_bytes))
        };
        let growth: String = libraries.iter().zip(&row.with).filter_map(growth).collect();
        println!("\nOver {CYCLES} cycles of `MPI_Comm_dup` and `MPI_Comm_free` the process grows, in bytes per cycle,");
        println!("alone by {:.0}{growth}.", row.alone.grown_bytes);
    }
    println!();
}

fn setting(measured: &Measured) -> String {
    let threads = match (measured.threads_floor_ns, &measured.pinned) {
        (Some(floor), Some(pinned)) => format!("; four threads {pinned}, floor {floor:.1} ns"),
        _ => String::new(),
    };
    let Measured { mpi, rounds, floor_ns, .. } = measured;
    let others = measured.others * 100.0;
    format!("{mpi}, {rounds} rounds on one processor, floor {floor_ns:.1} ns{threads}; background load {others:.0} %")
}

/// In nanoseconds and in floors. Communicators are made rarely, and what a wrapper does then is no matter of clocks.
fn overhead(measured: &Measured, row: &Row, with: &Option<Figures>) -> [String; 2] {
    let Some(with) = with else { return ["-", "-"].map(str::to_owned) };
    let overhead = with.ns - row.alone.ns;
    let floor = measured.floor_ns(row.case).filter(|_| !matches!(row.case.length, Length::Fixed(..)));
    [figure(overhead), floor.map_or("-".to_owned(), |floor| format!("{:.1}", overhead / floor))]
}

/// What the library adds.
fn instructions(row: &Row, with: &Option<Figures>) -> String {
    match (row.alone.instructions, with.as_ref().and_then(|with| with.instructions)) {
        (Some(alone), Some(with)) => format!("{:+.0}", with - alone),
        _ => "-".to_owned(),
    }
}

/// Whether the case is long enough to show what a process grows by.
fn grows(row: &Row) -> bool {
    row.case.length == Length::Fixed(CYCLES, 1)
}

/// Three digits or so.
fn figure(ns: f64) -> String {
    if ns.abs() < 100.0 { format!("{ns:.1}") } else { format!("{ns:.0}") }
}
