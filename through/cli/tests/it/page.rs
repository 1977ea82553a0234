//! The page in a browser: what its controls change is what SQL says, by mouse and by keyboard; who can read it.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::common::{Folder, heat};
use crate::golden::golden;
use crate::report::many;
use crate::sites::heat_with_code;

pub const LAPTOP: (u32, u32) = (1280, 900);

/// A page of a profile that is made here, open.
pub fn page(make: impl Fn(&std::path::Path), fragment: &str) -> Option<(Folder, Browser)> {
    let folder = Folder::empty();
    make(&folder.path("a.db"));
    folder.through(&["report", "a.db", "-o", "page.html"]).ok();
    let mut browser = Browser::start(&folder.path("chromium"))?;
    browser.open(&folder.path("page.html"), fragment, LAPTOP);
    Some((folder, browser))
}

/// The last item of a list.
const LAST: &str = "";

const NAMES: [&str; 4] = ["calls", "bytes_sent", "bytes_recv", "time_ns"];

pub fn number(browser: &mut Browser, name: &str) -> i64 {
    let value = browser.eval(&format!("Number(document.querySelector('[data-number=\"{name}\"]').dataset.value)"));
    value.as_f64().unwrap() as i64
}

fn selected(browser: &mut Browser) -> [i64; 4] {
    NAMES.map(|name| number(browser, name))
}

/// The sum of a column of a table, all rows of it.
pub fn column(browser: &mut Browser, table: &str, name: &str) -> f64 {
    browser.eval(&format!(
        "[...document.querySelectorAll('[data-table=\"{table}\"] button')].find((one) => one.textContent.startsWith('Show all'))?.click()"
    ));
    let cells = format!("document.querySelectorAll('[data-table=\"{table}\"] tbody [data-column=\"{name}\"]')");
    browser.eval(&format!("[...{cells}].reduce((sum, cell) => sum + Number(cell.dataset.value), 0)")).as_f64().unwrap()
}

pub fn by_sql<const N: usize>(folder: &Folder, sql: &str) -> [i64; N] {
    let db = Connection::open(folder.path("a.db")).unwrap();
    db.query_row(sql, [], |row| Ok(std::array::from_fn(|at| row.get(at).unwrap()))).unwrap()
}

fn in_profile(folder: &Folder, condition: &str) -> [i64; 4] {
    by_sql(
        folder,
        &format!(
            "SELECT coalesce(sum(calls), 0), coalesce(sum(bytes_sent), 0), coalesce(sum(bytes_recv), 0), \
             CAST(round(coalesce(sum(time_s), 0) * 1e9) AS INTEGER) FROM profile WHERE {condition}"
        ),
    )
}

fn in_matrix(folder: &Folder, condition: &str) -> [i64; 3] {
    let sql =
        "SELECT coalesce(sum(calls), 0), coalesce(sum(bytes), 0), count(DISTINCT src * 1000 + dst) FROM matrix WHERE";
    by_sql(folder, &format!("{sql} {condition}"))
}

#[test]
fn each_control_changes_all_views_to_the_numbers_of_sql() {
    let Some((folder, mut browser)) = page(heat, "") else { return };
    let outside = "op <> 'MPI_Init'";
    // What is set, what that selects of calls, and of messages.
    let controls: [(&str, &str, &str, &str); 6] = [
        ("comm", "b0.2,a0.1", "comm IN ('b0.2', 'a0.1')", "comm IN ('b0.2', 'a0.1')"),
        ("op", "isend", "op = 'MPI_Isend'", "op = 'MPI_Isend'"),
        ("rank", "1-3,6", "rank IN (1, 2, 3, 6)", "src IN (1, 2, 3, 6)"),
        ("family", "b0.2", "comm IN ('b0.2', 'b4.2')", "comm IN ('b0.2', 'b4.2')"),
        ("class", "p2p", "class = 'p2p'", "op = 'MPI_Isend'"),
        ("bucket", LAST, "bucket_lo = 8192", "true"),
    ];
    for (name, value, of_calls, of_messages) in controls {
        let control = format!("#filters [name={name}]");
        let is_list = browser.eval(&format!("document.querySelector('{control}').tagName")) == "SELECT";
        match is_list {
            true => {
                let value = match value {
                    LAST => browser.eval(&format!("[...document.querySelector('{control}').options].at(-1).value")),
                    value => json!(value),
                };
                browser.choose(&control, value.as_str().unwrap());
            }
            false => browser.write(&control, value),
        }
        let wanted = in_profile(&folder, &format!("{outside} AND {of_calls}"));
        assert_eq!(selected(&mut browser), wanted, "{name}");
        // Every table over the same calls has the same sum.
        for (table, hidden) in [("communicators", false), ("operations", true)] {
            let sums = ["calls", "bytes_sent", "bytes_recv"].map(|name| column(&mut browser, table, name) as i64);
            assert_eq!(sums[..], wanted[..3], "{name}: {table} {hidden}");
            let time_s = column(&mut browser, table, "time_s");
            assert!((time_s * 1e9 - wanted[3] as f64).abs() < 10.0, "{name}: {table} {time_s}");
        }
        assert_eq!(column(&mut browser, "sizes", "calls") as i64, wanted[0], "{name}");
        assert_eq!(column(&mut browser, "hist", "bytes_sent") as i64, wanted[1], "{name}");
        let waited = column(&mut browser, "ranks", "selected_s");
        assert!((waited * 1e9 - wanted[3] as f64).abs() < 10.0, "{name}: {waited}");
        let messages = in_matrix(&folder, of_messages);
        if messages[0] > 0 {
            let shown = ["matrix_calls", "matrix_bytes", "matrix_pairs"].map(|name| number(&mut browser, name));
            assert_eq!(shown, messages, "{name}");

            assert_eq!(column(&mut browser, "graph", "bytes") as i64, messages[1], "{name}");
        }
        browser.click("#filters [name=reset]");
        assert_eq!(selected(&mut browser), in_profile(&folder, outside), "{name} taken away");
    }
    // Waiting has no size, also where it is as many bytes as the smallest messages.
    let sized = browser.eval("[...document.querySelectorAll('[data-heat=sizes] [data-op=MPI_Waitall]')].filter((cell) => Number(cell.dataset.value) > 0).map((cell) => cell.dataset.bucket)");
    assert_eq!(sized, json!(["-"]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn communicators_of_nccl_are_shown_and_selected() {
    let Some((_folder, mut browser)) = page(crate::ccl::write, "") else { return };
    let sums = |browser: &mut Browser, table: &str| ["calls", "bytes_sent"].map(|name| column(browser, table, name));
    let all = sums(&mut browser, "layer-communicators");
    assert_eq!((all, sums(&mut browser, "layer-calls")), ([118.0, 283_584.0], [118.0, 283_584.0]));
    let Some((_folder, mut browser)) = page(crate::ccl::write, "comm=nccl:s3.1") else { return };
    assert_eq!(sums(&mut browser, "layer-communicators"), [5.0, 344.0]);
    assert_eq!(sums(&mut browser, "layer-calls"), [5.0, 344.0]);
    // Of one rank, also where a collective counts once for its communicator.
    let Some((folder, mut browser)) = page(crate::ccl::write, "comm=nccl:s3.1&rank=1") else { return };
    let sql =
        "SELECT sum(calls), sum(bytes) FROM transfers WHERE layer = 'nccl' AND layer_comm = 'nccl:s3.1' AND src = 1";
    let of_rank = by_sql::<2>(&folder, sql).map(|number| number as f64);
    assert_eq!(sums(&mut browser, "layer-calls"), of_rank);
}

#[test]
fn a_call_site_is_a_filter_of_all_views() {
    let Some((folder, mut browser)) = page(|path| heat_with_code(path, 16), "") else { return };
    browser.write("#filters [name=site]", "solver.c:231");
    let wanted = in_profile(&folder, "op = 'MPI_Allreduce' AND comm IN ('b0.2', 'b4.2')");
    assert_eq!(selected(&mut browser), wanted);
    for table in ["communicators", "operations", "sites"] {
        assert_eq!(column(&mut browser, table, "calls") as i64, wanted[0], "{table}");
    }
    browser.write("#filters [name=rank]", "0-3");
    assert_eq!(selected(&mut browser), in_profile(&folder, "op = 'MPI_Allreduce' AND comm = 'b0.2'"));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn an_address_shows_the_same_to_others_and_the_way_back_is_known() {
    let Some((folder, mut browser)) = page(heat, "") else { return };
    let whole = selected(&mut browser);
    browser.write("#filters [name=op]", "MPI_Allreduce");
    let one = selected(&mut browser);
    browser.write("#filters [name=rank]", "0-3");
    browser.choose("[data-view=matrix] [name=measure]", "calls");
    let (two, address) = (selected(&mut browser), browser.eval("location.hash"));
    assert_eq!(address, "#op=MPI_Allreduce&rank=0-3&measure=calls");
    assert!(whole != one && one != two);
    let steps: [(&str, i64, [i64; 4]); 3] = [("back", 2, one), ("back", 1, whole), ("forward", 1, one)];
    for (way, times, numbers) in steps {
        for _ in 0..times {
            browser.eval(&format!(
                "new Promise((done) => {{ addEventListener('hashchange', () => done(true), {{ once: true }}); history.{way}(); }})"
            ));
        }
        assert_eq!(selected(&mut browser), numbers, "{way}");
    }
    browser.open(&folder.path("page.html"), address.as_str().unwrap().trim_start_matches('#'), LAPTOP);
    assert_eq!(selected(&mut browser), two);
    assert_eq!(browser.eval("document.querySelector('#filters [name=rank]').value"), "0-3");
    assert_eq!(browser.eval("document.querySelector('[data-view=matrix] [name=measure]').value"), "calls");
}

/// Makes profiles and says how a page is made of them.
type Make = dyn Fn(&Folder) -> Vec<&'static str>;

/// With modules, a timeline and messages; and with call sites, twice, which makes a comparison.
#[test]
fn every_view_with_data_is_drawn() {
    let layers = |folder: &Folder| {
        std::fs::copy(golden("version-1-layers.db"), folder.path("a.db")).unwrap();
        vec!["report", "a.db", "-o", "page.html"]
    };
    let twice = |folder: &Folder| {
        heat_with_code(&folder.path("a.db"), 16);
        std::fs::copy(folder.path("a.db"), folder.path("b.db")).unwrap();
        vec!["report", "a.db", "b.db", "-o", "page.html"]
    };
    let makes: [&Make; 2] = [&layers, &twice];
    for make in makes {
        let folder = Folder::empty();
        let words = make(&folder);
        folder.through(&words).ok();
        let Some(mut browser) = Browser::start(&folder.path("chromium")) else { return };
        for size in [LAPTOP, (2560, 1440)] {
            browser.open(&folder.path("page.html"), "", size);
            let views = browser
                .eval("[...document.querySelectorAll('[data-view]:not([hidden])')].map((view) => view.dataset.view)");
            for view in views.as_array().unwrap().iter().filter_map(Value::as_str) {
                let height = browser.eval(&format!("document.querySelector('[data-view={view}]').offsetHeight"));
                assert!(height.as_i64().unwrap() > 60, "{view}");
            }
            // No picture is of one colour.
            let blank = browser.eval(
                "[...document.querySelectorAll('[data-view]:not([hidden]) canvas[role]')].filter((canvas) => { \
                 const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer); \
                 return pixels.length > 1 && pixels.every((pixel) => pixel === pixels[0]); }).map((canvas) => canvas.getAttribute('aria-label'))",
            );
            assert_eq!(blank, json!([]));
            let empty = browser.eval(
                "[...document.querySelectorAll('[data-view]:not([hidden]) svg[role=img]')].filter((one) => one.querySelectorAll('rect, path, text').length < 1).length",
            );
            assert_eq!(empty, 0);
            // Nothing reaches beyond the page.
            assert_eq!(browser.eval("document.documentElement.scrollWidth <= innerWidth"), true, "{size:?}");
            let over = browser.eval(
                "(() => { const boxes = [...document.querySelectorAll('main > section:not([hidden])')].map((one) => one.getBoundingClientRect()); \
                 return boxes.some((a, i) => boxes.some((b, j) => i < j && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)); })()",
            );
            assert_eq!(over, false, "views lie over one another at {size:?}");
        }
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
}

/// Its sums are kept between filters.
#[test]
fn a_dense_matrix_follows_its_filters() {
    let folder = Folder::empty();
    many(&folder, 300, |a, b| Some(1 + ((a * 300 + b) as i64 * 7919) % 100_000));
    folder.through(&["report", "many.db", "-o", "page.html"]).ok();
    let Some(mut browser) = Browser::start(&folder.path("chromium")) else { return };
    browser.open(&folder.path("page.html"), "", LAPTOP);
    let links = "document.querySelector('[data-view=graph] svg').getAttribute('aria-label')";
    let whole = browser.eval(links);
    let pairs = |browser: &mut Browser| number(browser, "matrix_pairs");
    assert_eq!(pairs(&mut browser), 90_000);
    browser.write("#filters [name=rank]", "0-9");
    assert_eq!(pairs(&mut browser), 3000);
    assert!(browser.eval(links) != whole);
    browser.choose("[data-view=matrix] [name=ends]", "host");
    assert_eq!(pairs(&mut browser), 5 * 150);
    browser.click("#filters [name=reset]");
    assert_eq!(pairs(&mut browser), 150 * 150);
    assert_eq!(browser.eval(links), whole);
    browser.choose("[data-view=matrix] [name=ends]", "rank");
    browser.choose("[data-view=matrix] [name=measure]", "calls");
    assert_eq!(pairs(&mut browser), 90_000);
    browser.write("#filters [name=comm]", "none");
    assert_eq!(browser.eval("document.querySelector('[data-view=matrix] canvas')"), Value::Null);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_cell_is_read_by_mouse_and_by_keyboard() {
    let Some((_folder, mut browser)) = page(heat, "view=matrix") else { return };
    let readout = "document.querySelector('[data-view=matrix] output').textContent";
    browser.hover("[data-heat=matrix]", (1.5 / 8.0, 0.5 / 8.0));
    let words = "rank 0 (node0) to rank 1 (node0): 62.5 MiB, 2,000 messages";
    assert_eq!(browser.eval(readout), words);
    let canvas = "document.activeElement.dataset.heat === 'matrix'";
    browser.eval("document.querySelector('[data-heat=matrix]').focus()");
    assert_eq!(browser.eval(canvas), true);
    browser.press("ArrowRight", 0);
    browser.press("ArrowDown", 0);
    assert_eq!(browser.eval(readout), "rank 1 (node0) to rank 2 (node1): 62.5 MiB, 2,000 messages");
    browser.press("Enter", 0);
    let cell = "document.querySelectorAll('[data-view=matrix] [data-table=cell] tbody tr').length";
    assert_eq!(browser.eval(cell), 1);
    browser.press("Escape", 0);
    assert_eq!(browser.eval(cell), 0);
    assert_eq!(browser.eval("document.querySelector('[data-view=matrix] output').getAttribute('aria-live')"), "polite");
}

#[test]
fn the_keyboard_reaches_every_control_in_the_order_of_the_page() {
    let Some((_folder, mut browser)) = page(heat, "") else { return };
    let count = browser.eval(
        "(() => { window.all = [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex=\"0\"]')] \
         .filter((node) => node.checkVisibility()); return all.length; })()",
    );
    let mut places = Vec::new();
    for _ in 0..count.as_i64().unwrap() {
        browser.press("Tab", 0);
        let at = browser.eval(
            "(() => { const node = document.activeElement, style = getComputedStyle(node); \
             const isSeen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2; \
             return [all.indexOf(node), isSeen, node.outerHTML.slice(0, 120)]; })()",
        );
        assert_eq!(at[1], true, "no one sees that {} has the focus", at[2]);
        places.push(at[0].as_i64().unwrap());
    }
    assert_eq!(places, (0..count.as_i64().unwrap()).collect::<Vec<_>>());
    // A list keeps the focus when its choice draws the view anew.
    browser.choose("[data-view=matrix] [name=scale]", "log");
    assert_eq!(
        browser.eval("document.activeElement.name + document.activeElement.closest('[data-view]').dataset.view"),
        "scalematrix"
    );
}

#[test]
fn assistive_technology_is_told_what_everything_is() {
    let Some((_folder, mut browser)) = page(|path| heat_with_code(path, 16), "") else { return };
    let tree = browser.call("Accessibility.getFullAXTree", json!({}));
    let nodes: Vec<(&str, &str)> = tree["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|node| node["ignored"] != true)
        .map(|node| (node["role"]["value"].as_str().unwrap_or(""), node["name"]["value"].as_str().unwrap_or("")))
        .collect();
    let named = [
        "button",
        "link",
        "textbox",
        "combobox",
        "img",
        "image",
        "application",
        "table",
        "heading",
        "navigation",
        "form",
        "region",
    ];
    for (role, name) in nodes.iter().filter(|(role, _)| named.contains(role)) {
        assert!(!name.trim().is_empty(), "a {role} has no name");
    }
    for role in ["button", "link", "combobox", "application", "table", "heading", "navigation", "form", "main"] {
        assert!(nodes.iter().any(|(known, _)| *known == role), "no {role}");
    }
    let levels = browser.eval("[...document.querySelectorAll('h1, h2, h3, h4')].filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]))");
    let levels: Vec<i64> = levels.as_array().unwrap().iter().map(|level| level.as_i64().unwrap()).collect();
    assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1);
    assert!(levels[0] == 1 && levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
    let bare = browser.eval(
        "[...document.querySelectorAll('table')].filter((table) => !table.caption || !table.querySelector('thead th[scope=col]') || \
         table.querySelector('thead th:not([scope])') || [...table.querySelectorAll('tbody tr')].some((row) => !row.querySelector('th[scope=row]'))).length",
    );
    assert_eq!(bare, 0);
}

#[test]
fn paper_has_the_tables_with_their_headings_and_no_controls() {
    let Some((_folder, mut browser)) = page(heat, "") else { return };
    browser.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    let is_seen = |browser: &mut Browser, what: &str| {
        browser.eval(&format!(
            "[...document.querySelectorAll('{what}')].filter((one) => one.checkVisibility()).length > 0"
        ))
    };
    for (what, expected) in [
        ("thead th button", true),
        ("tbody td", true),
        ("canvas.cells", true),
        ("nav a", false),
        ("select", false),
        ("[data-csv]", false),
    ] {
        assert_eq!(is_seen(&mut browser, what), expected, "{what}");
    }
}

/// <https://www.w3.org/TR/WCAG22/#contrast-minimum>
const CONTRAST: &str = "(() => {
  const part = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const parse = (text) => { const found = /rgba?\\(([^)]+)\\)/.exec(text); return found ? found[1].split(/[ ,/]+/).map(Number) : null; };
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour && (colour[3] ?? 1) > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  // Text of a picture lies on the last box below it that is filled.
  const below = (text) => {
    const box = text.getBoundingClientRect(), x = box.left + Math.min(4, box.width / 2), y = (box.top + box.bottom) / 2;
    let colour = null;
    for (const rect of text.ownerSVGElement.querySelectorAll('rect')) {
      if (!(rect.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
      const over = rect.getBoundingClientRect(), fill = parse(getComputedStyle(rect).fill);
      if (fill && (fill[3] ?? 1) > 0.99 && over.left <= x && over.right >= x && over.top <= y && over.bottom >= y) colour = fill;
    }
    return colour ?? behind(text);
  };
  const bad = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || ['SCRIPT', 'STYLE', 'title', 'OPTION'].includes(node.tagName) || !node.checkVisibility()) continue;
    const style = getComputedStyle(node), text = node.closest('svg text');
    const [ink, ground] = text ? [parse(style.fill), below(text)] : [parse(style.color), behind(node)];
    const [high, low] = [light(ink), light(ground)].sort((a, b) => b - a), ratio = (high + 0.05) / (low + 0.05);
    const pixels = parseFloat(style.fontSize), isLarge = pixels >= 24 || (pixels >= 18.66 && Number(style.fontWeight) >= 700);
    seen += 1;
    if (ratio < (isLarge ? 3 : 4.5)) bad.push(`${ratio.toFixed(2)} ${node.tagName} ${style.color} on ${ground}: ${walker.currentNode.textContent.slice(0, 40)}`);
  }
  return { seen, bad };
})()";

#[test]
fn all_text_has_contrast_in_light_and_dark() {
    let Some((_folder, mut browser)) = page(|path| heat_with_code(path, 16), "") else { return };
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.call("Emulation.setEmulatedMedia", features);
        let dark = browser.eval("matchMedia('(prefers-color-scheme: dark)').matches");
        assert_eq!(dark, scheme == "dark");
        let found = browser.eval(CONTRAST);
        assert!(found["seen"].as_i64().unwrap() > 200, "{found}");
        assert_eq!(found["bad"], json!([]), "{scheme}");
    }
}

/// Who opens a downloaded table gets text where there is text, and numbers where there are numbers.
#[test]
fn a_downloaded_table_holds_no_formula() {
    let named = |path: &std::path::Path| {
        heat(path);
        let db = Connection::open(path).unwrap();
        db.execute("UPDATE process SET host = '=1+1' WHERE rank = 0", []).unwrap();
    };
    let Some((_folder, mut browser)) = page(named, "") else { return };
    let saved = browser.eval(
        "new Promise((done) => { HTMLAnchorElement.prototype.click = () => {}; \
         URL.createObjectURL = (file) => { done(file.text()); return '#'; }; \
         document.querySelector('[data-csv=ranks]').click(); })",
    );
    let saved = saved.as_str().expect("what is downloaded");
    assert!(saved.contains(",'=1+1,") && !saved.contains(",=1+1"), "{saved}");
}
