//! Who sent how much to whom: what a matrix and a graph are drawn from. Messages of MPI, or what layers below it did.

use std::rc::Rc;

use super::nothing::OrNothing;
use super::{Between, Context, Question, nothing};
use crate::error::Error;
use crate::query;
use crate::query::catalog::{Catalog, Detail};
use crate::query::filter::Filter;
use crate::query::flows::{Flow, Traffic, flows, has_messages};
use crate::query::hosts::Ends;
use crate::query::layers::known::{MESSAGES, MODULE};
use crate::query::layers::linkage::Layers;
use crate::query::selection::Selection;
use crate::text::path::quoted;

/// The name of MPI's own messages among the layers.
const MPI: &str = "mpi";

pub struct Asked {
    pub context: Rc<Context>,
    pub ends: Ends,
    /// Between those ends, in whatever order.
    pub flows: Vec<Flow>,
    /// What is drawn, in words.
    pub layer: String,
    /// Why there is nothing to draw.
    pub reasons: Vec<String>,
}

/// Where the profile has no such layers, a document that says so.
pub fn asked(
    question: &Question,
    catalog: Catalog,
    selection: &Selection,
    entries: &'static str,
) -> Result<OrNothing<Asked>, Error> {
    let profile = &question.profile;
    let is_mpi = |layer: &String| layer.trim().eq_ignore_ascii_case(MPI);
    let traffic = if selection.layer.iter().all(is_mpi) { Traffic::Mpi } else { Traffic::Layers };
    let filter = match traffic {
        Traffic::Mpi => {
            let of_layers = [&selection.transport, &selection.device, &selection.protocol];
            let has_routes = of_layers.iter().any(|lists| !lists.is_empty());
            if has_routes || selection.bytes.is_some() || !selection.bucket.is_empty() {
                let why = "messages of MPI have no sizes and no routes in a profile: name a layer, such as";
                return Err(Error::Argument(format!("{why} --layer {MESSAGES}")));
            }
            Filter::resolve(&Selection { layer: Vec::new(), ..selection.clone() }, &catalog)?
        }
        Traffic::Layers => Filter::resolve(selection, &catalog)?,
    };
    if traffic == Traffic::Layers && catalog.routes.is_empty() {
        let context = Context::new(profile, catalog, filter, None);
        return Ok(Err(Box::new(nothing::not_recorded(&context, entries)?)));
    }
    let detail = catalog.detail;
    if detail == Detail::Comm || (detail == Detail::Node && filter.ranks.is_some()) {
        let asked = if filter.ranks.is_some() { "--rank" } else { "traffic between ranks" };
        return Err(query::Error::Coarse { path: profile.path.clone(), detail, asked }.into());
    }
    let layers = Layers::read(profile, &catalog)?;
    let context = Context::new(profile, catalog, filter, layers);
    let ends = Ends::of(&context.catalog, question.between == Between::Hosts);
    let arrives = |route: i64| context.catalog.routes.get(&route).is_some_and(|route| route.arrives);
    let flows = ends.between(flows(profile, &context.filter, arrives, traffic)?);
    let layer = match traffic {
        Traffic::Mpi => MPI.to_owned(),
        Traffic::Layers => selection.layer.join(","),
    };
    let reasons = reasons(&context, traffic)?;
    Ok(Ok(Asked { context: Rc::new(context), ends, flows, layer, reasons }))
}

fn reasons(context: &Context, traffic: Traffic) -> Result<Vec<String>, Error> {
    let path = &context.profile.path;
    Ok(match traffic {
        Traffic::Mpi if context.catalog.is_of_mpisee() => {
            vec![format!("{}: mpisee counts no messages between ranks; commsee does", path.display())]
        }
        Traffic::Mpi if !has_messages(&context.profile)? => {
            let layers = match context.catalog.routes.values().find(|route| !route.layer.is_empty() && !route.arrives) {
                Some(route) => format!("what they moved between ranks: --layer {}", route.layer),
                None => {
                    format!("what they move between ranks: run with --hooks {MODULE}, then --layer {MESSAGES}")
                }
            };
            vec![
                format!("{}: no point-to-point messages were sent: collective calls have no matrix", path.display()),
                format!("its collective calls: through {}; {layers}", quoted(path)),
            ]
        }
        Traffic::Mpi => nothing::no_match(context, "the profile holds no messages"),
        Traffic::Layers => nothing::no_match(context, "the profile holds no transfers"),
    })
}
