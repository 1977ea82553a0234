//! The exported C functions.

use std::fmt::Write as _;

use vocabulary::calls::{Call, Shape};

use crate::table::{EVERYWHERE, asks_for_family, c_type, enter, forwarded, from_nobody, has_short, names, seen};

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
    // Those of hand-written bodies are handed on: as words, and not as the addresses of what would lie in memory for it.
    let moves = if call.shape == Shape::Hand { "move " } else { "" };
    let taken: Vec<&str> = forwarded(call).iter().map(|argument| argument.name).collect();
    let forward = format!("{moves}|{}|", taken.join(", "));
    let (types, names, given) = (types.join(", "), names(call), given.join(", "));
    let comma = if given.is_empty() { "" } else { ", " };
    // What came with MPI 4 is not in every library.
    let late = if large || call.since > EVERYWHERE { "late " } else { "" };
    let forwarded_by = |name: &str, path: &str, calls: &str| {
        let path = if has_short(call) { format!("::<{path}>") } else { String::new() };
        format!("body::{name}{path}(thread, {given}{comma}{forward} {calls})")
    };
    let body = |name: &str, path: &str| forwarded_by(name, path, &format!("real({names})"));
    let real = format!(
        "// SAFETY: the type repeats the function's declaration in the standard.
    let real: unsafe extern \"C-unwind\" fn({types}) -> c_int = {{ #[allow(unused_unsafe)] unsafe {{ std::mem::transmute(function) }} }};"
    );
    let recorded = if call.shape == Shape::Blocking { "while_on" } else { "while_not_off" };
    let parameters_and_caller =
        if parameters.is_empty() { "caller: Caller".to_owned() } else { format!("{parameters}, caller: Caller") };
    let names_and_caller = if names.is_empty() { "caller".to_owned() } else { format!("{names}, caller") };
    let naked = "#[cfg_attr(any(target_arch = \"x86_64\", target_arch = \"aarch64\"), unsafe(naked))]";
    let around = format!("around!({recorded}, {slot}, {function}_in_full, ({names}))");
    let (shorts, short): (&[_], _) = match asks_for_family(call) {
        true => (
            &[("short", "Short"), ("openmpi", "OpenMpi"), ("mpich", "Mpich")],
            format!(
                "of_family({function}_in_short as *const (), {function}_in_openmpi as *const (), {function}_in_mpich as *const ())"
            ),
        ),
        false => (&[("short", "Short")], format!("{function}_in_short as *const ()")),
    };
    let (offer, exported) = match has_short(call) {
        true => (
            format!("short_path::offer({slot}, &{function}_way, || {short}, {function}_in_sited as *const ());"),
            format!("shell!({function}_way, ({parameters}))"),
        ),
        false => (String::new(), around.clone()),
    };
    if has_short(call) {
        write!(
            text,
            "static {function}_way: Way = Way::around({function}_around as *const ());

{naked}
unsafe extern \"C-unwind\" fn {function}_around({parameters_and_caller}) -> c_int {{
    {around}
}}

"
        )
        .unwrap();
    }
    write!(
        text,
        "where_present! {{ {late}{naked} pub unsafe extern \"C-unwind\" fn {function}({parameters}) -> c_int {{
    {exported}
}} }}

#[cold]
#[inline(never)]
unsafe extern \"C-unwind\" fn {function}_in_full({parameters_and_caller}) -> c_int {{
    let function = real::function({slot});
    {offer}
    {real}
    match thread::{enter}(op::{name}) {{
        // SAFETY: as below.
        Some(thread) if thread.is_inside_unasked() => unsafe {{ {function}_in_another({names_and_caller}) }},
        Some(thread) => {{
            thread.in_flight.is_called_by(caller);
            // SAFETY: the program passes what the function takes, and it is passed on.
            unsafe {{ {body} }}
        }}
        None => {{
            thread::passes_on(caller);
            // SAFETY: as above.
            unsafe {{ real({names}) }}
        }}
    }}
}}

",
        enter = enter(call),
        body = match from_nobody(call) {
            Some(other) => {
                format!("if volume::is_nobody(source) {{ {} }} else {{ {} }}", body(other, "Full"), body(name, "Full"))
            }
            None => body(name, "Full"),
        },
    )
    .unwrap();
    write!(
        text,
        "/// In the midst of another call. The library may make it, and not the program.
#[cold]
#[inline(never)]
unsafe extern \"C-unwind\" fn {function}_in_another({parameters_and_caller}) -> c_int {{
    // SAFETY: as above.
    unsafe {{
        if thread::is_the_programs(caller) {{ return {function}_in_full({names_and_caller}) }}
        let function = real::function({slot});
        {real}
        real({names})
    }}
}}

",
    )
    .unwrap();
    if !has_short(call) {
        return;
    }
    for (suffix, path) in shorts.iter().chain(&[("sited", "Sited")]) {
        let mut outside = |of_these: &str, before: &str, body: &str| {
            write!(
                text,
                "#[inline(never)]
unsafe extern \"C-unwind\" fn {function}{of_these}_in_{suffix}({parameters_and_caller}) -> c_int {{
    // SAFETY: as above.
    unsafe {{
        {before}let here = thread::Here::find();
        if here.is_inside() {{ return {function}_in_full({names_and_caller}) }}
        let thread = here.thread();
        thread.in_flight.is_called_from_outside_on::<{path}>(caller);
        {body}
    }}
}}

"
            )
            .unwrap();
        };
        // It was found before the short path was opened for it. Asked for here, it needs no register until it is called.
        let known = format!("{{ let function = real::known({slot}); {real} real({names}) }}");
        let body = |name: &str| forwarded_by(name, path, &known);
        let before = from_nobody(call).map(|other| {
            let of_these = format!("_{other}");
            outside(&of_these, "", &body(other));
            format!("if volume::is_nobody(source) {{ return {function}{of_these}_in_{suffix}({names_and_caller}) }}\n        ")
        });
        outside("", &before.unwrap_or_default(), &body(name));
    }
}
