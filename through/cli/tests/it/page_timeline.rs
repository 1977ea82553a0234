//! The timeline of the page: what it says is what SQL and `through waits` say, by mouse and by keyboard.

use std::collections::BTreeMap;
use std::fs;

use rusqlite::Connection;
use serde_json::json;

use crate::browser::Browser;
use crate::common::Folder;
use crate::golden::golden;
use crate::page::{LAPTOP, column, number};
use crate::report::many;

const LANES: &str = "[data-view=timeline] canvas[role]";
const SAID: &str = "document.querySelector('[data-view=timeline] output').textContent";
const SHIFT: u32 = 8;

/// The page of `run.db`, open.
fn opened(folder: &Folder, profile: &str, fragment: &str) -> Option<Browser> {
    folder.through(&["report", profile, "-o", "page.html"]).ok();
    let mut browser = Browser::start(&folder.path("chromium"))?;
    browser.open(&folder.path("page.html"), fragment, LAPTOP);
    Some(browser)
}

/// Four ranks with a module and a timeline.
fn timed() -> Folder {
    let folder = Folder::empty();
    fs::copy(golden("version-1-layers.db"), folder.path("run.db")).unwrap();
    folder
}

/// What a button saves.
fn saved(browser: &mut Browser, button: &str) -> String {
    let text = browser.eval(&format!(
        "new Promise((done) => {{ const click = HTMLAnchorElement.prototype.click, make = URL.createObjectURL; HTMLAnchorElement.prototype.click = () => {{}}; \
         URL.createObjectURL = (file) => {{ done(file.text()); HTMLAnchorElement.prototype.click = click; URL.createObjectURL = make; return '#'; }}; \
         document.querySelector({}).click(); }})",
        json!(button)
    ));
    text.as_str().expect("what is saved").trim_start_matches('\u{feff}').to_owned()
}

/// The calls that the CSV of the picture has.
fn calls(browser: &mut Browser) -> Vec<BTreeMap<String, String>> {
    let text = saved(browser, "[data-csv-of=timeline]");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|row| row.unwrap()).collect()
}

fn focus(browser: &mut Browser) {
    browser.eval(&format!("document.querySelector('{LANES}').focus()"));
}

/// Numbers follow when the hand rests.
fn wait_for(browser: &mut Browser, condition: &str) {
    browser.eval(&format!(
        "new Promise((done) => {{ const look = () => ({condition}) ? done(true) : setTimeout(look, 20); look(); }})"
    ));
}

/// By the button, in seconds.
fn range(browser: &mut Browser) -> (f64, f64) {
    browser.click("[data-view=timeline] [name=range]");
    let window = browser.eval("decodeURIComponent(location.hash).split('window=')[1].split('&')[0]");
    let (low, high) = window.as_str().unwrap().split_once(':').unwrap();
    (low.parse().unwrap(), high.parse().unwrap())
}

#[test]
fn waiting_is_what_through_waits_says() {
    let folder = crate::waits::timeline();
    let Some(mut browser) = opened(&folder, "timed.db", "") else { return };
    let mut shown: Vec<(String, i64, i64)> = Vec::new();
    for call in calls(&mut browser) {
        let wait_ms = (call["waiting_s"].parse::<f64>().unwrap() * 1e3).round() as i64;
        if wait_ms > 0 {
            shown.push((call["op"].clone(), call["rank"].parse().unwrap(), wait_ms));
        }
    }
    let document = folder.through(&["waits", "--format", "json"]).json();
    let pairs = document["pairs"].as_array().unwrap().iter();
    let mut told: Vec<(String, i64, i64)> = pairs
        .map(|row| {
            let wait_ms = (row["wait_s"].as_f64().unwrap() * 1e3).round() as i64;
            (row["op"].as_str().unwrap().to_owned(), row["rank"].as_i64().unwrap(), wait_ms)
        })
        .collect();
    shown.sort();
    told.sort();
    assert_eq!(shown, told);
    assert_eq!(shown.len(), 6, "{shown:?}");
    assert!((column(&mut browser, "window", "waiting_s") - 0.16).abs() < 1e-9);
}

/// From the end of rank 1 back to the first message, to rank 0 that sent it late, and from the barrier to rank 2 that came last.
#[test]
fn the_critical_path_leads_to_those_that_were_waited_for() {
    let folder = crate::waits::timeline();
    let Some(mut browser) = opened(&folder, "timed.db", "") else { return };
    assert_eq!(browser.eval("document.querySelector('[data-table=path]')"), json!(null));
    browser.click("[data-view=timeline] [name=path]");
    let mut rows = Vec::new();
    let cells = browser.eval(
        "[...document.querySelectorAll('[data-table=path] tbody tr')].map((row) => [...row.children].map((cell) => cell.dataset.value ?? cell.textContent))",
    );
    for row in cells.as_array().unwrap() {
        let cell = |at: usize| row[at].as_str().unwrap();
        rows.push((cell(0).to_owned(), cell(1).to_owned(), (cell(2).parse::<f64>().unwrap() * 1e3).round() as i64));
    }
    rows.sort();
    let expected = [
        ("0", "MPI_Barrier", 10),
        ("0", "MPI_Bcast", 20),
        ("0", "MPI_Reduce", 10),
        ("0", "work", 260),
        ("1", "MPI_Recv", 20),
        ("1", "work", 80),
        ("2", "work", 40),
    ]
    .map(|(rank, op, time_ms)| (rank.to_owned(), op.to_owned(), time_ms));
    assert_eq!(rows, expected);
    let words = browser.eval("document.querySelector('[data-note=path]').textContent");
    assert!(words.as_str().unwrap().contains("59.1 % of its 440 ms are work of rank 0"), "{words}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_call_tells_who_was_last_and_its_messages() {
    let folder = crate::waits::timeline();
    let Some(mut browser) = opened(&folder, "timed.db", "") else { return };
    focus(&mut browser);
    // The calls of rank 0 one by one: barrier, broadcast, reduction, and a message that was late.
    let mut said = Vec::new();
    for _ in 0..4 {
        browser.press("n", 0);
        said.push(browser.eval(SAID).as_str().unwrap().to_owned());
    }
    assert!(said[0].starts_with("rank 0: MPI_Barrier on W0.0, 50.0 ms from 0 s"), "{said:?}");
    assert!(
        said[0].contains("rank 2 was last, the others waited up to 40.0 ms; waited 40.0 ms for rank 2"),
        "{said:?}"
    );
    assert!(said[3].contains("MPI_Send") && said[3].ends_with("sends 1 message to rank 1"), "{said:?}");
    browser.press("ArrowDown", 0);
    browser.press("n", 0);
    assert!(browser.eval(SAID).as_str().unwrap().starts_with("rank 1: MPI_Barrier"));
    browser.press("p", 0);
    browser.press("Escape", 0);
    assert_eq!(browser.eval(&format!("document.activeElement === document.querySelector('{LANES}')")), false);
    // By the mouse: lane of rank 0 in its first call, and the barrier of all ranks.
    browser.hover(LANES, (0.06, 0.48));
    assert!(browser.eval(SAID).as_str().unwrap().starts_with("rank 0: MPI_Barrier"), "{}", browser.eval(SAID));
}

#[test]
fn numbers_of_a_range_are_those_of_sql() {
    let folder = timed();
    let Some(mut browser) = opened(&folder, "run.db", "") else { return };
    focus(&mut browser);
    for key in ["+", "+", "ArrowRight", "-"] {
        browser.press(key, 0);
    }
    let (low, high) = range(&mut browser);
    let db = Connection::open(folder.path("run.db")).unwrap();
    let sql = format!(
        "SELECT sum(begin_s BETWEEN {low} AND {high}), sum(min(end_s, {high}) - max(begin_s, {low})), count(*) \
         FROM events WHERE kind = 'call' AND end_s >= {low} AND begin_s <= {high}"
    );
    let (begun, mpi_s, inside): (f64, f64, i64) =
        db.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let all: f64 = db.query_row("SELECT count(*) FROM events WHERE kind = 'call'", [], |row| row.get(0)).unwrap();
    assert!(begun > 0.0 && begun < all);
    for table in ["window", "shares"] {
        assert_eq!(column(&mut browser, table, "calls"), begun, "{table}");
    }
    for (table, name) in [("window", "time_s"), ("shares", "mpi_s")] {
        let shown = column(&mut browser, table, name);
        assert!((shown - mpi_s).abs() < 1e-8, "{table}: {shown} {mpi_s}");
    }
    // The picture is saved as it is looked at.
    assert_eq!(calls(&mut browser).len() as i64, inside);
    let picture = saved(&mut browser, "[data-svg=timeline]");
    assert!(picture.starts_with("<svg") && picture.matches("<rect").count() > 20, "{}", &picture[..200]);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn what_is_searched_for_is_counted_and_found() {
    let folder = timed();
    let db = Connection::open(folder.path("run.db")).unwrap();
    let sql = "SELECT op, count(*) FROM events WHERE kind = 'call' GROUP BY op ORDER BY 2 LIMIT 1";
    let (op, times): (String, i64) = db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let Some(mut browser) = opened(&folder, "run.db", "") else { return };
    browser.write("[data-view=timeline] [name=find]", &op);
    assert_eq!(number(&mut browser, "found"), times);
    assert_eq!(browser.eval("location.hash"), format!("#find={op}"));
    focus(&mut browser);
    browser.press("f", 0);
    let said = browser.eval(SAID).as_str().unwrap().to_owned();
    assert!(said.starts_with(&format!("1 of {times}: rank ")) && said.contains(&op), "{said}");
    // All colours, also of a link.
    for colour in ["comm", "state"] {
        browser.choose("[data-view=timeline] [name=colour]", colour);
        assert_eq!(browser.eval("location.hash"), format!("#colour={colour}&find={op}"));
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A page must scroll where the mouse only passes over a picture.
#[test]
fn the_wheel_zooms_where_it_is_meant() {
    let folder = timed();
    let Some(mut browser) = opened(&folder, "run.db", "") else { return };
    let label = format!("document.querySelector('{LANES}').getAttribute('aria-label')");
    let whole = browser.eval(&label);
    let (x, y) = browser.hover(LANES, (0.5, 0.7));
    let turn = |browser: &mut Browser, modifiers: u32| {
        let event =
            json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -100, "modifiers": modifiers });
        browser.eval("window.kept = null; addEventListener('wheel', (event) => { window.kept = event.defaultPrevented; }, { once: true })");
        browser.call("Input.dispatchMouseEvent", event);
        wait_for(browser, "window.kept !== null");
        browser.eval("window.kept")
    };
    assert_eq!(turn(&mut browser, 0), false);
    assert_eq!(turn(&mut browser, SHIFT), true);
    wait_for(&mut browser, &format!("{label} !== {whole}"));
    browser.hover(LANES, (0.5, 0.7));
    focus(&mut browser);
    browser.press("Home", 0);
    wait_for(&mut browser, &format!("{label} === {whole}"));
    assert_eq!(turn(&mut browser, 0), true);
    wait_for(&mut browser, &format!("{label} !== {whole}"));
}

/// 300 ranks that compute, and meet in two barriers.
#[test]
fn many_ranks_are_folded_and_unfold() {
    let folder = Folder::empty();
    many(&folder, 300, |_, _| None);
    let db = Connection::open(folder.path("many.db")).unwrap();
    for rank in 0..300_i64 {
        for sequence in 1..=2_i64 {
            let begin_ns = sequence * 1_000_000 + rank * 1000;
            let sql = "INSERT INTO event (rank, thread, kind, begin_ns, end_ns, comm, op, bytes, sequence) \
                       SELECT ?1, 0, 0, ?2, ?3, c.id, o.id, 0, ?4 FROM communicator c, operation o WHERE c.name = 'W0.0' AND o.name = 'MPI_Allreduce'";
            db.execute(sql, rusqlite::params![rank, begin_ns, sequence * 1_000_000 + 400_000, sequence]).unwrap();
        }
    }
    db.execute_batch("INSERT INTO clock SELECT rank, 0, 1000, 0, 2000, 2, 0 FROM process").unwrap();
    db.close().unwrap();
    let Some(mut browser) = opened(&folder, "many.db", "") else { return };
    let height = format!("document.querySelector('{LANES}').clientHeight");
    let folded = browser.eval(&height).as_i64().unwrap();
    let label = browser.eval(&format!("document.querySelector('{LANES}').getAttribute('aria-label')"));
    assert!(label.as_str().unwrap().starts_with("Timeline of 300 ranks with 600 calls: "), "{label}");
    focus(&mut browser);
    browser.press("ArrowDown", 0);
    assert_eq!(browser.eval(SAID), "ranks 3-5");
    browser.press("Enter", 0);
    assert_ne!(browser.eval(&height), folded);
    browser.press("ArrowDown", 0);
    assert_eq!(browser.eval(SAID), "rank 3");
    browser.press("n", 0);
    let said = browser.eval(SAID).as_str().unwrap().to_owned();
    assert!(said.contains("rank 299 was last, the others waited up to 299 µs; waited 296 µs for rank 299"), "{said}");
    browser.press("ArrowUp", 0);
    browser.press("Enter", 0);
    assert_eq!(browser.eval(&height), folded);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
