//! What a library that is preloaded into a program needs, whatever it watches: it must not fail, must not be seen, and finds little
//! memory and no help. The core (`libcommsee.so`) is built on it, and so is each hook module, which then is only its layer
//! (docs/howto/write-a-module.md has the smallest one).
//!
//! | for | |
//! |---|---|
//! | panics that must not reach the program | [`guard`] |
//! | the program's `errno`, signals of writing, cancelled threads, locks that handlers of signals find free | [`errno`], [`signals`] |
//! | the real function behind a wrapper | [`real`] |
//! | memory that may be refused | [`memory`] |
//! | finding by handle or key | [`table`], [`pointers`] |
//! | a lock that nobody waits for in vain | [`bounded`] |
//! | values that several threads may read and write | [`loose`] |
//! | a thread's own data, without a call | [`thread_pointer!`] |
//! | how far the stack goes, and another one where it ends soon | [`stack`] |
//! | memory of which nobody knows whether it is there | [`probe`] |
//! | a line to the user, from one rank | [`say`], [`launcher`] |
//! | the core as a module sees it | [`module`] |
//! | the call that a thread is in, without a call of the core | [`thread_state`] |

pub mod bounded;
pub mod errno;
pub mod guard;
pub mod launcher;
pub mod loose;
pub mod memory;
pub mod module;
pub mod pointers;
pub mod probe;
pub mod real;
pub mod say;
pub mod signals;
pub mod stack;
pub mod table;
pub mod thread_state;
mod tls;
