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
use crate::query::layers::ways::{Left, Why};
use crate::query::selection::Selection;
use crate::query::window::untimed;
use crate::text::escape::visible;
use crate::text::path::quoted;
use crate::text::units;

/// The name of MPI's own messages among the layers.
const MPI: &str = "mpi";

pub struct Asked {
    pub context: Rc<Context>,
    pub ends: Ends,
    /// Between those ends, in whatever order.
    pub flows: Vec<Flow>,
    /// What is drawn, in words.
    pub layer: String,
    /// What of a layer is not drawn, and why.
    pub left: Vec<String>,
    /// Why there is nothing to draw.
    pub reasons: Vec<String>,
}

/// Where the profile has no such layers, a document that says so.
pub fn asked(
    question: &Question,
    catalog: Catalog,
    selection: &Selection,
    entries: &'static str,
    are_memories: bool,
) -> Result<OrNothing<Asked>, Error> {
    let profile = &question.profile;
    let is_mpi = |layer: &String| layer.trim().eq_ignore_ascii_case(MPI);
    let traffic = match selection.layer.iter().all(is_mpi) {
        true => Traffic::Mpi,
        false => Traffic::Layers { is_modelled: question.is_modelled },
    };
    if question.is_modelled && traffic == Traffic::Mpi {
        let why = "--modelled needs a layer below MPI with collectives, such as";
        return Err(Error::Argument(format!("{why} --layer nccl")));
    }
    let filter = match traffic {
        Traffic::Mpi => {
            let of_layers = [&selection.function, &selection.transport, &selection.device, &selection.protocol];
            let has_routes = of_layers.iter().any(|lists| !lists.is_empty());
            if has_routes || selection.bytes.is_some() || !selection.bucket.is_empty() {
                let why = "messages of MPI have no sizes and no routes in a profile: name a layer, such as";
                return Err(Error::Argument(format!("{why} --layer {MESSAGES}")));
            }
            Filter::resolve(&Selection { layer: Vec::new(), ..selection.clone() }, &catalog)?
        }
        Traffic::Layers { .. } => Filter::resolve(selection, &catalog)?,
    };
    if traffic != Traffic::Mpi && catalog.routes.is_empty() {
        let context = Context::new(profile, catalog, filter, None);
        return Ok(Err(Box::new(nothing::not_recorded(&context, entries)?)));
    }
    let detail = catalog.detail;
    if detail == Detail::Comm || (detail == Detail::Node && filter.ranks.is_some()) {
        let asked = if filter.ranks.is_some() { "--rank or --host" } else { "traffic between ranks" };
        return Err(query::Error::Coarse { path: profile.path.clone(), detail, asked }.into());
    }
    let layers = Layers::read(profile, &catalog)?;
    let context = Context::new(profile, catalog, filter, layers);
    let mut ends = match are_memories {
        true => Ends::of_memories(profile, &context.catalog)?,
        false => Ends::of(&context.catalog, question.between == Between::Hosts),
    };
    let (flows, left) = flows(profile, &context.catalog, &context.filter, traffic)?;
    let flows = ends.between(flows, &context.catalog);
    let mut left = left_out(&left);
    if selection.window.is_some() && traffic == Traffic::Mpi {
        let untimed = untimed(profile)?;
        let what = || visible(&untimed.join(", ")).into_owned();
        left.extend(
            (!untimed.is_empty()).then(|| format!("messages of {} are not on the timeline: they are left out", what())),
        );
    }
    let layer = match traffic {
        Traffic::Mpi => MPI.to_owned(),
        Traffic::Layers { .. } => selection.layer.join(","),
    };
    let mut reasons = reasons(&context, traffic)?;
    reasons.extend(left.iter().cloned());
    Ok(Ok(Asked { context: Rc::new(context), ends, flows, layer, left, reasons }))
}

/// A sentence for each reason: `ncclAllReduce, 1.20 GiB in 40 calls, is left out: …`.
pub fn left_out(left: &Left) -> Vec<String> {
    let sentence = |(why, functions, calls, bytes): (&Why, Vec<&str>, i64, u64)| {
        let why = match why {
            Why::OnlyModelled => {
                "calls do not show to which ranks an algorithm sends data; --modelled estimates it for rings and trees"
                    .to_owned()
            }
            Why::NoModel(algorithm) => format!("there is no model for {algorithm}"),
            Why::NotTold => "calls do not show how much each rank gets".to_owned(),
            Why::RanksNotKnown(comm) => format!("the processes of the ranks of {comm}, or its root, are unknown"),
            Why::TooManyRanks(comm) => format!("{comm} has too many ranks to list all pairs of them"),
        };
        let (functions, verb) = (functions.join(", "), if functions.len() > 1 { "are" } else { "is" });
        let weight = format!("{} in {}", units::bytes(bytes), units::count(calls.max(0) as u64, "call"));
        visible(&format!("{functions} ({weight}) {verb} left out: {why}")).into_owned()
    };
    left.by_reason().into_iter().map(sentence).collect()
}

fn reasons(context: &Context, traffic: Traffic) -> Result<Vec<String>, Error> {
    let path = &context.profile.path;
    Ok(match traffic {
        Traffic::Mpi if context.catalog.is_of_mpisee() => {
            vec![format!("{}: mpisee counts no messages between ranks; commsee does", path.display())]
        }
        Traffic::Mpi if !has_messages(&context.profile)? => {
            let layers = match context.catalog.routes.values().find(|route| !route.layer.is_empty() && !route.arrives) {
                Some(route) => format!("traffic between ranks: --layer {}", route.layer),
                None => {
                    format!("traffic between ranks: run with --hooks {MODULE}, then --layer {MESSAGES}")
                }
            };
            vec![
                format!("{}: no point-to-point messages were sent: collective calls have no matrix", path.display()),
                format!("its collective calls: through {}; {layers}", quoted(path)),
            ]
        }
        Traffic::Mpi => nothing::no_match(context, "the profile has no messages"),
        Traffic::Layers { .. } => nothing::no_match(context, "the profile has no transfers"),
    })
}
