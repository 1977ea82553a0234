//! `./install`: what it puts where, that this works from there, and that nothing stays behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Done, Mpi, Program, execute, root, target_folder};
use tempfile::TempDir;

/// A folder with something of somebody else in it.
struct Prefix {
    folder: TempDir,
    prefix: PathBuf,
}

impl Prefix {
    fn new(name: &str) -> Prefix {
        let folder = tempfile::Builder::new().prefix("commsee-test-").tempdir().expect("a temporary folder");
        let prefix = folder.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(prefix.join("share/empty")).unwrap();
        fs::create_dir_all(prefix.join("lib")).unwrap();
        fs::write(prefix.join("lib/other.so"), "theirs").unwrap();
        Prefix { folder, prefix }
    }

    fn install(&self, words: &[&str]) -> Done {
        install(&self.prefix, words)
    }

    fn installed(self) -> Prefix {
        let done = self.install(&["--no-build"]);
        assert!(done.status.success(), "{}", done.stderr);
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.prefix.join(name)
    }

    /// Runs a line of a shell, from a folder of its own.
    fn shell(&self, line: &str) -> Done {
        let mut shell = Command::new("bash");
        shell.args(["-euc", line]).current_dir(self.folder.path()).env("P", &self.prefix).env_remove("COMMSEE_LIB");
        shell.env("PKG_CONFIG_PATH", self.path("lib/pkgconfig"));
        execute(&mut shell)
    }

    fn told(&self, line: &str) -> String {
        let done = self.shell(line);
        assert!(done.status.success() && done.stderr.is_empty(), "{line}: {}", done.stderr);
        done.stdout
    }
}

fn install(prefix: &Path, words: &[&str]) -> Done {
    let mut install = Command::new(root().join("install"));
    install.args(words).arg("--prefix").arg(prefix).env("CARGO_TARGET_DIR", target_folder()).env_remove("DESTDIR");
    execute(&mut install)
}

/// All files and directories of a folder.
fn tree(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(|entry| entry.unwrap()) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
            found.insert(entry.path().strip_prefix(folder).unwrap().to_owned());
        }
    }
    found
}

fn is_there(command: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {command}")]).output().unwrap().status.success();
    if !found {
        eprintln!("left out: {command} is not installed");
    }
    found
}

#[test]
fn it_lists_what_it_installs_and_removes_no_more() {
    let prefix = Prefix::new("opt");
    let before = tree(&prefix.prefix);
    let prefix = prefix.installed();
    let after = tree(&prefix.prefix);
    let list = fs::read_to_string(prefix.path("share/commsee/files")).unwrap();
    let listed: BTreeSet<PathBuf> = list.lines().map(PathBuf::from).collect();
    assert_eq!(listed, after.difference(&before).cloned().collect());
    for file in [
        "bin/through",
        "lib/libcommsee.so",
        "lib/libcommsee.a",
        "lib/libcommsee_gpu.so",
        "lib/libcommsee_nccl.so",
        "lib/libcommsee_ucx.so",
        "include/commsee_hook.h",
    ] {
        assert!(listed.contains(Path::new(file)), "{file}");
    }
    // A version before this one had other files.
    fs::write(prefix.path("share/man/man1/through-older.1"), "").unwrap();
    fs::create_dir(prefix.path("share/older")).unwrap();
    fs::write(prefix.path("share/older/file"), "").unwrap();
    let older = format!("{list}share/man/man1/through-older.1\nshare/older/\nshare/older/file\n");
    fs::write(prefix.path("share/commsee/files"), older).unwrap();
    let prefix = prefix.installed();
    assert_eq!(tree(&prefix.prefix), after, "a file of an older version stays, or a new one is missing");
    let done = prefix.install(&["--uninstall"]);
    assert!(done.status.success(), "{}", done.stderr);
    assert_eq!(tree(&prefix.prefix), before);
    let again = prefix.install(&["--uninstall"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(again.stderr.contains("nothing to remove"), "{}", again.stderr);
}

#[test]
fn what_it_did_not_put_there_is_not_replaced() {
    let prefix = Prefix::new("shared");
    fs::create_dir_all(prefix.path("bin")).unwrap();
    fs::write(prefix.path("bin/through"), "theirs").unwrap();
    let before = tree(&prefix.prefix);
    let done = prefix.install(&["--no-build"]);
    assert_eq!(done.status.code(), Some(1), "{}", done.stdout);
    assert!(done.stderr.contains("bin/through is there, and not by ./install"), "{}", done.stderr);
    assert_eq!(tree(&prefix.prefix), before);
    assert_eq!(fs::read(prefix.path("bin/through")).unwrap(), b"theirs");
    assert!(prefix.install(&["--no-build", "--force"]).status.success());
    // Its own ones are replaced without a word.
    assert!(prefix.install(&["--no-build"]).status.success());
}

#[test]
fn without_a_home_it_asks_for_a_prefix() {
    let mut install = Command::new(root().join("install"));
    install.arg("--no-build").env_remove("HOME").env("CARGO_TARGET_DIR", target_folder());
    let done = execute(install.env("DESTDIR", "/nowhere/at/all"));
    assert_eq!(done.status.code(), Some(2), "{}", done.stdout);
    assert!(done.stderr.contains("--prefix needs a directory"), "{}", done.stderr);
}

#[test]
fn a_prefix_that_it_made_goes_again() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("a/b");
    assert!(install(&prefix, &["--no-build"]).status.success());
    assert!(prefix.join("bin/through").is_file());
    assert!(install(&prefix, &["--uninstall"]).status.success());
    assert!(!prefix.exists());
}

#[test]
fn destdir_stands_in_front_of_the_prefix() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(root().join("install"));
    command.args(["--no-build", "--prefix", "/usr/x"]).env("DESTDIR", folder.path());
    let done = execute(command.env("CARGO_TARGET_DIR", target_folder()));
    assert!(done.status.success(), "{}", done.stderr);
    assert!(folder.path().join("usr/x/bin/through").is_file() && !Path::new("/usr/x").exists());
}

#[test]
fn where_it_cannot_write_nothing_changes() {
    let prefix = Prefix::new("opt");
    fs::create_dir_all(prefix.path("share/man/man1/through.1")).unwrap();
    let before = tree(&prefix.prefix);
    let done = prefix.install(&["--no-build"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(done.stderr.contains("through.1 is a directory: move it away"), "{}", done.stderr);
    assert_eq!(tree(&prefix.prefix), before);
    // Not even root may write here.
    let done = install(Path::new("/proc/commsee"), &["--no-build"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(done.stderr.contains("/proc cannot be written: choose another --prefix"), "{}", done.stderr);
    assert_eq!(install(Path::new("/a:b"), &["--no-build"]).status.code(), Some(2));
    assert_eq!(prefix.install(&["--nonsense"]).status.code(), Some(2));
}

#[test]
fn a_list_that_leads_elsewhere_is_refused() {
    let prefix = Prefix::new("opt");
    let theirs = prefix.folder.path().join("theirs");
    for line in ["../theirs", "lib/../../theirs", theirs.to_str().unwrap()] {
        fs::write(&theirs, "").unwrap();
        fs::create_dir_all(prefix.path("share/commsee")).unwrap();
        fs::write(prefix.path("share/commsee/files"), format!("{line}\n")).unwrap();
        let done = prefix.install(&["--uninstall"]);
        assert_eq!(done.status.code(), Some(1), "{line}");
        assert!(theirs.exists() && done.stderr.contains("not below the prefix"), "{line}: {}", done.stderr);
    }
}

/// Found relative to itself, and preloaded although its path has a space, and letters beyond ASCII.
#[test]
fn what_is_installed_profiles_programs() {
    for name in ["opt", "my möbel-测试"] {
        let prefix = Prefix::new(name).installed();
        for mpi in Mpi::ALL {
            let program = Program { name: "foreign", link: Vec::new() }.compiled(mpi);
            let options = ["--hooks", "ucx,nccl,gpu", "-o", "run.db"];
            let mut command = mpi.run_by(&prefix.path("bin/through"), &options, 2);
            let line = format!("cat /proc/self/maps; exec '{}'", program.display());
            command.args(["sh", "-c", &line]).current_dir(prefix.folder.path());
            command.env("COMMSEE_DIR", prefix.folder.path()).env_remove("COMMSEE_LIB");
            let done = execute(&mut command);
            assert!(done.status.success(), "{mpi}: {}", done.stderr);
            let modules = ["gpu", "nccl", "ucx"].map(|module| format!("lib/libcommsee_{module}.so"));
            for library in ["lib/libcommsee.so"].into_iter().chain(modules.iter().map(String::as_str)) {
                let path = prefix.path(library);
                assert!(
                    done.stdout.contains(path.to_str().unwrap()),
                    "{mpi}: {library} is not loaded: {}",
                    done.stdout
                );
            }
            let built = target_folder().canonicalize().unwrap().join("release/libcommsee");
            assert!(!done.stdout.contains(built.to_str().unwrap()), "{mpi}: {}", done.stdout);
            let profile = prefix.folder.path().join("run.db");
            let ranks = prefix.told(&format!("\"$P/bin/through\" '{}' -e --format csv", profile.display()));
            assert_eq!(ranks.lines().count(), 3, "{mpi}: {ranks}");
            fs::remove_file(profile).unwrap();
        }
    }
}

#[test]
fn programs_and_modules_are_built_by_pkg_config() {
    if !is_there("pkg-config") {
        return;
    }
    let module = "#include <commsee_hook.h>\nint version(void) { return COMMSEE_HOOK_VERSION; }\n";
    for name in ["opt", "my tools"] {
        let prefix = Prefix::new(name).installed();
        fs::write(prefix.folder.path().join("module.c"), module).unwrap();
        // Spaces are escaped for a shell.
        prefix.told("eval cc -shared -fPIC -o libcommsee_mine.so module.c $(pkg-config --cflags commsee)");
        for mpi in Mpi::ALL {
            let launcher = mpi.launcher(2, &[]);
            let words = [launcher.get_program()].into_iter().chain(launcher.get_args());
            let words = words.map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ");
            let source = root().join("tests/programs/foreign.c");
            let line = format!(
                "eval {} -w -o app '{}' $(pkg-config --libs commsee)\n\
                 COMMSEE_DIR=$PWD COMMSEE_OUT=$PWD/linked.db {words} ./app",
                mpi.compiler(),
                source.display()
            );
            let mut shell = Command::new("bash");
            shell.args(["-euc", &line]).current_dir(prefix.folder.path()).env("P", &prefix.prefix);
            shell.env("PKG_CONFIG_PATH", prefix.path("lib/pkgconfig")).env_remove("LD_PRELOAD");
            shell.envs(launcher.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let done = execute(&mut shell);
            assert!(done.status.success(), "{mpi}: {}", done.stderr);
            fs::remove_file(prefix.folder.path().join("linked.db")).expect("a profile of the linked program");
        }
    }
    let prefix = Prefix::new("opt").installed();
    let version = prefix.told("pkg-config --modversion commsee; \"$P/bin/through\" --version");
    let (file, program) = version.trim().split_once('\n').unwrap();
    assert_eq!(format!("through {file}"), program);
    prefix.told("test -f $(pkg-config --variable=static commsee | tr ' ' '\\n' | grep libcommsee.a)");
}

#[test]
fn man_pages_are_sound() {
    let prefix = Prefix::new("opt").installed();
    let pages = fs::read_dir(prefix.path("share/man/man1")).unwrap().map(|entry| entry.unwrap().path());
    let pages: Vec<PathBuf> = pages.collect();
    let help = prefix.told("\"$P/bin/through\" --help");
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for command in commands.filter_map(|line| line.split_whitespace().next()).filter(|command| *command != "help") {
        assert!(pages.contains(&prefix.path(&format!("share/man/man1/through-{command}.1"))), "{command} has no page");
    }
    let groff = if is_there("groff") { "groff -man -Tutf8 -ww -z" } else { return };
    for page in pages {
        assert_eq!(prefix.told(&format!("{groff} '{}' 2>&1", page.display())), "", "{}", page.display());
    }
    if is_there("man") {
        let page = prefix.told("MANPATH=\"$P/share/man\" MANPAGER=cat MANWIDTH=100 man through-run 2>/dev/null");
        assert!(page.contains("--hooks"), "{page}");
    }
}

#[test]
fn words_are_completed() {
    let prefix = Prefix::new("opt").installed();
    let script = "share/bash-completion/completions/through";
    let complete = |word: &str| {
        let line = format!(
            ". \"$P/{script}\"; complete -p through >/dev/null; COMP_WORDS=(through {word}); COMP_CWORD=1\n\
             _through through {word} through || true; echo \"${{COMPREPLY[@]}}\""
        );
        prefix.told(&line).trim().to_owned()
    };
    assert_eq!(complete("ru"), "run");
    assert_eq!(complete("--comm"), "--communicators --comm");
    // Commands that are not for people.
    assert_eq!(complete("gen"), "");
    let zsh = fs::read_to_string(prefix.path("share/zsh/site-functions/_through")).unwrap();
    assert!(zsh.starts_with("#compdef through\n"));
    for (shell, file) in [("zsh", "zsh/site-functions/_through"), ("fish", "fish/vendor_completions.d/through.fish")] {
        if is_there(shell) {
            prefix.told(&format!("{shell} -n \"$P/share/{file}\""));
        }
    }
}

#[test]
fn environment_modules_know_where_they_are() {
    let prefix = Prefix::new("my tools").installed();
    let expected: Vec<String> = [("PATH", "bin"), ("LD_LIBRARY_PATH", "lib"), ("MANPATH", "share/man")]
        .into_iter()
        .chain([("PKG_CONFIG_PATH", "lib/pkgconfig")])
        .map(|(name, place)| format!("{name} {}", prefix.path(place).display()))
        .collect();
    let version = prefix.told("\"$P/bin/through\" --version").trim().replace("through ", "");
    let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
    if is_there("tclsh") {
        let script = "proc prepend-path {name path} { puts \"$name $path\" }\nproc conflict {name} {}\nproc module-whatis {text} {}\n\
                      set ModulesCurrentModulefile [lindex $argv 0]\nsource $ModulesCurrentModulefile\n";
        fs::write(prefix.folder.path().join("stub.tcl"), script).unwrap();
        let told = prefix.told(&format!("tclsh stub.tcl \"$P/share/modulefiles/commsee/{version}\""));
        assert_eq!(lines(told), expected);
    }
    if is_there("lua") {
        let script = "function prepend_path(name, path) print(name .. ' ' .. path) end\nfunction conflict() end\nfunction help() end\n\
                      function whatis() end\nfunction myFileName() return arg[1] end\nfunction pathJoin(a, b) return a .. '/' .. b end\n\
                      dofile(arg[1])\n";
        fs::write(prefix.folder.path().join("stub.lua"), script).unwrap();
        let told = prefix.told(&format!("lua stub.lua \"$P/share/modulefiles/commsee/{version}.lua\""));
        assert_eq!(lines(told), expected);
    }
}
