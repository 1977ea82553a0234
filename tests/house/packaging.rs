//! The recipes in `packaging/` against what they package: the version, the compiler it needs, and what `./install` puts where.

use std::fs;

use super::workspace;

fn text(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The value of a line `key = "value"`.
fn of_workspace(key: &str) -> String {
    let manifest = text("Cargo.toml");
    let value = manifest.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix('=')).expect(key);
    value.trim().trim_matches('"').to_owned()
}

#[test]
fn recipes_have_the_version_and_its_compiler() {
    let (version, rust) = (of_workspace("version"), of_workspace("rust-version"));
    for (path, wanted) in [
        ("packaging/spack/package.py", format!("version(\"{version}\")")),
        ("packaging/spack/package.py", format!("commsee-{version}.tar.gz")),
        ("packaging/spack/package.py", format!("rust@{rust}:")),
        ("packaging/conda/recipe.yaml", format!("version: {version}\n")),
        ("packaging/debian/changelog", format!("commsee ({version})")),
        ("packaging/debian/control", format!("rustc (>= {rust})")),
    ] {
        assert!(text(path).contains(&wanted), "{path} lacks {wanted:?}");
    }
    text(&format!("packaging/easybuild/commsee-{version}.eb"));
}

/// What is built, and the header: `./install` names each of these files itself.
#[test]
fn recipes_that_list_files_list_those_that_are_installed() {
    let install = text("install");
    let installed: Vec<&str> = install
        .lines()
        .filter_map(|line| line.strip_prefix("put ")?.split_whitespace().nth(2))
        .filter(|file| !file.starts_with("share/"))
        .collect();
    assert!(installed.contains(&"bin/through") && installed.contains(&"lib/libcommsee.so"), "{installed:?}");
    let easybuild = text(&format!("packaging/easybuild/commsee-{}.eb", of_workspace("version")));
    let conda = text("packaging/conda/recipe.yaml");
    for file in &installed {
        assert!(easybuild.contains(&format!("'{file}'")), "EasyBuild's recipe lacks {file}");
        let (folder, name) = file.split_once('/').expect("a folder");
        let listed = conda.lines().find_map(|line| line.trim().strip_prefix(&format!("{folder}: ["))).expect(folder);
        assert!(listed.trim_end_matches(']').split(", ").any(|one| one == name), "conda's recipe lacks {file}");
    }
    let libraries = easybuild.lines().filter(|line| line.contains("'lib/libcommsee")).count();
    assert_eq!(libraries, installed.iter().filter(|file| file.starts_with("lib/")).count(), "{easybuild}");
}
