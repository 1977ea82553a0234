//! The clock of each process against that of rank 0, by messages to and fro along the tree of ranks: a process asks its parent, which
//! has asked its own. Of several answers the one that took least is believed (Cristian 1989): it is wrong by half of its time at most.
//! Processes of one kernel and one namespace of time read the same clock, whatever answers say: there what the parent adds is right for
//! both, and a message cannot arrive before it was sent.

use vocabulary::host;
use vocabulary::shard::Sync;

use crate::guest::clock;

/// Questions to the parent. The first ones wait until the parent has got its own answers.
const QUESTIONS: usize = 20;

/// Instead of what a parent adds, where its clock is another one.
const OTHER_CLOCK: u64 = i64::MIN as u64;

/// How words are exchanged with another rank.
pub trait Partner {
    fn send(&self, words: [u64; 3], to: u32) -> Option<()>;
    fn receive(&self, from: u32) -> Option<[u64; 3]>;
}

/// Compares the clocks of all processes; collective. `None` where messages fail: then others may wait, and MPI is broken.
pub fn compare(partner: &impl Partner, parent: Option<u32>, children: impl Iterator<Item = u32>) -> Option<Sync> {
    let mut sync = Sync { monotonic_ns: clock::monotonic_ns(), offset_ns: 0, error_ns: 0 };
    let own = host::clock();
    if let Some(parent) = parent {
        let (mut best, mut added) = (u64::MAX, OTHER_CLOCK);
        for _ in 0..QUESTIONS {
            let asked_ns = clock::monotonic_ns();
            partner.send([own, 0, 0], parent)?;
            let (time_ns, error_ns);
            [time_ns, error_ns, added] = partner.receive(parent)?;
            let answered_ns = clock::monotonic_ns();
            let took_ns = answered_ns.saturating_sub(asked_ns);
            if took_ns < best {
                best = took_ns;
                let middle_ns = asked_ns + took_ns / 2;
                let offset_ns = time_ns.wrapping_sub(middle_ns) as i64;
                sync = Sync { monotonic_ns: middle_ns, offset_ns, error_ns: error_ns + took_ns.div_ceil(2) };
            }
        }
        let is_within_error = (added as i64).abs_diff(sync.offset_ns) <= sync.error_ns;
        if added != OTHER_CLOCK && is_within_error {
            sync.offset_ns = added as i64;
        }
    }
    for child in children {
        for _ in 0..QUESTIONS {
            let [of_child, ..] = partner.receive(child)?;
            let now_ns = clock::monotonic_ns().wrapping_add_signed(sync.offset_ns);
            let is_shared = own != 0 && of_child == own;
            let added = if is_shared { sync.offset_ns as u64 } else { OTHER_CLOCK };
            partner.send([now_ns, sync.error_ns, added], child)?;
        }
    }
    Some(sync)
}
