//! What programs are run under: commsee, and the tools it is compared with.

use std::path::{Path, PathBuf};

use super::{Arguments, Mpi, note};

/// How a tool gets into a program.
pub enum Peer {
    /// Its library is preloaded, or several, with colons between them.
    Preload(String),
    /// Its own command starts the program.
    Launch(String),
}

pub struct Library {
    pub name: String,
    /// For `LD_PRELOAD`; may be empty.
    pub preload: String,
    /// What stands before the program on the command line; may be empty.
    pub launcher: Vec<String>,
}

/// commsee first. `{mpi}` stands for `openmpi` or `mpich`.
pub fn libraries(mpi: Mpi, arguments: &Arguments) -> Vec<Library> {
    let of_files = |name: String, preload: String| Library { name, preload, launcher: Vec::new() };
    let mut libraries = vec![of_files("commsee".to_owned(), ::common::library().display().to_string())];
    for peer in &arguments.against {
        match peer {
            Peer::Preload(list) => {
                let list = list.replace("{mpi}", &mpi.to_string());
                let files: Result<Vec<_>, _> = list.split(':').map(|file| Path::new(file).canonicalize()).collect();
                match files {
                    Ok(files) => {
                        let name = files.last().map(|file| stem(file)).unwrap_or_default();
                        let preload = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(":");
                        libraries.push(of_files(name, preload));
                    }
                    Err(error) => note(&format!("{list} is left out: {error}")),
                }
            }
            Peer::Launch(command) => {
                let command = command.replace("{mpi}", &mpi.to_string());
                let launcher: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
                let name = launcher.first().map(|word| stem(Path::new(word))).unwrap_or_default();
                libraries.push(Library { name, preload: String::new(), launcher });
            }
        }
    }
    libraries
}

/// `eztrace-mpich` of `/usr/lib/libeztrace-mpich.so.1`.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.split(".so").next().unwrap_or_default();
    name.strip_prefix("lib").unwrap_or(name).to_owned()
}
