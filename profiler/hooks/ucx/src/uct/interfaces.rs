//! Interfaces that are watched: each keeps the functions that were replaced in it.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;

use commsee_runtime::memory;
use commsee_runtime::pointers::Pointers;

use super::arrival::Arrival;
use super::{operations, table};
use crate::abi::ucs;
use crate::abi::uct::{
    self, AM_ID_MAX, AmCallback, DEVICE_TYPES, IFACE_OPEN_MODE_DEVICE, IFACE_PARAM_FIELD_DEVICE,
    IFACE_PARAM_FIELD_OPEN_MODE, Iface, IfaceParams, Md, TABLE_WORDS, TlResource,
};
use crate::inflight::alike;
use crate::inflight::workers::{self, Worker};
use crate::module::routes::{self, Carrier, Transport};
use crate::module::{self, version};

pub struct Interface {
    pub table: [usize; TABLE_WORDS],
    pub worker: *mut Worker,
    pub carrier: Carrier,
    arrivals: Mutex<[*mut Arrival; AM_ID_MAX]>,
}

/// From interfaces to what is known of them.
static KNOWN: Pointers = Pointers::new(module::say_what_is_lost);

/// The interface of an endpoint. None cannot be, as only watched ones call this.
///
/// # Safety
/// An endpoint that libucp uses.
#[inline(always)]
pub unsafe fn of(ep: *mut uct::Ep) -> Option<&'static Interface> {
    // SAFETY: as demanded; interfaces are freed only when they are closed.
    unsafe { (KNOWN.get((*ep).iface as usize)? as *const Interface).as_ref() }
}

unsafe fn text(name: *const c_char) -> String {
    // SAFETY: null, or a string of libucp's.
    if name.is_null() { String::new() } else { unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned() }
}

/// Watches an interface from now on, if it is a device's and its table is known.
///
/// # Safety
/// It was just opened with these arguments.
pub unsafe fn opened(md: Md, worker: uct::Worker, params: *const IfaceParams, iface: *mut Iface) {
    const NAMED: u64 = IFACE_PARAM_FIELD_OPEN_MODE | IFACE_PARAM_FIELD_DEVICE;
    // SAFETY: libucp's parameters.
    let (name, device) = unsafe {
        if (*params).field_mask & NAMED != NAMED || (*params).open_mode != IFACE_OPEN_MODE_DEVICE {
            return;
        }
        (text((*params).tl_name), text((*params).dev_name))
    };
    if !version::knows_table() {
        let loaded = version::loaded().map_or_else(String::new, |version| format!(" of UCX {version}"));
        return refuse(&name, &format!("operation table{loaded} is not known"));
    }
    // SAFETY: as demanded.
    unsafe {
        if !table::fits(iface) {
            return refuse(&name, "operation table is not built as it should be");
        }
        let kind = kind_of(md, &name, &device);
        let interface = memory::boxed(Interface {
            table: (*iface).table,
            worker: workers::of_uct(worker),
            carrier: routes::carrier(Transport { name, device, kind }),
            arrivals: Mutex::new([null_mut(); AM_ID_MAX]),
        });
        let Some(interface) = interface.map(Box::into_raw) else { return module::say_what_is_lost() };
        // Functions are replaced only where they find those that they stand for.
        if !KNOWN.set(iface as usize, interface as u64) {
            return;
        }
        alike::forget_all();
        for (place, function) in operations::REPLACEMENTS {
            if (*iface).table[place] != 0 {
                (*iface).table[place] = function();
            }
        }
    }
}

fn refuse(name: &str, why: &str) {
    if let Some(module) = module::get() {
        module.note(&format!("uct {name}: refused ({why})"));
    }
}

/// Puts the functions back.
///
/// # Safety
/// An interface that is about to be closed.
pub unsafe fn closing(iface: *mut Iface) {
    let Some(interface) = KNOWN.get(iface as usize) else { return };
    let interface = interface as *mut Interface;
    // SAFETY: of a watched interface, which nobody uses any more. Its record stays: messages may still arrive while it closes.
    unsafe {
        for (place, _) in operations::REPLACEMENTS {
            (*iface).table[place] = (*interface).table[place];
        }
    }
    KNOWN.remove(iface as usize);
    alike::forget_all();
}

/// What a handler of libucp's is replaced by.
///
/// # Safety
/// An interface of libuct.
pub unsafe fn handler(
    iface: *mut Iface,
    id: u8,
    callback: AmCallback,
    argument: *mut c_void,
) -> Option<(AmCallback, *mut c_void)> {
    // SAFETY: as demanded.
    let interface = unsafe { (KNOWN.get(iface as usize)? as *const Interface).as_ref()? };
    let mut arrivals = interface.arrivals.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = arrivals.get_mut(usize::from(id))?;
    let arrival = Arrival::new(callback, argument, id, interface.carrier, interface.worker);
    if place.is_null() {
        *place = Box::into_raw(memory::boxed(arrival)?);
    } else {
        // SAFETY: libucp sets handlers only while nothing arrives.
        unsafe { **place = arrival };
    }
    // SAFETY: it was just put there.
    Some((unsafe { (**place).entrance() }, (*place).cast()))
}

fn kind_of(md: Md, name: &str, device: &str) -> &'static str {
    type Query = unsafe extern "C-unwind" fn(Md, *mut *mut TlResource, *mut u32) -> ucs::Status;
    type Release = unsafe extern "C-unwind" fn(*mut TlResource);
    let query = real!(Uct, uct_md_query_tl_resources, Query);
    let release = real!(Uct, uct_release_tl_resource_list, Release);
    let (Some(query), Some(release)) = (query, release) else { return "" };
    let (mut list, mut count) = (null_mut(), 0);
    // SAFETY: the memory domain of an interface; the list is released after it was read.
    unsafe {
        if query(md, &raw mut list, &raw mut count) != ucs::OK || list.is_null() {
            return "";
        }
        let resources = std::slice::from_raw_parts(list, count as usize);
        let is_it = |resource: &&TlResource| {
            let matches = |field: &[c_char], wanted: &str| {
                field.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8).eq(wanted.bytes())
            };
            matches(&resource.tl_name, name) && matches(&resource.dev_name, device)
        };
        let found = resources.iter().find(is_it).map(|resource| resource.dev_type as usize);
        release(list);
        found.and_then(|number| DEVICE_TYPES.get(number)).copied().unwrap_or("")
    }
}
