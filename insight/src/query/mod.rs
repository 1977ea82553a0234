//! What is asked of runs and machines. Queries return plain data; nothing here knows how it is shown.

pub mod bench;
pub mod compare;
pub mod patterns;
pub mod reorder;
pub mod roofline;
