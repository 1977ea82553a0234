//! Views and formats of a spoiled profile, by the modules of `through` themselves.
//!
//! For long nothing here could reach where ranks stood: all processes of the profiles to begin with had finished, the view was not
//! among those asked for, and lists of ranks and numbers in texts were only ever replaced by small ones.
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
#[path = "../../through/src/layered.rs"]
mod layered;
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

const VIEWS: [&str; 7] = ["--top=0", "-a", "-u", "-e", "--phases", "--datatypes", "--stood"];
const FILTERS: [&[&str]; 5] = [&[], &["-r0,2-3"], &["--comm=s0.1,*", "-p", "-c"], &["-b1:", "-t0:9"], &["--phase="]];
const LAYERS: [&[&str]; 4] = [&[], &["--by=comm", "-r0,2-3"], &["--by=op", "-b1:"], &["--by=protocol", "--layer=uct"]];
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
    let (view, filter) = (VIEWS[choice / 4 % VIEWS.len()], FILTERS[choice / 28 % FILTERS.len()]);
    let of_layers = LAYERS[choice / 4 % LAYERS.len()];
    for format in ["--format=table", "--format=csv", "--format=json"] {
        if let Ok(cli) = cli::Cli::try_parse_from([&["through", view, format, &sort], filter].concat()) {
            shown(&path, &cli.show);
        }
        if let Ok(cli) = cli::Cli::try_parse_from([&["through", "ucx", format, &sort], of_layers].concat()) {
            let Some(cli::Command::Ucx(ucx)) = cli.command else { panic!("no ucx") };
            layers_shown(&path, &ucx);
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
    match show.output.format {
        cli::Format::Table => render::table::table(&report, &TERMINAL, &mut out).unwrap(),
        cli::Format::Csv => render::csv::csv(&report, &mut out).unwrap(),
        cli::Format::Json => render::json::json(&report, &mut out).unwrap(),
    }
    checked(out, show.output.format);
}

const TERMINAL: terminal::Terminal = terminal::Terminal { columns: 80, is_coloured: false };

/// What layers did, and who talked to whom over which devices.
fn layers_shown(path: &Path, ucx: &cli::Ucx) {
    let made = open::Profile::open(path).and_then(|profile| {
        let catalog = query::catalog::Catalog::read(&profile)?;
        let filter = filter::Filter::of_transfers(&ucx.calls, &ucx.ways, &catalog)?;
        let flows = query::flows::flows(&profile, &filter, |_| false, query::flows::Traffic::Layers)?;
        let drawn = query::graph::devices(&flows, &catalog, &query::graph::users(&profile, &catalog)?);
        Ok((layered::Layered::make(&profile, catalog, filter, ucx)?, drawn))
    });
    let (report, drawn) = match made {
        Ok(made) => made,
        Err(error) => {
            assert_eq!(escape::visible(&error.to_string()).lines().count(), 1, "{error}");
            return;
        }
    };
    let head = render::header::Head {
        path: &report.path,
        catalog: &report.catalog,
        overview: &report.overview,
        filter: &report.filter,
        layers: Some(&report.layers),
    };
    let caption = render::graph::Caption { head: &head, layer: "uct" };
    let mut out = Vec::new();
    render::graph::dot::dot(&drawn, &caption, &mut out).unwrap();
    checked(std::mem::take(&mut out), cli::Format::Table);
    match ucx.output.format {
        cli::Format::Table => render::table::layers(&report, &TERMINAL, &mut out).unwrap(),
        cli::Format::Csv => render::layers::csv(&report, &mut out).unwrap(),
        cli::Format::Json => render::layers::json(&report, &mut out).unwrap(),
    }
    checked(out, ucx.output.format);
}

/// Nothing in it steers a terminal, and programs can read it.
fn checked(out: Vec<u8>, format: cli::Format) {
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.chars().all(|character| character == '\n' || !escape::is_hidden(character)), "{text:?}");
    match format {
        cli::Format::Table => {}
        cli::Format::Csv => {
            let rows: Vec<_> =
                csv::Reader::from_reader(text.as_bytes()).into_records().collect::<Result<_, _>>().expect("CSV");
            assert_eq!(rows.len() + 1, text.lines().count(), "a row is a line");
        }
        cli::Format::Json => _ = serde_json::from_str::<serde_json::Value>(&text).expect("JSON"),
    }
}
