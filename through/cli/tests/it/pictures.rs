//! Pictures of the page, beside what SQL and the terminal say: time by size, who talks to whom, several runs; and the files that they are saved to.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use serde_json::json;

use crate::browser::Browser;
use crate::common::{Builder, Did, Folder, MS, heat};
use crate::page::{LAPTOP, by_sql, page};
use crate::report::many;

fn count(browser: &mut Browser, selector: &str) -> i64 {
    browser.eval(&format!("document.querySelectorAll('{selector}').length")).as_i64().unwrap()
}

/// Nanoseconds a call in the mean of each rank, sorted.
fn means(folder: &Folder, op: &str, least: i64) -> Vec<f64> {
    let db = Connection::open(folder.path("a.db")).unwrap();
    let sql =
        "SELECT sum(time_s) * 1e9 / sum(calls) FROM profile WHERE op = ? AND bucket_lo = ? GROUP BY rank ORDER BY 1";
    let mut rows = db.prepare(sql).unwrap();
    rows.query_map((op, least), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn boxes_of_time_by_size_are_over_the_means_of_ranks() {
    let Some((folder, mut browser)) = page(heat, "view=sizes") else { return };
    for (op, least) in [("MPI_Allreduce", 1024), ("MPI_Gather", 8192), ("MPI_Isend", 8192)] {
        let means = means(&folder, op, least);
        let median = (means[means.len() / 2] + means[(means.len() - 1) / 2]) / 2.0;
        // By size, of which this is the largest.
        let boxes = format!("[...document.querySelectorAll('[data-chart=sizetimes] g[data-op={op}]')]");
        let shown = browser.eval(&format!("Number({boxes}.at(-1).dataset.median)"));
        assert!((shown.as_f64().unwrap() - median).abs() < 1.0, "{op}: {shown} {median}");
    }
    // Calls that have no message have no place in it.
    assert_eq!(count(&mut browser, "[data-chart=sizetimes] [data-op=MPI_Waitall]"), 0);
    browser.click("[data-chart=sizetimes] [data-op=MPI_Isend] rect");
    assert_eq!(browser.eval("location.hash"), "#op=MPI_Isend");
    assert_eq!(count(&mut browser, "[data-chart=sizetimes] g[data-op]"), 1);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Where UCX tells it: eager up to 100 bytes, by rendezvous from 4096.
#[test]
fn eager_and_rendezvous_are_told_apart_by_size() {
    let Some((_folder, mut browser)) = page(|path| crate::layers::write(path, ""), "view=sizes") else { return };
    assert_eq!(browser.eval("document.querySelector('[data-rendezvous]').dataset.rendezvous"), "100 4096");
}

#[test]
fn arrows_lead_from_rank_to_rank_and_arcs_join_those_of_a_host() {
    let Some((folder, mut browser)) = page(heat, "view=graph") else { return };
    let [pairs] = by_sql::<1>(&folder, "SELECT count(DISTINCT src * 1000 + dst) FROM matrix WHERE src <> dst");
    assert_eq!(count(&mut browser, "[data-graph=graph] g[data-from]"), pairs);
    assert_eq!(count(&mut browser, "[data-graph=graph] g[data-from] > path:last-of-type"), pairs);
    assert_eq!(count(&mut browser, "[data-graph=graph] [data-host]"), 4);
    let [bytes] = by_sql::<1>(&folder, "SELECT max(bytes) FROM matrix");
    let label = browser.eval("document.querySelector('[data-graph=graph]').getAttribute('aria-label')");
    assert!(label.as_str().unwrap().contains(&format!("{} MiB", bytes / (1 << 20))), "{label}");
    // Of many ranks hosts are drawn.
    let folder = Folder::empty();
    many(&folder, 96, |a, b| (b == (a + 1) % 96).then_some(1000));
    folder.through(&["report", "many.db", "-o", "page.html"]).ok();
    browser.open(&folder.path("page.html"), "view=graph", LAPTOP);
    assert_eq!(count(&mut browser, "[data-graph=graph] circle"), 48);
    assert_eq!(count(&mut browser, "[data-graph=graph] g[data-from]"), 48);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_matrix_has_its_pattern_and_says_how_its_colours_are_scaled() {
    let Some((folder, mut browser)) = page(heat, "view=matrix") else { return };
    let told = folder.through(&["traffic", "a.db", "--patterns", "--format", "csv"]).csv();
    let pattern = browser.eval("document.querySelector('[data-view=matrix] [data-pattern]').dataset.pattern");
    let dims = format!("{} {}", told[0]["pattern"], told[0]["dims"]);
    assert!(pattern.as_str().unwrap().starts_with(&dims), "{pattern} {dims}");
    // Some pairs have twice as many bytes as others.
    let scale = "document.querySelector('[data-view=matrix] .scale').textContent";
    assert!(browser.eval(scale).as_str().unwrap().ends_with("linear: the largest is 2.0 times the smallest"));
    browser.choose("[data-view=matrix] [name=scale]", "log");
    assert!(browser.eval(scale).as_str().unwrap().contains("logarithmic"));
    // Labels stand in the middle of their cells.
    let places = browser.eval(
        "(() => { const map = document.querySelector('[data-heat=matrix]').getBoundingClientRect(); \
         return [...document.querySelectorAll('[data-view=matrix] .axis.top span')].map((one) => { const box = one.getBoundingClientRect(); \
         return ((box.left + box.right) / 2 - map.left) / map.width * 8 - Number(one.textContent); }); })()",
    );
    let places: Vec<f64> = places.as_array().unwrap().iter().map(|place| place.as_f64().unwrap()).collect();
    assert!(places.len() == 8 && places.iter().all(|place| (place - 0.5).abs() < 0.1), "{places:?}");
}

#[test]
fn a_program_of_collectives_is_told_why_it_has_no_matrix() {
    let collectives = |path: &Path| {
        let mut profile = Builder::new(path, 4);
        profile.comm("W0.0", None, None, 4, "0-3");
        for rank in 0..4 {
            profile.cell("W0.0", "MPI_Allreduce", 1, rank, Did(10, 5120, 5120, MS));
        }
        profile.finish(|_| 10 * MS);
    };
    let Some((_folder, mut browser)) = page(collectives, "view=matrix") else { return };
    let text = browser.eval("document.querySelector('[data-view=matrix]').checkVisibility() && document.querySelector('[data-view=matrix] .empty').textContent");
    assert!(text.as_str().unwrap().contains("40 calls of collectives"), "{text}");
    assert_eq!(count(&mut browser, "[data-view=matrix] canvas"), 0);
    assert_eq!(browser.eval("document.querySelector('[data-view=graph]').hidden"), true);
}

/// So many ranks, each of which works and then is in MPI, in ms; it began at this minute.
fn run(folder: &Folder, name: &str, ranks: usize, (work, mpi): (i64, i64), minute: u32) {
    let mut profile = Builder::new(&folder.path(name), ranks);
    profile.meta("start_time", &format!("2026-11-21T07:{minute:02}:00Z"));
    profile.meta("ranks", &ranks.to_string());
    profile.comm("W0.0", None, None, ranks as u32, &format!("0-{}", ranks - 1));
    for rank in 0..ranks {
        // Rank 0 works longest.
        let own = if rank == 0 { mpi } else { mpi + work / 4 };
        profile.cell("W0.0", "MPI_Allreduce", 1, rank, Did(10, 5120, 5120, own * MS));
        if rank > 0 {
            profile.edge("W0.0", "MPI_Isend", (rank as i64, 0), 1, 100 * ranks as i64);
        }
    }
    profile.finish(|_| (work + mpi) * MS);
}

fn scaled() -> Folder {
    let folder = Folder::empty();
    for (name, ranks, times, minute) in [
        ("a.db", 2, (1000, 100), 1),
        ("b.db", 4, (520, 150), 2),
        ("c.db", 8, (280, 220), 3),
        ("d.db", 4, (530, 140), 9),
    ] {
        run(&folder, name, ranks, times, minute);
    }
    folder.through(&["report", "a.db", "b.db", "c.db", "d.db", "-o", "page.html"]).ok();
    folder
}

#[test]
fn efficiencies_by_ranks_are_those_of_the_terminal() {
    let folder = scaled();
    let rows =
        folder.through(&["compare", "a.db", "b.db", "c.db", "d.db", "--table", "scaling", "--format", "csv"]).csv();
    assert_eq!(
        rows.iter().map(|row| (row["ranks"].as_str(), row["runs"].as_str())).collect::<Vec<_>>(),
        [("2", "1"), ("4", "2"), ("8", "1")]
    );
    // Of 4 ranks one works 520 ms and three 390 ms, of 670 ms.
    let near = |value: &str, expected: f64| (value.parse::<f64>().unwrap() - expected).abs() < 1e-6;
    assert!(near(&rows[1]["parallel_efficiency"], 1690.0 / 4.0 / 670.0), "{rows:?}");
    assert!(near(&rows[1]["computation_scaling"], 1750.0 / 1690.0), "{rows:?}");
    assert!(rows.iter().all(|row| row["scaling"] == "strong"));
    let Some(mut browser) = Browser::start(&folder.path("chromium")) else { return };
    browser.open(&folder.path("page.html"), "view=scaling", LAPTOP);
    for row in &rows {
        for factor in [
            "global_efficiency",
            "parallel_efficiency",
            "load_balance",
            "communication_efficiency",
            "computation_scaling",
        ] {
            let cell = format!("[data-factor={factor}][data-ranks=\"{}\"]", row["ranks"]);
            let shown = browser.eval(&format!("document.querySelector('{cell}').dataset.value"));
            assert!(near(shown.as_str().unwrap(), row[factor].parse().unwrap()), "{factor}: {shown} {row:?}");
        }
    }
    // The ideal line halves with each doubling; with weak scaling it is level.
    let ideal = "[...document.querySelector('[data-chart=runtimes] polyline[stroke-dasharray]').points].map((point) => Math.round(point.y))";
    let strong = browser.eval(ideal);
    assert!(strong[0].as_i64() < strong[1].as_i64() && strong[1].as_i64() < strong[2].as_i64(), "{strong}");
    browser.choose("[data-view=scaling] [name=scaling]", "weak");
    let weak = browser.eval(ideal);
    assert_eq!((&weak[0], &weak[1]), (&weak[1], &weak[2]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn runs_of_one_size_have_a_history() {
    let folder = scaled();
    let Some(mut browser) = Browser::start(&folder.path("chromium")) else { return };
    browser.open(&folder.path("page.html"), "view=history", LAPTOP);
    let points = browser.eval("[...document.querySelectorAll('[data-chart=history] [data-series=\"run time\"]')].map((one) => Number(one.dataset.y))");
    assert_eq!(points, json!([0.67, 0.67]));
    let rows = browser.eval(
        "[...document.querySelectorAll('[data-table=history] [data-column=path]')].map((one) => one.textContent)",
    );
    assert_eq!(rows, json!(["b.db", "d.db"]));
}

/// Presses all buttons of these views: by name the text that each saves.
fn files(browser: &mut Browser, views: &[&str], button: &str) -> BTreeMap<String, String> {
    let saved = browser.eval(&format!(
        "(async () => {{ HTMLAnchorElement.prototype.click = () => {{}}; const texts = {{}}; \
         for (const view of {}) for (const button of document.querySelectorAll(`[data-view=${{view}}]:not([hidden]) [{button}]`)) {{ \
           let file; URL.createObjectURL = (blob) => {{ file = blob; return '#'; }}; button.click(); texts[button.getAttribute('{button}')] = await file.text(); }} \
         return texts; }})()",
        json!(views)
    ));
    serde_json::from_value(saved).unwrap()
}

#[test]
fn every_picture_is_saved_as_svg_and_as_csv() {
    let views = ["matrix", "graph", "devices", "sizes", "scaling", "history", "runs", "diff"];
    let several = scaled();
    let layers = Folder::empty();
    crate::layers::write(&layers.path("a.db"), "");
    layers.through(&["report", "a.db", "-o", "page.html"]).ok();
    let dense = Folder::empty();
    many(&dense, 100, |a, b| Some(1 + ((a * 100 + b) % 977) as i64));
    dense.through(&["report", "many.db", "-o", "page.html"]).ok();
    let expected: [(&Folder, &[&str]); 3] = [
        (
            &several,
            &[
                "matrix",
                "graph",
                "sizetimes",
                "efficiencies",
                "runtimes",
                "familytimes",
                "history",
                "configurations",
                "boxes",
                "scatter",
                "changes",
                "diff",
                "runsizes",
            ],
        ),
        (&layers, &["matrix", "graph", "devices", "sizetimes"]),
        (&dense, &["matrix", "graph", "sizetimes"]),
    ];
    let Some(mut browser) = Browser::start(&several.path("chromium")) else { return };
    for (folder, names) in expected {
        browser.open(&folder.path("page.html"), "", LAPTOP);
        let pictures = files(&mut browser, &views, "data-svg");
        let tables = files(&mut browser, &views, "data-csv-of");
        for name in names {
            let picture = &pictures[*name];
            assert!(
                picture.starts_with("<svg") && !picture.contains("var(--") && !picture.contains("NaN"),
                "{name}: {picture}"
            );
            let is_whole = format!(
                "!new DOMParser().parseFromString({}, 'image/svg+xml').querySelector('parsererror')",
                json!(picture)
            );
            assert_eq!(browser.eval(&is_whole), true, "{name}");
            assert!(tables[*name].lines().count() > 1, "{name}: {}", tables[*name]);
        }
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
    // A matrix of many ranks is one picture of pixels in the file.
    let matrix = files(&mut browser, &["matrix"], "data-svg").remove("matrix").unwrap();
    assert_eq!(matrix.matches("data:image/png").count(), 1);
}
