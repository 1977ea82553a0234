//! Hosts: the short way to write many of them, and what stands for ranks where hosts are looked at.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use commsee::ranks::{Ranks, format_ranges};

use super::catalog::{Catalog, Detail, Process, unsigned};
use super::copies::{self, Memory};
use super::filter::Filter;
use super::flows::Flow;
use super::gpus::{Gpus, is_call};
use super::open::Profile;
use super::routes::Route;
use super::transfers::End;
use crate::query::Error;

/// What a matrix or a graph is drawn between: ranks, or the hosts that they ran on.
#[derive(Clone)]
pub struct Ends {
    are_hosts: bool,
    hosts: BTreeMap<i64, String>,
    /// What a host is called, and its lowest rank, which stands for it.
    known: BTreeMap<String, (String, i64)>,
    memories: Vec<Memory>,
    /// Nothing: only copies are between memories.
    gpus: Option<Gpus>,
}

impl Ends {
    /// Of a profile that keeps ranks of a host together, hosts in any case.
    pub fn of(catalog: &Catalog, are_hosts: bool) -> Ends {
        let names: BTreeSet<&str> = catalog.processes.iter().map(|process| process.host.as_str()).collect();
        let heads: BTreeSet<&str> = names.iter().map(|name| head(name)).collect();
        // The domain is the same for all, or needed.
        let called = |host: &str| if heads.len() == names.len() { head(host) } else { host }.to_owned();
        let mut known: BTreeMap<String, (String, i64)> = BTreeMap::new();
        for Process { rank, host, .. } in catalog.processes.iter().filter(|process| !process.host.is_empty()) {
            known.entry(host.clone()).or_insert_with(|| (called(host), *rank));
        }
        let hosts = catalog.processes.iter().map(|process| (process.rank, process.host.clone())).collect();
        Ends { are_hosts: are_hosts || catalog.detail == Detail::Node, hosts, known, memories: Vec::new(), gpus: None }
    }

    /// Memories of hosts and GPUs, also for what libraries such as NCCL move.
    pub fn of_memories(profile: &Profile, catalog: &Catalog) -> Result<Ends, Error> {
        Ok(Ends { gpus: Some(Gpus::read(profile, catalog)?), ..Ends::of(catalog, false) })
    }

    pub fn are_memories(&self) -> bool {
        self.gpus.is_some()
    }

    /// All that are known: of each host its own first, then that of its GPUs.
    pub fn memories(&self) -> impl Iterator<Item = End> {
        (0..self.memories.len()).map(End::Memory)
    }

    pub fn are_hosts(&self) -> bool {
        self.are_hosts
    }

    /// Where a rank ran; empty where that is not known.
    pub fn host(&self, end: End) -> &str {
        match end {
            End::Rank(rank) => self.hosts.get(&rank).map(String::as_str).unwrap_or_default(),
            End::Memory(number) => &self.memories[number].host,
            End::Unknown | End::Remote => "",
        }
    }

    /// The GPU whose memory it is.
    pub fn gpu(&self, end: End) -> Option<&str> {
        if let End::Memory(number) = end { self.memories[number].gpu.as_deref() } else { None }
    }

    /// What stands for a rank.
    pub fn place(&self, end: End) -> End {
        match self.known.get(self.host(end)) {
            Some((_, lowest)) if self.are_hosts => End::Rank(*lowest),
            _ => end,
        }
    }

    pub fn name(&self, end: End) -> String {
        match (end, self.known.get(self.host(end))) {
            (End::Rank(_), Some((name, _))) if self.are_hosts => name.clone(),
            (End::Rank(rank), _) if self.are_hosts => format!("rank {rank}"),
            (End::Rank(rank), _) => rank.to_string(),
            (End::Memory(_), Some((host, _))) if self.are_hosts || self.known.len() > 1 => {
                self.gpu(end).map_or_else(|| host.clone(), |gpu| format!("{host} {gpu}"))
            }
            (End::Memory(_), _) => self.gpu(end).unwrap_or("host").to_owned(),
            (End::Unknown, _) => "?".to_owned(),
            (End::Remote, _) => "other world".to_owned(),
        }
    }

    /// The memories that a route moves data between; nothing where it is between ranks.
    pub fn memories_of(&self, route: &Route, from: End, to: End) -> Option<[Memory; 2]> {
        let rank = from.rank()?;
        let of_host = |end, gpu: Option<String>| Memory { host: self.host(end).to_owned(), gpu };
        if let Some(gpus) = copies::ends(route) {
            let name = |gpu: &str| self.gpus.as_ref().map_or_else(|| gpu.to_owned(), |known| known.name(rank, gpu));
            return Some(gpus.map(|gpu| of_host(from, gpu.map(name))));
        }
        let gpus = self.gpus.as_ref().filter(|_| is_call(route))?;
        Some([of_host(from, Some(gpus.of_rank(rank))), of_host(to, Some(gpus.of_rank(to.rank()?)))])
    }

    /// Flows between what stands for the ranks; copies, which a process makes alone, between memories of its host.
    pub fn between(&mut self, mut flows: Vec<Flow>, catalog: &Catalog) -> Vec<Flow> {
        let copied = |flow: &Flow, ends: &Ends| ends.memories_of(catalog.routes.get(&flow.route?)?, flow.from, flow.to);
        let mut memories: BTreeSet<Memory> = flows.iter().filter_map(|flow| copied(flow, self)).flatten().collect();
        if self.gpus.is_some() {
            memories.extend(self.known.keys().map(|host| Memory { host: host.clone(), gpu: None }));
        }
        self.memories = memories.into_iter().collect();
        for flow in &mut flows {
            [flow.from, flow.to] = match copied(flow, self) {
                Some(ends) => ends.map(|end| End::Memory(self.memories.partition_point(|memory| *memory < end))),
                None => [self.place(flow.from), self.place(flow.to)],
            };
        }
        flows
    }
}

/// Bytes of messages between ranks, as the matrix has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostBytes {
    /// Between ranks of the host.
    pub within: u64,
    /// To other hosts, and from them.
    pub sent: u64,
    pub received: u64,
}

/// By the host's name. Nothing where the matrix cannot tell: it knows neither sizes nor phases nor sites nor times, and in a profile
/// of sums over all ranks it is empty.
pub fn host_bytes(
    profile: &Profile,
    catalog: &Catalog,
    filter: &Filter,
) -> Result<Option<BTreeMap<String, HostBytes>>, Error> {
    let is_finer =
        filter.buckets.is_some() || filter.phases.is_some() || filter.sites.is_some() || filter.time.is_some();
    if is_finer || catalog.detail == Detail::Comm {
        return Ok(None);
    }
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut hosts: HashMap<i64, usize> = HashMap::new();
    for Process { rank, host, .. } in &catalog.processes {
        let next = numbers.len();
        hosts.insert(*rank, *numbers.entry(host).or_insert(next));
    }
    let mut sums = vec![HostBytes::default(); numbers.len()];
    let (condition, values) = filter.edge_condition();
    // Added up here, host by host: there may be a million pairs of ranks.
    profile.query::<(), ()>(&format!("SELECT x.src, x.dst, x.bytes FROM edge x WHERE {condition}"), values, |row| {
        let ends: [Option<usize>; 2] = [hosts.get(&row.get(0)?).copied(), hosts.get(&row.get(1)?).copied()];
        let bytes = unsigned(row.get(2)?);
        let add = |sum: &mut u64| *sum = sum.saturating_add(bytes);
        match ends {
            [Some(from), Some(to)] if from == to => add(&mut sums[from].within),
            [from, to] => {
                from.into_iter().for_each(|from| add(&mut sums[from].sent));
                to.into_iter().for_each(|to| add(&mut sums[to].received));
            }
        }
        Ok(())
    })?;
    let sums = numbers.into_iter().map(|(name, number)| (name.to_owned(), sums[number])).collect();
    Ok(Some(sums))
}

/// The hosts of some ranks. Nothing where all ran on one host, which then says nothing.
pub fn hosts<'a>(catalog: &'a Catalog, ranks: &Ranks) -> BTreeSet<&'a str> {
    let processes = &catalog.processes;
    let first = processes.first().map(|process| process.host.as_str());
    if processes.iter().all(|process| Some(process.host.as_str()) == first) {
        return BTreeSet::new();
    }
    let is_meant = |process: &&Process| u32::try_from(process.rank).is_ok_and(|rank| ranks.contains(rank));
    processes.iter().filter(is_meant).map(|process| process.host.as_str()).collect()
}

/// `login,node[1-3,7]`, as Slurm writes lists of hosts.
pub fn compact(hosts: &BTreeSet<&str>) -> String {
    let mut numbered: BTreeMap<(&str, usize, &str), Vec<u32>> = BTreeMap::new();
    let mut all = Vec::new();
    for host in hosts {
        match split(host) {
            Some((stem, digits, number, domain)) => numbered.entry((stem, digits, domain)).or_default().push(number),
            None => all.push((*host).to_owned()),
        }
    }
    for ((stem, digits, domain), numbers) in numbered {
        let one = |number: u32| format!("{number:0digits$}");
        let ranges: Ranks = numbers.iter().copied().collect();
        let ranges = ranges.ranges();
        all.push(match (ranges, digits) {
            ([(first, last)], _) if first == last => format!("{stem}{}{domain}", one(*first)),
            (_, 1) => format!("{stem}[{}]{domain}", format_ranges(ranges)),
            _ => {
                let range = |(first, last): &(u32, u32)| match first == last {
                    true => one(*first),
                    false => format!("{}-{}", one(*first), one(*last)),
                };
                format!("{stem}[{}]{domain}", ranges.iter().map(range).collect::<Vec<_>>().join(","))
            }
        });
    }
    all.sort();
    all.join(",")
}

/// `node`, how many digits at least, the number, and the domain with its dot.
fn split(host: &str) -> Option<(&str, usize, u32, &str)> {
    let (head, domain) = host.split_at(head(host).len());
    let stem = head.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &head[stem.len()..];
    let digits = if number.starts_with('0') { number.len() } else { 1 };
    Some((stem, digits, number.parse().ok()?, domain)).filter(|_| !stem.is_empty())
}

/// A host's name without its domain.
fn head(host: &str) -> &str {
    host.split('.').next().unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_hosts_are_written_as_slurm_does() {
        let compact = |names: &[&str]| compact(&names.iter().copied().collect());
        assert_eq!(compact(&[]), "");
        assert_eq!(compact(&["node7"]), "node7");
        assert_eq!(compact(&["node10", "node1", "node2", "login", "node9"]), "login,node[1-2,9-10]");
        assert_eq!(compact(&["n001", "n002", "n010", "n7"]), "n7,n[001-002,010]");
        assert_eq!(compact(&["a1.x", "a2.x", "a3.y", "10.0.0.1", "10.0.0.2"]), "10.0.0.1,10.0.0.2,a3.y,a[1-2].x");
        assert_eq!(compact(&["node99999999999", "x"]), "node99999999999,x");
    }
}
