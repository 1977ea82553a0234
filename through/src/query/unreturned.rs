//! MPI time that no counter has yet: that of calls which had not returned when the profile was made.

use crate::query::Error;
use crate::query::open::Profile;

/// One thread in one call.
pub struct Unreturned {
    pub rank: i64,
    pub comm: i64,
    pub op: i64,
    /// So far.
    pub time_ns: i64,
}

/// Of calls of which it is known how long they have lasted.
pub fn unreturned(profile: &Profile) -> Result<Vec<Unreturned>, Error> {
    let sql =
        "SELECT rank, comm, op, for_ns FROM standing WHERE comm IS NOT NULL AND op IS NOT NULL AND for_ns IS NOT NULL";
    profile.query(sql, vec![], |row| {
        let (rank, comm, op) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Unreturned { rank, comm, op, time_ns: row.get::<_, i64>(3)?.max(0) })
    })
}
