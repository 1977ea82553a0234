//! Makes one profile of shards: the same for the last rank of a job, for whoever comes after it, and for what hosts carried together.

use std::collections::BTreeSet;
use std::path::Path;

use super::run::Part;
use crate::profile::error::Error;
use crate::profile::write::{Writer, Written};
use crate::ranks::Ranks;
use crate::shard::{HEADER_BYTES, Shard, read_file, run_name};
use crate::stream::{Detail, Extent, MergedShards, OTHER_EDGES};

/// Where the bytes of a shard are.
#[derive(Clone, Copy)]
pub enum From<'a> {
    File(&'a Path),
    Part(&'a Part),
}

/// A profile made of shards.
pub struct Joined {
    pub written: Written,
    /// Of the job.
    pub ranks: u32,
    pub present: Ranks,
    /// Not all that there was is in the profile.
    pub is_cut: bool,
    /// What could not be read, in one line for each kind of trouble.
    pub notes: Vec<String>,
}

/// Joins the shards of a run. Where ranks are missing the profile carries the shards, to be joined with theirs. `see`: each shard
/// before it is merged.
pub fn join<'a>(
    writer: Writer,
    run: &str,
    sources: impl Iterator<Item = From<'a>> + Clone,
    mut see: impl FnMut(From<'a>, &mut Shard),
) -> Result<Joined, Error> {
    let (mut damaged, mut damaged_parts, mut left_out) = (Vec::new(), 0, Vec::new());
    let (mut ranks, mut found, mut present) = (0, BTreeSet::new(), BTreeSet::new());
    let extents = sources.clone().filter_map(|from| {
        let (shard, _) = from.read(run).ok()?;
        ranks = shard.header.world_size;
        found.insert(shard.header.world_rank);
        Some(Extent::of(&shard))
    });
    let extent = Extent::of_all(extents);
    let is_part = (found.len() as u64) < u64::from(ranks);
    let (detail, trouble) = Detail::wanted(extent);
    let mut merged = MergedShards::new(detail, extent.is_phased);
    for from in sources {
        match from.read(run) {
            Ok((mut shard, mut bytes)) if present.insert(shard.header.world_rank) => {
                see(from, &mut shard);
                if shard.damaged > 0 {
                    damaged.push(from.name());
                    damaged_parts += shard.damaged;
                }
                if is_part {
                    bytes[..HEADER_BYTES].copy_from_slice(bytemuck::bytes_of(&*shard.header));
                    writer.keep(shard.header.world_rank, &bytes)?;
                }
                shard.coarsen(&extent.buckets());
                merged.add(shard);
            }
            Ok((shard, _)) => {
                left_out.push((from.name(), format!("rank {} is there already", shard.header.world_rank)))
            }
            Err(error) => left_out.push((from.name(), error)),
        }
    }
    let mut notes: Vec<String> = trouble.into_iter().collect();
    if extent.has_lost_edges {
        notes.push(OTHER_EDGES.to_owned());
    }
    if let Some(first) = damaged.first() {
        notes.push(format!("{}: {damaged_parts} damaged parts were left out", several(first, damaged.len())));
    }
    if let Some((first, error)) = left_out.first() {
        notes.push(format!("{}: left out: {error}", several(first, left_out.len())));
    }
    if present.is_empty() {
        return Err(notes.pop().map_or(Error::Nothing, Error::Unreadable));
    }
    let written = writer.write(detail, &mut merged.stream())?;
    Ok(Joined { written, ranks, present: present.into_iter().collect(), is_cut: !left_out.is_empty(), notes })
}

impl Joined {
    pub fn missing(&self) -> Ranks {
        Ranks::first(self.ranks.into()).without(&self.present)
    }
}

impl From<'_> {
    /// A shard of this run, and its bytes. A file may have been replaced since it was found.
    fn read(self, run: &str) -> Result<(Shard, Vec<u8>), String> {
        let bytes = match self {
            From::File(path) => read_file(path).map_err(|error| error.to_string())?,
            From::Part(part) => (part.read)()?,
        };
        let shard = Shard::parse(&bytes).map_err(|error| error.to_string())?;
        if run_name(shard.header.run) == run { Ok((shard, bytes)) } else { Err("it belongs to another run".to_owned()) }
    }

    fn name(self) -> String {
        match self {
            From::File(path) => path.display().to_string(),
            From::Part(part) => format!("{}, rank {}", part.profile.display(), part.rank),
        }
    }
}

/// `a.shard`, or `a.shard and 3 more shards`.
fn several(first: &str, count: usize) -> String {
    match count {
        1 => first.to_owned(),
        2 => format!("{first} and one more shard"),
        _ => format!("{first} and {} more shards", count - 1),
    }
}
