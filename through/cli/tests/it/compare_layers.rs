//! `through compare` of two programs that moved the same data in other ways below MPI.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::common::Folder;
use crate::page::{LAPTOP, column};

/// Twice the same, but for what the statement changes in the second.
fn two(change: &str) -> Folder {
    let folder = Folder::empty();
    for name in ["a.db", "b.db"] {
        crate::layers::write(&folder.path(name), "");
    }
    Connection::open(folder.path("b.db")).unwrap().execute_batch(change).unwrap();
    folder
}

const CHANGE: &str = "UPDATE way SET protocol = 'rndv-put' WHERE layer = 'ucp' AND protocol = 'rndv-get'; \
     UPDATE way SET transport = 'sysv' WHERE layer = 'uct' AND transport = 'posix' AND protocol <> 'reply'; \
     UPDATE way SET transport = 'sysv' WHERE layer = 'uct' AND transport = 'posix'; \
     UPDATE transfer SET calls = calls + 1, bytes = bytes + 50 WHERE way IN (SELECT id FROM way WHERE transport = 'sysv'); \
     UPDATE transfer_total SET calls = calls + 2, bytes = bytes + 100 WHERE way IN (SELECT id FROM way WHERE transport = 'sysv');";

fn turns(document: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let turn = |row: &Value| ["layer", "what", "bucket_lo", "before", "after"].map(|name| text(&row[name])).join(" ");
    document["turns"].as_array().unwrap().iter().map(turn).collect()
}

#[test]
fn what_took_the_place_of_what_is_named() {
    let folder = two(CHANGE);
    let document = folder.through(&["compare", "a.db", "b.db", "--format", "json"]).json();
    assert_eq!(turns(&document), ["ucp protocol 1024 rndv-get rndv-put", "uct transports null posix sysv"]);
    let rows = document["layers"].as_array().unwrap();
    let db = |name: &str| Connection::open(folder.path(name)).unwrap();
    for row in rows {
        for (side, name) in [("a", "a.db"), ("b", "b.db")] {
            let sql = "SELECT coalesce(sum(x.calls), 0), coalesce(sum(x.bytes), 0) FROM transfer_total x JOIN way w ON w.id = x.way \
                       WHERE w.layer = ?1 AND w.protocol = ?2 AND w.transport = ?3";
            let words = ["layer", "protocol", "transport"].map(|word| row[word].as_str().unwrap().to_owned());
            let sums: (i64, i64) = db(name).query_row(sql, words, |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            assert_eq!(
                (&row[format!("calls_{side}")], &row[format!("bytes_{side}")]),
                (&json!(sums.0), &json!(sums.1)),
                "{row}"
            );
        }
    }
    assert!(rows.iter().all(|row| !row["layer"].as_str().unwrap().ends_with("-rx")), "arrivals are the other end");
    let table = folder.through(&["compare", "a.db", "b.db"]).ok();
    assert!(table.contains("ucp: rndv-get → rndv-put for 1K-8K bytes"), "{table}");
    assert!(table.contains("uct: posix → sysv") && table.contains("layers below MPI"), "{table}");
}

#[test]
fn equal_layers_are_not_spoken_of() {
    let folder = two("");
    let table = folder.through(&["compare", "a.db", "b.db"]).ok();
    assert!(!table.contains("below"), "{table}");
    let document = folder.through(&["compare", "a.db", "b.db", "--format", "json"]).json();
    assert_eq!(turns(&document), Vec::<String>::new());
}

/// It ran without a module: its protocols are not known, and did not change.
#[test]
fn layers_of_one_side_are_no_change() {
    let folder = two("DELETE FROM transfer; DELETE FROM transfer_total;");
    let table = folder.through(&["compare", "a.db", "b.db"]).ok();
    assert!(table.contains("layers were recorded in A only"), "{table}");
    let document = folder.through(&["compare", "a.db", "b.db", "--format", "json"]).json();
    assert_eq!((&document["turns"], &document["layers"]), (&json!([]), &json!([])));
}

#[test]
fn the_page_has_layers_of_both_runs() {
    let folder = two(CHANGE);
    folder.through(&["report", "a.db", "b.db", "-o", "page.html"]).ok();
    let Some(mut browser) = Browser::start(&folder.path("chromium")) else { return };
    browser.open(&folder.path("page.html"), "view=diff", LAPTOP);
    let turns = browser.eval("[...document.querySelectorAll('[data-turn]')].map((one) => one.textContent)");
    assert_eq!(turns, json!(["ucp: rndv-get → rndv-put for 1K-8K bytes", "uct: posix → sysv"]));
    for (name, file) in [("bytes_a", "a.db"), ("bytes_b", "b.db")] {
        let sql = "SELECT sum(x.bytes) FROM transfer_total x JOIN way w ON w.id = x.way WHERE NOT w.arrives";
        let all: i64 = Connection::open(folder.path(file)).unwrap().query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(column(&mut browser, "diff-layers", name) as i64, all, "{name}");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
