//! Stands between libucp and an interface, from its opening to its closing.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use commsee_runtime::memory;

use super::interface::{self, Handler, Interface};
use super::{arrival, operations, table};
use crate::abi::ucs;
use crate::abi::uct::{
    AmCallback, DEVICE_TYPES, IFACE_OPEN_MODE_DEVICE, IFACE_PARAM_FIELD_DEVICE, IFACE_PARAM_FIELD_OPEN_MODE, Iface,
    IfaceParams, Md, TlResource, Worker,
};
use crate::inflight::workers;
use crate::module::routes::{self, Transport};
use crate::module::{self, version};

unsafe fn text(name: *const c_char) -> String {
    // SAFETY: null, or a string of libucp's.
    if name.is_null() { String::new() } else { unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned() }
}

/// Watches an interface from now on, if it is a device's and its table is known.
///
/// # Safety
/// It was just opened with these arguments.
pub unsafe fn opened(md: Md, worker: Worker, params: *const IfaceParams, iface: *mut Iface) {
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
        let transport = Transport { name, device, kind };
        let reach = transport.reach();
        let new = Interface::new((*iface).table, workers::of_uct(worker), routes::carrier(transport), reach);
        let Some(interface) = memory::keep(new) else { return module::say_what_is_lost() };
        // Functions are replaced only where they find those that they stand for.
        if interface::add(iface, interface) {
            for &(place, function) in operations::REPLACEMENTS {
                if (*iface).table[place] != 0 {
                    (*iface).table[place] = function();
                }
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
    let Some(interface) = interface::by_handle(iface) else { return };
    // SAFETY: nobody uses it any more.
    unsafe {
        for &(place, _) in operations::REPLACEMENTS {
            (*iface).table[place] = interface.table[place];
        }
    }
    interface::remove(iface);
}

/// What a handler of libucp's is replaced by. None where the interface is not watched.
pub fn handler(
    iface: *mut Iface,
    id: u8,
    callback: AmCallback,
    argument: *mut c_void,
) -> Option<(AmCallback, *mut c_void)> {
    let interface = interface::by_handle(iface)?;
    let Interface { carrier, worker, .. } = *interface;
    let kept = interface.keep(Handler { callback, argument, id, carrier, worker });
    (!kept.is_null()).then_some((arrival::arrived as AmCallback, kept.cast()))
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
