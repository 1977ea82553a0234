//! Standard output of a terminal. What is taller than that goes through a pager: the beginning is what matters most.

use std::env;
use std::io::{self, StdoutLock, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{ChildStdin, Command, Stdio};
use std::thread::{self, JoinHandle};

use commsee::settings;

/// Shows what is written, through a pager from the line on that no longer fits.
pub struct Pager {
    out: StdoutLock<'static>,
    /// What fits so far. Nothing once it is decided how it is shown.
    waiting: Option<Waiting>,
    pipe: Option<ChildStdin>,
    /// Until it has ended.
    reading: Option<JoinHandle<()>>,
}

struct Waiting {
    text: Vec<u8>,
    lines: usize,
    most: usize,
    command: String,
}

impl Pager {
    /// `rows`: lines of the terminal; nothing where standard output is none.
    pub fn stdout(rows: Option<usize>) -> Pager {
        let waiting = rows.zip(wanted()).map(|(rows, command)| {
            // The line of the shell's prompt is one of them.
            Waiting { text: Vec::new(), lines: 0, most: rows.saturating_sub(1), command }
        });
        Pager { out: io::stdout().lock(), waiting, pipe: None, reading: None }
    }

    /// All has been written: shows it, and waits until it has been read.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(waiting) = self.waiting.take() {
            self.out.write_all(&waiting.text)?;
        }
        self.out.flush()
    }

    fn start(&mut self, waiting: Waiting) -> io::Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", &waiting.command]).stdin(Stdio::piped());
        if env::var_os("LESS").is_none() {
            // Colours are kept, the text stays on the screen, and the keys of `less` do the rest.
            command.env("LESS", "FRX");
        }
        if let Ok(mut child) = command.spawn() {
            self.pipe = child.stdin.take();
            // Ctrl-C is the pager's while it is there. When it has gone, what still goes on here can be ended by it again.
            // SAFETY: plain system calls; no handler is installed.
            let before = unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
            self.reading = Some(thread::spawn(move || {
                let _ = child.wait();
                // SAFETY: as above; it is what was there.
                unsafe { libc::signal(libc::SIGINT, before) };
            }));
        }
        self.write_all(&waiting.text)
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(mut waiting) = self.waiting.take() {
            waiting.lines += bytes.iter().filter(|byte| **byte == b'\n').count();
            waiting.text.extend_from_slice(bytes);
            if waiting.lines > waiting.most {
                self.start(waiting)?;
            } else {
                self.waiting = Some(waiting);
            }
            return Ok(bytes.len());
        }
        match &mut self.pipe {
            Some(pipe) => pipe.write(bytes),
            None => self.out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // It reads to the end of its input.
        drop(self.pipe.take());
        let _ = self.reading.take().map(JoinHandle::join);
    }
}

/// The command that is wanted, if it can be started: `COMMSEE_PAGER`, `PAGER`, or `less`. An empty one, and `cat`, are none.
fn wanted() -> Option<String> {
    let named = [settings::PAGER, "PAGER"].iter().find_map(env::var_os);
    let command = named.map_or(Some("less".to_owned()), |command| command.into_string().ok())?;
    let program = command.split_whitespace().next().filter(|program| *program != "cat")?;
    let is_there = |folder: &std::path::Path| {
        let file = folder.join(program);
        let path = std::ffi::CString::new(file.as_os_str().as_bytes());
        // SAFETY: the path ends with a zero byte.
        file.is_file() && path.is_ok_and(|path| unsafe { libc::access(path.as_ptr(), libc::X_OK) } == 0)
    };
    let path = env::var_os("PATH").unwrap_or_default();
    let is_found = match program.contains('/') {
        true => is_there(std::path::Path::new("")),
        false => env::split_paths(&path).any(|folder| is_there(&folder)),
    };
    is_found.then_some(command)
}
