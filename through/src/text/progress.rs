//! What is being done, said on standard error where it takes longer than people wait gladly: a line that goes when it is done.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::text::escape::{cut, visible};
use crate::text::terminal::Terminal;

const PATIENCE: Duration = Duration::from_secs(1);

/// Does some work. If it takes long, people are told what it is about and for how long it goes on; files and pipes are not.
pub fn shown<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    // Room for the seconds, so that the line stays one.
    let room = Terminal::stderr().columns.saturating_sub("through: , 10000 s".len());
    let what = cut(&visible(what), room).into_owned();
    told(&what, PATIENCE, &mut std::io::stderr(), work)
}

fn told<T>(what: &str, pause: Duration, out: &mut (impl Write + Send), work: impl FnOnce() -> T) -> T {
    let (done, is_done) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(|| tell(what, pause, out, is_done));
        // Dropped on every way out.
        let _done = done;
        work()
    })
}

fn tell(what: &str, pause: Duration, out: &mut impl Write, is_done: Receiver<()>) {
    let begun = Instant::now();
    let mut is_shown = false;
    while is_done.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let _ = write!(out, "\r\x1b[Kthrough: {what}, {} s", begun.elapsed().as_secs());
        let _ = out.flush();
        is_shown = true;
    }
    if is_shown {
        let _ = write!(out, "\r\x1b[K");
        let _ = out.flush();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Hands on what is written.
    struct Listener(Sender<Vec<u8>>);

    impl Write for Listener {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.send(bytes.to_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn long_work_is_told_and_the_line_goes_when_it_is_done() {
        let (sender, heard) = channel();
        let mut text: Vec<u8> = Vec::new();
        let result = told("reading a.db", Duration::from_millis(1), &mut Listener(sender), || {
            while !text.ends_with(b" s") {
                text.extend(heard.recv().unwrap());
            }
            7
        });
        assert_eq!(result, 7);
        text.extend(heard.iter().flatten());
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("\r\x1b[Kthrough: reading a.db, 0 s") && text.ends_with("s\r\x1b[K"), "{text:?}");
    }

    #[test]
    fn short_work_is_not_told() {
        let (sender, heard) = channel();
        told("reading a.db", Duration::from_secs(3600), &mut Listener(sender), || ());
        assert_eq!(heard.iter().count(), 0);
    }
}
