//! Files that one process opened, and what it did with them, as items.

use std::collections::{BTreeMap, HashMap};

use super::detail::Detail;
use super::group::NO_RANK;
use super::identity::Identity;
use super::item::{FileCalls, Item, Name, OpenedFile};
use super::resolved::{Resolved, bucket_shown};
use crate::calls::op;
use crate::counters::{self, CellOf};
use crate::shard::{self, FileCell};

/// In their order: names, who opened what, calls.
pub fn files(resolved: &Resolved) -> Vec<Item> {
    let cells = &resolved.shard().file_cells;
    let known: HashMap<u32, &shard::File> = resolved.shard().files.iter().map(|file| (file.number, file)).collect();
    let (mut names, mut calls) = (BTreeMap::new(), Vec::new());
    let mut opened: BTreeMap<(Identity, u64), OpenedFile> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.calls as i64 >= 0) {
        let file = known.get(&cell.file).map_or(0, |file| file.hash);
        if let Some(of_file) = known.get(&cell.file) {
            names.entry(file).or_insert_with(|| name(resolved, of_file));
        }
        let item = item(resolved, cell, file);
        let new = OpenedFile { identity: item.identity, file, ranks: 0, opens: 0, views: 0 };
        let of_file = opened.entry((item.identity, file)).or_insert(new);
        let succeeded = item.counted.calls.wrapping_sub(item.counted.failed);
        match item.operation {
            op::MPI_File_open => of_file.opens = of_file.opens.wrapping_add(succeeded),
            op::MPI_File_set_view => of_file.views = of_file.views.wrapping_add(succeeded),
            _ => {}
        }
        of_file.ranks = u64::from(of_file.opens > 0);
        calls.push(Item::FileCalls(Box::new(item)));
    }
    calls.sort_by_key(Item::sort_key);
    // In less detail, or under one name of several phases, some are one.
    calls.dedup_by(|more, sum| {
        let is_same = more.sort_key() == sum.sort_key();
        if is_same {
            sum.add(more.clone());
        }
        is_same
    });
    let names = names.into_values().map(Item::File);
    names.chain(opened.into_values().map(Item::OpenedFile)).chain(calls).collect()
}

fn name(resolved: &Resolved, file: &shard::File) -> Name {
    let (text, first) = (shard::text(&file.name), (resolved.rank(), file.number));
    Name { hash: file.hash, text, contiguous: false, first }
}

fn item(resolved: &Resolved, cell: &FileCell, file: u64) -> FileCalls {
    let of_all = cell.cell();
    FileCalls {
        identity: resolved.identity(of_all.comm()),
        operation: of_all.operation(),
        bucket: bucket_shown(&of_all),
        phase: resolved.phase(of_all.phase()),
        file,
        location: resolved.location(),
        rank: if resolved.detail() == Detail::Comm { NO_RANK } else { resolved.rank() },
        counted: counters::FileCalls::read(&CellOf { cell: &of_all, ns_per_tick: resolved.ns_per_tick() }),
    }
}
