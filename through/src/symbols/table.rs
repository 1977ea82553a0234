//! The function at an address, as symbol tables have it.

use std::collections::{BTreeMap, BTreeSet};

use object::{Object, ObjectSymbol, ObjectSymbolTable, SymbolKind};

use super::Name;
use super::demangle::demangled;
use super::find::Files;

/// How well a symbol names an address: the nearest one, a sized one, one that others can see.
type Rank = (u64, bool, bool);

pub fn functions(files: &Files, addresses: &BTreeSet<u64>) -> BTreeMap<u64, Name> {
    let mut found = BTreeMap::new();
    for image in &files.images {
        let Some(elf) = image.elf() else { continue };
        for table in [elf.symbol_table(), elf.dynamic_symbol_table()].into_iter().flatten() {
            let left: Vec<u64> = addresses.iter().copied().filter(|address| !found.contains_key(address)).collect();
            if left.is_empty() {
                return found;
            }
            found.extend(of_table(&table, &left));
        }
    }
    found
}

fn of_table(table: &object::SymbolTable, addresses: &[u64]) -> BTreeMap<u64, Name> {
    let mut best: BTreeMap<u64, (Rank, &str)> = BTreeMap::new();
    for symbol in table.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0) {
        let (start, end) = (symbol.address(), symbol.address().saturating_add(symbol.size()));
        let first = addresses.partition_point(|address| *address < start);
        let inside = addresses[first..].iter().take_while(|address| **address < end);
        for address in inside {
            let Ok(name) = symbol.name() else { continue };
            let rank = (start, symbol.is_global(), !symbol.is_weak());
            let other = best.entry(*address).or_insert((rank, name));
            // Of aliases that are alike always the same.
            if rank > other.0 || rank == other.0 && name < other.1 {
                *other = (rank, name);
            }
        }
    }
    let name = |(address, ((start, ..), name)): (u64, (Rank, &str))| {
        let function = Some(demangled(name, None));
        (address, Name { function, offset: Some(address - start), ..Name::default() })
    };
    best.into_iter().map(name).collect()
}
