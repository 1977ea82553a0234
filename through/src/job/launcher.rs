//! Launchers that keep the environment to themselves. MPICH's and Slurm's hand it on to other nodes; Open MPI's wants
//! every variable named.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use commsee::settings;

use crate::job::preload::{ADDRESS_SANITIZER, PRELOAD, Variables, beside_others};

/// The names under which Open MPI (and PRRTE, which starts its jobs since 5.0) install their launcher.
const OPEN_MPI: [&str; 4] = ["mpirun", "mpiexec", "orterun", "prterun"];

/// The command with its environment.
pub fn command(words: &[OsString], variables: &Variables) -> Command {
    let (launcher, arguments) = words.split_first().expect("clap requires a word");
    let mut command = Command::new(launcher);
    if is_open_mpi(launcher) {
        command.args(exports(variables, arguments));
    }
    command.args(amended(arguments)).envs(variables.iter().map(|(name, value)| (name, value)));
    command
}

/// The arguments, with what they say of AddressSanitizer completed: `-x NAME=VALUE` of Open MPI, `-env NAME VALUE` of MPICH, and env(1).
fn amended(arguments: &[OsString]) -> Vec<OsString> {
    let amend = |(place, word): (usize, &OsString)| {
        let before = |count: usize| place.checked_sub(count).and_then(|place| arguments[place].to_str());
        let is_value = before(1) == Some(ADDRESS_SANITIZER) && matches!(before(2), Some("-env" | "-genv"));
        let is_set = before(1) == Some("-x") || before(1).is_some_and(|word| word == "env" || word.ends_with("/env"));
        let set = word.to_str().and_then(|word| word.strip_prefix(ADDRESS_SANITIZER)?.strip_prefix('='));
        match set.filter(|_| is_set).map(OsString::from) {
            Some(value) => {
                let mut amended = OsString::from(format!("{ADDRESS_SANITIZER}="));
                amended.push(beside_others(value));
                amended
            }
            None if is_value => beside_others(word.clone()),
            None => word.clone(),
        }
    };
    arguments.iter().enumerate().map(amend).collect()
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

pub fn is_open_mpi(launcher: &OsStr) -> bool {
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
    fn options_of_the_sanitizer_are_completed_where_the_command_line_sets_them() {
        let words = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            amended(&words).into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" ")
        };
        for line in ["-x ASAN_OPTIONS=a=1", "-env ASAN_OPTIONS a=1", "env ASAN_OPTIONS=a=1"] {
            assert_eq!(words(&format!("{line} ./app")), format!("{line}:verify_asan_link_order=0 ./app"));
        }
        assert_eq!(words("-x ASAN_OPTIONS ./app ASAN_OPTIONS=a=1"), "-x ASAN_OPTIONS ./app ASAN_OPTIONS=a=1");
    }

    #[test]
    fn what_the_user_hands_on_is_not_repeated() {
        let arguments = ["-x", "LD_PRELOAD=/other.so", "./app"].map(OsString::from);
        assert_eq!(exports(&vec![(settings::OUT, "/a.db".into())], &arguments), ["-x", "COMMSEE_OUT"]);
    }
}
