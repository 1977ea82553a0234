//! The bodies of functions that follow one of the table's shapes.

use std::fmt::Write as _;

use vocabulary::calls::{Call, Shape};

use crate::table::{body_type, has_short, receives, rule, seen, status, tag};

/// Rules that are told by a few numbers, and tell whether they were.
const AT_ONCE: [&str; 11] =
    ["allreduce", "bcast", "exscan", "get", "put", "recv", "reduce", "scan", "send", "sendrecv", "sendrecv_replace"];

pub fn write(call: &Call) -> String {
    let name = call.name;
    let parameters: String =
        seen(call).map(|argument| format!("{}: {}, ", argument.name, body_type(argument))).collect();
    let carrier = call.arguments.iter().find(|argument| ["comm", "win", "file"].contains(&argument.kind));
    let carrier = carrier.unwrap_or_else(|| panic!("{name} has no communicator"));
    let comm = carrier.name;
    let of = match carrier.kind {
        "win" => "Window",
        _ => "Comm",
    };
    let is_file = carrier.kind == "file";
    // Of the others there is only the full path.
    let (generic, path) = if has_short(call) { ("<P: Path>", "P") } else { ("", "Full") };
    let place =
        |kind: &str| call.arguments.iter().find(|argument| argument.kind == kind).map_or("", |argument| argument.name);
    let (request, made) = (place("newrequest"), place("newcomm"));
    let (forward_type, forwarded) = match status(call) {
        Some(status) => ("Word", status.name),
        None => ("", ""),
    };

    let mut text = String::new();
    let mut line = |words: &str| writeln!(text, "{words}").unwrap();
    line("#[inline(always)]");
    line(&format!(
        "pub unsafe fn {name}{generic}(thread: &Thread, {parameters}forward: impl FnOnce({forward_type}) -> c_int) -> c_int {{"
    ));
    if let Some(status) = status(call) {
        line("    let mut own = status::Own::new();");
        line(&format!("    let {0} = own.stand_in::<{path}>({0});", status.name));
    }
    if call.shape == Shape::Creator {
        // A duplicate finds its parent afterwards, with its shortcut.
        line(&match has_short(call) {
            true => format!("    creators::meet::<P>(thread, {comm}, op::{name});"),
            false => format!("    let parent = creators::parent(thread, {comm});"),
        });
        line(&format!("    let counted = tally::counted_before::<{path}>(thread);"));
    }
    let enter = match (call.shape, carrier.kind) {
        (Shape::Creator, _) if !has_short(call) => format!("enter_over::<{path}>(thread, level, parent"),
        (_, "comm") => format!("enter::<{path}>(thread, level, {comm}"),
        (_, "win") => {
            format!("enter_over::<{path}>(thread, level, carriers::before::<Window>(thread, op::{name}, {comm})")
        }
        _ => format!("enter_over::<{path}>(thread, level, files::of({comm})"),
    };
    line(&format!("    let level = in_flight::free_level::<{path}>(thread);"));
    line(&format!("    let begin = clock::now_on::<{path}>();"));
    line(&format!("    let place = in_flight::{enter}, op::{name}, begin);"));
    line(&format!("    let code = forward({forwarded});"));
    // What is only asked for where datatypes or a timeline are recorded outlasts no call on the short path.
    if has_short(call) && told(call) {
        for name in seen(call).map(|argument| argument.name).filter(|name| asked_for_receives(call.rule).contains(name))
        {
            line(&format!("    let {name} = if P::IS_SHORT {{ Default::default() }} else {{ {name} }};"));
        }
    }
    // What the call was given lies where the call was noted, and so in no register while the library has the processor.
    let is_noted = carrier.kind == "comm" && (call.shape != Shape::Creator || has_short(call));
    let again = if is_noted { "0" } else { comm };
    if has_short(call) {
        line("    if P::IS_SHORT && code != 0 {");
        line(&match call.shape {
            Shape::Creator => format!("        return creators::failed(thread, place, op::{name}, code);"),
            _ => format!("        return forward::failed::<{of}, P>(thread, place, {again}, op::{name}, code);"),
        });
        line("    }");
        line("    let code = if P::IS_SHORT { 0 } else { code };");
    }
    line(&format!("    let end = clock::now_on::<{path}>();"));
    let noted = if is_noted { comm } else { "_" };
    line(&format!("    let (begin, {noted}) = in_flight::leave_as_noted::<{path}>(place, begin, {comm}, end);"));
    // What fails in here must not cost the program more than its counts.
    line("    recorded(|| {");
    if let Some(tag) = tag(call) {
        line(&format!("        if trace::is_on_in::<{path}>() {{ trace::set_tag(thread, {tag}); }}"));
    }
    line("        let ticks = end.wrapping_sub(begin);");
    if call.shape == Shape::Creator {
        line(&format!("        let ticks = tally::without_nested::<{path}>(thread, counted, begin, ticks);"));
    }
    line(&format!("        let done = Done {{ operation: op::{name}, code, ticks }};"));
    let rule = match AT_ONCE.contains(&call.rule) && told(call) {
        true => format!("{}.unwrap_or_default()", rule_call(call)),
        false => rule_call(call),
    };
    match call.shape {
        Shape::Blocking if is_file => line(&format!("        files::call(thread, {comm}, done, |context| {rule});")),
        Shape::Blocking if call.rule == "none" => {
            line(&format!("        tally::call_without_bytes::<{path}, {of}>(thread, {comm}, done);"));
        }
        Shape::Blocking if has_short(call) && AT_ONCE.contains(&call.rule) => line(&format!(
            "        tally::call_at_once::<{path}, {of}>(thread, {comm}, done, move |context| {at_once}, move |context| {rule});",
            at_once = rule_call(call),
        )),
        Shape::Blocking => {
            line(&format!("        tally::call::<{path}, {of}>(thread, {comm}, done, |context| {rule});"))
        }
        Shape::Request if is_file => {
            let function = if call.rule == "read" { "reading" } else { "started" };
            line(&format!("        files::{function}(thread, {comm}, {request}, done, |context| {rule});"));
        }
        Shape::Request if has_short(call) && AT_ONCE.contains(&call.rule) && !receives(call) => line(&format!(
            "        nonblocking::started_at_once::<{path}, {of}>(thread, {comm}, {request}, done, move |context| {at_once}, move |context| {rule});",
            at_once = rule_call(call),
        )),
        Shape::Request => {
            let function = match call.rule {
                "recv" => "receiving",
                _ if receives(call) => "started_both",
                _ => "started",
            };
            line(&format!(
                "        nonblocking::{function}::<{path}, {of}>(thread, {comm}, {request}, done, move |context| {rule});"
            ));
        }
        Shape::Persistent => {
            let starts = match call.rule {
                "recv" | "precv" => "Receives",
                "psend" => "Partitions",
                _ => "Sends",
            };
            line(&format!(
                "        persistent::prepared(thread, {comm}, {request}, done, Starts::{starts}, |context| {rule});"
            ));
        }
        Shape::Creator if has_short(call) => {
            let letter = call.letter.expect("has a letter");
            line(&format!(
                "        // SAFETY: the call has filled the place where it succeeded.
        unsafe {{ creators::duplicated::<P>(thread, b'{letter}', {comm}, {made}, done) }};"
            ));
        }
        Shape::Creator => {
            let letter = call.letter.expect("has a letter");
            line(&format!(
                "        // SAFETY: the call has filled the place where it succeeded.
        unsafe {{ creators::created(thread, parent, b'{letter}', {comm}, {made}, done) }};"
            ));
        }
        Shape::Hand | Shape::Own => unreachable!(),
    }
    line("    });");
    line("    code\n}\n");
    text
}

/// The arguments of a rule that tell what the program is ready to receive. What arrives the status tells.
fn asked_for_receives(rule: &str) -> &[&str] {
    match rule {
        "recv" => &["count", "datatype", "source"],
        "sendrecv" => &["recvcount", "recvtype", "source"],
        "sendrecv_replace" => &["source"],
        _ => &[],
    }
}

/// Whether its bytes are told when it returns, and not by its completion.
fn told(call: &Call) -> bool {
    call.rule != "recv" || call.shape == Shape::Blocking
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
    let call = format!("volume::{function}(context{words}{status})");
    if status.is_empty() {
        call
    } else {
        format!(
            "{{\n            // SAFETY: the call has filled the status.\n            unsafe {{ {call} }}\n        }}"
        )
    }
}
