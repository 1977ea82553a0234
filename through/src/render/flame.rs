//! Stacks for the tools that draw flame graphs: folded, one line each (<https://github.com/brendangregg/FlameGraph>), and the file format of
//! speedscope (<https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources>).

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::json;

use crate::document::{Document, Drawing};
use crate::text::escape::visible;
use crate::text::terminal::Terminal;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    pub name: String,
    pub file: Option<String>,
    pub line: Option<u32>,
}

pub struct Stack {
    /// The outermost first.
    pub frames: Vec<Frame>,
    /// Nanoseconds.
    pub weight: i64,
}

pub struct Flame {
    pub stacks: Vec<Stack>,
    pub is_speedscope: bool,
}

impl Drawing for Flame {
    fn draw(&self, document: &Document, _: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        if self.is_speedscope { self.speedscope(document, out) } else { self.folded(out) }
    }
}

impl Flame {
    fn folded(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut lines: BTreeMap<String, i64> = BTreeMap::new();
        for stack in &self.stacks {
            let names: Vec<String> = stack.frames.iter().map(|frame| folded(&frame.name)).collect();
            let sum = lines.entry(names.join(";")).or_default();
            *sum = sum.saturating_add(stack.weight);
        }
        lines.iter().try_for_each(|(stack, weight)| writeln!(out, "{stack} {weight}"))
    }

    fn speedscope(&self, document: &Document, out: &mut dyn Write) -> io::Result<()> {
        let mut numbers: BTreeMap<&Frame, usize> = BTreeMap::new();
        let mut frames = Vec::new();
        let (mut samples, mut weights, mut end) = (Vec::new(), Vec::new(), 0i64);
        for stack in &self.stacks {
            let mut sample = Vec::new();
            for frame in &stack.frames {
                sample.push(*numbers.entry(frame).or_insert_with(|| {
                    let mut known = json!({ "name": frame.name });
                    if let (Some(file), Some(line)) = (&frame.file, frame.line) {
                        (known["file"], known["line"]) = (json!(file), json!(line));
                    }
                    frames.push(known);
                    frames.len() - 1
                }));
            }
            samples.push(sample);
            weights.push(stack.weight);
            end = end.saturating_add(stack.weight);
        }
        let name = document.head.path.file_name().unwrap_or_default().to_string_lossy();
        let file = json!({
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "exporter": "commsee",
            "name": name,
            "shared": { "frames": frames },
            "profiles": [{
                "type": "sampled",
                "name": "time in MPI calls, all ranks",
                "unit": "nanoseconds",
                "startValue": 0,
                "endValue": end,
                "samples": samples,
                "weights": weights,
            }],
        });
        serde_json::to_writer(&mut *out, &file)?;
        out.write_all(b"\n")
    }
}

/// A name in which nothing is taken for the end of a frame or of a line.
fn folded(name: &str) -> String {
    visible(name).replace(';', ":")
}
