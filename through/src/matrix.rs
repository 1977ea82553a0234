//! `through matrix [PROFILE]`: who sent how much to whom.

use crate::cli::{Ends, Matrix, MatrixFormat, SelectCalls, SelectWays};
use crate::error::Error;
use crate::escape::visible;
use crate::filter::Filter;
use crate::message::say;
use crate::open::Profile;
use crate::output;
use crate::query::catalog::{Catalog, Detail};
use crate::query::flows::{Flow, Traffic, flows, has_messages, pairs};
use crate::query::graph::processes;
use crate::query::hosts::Places;
use crate::query::layers::linkage::Layers;
use crate::query::overview::overview;
use crate::render::graph::{Caption, dot};
use crate::render::header::Head;
use crate::render::pairs::{Pairs, csv, json};
use crate::render::table;
use crate::show::{absent, no_match, opened};
use crate::summary::quoted;
use crate::ucx::is_recorded;

/// The name of MPI's own messages among the layers.
const MPI: &str = "mpi";

/// What is drawn: messages of MPI, or what layers did.
pub struct Asked {
    pub profile: Profile,
    pub catalog: Catalog,
    pub filter: Filter,
    pub traffic: Traffic,
    pub layers: Option<Layers>,
}

/// Nothing where the profile has no such layers, which is said then.
pub fn asked(profile: Profile, calls: &SelectCalls, ways: &SelectWays) -> Result<Option<Asked>, Error> {
    let catalog = Catalog::read(&profile)?;
    let is_mpi = |layer: &String| layer.trim().eq_ignore_ascii_case(MPI);
    let traffic = match ways.layer.iter().all(is_mpi) {
        true => Traffic::Mpi,
        false => Traffic::Layers,
    };
    let filter = match traffic {
        Traffic::Mpi => {
            let of_layers = [&ways.transport, &ways.device, &ways.protocol].iter().any(|lists| !lists.is_empty());
            if of_layers || calls.bytes.is_some() || !calls.bucket.is_empty() {
                let why = "MPI's own messages are kept without sizes and ways: name a layer, such as --layer ucp";
                return Err(Error::Argument(why.to_owned()));
            }
            let none = SelectWays::default();
            Filter::of_transfers(calls, &none, &catalog)?
        }
        Traffic::Layers => {
            let filter = Filter::of_transfers(calls, ways, &catalog)?;
            if !is_recorded(&profile, &catalog)? {
                return Ok(None);
            }
            filter
        }
    };
    let detail = catalog.detail;
    if detail == Detail::Comm || (detail == Detail::Node && filter.ranks.is_some()) {
        let asked = if filter.ranks.is_some() { "--rank" } else { "who talked to whom" };
        return Err(Error::Coarse { path: profile.path.clone(), detail, asked });
    }
    let layers = Layers::read(&profile, &catalog)?;
    Ok(Some(Asked { profile, catalog, filter, traffic, layers }))
}

impl Asked {
    pub fn flows(&self) -> Result<Vec<Flow>, Error> {
        let arrives = |way: i64| self.catalog.ways.get(&way).is_some_and(|way| way.arrives);
        flows(&self.profile, &self.filter, arrives, self.traffic)
    }

    /// Says so if there is nothing to show, or not all of what was named.
    pub fn say_what_lacks(&self, is_empty: bool) -> Result<(), Error> {
        let path = &self.profile.path;
        match self.traffic {
            _ if !is_empty => absent(&self.filter),
            Traffic::Mpi if !has_messages(&self.profile)? => {
                say(format_args!(
                    "{}: no point-to-point messages were sent: collective calls have no matrix",
                    path.display()
                ));
                let command = format!("through {}", quoted(path));
                let layers = match self.catalog.ways.values().find(|way| !way.layer.is_empty() && !way.arrives) {
                    Some(way) => format!("what they moved between ranks: --layer {}", visible(&way.layer)),
                    None => "what they move between ranks: run with --hooks ucx, then --layer ucp".to_owned(),
                };
                say(format_args!("its collective calls: {command}; {layers}"));
            }
            Traffic::Mpi => no_match(path, &self.filter, &self.catalog, "messages"),
            Traffic::Layers => no_match(path, &self.filter, &self.catalog, "transfers"),
        }
        Ok(())
    }

    /// What is drawn, in words.
    pub fn layer(&self, ways: &SelectWays) -> String {
        match self.traffic {
            Traffic::Mpi => MPI.to_owned(),
            Traffic::Layers => ways.layer.join(","),
        }
    }
}

/// Whether anything was there to show.
pub fn matrix(matrix: &Matrix) -> Result<bool, Error> {
    let Some(asked) = asked(opened(&matrix.input)?, &matrix.calls, &matrix.ways)? else { return Ok(false) };
    let ends = Places::of(&asked.catalog, matrix.by == Ends::Host);
    let flows = ends.between(asked.flows()?);
    asked.say_what_lacks(flows.is_empty())?;
    if flows.is_empty() && matrix.format == MatrixFormat::Table {
        return Ok(false);
    }
    let layer = asked.layer(&matrix.ways);
    let pairs = Pairs {
        head: Head {
            path: &asked.profile.path,
            catalog: &asked.catalog,
            overview: &overview(&asked.catalog),
            filter: &asked.filter,
            layers: asked.layers.as_ref(),
        },
        layer: &layer,
        pairs: pairs(&flows),
        ends: &ends,
        counts: matrix.counts,
        top: matrix.top,
    };
    output::write(matrix.output.as_deref(), |terminal, out| match matrix.format {
        MatrixFormat::Table => table::pairs(&pairs, terminal, out),
        MatrixFormat::Csv => csv(&pairs, out),
        MatrixFormat::Json => json(&pairs, out),
        MatrixFormat::Dot => {
            let mut graph = processes(&flows, &asked.catalog, &ends);
            graph.shorten(matrix.top);
            dot::dot(&graph, &Caption { head: &pairs.head, layer: &layer }, out)
        }
    })?;
    Ok(!flows.is_empty())
}
