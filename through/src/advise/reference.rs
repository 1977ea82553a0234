//! The reference of advice, written from the topics.

use std::fmt::Write as _;

use super::topics::{CALLS, Topic, WORKS};

/// The page `docs/reference/advice.md`.
pub fn page(topics: &[&Topic]) -> String {
    let mut page = String::from(
        "# Advice\n\nWritten from the lists of topics, `through/src/advise/topics.rs` and `insight/src/machine.rs`. [`through advise`](through.md#through-advise) reports a finding if its rule holds and fixing it saves at \
         least 1 % of the run time (`info`), 3 % (`warn`) or 10 % (`high`). If a rule says at least `info` or `warn`, the finding is reported at any cost. `through explain TOPIC` prints the section of one topic.\n\n| topic | reported if | source of the thresholds |\n|---|---|---|\n",
    );
    for topic in topics {
        let _ = writeln!(page, "| `{}` | {} | {} |", topic.name, topic.rule, topic.source);
    }
    for topic in topics {
        let _ = write!(
            page,
            "\n## {}\n\n*{}*\n\n{}\n\n{} {}\n",
            topic.name, topic.title, topic.text, topic.advice, topic.more
        );
        if topic.name == "late-rank" {
            for known in [WORKS, CALLS] {
                let _ = write!(page, "\nIf the cause is known: *{}.* {}\n", known.title, known.advice);
            }
        }
    }
    page
}

/// What `through explain` says of one.
pub fn explained(topic: &Topic) -> String {
    format!(
        "{}\n\n{}\n{} {}\n\nReported if: {}\n\nThresholds: {}",
        topic.name,
        spoken(topic.title),
        spoken(topic.advice),
        topic.more,
        topic.rule.replace('`', ""),
        topic.source
    )
}

/// A text with what a rule fills in as words: `OP on COMM waits for RANKS`.
fn spoken(text: &str) -> String {
    let mut parts = text.split(['{', '}']);
    let mut spoken = parts.next().unwrap_or_default().to_owned();
    while let (Some(name), text) = (parts.next(), parts.next().unwrap_or_default()) {
        match name {
            "s" | "es" | "is" => spoken += name,
            "op" | "comm" | "ranks" | "Ranks" | "creator" | "host" | "longer" | "early" => {
                spoken += &name.to_uppercase()
            }
            // What is said only at times.
            "at" | "place" | "named" | "between" | "trace" => {}
            _ => spoken.push('…'),
        }
        spoken += text;
    }
    spoken
}
