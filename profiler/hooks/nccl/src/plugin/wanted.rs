//! What the user wants to know beyond how each operation is done: `COMMSEE_NCCL`, a list with commas.

use std::sync::OnceLock;

use commsee_runtime::say;

use super::abi::event;

const VARIABLE: &str = "COMMSEE_NCCL";
/// The time of each operation on the GPU. NCCL's kernels take timestamps for it.
const KERNELS: &str = "kernels";
/// What NCCL's proxy threads send.
const PROXIES: &str = "proxies";

#[derive(Clone, Copy, Default)]
pub struct Wanted {
    pub kernels: bool,
    pub proxies: bool,
}

impl Wanted {
    /// The events to be told of. Those of the program's calls (v5) come without being asked for, as the parents of others.
    pub fn mask(self) -> u64 {
        let mut mask = event::COLL | event::P2P;
        if self.kernels {
            mask |= event::KERNEL_CHANNEL;
        }
        if self.proxies {
            mask |= event::PROXY_OP | event::PROXY_STEP;
        }
        mask
    }
}

pub fn wanted() -> Wanted {
    static WANTED: OnceLock<Wanted> = OnceLock::new();
    *WANTED.get_or_init(|| parse(&std::env::var(VARIABLE).unwrap_or_default()))
}

fn parse(value: &str) -> Wanted {
    let mut wanted = Wanted::default();
    for word in value.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word.to_ascii_lowercase().as_str() {
            KERNELS => wanted.kernels = true,
            PROXIES => wanted.proxies = true,
            _ => say::warn_for_all(&format!(
                "{VARIABLE} names {word}, which is not known: use {KERNELS}, {PROXIES}, or both"
            )),
        }
    }
    wanted
}
