//! Members numbered by the links themselves: rings and butterflies are found whatever ranks their members have.

use super::links::Links;

/// Members in the order of a ring or a chain. The links of both ways are followed where there are such, else those of one.
pub fn along(links: &Links) -> Option<Vec<u32>> {
    let is_two_way = links.count() > links.members() + links.members() / 2;
    if is_two_way { both_ways(&links.neighbours(true)) } else { one_way(links) }
}

/// A wrong link goes one way: without those, nobody has more than two neighbours.
fn both_ways(neighbours: &[Vec<u32>]) -> Option<Vec<u32>> {
    if neighbours.iter().any(|near| near.len() > 2 || near.is_empty()) {
        return None;
    }
    let start = neighbours.iter().position(|near| near.len() == 1).unwrap_or(0) as u32;
    let (mut last, mut at) = (None, start);
    walk(neighbours.len(), start, |_| {
        let next = neighbours[at as usize].iter().copied().find(|near| Some(*near) != last);
        (last, at) = (Some(at), next?);
        next
    })
}

/// From the member that nobody sends to. Of two targets the one with no other source is the next: the other link is wrong.
fn one_way(links: &Links) -> Option<Vec<u32>> {
    let members = 0..links.members() as u32;
    let start = members.clone().find(|member| links.from(*member).is_empty()).unwrap_or(0);
    walk(links.members(), start, |at| links.to(at).iter().copied().min_by_key(|next| links.from(*next).len()))
}

/// The number of each member on a way that meets all of them.
fn walk(members: usize, start: u32, mut next: impl FnMut(u32) -> Option<u32>) -> Option<Vec<u32>> {
    let mut numbers = vec![u32::MAX; members];
    let mut at = start;
    for number in 0..members as u32 {
        if numbers[at as usize] != u32::MAX {
            return None;
        }
        numbers[at as usize] = number;
        match next(at) {
            Some(next) => at = next,
            None if number as usize + 1 == members => {}
            None => return None,
        }
    }
    Some(numbers)
}

/// Members numbered as in a hypercube: the neighbours of the first are the powers of two, and whoever is further off has the bits
/// of its neighbours that are nearer.
pub fn in_a_cube(neighbours: &[Vec<u32>]) -> Option<Vec<u32>> {
    let members = neighbours.len();
    let bits = members.trailing_zeros() as usize;
    if !members.is_power_of_two() || neighbours.first()?.len() != bits {
        return None;
    }
    let mut numbers = vec![0u32; members];
    let mut depth = vec![usize::MAX; members];
    depth[0] = 0;
    let mut level: Vec<u32> = vec![0];
    for distance in 0..bits {
        let mut next: Vec<u32> = Vec::new();
        for member in &level {
            for (bit, near) in neighbours[*member as usize].iter().enumerate() {
                let at = *near as usize;
                if depth[at] == usize::MAX {
                    depth[at] = distance + 1;
                    next.push(*near);
                }
                if depth[at] == distance + 1 {
                    numbers[at] |= if distance == 0 { 1 << bit } else { numbers[*member as usize] };
                }
            }
        }
        level = next;
    }
    let mut seen = vec![false; members];
    let is_new = |number: &u32| !std::mem::replace(&mut seen[*number as usize % members], true);
    numbers.iter().all(is_new).then_some(numbers)
}
