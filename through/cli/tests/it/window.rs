//! `--window`: what began in a part of the timeline, in every view of messages and transfers.

use std::fs;

use rusqlite::Connection;

use crate::browser::Browser;
use crate::common::Folder;
use crate::golden::golden;
use crate::page::{LAPTOP, column, number};

/// Four ranks with a module and a timeline.
fn timed() -> Folder {
    let folder = Folder::empty();
    fs::copy(golden("version-1-layers.db"), folder.path("run.db")).unwrap();
    folder
}

fn by_sql(folder: &Folder, sql: &str) -> (i64, i64) {
    let db = Connection::open(folder.path("run.db")).unwrap();
    db.query_row(sql, [], |row| {
        Ok((row.get::<_, Option<i64>>(0)?.unwrap_or(0), row.get::<_, Option<i64>>(1)?.unwrap_or(0)))
    })
    .unwrap()
}

/// Calls and bytes of an array of JSON.
fn sums(folder: &Folder, words: &[&str], array: &str) -> (i64, i64) {
    let document = folder.through(&[words, &["--format", "json"]].concat()).json();
    let rows = document[array].as_array().unwrap();
    let sum = |name: &str| rows.iter().map(|row| row[name].as_i64().unwrap()).sum();
    (sum("calls"), sum("bytes"))
}

/// A third of the time, by its begin and end in seconds.
fn middle(folder: &Folder) -> (f64, f64) {
    let db = Connection::open(folder.path("run.db")).unwrap();
    let (first, last): (f64, f64) = db
        .query_row("SELECT min(begin_s), max(begin_s) FROM events", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    (first + (last - first) / 3.0, last - (last - first) / 3.0)
}

#[test]
fn every_view_shows_what_began_in_the_window() {
    let folder = timed();
    let (low, high) = middle(&folder);
    let window = format!("--window={low:.9}:{high:.9}");
    let of_events = |kind: &str| {
        let sql = format!(
            "SELECT count(*), sum(bytes) FROM events WHERE kind = '{kind}' AND begin_s BETWEEN {low:.9} AND {high:.9}"
        );
        by_sql(&folder, &sql)
    };
    let (layers, messages) = (of_events("layer' AND layer = 'made-up"), of_events("sent"));
    let all = by_sql(&folder, "SELECT count(*), sum(bytes) FROM events WHERE layer = 'made-up'");
    assert!(layers.0 > 0 && layers.0 < all.0 && messages.0 > 0, "{layers:?} {messages:?}");
    let layer = |words: &[&'static str]| [words, &["--layer", "made-up"]].concat();
    for (words, array) in [
        (layer(&["layers"]), "contributors"),
        (layer(&["layers", "--all"]), "transfers"),
        (layer(&["layers", "--by", "transport"]), "crossings"),
        (layer(&["traffic"]), "matrix"),
        (layer(&["traffic", "--graph"]), "edges"),
    ] {
        let words: Vec<&str> = words.into_iter().chain([window.as_str()]).collect();
        assert_eq!(sums(&folder, &words, array), layers, "{words:?}");
    }
    assert_eq!(sums(&folder, &["traffic", &window], "matrix"), messages);
    let head = folder.through(&["traffic", &window]).out;
    assert!(head.contains("window from"), "{head}");
    let trace = folder.through(&["export", "perfetto", &window]).out;
    let trace: serde_json::Value = serde_json::from_str(&trace).unwrap();
    let of = |cat: &str| {
        trace["traceEvents"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["ph"] == "X" && event["cat"] == cat)
            .count()
    };
    assert_eq!(of("made-up") as i64, layers.0);
}

/// A window that holds the whole timeline has what the counters have of MPI calls: operations without one are no events.
#[test]
fn a_window_of_everything_is_the_whole() {
    let folder = timed();
    for words in [&["layers", "--all"][..], &["traffic"], &["layers", "--by", "op"]] {
        let ask = |window: &[&str]| {
            let mut rows = folder.through(&[words, window, &["--format", "csv"]].concat()).csv();
            rows.retain(|row| row.get("op").is_none_or(|op| op != "-"));
            // Whether an operation was complete later is not known of an event.
            for row in &mut rows {
                row.retain(|name, _| !name.starts_with("time") && !["later", "share"].contains(&name.as_str()));
            }
            rows.sort_by_key(|row| {
                let mut cells: Vec<_> = row.clone().into_iter().collect();
                cells.sort();
                cells
            });
            rows
        };
        assert_eq!(ask(&["--window=0:"]), ask(&[]), "{words:?}");
    }
}

#[test]
fn a_profile_without_a_timeline_has_no_window() {
    let folder = crate::layers::layered();
    for words in [&["layers"][..], &["traffic"], &["traffic", "--graph", "--layer", "uct"], &["export", "perfetto"]] {
        let answer = folder.through(&[words, &["--window", "0:1"]].concat());
        assert_eq!((answer.status, answer.out.as_str()), (2, ""), "{words:?}");
        assert!(answer.err.contains("has no timeline, which --window needs"), "{}", answer.err);
    }
}

/// What the timeline lacks is said: messages that are no events, and events that were overwritten.
#[test]
fn what_a_window_lacks_is_said() {
    let folder = timed();
    let db = Connection::open(folder.path("run.db")).unwrap();
    db.execute_batch(
        "INSERT OR IGNORE INTO operation SELECT 9999, 'MPI_Put', 'rma'; INSERT INTO edge SELECT comm, 9999, src, dst, calls, bytes FROM edge LIMIT 1; \
         UPDATE clock SET lost_events = 7 WHERE rank = 1",
    )
    .unwrap();
    let answer = folder.through(&["traffic", "--window", "0:"]);
    assert!(answer.err.contains("messages of MPI_Put are not on the timeline"), "{}", answer.err);
    assert!(answer.err.contains("were overwritten"), "{}", answer.err);
}

#[test]
fn pictures_of_the_page_follow_the_zoom_of_the_timeline() {
    let folder = timed();
    folder.through(&["report", "run.db", "-o", "page.html"]).ok();
    let Some(mut browser) = Browser::start(&folder.path("chromium")) else { return };
    browser.open(&folder.path("page.html"), "layer=made-up", LAPTOP);
    let shown = |browser: &mut Browser| {
        let matrix = ["matrix_calls", "matrix_bytes"].map(|name| number(browser, name));
        let layers = ["calls", "bytes"].map(|name| column(browser, "layers", name) as i64);
        (matrix, layers)
    };
    let whole = shown(&mut browser);
    let notes = "document.querySelectorAll('[data-note=counters]').length";
    assert_eq!(browser.eval(notes), 0);
    browser.click("[data-view=timeline] [name=window]");
    browser.eval("[...document.querySelectorAll('[data-view=timeline] button')].find((one) => one.textContent === 'Zoom in').click()");
    browser.eval("new Promise((done) => { const before = location.hash; const look = () => location.hash === before ? setTimeout(look, 20) : done(true); look(); })");
    let address = browser.eval("location.hash");
    let window =
        address.as_str().unwrap().split("window=").nth(1).unwrap().split('&').next().unwrap().replace("%3A", ":");
    let (low, high) = window.split_once(':').unwrap();
    let sql = |condition: &str| {
        let sql = format!(
            "SELECT count(*), sum(bytes) FROM events WHERE kind = 'layer' AND begin_s BETWEEN {low} AND {high} AND {condition}"
        );
        let (calls, bytes) = by_sql(&folder, &sql);
        [calls, bytes]
    };
    let part = shown(&mut browser);
    let calls = by_sql(
        &folder,
        &format!("SELECT count(*), 0 FROM events WHERE kind = 'call' AND begin_s BETWEEN {low} AND {high}"),
    );
    assert_eq!(column(&mut browser, "window", "calls") as i64, calls.0);
    assert_eq!(part, (sql("layer = 'made-up'"), sql("true")), "{window}");
    assert!(part != whole);
    assert!(browser.eval(notes).as_i64().unwrap() >= 4, "pictures of counters say so");
    // The link shows the same to others, and without the mark everything is there again.
    browser.open(&folder.path("page.html"), address.as_str().unwrap().trim_start_matches('#'), LAPTOP);
    assert_eq!(shown(&mut browser), part);
    assert_eq!(browser.eval("document.querySelector('[data-view=timeline] [name=window]').checked"), true);
    browser.click("[data-view=timeline] [name=window]");
    assert_eq!(shown(&mut browser), whole);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
