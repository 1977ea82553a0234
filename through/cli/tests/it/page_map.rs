//! The map of communicators, what is saved of pictures, and the summary on paper.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::common::{Builder, Did, Folder, MS, heat};
use crate::page::{by_sql, page};

/// What a button saves, as text.
pub fn saved(browser: &mut Browser, button: &str) -> String {
    let text = browser.eval(&format!(
        "new Promise((done) => {{ HTMLAnchorElement.prototype.click = () => {{}}; \
         URL.createObjectURL = (file) => {{ done(file.text()); return '#'; }}; \
         document.querySelector('{button}').click(); }})"
    ));
    text.as_str().expect("what is saved").to_owned()
}

/// Each row of the map by communicator and rank, in ns.
fn cells(browser: &mut Browser) -> BTreeMap<(String, i64), i64> {
    let text = saved(browser, "[data-csv-of=map]");
    let mut reader = csv::Reader::from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let row = |row: csv::StringRecord| {
        let name = row[0].trim_start_matches('\'').split(' ').next().unwrap().to_owned();
        ((name, row[2].parse().unwrap()), (row[3].parse::<f64>().unwrap() * 1e9).round() as i64)
    };
    reader.records().map(|record| row(record.unwrap())).filter(|(_, ns)| *ns > 0).collect()
}

fn in_profile(folder: &Folder, condition: &str) -> BTreeMap<(String, i64), i64> {
    let db = Connection::open(folder.path("a.db")).unwrap();
    let sql = format!(
        "SELECT comm, rank, CAST(round(sum(time_s) * 1e9) AS INTEGER) FROM profile \
         WHERE op NOT IN ('MPI_Init', 'MPI_Finalize') AND {condition} GROUP BY comm, rank"
    );
    let mut statement = db.prepare(&sql).unwrap();
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn the_map_has_the_time_of_each_rank_in_each_communicator() {
    let Some((folder, mut browser)) = page(heat, "open=b0.2") else { return };
    assert_eq!(cells(&mut browser), in_profile(&folder, "1"));
    browser.choose("#filters [name=class]", "collective");
    let collective = in_profile(&folder, "op IN ('MPI_Bcast', 'MPI_Allreduce', 'MPI_Gather')");
    assert_eq!(cells(&mut browser), collective);
    browser.write("#filters [name=rank]", "2-5");
    let few = collective.into_iter().filter(|((_, rank), _)| (2..=5).contains(rank)).collect();
    assert_eq!(cells(&mut browser), few);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// The table below the map, which is made when it is opened.
fn open(browser: &mut Browser) {
    browser.eval(
        "new Promise((done) => { const fold = document.querySelector('[data-fold=map]'); \
         fold.addEventListener('toggle', () => done(1)); fold.open = true; })",
    );
}

#[test]
fn communicators_are_named_by_what_they_are_to_the_ranks() {
    let Some((_folder, mut browser)) = page(heat, "") else { return };
    open(&mut browser);
    let mut roles = || {
        browser.eval(
            "[...document.querySelectorAll('[data-table=map] tbody tr')].map((row) => row.children[0].textContent + ': ' + row.children[1].textContent)",
        )
    };
    for role in ["W0.0: all ranks", "2 × \"row\": rows", "a0.1 \"grid\": all ranks"] {
        assert!(roles().as_array().unwrap().contains(&json!(role)), "{role}: {}", roles());
    }
}

/// Two families that nothing tells apart but their first members.
fn nameless(path: &std::path::Path) {
    let mut profile = Builder::new(path, 4);
    let comms = [
        ("s0.1", "W0.0", "0-3"),
        ("s0.2", "W0.0", "0-1"),
        ("s2.2", "W0.0", "2-3"),
        ("s0.3", "s0.1", "0,2"),
        ("s1.3", "s0.1", "1,3"),
    ];
    profile.comm("W0.0", None, None, 4, "0-3");
    for (name, parent, ranks) in comms {
        profile.comm(name, None, Some(parent), if ranks == "0-3" { 4 } else { 2 }, ranks);
    }
    for (rank, comms) in [["s0.2", "s0.3"], ["s0.2", "s1.3"], ["s2.2", "s0.3"], ["s2.2", "s1.3"]].iter().enumerate() {
        comms.iter().for_each(|comm| profile.cell(comm, "MPI_Barrier", 0, rank, Did(10, 0, 0, 100 * MS)));
    }
    profile.finish(|_| 1000 * MS);
}

#[test]
fn families_without_names_are_told_apart_by_their_first_members() {
    let Some((_folder, mut browser)) = page(nameless, "") else { return };
    let labels = browser.eval("[...document.querySelectorAll('svg text')].map((text) => text.lastChild.textContent)");
    for label in ["Barrier on 2 × Comm_split (s0.2…)", "Barrier on 2 × Comm_split (s0.3…)"] {
        assert!(labels.as_array().unwrap().contains(&json!(label)), "{label}: {labels}");
    }
    open(&mut browser);
    let about = browser
        .eval("[...document.querySelectorAll('[data-table=map] tbody tr')].map((row) => row.children[2].textContent)");
    let about: Vec<&str> = about.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for name in ["s0.2…", "s0.3…"] {
        let of =
            about.iter().find(|about| about.ends_with(&format!(" · {name}"))).unwrap_or_else(|| panic!("{about:?}"));
        assert!(of.matches(name).count() == 1 && !of.contains("Comm_split"), "{of}");
    }
}

fn fragment(browser: &mut Browser) -> String {
    browser.eval("location.hash").as_str().unwrap().to_owned()
}

#[test]
fn a_click_on_the_map_filters_all_pictures() {
    let Some((folder, mut browser)) = page(heat, "") else { return };
    let click = |browser: &mut Browser, at: (f64, f64)| {
        let (x, y) = browser.hover("[data-heat=map]", at);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            browser.call("Input.dispatchMouseEvent", event);
        }
    };
    let high = browser.eval("document.querySelector('[data-heat=map]').clientHeight").as_f64().unwrap();
    // The middle of a row: the heaviest first, each of 34 pixels, below 34 of ranks.
    let row = |at: f64| (34.0 + 34.0 * at + 15.0) / high;
    click(&mut browser, (0.5, row(0.0)));
    assert_eq!(fragment(&mut browser), "#comm=a0.1");
    let [calls] = by_sql(&folder, "SELECT sum(calls) FROM profile WHERE comm = 'a0.1'");
    assert_eq!(crate::page::number(&mut browser, "calls"), calls);
    // Once more: all again.
    click(&mut browser, (0.5, row(0.0)));
    assert_eq!(fragment(&mut browser), "");
    // A family by its name, its row of a rank by a cell.
    click(&mut browser, (0.1, row(1.0)));
    assert_eq!(fragment(&mut browser), "#family=b0.2");
    click(&mut browser, (0.35, row(1.0)));
    assert_eq!(fragment(&mut browser), "#comm=b0.2");
    click(&mut browser, (0.7, row(1.0)));
    assert_eq!(fragment(&mut browser), "#comm=b4.2");
    // The mark before a family opens it.
    click(&mut browser, (8.0 / 1200.0, row(1.0)));
    assert!(fragment(&mut browser).contains("open=b0.2"), "{}", fragment(&mut browser));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn the_map_is_read_by_keyboard() {
    let Some((_folder, mut browser)) = page(heat, "") else { return };
    browser.eval("document.querySelector('[data-heat=map]').focus()");
    let said = |browser: &mut Browser| {
        browser.eval("document.querySelector('[data-view=map] output').textContent").as_str().unwrap().to_owned()
    };
    for key in ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"] {
        browser.press(key, 0);
    }
    assert!(said(&mut browser).contains("b0.2 \"row\" · 4 ranks: 0-3 · rank 2 (node1): "), "{}", said(&mut browser));
    browser.press("Enter", 0);
    assert_eq!(fragment(&mut browser), "#comm=b0.2");
    browser.press("ArrowDown", 0);
    browser.press("ArrowDown", 0);
    browser.press("+", 0);
    assert!(fragment(&mut browser).contains("open=b0.2"), "{}", fragment(&mut browser));
}

#[test]
fn every_picture_is_saved_as_svg_and_its_data_as_csv() {
    let Some((_folder, mut browser)) = page(heat, "") else { return };
    let buttons = browser.eval("[...document.querySelectorAll('[data-svg]')].map((one) => one.dataset.svg)");
    let names: Vec<&str> = buttons.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(["map", "ledger", "calls", "ranks"].iter().all(|name| names.contains(name)), "{names:?}");
    for name in names {
        let text = saved(&mut browser, &format!("[data-svg=\"{name}\"]"));
        let fault = browser.eval(&format!(
            "(() => {{ const read = new DOMParser().parseFromString({}, 'image/svg+xml'); \
             return read.querySelector('parsererror') ? 'no XML' : read.documentElement.querySelectorAll('rect, path, polyline, image').length < 2 ? 'empty' : read.documentElement.outerHTML.includes('var(--') ? 'style of the page' : ''; }})()",
            json!(text)
        ));
        assert_eq!(fault, "", "{name}");
        let table = saved(&mut browser, &format!("[data-csv-of=\"{name}\"]"));
        assert!(table.lines().count() > 1, "{name}: {table}");
    }
    let map = saved(&mut browser, "[data-svg=map]");
    assert!(map.contains("a0.1 \"grid\"") && map.contains("rows: 4 consecutive ranks each"), "{map}");
}

#[test]
fn a_summary_is_one_sheet_of_paper() {
    let Some((_folder, mut browser)) = page(heat, "") else { return };
    let mut sheets = |summary: bool| {
        browser.eval(&format!("document.documentElement.dataset.print = '{}'", if summary { "summary" } else { "" }));
        let printed = browser
            .call("Page.printToPDF", json!({ "paperWidth": 8.27, "paperHeight": 11.69, "printBackground": true }));
        let pdf = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, printed["data"].as_str().unwrap());
        let pdf = String::from_utf8_lossy(&pdf.unwrap()).into_owned();
        pdf.matches("/Type /Page").count() - pdf.matches("/Type /Pages").count()
    };
    assert_eq!(sheets(true), 1);
    assert!(sheets(false) > 1);
}

/// Rows, columns and neighbours of a large job.
#[test]
fn ten_thousand_ranks_and_communicators_make_a_small_page() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 10_000);
    profile.comm("W0.0", None, None, 10_000, "0-9999");
    // A grid of 125 rows and 80 columns.
    for row in 0..125 {
        let name = format!("s{}.1", row * 80);
        profile.comm(&name, Some("row"), Some("W0.0"), 80, &format!("{}-{}", row * 80, row * 80 + 79));
        (0..80).for_each(|at| profile.cell(&name, "MPI_Allreduce", 1, row * 80 + at, Did(100, 100, 100, 3 * MS)));
    }
    for column in 0..80 {
        let ranks: Vec<usize> = (0..125).map(|at| column + at * 80).collect();
        let list: Vec<String> = ranks.iter().map(usize::to_string).collect();
        let name = format!("s{column}.2");
        profile.comm(&name, Some("column"), Some("W0.0"), 125, &list.join(","));
        ranks.iter().for_each(|rank| profile.cell(&name, "MPI_Bcast", 1, *rank, Did(10, 10, 10, 2 * MS)));
    }
    for first in 0..9_795 {
        let name = format!("s{first}.3");
        profile.comm(&name, None, Some("W0.0"), 2, &format!("{first}-{}", first + 1));
        profile.cell(&name, "MPI_Allreduce", 1, first, Did(1, 8, 8, MS));
    }
    profile.finish(|_| 1000 * MS);
    folder.through(&["report", "a.db", "-o", "page.html"]).ok();
    let length = std::fs::metadata(folder.path("page.html")).unwrap().len();
    assert!(length < 5 << 20, "{length}");
    let Some(mut browser) = Browser::start(&folder.path("chromium")) else { return };
    browser.open(&folder.path("page.html"), "open=s0.3", crate::page::LAPTOP);
    let label = browser.eval("document.querySelector('[data-heat=map]').getAttribute('aria-label')");
    assert!(label.as_str().unwrap().contains("Map of 10,001 communicators"), "{label}");
    // Only what is seen is drawn: the canvas stays small.
    let high = browser.eval("document.querySelector('[data-heat=map]').clientHeight").as_i64().unwrap();
    let rows = browser.eval("document.querySelector('.mapped > div').clientHeight").as_i64().unwrap();
    assert!(high < 700 && rows > 100_000, "{high} of {rows}");
    open(&mut browser);
    let roles = browser
        .eval("[...document.querySelectorAll('[data-table=map] [data-column=role]')].map((one) => one.textContent)");
    assert_eq!(roles, json!(["rows", "columns", "halo pairs", "all ranks"]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
