//! Opening and closing of files, which are charged to the communicator they are opened over, and split collective reads.

use std::ffi::c_int;

use super::forward::timed;
use crate::guest::guard::{Undo, recorded};
use crate::guest::state;
use crate::mpi::abi::Word;
use crate::mpi::status;
use crate::objects::communicators;
use crate::record::carriers::{self, Known};
use crate::record::context::Now;
use crate::record::files;
use crate::thread::Thread;
use crate::volume::{self, Volume};

pub unsafe fn MPI_File_open(
    thread: &Thread,
    comm: Word,
    filename: Word,
    fh: Word,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let done = timed!(thread, communicators::known(comm), MPI_File_open, forward());
    recorded(|| {
        let record = match done.code {
            0 => communicators::of(&thread.communicators, comm),
            _ => communicators::known(comm),
        };
        // SAFETY: the call has returned this.
        let opened = files::Opened { record, file: unsafe { files::named(filename, done.code) } };
        if state::is_on() {
            files::plain(thread, opened, done);
        }
        if done.code == 0 && fh != 0 {
            // SAFETY: the call succeeded and filled the place.
            files::enter(unsafe { files::load(fh) }, opened);
        }
    });
    done.code
}

pub unsafe fn MPI_File_close(thread: &Thread, fh: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = (fh != 0).then(|| unsafe { files::load(fh) });
    let opened = handle.and_then(files::leave);
    let back = handle.zip(opened);
    let undo = Undo(|| back.into_iter().for_each(|(handle, opened)| files::enter(handle, opened)));
    let known = opened.unwrap_or_else(files::Opened::unknown);
    let done = timed!(thread, known.record, MPI_File_close, forward());
    undo.forget();
    recorded(|| {
        if state::is_on() {
            files::plain(thread, known, done);
        }
        if let (Some(handle), Some(opened), true) = (handle, opened, done.code != 0) {
            files::enter(handle, opened);
        }
    });
    done.code
}

/// No communicator takes part.
pub unsafe fn MPI_File_delete(thread: &Thread, filename: Word, forward: impl FnOnce() -> c_int) -> c_int {
    let done = timed!(thread, communicators::none(), MPI_File_delete, forward());
    recorded(|| {
        if state::is_on() {
            // SAFETY: the call has returned this.
            let opened = files::Opened::alone(unsafe { files::named(filename, done.code) });
            files::plain(thread, opened, done);
        }
    });
    done.code
}

macro_rules! split_reads {
    ($($begin:ident $end:ident;)*) => {$(
        pub unsafe fn $begin(
            thread: &Thread,
            fh: Word,
            count: i64,
            datatype: Word,
            forward: impl FnOnce() -> c_int,
        ) -> c_int {
            let done = timed!(thread, files::of(fh), $begin, forward());
            recorded(|| {
                let opened = files::opened(fh);
                let volume = match done.code {
                    0 => {
                        let (record, operation) = (opened.record as Word, done.operation);
                        let shortcut = carriers::shortcut::<Known>(thread, operation, record);
                        let mut context = Now::<Known>::new(thread, shortcut, record, operation);
                        volume::read_begin(&mut context, count, datatype)
                    }
                    _ => Volume::default(),
                };
                if done.code == 0 {
                    files::asked(fh, volume.message_bytes);
                }
                match (state::is_on(), done.code) {
                    (false, _) => {}
                    (true, 0) => files::with_volume(thread, opened, done, volume),
                    (true, _) => files::plain(thread, opened, done),
                }
            });
            done.code
        }

        pub unsafe fn $end(
            thread: &Thread,
            fh: Word,
            status: Word,
            forward: impl FnOnce(Word) -> c_int,
        ) -> c_int {
            let mut own = status::Own::new();
            let status = own.stand_in(status);
            let done = timed!(thread, files::of(fh), $end, forward(status));
            recorded(|| {
                let (opened, message_bytes) = (files::opened(fh), files::answered(fh));
                match (state::is_on(), done.code) {
                    (false, _) => {}
                    (true, 0) => {
                        // SAFETY: the call succeeded and filled the status.
                        let received = unsafe { status::bytes_read(status) };
                        files::with_volume(thread, opened, done, Volume { sent: 0, received, message_bytes });
                    }
                    (true, _) => files::plain(thread, opened, done),
                }
            });
            done.code
        }
    )*};
}

split_reads! {
    MPI_File_read_at_all_begin MPI_File_read_at_all_end;
    MPI_File_read_all_begin MPI_File_read_all_end;
    MPI_File_read_ordered_begin MPI_File_read_ordered_end;
}
