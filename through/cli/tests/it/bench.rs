//! `through bench`: lists, comparisons and models of files of measurements.

use insight::query::bench::Measurements;
use insight::views::bench::{Question, VIEWS};
use through_core::document::Format;
use through_core::render::render;
use through_core::text::terminal::Terminal;

use crate::browser::Browser;
use crate::common::Folder;
use crate::measured::{Bench, Found, Pattern, around, exchange, machine, message, message_s, rail, striped};

fn folder() -> Folder {
    let folder = Folder::empty();
    machine(&folder.path("machine.db"));
    folder
}

#[test]
fn a_file_is_listed_by_pattern_library_and_size() {
    let folder = folder();
    let table = folder.through(&["bench", "machine.db"]).ok();
    for text in [
        "measured",
        "Open MPI v4.1.4",
        "8 on 2 hosts, grouped by node",
        "clocks differ by at most 150 ns",
        "rail uni, 2 × 4 ranks, across hosts",
    ] {
        assert!(table.contains(text), "{text}: {table}");
    }
    // Bare, it is the newest in the directory.
    assert_eq!(folder.through(&["bench"]).ok(), table.replace("./", ""));
    let rows = folder.through(&["bench", "machine.db", "--format", "csv", "-k", "2"]).csv();
    assert_eq!(rows.len(), 1);
    let number = |name: &str| rows[0][name].parse::<f64>().unwrap();
    let median_s = 2.0 * 1_048_576.0 / 5e9;
    assert!(
        (number("median_s") - median_s).abs() < 1e-9 && number("ci_lo_s") < median_s && number("ci_hi_s") > median_s
    );
    assert!((number("bandwidth") / 5e9 - 1.0).abs() < 1e-5, "{}", number("bandwidth"));
    assert_eq!((number("reps"), number("launches"), number("wrong")), (11.0, 1.0, 0.0));
    assert_eq!((rows[0]["stopped"].as_str(), rows[0]["crosses_hosts"].as_str()), ("interval", "true"));
}

#[test]
fn filters_and_orders_are_those_that_are_named() {
    let folder = folder();
    let rows = |words: &[&str]| folder.through(&[&["bench", "machine.db", "--format", "csv"], words].concat()).csv();
    assert_eq!(rows(&["--family", "dense"]).len(), 2);
    assert_eq!(rows(&["--direction", "Uni", "--bytes", "1M:"]).len(), 6);
    assert_eq!(rows(&["--library", "mpi_alltoall,none"]).len(), 2);
    let fastest = rows(&["--sort", "bandwidth"]);
    assert!(fastest.windows(2).all(|pair| {
        let bandwidth = |at: usize| pair[at]["bandwidth"].parse::<f64>().unwrap();
        bandwidth(0) >= bandwidth(1)
    }));
    assert_eq!(rows(&["--top", "3"]).len(), 3);
    let none = folder.through(&["bench", "machine.db", "--family", "ring"]);
    assert_eq!((none.status, none.out.as_str()), (1, ""));
    assert!(none.err.contains("nothing matches: family ring"), "{}", none.err);
    let json = folder.through(&["bench", "machine.db", "--format", "json", "--family", "dense"]).json();
    assert_eq!(
        (json["measured"].as_array().unwrap().len(), json["meta"]["mpi"].as_str()),
        (2, Some("Open MPI v4.1.4"))
    );
    assert!(json["measurements"].is_string() && json["profile"].is_null() && json["overview"].is_null());
}

#[test]
fn steps_are_listed_below_their_whole() {
    let folder = Folder::empty();
    let mut bench = Bench::new(&folder.path("a.db"));
    bench.launch("one", false);
    striped(&mut bench);
    let rows = folder.through(&["bench", "a.db", "--format", "csv"]).csv();
    let number = |row: usize, name: &str| rows[row][name].parse::<f64>().unwrap();
    assert_eq!((0..4).map(|row| number(row, "step")).collect::<Vec<_>>(), [0.0, 1.0, 2.0, 3.0]);
    assert!((number(0, "steps_s") - 500e-6).abs() < 1e-9 && (number(0, "gained_s") - 100e-6).abs() < 1e-9);
    assert!(rows[1..].iter().all(|row| row["gained_s"].is_empty()));
    let table = folder.through(&["bench", "a.db"]).ok();
    let header = table.lines().find(|line| line.contains("median")).unwrap();
    assert!(header.contains("step") && header.contains("gained"), "{table}");
    let cmp = folder.through(&["bench", "cmp", "a.db", "a.db", "--format", "json"]).json();
    assert_eq!(cmp["compared"].as_array().unwrap().len(), 4);
    // One step is missing: what the others take says nothing.
    bench.set(
        "DELETE FROM bench_sample WHERE result IN (SELECT id FROM bench_result WHERE step = 2); DELETE FROM bench_result WHERE step = 2",
    );
    let rows = folder.through(&["bench", "a.db", "--format", "csv"]).csv();
    assert!(rows[0]["gained_s"].is_empty(), "{rows:?}");
    assert!(!folder.through(&["bench", "a.db"]).ok().contains("gained"));
    // A step is no message, and no bandwidth of the pattern.
    let model = folder.through(&["bench", "model", "a.db", "--format", "json"]).json();
    assert_eq!(model["fits"].as_array().unwrap().iter().filter(|fit| fit["standing"] == "best").count(), 1);
}

#[test]
fn files_from_before_steps_were_measured_are_read() {
    let folder = folder();
    let rows = folder.through(&["bench", "machine.db", "--format", "csv"]).ok();
    Bench::of(&folder.path("machine.db")).set("ALTER TABLE bench_result DROP COLUMN step");
    assert_eq!(folder.through(&["bench", "machine.db", "--format", "csv"]).ok(), rows);
}

#[test]
fn launches_are_a_factor() {
    let folder = Folder::empty();
    let mut bench = Bench::new(&folder.path("a.db"));
    for time_s in [1e-3, 2e-3, 3e-3] {
        bench.launch("one", false);
        bench.result(message(8, false), &around(time_s, 1.0), Found::default());
    }
    let rows = folder.through(&["bench", "a.db", "--format", "csv"]).csv();
    let number = |name: &str| rows[0][name].parse::<f64>().unwrap();
    assert_eq!((rows.len(), number("launches"), number("reps")), (1, 3.0, 33.0));
    assert!((number("median_s") - 2e-3).abs() < 1e-9);
    assert!(number("ci_lo_s") < 1.01e-3 && number("ci_hi_s") > 2.99e-3, "{rows:?}");
    // Launches of several files are launches as well.
    let mut more = Bench::new(&folder.path("b.db"));
    more.launch("two", false);
    more.result(message(8, false), &around(9e-3, 1.0), Found::default());
    let answer = folder.through(&["bench", "a.db", "b.db"]).ok();
    assert!(answer.contains("launches differ in mpi") && answer.contains("4 launches"), "{answer}");
}

#[test]
fn what_is_not_to_be_believed_is_said_aloud() {
    let folder = Folder::empty();
    let mut bench = Bench::new(&folder.path("a.db"));
    bench.launch("one", true);
    bench.result(message(8, false), &around(1e-6, 1.0), Found { wrong: 3, ..Found::default() });
    bench.result(message(16, false), &around(1e-6, 1.0), Found { flag: Some("skew"), ..Found::default() });
    bench.set("UPDATE bench_run SET state = 'interrupted'; UPDATE bench_result SET stopped = 'time' WHERE bytes = 16");
    let answer = folder.through(&["bench", "a.db"]).ok();
    for text in [
        "more ranks than cores",
        "wrong data arrived in 1 measurement",
        "flagged: skew",
        "was interrupted",
        "3 errors",
        "by time",
    ] {
        assert!(answer.contains(text), "{text}: {answer}");
    }
}

#[test]
fn intervals_that_do_not_overlap_are_different() {
    let folder = Folder::empty();
    let sides: [&[(i64, f64, usize, Found)]; 2] = [
        &[
            (1, 1e-3, 11, Found::default()),
            (2, 1e-3, 11, Found::default()),
            (3, 1e-3, 11, Found::default()),
            (4, 1e-3, 11, Found::default()),
            (5, 1e-3, 11, Found::default()),
            (6, 1e-3, 5, Found::default()),
        ],
        &[
            (1, 1.2e-3, 11, Found::default()),
            (2, 0.8e-3, 11, Found::default()),
            (3, 1.001e-3, 11, Found::default()),
            (4, 2e-3, 11, Found { wrong: 1, ..Found::default() }),
            (6, 2e-3, 5, Found::default()),
        ],
    ];
    for (name, (mpi, side)) in ["a.db", "b.db"].iter().zip([("MPI 1", sides[0]), ("MPI 2", sides[1])]) {
        let mut bench = Bench::new(&folder.path(name));
        bench.launch(mpi, false);
        for (bytes, time_s, samples, found) in side {
            bench.result(message(*bytes, false), &around(*time_s, 10.0)[..*samples], *found);
        }
    }
    let json = folder.through(&["bench", "cmp", "a.db", "b.db", "--format", "json"]).json();
    let verdict = |bytes: u64| {
        let row = json["compared"].as_array().unwrap().iter().find(|row| row["bytes"] == bytes).unwrap();
        (row["verdict"].as_str().unwrap().to_owned(), row["reason"].as_str().unwrap_or_default().to_owned())
    };
    let said = |verdict: &str, reason: &str| (verdict.to_owned(), reason.to_owned());
    assert_eq!(verdict(1), said("slower", ""));
    assert_eq!(verdict(2), said("faster", ""));
    assert_eq!(verdict(3), said("no difference shown", ""));
    assert_eq!(verdict(4), said("not comparable", "wrong data arrived"));
    assert_eq!(verdict(5), said("not comparable", "only in A"));
    assert_eq!(verdict(6), said("not comparable", "fewer than 6 samples"));
    assert_eq!((json["slower"].as_i64(), json["not_comparable"].as_i64()), (Some(1), Some(3)));
    let slower = &json["compared"][0];
    let bound = |name: &str| slower[name].as_f64().unwrap();
    assert!(
        bound("ratio_lo") < bound("ratio") && bound("ratio") < bound("ratio_hi") && (bound("ratio") - 1.2).abs() < 1e-6
    );
    assert_eq!(json["environment"][0]["key"], "mpi");
    let table = folder.through(&["bench", "cmp", "a.db", "b.db"]).ok();
    assert!(table.contains("environments differ in mpi"), "{table}");
    let one = folder.through(&["bench", "cmp", "a.db", "b.db", "--fail-above", "10%"]);
    assert!(one.status == 2 && one.err.contains("needs two launches"), "{one:?}");
    for (name, mpi, side) in [("a2.db", "MPI 1", sides[0]), ("b2.db", "MPI 2", sides[1])] {
        let mut bench = Bench::new(&folder.path(name));
        for _ in 0..2 {
            bench.launch(mpi, false);
            // Not those of five samples, which are ten together.
            for (bytes, time_s, samples, found) in side.iter().filter(|(_, _, samples, _)| *samples == 11) {
                bench.result(message(*bytes, false), &around(*time_s, 10.0)[..*samples], *found);
            }
        }
    }
    // 20 % is above 10 % and not above 25 %.
    let above = folder.through(&["bench", "cmp", "a2.db", "b2.db", "--fail-above", "10%"]);
    assert!(above.status == 1 && above.err.contains("rose by 200 µs, more than 100 µs"), "{above:?}");
    assert_eq!(folder.through(&["bench", "cmp", "a2.db", "b2.db", "--fail-above", "25%"]).status, 0);
    let same = folder.through(&["bench", "cmp", "a.db", "a.db", "--format", "json"]).json();
    assert_eq!(
        (same["slower"].as_i64(), same["faster"].as_i64(), same["environment"][0].is_null()),
        (Some(0), Some(0), true)
    );
}

#[test]
fn the_map_from_ranks_to_nics_is_found() {
    let folder = folder();
    let words = ["bench", "model", "machine.db", "-k", "1,2,3,4", "--bytes", "1M", "--format", "json"];
    let json = folder.through(&words).json();
    let fits: Vec<_> = json["fits"].as_array().unwrap().iter().filter(|fit| fit["g"] == 4).collect();
    assert_eq!(
        (fits[0]["model"].as_str(), fits[0]["parameter"].as_i64(), fits[0]["standing"].as_str()),
        (Some("packed"), Some(2), Some("best"))
    );
    assert!((fits[0]["nic_bandwidth"].as_f64().unwrap() / 5e9 - 1.0).abs() < 0.001 && fits[0]["k"] == "1,2,3,4");
    let table = folder.through(&["bench", "model", "machine.db", "--nics", "0,0,1,1"]).ok();
    assert!(table.contains("packed 2") && table.contains("map 0,0,1,1"), "{table}");
    let wrong = folder.through(&["bench", "model", "machine.db", "--nics", "0,1"]);
    assert!(wrong.status == 2 && wrong.err.contains("no group that was measured has so many"), "{wrong:?}");
}

#[test]
fn files_of_the_other_kind_are_told_apart() {
    let folder = Folder::with_sample();
    let newest = folder.through(&[]).ok();
    machine(&folder.path("machine.db"));
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    std::fs::File::options().append(true).open(folder.path("machine.db")).unwrap().set_modified(later).unwrap();
    // Measurements are never taken for the newest profile, nor a profile for them.
    assert_eq!(folder.through(&[]).ok(), newest);
    assert!(folder.through(&["bench"]).ok().contains("machine.db"));
    for words in [
        &["machine.db"][..],
        &["advise", "machine.db"],
        &["compare", "machine.db", "sample.db"],
        &["sql", "SELECT 1", "machine.db"],
        &["report", "machine.db", "sample.db", "-o", "x.html"],
    ] {
        let answer = folder.through(words);
        assert!(
            answer.status == 2 && answer.err.contains("is a file of measurements; see `through bench`"),
            "{answer:?}"
        );
    }
    let profile = folder.through(&["bench", "sample.db"]);
    assert!(profile.status == 2 && profile.err.contains("is a profile of a program"), "{profile:?}");
    let missing = folder.through(&["bench", "none.db"]);
    assert!(
        missing.status == 2
            && missing.err.contains("none.db: there is no such file: name a file that groupbench wrote")
    );
    std::fs::write(folder.path("text.db"), "no database").unwrap();
    assert!(folder.through(&["bench", "text.db"]).err.contains("is not a file of measurements"));
    let empty = Folder::empty().through(&["bench"]);
    assert!(empty.status == 2 && empty.err.contains("there is no file of measurements"), "{empty:?}");
}

#[test]
fn files_of_another_version_and_damaged_ones_are_refused() {
    let folder = folder();
    let bench = Bench::new(&folder.path("other.db"));
    bench.set("PRAGMA user_version = 99");
    let other = folder.through(&["bench", "other.db"]);
    assert!(other.status == 2 && other.err.contains("version 99 of measurements, not 1"), "{other:?}");
    let bench = Bench::new(&folder.path("torn.db"));
    bench.set("DROP TABLE bench_sample");
    let torn = folder.through(&["bench", "torn.db"]);
    assert!(torn.status == 2 && torn.err.contains("is damaged"), "{torn:?}");
    // Whatever numbers say, nothing panics.
    let mut bench = Bench::new(&folder.path("odd.db"));
    bench.launch("one", false);
    bench.result(message(0, false), &[0.0; 6], Found::default());
    bench.result(rail(2, -5), &[-1.0, f64::INFINITY, 1.0], Found::default());
    bench.result(exchange(0, 8, true), &[1e300; 8], Found::default());
    bench.set("UPDATE bench_result SET g = -4, wrong = -1 WHERE family = 'dense'; UPDATE bench_result SET total_bytes = 9223372036854775807");
    for words in [&["bench", "odd.db"][..], &["bench", "model", "odd.db"], &["bench", "cmp", "odd.db", "machine.db"]] {
        let answer = folder.through(words);
        assert!(answer.status < 2, "{answer:?}");
    }
    let none = Bench::new(&folder.path("none.db"));
    none.set("SELECT 1");
    let none = folder.through(&["bench", "none.db"]);
    assert!(none.status == 1 && none.err.contains("has no measurements yet"), "{none:?}");
}

#[test]
fn every_view_of_measurements_speaks_every_format_that_it_names() {
    let folder = folder();
    let terminal = Terminal { columns: 80, rows: None, is_coloured: false };
    for view in VIEWS {
        assert!(!view.help.is_empty() && !view.meaning.is_empty() && !view.empty.is_empty());
        for format in view.written_as() {
            let measured = Measurements::open(&[folder.path("machine.db")]).unwrap();
            let document = view.ask(&Question { format, ..Question::new(measured) }).unwrap();
            for table in &document.tables {
                let each = table.rows.each(&mut |row| {
                    for (column, heading) in table.headings.iter().enumerate() {
                        let value = row.value(column);
                        assert!(
                            heading.name.is_none() || heading.unit.holds(&value),
                            "{:?} is {value:?}",
                            heading.name
                        );
                    }
                    Ok(())
                });
                each.unwrap();
            }
            let mut out = Vec::new();
            render(&document, format, &terminal, &mut out).unwrap();
            if format == Format::Parquet {
                assert!(out.starts_with(b"PAR1"));
                continue;
            }
            let text = String::from_utf8(out).unwrap();
            let names: Vec<&str> = (view.parts[0].headings)().iter().filter_map(|heading| heading.name).collect();
            match format {
                Format::Csv => assert_eq!(text.lines().next().unwrap(), names.join(",")),
                Format::Spreadsheet => {
                    assert_eq!(text.lines().next().unwrap(), format!("\u{feff}{}", names.join(",")));
                }
                Format::Json => {
                    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
                    assert!(view.parts.iter().all(|part| json[part.name].is_array()));
                }
                _ => assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}"),
            }
        }
    }
}

#[test]
fn the_page_draws_measurements_and_their_model() {
    let folder = folder();
    crate::common::heat(&folder.path("heat.db"));
    assert_eq!(folder.through(&["report", "heat.db", "--bench", "machine.db", "-o", "page.html"]).ok(), "");
    let Some(mut browser) = Browser::start(&folder.path("chromium")) else { return };
    browser.open(&folder.path("page.html"), "view=bench", (1280, 900));
    let count = |browser: &mut Browser, selector: &str| {
        browser.eval(&format!("document.querySelectorAll('[data-view=bench] {selector}').length")).as_i64().unwrap()
    };
    // Four values of k, each with its interval, and the line of the model.
    let usual = browser.eval("document.querySelector('[data-view=bench] select[name=pattern]').value");
    browser.choose("[data-view=bench] select[name=pattern]", "rail uni, 2 × 4 ranks, across hosts");
    assert!(usual.as_str().unwrap().contains("2 × 1"), "the pattern with most measurements comes first: {usual}");
    assert_eq!(count(&mut browser, "[data-chart=model] circle"), 4);
    assert_eq!(count(&mut browser, "[data-chart=model] [data-interval]"), 4);
    assert_eq!(count(&mut browser, "[data-chart=model] polyline[stroke-dasharray]"), 1);
    let model = browser.eval("document.querySelector('[data-view=bench] [data-model]').textContent");
    assert!(model.as_str().unwrap().contains("packed 2"), "{model}");
    // The same pattern is beside the program's own calls.
    let machine = "document.querySelectorAll('[data-chart=sizetimes] [data-machine]').length";
    assert_eq!(browser.eval(machine), 1);
    let bandwidths =
        browser.eval("[...document.querySelectorAll('[data-chart=model] circle')].map((one) => Number(one.dataset.y))");
    let told: Vec<f64> = bandwidths.as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect();
    assert!(
        told.iter().zip([5e9, 5e9, 7.5e9, 10e9]).all(|(told, truth)| (told / truth - 1.0).abs() < 0.001),
        "{told:?}"
    );
    // All measurements are in the table, as in the list.
    let rows = folder.through(&["bench", "machine.db", "--format", "csv"]).csv().len();
    let csv = browser.eval("document.querySelector('[data-csv=bench]').textContent");
    assert_eq!(csv.as_str(), Some(format!("CSV ({rows} rows)").as_str()));
    assert_eq!(browser.complaints(), Vec::<String>::new());
    // Without measurements there is no such view.
    folder.through(&["report", "heat.db", "-o", "page.html"]).ok();
    browser.open(&folder.path("page.html"), "", (1280, 900));
    assert_eq!(browser.eval("document.querySelector('[data-view=bench]').hidden"), true);
}

#[test]
fn the_page_draws_steps_groups_and_an_all_to_all_beside_the_dense_pattern() {
    let folder = Folder::empty();
    let mut bench = Bench::new(&folder.path("machine.db"));
    bench.launch("one", false);
    striped(&mut bench);
    for n in [2, 4, 8] {
        for bytes in [1 << 10, 1 << 20] {
            let dense = Pattern { n, g: 2, k: 2, ..exchange(n, bytes, true) };
            bench.result(dense, &around(message_s(n * bytes, true), 10.0), Found::default());
            let alltoall = Pattern { family: "alltoall", library: "alltoall", ..dense };
            bench.result(alltoall, &around(2.0 * message_s(n * bytes, true), 10.0), Found::default());
        }
    }
    drop(bench);
    crate::common::heat(&folder.path("heat.db"));
    assert_eq!(folder.through(&["report", "heat.db", "--bench", "machine.db", "-o", "page.html"]).ok(), "");
    let Some(mut browser) = Browser::start(&folder.path("chromium")) else { return };
    browser.open(&folder.path("page.html"), "view=bench", (1280, 900));
    let texts = |browser: &mut Browser, what: &str| -> Vec<String> {
        let found = browser.eval(&format!("[...document.querySelectorAll('[data-view=bench] {what}')].map((one) => one.dataset.series ?? one.dataset.part)"));
        found.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let pattern = "[data-view=bench] select[name=pattern]";
    browser.choose(pattern, "dense omni, 4 × 2 ranks, across hosts");
    // Both over size, and over the numbers of groups.
    for (chart, points) in [("bandwidth", 2), ("time", 2), ("groups", 3), ("groups-time", 3)] {
        let series = texts(&mut browser, &format!("[data-chart={chart}] circle"));
        let count = |name: &str| series.iter().filter(|one| *one == name).count();
        let found = (count("dense omni: MPI_Alltoall"), count("alltoall omni: alltoall"));
        assert_eq!(found, (points, points), "{chart}: {series:?}");
    }
    browser.choose("[data-view=bench] select[name=beside]", "none");
    assert_eq!(texts(&mut browser, "[data-chart=time] circle"), ["MPI_Alltoall", "MPI_Alltoall"]);
    browser.choose(pattern, "rail striped uni, 2 × 2 ranks, across hosts");
    assert_eq!(texts(&mut browser, "[data-chart=steps] rect"), ["whole", "step 1", "step 2", "step 3"]);
    let widths = browser.eval(
        "[...document.querySelectorAll('[data-chart=steps] rect')].map((one) => Number(one.getAttribute('width')))",
    );
    let widths: Vec<f64> = widths.as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect();
    assert!((widths[1..].iter().sum::<f64>() / widths[0] - 1.25).abs() < 1e-6, "{widths:?}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Not that nothing matches.
#[test]
fn flagged_measurements_are_no_mistake_of_a_filter() {
    let folder = Folder::empty();
    let mut bench = Bench::new(&folder.path("flagged.db"));
    bench.launch("MPI 1", false);
    for bytes in [1 << 20, 2 << 20] {
        bench.result(message(bytes, false), &around(1e-3, 10.0), Found { flag: Some("skew"), ..Found::default() });
    }
    drop(bench);
    let answer = folder.through(&["bench", "model", "flagged.db", "--bytes", "1M"]);
    assert_eq!(answer.status, 1);
    assert!(answer.err.contains("1 measurement flagged"), "{answer:?}");
}
