//! The commands in the pages about `through` do what the pages show.

use std::fs;
use std::path::Path;

use crate::advice::faulty;
use crate::common::{Answer, Folder, heat};
use crate::compare::{Change, study};
use crate::files::ocean;
use crate::measured::{machine, updated};
use crate::mpisee::profile as fft;
use crate::sites::heat_with_code;

const PAGES: [&str; 8] = [
    "../../docs/howto/slice.md",
    "../../docs/reference/through.md",
    REASON_PAGE,
    "../../docs/howto/overview.md",
    "../../docs/howto/report.md",
    "../../docs/howto/patterns.md",
    "../../docs/howto/rank-order.md",
    "../../docs/howto/analyse-elsewhere.md",
];
/// It has a profile with faults beside it.
const REASON_PAGE: &str = "../../docs/howto/find-the-reason.md";
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

/// Runs every `$ through …` of a page's console blocks, and writes the page anew with what came out.
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
        while lines.next_if(|line| !line.starts_with("$ ") && !line.starts_with("```")).is_some() {}
        let answer = shell(command, folder);
        played += &answer.out;
        played += &answer.err;
    }
    played
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
            CODE_PAGE => heat_with_code(&folder.path("heat.db"), 8),
            FOREIGN_PAGE => fft(&folder.path("fft.db")),
            FILES_PAGE => ocean(&folder.path("ocean.db")),
            COMPARED => study(&folder, Change { delay_ms: 5, ..Change::default() }),
            _ => heat(&folder.path("heat.db")),
        }
        if page == MEASURED_PAGE {
            machine(&folder.path("machine.db"));
            updated(&folder.path("updated.db"));
        }
        if page == REASON_PAGE {
            faulty(&folder.path("slow.db"));
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
        "",
        "advise",
        "explain",
        "efficiency",
        "waits",
        "diff",
        "correlate",
        "tune",
        "imbalance",
        "top",
        "hist",
        "tree",
        "hosts",
        "patterns",
        "reorder",
        "layers",
        "matrix",
        "graph",
        "report",
        "bench",
        "roofline",
        "sql",
        "schema",
    ];
    let of_jobs = ["run", "watch", "exec", "resolve", "recover", "collect", "clean"];
    for command in commands.into_iter().chain(of_jobs) {
        let words = [command, "--help"].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>();
        let help = folder.through(&words).ok();
        for option in help.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '-'))
        {
            let is_option = option.starts_with('-') && option.len() > 1 && option != "--";
            assert!(!is_option || page.contains(&format!("`{option}")), "{option} of {words:?} is missing");
        }
    }
    for view in
        ["--top=0", "-a", "-u", "-e", "--phases", "--datatypes", "--in-flight", "--files", "--hosts", "--by=birthplace"]
    {
        // There are no datatypes in it, and all ranks finished: status 1, with a line of names all the same.
        let csv = folder.through(&[view, "--format", "csv"]).out;
        for column in csv.lines().next().unwrap().split(',') {
            assert!(page.contains(&format!("`{column}`")), "the column {column} of {view} is missing");
        }
    }
    let layered = crate::layers::layered();
    for words in [&["layers"][..], &["layers", "--by", "protocol"], &["layers", "--all"], &["matrix"]] {
        let csv = layered.through(&[words, &["--format", "csv"]].concat()).ok();
        for column in csv.lines().next().unwrap().split(',') {
            assert!(page.contains(&format!("`{column}`")), "the column {column} of {words:?} is missing");
        }
    }
}
