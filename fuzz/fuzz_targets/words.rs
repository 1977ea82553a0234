#![no_main]

#[path = "../drive/words.rs"]
mod drive;
#[path = "../../through/src/query/range.rs"]
mod range;

libfuzzer_sys::fuzz_target!(|data: &[u8]| drive::drive(data));
