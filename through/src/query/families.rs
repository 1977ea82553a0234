//! Families: communicators that were made alike. Real programs have hundreds of communicators and no label on any, but few lines that make them.

use std::collections::{BTreeMap, HashMap};

use super::catalog::{Catalog, Communicator};
use crate::text::units;

/// Communicators with the same parent, creator, size and birthplace; at least two.
#[derive(Clone, Debug)]
pub struct Family {
    pub parent: Option<String>,
    pub creator: Option<String>,
    pub size: Option<u64>,
    /// What the program calls all of them.
    pub label: Option<String>,
    /// What tells it from its siblings: the line that made them (`grid.c:11`), or its first member.
    pub origin: String,
    pub first_name: String,
    /// In the order of their names.
    pub members: Vec<i64>,
}

#[derive(Clone, Debug, Default)]
pub struct Families {
    list: Vec<Family>,
    by_member: HashMap<i64, usize>,
}

/// What communicators have in common that the same line of a program makes of one parent, or of parents that are alike.
pub type Alike<'a> = (Option<&'a str>, Option<&'a str>, Option<u64>, u64, Option<i64>);

pub fn alike(comm: &Communicator) -> Alike<'_> {
    (comm.layer.as_deref(), comm.creator.as_deref(), comm.size, comm.remote_size, comm.site)
}

/// What tells a family from its siblings: the line that made its first member, or that member.
pub fn origin(catalog: &Catalog, first: &Communicator) -> String {
    let spot = first.site.and_then(|site| catalog.sites.spot(site)).filter(|spot| spot.nameless.is_none());
    spot.map_or_else(|| first_of(&first.name), |spot| spot.text.clone())
}

/// `s0.1…`
pub fn first_of(name: &str) -> String {
    format!("{name}…")
}

impl Families {
    pub fn of(catalog: &Catalog) -> Families {
        let mut groups: BTreeMap<(Option<&str>, Alike), Vec<&Communicator>> = BTreeMap::new();
        for comm in catalog.communicators.values().filter(|comm| !comm.is_special()) {
            groups.entry((comm.parent.as_deref(), alike(comm))).or_default().push(comm);
        }
        let mut families = Families::default();
        for ((parent, (_, creator, size, ..)), mut comms) in groups.into_iter().filter(|(_, comms)| comms.len() > 1) {
            comms.sort_by(|a, b| a.name_key().cmp(&b.name_key()));
            let members: Vec<i64> = comms.iter().map(|comm| comm.id).collect();
            families.by_member.extend(members.iter().map(|member| (*member, families.list.len())));
            let [parent, creator] = [parent, creator].map(|name| name.map(str::to_owned));
            let label = comms[0].label.clone().filter(|_| comms.iter().all(|comm| comm.label == comms[0].label));
            let origin = origin(catalog, comms[0]);
            let first_name = comms[0].name.clone();
            families.list.push(Family { parent, creator, size, label, origin, first_name, members });
        }
        families.tell_apart();
        families
    }

    /// A line that two callers share makes two families.
    fn tell_apart(&mut self) {
        let mut titles: HashMap<String, usize> = HashMap::new();
        self.list.iter().for_each(|family| *titles.entry(family.title(0)).or_default() += 1);
        for family in &mut self.list {
            if titles[&family.title(0)] > 1 {
                family.origin = format!("{}, {}", family.origin, first_of(&family.first_name));
            }
        }
    }

    /// Nothing: there is no other like it.
    pub fn find(&self, comm: i64) -> Option<&Family> {
        self.list.get(*self.by_member.get(&comm)?)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Family> {
        self.list.iter()
    }
}

impl Family {
    /// Stands for all of them.
    pub fn first(&self) -> i64 {
        self.members[0]
    }

    /// `400 × Comm_split (grid.c:11) of W0.0, 2 ranks`, of those that are meant; with a label `4 × "row" (grid.c:11), Comm_split of W0.0, 2 ranks`.
    pub fn title(&self, members: usize) -> String {
        let creator = match self.creator.as_deref() {
            Some("unknown") | None => "communicator",
            Some(creator) => creator.strip_prefix("MPI_").unwrap_or(creator),
        };
        let parent = self.parent.as_ref().map(|parent| format!(" of {parent}")).unwrap_or_default();
        let size = self.size.map(|size| format!(", {}", units::count(size, "rank"))).unwrap_or_default();
        let origin = &self.origin;
        // What tells it from others comes first: narrow tables cut the end.
        match &self.label {
            Some(label) => format!("{members} × \"{label}\" ({origin}), {creator}{parent}{size}"),
            None => format!("{members} × {creator} ({origin}){parent}{size}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::sample;

    fn split(id: i64, name: &str, size: u64, site: Option<i64>) -> (i64, Communicator) {
        let creator = Some("MPI_Comm_split".to_owned());
        let comm = Communicator {
            id,
            name: name.to_owned(),
            creator,
            parent: Some("W0.0".to_owned()),
            size: Some(size),
            site,
            ..Communicator::default()
        };
        (id, comm)
    }

    #[test]
    fn a_family_is_made_alike() {
        let mut catalog = sample::catalog();
        catalog.communicators = [
            split(2, "s2.1", 2, Some(7)),
            split(3, "s0.1", 2, Some(7)),
            split(4, "s10.1", 2, Some(7)),
            split(5, "s0.2", 2, Some(8)),
            split(6, "s0.3", 3, Some(7)),
        ]
        .into();
        let families = Families::of(&catalog);
        assert_eq!(families.iter().count(), 1);
        let family = families.find(4).unwrap();
        assert_eq!((family.members.as_slice(), family.first()), (&[3, 2, 4][..], 3));
        assert_eq!(family.title(3), "3 × Comm_split (s0.1…) of W0.0, 2 ranks");
        assert!(families.find(5).is_none() && families.find(6).is_none());
    }

    /// Rows and columns of a square grid have the same parent, creator and size.
    #[test]
    fn families_that_another_line_made_have_another_title() {
        let mut catalog = sample::catalog();
        catalog.communicators = [
            split(2, "s0.1", 2, Some(7)),
            split(3, "s2.1", 2, Some(7)),
            split(4, "s0.2", 2, Some(8)),
            split(5, "s1.2", 2, Some(8)),
        ]
        .into();
        let families = Families::of(&catalog);
        let title = |comm| families.find(comm).unwrap().title(2);
        assert_ne!(title(2), title(4));
        assert_eq!((title(2), title(3)), (title(3), title(2)));
    }
}
