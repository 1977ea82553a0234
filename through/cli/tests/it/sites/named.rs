//! Names that are written in afterwards.

use std::collections::BTreeSet;
use std::fs;

use rusqlite::{Connection, params};

use super::folder;
use crate::common::{Answer, Folder};
use crate::symbols::{Workshop, build_id};

/// A program whose addresses are known, and a profile that has them without names.
fn unnamed(shop: &Workshop, flags: &str) -> (Folder, Vec<(u64, u32, String)>) {
    shop.does(&format!("gcc {flags} main.c note.o -o app"));
    let said = shop.calls("app");
    let folder = folder(0);
    let path = shop.path("app");
    let db = Connection::open(folder.path("heat.db")).unwrap();
    let id: Option<String> = build_id(&path).map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect());
    db.execute("INSERT INTO module (id, path, build_id) VALUES (9, ?, ?)", params![path.to_str(), id]).unwrap();
    let sql = "SELECT c.id, o.id FROM communicator c, operation o WHERE c.name = 'a0.1' AND o.name = 'MPI_Isend'";
    let (comm, op): (i64, i64) = db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    for (address, ..) in &said {
        db.execute("INSERT INTO frame (module, address) VALUES (9, ?)", [*address as i64]).unwrap();
        db.execute("INSERT INTO site (frame) VALUES (?)", [db.last_insert_rowid()]).unwrap();
        let site = db.last_insert_rowid();
        let sql = "INSERT INTO call_site (site, comm, op, bucket, phase, rank, calls, bytes_sent, bytes_recv, time_ns) \
                   VALUES (?, ?, ?, 0, 0, 0, 1, 1, 0, 1)";
        db.execute(sql, params![site, comm, op]).unwrap();
    }
    (folder, said)
}

fn lines(folder: &Folder, profile: &str, shop: &Workshop) -> BTreeSet<(String, String)> {
    let mut command = folder.command(&["sites", profile, "--format", "csv"]);
    let answer = Answer::of(command.env("XDG_CACHE_HOME", shop.path("cache")).output().unwrap());
    answer.csv().iter().map(|row| (row["site"].clone(), row["function"].clone())).collect()
}

fn resolve(folder: &Folder, shop: &Workshop, words: &[&str]) -> Answer {
    let mut command = folder.command(&[&["export", "db"], words].concat());
    Answer::of(command.env("XDG_CACHE_HOME", shop.path("cache")).output().unwrap())
}

fn wanted(said: &[(u64, u32, String)]) -> BTreeSet<(String, String)> {
    said.iter().map(|(_, line, function)| (format!("main.c:{line}"), function.clone())).collect()
}

#[test]
fn names_are_looked_up_or_carried_along() {
    let shop = Workshop::new();
    let (folder, said) = unnamed(&shop, "-g -O2");
    assert_eq!(lines(&folder, "heat.db", &shop), wanted(&said));
    let before = fs::read(folder.path("heat.db")).unwrap();
    let answer = resolve(&folder, &shop, &["heat.db", "-o", "laptop.db"]).ok();
    assert!(answer.starts_with("laptop.db: ") && answer.contains("have a line"), "{answer}");
    assert_eq!(fs::read(folder.path("heat.db")).unwrap(), before);
    assert_eq!(resolve(&folder, &shop, &["heat.db", "-o", "laptop.db"]).status, 2);
    // In place, and once more: nothing changes.
    resolve(&folder, &shop, &["heat.db"]).ok();
    let named = fs::read(folder.path("heat.db")).unwrap();
    assert_ne!(named, before);
    resolve(&folder, &shop, &["heat.db"]).ok();
    assert_eq!(fs::read(folder.path("heat.db")).unwrap(), named);
    assert_eq!(folder.names(), ["heat.db", "laptop.db"]);
    // Where the binary is not.
    shop.does("rm -r app cache");
    for profile in ["heat.db", "laptop.db"] {
        assert_eq!(lines(&folder, profile, &shop), wanted(&said), "{profile}");
    }
    let db = Connection::open(folder.path("laptop.db")).unwrap();
    let inlined: i64 = db.query_row("SELECT count(*) FROM frame_name WHERE depth = 1", [], |row| row.get(0)).unwrap();
    assert_eq!(inlined, 2);
}

#[test]
fn functions_are_improved_when_debug_data_is_found() {
    let shop = Workshop::new();
    let (folder, said) = unnamed(&shop, "-g -O1");
    shop.does("objcopy --only-keep-debug app app.debug && objcopy --strip-debug app");
    let answer = resolve(&folder, &shop, &["heat.db"]).ok();
    assert!(answer.contains("a function only"), "{answer}");
    let found = lines(&folder, "heat.db", &shop);
    assert!(found.iter().any(|(site, function)| function == "solve" && site.starts_with("solve+0x")), "{found:?}");
    shop.does("objcopy --add-gnu-debuglink=app.debug app");
    resolve(&folder, &shop, &["heat.db"]).ok();
    assert_eq!(lines(&folder, "heat.db", &shop), wanted(&said));
}

#[test]
fn without_the_binary_modules_and_offsets_are_told() {
    let shop = Workshop::new();
    let (folder, said) = unnamed(&shop, "-g -O1");
    shop.does("gcc -g -O0 main.c note.o -o app");
    let offsets: BTreeSet<(String, String)> =
        said.iter().map(|(address, ..)| (format!("app+{address:#x}"), String::new())).collect();
    assert_eq!(lines(&folder, "heat.db", &shop), offsets);
    let answer = resolve(&folder, &shop, &["heat.db"]).ok();
    assert!(answer.contains("another build"), "{answer}");
    let answer = Folder::with_sample().through(&["export", "db", "sample.db"]);
    assert_eq!(answer.status, 1);
    assert!(answer.err.contains("no call sites"), "{}", answer.err);
}

/// What is said below the sites, in one line.
fn legend(folder: &Folder, shop: &Workshop) -> String {
    let mut command = folder.command(&["sites"]);
    let answer = Answer::of(command.env("XDG_CACHE_HOME", shop.path("cache")).output().unwrap());
    answer.ok().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn why_an_address_has_no_name_is_told() {
    let shop = Workshop::new();
    let (folder, _) = unnamed(&shop, "-g -O1");
    shop.does("strip app");
    let why = "has no name, because its binary is stripped: ";
    let told = legend(&folder, &shop);
    assert!(told.contains(why) && !told.contains("another build"), "{told}");
    shop.does("rm -r app cache");
    let told = legend(&folder, &shop);
    let why = "has no name, because its binary is not here, or is another build: run through export db where it is.";
    assert!(told.contains(why) && !told.contains("strip"), "{told}");
    let (folder, _) = unnamed(&shop, "-g -O1 -Wl,--build-id=none");
    let told = legend(&folder, &shop);
    assert!(told.contains("has no build id") && told.contains("through export db --by-path"), "{told}");
}

#[test]
fn binaries_without_a_build_id_are_taken_on_demand() {
    let shop = Workshop::new();
    let (folder, said) = unnamed(&shop, "-g -O1 -Wl,--build-id=none");
    // The job ran on other hosts.
    let answer = resolve(&folder, &shop, &["heat.db"]).ok();
    assert!(answer.contains("--by-path"), "{answer}");
    resolve(&folder, &shop, &["heat.db", "--by-path"]).ok();
    assert_eq!(lines(&folder, "heat.db", &shop), wanted(&said));
}

#[test]
fn time_is_bounded_where_it_is_asked_for() {
    let shop = Workshop::new();
    let (folder, _) = unnamed(&shop, "-g -O1");
    let answer = resolve(&folder, &shop, &["heat.db", "--within", "0"]).ok();
    assert!(answer.contains("time limit reached"), "{answer}");
}

/// Leaves a prepared profile under the name and with the token of its launch.
#[test]
#[ignore = "runs as a job"]
fn the_job_with_code() {
    let (prepared, out) = (std::env::var("PREPARED").unwrap(), std::env::var("COMMSEE_OUT").unwrap());
    fs::copy(prepared, &out).unwrap();
    let db = Connection::open(out).unwrap();
    let launch = std::env::var("COMMSEE_LAUNCH").unwrap();
    db.execute("INSERT OR REPLACE INTO metadata VALUES ('launch', ?)", [launch]).unwrap();
}

/// What a job of that code says of it when it has ended.
fn code(folder: &Folder, shop: &Workshop) -> String {
    let here = std::env::current_exe().unwrap();
    let words = [
        "run",
        "-o",
        "named.db",
        "--",
        here.to_str().unwrap(),
        "--ignored",
        "--exact",
        "sites::named::the_job_with_code",
    ];
    let mut command = crate::jobs::command(folder, &words);
    command.env("XDG_CACHE_HOME", shop.path("cache")).env("PREPARED", folder.path("heat.db"));
    let answer = Answer::of(command.output().unwrap());
    assert_eq!(answer.status, 0, "{}", answer.err);
    let code = answer.err.lines().find(|line| line.starts_with("code ")).unwrap_or_else(|| panic!("{}", answer.err));
    assert!(answer.err.lines().count() <= 25, "{}", answer.err);
    code.to_owned()
}

#[test]
fn a_job_has_its_code_named_when_it_has_ended() {
    let shop = Workshop::new();
    let (folder, said) = unnamed(&shop, "-g -O2");
    let code = code(&folder, &shop);
    assert!(code.contains("frames named by line, in "), "{code}");
    shop.does("rm -r app cache");
    assert_eq!(lines(&folder, "named.db", &shop), wanted(&said));
}

#[test]
fn a_job_without_lines_says_what_they_need() {
    let shop = Workshop::new();
    let (folder, _) = unnamed(&shop, "-O2");
    // Nor has the code that was named before any.
    let db = Connection::open(folder.path("heat.db")).unwrap();
    db.execute("UPDATE frame_name SET line = NULL", []).unwrap();
    db.close().unwrap();
    let code = code(&folder, &shop);
    assert!(code.contains(" named by line (needs -g), ") && code.contains(" by function, in "), "{code}");
}

#[test]
fn what_cannot_be_said_of_names_is_an_error() {
    let folder = folder(0);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let answer = Answer::of(folder.command(&["export", "db", "heat.db"]).stdout(full).output().unwrap());
    assert_eq!(answer.status, 2, "{}", answer.err);
    assert!(answer.err.contains("standard output: "), "{}", answer.err);
}
