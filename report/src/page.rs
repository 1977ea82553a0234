//! The markup of the page. Nothing in it comes from elsewhere: style and script are part of it, and its policy lets nothing else in.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;
use sha2::{Digest, Sha256};
use through_core::text::units;

use crate::data::{Told, Words};

const STYLE: &str = include_str!("page/style.css");

/// In the order in which they need each other.
const SCRIPTS: &[&str] = &[
    include_str!("page/start.js"),
    include_str!("page/data.js"),
    include_str!("page/words.js"),
    include_str!("page/filters.js"),
    include_str!("page/sums.js"),
    include_str!("page/colours.js"),
    include_str!("page/draw.js"),
    include_str!("page/pen.js"),
    include_str!("page/save.js"),
    include_str!("page/table.js"),
    include_str!("page/names.js"),
    include_str!("page/chart.js"),
    include_str!("page/heatsvg.js"),
    include_str!("page/heat.js"),
    include_str!("page/overview.js"),
    include_str!("page/map.js"),
    include_str!("page/map_picture.js"),
    include_str!("page/communicators.js"),
    include_str!("page/tree.js"),
    include_str!("page/flows.js"),
    include_str!("page/shapes.js"),
    include_str!("page/matrix.js"),
    include_str!("page/ranks.js"),
    include_str!("page/sizetimes.js"),
    include_str!("page/sizes.js"),
    include_str!("page/circle.js"),
    include_str!("page/graph.js"),
    include_str!("page/devices.js"),
    include_str!("page/sites.js"),
    include_str!("page/timeline_calls.js"),
    include_str!("page/timeline_path.js"),
    include_str!("page/timeline_lanes.js"),
    include_str!("page/timeline_draw.js"),
    include_str!("page/timeline_lines.js"),
    include_str!("page/timeline_numbers.js"),
    include_str!("page/timeline_hand.js"),
    include_str!("page/timeline_scene.js"),
    include_str!("page/timeline_act.js"),
    include_str!("page/timeline.js"),
    include_str!("page/layers.js"),
    include_str!("page/files.js"),
    include_str!("page/steps.js"),
    include_str!("page/bench.js"),
    include_str!("page/scaling.js"),
    include_str!("page/history.js"),
    include_str!("page/runs.js"),
    include_str!("page/diff.js"),
    include_str!("page/end.js"),
];

/// The views of the page in their order: name, heading, what it shows.
const VIEWS: &[(&str, &str, &str)] = &[
    (
        "overview",
        "Where the run time went",
        "Ranks × run time, split into work outside MPI, kinds of MPI calls, and ranks that ended early.",
    ),
    ("findings", "Findings", "What to change, the costliest finding first, each with the view that shows it."),
    ("standing", "In-flight calls", "The call of every rank that had not finished."),
    ("scaling", "Scaling", "Efficiencies, run time and MPI time against the number of ranks."),
    ("history", "History", "Run time and MPI time of runs on the same number of ranks, by when they started."),
    (
        "runs",
        "Runs and configurations",
        "Runs of each configuration: mean times, how far they lie apart, and how an entry's time goes with the run time.",
    ),
    ("diff", "Changes between runs", "Changes from the first profile to the last one."),
    (
        "map",
        "Map of communicators",
        "Ranks across, communicators down: which ranks each communicator has, and their time in it. Click to filter all pictures.",
    ),
    ("timeline", "Timeline", "Calls of every rank over time, messages between them, and who waited for whom."),
    ("ranks", "Ranks", "MPI time of every rank on the heaviest communicators; who waited, and for how long."),
    ("communicators", "Communicators", "MPI time by communicator and operation, over the ranks."),
    (
        "matrix",
        "Messages between ranks",
        "Row: the rank that sent; column: the rank that received. Collective calls have no messages.",
    ),
    ("graph", "Who talks to whom", "Processes, grouped by host, and arrows from sender to receiver."),
    ("sizes", "Message sizes", "Time per call against message size; calls, bytes and time by operation and size."),
    ("sites", "Call sites", "The code that called MPI: the outermost function is at the top, the width is the time."),
    ("tree", "Tree of communicators", "Each communicator below its parent; similar ones share a line."),
    ("devices", "Devices", "The devices that carried data from process to process."),
    ("layers", "Layers below MPI", "Operations of layers below MPI, by function, transport and device."),
    ("files", "Files", "Accesses to the files that MPI_File_open opened."),
    (
        "bench",
        "What the machine can do",
        "Measurements by groups of ranks: bandwidth and time by size, by groups, and by active ranks.",
    ),
    ("meta", "About this run", "Data about the run, and what this page leaves out."),
];

pub fn page(data: &Value, words: &Words) -> String {
    // What the page draws with is one script: its hash is all that the policy knows.
    let script = format!("\"use strict\";(() => {{\n{}}})();\n", SCRIPTS.concat());
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(STYLE)
    );
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("commsee ", env!("CARGO_PKG_VERSION")));
                title { (words.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a class="skip" href="#overview" { "Skip to the views" }
                (header(words))
                main {
                    @for (name, heading, about) in VIEWS {
                        section id=(name) data-view=(name) hidden[!words.views.contains(name)] aria-labelledby={ (name) "-heading" } tabindex="-1" {
                            h2 id={ (name) "-heading" } { (heading) }
                            p class="about" { (about) }
                            @match *name {
                                "overview" => (overview(words)),
                                "findings" => (findings(words)),
                                "meta" => (meta(words)),
                                _ => {}
                            }
                            div class="body" {}
                        }
                    }
                }
                footer { p { "Made by " code { "through report" } " of commsee " (env!("CARGO_PKG_VERSION")) ". This page is one file and needs no network." } }
                script type="application/json" id="commsee-data" { (PreEscaped(harmless(&data.to_string()))) }
                script { (PreEscaped(&script)) }
            }
        }
    };
    markup.into_string()
}

fn header(words: &Words) -> Markup {
    html! {
        header {
            h1 title=(words.title) { (words.title) }
            dl class="head" {
                @for (name, text) in &words.lines {
                    div class=[(*name == "note").then_some("note")] { dt { (name) } dd title=(text) { (text) } }
                }
            }
        }
        nav aria-label="Views" {
            ul {
                @for (name, heading, _) in VIEWS.iter().filter(|(name, ..)| words.views.contains(name)) {
                    li { a href={ "#view=" (name) } { (heading) } }
                }
            }
        }
        form id="filters" class="filters" aria-label="Filters" autocomplete="off" {}
        noscript { p class="note" { "Pictures and filters need JavaScript; the findings below do not." } }
    }
}

fn overview(words: &Words) -> Markup {
    html! {
        p class="answer" { (words.answer) }
    }
}

fn findings(words: &Words) -> Markup {
    html! {
        @if words.views.contains(&"standing") {
            p { "Some ranks had not finished. " a href="#view=standing" { "See where each of them was" } }
        }
        @if words.findings.is_empty() { p { "Nothing stands out." } }
        @if let Some(crowded) = &words.crowded { p { (crowded) } }
        @if words.findings.is_empty() && let Some(heaviest) = &words.heaviest {
            p { (heaviest.text) " " a href={ "#" (heaviest.filters) "&view=" (heaviest.view) } { "Show it in “" (heading(heaviest.view)) "”" } }
        }
        (list_of(&words.findings[..words.findings.len().min(FIRST)]))
        @if words.findings.len() > FIRST {
            details {
                summary { (units::count((words.findings.len() - FIRST) as u64, "more finding")) }
                (list_of(&words.findings[FIRST..]))
            }
        }
    }
}

/// So many findings are open at first.
const FIRST: usize = 3;

fn list_of(findings: &[Told]) -> Markup {
    html! {
        ol class="findings" {
            @for finding in findings {
                li class=(finding.level) data-topic=(finding.topic) {
                    h3 { span class="level" { (finding.level) } " " (finding.title) }
                    @let is_told = finding.chain.len() == 1 && finding.chain[0].time_ns > 0;
                    @if !is_told { p class="cost" { (finding.gain) } }
                    @if is_told || finding.chain.len() > 1 { (chain(finding)) }
                    p { (finding.seen) }
                    @if !finding.advice.is_empty() { p class="do" { b { "Do this: " } (finding.advice) } }
                    details { summary { "Why" } p { (finding.more) } }
                    p class="more" {
                        a href={ "#" (finding.filters) @if !finding.filters.is_empty() { "&" } "view=" (finding.view) } { "Show it in “" (heading(finding.view)) "”" }
                        code { (finding.command) }
                    }
                }
            }
        }
    }
}

/// From the cause to what waits for it, each with its part of the run time as a bar.
fn chain(finding: &Told) -> Markup {
    let is_alone = finding.chain.len() == 1;
    html! {
        ol class="chain" {
            @for step in &finding.chain {
                @let share = units::percent(step.share, 1.0);
                li class=(format_args!("d{}", step.depth.min(3))) {
                    span { @if is_alone { (finding.gain) } @else { (step.title) } }
                    svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={ (share) " of the run time" } {
                        rect width=(format_args!("{:.2}", 100.0 * step.share.clamp(0.0, 1.0))) height="10" {}
                    }
                    span class="share" { (units::time(step.time_ns)) ", " (share) }
                }
            }
        }
    }
}

fn heading(view: &str) -> &'static str {
    VIEWS.iter().find(|(name, ..)| *name == view).map(|(_, heading, _)| *heading).unwrap_or_default()
}

fn meta(words: &Words) -> Markup {
    html! {
        @if !words.caps.is_empty() {
            h3 { "What this page adds up or leaves out" }
            ul class="caps" { @for cap in &words.caps { li { (cap) } } }
        }
        @for sentence in &words.about { p { (sentence) } }
        details {
            summary { "All that the profile says of itself" }
            div class="scroll" tabindex="0" role="region" aria-label="Meta data" {
                table {
                    caption class="unseen" { "Meta data of the profile" }
                    thead { tr { th scope="col" { "key" } th scope="col" { "value" } } }
                    tbody { @for (key, value) in &words.meta { tr { th scope="row" { (key) } td { (value) } } } }
                }
            }
        }
    }
}

/// For the policy: <https://www.w3.org/TR/CSP3/#grammardef-hash-source>
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// JSON that ends no element and begins no comment: <https://html.spec.whatwg.org/multipage/scripting.html#restrictions-for-contents-of-script-elements>
fn harmless(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_cannot_end_its_element() {
        let json = serde_json::json!({ "label": "</script><img onerror=x>&<!--" }).to_string();
        let text = harmless(&json);
        assert!(!text.contains(['<', '>', '&']));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            serde_json::from_str::<serde_json::Value>(&json).unwrap()
        );
    }

    #[test]
    fn the_script_says_nothing_that_would_end_it() {
        let script = SCRIPTS.concat();
        assert!(!script.to_lowercase().contains("</script") && !script.contains("<!--"));
        assert!(!STYLE.contains("</"));
    }
}
