//! The exported C functions.

use std::fmt::Write as _;

use vocabulary::calls::{Call, Shape};

use crate::table::{EVERYWHERE, c_type, enter, has_short, names, seen, status};

/// Arguments that travel in registers on x86-64.
const REGISTERS: usize = 6;

pub fn write(call: &Call) -> String {
    let mut text = String::new();
    shell(&mut text, call, false);
    if call.large {
        shell(&mut text, call, true);
    }
    text
}

fn shell(text: &mut String, call: &Call, large: bool) {
    let name = call.name;
    let suffix = if large { "_c" } else { "" };
    let slot = if large { format!("real::LARGE + op::{name} as usize") } else { format!("op::{name} as usize") };
    let types: Vec<&str> = call.arguments.iter().map(|argument| c_type(argument, large)).collect();
    let typed = call.arguments.iter().zip(&types).map(|(argument, kind)| format!("{}: {kind}", argument.name));
    let parameters = typed.collect::<Vec<_>>().join(", ");
    let given: Vec<String> = seen(call)
        .map(|argument| match argument.kind {
            "count" => format!("i64::from({})", argument.name),
            "counts" => format!("volume::Counts {{ place: {}, large: {large} }}", argument.name),
            "buf" => format!("volume::Buffer::C({})", argument.name),
            "latecomm" => format!("HandleAddress::C({})", argument.name),
            "types" => format!("volume::Types::C({})", argument.name),
            _ => argument.name.to_owned(),
        })
        .collect();
    let forward = status(call).map_or("||".to_owned(), |status| format!("|{}|", status.name));
    let (types, names, given) = (types.join(", "), names(call), given.join(", "));
    let comma = if given.is_empty() { "" } else { ", " };
    // What came with MPI 4 is not in every library.
    let late = if large || call.since > EVERYWHERE { "late " } else { "" };
    let function = format!("{name}{suffix}");
    let body = |path: &str| {
        let path = if has_short(call) { format!("::<{path}>") } else { String::new() };
        format!("body::{name}{path}(thread, {given}{comma}{forward} real({names}))")
    };
    let real = format!(
        "// SAFETY: the type repeats the function's declaration in the standard.
    let real: unsafe extern \"C-unwind\" fn({types}) -> c_int = {{ #[allow(unused_unsafe)] unsafe {{ std::mem::transmute(function) }} }};"
    );
    let (offer, full) = match has_short(call) {
        true => (format!("short_path::offer({slot});"), format!("{function}_in_full")),
        false => (String::new(), function.clone()),
    };
    let whole = format!(
        "    let function = real::function({slot});
    {offer}
    {real}
    match thread::{enter}(op::{name}) {{
        // SAFETY: the program passes what the function takes, and it is passed on.
        Some(thread) => unsafe {{ {body} }},
        // SAFETY: as above.
        None => unsafe {{ real({names}) }},
    }}",
        enter = enter(call),
        body = body("Full"),
    );
    if !has_short(call) {
        write!(
            text,
            "where_present! {{ {late}pub unsafe extern \"C-unwind\" fn {function}({parameters}) -> c_int {{
{whole}
}} }}

"
        )
        .unwrap();
        return;
    }
    let is_recorded = if call.shape == Shape::Blocking { "state::is_on()" } else { "!state::is_off()" };
    let in_short = format!(
        "        let Some(thread) = thread::outside() else {{ return {full}({names}) }};
        // It was found before the short path was opened for it.
        let function = real::known({slot});
        {real}
        {body}",
        body = body("Short"),
    );
    let full_function = format!(
        "#[cold]
#[inline(never)]
unsafe extern \"C-unwind\" fn {full}({parameters}) -> c_int {{
{whole}
}}"
    );
    if call.arguments.len() > REGISTERS {
        // Arguments on the stack would be copied for a function in between.
        write!(
            text,
            "where_present! {{ {late}pub unsafe extern \"C-unwind\" fn {function}({parameters}) -> c_int {{
    // SAFETY: the program passes what the function takes, and it is passed on.
    unsafe {{
        if !short_path::is_open_for({slot}) {{
            return {full}({names});
        }}
{in_short}
    }}
}} }}

{full_function}

"
        )
        .unwrap();
        return;
    }
    // The exported function saves no registers, so that calls which are not recorded pay for nothing but the question.
    write!(
        text,
        "where_present! {{ {late}pub unsafe extern \"C-unwind\" fn {function}({parameters}) -> c_int {{
    // SAFETY: the program passes what the function takes, and it is passed on.
    unsafe {{
        if short_path::is_open_for({slot}) {{
            return {function}_in_short({names});
        }}
        let function = real::known({slot});
        if function.is_null() || {is_recorded} {{
            return {full}({names});
        }}
        {real}
        real({names})
    }}
}} }}

#[inline(never)]
unsafe extern \"C-unwind\" fn {function}_in_short({parameters}) -> c_int {{
    // SAFETY: as above.
    unsafe {{
{in_short}
    }}
}}

{full_function}

",
    )
    .unwrap();
}
