//! What is different on a terminal: colours, and a pager for what is taller.

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;

use crate::common::Folder;

/// Some containers have none: then nothing is tested, which is said.
fn are_there_terminals() -> bool {
    let are_there = std::fs::File::open("/dev/ptmx").is_ok();
    if !are_there {
        eprintln!("left out: there are no pseudo-terminals here");
    }
    are_there
}

/// Both ends of a terminal of so many rows.
fn terminal(rows: u16) -> (File, File) {
    let (mut ours, mut theirs) = (0, 0);
    let size = libc::winsize { ws_row: rows, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the places are of the right types, and nothing else is asked for.
    let opened = unsafe {
        libc::openpty(&mut ours, &mut theirs, std::ptr::null_mut(), std::ptr::null(), std::ptr::from_ref(&size))
    };
    assert_eq!(opened, 0, "a pseudo-terminal");
    // SAFETY: both descriptors are new.
    unsafe { (File::from_raw_fd(ours), File::from_raw_fd(theirs)) }
}

/// What a run prints on a terminal of so many rows, with these variables, and its exit status.
fn on_terminal(folder: &Folder, words: &[&str], rows: u16, variables: &[(&str, &str)]) -> (String, i32) {
    let (mut ours, theirs) = terminal(rows);
    let mut command = folder.command(words);
    for variable in ["PAGER", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LESS"] {
        command.env_remove(variable);
    }
    command.env("TERM", "xterm").envs(variables.iter().copied());
    command.stdin(Stdio::null()).stdout(theirs.try_clone().unwrap()).stderr(theirs.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    drop((command, theirs));
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    // The end of a terminal is an error (EIO).
    while let Ok(read @ 1..) = ours.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..read]);
    }
    let text = String::from_utf8(bytes).unwrap().replace("\r\n", "\n");
    (text, child.wait().unwrap().code().unwrap())
}

/// The pager ends at once, and what goes on behind it can still be ended by the keyboard.
#[test]
fn the_keyboard_ends_what_outlives_its_pager() {
    if !are_there_terminals() {
        return;
    }
    let folder = Folder::with_sample();
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 3000 OR i < 0";
    let (mut ours, theirs) = terminal(5);
    let mut command = folder.command(&["sql", endless]);
    command.env_remove("NO_COLOR").env("PAGER", "head -n 1").stdin(Stdio::null());
    command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
    // Whatever runs the tests may ignore the signal, as shells do for what they start in the background.
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        })
    };
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut first = [0];
    ours.read_exact(&mut first).unwrap();
    // Ignored as long as the pager is there; asked again until it has gone.
    let status = loop {
        // SAFETY: a plain system call; the child is not waited for yet.
        unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    };
    assert_eq!(status.signal(), Some(libc::SIGINT));
}

const MARKED: (&str, &str) = ("PAGER", "sed 's/^/| /'");
const PLAIN: (&str, &str) = ("NO_COLOR", "1");

#[test]
fn what_is_taller_than_the_terminal_goes_through_a_pager() {
    if !are_there_terminals() {
        return;
    }
    let folder = Folder::with_sample();
    let whole = folder.through(&[]).ok();
    let lines = whole.lines().count() as u16;
    let marked: String = whole.lines().map(|line| format!("| {line}\n")).collect();
    // The prompt takes a line.
    assert_eq!(on_terminal(&folder, &[], lines, &[MARKED, PLAIN]), (marked.clone(), 0));
    assert_eq!(on_terminal(&folder, &[], lines + 1, &[MARKED, PLAIN]), (whole.clone(), 0));
    assert_eq!(on_terminal(&folder, &[], 5, &[("COMMSEE_PAGER", MARKED.1), ("PAGER", "false"), PLAIN]), (marked, 0));
}

#[test]
fn nothing_gets_lost_without_a_pager() {
    if !are_there_terminals() {
        return;
    }
    let folder = Folder::with_sample();
    let whole = folder.through(&[]).ok();
    for pager in ["", "cat", "a-pager-that-is-not-there", "/not/there/either -x"] {
        assert_eq!(on_terminal(&folder, &[], 5, &[("PAGER", pager), PLAIN]), (whole.clone(), 0), "{pager}");
    }
    let (text, status) = on_terminal(&folder, &["-o", "out"], 5, &[MARKED, PLAIN]);
    assert_eq!((text.as_str(), status), ("", 0));
}

#[test]
fn a_pager_may_end_early_and_the_status_is_that_of_through() {
    if !are_there_terminals() {
        return;
    }
    let folder = Folder::with_sample();
    let first = folder.through(&[]).ok().lines().next().unwrap().to_owned() + "\n";
    assert_eq!(on_terminal(&folder, &["-a"], 5, &[("PAGER", "head -n 1"), PLAIN]), (first, 0));
    assert_eq!(on_terminal(&folder, &["--op", "Alltoall"], 5, &[MARKED, PLAIN]).1, 1);
}

#[test]
fn colours_are_for_terminals_and_whoever_wants_them() {
    if !are_there_terminals() {
        return;
    }
    let folder = Folder::with_sample();
    let is_coloured = |text: &str| text.contains("\x1b[");
    assert!(is_coloured(&on_terminal(&folder, &[], 500, &[]).0));
    assert!(!is_coloured(&on_terminal(&folder, &[], 500, &[PLAIN]).0));
    let piped = |variables: &[(&str, &str)]| {
        let mut command = folder.command(&[]);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").envs(variables.iter().copied());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(!is_coloured(&piped(&[])));
    assert!(is_coloured(&piped(&[("CLICOLOR_FORCE", "1")])));
    assert!(!is_coloured(&piped(&[("CLICOLOR_FORCE", "1"), PLAIN])));
    assert!(!is_coloured(&piped(&[("CLICOLOR_FORCE", "0")])));
}
