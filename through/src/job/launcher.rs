//! Launchers that keep the environment to themselves. MPICH's and Slurm's hand it on to other nodes; Open MPI's wants
//! every variable named.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use commsee::settings;

use crate::job::preload::{PRELOAD, Variables};

/// The names under which Open MPI (and PRRTE, which starts its jobs since 5.0) install their launcher.
const OPEN_MPI: [&str; 4] = ["mpirun", "mpiexec", "orterun", "prterun"];

/// The command with its environment.
pub fn command(words: &[OsString], variables: &Variables) -> Command {
    let (launcher, arguments) = words.split_first().expect("clap requires a word");
    let mut command = Command::new(launcher);
    if is_open_mpi(launcher) {
        command.args(exports(variables, arguments));
    }
    command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
    command
}

/// `-x NAME` for each variable that the processes need and the command line does not hand on yet.
fn exports(variables: &Variables, arguments: &[OsString]) -> Vec<OsString> {
    let inherited = settings::VARIABLES.iter().map(|variable| variable.name);
    let inherited = inherited.filter(|name| std::env::var_os(name).is_some());
    let mut names: Vec<&str> = vec![PRELOAD];
    names.extend(variables.iter().map(|(name, _)| *name).chain(inherited));
    let is_given = |name: &str| {
        let exported = arguments.windows(2).filter(|pair| pair[0] == "-x").map(|pair| pair[1].to_string_lossy());
        exported.into_iter().any(|export| export.split('=').next() == Some(name))
    };
    let mut words = Vec::new();
    for (index, name) in names.iter().enumerate() {
        if !names[..index].contains(name) && !is_given(name) {
            words.extend(["-x".into(), OsString::from(name)]);
        }
    }
    words
}

fn is_open_mpi(launcher: &OsStr) -> bool {
    let name = Path::new(launcher).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_named = OPEN_MPI.iter().any(|known| {
        let suffix = name.strip_prefix(known);
        suffix.is_some_and(|suffix| suffix.is_empty() || suffix.starts_with(['.', '-', '_']))
    });
    is_named && says_open_mpi(launcher)
}

fn says_open_mpi(launcher: &OsStr) -> bool {
    let version = Command::new(launcher).arg("--version").stdin(Stdio::null()).env_remove(PRELOAD).output();
    version.is_ok_and(|output| {
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).to_lowercase();
        ["open mpi", "openrte", "prrte", "prterun"].iter().any(|word| text.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn launcher(folder: &Path, name: &str, version: &str) -> OsString {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho '{version}'\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.into_os_string()
    }

    #[test]
    fn open_mpi_is_told_which_variables_to_hand_on() {
        let folder = tempfile::tempdir().unwrap();
        let variables = vec![(PRELOAD, "/l.so".into()), (settings::OUT, "/a.db".into())];
        let words = |name, version| {
            let command = command(&[launcher(folder.path(), name, version), "-n".into()], &variables);
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words("mpirun.openmpi", "mpirun (Open MPI) 4.1.4"), "-x LD_PRELOAD -x COMMSEE_OUT -n");
        assert_eq!(words("mpirun", "HYDRA build details"), "-n");
        assert_eq!(words("mpirunner", "mpirun (Open MPI) 4.1.4"), "-n");
    }

    #[test]
    fn what_the_user_hands_on_is_not_repeated() {
        let arguments = ["-x", "LD_PRELOAD=/other.so", "./app"].map(OsString::from);
        assert_eq!(exports(&vec![(settings::OUT, "/a.db".into())], &arguments), ["-x", "COMMSEE_OUT"]);
    }
}
