//! Where a table for people would be long: what matters of it. Programs make many communicators, and calls that name or free one take
//! a line each.

use super::Context;
use super::communicator::{Communicators, OnCommunicator};
use crate::text::units;

/// Lines that are read gladly: up to here nothing is left out.
const LINES: usize = 40;
/// Lines of a communicator beside its operations.
const LINES_AROUND: usize = 4;
/// Whatever has a smaller part of the MPI time and of the bytes hardly matters.
const PART: f64 = 0.01;
/// But it does if it has this part of the time of its communicator.
const PART_OF_COMMUNICATOR: f64 = 0.1;
/// Who has this part of the bytes is shown in any case.
const MANY_BYTES: f64 = 0.05;
/// Communicators, the heaviest ones.
const COMMUNICATORS: usize = 10;

/// What was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeftOut {
    pub communicators: usize,
    /// Rows of communicators that are shown.
    pub operations: usize,
    pub mpi_ns: i64,
    /// Of all bytes.
    pub bytes_part: f64,
}

impl LeftOut {
    /// Leaves out what hardly matters, if that makes a long table shorter.
    pub fn of(context: &Context, found: &mut Communicators) -> LeftOut {
        let lines: usize = found.list.iter().map(|part| LINES_AROUND + part.rows.len()).sum();
        let mut left_out = LeftOut::default();
        if lines <= LINES {
            return left_out;
        }
        let all_bytes: f64 = found.list.iter().map(|part| bytes(part.total.bytes_sent, part.total.bytes_recv)).sum();
        let is_much = |part: f64, all: f64| all > 0.0 && part >= PART * all;
        let mut rest_ns: f64 = found.list.iter().map(|part| part.total.mpi_ns as f64).sum();
        let (mut shown, mut left_bytes) = (0, 0.0);
        found.list.retain(|part| {
            let total = &part.total;
            // Thousands may have little each and much together. Who has many bytes has them whatever takes more time.
            let own_bytes = bytes(total.bytes_sent, total.bytes_recv);
            let has_many_bytes = all_bytes > 0.0 && own_bytes >= MANY_BYTES * all_bytes;
            let is_heavy = shown < COMMUNICATORS && is_much(rest_ns, context.mpi_ns);
            let is_kept = shown == 0 || total.failed > 0 || has_many_bytes || is_heavy;
            rest_ns -= total.mpi_ns as f64;
            if is_kept {
                shown += 1;
            } else {
                left_out.communicators += part.family.as_ref().map_or(1, |family| family.members);
                left_out.mpi_ns = left_out.mpi_ns.saturating_add(total.mpi_ns);
                left_bytes += own_bytes;
            }
            is_kept
        });
        for OnCommunicator { rows, total, .. } in &mut found.list {
            let mut at = 0;
            rows.retain(|row| {
                at += 1;
                let is_kept = at == 1
                    || row.failed > 0
                    || is_much(row.time_ns as f64, context.mpi_ns)
                    || row.time_ns as f64 >= PART_OF_COMMUNICATOR * total.time_ns as f64
                    || is_much(bytes(row.bytes_sent, row.bytes_recv), all_bytes);
                if !is_kept {
                    left_out.operations += 1;
                    let is_outside = context.catalog.is_outside_span(row.op);
                    left_out.mpi_ns = left_out.mpi_ns.saturating_add(if is_outside { 0 } else { row.time_ns });
                    left_bytes += bytes(row.bytes_sent, row.bytes_recv);
                }
                is_kept
            });
        }
        left_out.bytes_part = if all_bytes > 0.0 { left_bytes / all_bytes } else { 0.0 };
        left_out
    }

    /// `Left out: 12 communicators and 43 rows with 1.8 % of MPI time; --all shows them.`
    pub fn sentence(&self, context: &Context) -> Option<String> {
        let parts = [(self.communicators, "communicator"), (self.operations, "row")];
        let words: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| units::count(*count as u64, what))
            .collect();
        let share = units::percent(self.mpi_ns as f64, context.mpi_ns);
        let what = words.join(" and ");
        let bytes = match self.bytes_part {
            part if part < PART => String::new(),
            part => format!(" and {} of the bytes", units::percent(part, 1.0)),
        };
        (!words.is_empty()).then(|| format!("Left out: {what} with {share} of MPI time{bytes}; --all shows them."))
    }
}

fn bytes(sent: u64, received: u64) -> f64 {
    sent as f64 + received as f64
}
