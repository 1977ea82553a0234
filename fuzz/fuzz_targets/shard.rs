#![no_main]

#[path = "../drive/shard.rs"]
mod drive;

libfuzzer_sys::fuzz_target!(|data: &[u8]| drive::drive(data));
