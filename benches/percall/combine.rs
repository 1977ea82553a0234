//! Puts the figures of several machines together: each row is that of the machine least favourable to commsee.

use super::figures::{Measured, Row};

/// The figures of machines under one MPI library, and which row comes from which.
pub struct Combined {
    pub machines: Vec<Measured>,
    /// A row, and whose it is.
    pub rows: Vec<(usize, Row)>,
}

impl Combined {
    /// All machines have the same.
    pub fn libraries(&self) -> &[String] {
        &self.machines[0].libraries
    }
}

/// One for each version of an MPI library, in the order in which they come.
pub fn combine(all: Vec<Measured>) -> Vec<Combined> {
    let mut groups: Vec<Vec<Measured>> = Vec::new();
    for measured in all {
        match groups.iter_mut().find(|group| group[0].version == measured.version) {
            Some(group) => group.push(measured),
            None => groups.push(vec![measured]),
        }
    }
    groups.into_iter().map(worst).collect()
}

fn worst(mut machines: Vec<Measured>) -> Combined {
    // The same columns everywhere.
    let mut libraries: Vec<String> = Vec::new();
    for name in machines.iter().flat_map(|machine| &machine.libraries) {
        if !libraries.contains(name) {
            libraries.push(name.clone());
        }
    }
    libraries.sort_by_key(|name| name != "commsee");
    for machine in &mut machines {
        let place = |name| machine.libraries.iter().position(|known| known == name);
        let places: Vec<Option<usize>> = libraries.iter().map(place).collect();
        for row in &mut machine.rows {
            row.with = places.iter().map(|at| row.with.get((*at)?).copied().flatten()).collect();
        }
        machine.libraries.clone_from(&libraries);
    }
    let mut rows: Vec<(usize, Row)> = Vec::new();
    for (at, machine) in machines.iter().enumerate() {
        for row in &machine.rows {
            match rows.iter_mut().find(|(_, known)| known.case.name == row.case.name) {
                Some((whose, known)) if cost(machine, row) > cost(&machines[*whose], known) => {
                    (*whose, *known) = (at, counted(row, known));
                }
                Some((_, known)) if known.alone.instructions.is_none() => *known = counted(known, row),
                Some(_) => {}
                None => rows.push((at, row.clone())),
            }
        }
    }
    Combined { machines, rows }
}

/// Of the first library, commsee: the ratio to the floor of the case, or to that of single calls, or nanoseconds where
/// a ratio says nothing.
fn cost(machine: &Measured, row: &Row) -> f64 {
    let Some(Some(with)) = row.with.first() else { return f64::NEG_INFINITY };
    row.per_case(with).or_else(|| machine.per_call(row, with)).unwrap_or(with.ns - row.alone.ns)
}

/// A row with the instructions of another, if that has any: they are the same on every processor, and the files that come first are the
/// latest. Not every machine has valgrind.
fn counted(row: &Row, other: &Row) -> Row {
    let mut row = row.clone();
    if other.alone.instructions.is_some() {
        row.alone.instructions = other.alone.instructions;
        let own = [&mut row.floor].into_iter().chain(&mut row.with);
        for (own, other) in own.zip([&other.floor].into_iter().chain(&other.with)) {
            if let (Some(own), Some(other)) = (own, other) {
                own.instructions = other.instructions;
            }
        }
    }
    row
}
