//! Hides names of `libcommsee.a` that are indirect functions: the loader cannot bind a library's reference to an indirect function of the
//! program before it has relocated the program, which comes last. Of a library that is bound at once (`LD_BIND_NOW`, `-z now`), as Intel MPI
//! and all libraries of some distributions are, it makes an error, and the program does not start. An MPI library refers to its own functions.
//!
//! A name is hidden where any part of what is linked says so. So a part that says nothing else goes into the archive; the linker leaves it out
//! of `libcommsee.so`, which needs nothing of it, and exports these names.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// `names`: the indirect functions.
pub fn compile(out: &Path, names: &[String]) {
    let mut text = String::from(".section .note.GNU-stack,\"\",%progbits\n");
    names.iter().for_each(|name| write!(text, ".globl {name}\n.hidden {name}\n").unwrap());
    let source = out.join("hidden.s");
    fs::write(&source, text).expect("write into OUT_DIR");
    cc::Build::new().file(source).compile("commsee_hidden");
}
