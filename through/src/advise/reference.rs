//! The reference of advice, written from the topics.

use std::fmt::Write as _;

use super::topics::Topic;

/// The page `docs/reference/advice.md`.
pub fn page(topics: &[&Topic]) -> String {
    let mut page = String::from(
        "# Advice\n\nWritten from the lists of topics, `through/src/advise/topics.rs` and `insight/src/machine.rs`. [`through advise`](through.md#through-advise) tells a finding if its rule holds and it costs at \
         least 1 % of the run time of all ranks (`info`), 3 % (`warn`) or 10 % (`high`); where a topic says so, whatever it costs.\n\n| topic | said if | thresholds after |\n|---|---|---|\n",
    );
    for topic in topics {
        let _ = writeln!(page, "| `{}` | {} | {} |", topic.name, topic.rule, topic.source);
    }
    for topic in topics {
        let _ = write!(page, "\n## {}\n\n*{}*\n\n{}\n\n{}\n", topic.name, topic.title, topic.text, topic.advice);
    }
    page
}
