//! `through traffic [PROFILE]`: who talked to whom.

use through_core::Error;
use through_core::commands::{opened_within, present, shown};
use through_core::query::selection::Selection;
use through_core::views::{Between, Question, View, of};

use crate::cli::Traffic;
use crate::views::{VIEWS, reorder};

/// Whether anything was there to show.
pub fn traffic(traffic: &Traffic) -> Result<bool, Error> {
    let (view, select) = (&traffic.view, &traffic.select);
    let is_of_calls = select.time.is_some() || !select.site.is_empty() || !select.phase.is_empty();
    if is_of_calls && !view.patterns {
        return Err(Error::Argument("messages between ranks are not counted by time, site or phase".to_owned()));
    }
    if traffic.by == Between::Devices && (view.patterns || view.reorder) {
        return Err(Error::Argument("patterns and orders are those of ranks: not with --by device".to_owned()));
    }
    let selection = match view.patterns {
        true => Selection { window: traffic.routes.window, ..select.selection() },
        false => select.calls.selection(&traffic.routes),
    };
    let question = Question {
        selection,
        top: traffic.entries.top(),
        format: traffic.format(),
        folding: traffic.families.folding(),
        between: traffic.by,
        counts: traffic.counts,
        is_modelled: traffic.modelled,
        ..Question::new(opened_within(&traffic.input, traffic.routes.window)?)
    };
    let file = traffic.output.as_deref();
    if view.reorder {
        let ask = || reorder::document(&question, view.nodes.as_deref(), view.write);
        return Ok(shown(&question, file, ask)?.is_found());
    }
    let named = |name: &str| of("traffic").chain(VIEWS).find(|view| view.name == name).expect("a view of traffic");
    let chosen: &View = match (view.graph, view.patterns) {
        (true, _) => named("graph"),
        (_, true) => named("patterns"),
        _ => named("matrix"),
    };
    present(chosen, &question, file)
}
