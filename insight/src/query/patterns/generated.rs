//! Every pattern of many sizes, whole and with one wrong link, must be recognised; what is random must not.

use super::links::{Edge, Links};
use super::recognise::recognise;
use super::shape::{Branching, Grid, Shape, Way};

/// <https://en.wikipedia.org/wiki/Xorshift>: the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    fn order(&mut self, count: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count as u32).collect();
        for at in (1..count).rev() {
            order.swap(at, self.below(at + 1));
        }
        order
    }
}

fn made(members: u32, shape: &Shape) -> Vec<(u32, u32)> {
    (0..members).flat_map(|src| shape.targets(members, src).into_iter().map(move |dst| (src, dst))).collect()
}

fn grid(dims: &[u32], periodic: &[bool], way: Way, reach: usize) -> Shape {
    Shape::Halo(Grid { dims: dims.to_vec(), periodic: periodic.to_vec(), ways: vec![way; dims.len()], reach })
}

/// Shapes that are the only ones with their links, with the number of their members.
fn shapes() -> Vec<(u32, Shape)> {
    let mut shapes: Vec<(u32, Shape)> = Vec::new();
    for members in [5, 7, 12, 16, 31, 64, 100, 256, 1024] {
        shapes.extend(Way::ALL.map(|way| (members, Shape::Ring(way))));
        shapes.extend(Way::ALL.map(|way| (members, grid(&[members], &[false], way, 1))));
        for root in [0, members / 3, members - 1] {
            shapes.extend(Way::ALL.map(|way| (members, Shape::Star { root, way })));
            if members > 7 {
                let tree = |branching| Way::ALL.map(|way| (members, Shape::Tree { branching, root, way }));
                shapes.extend([Branching::Binary, Branching::Binomial].into_iter().flat_map(tree));
            }
        }
        shapes.push((members, Shape::AllToAll));
    }
    shapes.extend([32, 64, 256, 1024].map(|members| (members, Shape::Butterfly)));
    let grids: [&[u32]; 12] = [
        &[3, 4],
        &[4, 3],
        &[5, 5],
        &[4, 16],
        &[16, 4],
        &[32, 32],
        &[3, 3, 4],
        &[4, 4, 4],
        &[8, 4, 2],
        &[8, 8, 16],
        &[3, 3, 3, 3],
        &[4, 4, 4, 8],
    ];
    for dims in grids {
        let members = dims.iter().product();
        for mask in 0..1 << dims.len() {
            let periodic: Vec<bool> =
                dims.iter().enumerate().map(|(at, dim)| mask >> at & 1 == 1 && *dim > 2).collect();
            for reach in 1..=dims.len().min(3) {
                // Three around with diagonals are all of them.
                let is_plain = reach == 1 || dims.iter().all(|dim| *dim > 3);
                shapes.extend(is_plain.then(|| (members, grid(dims, &periodic, Way::Both, reach))));
            }
            shapes.extend([Way::Up, Way::Down].map(|way| (members, grid(dims, &periodic, way, 1))));
        }
    }
    shapes
}

/// A binomial tree both ways has two members that may be its root.
fn is_same(found: &Shape, meant: &Shape) -> bool {
    match (found, meant) {
        (
            Shape::Tree { branching: Branching::Binomial, way: Way::Both, .. },
            Shape::Tree { branching: Branching::Binomial, way: Way::Both, .. },
        ) => true,
        _ => found == meant,
    }
}

#[test]
fn every_pattern_is_recognised() {
    for (members, shape) in shapes() {
        let links = Links::new(members as usize, made(members, &shape));
        let fits = recognise(&links);
        assert_eq!(fits[0].wrong(), 0, "{members}: {shape:?} as {:?}", fits[0]);
        let is_meant = fits.iter().take_while(|fit| fit.wrong() == 0).any(|fit| is_same(&fit.shape, &shape));
        assert!(is_meant, "{members}: {shape:?} as {:?}", fits[0]);
    }
}

#[test]
fn one_wrong_link_is_named() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut ambiguous = 0;
    let shapes = shapes();
    for (members, shape) in &shapes {
        let whole = made(*members, shape);
        let dropped = random.below(whole.len());
        let mut lacking = whole.clone();
        let removed = lacking.remove(dropped);
        check(*members, shape, &lacking, (&[], &[removed]), &mut ambiguous);
        if *shape == Shape::AllToAll {
            continue;
        }
        let links = Links::new(*members as usize, whole.clone());
        let added = loop {
            let link = (random.below(*members as usize) as u32, random.below(*members as usize) as u32);
            if link.0 != link.1 && !links.has(link.0, link.1) {
                break link;
            }
        };
        check(*members, shape, &[whole, vec![added]].concat(), (&[added], &[]), &mut ambiguous);
    }
    // A ring that lacks one link is a chain, and such.
    assert!(ambiguous * 20 < shapes.len(), "{ambiguous} of {}", shapes.len());
}

fn check(members: u32, shape: &Shape, links: &[(u32, u32)], wrong: (&[Edge], &[Edge]), ambiguous: &mut usize) {
    let links = Links::new(members as usize, links.iter().copied());
    let fits = recognise(&links);
    assert!(!fits.is_empty(), "{members}: {shape:?} but for {wrong:?}");
    let Some(fit) = fits.iter().take_while(|fit| fit.wrong() <= 1).find(|fit| is_same(&fit.shape, shape)) else {
        // Another pattern fits as well or better.
        assert!(fits[0].wrong() <= 1, "{members}: {shape:?} but for {wrong:?} as {:?}", fits[0]);
        *ambiguous += 1;
        return;
    };
    if fit.wrong() == fits[0].wrong() {
        let (extra, lacking) = fit.differences(&links);
        assert_eq!((&extra[..], &lacking[..]), wrong, "{members}: {shape:?}");
    }
}

/// Whatever ranks the members have.
#[test]
fn rings_stars_and_butterflies_need_no_numbering() {
    let mut random = Random(7);
    for members in [5u32, 16, 32, 100, 128, 1024] {
        let mut shapes: Vec<Shape> = vec![Shape::AllToAll];
        for way in Way::ALL {
            shapes.extend([Shape::Ring(way), Shape::Star { root: 1, way }, grid(&[members], &[false], way, 1)]);
        }
        shapes.extend((members.is_power_of_two() && members > 16).then_some(Shape::Butterfly));
        for shape in shapes {
            let numbers = random.order(members as usize);
            let links = Links::new(members as usize, made(members, &shape)).renumbered(&numbers);
            let fit = &recognise(&links)[0];
            assert_eq!(fit.wrong(), 0, "{members}: {shape:?} as {fit:?}");
            let is_same = match (&fit.shape, &shape) {
                // Without numbers there is no telling which way around.
                (Shape::Ring(Way::Both), Shape::Ring(way)) => *way == Way::Both,
                (Shape::Ring(_), Shape::Ring(way)) => *way != Way::Both,
                (Shape::Halo(found), Shape::Halo(meant)) => {
                    found.dims == meant.dims && found.periodic == meant.periodic
                }
                (Shape::Star { way: found, .. }, Shape::Star { way, .. }) => found == way,
                (found, meant) => found == meant,
            };
            assert!(is_same, "{members}: {shape:?} as {fit:?}");
            assert_eq!(fit.differences(&links), (vec![], vec![]));
        }
        for branching in
            [Branching::Binary, Branching::Binomial].into_iter().filter(|_| members.is_power_of_two() && members > 8)
        {
            let tree = Shape::Tree { branching, root: 0, way: Way::Up };
            let links = Links::new(members as usize, made(members, &tree)).renumbered(&random.order(members as usize));
            assert_eq!(recognise(&links)[0].shape, Shape::AnyTree(Some(branching)), "{members}");
        }
    }
}

#[test]
fn what_is_random_is_no_pattern() {
    let mut random = Random(42);
    for members in [8usize, 12, 16, 27, 64, 100, 256] {
        for degree in [2, 3, 4, 6] {
            for _ in 0..20 {
                let mut links = Vec::new();
                for _ in 0..members * degree {
                    links.push((random.below(members) as u32, random.below(members) as u32));
                }
                let links = Links::new(members, links);
                let fits = recognise(&links);
                assert!(fits.is_empty(), "{members} with {} links as {:?}", links.count(), fits[0]);
            }
        }
    }
    assert!(recognise(&Links::new(4, [])).is_empty() && recognise(&Links::new(0, [])).is_empty());
}
