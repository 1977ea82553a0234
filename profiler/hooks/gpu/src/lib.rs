//! libcommsee_gpu.so: preloaded beside libcommsee.so, it counts the copies of NVIDIA's GPUs, in the MPI call and the NCCL call that they are made in.
//!
//! ```text
//! program ── cuInit ──▶ driver ── InitializeInjection ──▶ watch ── subscribes ──▶ CUPTI
//!         ── cuMemAlloc… ───────── a call ends ─────────▶ told ────── allocations ── commsee_hook_allocated
//!         ── cuMemcpy… ────────── a call begins ────────▶ told ────── calls: which call is the thread in?
//!                        a buffer of records is full ───▶ copies ── commsee_hook_count
//! ```
//!
//! CUPTI is NVIDIA's interface for profilers. It names no thread in the record of a copy, and hands records over late: a number that both have leads
//! from the record to the call.
//!
//! Invariants: without a GPU nothing is loaded, and nothing happens but that the environment has one variable more; a tool that watches the GPU already is left alone, and one that comes later gets CUPTI; nothing waits for the GPU.

#![deny(unsafe_op_in_unsafe_fn)]

mod abi;
mod allocations;
mod calls;
mod copies;
mod cupti;
mod environment;
mod functions;
mod injection;
mod module;
mod told;
mod tools;
mod watch;
