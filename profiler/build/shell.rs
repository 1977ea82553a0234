//! The exported C functions. Each hands its arguments and its caller to a function that finds the real one, enters the call, and runs its body.

use std::fmt::Write as _;

use vocabulary::calls::{Call, Shape};

use crate::table::{EVERYWHERE, NAKED, c_type, forwarded, from_nobody, names, seen, unseen};

pub fn write(call: &Call) -> String {
    let mut text = String::new();
    let (name, slot) = (call.name, format!("op::{} as usize", call.name));
    shell(&mut text, call, name, &slot, false);
    if call.large {
        shell(&mut text, call, &format!("{name}_c"), &format!("real::LARGE + {slot}"), true);
    }
    if let Some(function) = call.extension() {
        shell(&mut text, call, &function, &format!("real::EXTENSION + {slot}"), false);
    }
    text
}

/// `function`: its name, and `slot` where its real function is known.
fn shell(text: &mut String, call: &Call, function: &str, slot: &str, large: bool) {
    let name = call.name;
    let types: Vec<&str> = call.arguments().iter().map(|argument| c_type(argument, large)).collect();
    let typed = call.arguments().iter().zip(&types).map(|(argument, kind)| format!("{}: {kind}", argument.name));
    let parameters = typed.collect::<Vec<_>>().join(", ");
    let given: String = seen(call)
        .map(|argument| match argument.kind {
            "count" => format!("i64::from({}), ", argument.name),
            "counts" => format!("volume::Counts {{ place: {}, large: {large} }}, ", argument.name),
            "buf" => format!("volume::Buffer::C({}), ", argument.name),
            "latecomm" => format!("HandleAddress::C({}), ", argument.name),
            "types" => format!("volume::Types::C({}), ", argument.name),
            _ => format!("{}, ", argument.name),
        })
        .collect();
    // Those of hand-written bodies are handed on: as words, and not as the addresses of what would lie in memory for it.
    let moves = if call.shape == Shape::Hand { "move " } else { "" };
    let taken: Vec<&str> = forwarded(call).iter().map(|argument| argument.name).collect();
    let (types, names, taken) = (types.join(", "), names(call), taken.join(", "));
    // What came with MPI 4 is not in every library.
    let late = if large || call.since > EVERYWHERE { "late " } else { "" };
    let comma = if names.is_empty() { "" } else { ", " };
    let body = |name: &str| format!("body::{name}(thread, {given}{moves}|{taken}| real({names}))");
    let body = match from_nobody(call) {
        Some(other) => format!("if volume::is_nobody(source) {{ {} }} else {{ {} }}", body(other), body(name)),
        None => body(name),
    };
    // Those of requests and communicators are followed also while recording pauses.
    let recorded = if call.shape == Shape::Blocking { "while_on" } else { "while_not_off" };
    writeln!(
        text,
        "where_present! {{ {late}{NAKED} pub unsafe extern \"C-unwind\" fn {function}({parameters}) -> c_int {{ shell!({recorded}, {slot}, {function}_recorded, ({names})) }} }}
unsafe extern \"C-unwind\" fn {function}_recorded({parameters}{comma}caller: Caller) -> c_int {{
    recorded!(thread, real: unsafe extern \"C-unwind\" fn({types}) -> c_int, {slot}, op::{name}, {unseen}, ({names}), caller, {body})
}}",
        unseen = unseen(call),
    )
    .unwrap();
}
