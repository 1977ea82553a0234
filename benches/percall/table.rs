//! Prints what was measured: instructions first, which the processor does not change, then nanoseconds and both floors.

use super::cases::{CYCLES, Length};
use super::combine::Combined;
use super::figures::{Measured, Row};

/// For the terminal: a table for each library.
pub fn text(combined: &Combined) {
    println!("\n{}", settings(combined));
    for (at, library) in combined.libraries().iter().enumerate() {
        println!("  {library}");
        println!(
            "    {:<30} {:>12} {:>8} {:>10} {:>11} {:>11} {:>10} {:>10}",
            "case", "instructions", "floor", "alone ns", "overhead ns", "× per call", "floor ns", "× of case"
        );
        for (whose, row) in &combined.rows {
            let cells = cells(&combined.machines[*whose], row, at);
            println!(
                "    {:<30} {:>12} {:>8} {:>10} {:>11} {:>11} {:>10} {:>10}{}",
                row.case.name,
                cells.instructions,
                floor_instructions(row),
                figure(row.alone.ns),
                cells.overhead,
                cells.per_call,
                floor_ns(row),
                cells.per_case,
                if several(combined) { format!("  {}", letter(*whose)) } else { String::new() },
            );
            if let (true, Some(with)) = (grows(row), row.with[at]) {
                let (alone, with) = (row.alone.grown_bytes, with.grown_bytes);
                println!("      memory grows by {with:.0} bytes a cycle, alone by {alone:.0}");
            }
        }
    }
}

/// For the documentation: one table, a group of columns for each library.
pub fn markdown(combined: &Combined) {
    println!("{}\n", settings(combined));
    let libraries = combined.libraries();
    let several = several(combined);
    let counts: String = libraries.iter().map(|library| format!(" {library} |")).collect();
    let times = |library: &String| format!(" {library} | × floor per call | × floor of the case |");
    let times: String = libraries.iter().map(times).collect();
    let (on, dashes) = if several { ("| on ", "|---") } else { ("", "") };
    println!("| case {on}| instructions: floor |{counts} ns: alone | floor |{times}");
    println!("|---{dashes}|---|{}---|---|{}", "---|".repeat(libraries.len()), "---|---|---|".repeat(libraries.len()));
    for (whose, row) in &combined.rows {
        let cells: Vec<Cells> = (0..libraries.len()).map(|at| cells(&combined.machines[*whose], row, at)).collect();
        let counts: String = cells.iter().map(|cells| format!(" {} |", cells.instructions)).collect();
        let times = |cells: &Cells| format!(" {} | {} | {} |", cells.overhead, cells.per_call, cells.per_case);
        let times: String = cells.iter().map(times).collect();
        let on = if several { format!("| {} ", letter(*whose)) } else { String::new() };
        let (title, alone) = (row.case.title, figure(row.alone.ns));
        println!("| {title} {on}| {} |{counts} {alone} | {} |{times}", floor_instructions(row), floor_ns(row));
    }
    for (_, row) in combined.rows.iter().filter(|(_, row)| grows(row)) {
        let growth = libraries
            .iter()
            .zip(&row.with)
            .filter_map(|(library, with)| Some(format!(", with {library} by {:.0}", with.as_ref()?.grown_bytes)));
        println!("\nOver {CYCLES} cycles of `MPI_Comm_dup` and `MPI_Comm_free` the process grows, in bytes per cycle,");
        println!("alone by {:.0}{}.", row.alone.grown_bytes, growth.collect::<String>());
    }
    println!();
}

fn several(combined: &Combined) -> bool {
    combined.machines.len() > 1
}

fn letter(machine: usize) -> char {
    char::from(b'A' + u8::try_from(machine).expect("a few machines"))
}

fn settings(combined: &Combined) -> String {
    let version = &combined.machines[0].version;
    if !several(combined) {
        return format!("{version} on {}:", setting(&combined.machines[0]));
    }
    let lines =
        combined.machines.iter().enumerate().map(|(at, machine)| format!("\n- {}: {}", letter(at), setting(machine)));
    format!(
        "{version}. Each row is from the machine on which commsee costs most, as a ratio to the floor of the case:\n{}",
        lines.collect::<String>()
    )
}

fn setting(measured: &Measured) -> String {
    let threads = match (measured.threads_floor_ns, &measured.pinned) {
        (Some(floor), Some(pinned)) => format!("; four threads pinned {pinned}, floor {floor:.1} ns"),
        (Some(floor), None) => format!("; four threads, floor {floor:.1} ns"),
        _ => String::new(),
    };
    let Measured { processor, rounds, floor, .. } = measured;
    let others = measured.others * 100.0;
    let floor = format!("floor per call {:.1} ns ({:.0} ticks of the time-stamp counter)", floor.ns, floor.ticks);
    format!("{processor}, {rounds} rounds, {floor}{threads}; background load {others:.0} %")
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
