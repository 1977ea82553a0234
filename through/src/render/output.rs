//! Where a document goes: standard output, or a file that gets its name when it is whole.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use commsee::access;

use super::pager::Pager;
use super::render;
use crate::document::{Document, Format};
use crate::error::Error;
use crate::query;
use crate::query::open::is_sqlite;
use crate::text::path::quoted;
use crate::text::terminal::Terminal;

/// Prints a document.
pub fn print(document: &Document, format: Format, file: Option<&Path>) -> Result<(), Error> {
    is_for_terminal(format, file)?;
    if let Some(page) = file.filter(|file| file.extension().is_some_and(|extension| extension == "html")) {
        let [page, profile] = [page, &document.head.path].map(quoted);
        return Err(Error::Argument(format!("{page}: for a page, write: through report {profile} -o {page}")));
    }
    write(file, |terminal, out| render(document, format, terminal, out))
}

/// Bytes that no terminal can show are kept from it.
pub fn is_for_terminal(format: Format, file: Option<&Path>) -> Result<(), Error> {
    let is_named = file.is_some_and(|file| file != Path::new("-"));
    match format.is_binary() && !is_named && io::stdout().is_terminal() {
        true => Err(Error::Argument(format!("--format {} is not for a terminal: name a file with -o", format.name()))),
        false => Ok(()),
    }
}

/// Writes what is made already.
pub fn text(text: &str, file: &Path) -> Result<(), Error> {
    write(Some(file), |_, out| out.write_all(text.as_bytes()))
}

/// Where no file is named, to standard output: a reader that has seen enough (`| head`) is no error.
pub fn write(
    file: Option<&Path>,
    render: impl FnOnce(&Terminal, &mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    match file.filter(|file| *file != Path::new("-")) {
        Some(file) => into_file(file, |out| render(&Terminal::file(), out)),
        None => {
            let terminal = Terminal::stdout();
            let mut out = BufWriter::new(Pager::stdout(terminal.rows));
            let rendered = render(&terminal, &mut out).and_then(|()| out.flush());
            // What a closed pipe did not take must not be tried again when `out` is dropped.
            let (pager, _) = out.into_parts();
            match rendered.and_then(|()| pager.finish()) {
                Err(error) if of_profile(&error) => Err(profile_error(error)),
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Stdout(error)),
                _ => Ok(()),
            }
        }
    }
}

fn into_file(file: &Path, render: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    if is_sqlite(file) {
        return Err(Error::WouldOverwrite(file.to_owned()));
    }
    let wrong = |source: io::Error| match of_profile(&source) {
        true => profile_error(source),
        false => Error::Output { path: file.to_owned(), source },
    };
    // A pipe or a device has no other name to be written under.
    let is_special = file.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    let aside = if is_special { file.to_owned() } else { name_aside(file).map_err(wrong)? };
    let mut options = OpenOptions::new();
    options.write(true).create_new(!is_special);
    let write = || {
        let made = if is_special { options.open(&aside)? } else { access::open(&options, &aside)? };
        let mut out = BufWriter::new(made);
        render(&mut out)?;
        out.into_inner()?;
        if is_special { Ok(()) } else { fs::rename(&aside, file) }
    };
    let result = write();
    if result.is_err() && !is_special {
        let _ = fs::remove_file(&aside);
    }
    result.map_err(wrong)
}

/// Whether it is the profile that could not be read on: rows are read while they are printed.
fn of_profile(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<query::Error>())
}

fn profile_error(error: io::Error) -> Error {
    match error.downcast::<query::Error>() {
        Ok(error) => Error::Query(error),
        Err(error) => Error::Stdout(error),
    }
}

fn name_aside(file: &Path) -> io::Result<PathBuf> {
    let is_directory = file.is_dir();
    let name = file.file_name().filter(|_| !is_directory).ok_or_else(|| io::Error::other("is a directory"))?;
    let mut aside = std::ffi::OsString::from(".");
    aside.push(name);
    aside.push(format!(".{}.part", std::process::id()));
    // A link stays a link: what it points to is replaced.
    let target = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    Ok(target.with_file_name(aside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out.csv");
        into_file(&file, |out| out.write_all(b"old")).unwrap();
        let error = into_file(&file, |out| out.write_all(b"half").and(Err(io::Error::other("no more"))));
        assert!(error.is_err());
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn databases_and_directories_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        fs::write(&file, b"SQLite format 3\0...").unwrap();
        assert!(matches!(into_file(&file, |_| Ok(())), Err(Error::WouldOverwrite(_))));
        assert!(into_file(folder.path(), |_| Ok(())).is_err());
    }
}
