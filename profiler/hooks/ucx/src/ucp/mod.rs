//! The layer above: what the MPI library asks of UCX.

mod active;
mod atomic;
mod callbacks;
mod datatype;
mod flush;
mod identity;
mod lifecycle;
mod older;
mod params;
mod post;
mod posts;
mod prepare;
mod request;
mod rma;
mod stream;
mod tag;
