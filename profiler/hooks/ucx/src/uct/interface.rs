//! Interfaces that are watched, and the functions that were replaced in them.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;

use commsee_runtime::pointers::Pointers;

use crate::abi::uct::{self, AM_ID_MAX, AmCallback, Iface, TABLE_WORDS};
use crate::module;
use crate::module::routes::{Carrier, Reach};

/// What is known of one. It stays when it is closed: messages may still arrive meanwhile.
pub struct Interface {
    pub table: [usize; TABLE_WORDS],
    /// The number of its worker.
    pub worker: u32,
    pub carrier: Carrier,
    pub reach: Reach,
    /// By the numbers of messages.
    handlers: Mutex<[*mut Handler; AM_ID_MAX]>,
}

/// A handler of libucp's, for messages of one number by one interface.
pub struct Handler {
    pub callback: AmCallback,
    pub argument: *mut c_void,
    pub id: u8,
    pub carrier: Carrier,
    pub worker: u32,
}

static KNOWN: Pointers = Pointers::new(module::say_what_is_lost);

/// The interface of an endpoint. None cannot be, as only watched ones call this.
///
/// # Safety
/// An endpoint that libucp uses.
#[inline(always)]
pub unsafe fn of(ep: *mut uct::Ep) -> Option<&'static Interface> {
    // SAFETY: as demanded.
    by_handle(unsafe { (*ep).iface })
}

/// None where it is not watched.
#[inline(always)]
pub fn by_handle(iface: *mut Iface) -> Option<&'static Interface> {
    // SAFETY: they are never freed.
    unsafe { (KNOWN.get(iface as usize)? as *const Interface).as_ref() }
}

/// False if there is no memory.
pub fn add(iface: *mut Iface, interface: &'static Interface) -> bool {
    KNOWN.set(iface as usize, std::ptr::from_ref(interface) as u64)
}

pub fn remove(iface: *mut Iface) {
    KNOWN.remove(iface as usize);
}

impl Interface {
    pub const fn new(table: [usize; TABLE_WORDS], worker: u32, carrier: Carrier, reach: Reach) -> Interface {
        Interface { table, worker, carrier, reach, handlers: Mutex::new([null_mut(); AM_ID_MAX]) }
    }

    /// Keeps a handler in place of the one of that number. Null if there is no room.
    pub fn keep(&self, handler: Handler) -> *mut Handler {
        let mut handlers = self.handlers.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(place) = handlers.get_mut(usize::from(handler.id)) else { return null_mut() };
        if place.is_null() {
            *place = commsee_runtime::memory::boxed(handler).map_or(null_mut(), Box::into_raw);
        } else {
            // SAFETY: libucp sets handlers only while nothing arrives.
            unsafe { **place = handler };
        }
        *place
    }
}
