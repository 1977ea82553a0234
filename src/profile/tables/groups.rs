//! What was counted, by group: the cells of one communicator, operation, bucket and phase, and their sums.

use super::{Cells, Group, Statements, Tables, insert, known_by};
use crate::counters::{Calls, Counter, Merge};
use crate::profile::error::Error;
use crate::profile::schema::{NO_CELLS, OVER_PHASES, is_in_total, is_rare};
use crate::shard::{BUCKET_INVOLVED, OWN_SIZE};
use crate::stream::{ALL_PHASES, Detail, Each, Key, NO_RANK, Row, Sum, Totals};

impl Tables<'_> {
    /// Goes on to the next group, if it is another one.
    fn begin(&mut self, key: Key) -> Result<(), Error> {
        self.number()?;
        if self.group.as_ref().is_none_or(|group| group.key != key) {
            self.end_group()?;
            self.operations.insert(key.operation);
            self.of_own_size.extend((key.bucket & OWN_SIZE > 0).then_some(key.operation));
            self.groups += 1;
            self.group = Some(Group { id: self.groups, key, is_summed: false, totals: None, cells: None });
        }
        Ok(())
    }

    pub(super) fn add_sum(&mut self, sum: Sum) -> Result<(), Error> {
        if sum.key.bucket == BUCKET_INVOLVED {
            return self.involve(sum.key, NO_RANK, sum.totals.sums.calls);
        }
        self.begin(sum.key)?;
        if let Some(group) = &mut self.group {
            (group.is_summed, group.totals) = (true, Some(sum.totals));
        }
        Ok(())
    }

    pub(super) fn add_each(&mut self, each: &Each) -> Result<(), Error> {
        if each.key.bucket == BUCKET_INVOLVED {
            let involve = |row: &Row| self.involve(each.key, self.known_by(row.rank), row.counted.calls);
            return each.rows.iter().try_for_each(involve);
        }
        self.begin(each.key)?;
        let Some(group) = &mut self.group else { return Ok(()) };
        let new = || Cells { common: most_common(&each.rows), last_rank: 0, first: None, are_several: false };
        let cells = group.cells.get_or_insert_with(new);
        let first_cell = group.id * self.world_size;
        for row in &each.rows {
            let rank = known_by(&self.node_of, row.rank);
            if !group.is_summed {
                match &mut group.totals {
                    Some(totals) => totals.add(&Totals::of(row)),
                    None => group.totals = Some(Totals::of(row)),
                }
            }
            if !cells.are_several && cells.first.is_none() {
                (cells.first, cells.last_rank) = (Some(*row), rank);
                continue;
            }
            cells.are_several = true;
            if let Some(first) = cells.first.take() {
                self.insert.cell(&first, first_cell + i64::from(cells.last_rank), &cells.common)?;
            }
            cells.last_rank = cells.last_rank.max(rank);
            self.insert.cell(row, first_cell + i64::from(rank), &cells.common)?;
        }
        Ok(())
    }

    pub(super) fn end_group(&mut self) -> Result<(), Error> {
        let Some(Group { id, key, totals: Some(totals), mut cells, .. }) = self.group.take() else { return Ok(()) };
        let ranks = totals.ranks;
        let number = id * self.world_size;
        let first = cells.as_mut().and_then(|cells| Some((cells.first.take()?, cells.last_rank, cells.common)));
        let is_single = first.is_some() && ranks == 1 && self.detail == Detail::Rank;
        if let Some((row, rank, common)) = first.filter(|_| !is_single) {
            self.insert.cell(&row, number + i64::from(rank), &common)?;
        }
        // What the views make of null need not be stored, and takes no room at the end of a row.
        let unless = |default: i64, stored: i64| (stored != default).then_some(stored);
        let (least, most) = (totals.rank_least, totals.rank_most);
        let phase = if key.phase == ALL_PHASES { OVER_PHASES } else { self.phase(key.phase).into() };
        let group = [Some(number), Some(self.comm(key.identity).into()), Some(key.operation.into())];
        let sums = totals.sums.only(is_in_total).map(|sum| Some(sum as i64));
        let last_rank = match &cells {
            _ if is_single || phase == OVER_PHASES => None,
            Some(cells) => Some(i64::from(cells.last_rank)).filter(|last| ranks == 1 || *last != ranks as i64 - 1),
            None => Some(NO_CELLS),
        };
        let spread = [
            unless(0, least.rank.into()),
            unless(1, ranks as i64),
            (ranks > 1).then_some(least.ns as i64),
            (ranks > 1).then_some(most.ns as i64),
            (most.rank != least.rank).then(|| most.rank.into()),
            unless(0, key.bucket.into()),
            unless(0, phase),
            last_rank,
        ];
        let extremes = Calls::extremes().zip(totals.extremes).flat_map(|((_, counter), peak)| {
            let of_rank = if matches!(counter.merge, Merge::Least(_)) { least } else { most };
            // Where each rank made one call, its time is that of the call.
            let is_left_out = |ns: u64| totals.sums.calls == 1 || (totals.sums.calls == ranks && ns == of_rank.ns);
            let ns = peak.map(|peak| peak.ns).filter(|ns| !is_left_out(*ns)).map(|ns| ns as i64);
            [ns, peak.map(|peak| peak.rank).filter(|rank| *rank != of_rank.rank).map(i64::from)]
        });
        let row = group.into_iter().chain(sums).chain(spread).chain(extremes);
        insert(&mut self.insert.total, row)?;
        let mean = |all: u64| (all as i64).checked_div(ranks as i64);
        let is_mean = |(at, counter): (usize, &Counter)| {
            let (sum, most) = (totals.sums.values()[at], totals.most.values()[at]);
            let mean = if is_rare(counter) { Some(0) } else { mean(sum) };
            let is_common = !counter.is_common()
                || cells.as_ref().is_none_or(|cells| Some(cells.common.values()[at] as i64) == mean);
            is_common && (!is_rare(counter) || sum == 0) && (!counter.has_most || Some(most as i64) == mean)
        };
        if !Calls::TABLE.iter().enumerate().all(is_mean) {
            let of_all = Calls::TABLE.iter().enumerate().flat_map(|(at, counter)| {
                let sum = is_rare(counter).then(|| totals.sums.values()[at]);
                sum.into_iter()
                    .chain(counter.has_most.then(|| totals.most.values()[at]))
                    .map(|value| Some(value as i64))
            });
            let common = Calls::TABLE.iter().enumerate().filter(|(_, counter)| counter.is_common());
            let common = common.map(|(at, _)| cells.as_ref().map(|cells| cells.common.values()[at] as i64));
            insert(&mut self.insert.uneven_total, [Some(number)].into_iter().chain(of_all).chain(common))?;
        }
        Ok(())
    }
}

impl Statements<'_> {
    /// A cell, and apart what it does not have in common with most.
    fn cell(&mut self, row: &Row, number: i64, common: &Calls) -> Result<(), Error> {
        let (counted, has_extremes) = (&row.counted, row.counted.calls > 1);
        let of_cell = counted.values().into_iter().zip(Calls::TABLE).filter(|(_, counter)| !counter.is_common());
        let of_cell = of_cell.map(|(value, counter)| (counter.is_sum() || has_extremes).then_some(value as i64));
        self.cell.add([Some(number)].into_iter().chain(of_cell))?;
        if counted.keep(Counter::is_common) != *common {
            let own = counted.only(Counter::is_common).map(|count| Some(count as i64));
            insert(&mut self.uneven_cell, [Some(number)].into_iter().chain(own))?;
        }
        Ok(())
    }
}

/// What most rows have in common, if more than half of them have the same (Boyer and Moore's vote); else what some row has.
fn most_common(rows: &[Row]) -> Calls {
    let mut votes = 0u32;
    let mut winner = Calls::default();
    for common in rows.iter().map(|row| row.counted.keep(Counter::is_common)) {
        match votes {
            0 => (winner, votes) = (common, 1),
            _ if common == winner => votes += 1,
            _ => votes -= 1,
        }
    }
    winner
}
