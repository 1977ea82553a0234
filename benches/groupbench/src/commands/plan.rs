//! What is to be measured, of what the command line asks and the ranks are.

use crate::cli::Run;
use crate::groups::Groups;
use crate::library::Choice;
use crate::measure::Case;
use crate::mpi::World;
use crate::pattern::{Direction, Family, Matrix, Message, Pattern, striped};
use crate::record::{Key, Size};

/// One pattern of one size by one library.
pub struct Item {
    pub key: Key,
    pub size: Size,
    pub case: Case,
    pub choice: Choice,
}

impl Item {
    pub fn name(&self) -> String {
        let Key { family, direction, n, k, library, bytes, step, .. } = &self.key;
        let step = if *step > 0 { format!(", step {step}") } else { String::new() };
        format!("{family} {direction} n={n} k={k} {library} {}{step}", commsee::bytes::exact(*bytes))
    }
}

/// A pattern with its names, on places in groups; those of a matrix are on ranks of the world.
struct Named {
    family: String,
    direction: &'static str,
    k: usize,
    bytes: u64,
    pattern: Pattern,
    is_one_way: bool,
    is_placed: bool,
}

/// All of them, in the order of the command line.
pub fn items(arguments: &Run, world: &World, groups: &Groups, matrix: Option<&Matrix>) -> Result<Vec<Item>, String> {
    if let Some(matrix) = matrix {
        return items_of(arguments, world, groups, vec![of_matrix(matrix, world)?]);
    }
    let mut items = Vec::new();
    for n in arguments.n.as_ref().map_or_else(|| vec![groups.shape.n], |n| n.of(groups.shape.n)) {
        let groups = groups.first(n).map_err(|error| error.to_string())?;
        items.extend(items_of(arguments, world, &groups, of_families(arguments, &groups)?)?);
    }
    Ok(items)
}

fn items_of(arguments: &Run, world: &World, groups: &Groups, named: Vec<Named>) -> Result<Vec<Item>, String> {
    let libraries = match &arguments.library[..] {
        [] => vec![Choice::One(crate::library::Name::Twosided)],
        list => list.to_vec(),
    };
    let places = groups.places(world.size());
    let mut items = Vec::new();
    for named in named {
        let striped = if arguments.stripe { striped(&named.pattern, groups.shape) } else { named.pattern };
        let pattern = if named.is_placed { striped } else { placed(&striped, &groups.ranks, world.size()) };
        if pattern.messages().next().is_none() {
            return Err(format!("{} of {} rank(s) has no message", named.family, groups.shape.ranks()));
        }
        // Ranks without a group count as a group of their own.
        let group = |rank: usize| places[rank].map_or(groups.shape.n + rank, |(group, _)| group);
        let crosses_hosts = pattern.messages().any(|one| world.host(one.source) != world.host(one.destination));
        let is_one_way = named.is_one_way && pattern.steps.len() == 1;
        let mut parts = vec![pattern];
        if arguments.each_step && parts[0].stage_count() > 1 {
            parts.extend(parts[0].stages(group));
        }
        for choice in &libraries {
            for (step, pattern) in parts.iter().enumerate() {
                let key = Key {
                    family: format!("{}{}", named.family, if arguments.stripe { " striped" } else { "" }),
                    direction: named.direction.to_owned(),
                    n: groups.shape.n,
                    g: groups.shape.g,
                    k: named.k,
                    library: choice.to_string(),
                    bytes: named.bytes,
                    step,
                };
                let case = Case { pattern: pattern.clone(), is_one_way };
                items.push(Item { key, size: size(pattern, group, crosses_hosts), case, choice: choice.clone() });
            }
        }
    }
    Ok(items)
}

/// `crosses_hosts`: whether a message of the whole pattern does.
fn size(pattern: &Pattern, group: impl Fn(usize) -> usize, crosses_hosts: bool) -> Size {
    Size {
        steps: pattern.stage_count(),
        messages: pattern.messages().count(),
        message_bytes: pattern.largest_message_bytes(),
        total_bytes: pattern.total_bytes(),
        group_bytes: pattern.busiest_bytes(group),
        rank_bytes: rank_bytes(pattern),
        crosses_hosts,
    }
}

fn of_families(arguments: &Run, groups: &Groups) -> Result<Vec<Named>, String> {
    let shape = groups.shape;
    let actives = arguments.k.as_ref().map_or_else(|| vec![shape.g], |k| k.of(shape.g));
    let mut named = Vec::new();
    for &bytes in &arguments.bytes.0 {
        for &preset in &arguments.preset {
            let pattern = preset.pattern(shape.ranks(), bytes);
            let (family, direction, k) = (preset.name(), "omni", shape.g);
            named.push(Named { family, direction, k, bytes, pattern, is_one_way: false, is_placed: false });
        }
        if !arguments.preset.is_empty() {
            continue;
        }
        for &k in &actives {
            if let Some(steps) = &arguments.steps {
                let pattern = steps.pattern(shape, k, bytes).map_err(|error| error.to_string())?;
                let (family, direction) = (steps.name().to_owned(), "uni");
                named.push(Named { family, direction, k, bytes, pattern, is_one_way: false, is_placed: false });
                continue;
            }
            let families = if arguments.family.is_empty() { &[Family::Rail][..] } else { &arguments.family };
            let directions = if arguments.direction.is_empty() { &[Direction::Uni][..] } else { &arguments.direction };
            for &family in families {
                for &direction in directions {
                    let is_only = families.len() * directions.len() == 1;
                    // Of many, the one that does not exist is left out; to oneself there is one way.
                    let is_missing = (family, direction) == (Family::Fan, Direction::Omni) && !is_only;
                    if is_missing || family == Family::Itself && direction != directions[0] {
                        continue;
                    }
                    let pattern = family.pattern(direction, shape, k, bytes).map_err(|error| error.to_string())?;
                    let is_one_way = matches!(direction, Direction::Uni | Direction::In) && family != Family::Itself;
                    let (family, direction) = (family.name().to_owned(), direction.name());
                    named.push(Named { family, direction, k, bytes, pattern, is_one_way, is_placed: false });
                }
            }
        }
    }
    Ok(named)
}

fn of_matrix(matrix: &Matrix, world: &World) -> Result<Named, String> {
    let pattern = matrix.pattern();
    if pattern.ranks > world.size() {
        return Err(format!("the pattern is one of {} ranks, and there are {}", pattern.ranks, world.size()));
    }
    let (family, bytes) = (format!("file:{}", matrix.mark()), pattern.total_bytes());
    Ok(Named { family, direction: "uni", k: 0, bytes, pattern, is_one_way: false, is_placed: true })
}

/// A pattern of places in groups, on the ranks that have them.
fn placed(pattern: &Pattern, ranks: &[usize], world: usize) -> Pattern {
    let mut pattern = pattern.clone();
    for step in &mut pattern.steps {
        for message in &mut step.messages {
            *message = Message { source: ranks[message.source], destination: ranks[message.destination], ..*message };
        }
    }
    for delivery in &mut pattern.deliveries {
        delivery.source = ranks[delivery.source];
        delivery.destination = ranks[delivery.destination];
    }
    Pattern { ranks: world, ..pattern }
}

/// Of the busiest rank: what it sends or receives, also to itself.
fn rank_bytes(pattern: &Pattern) -> u64 {
    let mut sums = std::collections::HashMap::<(usize, bool), u64>::new();
    for message in pattern.messages() {
        *sums.entry((message.source, true)).or_default() += message.bytes;
        *sums.entry((message.destination, false)).or_default() += message.bytes;
    }
    sums.into_values().max().unwrap_or(0)
}
