//! Views and formats of a spoiled profile, by the modules of `through` themselves.
#![no_main]
#![allow(dead_code, unused_imports)]

#[path = "../drive/mutate.rs"]
mod mutate;

#[path = "../../through/src/cli/mod.rs"]
mod cli;
#[path = "../../through/src/error.rs"]
mod error;
#[path = "../../through/src/escape.rs"]
mod escape;
#[path = "../../through/src/filter.rs"]
mod filter;
#[path = "../../through/src/open.rs"]
mod open;
#[path = "../../through/src/order.rs"]
mod order;
#[path = "../../through/src/query/mod.rs"]
mod query;
#[path = "../../through/src/range.rs"]
mod range;
#[path = "../../through/src/render/mod.rs"]
mod render;
#[path = "../../through/src/report.rs"]
mod report;
#[path = "../../through/src/terminal.rs"]
mod terminal;
#[path = "../../through/src/units.rs"]
mod units;

use std::path::Path;

use clap::Parser;

const VIEWS: [&str; 6] = ["--top=0", "-a", "-u", "-e", "--phases", "--datatypes"];
const FILTERS: [&[&str]; 5] = [&[], &["-r0,2-3"], &["--comm=s0.1,*", "-p", "-c"], &["-b1:", "-t0:9"], &["--phase="]];
const SORTS: [&str; 4] = ["time", "bytes", "comm", "op"];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let folder = std::env::temp_dir().join(format!("commsee-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("a.db");
    mutate::write(data, &path);
    let before = std::fs::read(&path).unwrap();
    let choice = usize::from(data.iter().fold(0u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte)));
    let sort = format!("--sort={}", SORTS[choice % SORTS.len()]);
    // All of them for every input would be thorough, and so slow that few inputs would be tried.
    let (view, filter) = (VIEWS[choice / 4 % VIEWS.len()], FILTERS[choice / 24 % FILTERS.len()]);
    for format in ["--format=table", "--format=csv", "--format=json"] {
        if let Ok(cli) = cli::Cli::try_parse_from([&["through", view, format, &sort], filter].concat()) {
            shown(&path, &cli.show);
        }
    }
    assert!(std::fs::read(&path).unwrap() == before, "the profile was written to");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "something was left beside the profile");
});

fn shown(path: &Path, show: &cli::Show) {
    let made = open::Profile::open(path).and_then(|profile| report::Report::make(&profile, show));
    let report = match made {
        Ok(report) => report,
        Err(error) => {
            assert_eq!(escape::visible(&error.to_string()).lines().count(), 1, "{error}");
            return;
        }
    };
    let mut out = Vec::new();
    let terminal = terminal::Terminal { columns: 80, is_coloured: false };
    match show.output.format {
        cli::Format::Table => render::table::table(&report, &terminal, &mut out).unwrap(),
        cli::Format::Csv => render::csv::csv(&report, &mut out).unwrap(),
        cli::Format::Json => render::json::json(&report, &mut out).unwrap(),
    }
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.chars().all(|character| character == '\n' || !escape::is_hidden(character)), "{text:?}");
    match show.output.format {
        cli::Format::Table => {}
        cli::Format::Csv => {
            let rows: Vec<_> =
                csv::Reader::from_reader(text.as_bytes()).into_records().collect::<Result<_, _>>().expect("CSV");
            assert_eq!(rows.len() + 1, text.lines().count(), "a row is a line");
        }
        cli::Format::Json => _ = serde_json::from_str::<serde_json::Value>(&text).expect("JSON"),
    }
}
