//! Which UCX this is, and what of it is known.

use std::ffi::c_uint;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use commsee_runtime::say;

use crate::abi::ucp::GetVersion;
use crate::module;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub release: u32,
}

impl std::fmt::Display for Version {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(to, "{}.{}.{}", self.major, self.minor, self.release)
    }
}

/// The first with `ucp_request_param_t` and requests as they are known here.
const FIRST_MINOR: u32 = 11;
/// The last whose table of operations was compared.
const LAST_MINOR: u32 = 22;

static BELOW_IS_KNOWN: AtomicBool = AtomicBool::new(false);

pub fn loaded() -> Option<Version> {
    let get = real!(Ucp, ucp_get_version, GetVersion)?;
    let (mut major, mut minor, mut release): (c_uint, c_uint, c_uint) = (0, 0, 0);
    // SAFETY: fills them in.
    unsafe { get(&raw mut major, &raw mut minor, &raw mut release) };
    Some(Version { major, minor, release })
}

/// Whether anything can be seen of it. Notes and says it once.
pub fn check() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let Some(version) = loaded() else { return false };
        let note = |text: &str| {
            if let Some(module) = module::get() {
                module.note(text);
            }
        };
        if version.major != 1 || version.minor < FIRST_MINOR {
            let text = format!("UCX {version}: refused (unknown version; known: 1.{FIRST_MINOR} to 1.{LAST_MINOR})");
            note(&text);
            say::warn_for_all(&format!("{text}; UCX is not recorded"));
            module::stop();
            return false;
        }
        let below = version.minor <= LAST_MINOR;
        BELOW_IS_KNOWN.store(below, Ordering::Relaxed);
        note(&format!("UCX {version}: {}", if below { "UCP and UCT" } else { "UCP" }));
        true
    })
}

/// Whether the operation table of this version is known.
pub fn knows_table() -> bool {
    check() && BELOW_IS_KNOWN.load(Ordering::Relaxed)
}
