//! The ways in which layers below MPI moved data: what the numbers in transfers stand for.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::open::Profile;

/// Names are the layer's own; what it has no name for is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Way {
    pub layer: String,
    pub function: String,
    pub protocol: String,
    pub transport: String,
    pub device: String,
    /// Of the device: `network`, `memory`, `gpu`, `self`.
    pub kind: String,
    /// The layer's own group of processes.
    pub scope: String,
    /// Data that came from the peer, as its receiver saw it.
    pub arrives: bool,
}

impl Way {
    /// `posix/memory`: what it went over, as UCX writes it.
    pub fn path(&self) -> String {
        match (self.transport.as_str(), self.device.as_str()) {
            (transport, "") => transport.to_owned(),
            ("", device) => device.to_owned(),
            (transport, device) => format!("{transport}/{device}"),
        }
    }
}

/// By number. Profiles that know no layers have none.
pub fn ways(profile: &Profile) -> Result<BTreeMap<i64, Way>, Error> {
    if !profile.has_transfers() {
        return Ok(BTreeMap::new());
    }
    let sql = "SELECT id, layer, function, protocol, transport, device, kind, scope, arrives FROM way";
    profile.query(sql, vec![], |row| {
        let way = Way {
            layer: row.get(1)?,
            function: row.get(2)?,
            protocol: row.get(3)?,
            transport: row.get(4)?,
            device: row.get(5)?,
            kind: row.get(6)?,
            scope: row.get(7)?,
            arrives: row.get(8)?,
        };
        Ok((row.get(0)?, way))
    })
}
