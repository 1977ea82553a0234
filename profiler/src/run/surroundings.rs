//! What a process ran in, told in its shard once: its binding, and the settings of the MPI library and the layers below.

use std::env;

use vocabulary::environment::settings;
use vocabulary::host;
use vocabulary::shard::{FIRST_SETTING, NUMA_NODES, PROCESSORS, SURROUNDINGS};

use crate::shard::texts::Texts;

/// What finds no room is missing from the profile.
pub fn tell() {
    let mut texts = Texts::new(SURROUNDINGS);
    let processors = host::processors();
    let _ = texts.add_parts(PROCESSORS, processors.to_string().as_bytes());
    let _ = texts.add_parts(NUMA_NODES, host::numa_nodes(&processors).to_string().as_bytes());
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    };
    for (number, setting) in (FIRST_SETTING..).zip(settings(env::vars_os().filter_map(text))) {
        let _ = texts.add_parts(number, setting.as_bytes());
    }
}
