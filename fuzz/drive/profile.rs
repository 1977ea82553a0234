//! Views and formats of a spoiled profile, by `through` as a library: every view that a command line can ask for.
//!
//! For long nothing here could reach in-flight calls: all processes of the profiles to begin with had finished, the view was not
//! among those asked for, and lists of ranks and numbers in texts were only ever replaced by small ones.

use std::fs;
use std::path::Path;

use through::views;
use through_core::document::Format;
use through_core::query::open::Profile;
use through_core::query::range::{ByteRange, TimeRange};
use through_core::query::selection::Selection;
use through_core::query::sort::SortKey;
use through_core::render::render;
use through_core::text::escape;
use through_core::text::terminal::Terminal;
use through_core::views::{Between, Question, View};

use super::mutate;

const TERMINAL: Terminal = Terminal { columns: 80, rows: None, is_coloured: false };
const BETWEEN: [Between; 3] = [Between::Ranks, Between::Hosts, Between::Devices];

/// The folder is for nothing else.
pub fn drive(data: &[u8], folder: &Path) {
    let path = folder.join("a.db");
    mutate::write(data, &path);
    let before = fs::read(&path).unwrap();
    let choice = usize::from(data.iter().fold(0u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte)));
    // All of them for every input would be thorough, and so slow that few inputs would be tried.
    let views: Vec<&View> = views().collect();
    let view = views[choice % views.len()];
    for format in view.formats {
        match Profile::open(&path) {
            Ok(profile) => {
                let question = Question {
                    selection: selection(choice / views.len()),
                    sort: Some(SortKey::ALL[choice % SortKey::ALL.len()]),
                    format: *format,
                    between: BETWEEN[choice % BETWEEN.len()],
                    ..Question::new(profile)
                };
                shown(view, &question);
            }
            Err(error) => is_a_line(&error.to_string()),
        }
    }
    assert!(fs::read(&path).unwrap() == before, "the profile was written to");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "something was left beside the profile");
}

fn selection(choice: usize) -> Selection {
    let all = Selection::default();
    match choice % 6 {
        0 => all,
        1 => Selection { rank: vec![commsee::ranks::RankSet::parse("0,2-3").unwrap()], ..all },
        2 => Selection { comm: vec!["s0.1,*".to_owned()], p2p: true, collectives: true, ..all },
        3 => Selection {
            bytes: Some(ByteRange { low: 1, high: u64::MAX }),
            time: Some(TimeRange { low_ns: 0, high_ns: 9_000_000_000 }),
            ..all
        },
        4 => Selection { phase: vec![String::new()], ..all },
        _ => Selection { layer: vec!["uct".to_owned()], ..all },
    }
}

fn shown(view: &View, question: &Question) {
    let document = match view.ask(question) {
        Ok(document) => document,
        Err(error) => return is_a_line(&error.to_string()),
    };
    let mut out = Vec::new();
    match render(&document, question.format, &TERMINAL, &mut out) {
        Ok(()) => checked(out, question.format),
        // What the profile ran into while its rows were printed.
        Err(error) => is_a_line(&error.to_string()),
    }
}

fn is_a_line(text: &str) {
    assert_eq!(escape::visible(text).lines().count(), 1, "{text}");
}

/// Nothing in it steers a terminal, and programs can read it.
fn checked(out: Vec<u8>, format: Format) {
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.chars().all(|character| character == '\n' || !escape::is_hidden(character)), "{text:?}");
    match format {
        Format::Csv => {
            let rows: Vec<_> =
                csv::Reader::from_reader(text.as_bytes()).into_records().collect::<Result<_, _>>().expect("CSV");
            assert_eq!(rows.len() + 1, text.lines().count(), "a row is a line");
        }
        Format::Json | Format::Trace | Format::Speedscope => {
            _ = serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
        }
        Format::Table | Format::Dot | Format::Folded | Format::Summary => {}
        // Not among those that a view names.
        Format::Parquet | Format::Spreadsheet => unreachable!("{} follows from CSV", format.name()),
    }
}
