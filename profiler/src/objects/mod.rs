//! What the handles of the program mean: communicators, datatypes, matched messages, requests.

pub mod communicators;
pub mod datatypes;
pub mod file_names;
pub mod freeing;
pub mod handles;
pub mod identity;
pub mod labels;
pub mod message;
pub mod neighbors;
pub mod records;
pub mod requests;
pub mod shortcuts;
