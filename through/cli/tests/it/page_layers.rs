//! The page's pictures of layers below MPI: filters by route, host and rank, and what is drawn.

use std::collections::BTreeSet;

use serde_json::json;

use crate::browser::Browser;
use crate::matrix::copying;
use crate::page::{LAPTOP, by_sql, column, number, page};

/// Calls and bytes in the table of layers, in the matrix and the graph of the layer `uct`, and into devices and processes that receive.
fn shown(browser: &mut Browser) -> [[i64; 2]; 4] {
    let of = |browser: &mut Browser, table: &str| ["calls", "bytes"].map(|name| column(browser, table, name) as i64);
    let matrix = ["matrix_calls", "matrix_bytes"].map(|name| number(browser, name));
    let received = browser.eval(
        "(() => { const rows = [...document.querySelectorAll('[data-table=devices] tbody tr')].filter((row) => /^(rank|\\?|other)/.test(row.querySelector('[data-column=to]').textContent)); \
         return ['calls', 'bytes'].map((name) => rows.reduce((sum, row) => sum + Number(row.querySelector(`[data-column=${name}]`).dataset.value), 0)); })()",
    );
    let devices = [0, 1].map(|at| received[at].as_f64().unwrap() as i64);
    [of(browser, "layers"), matrix, of(browser, "graph"), devices]
}

#[test]
fn routes_hosts_and_ranks_are_filters_of_every_picture_of_layers() {
    let Some((folder, mut browser)) = page(|path| crate::layers::write(path, ""), "layer=uct") else { return };
    for table in ["layers", "graph", "devices"] {
        browser.eval(&format!("document.querySelector('[data-fold={table}]')?.setAttribute('open', '')"));
    }
    let controls: [(&[(&str, &str)], &str); 6] = [
        (&[("function", "uct_ep_am_bcopy,uct_ep_get_zcopy")], "function IN ('uct_ep_am_bcopy', 'uct_ep_get_zcopy')"),
        (
            &[("transport", "tcp"), ("function", "uct_ep_am_short")],
            "transport = 'tcp' AND function = 'uct_ep_am_short'",
        ),
        (&[("protocol", "control")], "protocol = 'control'"),
        (&[("host", "node1")], "src IN (2, 3)"),
        (&[("host", "node0"), ("rank", "1-3")], "src = 1"),
        (&[("rank", "1"), ("op", "MPI_Allreduce")], "src = 1 AND op = 'MPI_Allreduce'"),
    ];
    for (values, condition) in controls {
        for (name, value) in values {
            browser.write(&format!("#filters [name={name}]"), value);
        }
        let sum = |condition: &str| {
            let sql =
                format!("SELECT coalesce(sum(calls), 0), coalesce(sum(bytes), 0) FROM transfers WHERE {condition}");
            by_sql::<2>(&folder, &sql)
        };
        let of_uct = sum(&format!("layer = 'uct' AND {condition}"));
        // Arrivals are counted by those who receive.
        let recorder = condition.replace("src", "iif(layer LIKE '%-rx', dst, src)");
        let [layers, matrix, graph, devices] = shown(&mut browser);
        assert_eq!(layers, sum(&recorder), "{values:?}");
        assert_eq!((matrix, devices), (of_uct, of_uct), "{values:?}");
        assert_eq!(graph, sum(&format!("layer = 'uct' AND dst IS NOT NULL AND {condition}")), "{values:?}");
        let address = browser.eval("location.hash");
        let is_there = |(name, value): &(&str, &str)| address.as_str().unwrap().contains(&format!("{name}={value}"));
        assert!(values.iter().all(is_there), "{address}");
        browser.click("#filters [name=reset]");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A layer that has such routes is drawn, where none is chosen.
#[test]
fn a_filter_by_transport_chooses_a_layer_that_has_it() {
    let Some((folder, mut browser)) = page(|path| crate::layers::write(path, ""), "transport=rc_mlx5") else { return };
    let layer = "document.querySelector('[data-view=matrix] [name=layer]').value";
    assert_eq!(browser.eval(layer), "ucp");
    let sql = "SELECT sum(calls), sum(bytes) FROM transfers WHERE layer = 'ucp' AND transport = 'rc_mlx5'";
    assert_eq!(["matrix_calls", "matrix_bytes"].map(|name| number(&mut browser, name)), by_sql::<2>(&folder, sql));
}

/// The heaviest by operations is another one than by bytes.
#[test]
fn graphs_are_drawn_by_operations_as_well() {
    let Some((_folder, mut browser)) = page(|path| crate::layers::write(path, ""), "layer=ucp") else { return };
    let heaviest = "document.querySelector('[data-view=graph] svg').getAttribute('aria-label').split('; ')[1]";
    let begins = |browser: &mut Browser, with: &str| {
        let text = browser.eval(heaviest);
        assert!(text.as_str().unwrap().starts_with(with), "{text}");
    };
    begins(&mut browser, "the heaviest is from rank 1 to rank 3: ");
    browser.choose("[data-view=graph] [name=measure]", "calls");
    begins(&mut browser, "the heaviest is from rank 1 to rank 2: ");
}

#[test]
fn copies_of_gpus_are_drawn_between_memories() {
    let folder = copying();
    folder.through(&["report", "gpu.db", "-o", "page.html"]).ok();
    let Some(mut browser) = Browser::start(&folder.path("chromium")) else { return };
    browser.open(&folder.path("page.html"), "", LAPTOP);
    let rows = browser.eval(
        "[...document.querySelectorAll('[data-table=devices] tbody tr')].map((row) => ['from', 'to', 'bytes'].map((name) => \
         { const cell = row.querySelector(`[data-column=${name}]`); return cell.dataset.value ?? cell.textContent; }).join(' > '))",
    );
    let rows: BTreeSet<&str> = rows.as_array().unwrap().iter().map(|row| row.as_str().unwrap()).collect();
    let wanted = [
        "node0 > gpu0 of node0 > 2000",
        "gpu1 of node0 > node0 > 50",
        "node1 > gpu0 of node1 > 2000",
        "gpu0 of node1 > gpu1 of node1 > 400",
    ];
    assert_eq!(rows, wanted.into());
    // The same as a matrix; no ranks talk to each other.
    assert_eq!(["matrix_calls", "matrix_bytes"].map(|name| number(&mut browser, name)), [43, 4450]);
    assert_eq!(browser.eval("document.querySelector('[data-view=graph]').hidden"), json!(true));
}
