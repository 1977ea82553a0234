//! Opening and closing of files, which are charged to the communicator they are opened over, and split collective reads.

use std::ffi::c_int;

use super::forward::timed;
use crate::guest::guard::{Undo, recorded};
use crate::guest::state;
use crate::mpi::abi::Word;
use crate::mpi::status;
use crate::objects::communicators;
use crate::record::carriers::Comm;
use crate::record::context::Now;
use crate::record::files;
use crate::record::tally;
use crate::thread::Thread;
use crate::volume::{self, Volume};

pub unsafe fn MPI_File_open(thread: &Thread, comm: Word, fh: Word, forward: impl FnOnce() -> c_int) -> c_int {
    let done = timed!(thread, communicators::known(comm), MPI_File_open, forward());
    recorded(|| {
        if done.code != 0 {
            tally::failed::<Comm>(thread, comm, done.operation, done.code, done.ticks);
            return;
        }
        let record = communicators::of(&thread.communicators, comm);
        if state::is_on() {
            tally::plain(thread, record, done);
        }
        // SAFETY: the call succeeded and filled the place.
        files::enter(unsafe { files::load(fh) }, record);
    });
    done.code
}

pub unsafe fn MPI_File_close(thread: &Thread, fh: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = (fh != 0).then(|| unsafe { files::load(fh) });
    let record = handle.and_then(files::leave);
    let back = handle.zip(record);
    let undo = Undo(|| back.into_iter().for_each(|(handle, record)| files::enter(handle, record)));
    let done = timed!(thread, record.unwrap_or(communicators::none()), MPI_File_close, forward());
    undo.forget();
    recorded(|| {
        if state::is_on() {
            tally::plain(thread, record.unwrap_or(communicators::none()), done);
        }
        if let (Some(handle), Some(record), true) = (handle, record, done.code != 0) {
            files::enter(handle, record);
        }
    });
    done.code
}

/// No communicator takes part.
pub unsafe fn MPI_File_delete(thread: &Thread, forward: impl FnOnce() -> c_int) -> c_int {
    let done = timed!(thread, communicators::none(), MPI_File_delete, forward());
    recorded(|| {
        if state::is_on() {
            tally::plain(thread, communicators::none(), done);
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
                let record = files::of(fh);
                let volume = match done.code {
                    0 => volume::read_begin(&mut Now::of_record(thread, record, done.operation), count, datatype),
                    _ => Volume::default(),
                };
                if done.code == 0 {
                    files::asked(fh, volume.message_bytes);
                }
                match (state::is_on(), done.code) {
                    (false, _) => {}
                    (true, 0) => tally::with_volume(thread, record, done, volume),
                    (true, _) => tally::plain(thread, record, done),
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
                let (record, message_bytes) = (files::of(fh), files::answered(fh));
                match (state::is_on(), done.code) {
                    (false, _) => {}
                    (true, 0) => {
                        // SAFETY: the call succeeded and filled the status.
                        let received = unsafe { status::bytes_read(status) };
                        tally::with_volume(thread, record, done, Volume { sent: 0, received, message_bytes });
                    }
                    (true, _) => tally::plain(thread, record, done),
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
