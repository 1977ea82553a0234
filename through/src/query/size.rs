//! How much a profile holds, as far as a first look must know.

use super::Error;
use super::open::Profile;

/// Messages between ranks, and events of a timeline: above this they take longer than a first look should.
const MANY: u32 = 200_000;

/// Whether it holds many messages between ranks, or many events. Counts no further than it must.
pub fn has_many_records(profile: &Profile) -> Result<bool, Error> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('edge', 'event')";
    let tables: Vec<String> = profile.query(sql, Vec::new(), |row| row.get(0))?;
    for table in tables {
        let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT {})", MANY + 1);
        let counts: Vec<u32> = profile.query(&sql, Vec::new(), |row| row.get(0))?;
        if counts.iter().any(|count| *count > MANY) {
            return Ok(true);
        }
    }
    Ok(false)
}
