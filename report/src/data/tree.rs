//! Which communicator was made from which.

use serde_json::{Value, json};
use through_core::query::catalog::Catalog;
use through_core::query::comm_tree;

use super::lists::Lists;
use crate::pack::list;

pub fn tree(catalog: &Catalog, lists: &Lists) -> Option<Value> {
    let lines = comm_tree::tree(catalog).into_iter().map(|line| {
        let members: Vec<usize> =
            line.members.iter().filter(|comm| lists.is_single(**comm)).map(|comm| lists.comm(*comm)).collect();
        json!({ "depth": line.depth, "above": line.above, "count": line.members.len(), "members": members })
    });
    let lines: Vec<Value> = lines.collect();
    (!lines.is_empty()).then(|| list(Value::Array(lines)))
}
