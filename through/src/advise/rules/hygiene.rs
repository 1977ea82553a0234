//! Communicators that are made again and again: never freed, made anew each time, or never used.

use std::collections::{BTreeMap, HashSet};

use crate::advise::finding::{Finding, Level};
use crate::advise::gain::Gain;
use crate::advise::run::{Run, filters};
use crate::query::Error;
use crate::query::catalog::Communicator;
use crate::query::families::Family;
use crate::text::units;

/// Communicators of one rank 0: as many does one process hold, or has made.
const LEAKED: usize = 32;
const MADE: usize = 32;
const UNUSED: usize = 8;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let is_management = |op: i64| run.class(op) == "comm" || run.op(op) == "MPI_Comm_free";
    let mut used: HashSet<i64> = run.sums.values().filter(|sum| !is_management(sum.op)).map(|sum| sum.comm).collect();
    let involved: Vec<i64> = run.profile.query("SELECT DISTINCT comm FROM involvement", vec![], |row| row.get(0))?;
    used.extend(involved);
    // Who is the parent of another one was used for that.
    let parents: HashSet<&str> = run.catalog.communicators.values().filter_map(|comm| comm.parent.as_deref()).collect();
    let mut findings = Vec::new();
    for family in run.families.iter().filter(|family| run.comm(family.first()).is_some_and(|comm| comm.layer.is_none()))
    {
        let Some(parent) = family
            .parent
            .as_deref()
            .and_then(|parent| run.catalog.communicators.values().find(|comm| comm.name == parent))
        else {
            continue;
        };
        let count = |of: &dyn Fn(i64) -> bool| most_of_a_root(run, family, of);
        let is_freed = |comm: i64| run.comm(comm).is_some_and(|comm| comm.freed);
        let is_used = |comm: i64| used.contains(&comm) || parents.contains(run.name(comm));
        let (leaked, freed) = (count(&|comm| !is_freed(comm)), count(&is_freed));
        let unused = count(&|comm| !is_used(comm));
        // One that is left unfreed was made anew as well.
        let made = count(&|_| true);
        let of = |topic, holds: &dyn Fn(i64) -> bool, limit: usize, sql: &str| {
            let costs_ns = making(run, parent, family, holds);
            let (found, all) = (count(holds), family.members.iter().filter(|comm| holds(**comm)).count());
            let creator = family.creator.clone().unwrap_or_default();
            let place = run.comm(family.first()).and_then(|comm| run.catalog.sites.spot(comm.site?));
            let family_sql = format!(
                "SELECT max(n) FROM (SELECT count(*) AS n FROM communicators WHERE parent = '{}' AND creator = '{}' AND size = {} AND {sql} GROUP BY root_rank)",
                parent.name,
                creator,
                family.size.unwrap_or_default()
            );
            let name = family.creator.as_deref().unwrap_or_default();
            Finding {
                // All members make and free it together.
                gain: Gain::known(
                    (costs_ns / i128::from(parent.size.unwrap_or(1).max(1))).clamp(0, i64::MAX.into()) as i64
                ),
                command: format!("-u --family {} --no-families", run.name(family.first())),
                ..Finding::new(topic)
            }
            .on(parent.id, run.ops(&[name]).first().copied())
            .with("communicators of one rank 0", found as f64, limit as f64, family_sql)
            .word("creator", name.to_owned())
            .word("count", all.to_string())
            .word(
                "of_root",
                if all == found { String::new() } else { format!(", {found} of them with the same rank 0") },
            )
            .word("place", place.map(|spot| format!(", at {}", spot.text)).unwrap_or_default())
            .word("time", units::time(costs_ns.clamp(0, i64::MAX.into()) as i64))
        };
        if leaked >= LEAKED {
            findings.push(Finding {
                floor: Some(Level::Warn),
                ..of("communicator-leak", &|comm| !is_freed(comm), LEAKED, "NOT freed")
            });
        } else if unused >= UNUSED {
            let making = run.ops(&[family.creator.as_deref().unwrap_or_default()]).first().copied();
            findings.push(Finding {
                floor: Some(Level::Warn),
                // Nothing was counted on them.
                command: making.map_or("-u".to_owned(), |op| filters(run, parent.id, op)),
                ..of(
                    "unused-communicators",
                    &|comm| !is_used(comm),
                    UNUSED,
                    "comm NOT IN (SELECT comm FROM profile WHERE class <> 'comm')",
                )
            });
        } else if made >= MADE && freed > 0 {
            let again = match freed == made {
                true => "all of them were freed".to_owned(),
                false => format!("{freed} of them were freed"),
            };
            findings.push(
                Finding { floor: Some(Level::Info), ..of("communicator-churn", &|_| true, MADE, "TRUE") }
                    .word("freed", again),
            );
        }
    }
    Ok(findings)
}

/// The most members with one rank 0 of which something holds. A call that makes one communicator of each part of a group is no loop.
fn most_of_a_root(run: &Run, family: &Family, holds: &dyn Fn(i64) -> bool) -> usize {
    let mut roots: BTreeMap<Option<i64>, usize> = BTreeMap::new();
    for member in family.members.iter().filter(|member| holds(**member)) {
        *roots.entry(run.comm(*member).and_then(|comm| comm.root_rank)).or_default() += 1;
    }
    roots.into_values().max().unwrap_or_default()
}

/// What making and freeing took those members of which something holds: on the members by `MPI_Comm_free`, and of the creator's calls on the parent, which may
/// have made others too, their part of all that were made.
fn making(run: &Run, parent: &Communicator, family: &Family, holds: &dyn Fn(i64) -> bool) -> i128 {
    let creator = family.creator.as_deref().unwrap_or_default();
    let time_ns = |comm: i64, name: &str| -> i128 {
        run.ops(&[name]).iter().filter_map(|op| run.sums.get(&(comm, *op))).map(|sum| i128::from(sum.time_ns)).sum()
    };
    let members = |comm: &Communicator| i128::from(comm.size.unwrap_or(1).max(1));
    let found = || family.members.iter().filter(|comm| holds(**comm)).filter_map(|comm| run.comm(*comm));
    let is_made_alike =
        |comm: &&Communicator| comm.parent.as_ref() == Some(&parent.name) && comm.creator == family.creator;
    let all: i128 = run.catalog.communicators.values().filter(is_made_alike).map(members).sum();
    let part: i128 = found().map(members).sum();
    let making_ns = time_ns(parent.id, creator) * part / all.max(1);
    let freeing_ns: i128 = found().map(|comm| time_ns(comm.id, "MPI_Comm_free")).sum();
    making_ns + freeing_ns
}
