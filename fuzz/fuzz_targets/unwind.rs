//! Unwind information and stacks of any bytes: a rule is read or there is none, and a step leads upwards or nowhere.
#![no_main]

#[path = "../drive/unwind.rs"]
mod unwind;

libfuzzer_sys::fuzz_target!(|data: &[u8]| unwind::drive(data));
