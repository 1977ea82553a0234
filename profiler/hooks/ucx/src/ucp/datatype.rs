//! How large a message is whose datatype is not in one piece.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use commsee_runtime::{guard, stack};

use crate::abi::ucp::{DATATYPE_SHIFT, Datatype, DatatypeIov, GenericDatatypeOps};
use crate::abi::ucs::Status;
use crate::inflight::thread;
use crate::module;
use crate::wrapper::wrappers;

/// A message as the program describes it.
#[derive(Clone, Copy)]
pub struct Data {
    pub buffer: *const c_void,
    pub count: usize,
    /// Beside those of the message itself.
    pub more_bytes: usize,
}

/// Where a program names no datatype.
pub const BYTES: Datatype = 1 << DATATYPE_SHIFT;

/// # Safety
/// The program's list of pieces.
#[cold]
pub unsafe fn bytes_of_iov(data: Data) -> u64 {
    let pieces = data.buffer.cast::<DatatypeIov>();
    if pieces.is_null() {
        return 0;
    }
    // SAFETY: as demanded, so many pieces lie there.
    (0..data.count).map(|piece| unsafe { (*pieces.add(piece)).length as u64 }).fold(0, u64::wrapping_add)
}

type PackedSize = unsafe extern "C-unwind" fn(state: *mut c_void) -> usize;

/// The `packed_size` functions that programs gave. There is one for each kind of datatype that an MPI library makes: few.
static GIVEN: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];

macro_rules! listeners {
    ($($place:literal)*) => {
        [$({
            unsafe extern "C-unwind" fn listen(state: *mut c_void) -> usize {
                // SAFETY: stored before this function was given away.
                let real = unsafe { std::mem::transmute::<usize, PackedSize>(GIVEN[$place].load(Ordering::Relaxed)) };
                // SAFETY: with the argument that libucp has for it.
                heard(unsafe { real(state) })
            }
            listen as PackedSize
        },)*]
    };
}

/// Stand in front of them: they cannot be told apart by what they are called with.
static LISTENERS: [PackedSize; 8] = listeners!(0 1 2 3 4 5 6 7);

/// A generic datatype tells the size of a message while it is posted.
fn heard(bytes: usize) -> usize {
    if let Some(thread) = module::get().and_then(|module| thread::current(module, stack::pointer())) {
        // SAFETY: this thread's own.
        unsafe { (*thread).packed_bytes = bytes as u64 };
    }
    bytes
}

/// None when there are too many.
fn listener(real: PackedSize) -> Option<PackedSize> {
    let place = GIVEN.iter().position(|place| {
        place.load(Ordering::Relaxed) == real as usize
            || place.compare_exchange(0, real as usize, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            || place.load(Ordering::Relaxed) == real as usize
    })?;
    Some(LISTENERS[place])
}

wrappers! { Ucp:
    fn ucp_dt_create_generic(ops: *const GenericDatatypeOps, context: *mut c_void, datatype: *mut Datatype) -> Status {
        |real| {
            let given = if module::get().is_some() { ops.as_ref() } else { None };
            let packed_size = given.and_then(|ops| guard::guarded(|| listener(ops.packed_size?)).flatten());
            match (given, packed_size) {
                (Some(given), Some(_)) => {
                    // libucp copies them.
                    let listening = GenericDatatypeOps { packed_size, ..*given };
                    real(&raw const listening, context, datatype)
                }
                _ => real(ops, context, datatype),
            }
        }
    }
}
