//! Whether the process of a shard lives. It holds the lock of its shard (`locks.rs`); only where there are no locks its number is
//! looked for, and only where that means something.

use std::path::Path;

use super::locks::{Reach, is_held, reach};
use crate::host::{boot, host_name, namespaces, process_start};
use crate::shard::{self, Header, LOCKED_HERE, SNAPSHOT, UNLOCKED, shard_name};

/// Whether a run goes on, as far as can be told here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Dead,
    /// Nothing says so: it may begin, or go on where processes have other numbers.
    Unknown,
    Elsewhere,
    Alive,
}

/// Of the process whose shard, or snapshot, lies at this path.
pub fn life(path: &Path, header: &Header) -> State {
    by_lock(path, header).unwrap_or_else(|| by_number(header))
}

fn by_lock(path: &Path, header: &Header) -> Option<State> {
    if header.lock == UNLOCKED {
        return None;
    }
    let is_held = match header.state {
        // A snapshot goes before the shard or with it, which has the lock.
        SNAPSHOT => {
            let shard = path.with_file_name(shard_name(header.run, header.world_rank));
            shard.exists().then(|| is_held(&shard))?
        }
        _ => is_held(path),
    };
    match is_held? {
        true => Some(State::Alive),
        false => is_believed(header, reach(path.parent()?)).then_some(State::Dead),
    }
}

/// Whether a lock that nobody is seen to hold is held by nobody.
fn is_believed(header: &Header, reach: Reach) -> bool {
    match reach {
        // Whoever can hold it is here; or this is a copy, which nobody counts into.
        Reach::Local => true,
        // Taken where only the process's own kernel knew of it, and not this one.
        Reach::Hosts => header.lock != LOCKED_HERE || is_of_this_kernel(header),
        Reach::Doubtful => header.lock == LOCKED_HERE && is_of_this_kernel(header),
    }
}

fn by_number(header: &Header) -> State {
    if is_of_this_kernel(header) && header.namespaces == namespaces() {
        let lives = process_start(header.pid) == Some(header.process_start);
        return if lives { State::Alive } else { State::Dead };
    }
    if is_here(header) { State::Unknown } else { State::Elsewhere }
}

fn is_of_this_kernel(header: &Header) -> bool {
    header.boot != [0, 0] && header.boot == boot()
}

pub fn is_here(header: &Header) -> bool {
    shard::text(&header.host) == host_name()
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;
    use crate::shard::{LOCKED, LOCKED_FOR_ALL, set_text};

    /// This process as an unlocked shard tells of it.
    fn own() -> Header {
        let mut header = Header::zeroed();
        header.pid = std::process::id();
        header.process_start = process_start(header.pid).unwrap();
        (header.boot, header.namespaces) = (boot(), namespaces());
        set_text(&mut header.host, &host_name());
        header
    }

    #[test]
    fn numbers_count_only_where_they_were_given() {
        let other_kernel = [1, 2];
        let dead = Header { pid: u32::MAX / 2, ..own() };
        let mut away = dead;
        set_text(&mut away.host, "another.host");
        assert_eq!(by_number(&own()), State::Alive);
        assert_eq!(by_number(&dead), State::Dead);
        assert_eq!(by_number(&Header { namespaces: 7, ..dead }), State::Unknown, "in another container");
        assert_eq!(by_number(&Header { namespaces: 7, ..own() }), State::Unknown, "the number is somebody else's");
        assert_eq!(by_number(&Header { boot: other_kernel, ..own() }), State::Unknown, "another host of the name");
        assert_eq!(by_number(&Header { boot: other_kernel, ..away }), State::Elsewhere);
        assert_eq!(by_number(&away), State::Dead, "hosts that share a kernel and its numbers");
        assert_eq!(by_number(&Header { boot: [0, 0], ..dead }), State::Unknown, "a kernel that is not known");
    }

    #[test]
    fn a_lock_is_believed_where_all_see_it() {
        let of = |lock, boot| Header { lock, boot, ..own() };
        let (here, far) = (boot(), [1, 2]);
        for (lock, boot, local, hosts, doubtful) in [
            (LOCKED, here, true, true, false),
            (LOCKED, far, true, true, false),
            (LOCKED_FOR_ALL, here, true, true, false),
            (LOCKED_FOR_ALL, far, true, true, false),
            (LOCKED_HERE, here, true, true, true),
            (LOCKED_HERE, far, true, false, false),
        ] {
            let header = of(lock, boot);
            let believed = [Reach::Local, Reach::Hosts, Reach::Doubtful].map(|reach| is_believed(&header, reach));
            assert_eq!(believed, [local, hosts, doubtful], "{lock} {boot:?}");
        }
    }
}
