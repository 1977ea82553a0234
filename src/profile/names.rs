//! Names of frames, which are added to a profile when it has long been written.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use super::error::Error;

/// A function with its line, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameName {
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// Gives frames the names that they have, the innermost inlined function first, in place of those that they had. Nobody else may have the
/// file open, and if this fails it is lost: it should be a copy.
pub fn name_frames(path: &Path, frames: &[(i64, Vec<FrameName>)]) -> Result<(), Error> {
    // No locks and no journal, as where a profile is written.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags_and_vfs(path, flags, c"unix-none")?;
    db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")?;
    {
        let mut delete = db.prepare("DELETE FROM frame_name WHERE frame = ?")?;
        let mut insert =
            db.prepare("INSERT INTO frame_name (frame, depth, function, file, line) VALUES (?, ?, ?, ?, ?)")?;
        for (frame, names) in frames {
            delete.execute([frame])?;
            for (depth, name) in names.iter().enumerate() {
                insert.execute(params![frame, depth as i64, name.function, name.file, name.line])?;
            }
        }
    }
    db.execute_batch("COMMIT")?;
    db.close().map_err(|(_, error)| error.into())
}
