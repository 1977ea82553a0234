//! What hook modules say of themselves: versions, and what they cannot see.

use super::catalog::Catalog;
use crate::query::Error;
use crate::query::open::Profile;
use crate::text::units;

#[derive(Clone, Debug)]
pub struct Note {
    pub module: String,
    pub text: String,
    /// So many ranks said it.
    pub ranks: i64,
}

impl Note {
    /// The text, and how many said it if not all did.
    pub fn sentence(&self, catalog: &Catalog) -> String {
        match catalog.processes.len() as i64 {
            all if self.ranks < all => {
                format!("{} ({} of {})", self.text, self.ranks, units::count(all as u64, "rank"))
            }
            _ => self.text.clone(),
        }
    }
}

/// By module; what most ranks said first.
pub fn notes(profile: &Profile) -> Result<Vec<Note>, Error> {
    let sql = "SELECT module, text, ranks FROM note ORDER BY module, ranks DESC, text";
    profile.query(sql, vec![], |row| Ok(Note { module: row.get(0)?, text: row.get(1)?, ranks: row.get(2)? }))
}
