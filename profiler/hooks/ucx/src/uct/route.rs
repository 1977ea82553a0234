//! How the functions of the operation table move data, as the core numbers it.

use super::table;
use crate::module::Module;
use crate::module::memory;
use crate::module::protocol::Protocol;
use crate::module::routes::{Carrier, Routes};

static ROUTES: [Routes; table::NAMES.len()] = [const { Routes::new() }; table::NAMES.len()];

/// That of the function at a place of the table; 0 if none is there.
#[inline(always)]
pub fn number(module: &Module, place: usize, protocol: Protocol, carrier: Carrier) -> u32 {
    match (ROUTES.get(place), table::NAMES.get(place)) {
        (Some(routes), Some(name)) => routes.number(module, "uct", name, protocol, carrier, memory::NONE),
        _ => 0,
    }
}
