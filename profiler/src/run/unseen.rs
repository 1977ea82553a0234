//! Calls that never come here, since other functions of their names stand in front of commsee: said at the start of the job, and kept in the
//! profile. Where `MPI_Init` is among them nothing can be recorded, and that is said when the process exits.

use std::env;

use commsee_runtime::launcher;
use vocabulary::settings;

use crate::guest::{guard, say};
use crate::mpi::in_front::{Hidden, hidden};
use crate::mpi::pmpi;
use crate::run::ending;

/// Says on rank 0 what is not recorded, and returns it for the profile.
pub fn tell() -> String {
    let hidden = hidden();
    for one in &hidden {
        say::warn_for_all(&format!("not recorded: {}, in front of commsee. {}", one.text(), one.remedy()));
    }
    hidden.iter().map(Hidden::text).collect::<Vec<_>>().join("; ")
}

/// The loader calls it in every process, when that exits.
extern "C" fn at_exit() {
    if ending::has_started() || ending::is_alone() {
        return;
    }
    guard::with_room(|| {
        let is_off = settings::is_on(env::var(settings::DISABLE).ok().as_deref());
        // SAFETY: may be called at any time.
        if is_off || !launcher::is_first() || unsafe { pmpi::initialized() }.unwrap_or(0) == 0 {
            return;
        }
        say::follow_environment();
        match hidden().iter().find(|one| one.names.iter().any(|name| name.starts_with("MPI_Init"))) {
            Some(one) => {
                let (who, remedy) = (one.who(), one.remedy());
                say::warn(&format!("nothing is recorded: MPI_Init of {who} stands in front of commsee. {remedy}"));
            }
            None => say::warn("nothing is recorded: the program initialized MPI without calling MPI_Init"),
        }
    });
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;
