//! The stream of one process, from its shard.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::completed::completed;
use super::detail::Detail;
use super::files::files;
use super::group::{ALL_PHASES, BLOCK_RANKS, Each, Key, Row, Sum, Totals};
use super::item::Item;
use super::layers;
use super::merge::Source;
use super::resolved::Resolved;
use super::sites::{Calls, Sites};
use super::timeline::Timeline;
use crate::shard::{BUCKET_INVOLVED, Shard};

/// The items of one process, made when they are asked for: what is held beside the shard is the order of its entries.
pub struct ProcessStream {
    resolved: Resolved,
    head: IntoIter<Item>,
    /// How many communicators were told.
    communicators: usize,
    /// One of MPI's that comes behind those of layers.
    next_of_mpi: Option<Item>,
    of_layers: Peekable<IntoIter<Item>>,
    names: IntoIter<Item>,
    sites: Sites,
    /// Cells and edges that count anything, sorted.
    cells: Peekable<IntoIter<u32>>,
    edges: IntoIter<u32>,
    at_sites: Calls,
    /// The sum over the phases of the group that has just been told.
    over_phases: Option<Sum>,
    /// What was put off until the sum before it is told.
    put_off: Option<Item>,
    tail: IntoIter<Item>,
    timeline: Timeline,
    program: Option<Item>,
    completed: IntoIter<Item>,
    files: IntoIter<Item>,
    settings: IntoIter<Item>,
    detail: Detail,
    is_phased: bool,
}

impl ProcessStream {
    /// `is_phased`: whether any process of the run named a phase.
    pub fn new(shard: Shard, detail: Detail, is_phased: bool) -> ProcessStream {
        let mut resolved = Resolved::of(shard, detail);
        let all = |count: usize| (0..count as u32).collect::<Vec<u32>>();
        let mut cells = all(resolved.cell_count());
        cells.retain(|index| resolved.has_cell(*index));
        cells.sort_unstable_by_key(|index| resolved.order_of_cell(*index));
        let mut edges = all(resolved.edge_count());
        edges.retain(|index| resolved.has_edge(*index));
        edges.sort_unstable_by_key(|index| resolved.order_of_edge(*index));
        resolved.add_up_times(&cells);
        let mut names: Vec<Item> = resolved.names().chain(layers::names(&resolved)).collect();
        names.sort_by_key(Item::sort_key);
        let mut tail: Vec<Item> =
            resolved.uses().chain(resolved.in_flight()).chain(layers::transfers(&resolved)).collect();
        tail.sort_by_key(Item::sort_key);
        ProcessStream {
            head: vec![resolved.run(), resolved.process()].into_iter(),
            communicators: 0,
            next_of_mpi: None,
            of_layers: layers::communicators(&resolved).into_iter().peekable(),
            names: names.into_iter(),
            sites: Sites::of(&resolved),
            cells: cells.into_iter().peekable(),
            edges: edges.into_iter(),
            at_sites: Calls::of(&resolved),
            over_phases: None,
            put_off: None,
            tail: tail.into_iter(),
            timeline: Timeline::of(&mut resolved),
            program: Some(resolved.program()),
            completed: completed(&resolved).into_iter(),
            files: files(&resolved).into_iter(),
            settings: resolved.settings().into_iter(),
            resolved,
            detail,
            is_phased,
        }
    }

    fn next_communicator(&mut self) -> Option<Item> {
        let of_mpi = self.next_of_mpi.take().or_else(|| {
            self.communicators += 1;
            self.resolved.communicator(self.communicators - 1)
        });
        let Some(of_mpi) = of_mpi else { return self.of_layers.next() };
        match self.of_layers.next_if(|of_layer| of_layer.sort_key() < of_mpi.sort_key()) {
            Some(of_layer) => {
                self.next_of_mpi = Some(of_mpi);
                Some(of_layer)
            }
            None => Some(of_mpi),
        }
    }

    /// All that was counted under the next key.
    fn next_row(&mut self) -> Option<(Key, Row)> {
        let first = self.cells.next()?;
        let (key, mut row) = (self.resolved.key(first), self.resolved.row(first));
        while let Some(next) = self.cells.next_if(|next| self.resolved.key(*next) == key) {
            row.add(&self.resolved.row(next));
        }
        Some((key, row))
    }

    fn next_edge(&mut self) -> Option<Item> {
        self.edges.next().map(|index| self.resolved.edge(index))
    }

    fn next_group(&mut self) -> Option<Item> {
        if let Some(item) = self.put_off.take() {
            return Some(item);
        }
        let (cells, resolved) = (&mut self.cells, &self.resolved);
        let mut goes_on =
            |sum: &Sum| cells.peek().is_some_and(|next| Key { phase: ALL_PHASES, ..resolved.key(*next) } == sum.key);
        if let Some(sum) = self.over_phases.take_if(|sum| !goes_on(sum)) {
            return Some(Item::Sum(Box::new(sum)));
        }
        let (key, row) = self.next_row()?;
        let is_involved = key.bucket == BUCKET_INVOLVED;
        if self.is_phased && !is_involved {
            let key = Key { phase: ALL_PHASES, ..key };
            // One rank's parts are added up first, then they are a sum over ranks.
            match &mut self.over_phases {
                Some(sum) => {
                    let mut whole = sum.totals.single();
                    whole.add(&row);
                    sum.totals = Totals::of(&whole);
                }
                None => self.over_phases = Some(Sum { key, totals: Totals::of(&row) }),
            }
        }
        let sum = Item::Sum(Box::new(Sum { key, totals: Totals::of(&row) }));
        let each = |row: Row, block| Item::Each(Each { key, block, rows: vec![row] });
        Some(match self.detail {
            Detail::Rank => each(row, row.rank / BLOCK_RANKS),
            Detail::Comm => sum,
            Detail::Node if is_involved => each(row, 0),
            Detail::Node => {
                self.put_off = Some(each(row, 0));
                sum
            }
        })
    }
}

impl Source for ProcessStream {
    fn next(&mut self) -> Option<Item> {
        let first = self.head.next().or_else(|| self.next_communicator()).or_else(|| self.names.next());
        let first = first.or_else(|| self.sites.next(&self.resolved));
        let counted = first.or_else(|| self.next_group()).or_else(|| self.next_edge());
        let counted = counted.or_else(|| self.at_sites.next(&self.resolved)).or_else(|| self.tail.next());
        counted
            .or_else(|| self.timeline.next(&self.resolved))
            .or_else(|| self.program.take())
            .or_else(|| self.completed.next())
            .or_else(|| self.files.next())
            .or_else(|| self.settings.next())
    }
}
