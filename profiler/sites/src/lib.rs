//! Where in the code a thread is. A call site is a number: a frame, and the site of the frames outside of it.
//!
//! | what | where |
//! |---|---|
//! | the sites of calls | [`sites`] |
//! | what one thread remembers: code, and stacks that it had | [`local`], [`remembered`] |
//! | what the process has seen, with numbers for it | [`registry`], [`levels`] |
//! | from a frame to its caller | [`step`], by a [`rule`], with words of the [`stack`] |
//! | what is mapped | [`loader`] |
//! | the functions of an interpreter | [`python`] |
//!
//! Nothing that was seen before takes a lock, asks for memory or calls the system, but for three: frames in what `dlopen` mapped cost a
//! question to the loader, which takes a lock of its own for some instructions; frames of an interpreter, and stacks that are none of the
//! thread's own, are copied by the system.

pub mod levels;
pub mod loader;
pub mod local;
pub mod python;
pub mod registry;
pub mod remembered;
pub mod rule;
pub mod sites;
pub mod stack;
pub mod step;
