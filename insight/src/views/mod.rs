//! The views of runs and machines, each a row of a registry and a file of its own, as those of one profile.

pub mod bench;
pub mod correlate;
pub mod diff;
pub mod diff_layers;
pub mod patterns;
pub mod reorder;
pub mod roofline;
mod scaling;

use through_core::views::View;

/// Those that are asked of profiles, in the order of the reference.
pub const VIEWS: &[View] = &[diff::VIEW, correlate::VIEW, patterns::VIEW, reorder::VIEW, roofline::VIEW];
