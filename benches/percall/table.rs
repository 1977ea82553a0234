//! Prints what was measured.

use super::cases::{CYCLES, Length};
use super::figures::{Measured, Row};

/// For the terminal: a table for each library.
pub fn text(measured: &Measured) {
    println!("\n{}", setting(measured));
    for (at, library) in measured.libraries.iter().enumerate() {
        println!("  {library}");
        println!(
            "    {:<30} {:>12} {:>8} {:>10} {:>11} {:>11} {:>10} {:>10}",
            "case", "instructions", "floor", "alone ns", "overhead ns", "× per call", "floor ns", "× per case"
        );
        for row in &measured.rows {
            let cells = cells(measured, row, at);
            println!(
                "    {:<30} {:>12} {:>8} {:>10} {:>11} {:>11} {:>10} {:>10}",
                row.case.name,
                cells.instructions,
                floor_instructions(row),
                figure(row.alone.ns),
                cells.overhead,
                cells.per_call,
                floor_ns(row),
                cells.per_case,
            );
            if let (true, Some(with)) = (grows(row), row.with[at]) {
                let (alone, with) = (row.alone.grown_bytes, with.grown_bytes);
                println!("      memory grows by {with:.0} bytes a cycle, alone by {alone:.0}");
            }
        }
    }
}

/// For the documentation: one table, a group of columns for each library.
pub fn markdown(measured: &Measured) {
    println!("{}:\n", setting(measured));
    let columns =
        |library: &String| format!(" {library}: instructions | ns | × floor per call | × floor of the case |");
    println!(
        "| case | floor: instructions | ns | alone: ns |{}",
        measured.libraries.iter().map(columns).collect::<String>()
    );
    println!("|---|---|---|---|{}", "---|---|---|---|".repeat(measured.libraries.len()));
    for row in &measured.rows {
        let columns = |at| {
            let Cells { instructions, overhead, per_call, per_case } = cells(measured, row, at);
            format!(" {instructions} | {overhead} | {per_call} | {per_case} |")
        };
        let columns: String = (0..measured.libraries.len()).map(columns).collect();
        let (floor, floor_ns) = (floor_instructions(row), floor_ns(row));
        println!("| {} | {floor} | {floor_ns} | {} |{columns}", row.case.title, figure(row.alone.ns));
    }
    for row in measured.rows.iter().filter(|row| grows(row)) {
        let growth = |(library, with): (&String, &Option<_>)| {
            let with: &super::figures::Figures = with.as_ref()?;
            Some(format!(", with {library} by {:.0}", with.grown_bytes))
        };
        let growth: String = measured.libraries.iter().zip(&row.with).filter_map(growth).collect();
        println!("\nOver {CYCLES} cycles of `MPI_Comm_dup` and `MPI_Comm_free` the process grows, in bytes per cycle,");
        println!("alone by {:.0}{growth}.", row.alone.grown_bytes);
    }
    println!();
}

fn setting(measured: &Measured) -> String {
    let threads = match (measured.threads_floor_ns, &measured.pinned) {
        (Some(floor), Some(pinned)) => format!("; four threads pinned {pinned}, floor {floor:.1} ns"),
        _ => String::new(),
    };
    let Measured { processor, version, rounds, floor, .. } = measured;
    let others = measured.others * 100.0;
    let floor = format!("floor per call {:.1} ns ({:.0} ticks of the time-stamp counter)", floor.ns, floor.ticks);
    format!(
        "{version} on {processor}, {rounds} rounds on one processor, {floor}{threads}; background load {others:.0} %"
    )
}

/// What a library adds.
struct Cells {
    instructions: String,
    overhead: String,
    per_call: String,
    per_case: String,
}

fn cells(measured: &Measured, row: &Row, at: usize) -> Cells {
    let with = row.with[at].as_ref();
    let ratio = |ratio: Option<f64>| or_dash(ratio.map(|ratio| format!("{ratio:.1}")));
    Cells {
        instructions: or_dash(with.and_then(|with| row.instructions(with)).map(count)),
        overhead: or_dash(with.map(|with| figure(with.ns - row.alone.ns))),
        per_call: ratio(with.and_then(|with| measured.per_call(row, with))),
        per_case: ratio(with.and_then(|with| row.per_case(with))),
    }
}

fn floor_instructions(row: &Row) -> String {
    or_dash(row.floor.as_ref().and_then(|floor| row.instructions(floor)).map(count))
}

fn floor_ns(row: &Row) -> String {
    or_dash(row.floor_ns().map(figure))
}

fn count(instructions: f64) -> String {
    format!("{instructions:+.0}")
}

fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "-".to_owned())
}

/// Whether the case is long enough to show what a process grows by.
fn grows(row: &Row) -> bool {
    row.case.length == Length::Fixed(CYCLES, 1)
}

/// Three digits or so.
fn figure(ns: f64) -> String {
    if ns.abs() < 100.0 { format!("{ns:.1}") } else { format!("{ns:.0}") }
}
