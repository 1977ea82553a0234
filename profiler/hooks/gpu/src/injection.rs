//! How this library hears of a GPU: the driver loads the library that [`crate::environment`] names, and calls this. A program that uses no GPU never comes
//! here.

use std::ffi::c_int;

use commsee_runtime::guard;

use crate::watch;

/// Called by the driver. Anything but 0 is what it calls success.
#[unsafe(no_mangle)]
extern "C" fn InitializeInjection() -> c_int {
    guard::uncancelled(watch::begin);
    1
}
