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
    /// What the run gains, and how sure that is.
    pub gain: String,
    /// What was seen, and what to try.
    pub text: String,
    /// What else there is to know, for a fold of the page.
    pub more: String,
    /// Waits that it explains, indented by their depth.
    pub victims: Vec<String>,
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
            for text in [&item.gain, &item.text] {
                for line in wrap(&visible(text), terminal.columns - INDENT) {
                    writeln!(out, "{:INDENT$}{line}", "")?;
                }
            }
            for victim in &item.victims {
                let own = victim.trim_start();
                let indent = INDENT + victim.len() - own.len();
                for (at, line) in wrap(&visible(own), terminal.columns - indent - 3).iter().enumerate() {
                    writeln!(out, "{:indent$}{} {line}", "", if at == 0 { "<-" } else { "  " })?;
                }
            }
            writeln!(out, "{:INDENT$}{}", "", terminal.paint(Paint::Faint, &visible(&item.command)))?;
        }
        writeln!(out)?;
        table::lines(&self.foot, Paint::Faint, terminal, out)
    }
}
