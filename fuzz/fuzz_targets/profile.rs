#![no_main]

#[path = "../drive/profile.rs"]
mod drive;
#[path = "../drive/mutate.rs"]
mod mutate;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let folder = std::env::temp_dir().join(format!("commsee-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    drive::drive(data, &folder);
});
