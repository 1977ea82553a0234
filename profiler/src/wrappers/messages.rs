//! Matched probes and receives. A message belongs to the communicator it was probed on.

use std::ffi::c_int;

use super::{real_function, timed};
use crate::abi::{Word, abi};
use crate::communicators;
use crate::message;
use crate::real;
use crate::state;
use crate::status;
use crate::tally::{self, Done};
use crate::thread::{self, Thread};
use crate::volume;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Mprobe(source: c_int, tag: c_int, comm: Word, message: Word, status: Word) -> c_int {
    let real = real_function!(MPI_Mprobe, fn(c_int, c_int, Word, Word, Word));
    let Some(thread) = thread::following() else { return unsafe { real(source, tag, comm, message, status) } };
    let done = timed!(MPI_Mprobe, real(source, tag, comm, message, status));
    unsafe { probed(thread, comm, message, source != abi().proc_null, done) };
    done.code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Improbe(
    source: c_int,
    tag: c_int,
    comm: Word,
    flag: Word,
    message: Word,
    status: Word,
) -> c_int {
    let real = real_function!(MPI_Improbe, fn(c_int, c_int, Word, Word, Word, Word));
    let Some(thread) = thread::following() else { return unsafe { real(source, tag, comm, flag, message, status) } };
    let done = timed!(MPI_Improbe, real(source, tag, comm, flag, message, status));
    let found = done.code == 0 && source != abi().proc_null && unsafe { *(flag as *const c_int) } != 0;
    unsafe { probed(thread, comm, message, found, done) };
    done.code
}

/// `found`: a message that one receive takes. `MPI_MESSAGE_NO_PROC` may be received once, often or never.
unsafe fn probed(thread: &mut Thread, comm: Word, message: Word, found: bool, done: Done) {
    if done.code != 0 {
        return tally::failed(thread, comm, done);
    }
    let record = communicators::of(thread, comm);
    if found {
        // SAFETY: the call succeeded and filled the place.
        message::matched(unsafe { abi().load(message) }, record);
    }
    if state::is_on() {
        tally::plain(thread, record, done);
    }
}

macro_rules! mrecv {
    ($name:ident, $count:ty, $slot:expr) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(buf: Word, count: $count, datatype: Word, message: Word, status: Word) -> c_int {
            // SAFETY: the type repeats the function's declaration in the standard.
            let real: unsafe extern "C" fn(Word, $count, Word, Word, Word) -> c_int =
                unsafe { std::mem::transmute(real::function($slot)) };
            let Some(thread) = thread::following() else {
                return unsafe { real(buf, count, datatype, message, status) };
            };
            let mut own = status::Own::new();
            let status = own.stand_in(status);
            // SAFETY: the program passes the place of a message's handle.
            let handle = unsafe { abi().load(message) };
            let record = message::received(handle);
            let done = timed!(MPI_Mrecv, real(buf, count, datatype, message, status));
            if done.code != 0 {
                message::matched(handle, record);
                tally::failed(thread, abi().comm_null, done);
                return done.code;
            }
            if state::is_on() {
                tally::of_record(thread, record, done, |context| unsafe { volume::recv(context, status) });
            }
            done.code
        }
    };
}

mrecv!(MPI_Mrecv, c_int, vocabulary::calls::op::MPI_Mrecv as usize);
mrecv!(MPI_Mrecv_c, i64, real::LARGE + vocabulary::calls::op::MPI_Mrecv as usize);

macro_rules! imrecv {
    ($name:ident, $count:ty, $slot:expr) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            buf: Word,
            count: $count,
            datatype: Word,
            message: Word,
            request: Word,
        ) -> c_int {
            // SAFETY: the type repeats the function's declaration in the standard.
            let real: unsafe extern "C" fn(Word, $count, Word, Word, Word) -> c_int =
                unsafe { std::mem::transmute(real::function($slot)) };
            let Some(thread) = thread::following() else {
                return unsafe { real(buf, count, datatype, message, request) };
            };
            // SAFETY: the program passes the place of a message's handle.
            let handle = unsafe { abi().load(message) };
            let record = message::received(handle);
            let done = timed!(MPI_Imrecv, real(buf, count, datatype, message, request));
            if done.code != 0 {
                message::matched(handle, record);
                tally::failed(thread, abi().comm_null, done);
                return done.code;
            }
            tally::receiving(thread, record, request, done);
            done.code
        }
    };
}

imrecv!(MPI_Imrecv, c_int, vocabulary::calls::op::MPI_Imrecv as usize);
imrecv!(MPI_Imrecv_c, i64, real::LARGE + vocabulary::calls::op::MPI_Imrecv as usize);
