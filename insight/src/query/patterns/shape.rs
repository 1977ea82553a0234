//! The patterns that are known, and which links each of them has.

/// Which way messages go along a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    #[default]
    Both,
    /// To the next member, or away from the root.
    Up,
    /// To the member before, or to the root.
    Down,
}

impl Way {
    pub const ALL: [Way; 3] = [Way::Both, Way::Up, Way::Down];

    fn is_up(self) -> bool {
        self != Way::Down
    }

    fn is_down(self) -> bool {
        self != Way::Up
    }
}

/// How a rooted pattern branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branching {
    /// The children of member i are 2i + 1 and 2i + 2, counted from the root.
    Binary,
    /// The parent of member i, counted from the root, is i without its lowest bit.
    Binomial,
}

/// Members on a grid, numbered in row-major order: along the last dimension first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    pub dims: Vec<u32>,
    pub periodic: Vec<bool>,
    /// Along each dimension.
    pub ways: Vec<Way>,
    /// How many coordinates may differ between neighbours: 1 is faces alone, more are diagonals too.
    pub reach: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Two members.
    Pair(Way),
    Ring(Way),
    Halo(Grid),
    Star {
        root: u32,
        way: Way,
    },
    Tree {
        branching: Branching,
        root: u32,
        way: Way,
    },
    /// A tree of no known numbering; `None`: which branches in no known way. Its links are those that are there.
    AnyTree(Option<Branching>),
    /// Member i and i with one bit changed.
    Butterfly,
    AllToAll,
}

impl Grid {
    pub fn point(&self, mut member: u32) -> Vec<u32> {
        let mut point = vec![0; self.dims.len()];
        for (at, dim) in self.dims.iter().enumerate().rev() {
            point[at] = member % dim;
            member /= dim;
        }
        point
    }

    /// Calls `take` with each neighbour that gets something from a member.
    fn targets(&self, member: u32, take: &mut impl FnMut(u32)) {
        self.step(&self.point(member), 0, 0, 0, take);
    }

    fn step(&self, point: &[u32], at: usize, changed: usize, number: u32, take: &mut impl FnMut(u32)) {
        let Some(&dim) = self.dims.get(at) else {
            if changed > 0 {
                take(number);
            }
            return;
        };
        let (number, own) = (number * dim, point[at]);
        self.step(point, at + 1, changed, number + own, take);
        if changed == self.reach {
            return;
        }
        let may_wrap = self.periodic[at] && dim > 2;
        if self.ways[at].is_up() && (own + 1 < dim || may_wrap) {
            self.step(point, at + 1, changed + 1, number + (own + 1) % dim, take);
        }
        if self.ways[at].is_down() && (own > 0 || may_wrap) {
            self.step(point, at + 1, changed + 1, number + (own + dim - 1) % dim, take);
        }
    }
}

impl Shape {
    /// Who gets something from a member, ascending.
    pub fn targets(&self, members: u32, member: u32) -> Vec<u32> {
        let mut to: Vec<u32> = Vec::new();
        match self {
            Shape::Pair(way) => {
                let is_meant = if member == 0 { way.is_up() } else { way.is_down() };
                to.extend(is_meant.then_some(1 - member.min(1)));
            }
            Shape::Ring(way) => {
                to.extend(way.is_up().then_some((member + 1) % members));
                to.extend(way.is_down().then_some((member + members - 1) % members));
            }
            Shape::Halo(grid) => grid.targets(member, &mut |target| to.push(target)),
            Shape::Star { root, way } if member == *root && way.is_up() => {
                to.extend((0..members).filter(|other| other != root))
            }
            Shape::Star { root, way } => to.extend((member != *root && way.is_down()).then_some(*root)),
            Shape::Tree { branching, root, way } => {
                let own = (member + members - root) % members;
                let number = |own: u32| (own + root) % members;
                if way.is_up() {
                    to.extend(branching.children(own, members).into_iter().map(number));
                }
                to.extend(branching.parent(own).filter(|_| way.is_down()).map(number));
            }
            Shape::AnyTree(_) => {}
            Shape::Butterfly => to.extend((0..members.trailing_zeros()).map(|bit| member ^ 1 << bit)),
            Shape::AllToAll => to.extend((0..members).filter(|other| *other != member)),
        }
        to.sort_unstable();
        to.dedup();
        to
    }
}

impl Branching {
    fn parent(self, own: u32) -> Option<u32> {
        match self {
            _ if own == 0 => None,
            Branching::Binary => Some((own - 1) / 2),
            Branching::Binomial => Some(own & (own - 1)),
        }
    }

    fn children(self, own: u32, members: u32) -> Vec<u32> {
        let own = u64::from(own);
        let children: Vec<u64> = match self {
            Branching::Binary => vec![2 * own + 1, 2 * own + 2],
            Branching::Binomial => {
                let bits = if own == 0 { u32::BITS } else { own.trailing_zeros() };
                (0..bits).map(|bit| own + (1 << bit)).collect()
            }
        };
        children.into_iter().filter(|child| *child < u64::from(members)).map(|child| child as u32).collect()
    }
}
