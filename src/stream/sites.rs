//! Where in the code one process made its calls, as items.

use std::vec::IntoIter;

use super::detail::Detail;
use super::group::NO_RANK;
use super::hash::hex;
use super::item::{Frame, Item, Module, Scripted, Site, SiteCalls};
use super::resolved::{Resolved, bucket_shown, is_empty};
use crate::counters::{self, CellOf};
use crate::shard::{BUCKET_INVOLVED, NO_MODULE, Shard, position};

/// Modules, frames and sites that something refers to, made into items when they are asked for.
pub struct Sites {
    modules: IntoIter<u32>,
    frames: IntoIter<u32>,
    sites: IntoIter<u32>,
}

impl Sites {
    pub fn of(resolved: &Resolved) -> Sites {
        let (shard, known) = (resolved.shard(), resolved.hashes());
        let code = &shard.code;
        let mut sites = vec![false; code.sites.len()];
        let mut mark = |number: u32| position(&code.sites, number).into_iter().for_each(|at| sites[at] = true);
        shard.communicators.iter().for_each(|communicator| mark(communicator.site()));
        shard.layer_communicators.iter().for_each(|communicator| mark(communicator.site));
        shard
            .contexts
            .iter()
            .flat_map(|context| [context.site, context.objects[0], context.objects[1]])
            .for_each(&mut mark);
        shard.site_cells.iter().for_each(|cell| mark(cell.site));
        shard.events.iter().filter_map(|(_, event)| event.site()).for_each(&mut mark);
        resolved.callers().for_each(mark);
        let (mut frames, mut modules) = (vec![false; code.frames.len()], vec![false; code.modules.len()]);
        // Those outside come before those inside.
        for at in (0..sites.len()).rev() {
            let site = code.sites[at].1;
            if sites[at] {
                position(&code.frames, site.frame).into_iter().for_each(|at| frames[at] = true);
                position(&code.sites, site.outer).into_iter().for_each(|at| sites[at] = true);
            }
        }
        for ((_, frame), _) in code.frames.iter().zip(&frames).filter(|(_, is_used)| **is_used) {
            position(&code.modules, frame.module).into_iter().for_each(|at| modules[at] = true);
        }
        Sites {
            modules: in_order(&modules, &known.modules),
            frames: in_order(&frames, &known.frames),
            sites: in_order(&sites, &known.sites),
        }
    }

    pub fn next(&mut self, resolved: &Resolved) -> Option<Item> {
        let (code, known, rank) = (&resolved.shard().code, resolved.hashes(), resolved.rank());
        if let Some(at) = self.modules.next() {
            let (hash, module) = (known.modules[at as usize], &code.modules[at as usize].1);
            let (build_id, path) = (hex(module.build_id()), code.text(module.path));
            return Some(Item::Module(Box::new(Module { hash, build_id, path })));
        }
        if let Some(at) = self.frames.next() {
            let (hash, frame) = (known.frames[at as usize], &code.frames[at as usize].1);
            let scripted = (frame.module == NO_MODULE).then(|| {
                let [function, file] = [frame.function, frame.file].map(|number| code.text(number));
                Box::new(Scripted { function, file, line: frame.line })
            });
            let module = known.module(code, frame.module);
            return Some(Item::Frame(Frame { hash, module, address: frame.address, scripted }));
        }
        let at = self.sites.next()?;
        let (hash, (number, site)) = (known.sites[at as usize], code.sites[at as usize]);
        let (frame, outer) = (known.frame(code, site.frame), known.site(code, site.outer));
        Some(Item::Site(Site { hash, frame, outer, first: (rank, number) }))
    }
}

/// The indices of what is used, in the order of their hashes; each hash once, by its lowest number.
fn in_order(used: &[bool], hashes: &[u64]) -> IntoIter<u32> {
    let mut order: Vec<u32> = (0..hashes.len() as u32).filter(|at| used[*at as usize]).collect();
    order.sort_by_key(|at| hashes[*at as usize]);
    order.dedup_by_key(|at| hashes[*at as usize]);
    order.into_iter()
}

/// What was counted at sites, made into items when they are asked for.
pub struct Calls(IntoIter<u32>);

impl Calls {
    pub fn of(resolved: &Resolved) -> Calls {
        let shard = resolved.shard();
        let mut order: Vec<u32> = (0..shard.site_cells.len() as u32).filter(|at| is_counted(shard, *at)).collect();
        order.sort_by_cached_key(|at| item(resolved, *at).sort_key());
        Calls(order.into_iter())
    }

    pub fn next(&mut self, resolved: &Resolved) -> Option<Item> {
        self.0.next().map(|at| item(resolved, at))
    }
}

fn is_counted(shard: &Shard, at: u32) -> bool {
    let cell = shard.site_cells[at as usize].cell();
    cell.bucket() != BUCKET_INVOLVED && !is_empty(&cell)
}

fn item(resolved: &Resolved, at: u32) -> Item {
    let entry = &resolved.shard().site_cells[at as usize];
    let cell = entry.cell();
    Item::SiteCalls(SiteCalls {
        site: resolved.site(entry.site),
        identity: resolved.identity(cell.comm()),
        operation: cell.operation(),
        bucket: bucket_shown(&cell),
        phase: resolved.phase(cell.phase()),
        location: resolved.location(),
        rank: if resolved.detail() == Detail::Comm { NO_RANK } else { resolved.rank() },
        counted: counters::SiteCalls::read(&CellOf { cell: &cell, ns_per_tick: resolved.ns_per_tick() }),
    })
}
