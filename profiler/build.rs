//! Writes the wrappers from the table of calls (`$OUT_DIR/wrappers.rs`). The functions that the table marks `hand` are
//! left out: they stand in `src/wrappers/`.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use vocabulary::calls::{Argument, CALLS, Call, RULES, Shape};

fn main() {
    println!("cargo:rerun-if-changed=../calls.table");
    let mut text = String::new();
    for call in CALLS.iter().filter(|call| call.shape != Shape::Hand) {
        wrapper(&mut text, call, false);
        if call.large {
            wrapper(&mut text, call, true);
        }
    }
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("wrappers.rs"), text).expect("write wrappers.rs");
}

fn wrapper(text: &mut String, call: &Call, large: bool) {
    let name = call.name;
    let suffix = if large { "_c" } else { "" };
    let slot = if large { format!("real::LARGE + op::{name} as usize") } else { format!("op::{name} as usize") };
    let types: Vec<&str> = call.arguments.iter().map(|argument| rust_type(argument, large)).collect();
    let parameters: Vec<String> = call
        .arguments
        .iter()
        .zip(&types)
        .map(|(argument, kind)| format!("{}: {kind}", rust_name(argument.name)))
        .collect();
    let names: Vec<String> = call.arguments.iter().map(|argument| rust_name(argument.name)).collect();
    let names = names.join(", ");
    let comm = call.arguments.iter().find(|argument| argument.kind == "comm");
    let comm = rust_name(comm.unwrap_or_else(|| panic!("{name} has no communicator")).name);
    let has_status = call.arguments.iter().any(|argument| argument.kind == "status");
    let receives = matches!(call.rule, "recv" | "sendrecv" | "sendrecv_replace");
    let enter = if call.shape == Shape::Blocking { "recording" } else { "following" };

    let mut line = |words: &str| writeln!(text, "{words}").unwrap();
    line("#[unsafe(no_mangle)]");
    line(&format!("pub unsafe extern \"C\" fn {name}{suffix}({}) -> c_int {{", parameters.join(", ")));
    line(&format!("    let real: unsafe extern \"C\" fn({}) -> c_int =", types.join(", ")));
    line(&format!("        unsafe {{ std::mem::transmute(real::function({slot})) }};"));
    line(&format!("    let Some(thread) = thread::{enter}() else {{ return unsafe {{ real({names}) }} }};"));
    if receives && has_status {
        line("    let mut own = status::Own::new();");
        line("    let status = own.stand_in(status);");
    }
    if call.shape == Shape::Creator {
        line(&format!("    let parent = creators::parent(thread, {comm});"));
        line("    let counted = thread.counted_ticks;");
    }
    line("    let begin = clock::now();");
    line(&format!("    let code = unsafe {{ real({names}) }};"));
    line("    let ticks = clock::now().wrapping_sub(begin);");
    if call.shape == Shape::Creator {
        line("    let ticks = creators::without_nested(thread, counted, ticks);");
    }
    line(&format!("    let done = Done {{ operation: op::{name}, code, ticks }};"));
    let rule = rule_call(call, large);
    match call.shape {
        Shape::Blocking => line(&format!("    tally::call(thread, {comm}, done, |context| {rule});")),
        Shape::Request if call.rule == "recv" => {
            line("    if code != 0 {");
            line(&format!("        tally::failed(thread, {comm}, done);"));
            line("    } else {");
            line(&format!("        let record = communicators::of(thread, {comm});"));
            line(&format!("        tally::receiving(thread, record, request, done, |context| {rule});"));
            line("    }");
        }
        Shape::Request if receives => {
            line(&format!("    tally::started_both(thread, {comm}, request, done, |context| {rule});"));
        }
        Shape::Request => line(&format!("    tally::started(thread, {comm}, request, done, |context| {rule});")),
        Shape::Persistent => line(&format!(
            "    tally::prepared(thread, {comm}, request, done, {}, |context| {rule});",
            call.rule == "recv"
        )),
        Shape::Creator => {
            let made = call.arguments.iter().find(|argument| argument.kind == "newcomm").expect("makes one").name;
            let letter = call.letter.expect("has a letter");
            line(&format!("    unsafe {{ creators::created(thread, parent, b'{letter}', {comm}, {made}, done) }};"));
        }
        Shape::Hand => unreachable!(),
    }
    line("    code\n}\n");
}

/// The call of the rule's function in `volume`, with the arguments that the rule looks at.
fn rule_call(call: &Call, large: bool) -> String {
    let rule = RULES.iter().find(|rule| rule.name == call.rule).expect("build.rs of commsee checked it");
    let blocking = call.shape == Shape::Blocking;
    // What a nonblocking receive brings is known at its completion: of a combined call only the send side counts now.
    let (function, status) = match call.rule {
        "recv" if blocking => ("recv", ", status"),
        "recv" => ("posted", ""),
        "sendrecv" if blocking => ("sendrecv", ", status"),
        "sendrecv" => ("sendrecv_posted", ""),
        "sendrecv_replace" if blocking => ("sendrecv_replace", ", status"),
        "sendrecv_replace" => ("sendrecv_replace_posted", ""),
        other => (other, ""),
    };
    let mut words = String::new();
    for wanted in rule.arguments {
        let argument = call.arguments.iter().find(|argument| argument.name == *wanted).expect("checked in commsee");
        let name = rust_name(argument.name);
        match argument.kind {
            "count" if !large => write!(words, ", i64::from({name})").unwrap(),
            "counts" => write!(words, ", volume::Counts {{ place: {name}, large: {large} }}").unwrap(),
            _ => write!(words, ", {name}").unwrap(),
        }
    }
    let call = format!("volume::{function}(context{words}{status})");
    if status.is_empty() { call } else { format!("unsafe {{ {call} }}") }
}

fn rust_type(argument: &Argument, large: bool) -> &'static str {
    match argument.kind {
        "int" => "c_int",
        "count" if large => "i64",
        "count" => "c_int",
        _ => "Word",
    }
}

/// `type`-like names do not occur in the table; this keeps it so.
fn rust_name(name: &str) -> String {
    assert!(!["type", "in", "ref", "match"].contains(&name), "{name} is a word of Rust");
    name.to_owned()
}
