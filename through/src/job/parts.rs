//! Profiles that lack ranks, for `through recover`: they carry the shards that they were made of.

use std::path::Path;
use std::rc::Rc;

use commsee::profile::parts::unpack;
use commsee::profile::recover::Part;
use rusqlite::types::Value;

use crate::error::Error;
use crate::query::open::Profile;

/// The shards of a profile. It stays as it is.
pub fn parts(path: &Path) -> Result<Vec<Part>, Error> {
    let profile = Rc::new(Profile::open(path)?);
    let rows: Vec<(u32, u64)> = profile.query("SELECT rank, bytes FROM part ORDER BY rank", vec![], |row| {
        Ok((row.get(0)?, row.get::<_, i64>(1)? as u64))
    })?;
    if rows.is_empty() {
        return Err(Error::Recover(format!(
            "{}: cannot be joined: it has no shards inside (only partial profiles have)",
            path.display()
        )));
    }
    let part = |(rank, bytes): (u32, u64)| {
        let profile = Rc::clone(&profile);
        let read = move || {
            let shard = "SELECT shard FROM part WHERE rank = ?";
            let data: Result<Vec<Vec<u8>>, crate::query::Error> =
                profile.query(shard, vec![Value::Integer(rank.into())], |row| row.get(0));
            let data = data.map_err(|error| error.to_string())?;
            data.first().and_then(|data| unpack(data, bytes)).ok_or_else(|| "is damaged".to_owned())
        };
        Part { profile: path.to_owned(), rank, read: Box::new(read) }
    };
    Ok(rows.into_iter().map(part).collect())
}
