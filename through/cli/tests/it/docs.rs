//! The commands in the pages about `through` do what the pages show.

use std::fs;
use std::path::Path;

use crate::common::{Answer, Folder, heat};
use crate::compare::{Change, study};
use crate::files::ocean;
use crate::measured::{machine, updated};
use crate::mpisee::profile as fft;
use crate::sites::{shipped, shipped_with_code};

const PAGES: [&str; 6] = [
    "../../docs/howto/slice.md",
    "../../docs/reference/through.md",
    "../../docs/howto/find-the-reason.md",
    "../../docs/howto/report.md",
    "../../docs/howto/rank-order.md",
    "../../docs/howto/analyse-elsewhere.md",
];
/// Its profile knows lines of code.
const CODE_PAGE: &str = "../../docs/howto/find-the-line.md";

/// Of a profile of mpisee.
const FOREIGN_PAGE: &str = "../../docs/howto/coming-from.md";

/// Of files.
const FILES_PAGE: &str = "../../docs/howto/files.md";

/// Of measurements.
const MEASURED_PAGE: &str = "../../docs/howto/measure-the-machine.md";

/// Of several runs.
const COMPARED: &str = "../../docs/howto/compare-runs.md";

/// Runs every `$ through …` of a page's console blocks, and writes the page anew with what came out. Where the page has `…` first, the head
/// that all views have is left out.
fn played(page: &str, folder: &Folder) -> String {
    let mut played = String::new();
    let mut lines = page.lines().peekable();
    let mut is_console = false;
    while let Some(line) = lines.next() {
        played += line;
        played.push('\n');
        if line.starts_with("```") {
            is_console = line == "```console";
        }
        let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) else { continue };
        let has_no_head = lines.peek() == Some(&"…");
        while lines.next_if(|line| !line.starts_with("$ ") && !line.starts_with("```")).is_some() {}
        let answer = shell(command, folder);
        if has_no_head {
            played += "…\n";
        }
        played += if has_no_head { below_the_head(&answer.out) } else { &answer.out };
        played += &answer.err;
    }
    played
}

fn below_the_head(out: &str) -> &str {
    let head = out.find("\naverage ").expect("a head");
    out[head..].split_once("\n\n").expect("a view").1
}

fn shell(command: &str, folder: &Folder) -> Answer {
    let program = Path::new(env!("CARGO_BIN_EXE_through")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", command]).current_dir(folder.0.path()).env("PATH", path);
    shell.env_remove("COLUMNS").env("COMMSEE_DIR", folder.0.path());
    Answer::of(shell.output().unwrap())
}

#[test]
fn the_pages_show_what_happens() {
    for page in PAGES.into_iter().chain([CODE_PAGE, COMPARED, FILES_PAGE, FOREIGN_PAGE, MEASURED_PAGE]) {
        let folder = Folder::empty();
        match page {
            CODE_PAGE => ["heat.db", "lines.db"].into_iter().for_each(|name| shipped_with_code(&folder.path(name))),
            FOREIGN_PAGE => fft(&folder.path("fft.db")),
            FILES_PAGE => ocean(&folder.path("ocean.db")),
            COMPARED => study(&folder, Change { delay_ms: 5, ..Change::default() }),
            _ => shipped(&folder.path("heat.db")),
        }
        if page == MEASURED_PAGE {
            machine(&folder.path("machine.db"));
            updated(&folder.path("updated.db"));
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
        let text = fs::read_to_string(&path).unwrap();
        let played = played(&text, &folder);
        if std::env::var_os("UPDATE_PAGES").is_some() {
            fs::write(&path, &played).unwrap();
        } else {
            assert!(text == played, "{page} is out of date: run the test with UPDATE_PAGES=1\n{played}");
        }
    }
}

/// Every option and every column stands in the reference.
#[test]
fn the_reference_is_complete() {
    let read = |page: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let page = read(PAGES[1]) + &read("../../docs/reference/views.md");
    let folder = Folder::empty();
    heat(&folder.path("heat.db"));
    let commands = [
        "", "advise", "explain", "show", "report", "comms", "waits", "traffic", "sites", "layers", "compare", "bench",
        "tune", "sql", "export",
    ];
    let of_jobs = ["run", "watch", "recover", "exec"];
    for command in commands.into_iter().chain(of_jobs) {
        let words = [command, "--help"].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>();
        let help = folder.through(&words).ok();
        let words_of_help = help.split_whitespace().map(|word| word.split('[').next().unwrap_or_default());
        for option in words_of_help.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '-')) {
            let is_option = option.starts_with('-') && option.len() > 1 && option != "--";
            assert!(!is_option || page.contains(&format!("`{option}")), "{option} of {words:?} is missing");
        }
    }
    for view in
        ["--top=0", "-a", "-u", "-e", "--phases", "--datatypes", "--in-flight", "--files", "--hosts", "--efficiency"]
    {
        // There are no datatypes in it, and all ranks finished: status 1, with a line of names all the same.
        let csv = folder.through(&[view, "--format", "csv"]).out;
        for column in csv.lines().next().unwrap().split(',') {
            assert!(page.contains(&format!("`{column}`")), "the column {column} of {view} is missing");
        }
    }
    let layered = crate::layers::layered();
    for words in [&["layers"][..], &["layers", "--by", "protocol"], &["layers", "--all"], &["traffic"]] {
        let csv = layered.through(&[words, &["--format", "csv"]].concat()).ok();
        for column in csv.lines().next().unwrap().split(',') {
            assert!(page.contains(&format!("`{column}`")), "the column {column} of {words:?} is missing");
        }
    }
}
