//! The SQLite file of measurements. It is no profile: it has tables `bench_…` alone, and tells itself by its application id.

use rusqlite::Connection;

/// `PRAGMA application_id` of a file of measurements: "CSgb".
pub const APPLICATION_ID: i32 = i32::from_be_bytes(*b"CSgb");

/// `PRAGMA user_version`: raised when tables change. A reader accepts its own alone.
pub const VERSION: i32 = 1;

/// Makes the tables of an empty file.
pub fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "BEGIN; {} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT",
        include_str!("schema.sql")
    ))
}

/// Whether this is a file of measurements, of whatever version.
pub fn is_bench(connection: &Connection) -> rusqlite::Result<bool> {
    let id: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    Ok(id == APPLICATION_ID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_tells_itself() {
        let connection = Connection::open_in_memory().unwrap();
        assert!(!is_bench(&connection).unwrap());
        create(&connection).unwrap();
        assert!(is_bench(&connection).unwrap());
        let tables: Vec<String> = connection
            .prepare("SELECT name FROM sqlite_schema ORDER BY name")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert!(tables.iter().all(|name| name.starts_with("bench_")), "{tables:?}");
    }
}
