//! Processes or hosts, and what each sent to which other one over which transport.

use super::{Graph, Sketch};
use crate::query::catalog::Catalog;
use crate::query::flows::Flow;
use crate::query::hosts::Ends;

pub fn processes(flows: &[Flow], catalog: &Catalog, ends: &Ends) -> Graph {
    let mut sketch = Sketch::new(ends);
    // Nodes in the order of the ends, whatever order the flows have.
    let mut ends: Vec<_> = flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    ends.sort();
    ends.dedup();
    for end in ends {
        sketch.process(end);
    }
    for flow in flows {
        let (from, to) = (sketch.process(flow.from), sketch.process(flow.to));
        let route = flow.route.and_then(|route| catalog.routes.get(&route));
        let transport = route.map(|route| route.transport.as_str()).unwrap_or_default();
        sketch.edge(from, to, transport, flow);
    }
    sketch.finish()
}
