//! What all ranks agree on.

/// Whether all ranks record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    All,
    Some,
}
