//! Reads `sweep.txt`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use commsee::calls::{CALLS, Call};

use crate::program::Language;

#[derive(Clone)]
pub struct Step {
    pub what: What,
    /// The communicator that the call belongs to.
    pub label: String,
    pub only: Option<&'static str>,
}

#[derive(Clone)]
pub enum What {
    Call {
        call: &'static Call,
        arguments: Vec<String>,
        /// Message size, bytes sent, bytes received, where the line tells them.
        bytes: Option<[u64; 3]>,
        message_to: Option<u32>,
    },
    /// A function of `sweep.h`.
    Helper(String),
}

pub struct Script {
    blocks: Vec<Vec<Step>>,
    elsewhere: BTreeSet<String>,
}

impl Script {
    pub fn read() -> Script {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(root.join("tests/sweep/sweep.txt")).expect("sweep.txt");
        let mut script = Script { blocks: vec![Vec::new()], elsewhere: BTreeSet::new() };
        let mut label = String::new();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            if line.is_empty() {
                script.blocks.push(Vec::new());
            } else if let Some(name) = line.strip_prefix('@') {
                label = name.to_owned();
            } else if let Some(rest) = line.strip_prefix("elsewhere ") {
                let (function, program) = rest.split_once(' ').expect("a function and a program");
                let calls = fs::read_to_string(root.join(program)).expect(program);
                assert!(calls.contains(&format!("{function}(")), "{program} does not call {function}");
                script.elsewhere.insert(function.to_owned());
            } else {
                script.blocks.last_mut().expect("a block").push(step(line, &label));
            }
        }
        script
    }

    /// Functions that other programs call.
    pub fn elsewhere(&self) -> BTreeSet<String> {
        self.elsewhere.clone()
    }

    /// Leaves out what a library does not have.
    pub fn available(mut self, has: impl Fn(&str) -> bool, language: Language) -> Script {
        let is_there = |step: &Step| match &step.what {
            What::Call { call, .. } => has(call.name),
            What::Helper(_) => true,
        };
        for block in &mut self.blocks {
            block.retain(|step| step.only.is_none_or(|only| only == language.letter()));
        }
        self.blocks.retain(|block| block.iter().all(is_there));
        self
    }

    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.blocks.iter().flatten()
    }

    pub fn functions(&self) -> BTreeSet<String> {
        let names = self.steps().filter_map(|step| match &step.what {
            What::Call { call, .. } => Some(call.name.to_owned()),
            What::Helper(_) => None,
        });
        names.chain(["MPI_Init", "MPI_Init_thread", "MPI_Finalize"].map(str::to_owned)).collect()
    }
}

fn step(line: &str, label: &str) -> Step {
    let (only, line) = match line.split_once(": ") {
        Some(("C", rest)) => (Some("C"), rest),
        Some(("F", rest)) => (Some("F"), rest),
        _ => (None, line),
    };
    let what = match line.strip_prefix('!') {
        Some(helper) => What::Helper(helper.to_owned()),
        None => call(line, label),
    };
    Step { what, label: label.to_owned(), only }
}

fn call(line: &str, label: &str) -> What {
    let (line, message_to) = match line.split_once(" -> ") {
        Some((line, rank)) => (line, Some(rank.trim().parse().expect("a rank"))),
        None => (line, None),
    };
    let (line, bytes) = match line.split_once(" = ") {
        Some((line, numbers)) => {
            let numbers: Vec<u64> =
                numbers.split_whitespace().map(|number| number.parse().expect("a number of bytes")).collect();
            (line, Some(numbers.try_into().expect("three numbers")))
        }
        None => (line, None),
    };
    let (name, given) = match line.split_once('(') {
        Some((name, rest)) => (name, Some(rest.trim_end().strip_suffix(')').expect("a closing parenthesis"))),
        None => (line, None),
    };
    let name = name.trim();
    let call =
        CALLS.iter().find(|call| call.name == name).unwrap_or_else(|| panic!("sweep.txt: {name} is not profiled"));
    let arguments = match given {
        Some(text) => text.split(',').map(|argument| argument.trim().to_owned()).collect(),
        None => call.arguments().iter().map(|argument| made_up(call, argument.kind, argument.name, label)).collect(),
    };
    What::Call { call, arguments, bytes, message_to }
}

/// An argument by its kind.
fn made_up(call: &Call, kind: &str, name: &str, label: &str) -> String {
    let is_tag = name.ends_with("tag");
    let text = match kind {
        "buf"
            if name.starts_with("recv")
                || name.starts_with("result")
                || ["recv", "read", "read_begin", "read_end"].contains(&call.rule) =>
        {
            "in"
        }
        "buf" => "out",
        "count" => "3",
        "length" => "1",
        "int" | "fact" if is_tag => "5",
        "int" | "fact" if ["dest", "source", "root", "assert"].contains(&name) || name.contains("rank") => "0",
        "type" => "MPI_INT",
        "op" => "MPI_SUM",
        "info" => "MPI_INFO_NULL",
        "comm" => label,
        "types" | "counts" | "displs" | "group" => kind,
        "aints" => "displacements",
        "request" | "newrequest" => "&request",
        "requestvalue" => "request",
        "newcomm" | "latecomm" | "oldcomm" => "&made",
        "message" | "newmessage" => "&message",
        "win" | "file" | "offset" => kind,
        "oldwin" => "&win",
        "oldfile" => "&file",
        "flag" => "&flag",
        "status" => "MPI_STATUS_IGNORE",
        _ => panic!("sweep.txt: {} needs its arguments: {name} is of kind {kind}", call.name),
    };
    text.to_owned()
}
