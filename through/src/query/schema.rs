//! Which views and tables a profile has, and what their columns mean. The meanings are those of the reference,
//! `docs/reference/profile.md`: its tables are read here, so that nothing is said twice.

use std::collections::HashMap;
use std::sync::LazyLock;

use rusqlite::types::Value;
use serde::Serialize;

use super::Error;
use super::open::Profile;

const PAGE: &str = include_str!("../../../docs/reference/profile.md");

/// A view or a table.
#[derive(Debug, Serialize)]
pub struct Relation {
    pub name: String,
    /// `view` or `table`.
    pub kind: String,
    /// Nothing where the reference does not know it.
    pub meaning: Option<&'static str>,
    pub columns: Vec<Column>,
}

#[derive(Debug, Serialize)]
pub struct Column {
    pub name: String,
    /// As declared; empty where a view computes it.
    #[serde(rename = "type")]
    pub declared: String,
    /// Of columns of tables the names say it.
    pub meaning: Option<&'static str>,
}

/// All of them: views first, which are for people.
pub fn relations(profile: &Profile) -> Result<Vec<Relation>, Error> {
    let sql = "SELECT name, type FROM sqlite_schema WHERE type IN ('view', 'table') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
               ORDER BY type DESC, rowid";
    let named: Vec<(String, String)> = profile.query(sql, vec![], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut relations = Vec::new();
    for (name, kind) in named {
        let sql = "SELECT name, type FROM pragma_table_info(?)";
        let columns = profile.query(sql, vec![Value::Text(name.clone())], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let column = |(column, declared): (String, String)| {
            let meaning = if kind == "view" { MEANINGS.column(&name, &column) } else { None };
            Column { name: column, declared, meaning }
        };
        let columns = Vec::into_iter(columns).map(column).collect();
        relations.push(Relation { meaning: MEANINGS.of.get(name.as_str()).map(String::as_str), name, kind, columns });
    }
    Ok(relations)
}

static MEANINGS: LazyLock<Meanings> = LazyLock::new(|| Meanings::read(PAGE));

/// What the reference says of views and tables, and of the columns of views.
#[derive(Default)]
struct Meanings {
    of: HashMap<&'static str, String>,
    columns: HashMap<(&'static str, &'static str), String>,
}

impl Meanings {
    fn read(page: &'static str) -> Meanings {
        let mut meanings = Meanings::default();
        let mut section = "";
        let mut about: Vec<&str> = Vec::new();
        let mut is_column = false;
        for line in page.lines() {
            if let Some(heading) = line.strip_prefix("### ") {
                section = heading.split(' ').next().unwrap_or_default();
            }
            let Some((first, rest)) = line.strip_prefix("| ").and_then(|row| row.split_once(" | ")) else {
                if !line.starts_with('|') {
                    about.clear();
                    is_column = false;
                }
                continue;
            };
            let meaning = rest.strip_suffix(" |").unwrap_or(rest);
            match first {
                "column" => (about, is_column) = (vec![section], true),
                "view" | "table" if meaning == "holds" => is_column = false,
                head if head.starts_with("column of ") => (about, is_column) = (quoted(head).collect(), true),
                names if is_column => {
                    for (view, column) in about.iter().flat_map(|view| quoted(names).map(move |column| (*view, column)))
                    {
                        meanings.columns.insert((view, column), plain(meaning));
                    }
                }
                // Tables of the page that are about something else name no view and no table.
                names => quoted(names).for_each(|name| _ = meanings.of.entry(name).or_insert_with(|| plain(meaning))),
            }
        }
        meanings
    }

    fn column(&self, view: &str, column: &str) -> Option<&str> {
        let known = |view: &str| {
            self.columns
                .iter()
                .find(|((of, name), _)| (*of, *name) == (view, column))
                .map(|(_, meaning)| meaning.as_str())
        };
        let sums = if view == "summary" { "summaries" } else { view };
        known(view).or_else(|| known(sums)).or_else(|| known("profile"))
    }
}

/// The words between backticks.
fn quoted(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split('`').skip(1).step_by(2)
}

/// The first sentence of a cell, without Markdown.
fn plain(cell: &str) -> String {
    let sentence = cell.split(". ").next().unwrap_or(cell);
    let mut text = String::new();
    let mut rest = sentence;
    while let Some((before, link)) = rest.split_once('[') {
        text += before;
        match link.split_once("](") {
            Some((title, target)) => {
                text += title;
                rest = target.split_once(')').map_or("", |(_, after)| after);
            }
            None => rest = link,
        }
    }
    text += rest;
    text.replace('`', "").replace("\\|", "|").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings_are_one_sentence_without_markdown() {
        assert_eq!(
            plain("its [birthplace](glossary.md#birthplace): `grid.c:88`. Else null"),
            "its birthplace: grid.c:88"
        );
        assert_eq!(MEANINGS.of["profile"].split(':').next(), Some("calls, bytes and time"));
        assert_eq!(MEANINGS.column("sites", "outer").map(|text| text.starts_with("the id of the site")), Some(true));
        assert_eq!(MEANINGS.column("events", "comm").map(|text| text.starts_with("of the call")), Some(true));
    }
}
