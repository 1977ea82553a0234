//! What names, and places in the code, are known by in all processes. A module is known by its build id, else by its path, and a frame by
//! the module and the file's own address: wherever the module was loaded.

use std::fmt::Write;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::group::ALL_PHASES;
use crate::shard::{self, Code, NO_MODULE, position};

/// What a text is known by: neither 0 nor [`ALL_PHASES`]. `kind` tells equal texts about different things apart.
pub fn hash(text: &str, kind: u8) -> u64 {
    xxh3_64_with_seed(text.as_bytes(), kind.into()).clamp(1, ALL_PHASES - 1)
}

/// Seeds that tell names of different kinds apart (`resolved.rs` and `layers.rs` have those below).
const BUILD_ID: u8 = 7;
const PATH: u8 = 8;
const SCRIPTED: u8 = 9;
const IN_MODULE: u8 = 10;
const SITE: u8 = 11;

/// What this process's numbers of modules, frames and sites mean to all: in the order of the shard's entries.
#[derive(Default)]
pub struct CodeHashes {
    pub modules: Vec<u64>,
    pub frames: Vec<u64>,
    pub sites: Vec<u64>,
}

impl CodeHashes {
    pub fn of(code: &Code) -> CodeHashes {
        let mut known = CodeHashes::default();
        known.modules = code.modules.iter().map(|(_, module)| hash_of_module(code, module)).collect();
        known.frames = code.frames.iter().map(|(_, frame)| known.hash_of_frame(code, frame)).collect();
        known.sites.reserve(code.sites.len());
        for (_, site) in &code.sites {
            // What is outside was added before.
            let outer = known.site(code, site.outer);
            known.sites.push(hash_of([known.frame(code, site.frame), outer], SITE));
        }
        known
    }

    /// 0 for what is not known, as in the shard.
    pub fn site(&self, code: &Code, number: u32) -> u64 {
        position(&code.sites, number).and_then(|at| self.sites.get(at)).copied().unwrap_or(0)
    }

    pub fn frame(&self, code: &Code, number: u32) -> u64 {
        position(&code.frames, number).map_or(0, |at| self.frames[at])
    }

    pub fn module(&self, code: &Code, number: u32) -> u64 {
        position(&code.modules, number).map_or(0, |at| self.modules[at])
    }

    fn hash_of_frame(&self, code: &Code, frame: &shard::Frame) -> u64 {
        match frame.module {
            NO_MODULE => {
                let [function, file] = [frame.function, frame.file].map(|number| code.text(number));
                hash(&format!("{function}\n{file}\n{}", frame.line), SCRIPTED)
            }
            module => hash_of([self.module(code, module), frame.address], IN_MODULE),
        }
    }
}

fn hash_of_module(code: &Code, module: &shard::Module) -> u64 {
    match module.build_id() {
        [] => hash(&code.text(module.path), PATH),
        id => hash(&hex(id), BUILD_ID),
    }
}

fn hash_of(words: [u64; 2], kind: u8) -> u64 {
    let words = words.map(u64::to_le_bytes);
    xxh3_64_with_seed(words.as_flattened(), kind.into()).clamp(1, ALL_PHASES - 1)
}

/// In hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
