//! The layer below: what libucp asks of a transport, and what a transport hands to libucp.

mod answers;
mod arrival;
mod completion;
mod hooks;
mod interface;
mod link;
mod operations;
mod route;
mod table;
mod transmission;
mod watching;
