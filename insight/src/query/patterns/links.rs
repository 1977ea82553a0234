//! Who sent to whom in a communicator, its members numbered from 0 in the order of their world ranks.

/// Who sends, and who gets it.
pub type Edge = (u32, u32);

/// A directed graph. No member is linked to itself: what a rank sends to itself says nothing about a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Of each member, ascending.
    to: Vec<Vec<u32>>,
    from: Vec<Vec<u32>>,
    count: usize,
}

impl Links {
    pub fn new(members: usize, links: impl IntoIterator<Item = Edge>) -> Links {
        let mut to: Vec<Vec<u32>> = vec![Vec::new(); members];
        for (src, dst) in links {
            if src != dst && (src.max(dst) as usize) < members {
                to[src as usize].push(dst);
            }
        }
        let mut from: Vec<Vec<u32>> = vec![Vec::new(); members];
        for (src, targets) in to.iter_mut().enumerate() {
            targets.sort_unstable();
            targets.dedup();
            targets.iter().for_each(|dst| from[*dst as usize].push(src as u32));
        }
        let count = to.iter().map(Vec::len).sum();
        Links { to, from, count }
    }

    pub fn members(&self) -> usize {
        self.to.len()
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn from(&self, member: u32) -> &[u32] {
        &self.from[member as usize]
    }

    pub fn to(&self, member: u32) -> &[u32] {
        &self.to[member as usize]
    }

    pub fn has(&self, src: u32, dst: u32) -> bool {
        self.to(src).binary_search(&dst).is_ok()
    }

    pub fn all(&self) -> impl Iterator<Item = Edge> + '_ {
        self.to.iter().enumerate().flat_map(|(src, to)| to.iter().map(move |dst| (src as u32, *dst)))
    }

    /// Neighbours of each member: those that it both sent to and got from, or those of either kind.
    pub fn neighbours(&self, are_mutual: bool) -> Vec<Vec<u32>> {
        let of = |member: u32| {
            let mut near: Vec<u32> = match are_mutual {
                true => self.to(member).iter().copied().filter(|other| self.has(*other, member)).collect(),
                false => self.to(member).iter().chain(self.from(member)).copied().collect(),
            };
            near.sort_unstable();
            near.dedup();
            near
        };
        (0..self.members() as u32).map(of).collect()
    }

    /// The same with members numbered anew.
    pub fn renumbered(&self, numbers: &[u32]) -> Links {
        Links::new(self.members(), self.all().map(|(src, dst)| (numbers[src as usize], numbers[dst as usize])))
    }
}
