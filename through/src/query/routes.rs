//! The routes by which layers below MPI moved data: what the numbers in transfers stand for.

use std::collections::BTreeMap;

use commsee::shard::Role;
pub use commsee::shard::Route;

use crate::query::Error;
use crate::query::open::Profile;

/// By number. A timeline without modules has a route that is of no layer.
pub fn routes(profile: &Profile) -> Result<BTreeMap<i64, Route>, Error> {
    let sql = "SELECT id, layer, function, protocol, transport, device, kind, scope, arrives, role, memory \
               FROM way WHERE layer <> ''";
    profile.query(sql, vec![], |row| {
        let route = Route {
            layer: row.get(1)?,
            function: row.get(2)?,
            protocol: row.get(3)?,
            transport: row.get(4)?,
            device: row.get(5)?,
            kind: row.get(6)?,
            scope: row.get(7)?,
            arrives: row.get(8)?,
            role: Role::named(&row.get::<_, String>(9)?),
            memory: row.get(10)?,
        };
        Ok((row.get(0)?, route))
    })
}
