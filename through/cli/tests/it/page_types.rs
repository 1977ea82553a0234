//! The script of the page as TypeScript's compiler reads it: parts that are rarely drawn have no misspelled names either.

use std::process::Command;

use crate::common::{Folder, heat};

/// Faults that are none of style: a name that nobody declares (2304, 2552), one that two declare (2451), too few or too many arguments (2554,
/// 2555), an assignment to a constant (2588).
const FAULTS: [&str; 6] = ["TS2304", "TS2552", "TS2451", "TS2554", "TS2555", "TS2588"];
/// Younger than the compiler that Debian has.
const YOUNG: &str = "'DecompressionStream'";

#[test]
fn all_names_of_the_script_are_known() {
    let folder = Folder::empty();
    heat(&folder.path("a.db"));
    folder.through(&["report", "a.db", "-o", "page.html"]).ok();
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    let script = page.rsplit_once("<script>").unwrap().1.rsplit_once("</script>").unwrap().0;
    let found = |script: &str| {
        std::fs::write(folder.path("page.js"), script).unwrap();
        let options = "--allowJs --checkJs --noEmit --target es2022 --lib es2022,dom,dom.iterable --strict false";
        let output = Command::new("tsc").args(options.split(' ')).arg(folder.path("page.js")).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_fault = |line: &&str| FAULTS.iter().any(|fault| line.contains(fault)) && !line.contains(YOUNG);
        Some(text.lines().filter(is_fault).map(str::to_owned).collect::<Vec<_>>())
    };
    let Some(misspelled) = found(&script.replacen("const sum = ", "const summ = ", 1)) else {
        return eprintln!("skipped: tsc is not installed (Debian package node-typescript)");
    };
    assert!(!misspelled.is_empty(), "tsc finds nothing");
    assert_eq!(found(script).unwrap(), Vec::<String>::new());
}
