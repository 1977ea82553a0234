//! `through` shows the profiles that commsee leaves, and runs programs so that they leave one.

use std::process::ExitCode;

fn main() -> ExitCode {
    through::main()
}
