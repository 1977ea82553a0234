//! Unwind information and stacks of any bytes: a rule is read or there is none, and a step leads upwards or nowhere.
//!
//! Run it with `cargo fuzz run -O unwind`: gimli multiplies and subtracts numbers of a damaged table, and compares what it finds with what was asked
//! for. In the product, which does not check for overflow, that is harmless; with checks every run ends there.
#![no_main]

#[path = "../drive/unwind.rs"]
mod unwind;

libfuzzer_sys::fuzz_target!(|data: &[u8]| unwind::drive(data));
