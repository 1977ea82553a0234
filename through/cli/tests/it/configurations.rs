//! Many runs with different settings: what `through compare` and the page tell of their configurations.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::common::Folder;
use crate::compare::{Change, stencil};
use crate::report::{data, page};

const ALGORITHM: &str = "OMPI_MCA_coll_tuned_alltoallv_algorithm";

/// Five runs of each of two algorithms, of which the second one takes longer on the rows, each run of it more so.
fn study(folder: &Folder) -> Vec<String> {
    let names = (1..=5).flat_map(|run| [1, 2].map(|algorithm| (run, algorithm)));
    names
        .map(|(run, algorithm)| {
            let name = format!("{algorithm}-{run}.db");
            let delay_ms = if algorithm == 2 { 5 + run } else { 0 };
            let path = folder.path(&name);
            stencil(&path, (2, 4), 10 * algorithm + run, Change { delay_ms, ..Change::default() });
            let db = Connection::open(path).unwrap();
            let sql = "INSERT INTO metadata VALUES (?1, ?2), ('UCX_TLS', 'tcp')";
            db.execute(sql, [ALGORITHM, &algorithm.to_string()]).unwrap();
            name
        })
        .collect()
}

fn compared(folder: &Folder, words: &[&str]) -> (Vec<String>, crate::common::Answer) {
    let names = study(folder);
    let runs = names.iter().map(String::as_str);
    let all: Vec<&str> = ["compare"].into_iter().chain(runs).chain(words.iter().copied()).collect();
    let answer = folder.through(&all);
    (names, answer)
}

fn of(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap()
}

/// What is known of a run from its profile.
fn by_sql(folder: &Folder, run: &str, sql: &str) -> f64 {
    Connection::open(folder.path(run)).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

const TITLES: [&str; 2] = ["coll_tuned_alltoallv_algorithm=1", "coll_tuned_alltoallv_algorithm=2"];

#[test]
fn configurations_are_named_and_measured() {
    let folder = Folder::empty();
    let (names, answer) = compared(&folder, &["--format", "json"]);
    let document = answer.json();
    let found = document["configurations"].as_array().unwrap();
    assert_eq!(found.iter().map(|one| one["configuration"].as_str().unwrap()).collect::<Vec<_>>(), TITLES);
    for (at, one) in found.iter().enumerate() {
        let own = names.iter().filter(|name| name.starts_with(&format!("{}-", at + 1)));
        let mean = |sql: &str| own.clone().map(|name| by_sql(&folder, name, sql)).sum::<f64>() / 5.0;
        assert_eq!(one["runs"], 5);
        assert!((of(one, "mean_s") - mean("SELECT max(wall_s) FROM ranks")).abs() < 1e-8, "{one}");
        assert!((of(one, "mean_mpi_s") - mean("SELECT avg(mpi_s) FROM ranks")).abs() < 1e-8, "{one}");
    }
    let one = folder.through(
        &[&["compare"], &names.iter().map(String::as_str).collect::<Vec<_>>()[..], &["--by", "UCX_TLS"]].concat(),
    );
    assert!(one.ok().contains("10 runs of 1 configuration,"));
    let by_name = folder.through(&["compare", "1-1.db", "2-1.db", "1-2.db", "--by", "coll_tuned_alltoallv_algorithm"]);
    assert!(by_name.ok().contains("3 runs of 2 configurations,"));
    let differ = folder.through(&["compare", "1-1.db", "2-1.db"]).ok();
    assert!(differ.contains("\ndiffers    coll_tuned_alltoallv_algorithm: 1 in A, 2 in B\n"), "{differ}");
}

#[test]
fn points_and_boxes_are_told_to_programs() {
    let folder = Folder::empty();
    let (names, answer) = compared(&folder, &["--format", "json"]);
    let document = answer.json();
    let points = document["points"].as_array().unwrap();
    assert_eq!(points.len(), 10 * document["correlations"].as_array().unwrap().len());
    let mut rows: BTreeMap<&str, f64> = BTreeMap::new();
    for point in points.iter().filter(|point| point["op"] == "MPI_Alltoallv" && point["comms"] == 1) {
        let (comm, run) = (point["comm"].as_str().unwrap(), point["run"].as_str().unwrap());
        let name = names.iter().find(|name| run.ends_with(name.as_str())).unwrap();
        let sql = format!("SELECT max(time_s) FROM profile WHERE op = 'MPI_Alltoallv' AND comm = '{comm}'");
        assert!((of(point, "time_s") - by_sql(&folder, name, &sql)).abs() < 1e-8, "{point}");
        assert!((of(point, "run_time_s") - by_sql(&folder, name, "SELECT max(wall_s) FROM ranks")).abs() < 1e-8);
        assert_eq!(point["configuration"], TITLES[usize::from(name.starts_with('2'))]);
        let most = rows.entry(name).or_default();
        *most = most.max(of(point, "time_s"));
    }
    assert_eq!(rows.len(), 10);
    // The box of the slow algorithm, from the longest of its rows in each run.
    let boxes = document["boxes"].as_array().unwrap();
    let slow = |one: &&Value| one["op"] == "MPI_Alltoallv" && one["size"] == 4 && one["configuration"] == TITLES[1];
    let slow = boxes.iter().find(slow).unwrap();
    let mut times: Vec<f64> = rows.iter().filter(|(name, _)| name.starts_with('2')).map(|(_, time)| *time).collect();
    times.sort_by(f64::total_cmp);
    let wanted = [("least_s", 0), ("quarter_s", 1), ("median_s", 2), ("three_quarters_s", 3), ("most_s", 4)];
    for (key, at) in wanted {
        assert!((of(slow, key) - times[at]).abs() < 1e-8, "{key}: {slow} {times:?}");
    }
    for (part, rows) in [("points", points.len()), ("boxes", boxes.len()), ("configurations", 2), ("runs", 10)] {
        let csv = compared(&Folder::empty(), &["--table", part, "--format", "csv"]).1.csv();
        assert_eq!(csv.len(), rows, "{part}");
    }
    assert_eq!(compared(&Folder::empty(), &["--table", "pictures"]).1.status, 2);
}

#[test]
fn the_page_shows_configurations() {
    let folder = Folder::empty();
    let names = study(&folder);
    let runs: Vec<&str> = names.iter().map(String::as_str).collect();
    let told = data(&page(&folder, &runs));
    let titles: Vec<&Value> =
        told["runs"]["configurations"].as_array().unwrap().iter().map(|one| &one["title"]).collect();
    assert_eq!(titles, TITLES);
    // Two runs are only compared with each other.
    assert!(data(&page(&folder, &runs[..2]))["runs"].is_null());
    page(&folder, &runs);
    let Some(mut browser) = Browser::start(&folder.path("chromium")) else { return };
    browser.open(&folder.path("page.html"), "view=runs", (1280, 900));
    let count = |browser: &mut Browser, what: &str| {
        browser.eval(&format!("document.querySelectorAll('#runs {what}').length")).as_u64().unwrap()
    };
    // By default the heaviest operation, which is the one on rows of four ranks.
    assert_eq!(count(&mut browser, "[data-chart=boxes] [data-box^=\"MPI_Alltoallv, 4 ranks\"]"), 2);
    assert_eq!(count(&mut browser, "[data-chart=scatter] circle"), 10);
    assert_eq!(count(&mut browser, &format!("[data-chart=scatter] circle[data-series=\"{}\"]", TITLES[0])), 5);
    let cells = "[...document.querySelectorAll('#runs [data-table=points] [data-column=time_s]')].map((cell) => cell.textContent)";
    let before = browser.eval(cells);
    browser.choose("#runs select[name=entry]", "3");
    assert_ne!(browser.eval(cells), before);
    browser.choose("#runs select[name=boxes]", "MPI_Barrier");
    assert_eq!(count(&mut browser, "[data-box^=\"MPI_Barrier, 8 ranks\"]"), 2);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Each communicator as the rank has it that spends most.
#[test]
fn communicators_are_stacked_by_their_longest_rank() {
    let folder = Folder::empty();
    stencil(&folder.path("a.db"), (2, 4), 1, Change::default());
    folder.through(&["report", "a.db", "-o", "page.html"]).ok();
    let Some(mut browser) = Browser::start(&folder.path("chromium")) else { return };
    browser.open(&folder.path("page.html"), "by=comm&of=longest&view=communicators", (1280, 900));
    let sql = "SELECT max(time_s) FROM (SELECT sum(time_s) AS time_s FROM profile WHERE comm = 'a0.1' GROUP BY rank)";
    let row = "[...document.querySelectorAll('[data-table=communicators] tbody tr')].find((row) => row.textContent.startsWith('a0.1'))";
    let shown = browser.eval(&format!("Number({row}.querySelector('[data-column=rank_max_s]').dataset.value)"));
    assert!((shown.as_f64().unwrap() - by_sql(&folder, "a.db", sql)).abs() < 1e-8);
    let rank = "[...document.querySelector('#communicators figure svg').querySelectorAll('text.soft')].every((text) => /, rank \\d+$/.test(text.textContent))";
    assert_eq!(browser.eval(rank), json!(true));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
