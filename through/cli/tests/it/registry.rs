//! Walks the registry of views: each in every format, and what its row promises.

use serde_json::Value;
use through::views;
use through_core::document::{Document, Format};
use through_core::query::open::Profile;
use through_core::query::sort::SortKey;
use through_core::render::render;
use through_core::text::terminal::Terminal;
use through_core::views::{Flag, Question, View};

use crate::common::Folder;

const TERMINAL: Terminal = Terminal { columns: 80, rows: None, is_coloured: false };

/// Profiles that together have something for every view.
fn profiles() -> Vec<(Folder, &'static str)> {
    let sample = Folder::with_sample();
    let db = rusqlite::Connection::open(sample.path("sample.db")).unwrap();
    db.execute_batch(
        "INSERT OR IGNORE INTO operation VALUES (65535, '-', '-'); \
         INSERT OR IGNORE INTO completed SELECT comm, op, 0, 0, op, 0, 1, calls, 8, 7 FROM total; \
         INSERT OR IGNORE INTO completed SELECT comm, op, 0, 0, 65535, 0, -1, 0, 0, 7 FROM total",
    )
    .unwrap();
    vec![
        (sample, "sample.db"),
        (crate::files::folder(), "ocean.db"),
        (crate::layers::layered(), "ucx.db"),
        (crate::ccl::folder(), "nccl.db"),
        (crate::stood::recovered(), "a.db"),
        (crate::sites::folder(8), "heat.db"),
        (crate::waits::timeline(), "timed.db"),
        (crate::shapes::ring_with_a_stray(), "ring.db"),
    ]
}

fn asked(view: &View, (folder, name): &(Folder, &str), format: Format, sort: Option<SortKey>) -> Document {
    let profile = Profile::open(&folder.path(name)).unwrap();
    let bench = folder.path("machine.db");
    if !bench.exists() {
        crate::measured::machine(&bench);
    }
    view.ask(&Question { format, sort, bench: vec![bench], ..Question::new(profile) }).unwrap()
}

fn printed(document: &Document, format: Format) -> String {
    let mut out = Vec::new();
    render(document, format, &TERMINAL, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_view_speaks_every_format_that_it_names() {
    let profiles = profiles();
    for view in views() {
        for format in Format::ALL {
            for profile in &profiles {
                if !view.written_as().any(|written| written == format) {
                    let open = Profile::open(&profile.0.path(profile.1)).unwrap();
                    let refused = view.ask(&Question { format, ..Question::new(open) });
                    assert!(refused.is_err_and(|error| error.to_string().contains("is written as")), "{}", view.name);
                    continue;
                }
                let document = asked(view, profile, format, None);
                if !document.is_printed(format) {
                    continue;
                }
                if format == Format::Parquet {
                    let mut file = Vec::new();
                    render(&document, format, &TERMINAL, &mut file).unwrap();
                    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"), "{}", view.name);
                    continue;
                }
                let text = printed(&document, format);
                match format {
                    Format::Json | Format::Trace => has_arrays(view, &document, &text),
                    Format::Speedscope => assert!(text.starts_with("{\"$schema\""), "{text}"),
                    Format::Folded => assert!(text.lines().all(|line| line.contains("MPI_")), "{text}"),
                    Format::Csv => has_names(view, &text),
                    Format::Spreadsheet => has_names(view, text.strip_prefix('\u{feff}').unwrap()),
                    Format::Parquet => unreachable!("it is no text"),
                    Format::Dot => assert!(text.starts_with("digraph") && text.ends_with("}\n"), "{text}"),
                    Format::Table | Format::Summary => {
                        assert!(!text.is_empty() && text.lines().all(|line| line.chars().count() <= 80), "{text}")
                    }
                }
            }
        }
    }
}

/// Of a view that is made of tables, every array that its row names and whose profile has any such thing.
fn has_arrays(view: &View, document: &Document, text: &str) {
    let json: Value = serde_json::from_str(text).unwrap();
    let is_first = |name: &str| view.parts.first().is_some_and(|part| part.name == name);
    for part in view.parts {
        let array = json[part.name].as_array();
        assert!(array.is_some() || !is_first(part.name), "{}: no array {}", view.name, part.name);
        let names: Vec<&str> = (part.headings)().iter().filter_map(|heading| heading.name).collect();
        for row in array.into_iter().flatten() {
            let mut members: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
            let mut names = names.clone();
            members.sort_unstable();
            names.sort_unstable();
            assert_eq!(members, names, "{}: {}", view.name, part.name);
        }
    }
    let known = |name: &str| views().flat_map(|view| view.parts).any(|part| part.name == name);
    for table in document.tables.iter().filter(|table| table.audience.json) {
        assert!(known(table.name), "{}: the reference knows no {}", view.name, table.name);
    }
}

/// Of the first table, or where that has nothing of another one.
fn has_names(view: &View, text: &str) {
    let names = |part: &through_core::views::Part| {
        (part.headings)().iter().filter_map(|heading| heading.name).collect::<Vec<_>>().join(",")
    };
    let mut lines = text.lines();
    let first = lines.next().unwrap();
    let place = view.parts.iter().position(|part| names(part) == first);
    assert!(place == Some(0) || place.is_some() && lines.next().is_some(), "{}: {first}", view.name);
}

#[test]
fn values_are_of_the_unit_of_their_column() {
    let profiles = profiles();
    let mut seen: Vec<&str> = Vec::new();
    for view in views() {
        // Some have rows for records only, and none where all is drawn.
        for (profile, format) in
            profiles.iter().flat_map(|profile| view.formats.iter().map(move |format| (profile, *format)))
        {
            let document = asked(view, profile, format, None);
            for table in &document.tables {
                let mut rows = 0;
                let each = table.rows.each(&mut |row| {
                    rows += 1;
                    for (column, heading) in
                        table.headings.iter().enumerate().filter(|(_, heading)| heading.name.is_some())
                    {
                        let value = row.value(column);
                        let name = heading.name.unwrap();
                        assert!(heading.unit.holds(&value), "{}: {name} is {value:?}", view.name);
                    }
                    Ok(())
                });
                each.unwrap();
                seen.extend((rows > 0).then_some(table.name));
            }
        }
    }
    // What these profiles have nothing of is tested elsewhere.
    let unseen: Vec<&str> =
        views().flat_map(|view| view.parts).map(|part| part.name).filter(|name| !seen.contains(name)).collect();
    assert!(
        unseen.iter().all(|name| ["datatypes", "moves", "objects", "turns", "scaling"].contains(name)),
        "nothing was seen of {unseen:?}"
    );
}

#[test]
fn sort_keys_that_a_view_lacks_are_ignored() {
    let profiles = profiles();
    for view in views() {
        for profile in &profiles {
            let format = view.formats[0];
            let usual = printed_if_found(&asked(view, profile, format, None), format);
            for key in SortKey::ALL.into_iter().filter(|key| !view.sorts.contains(key)) {
                let sorted = printed_if_found(&asked(view, profile, format, Some(key)), format);
                assert_eq!(sorted, usual, "{} by {}", view.name, key.name());
            }
        }
    }
}

fn printed_if_found(document: &Document, format: Format) -> String {
    if document.is_printed(format) { printed(document, format) } else { String::new() }
}

#[test]
fn names_and_flags_are_not_used_twice_and_say_something() {
    for (at, view) in views().enumerate() {
        assert!(!view.help.is_empty() && !view.meaning.is_empty() && !view.empty.is_empty(), "{}", view.name);
        assert!(!view.formats.is_empty() && !view.entries.is_empty(), "{}", view.name);
        for other in views().take(at) {
            assert_ne!(view.name, other.name);
            assert!(view.command != other.command || view.flag != other.flag, "{} and {}", view.name, other.name);
        }
        for part in view.parts {
            let headings = (part.headings)();
            let mut names: Vec<&str> = headings.iter().filter_map(|heading| heading.name).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{}: a column stands twice", view.name);
            for heading in headings.iter().filter(|heading| heading.name.is_some()) {
                assert!(!heading.meaning.is_empty(), "{}: what is {:?}?", view.name, heading.name);
            }
        }
    }
}

#[test]
fn every_flag_is_in_the_help() {
    let folder = Folder::with_sample();
    for view in views() {
        let command: &[&str] = match view.command {
            "" => &["show"],
            "run" | "export perfetto" | "compare" | "compare RUN..." | "bench roofline" => continue,
            command => &[command],
        };
        let help = folder.through(&[command, &["--help"]].concat()).ok();
        match view.flag {
            Flag::Default => {}
            Flag::Switch { long, .. } => assert!(help.contains(&format!("--{long}")), "{help}"),
            Flag::Option { option, value } => assert!(help.contains(&format!("--{option}")) && help.contains(value)),
        }
    }
    assert_eq!(folder.through(&["show"]).ok(), folder.through(&["sample.db"]).ok());
}

#[test]
fn hosts_are_sums_of_their_ranks() {
    let folder = Folder::with_sample();
    let (hosts, ranks) =
        (folder.through(&["--hosts", "--format", "csv"]).csv(), folder.through(&["-e", "--format", "csv"]).csv());
    let sum = |rows: &[std::collections::HashMap<String, String>]| {
        rows.iter().map(|row| row["mpi_s"].parse::<f64>().unwrap()).sum::<f64>()
    };
    assert_eq!(hosts.iter().map(|row| row["ranks"].as_str()).collect::<Vec<_>>(), ["0-1", "2-3"]);
    assert!((sum(&hosts) - sum(&ranks)).abs() < 1e-9);
    assert!((hosts[0]["share"].parse::<f64>().unwrap() - sum(&ranks[..2]) / sum(&ranks)).abs() < 1e-9);
}
