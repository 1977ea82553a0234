//! The bodies of functions that follow one of the table's shapes.

use std::fmt::Write as _;

use vocabulary::calls::{Call, Shape};

use crate::table::{body_type, receives, rule, seen, status, tag};

pub fn write(call: &Call) -> String {
    let name = call.name;
    let parameters: String =
        seen(call).map(|argument| format!("{}: {}, ", argument.name, body_type(argument))).collect();
    let carrier = call.arguments().iter().find(|argument| ["comm", "win", "file"].contains(&argument.kind));
    let carrier = carrier.unwrap_or_else(|| panic!("{name} has no communicator"));
    let (comm, is_file) = (carrier.name, carrier.kind == "file");
    let of = if carrier.kind == "win" { "Window" } else { "Comm" };
    let place = |kind: &str| {
        call.arguments().iter().find(|argument| argument.kind == kind).map_or("", |argument| argument.name)
    };
    let (request, made) = (place("newrequest"), place("newcomm"));
    let (forward_type, forward) = match status(call) {
        Some(status) => ("Word", format!("|| forward({})", status.name)),
        None => ("", "forward".to_owned()),
    };

    let mut text = String::new();
    let mut line = |words: &str| writeln!(text, "{words}").unwrap();
    line("#[inline(always)]");
    line(&format!(
        "pub unsafe fn {name}(thread: &Thread, {parameters}forward: impl FnOnce({forward_type}) -> c_int) -> c_int {{"
    ));
    if let Some(status) = status(call) {
        line("    let mut own = status::Own::new();");
        line(&format!("    let {0} = own.stand_in({0});", status.name));
    }
    if call.shape == Shape::Creator {
        line(&format!("    let parent = creators::parent(thread, {comm});"));
    }
    let over = match carrier.kind {
        "comm" => format!("Over::Comm({comm})"),
        "win" => format!("Over::Record(windows::of(thread, {comm}))"),
        _ => format!("Over::Record(files::of({comm}))"),
    };
    line(&format!("    let done = call(thread, op::{name}, {over}, {forward});"));
    let rule = rule_call(call);
    let counted = match call.shape {
        Shape::Blocking if is_file => format!("files::call(thread, {comm}, done, |context| {rule})"),
        Shape::Blocking => format!("twice!(tally::call::<{of}>, (thread, {comm}, done), |context| {rule})"),
        Shape::Request if is_file => {
            let function = if call.rule == "read" { "reading" } else { "started" };
            format!("files::{function}(thread, {comm}, {request}, done, |context| {rule})")
        }
        Shape::Request if !receives(call) => {
            format!("twice!(nonblocking::started::<{of}>, (thread, {comm}, {request}, done), |context| {rule})")
        }
        Shape::Request => {
            let function = if call.rule == "recv" { "receiving" } else { "started_both" };
            format!("nonblocking::{function}::<{of}>(thread, {comm}, {request}, done, |context| {rule})")
        }
        Shape::Persistent => {
            let starts = match call.rule {
                "recv" | "precv" => "Receives",
                "psend" => "Partitions",
                _ => "Sends",
            };
            format!("persistent::prepared(thread, {comm}, {request}, done, Starts::{starts}, |context| {rule})")
        }
        Shape::Creator => {
            let letter = call.letter.expect("has a letter");
            format!(
                "{{\n        // SAFETY: the call has filled the place where it succeeded.\n        unsafe {{ creators::created(thread, parent, b'{letter}', {comm}, {made}, done) }}\n    }}"
            )
        }
        Shape::Hand | Shape::Own => unreachable!(),
    };
    // What fails in here must not cost the program more than its counts.
    line(&format!("    recorded(|| {counted});"));
    line("    done.code\n}\n");
    text
}

/// The call of the rule's function in `volume`, with the arguments that the rule looks at.
fn rule_call(call: &Call) -> String {
    let blocking = call.shape == Shape::Blocking;
    // What a nonblocking receive brings is known at its completion: of a combined call only the send side counts now.
    let (function, status) = match call.rule {
        "recv" if blocking => ("recv", ", status"),
        "recv" => ("posted", ""),
        "read" if blocking => ("read", ", status"),
        "read" => ("read_begin", ""),
        "sendrecv" if blocking => ("sendrecv", ", status"),
        "sendrecv" => ("sendrecv_posted", ""),
        "sendrecv_replace" if blocking => ("sendrecv_replace", ", status"),
        "sendrecv_replace" => ("sendrecv_replace_posted", ""),
        other => (other, ""),
    };
    let words: String = rule(call).arguments.iter().map(|name| format!(", {name}")).collect();
    let told = format!("volume::{function}(context{words}{status})");
    let told = match status.is_empty() {
        true => told,
        false => format!("{{\n        // SAFETY: the call has filled the status.\n        unsafe {{ {told} }}\n    }}"),
    };
    match tag(call) {
        Some(tag) => format!("{{ context.tagged({tag}); {told} }}"),
        None => told,
    }
}
