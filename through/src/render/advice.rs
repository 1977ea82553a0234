//! Findings for people: what, why, what to try, and the command that shows it.

use std::io::{self, Write};

use super::table;
use super::words::wrap;
use crate::document::{Document, Drawing};
use crate::text::escape::visible;
use crate::text::terminal::{Paint, Terminal};

const INDENT: usize = 6;

pub struct Item {
    pub level: &'static str,
    pub is_high: bool,
    pub title: String,
    /// Sentences.
    pub text: String,
    /// What it costs and how sure that is.
    pub cost: String,
    pub command: String,
}

pub struct Advice {
    pub items: Vec<Item>,
    /// Said where there is none, or behind them.
    pub foot: String,
}

impl Drawing for Advice {
    fn draw(&self, document: &Document, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        table::head(&document.head, terminal, out)?;
        for item in &self.items {
            writeln!(out)?;
            let paint = if item.is_high { Paint::Warning } else { Paint::Strong };
            let level = terminal.paint(paint, &format!("{:<INDENT$}", item.level)).into_owned();
            for (at, line) in wrap(&visible(&item.title), terminal.columns - INDENT).iter().enumerate() {
                let before = if at == 0 { level.as_str() } else { "      " };
                writeln!(out, "{before}{}", terminal.paint(Paint::Strong, line))?;
            }
            for text in [&item.cost, &item.text] {
                for line in wrap(&visible(text), terminal.columns - INDENT) {
                    writeln!(out, "{:INDENT$}{line}", "")?;
                }
            }
            writeln!(out, "{:INDENT$}{}", "", terminal.paint(Paint::Faint, &visible(&item.command)))?;
        }
        writeln!(out)?;
        table::lines(&self.foot, Paint::Faint, terminal, out)
    }
}
