//! Views and tables with their columns, for people.

use std::io::{self, Write};

use crate::query::schema::Relation;
use crate::text::escape::visible;
use crate::text::terminal::{Paint, Terminal};

pub fn relations(all: &[Relation], terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    for (at, relation) in all.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        let name = visible(&relation.name);
        writeln!(out, "{} {}", relation.kind, terminal.paint(Paint::Strong, &name))?;
        wrapped(2, relation.meaning.unwrap_or_default(), terminal, out)?;
        if relation.kind == "table" {
            let names: Vec<String> = relation.columns.iter().map(|column| visible(&column.name).into_owned()).collect();
            wrapped(4, &names.join(", "), terminal, out)?;
            continue;
        }
        let widest = relation.columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0).min(24);
        for column in &relation.columns {
            let mut lines = lines(column.meaning.unwrap_or_default(), terminal.columns.saturating_sub(6 + widest));
            let first = if lines.is_empty() { String::new() } else { lines.remove(0) };
            writeln!(out, "{}", format!("    {:widest$}  {first}", visible(&column.name)).trim_end())?;
            lines.iter().try_for_each(|line| writeln!(out, "    {:widest$}  {line}", ""))?;
        }
    }
    Ok(())
}

fn wrapped(indent: usize, text: &str, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    lines(text, terminal.columns - indent).iter().try_for_each(|line| writeln!(out, "{:indent$}{line}", ""))
}

/// Broken between words.
fn lines(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
