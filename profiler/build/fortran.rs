//! The exported Fortran entry points: `mpif.h` and `use mpi` under the four ways in which compilers write a name, and
//! `use mpi_f08`. All forms of a function share one translation.

use std::fmt::Write as _;

use vocabulary::calls::{Argument, Call, Shape};

use crate::table::{EVERYWHERE, forwarded, from_nobody, seen, status, unseen};

pub fn write(call: &Call) -> String {
    // Of functions that are written by hand as a whole, so is the translation.
    let mut text = if call.shape == Shape::Own { String::new() } else { translation(call) };
    for form in forms(call) {
        entry(&mut text, call, &form);
    }
    text
}

/// One symbol. Fortran's subroutines return nothing; what a function of this name that is none of MPI's returns is passed on.
struct Form {
    name: String,
    /// Counts are 8 bytes wide.
    large: bool,
    /// Buffers come as descriptors (TS 29113), not as addresses.
    descriptors: bool,
}

fn forms(call: &Call) -> Vec<Form> {
    let lower = call.name.to_lowercase();
    let form = |name: String| Form { name, large: false, descriptors: false };
    let mut forms: Vec<Form> = written(call.name).map(form).into();
    if ["MPI_Win_allocate", "MPI_Win_allocate_shared"].contains(&call.name) {
        // The forms whose address is a TYPE(C_PTR) have linker names of their own (MPI-3.1, 11.2.2).
        forms.extend([format!("{lower}_cptr_"), format!("{lower}_cptr"), format!("{lower}_cptr__")].map(form));
        forms.push(form(format!("{}_CPTR", call.name.to_uppercase())));
    }
    forms.push(form(format!("{lower}_f08_")));
    let has_buffer = call.arguments().iter().any(|argument| argument.kind == "buf");
    if has_buffer {
        forms.push(Form { descriptors: true, ..form(format!("{lower}_f08ts_")) });
    }
    if call.large {
        let name = if has_buffer { format!("{lower}_f08ts_large_") } else { format!("{lower}_f08_large_") };
        forms.push(Form { large: true, descriptors: has_buffer, ..form(name) });
    }
    if let Some(name) = call.extension() {
        forms.extend(written(&name).map(form));
        forms.push(form(format!("{}_f08_", name.to_lowercase())));
    }
    forms
}

/// The ways in which compilers write a name.
fn written(name: &str) -> [String; 4] {
    let lower = name.to_lowercase();
    [format!("{lower}_"), lower.clone(), format!("{lower}__"), name.to_uppercase()]
}

/// All parameters: the arguments, the error code, and the lengths of texts behind them.
fn parameters(call: &Call) -> Vec<String> {
    // These have other arguments than in C.
    let own: &[&str] = match call.name {
        "MPI_Init" | "MPI_Finalize" => &["ierror"],
        "MPI_Init_thread" => &["required", "provided", "ierror"],
        "MPI_Pcontrol" => &["level", "unused"],
        _ => &[],
    };
    if !own.is_empty() {
        return own.iter().map(|name| (*name).to_owned()).collect();
    }
    let names = call.arguments().iter().map(|argument| argument.name.to_owned());
    let texts = call.arguments().iter().filter(|argument| ["text", "string", "strings"].contains(&argument.kind));
    names.chain(["ierror".to_owned()]).chain(texts.map(|argument| format!("{}_length", argument.name))).collect()
}

fn typed(names: &[String]) -> String {
    names.iter().map(|name| format!("{name}: Word")).collect::<Vec<_>>().join(", ")
}

fn translation(call: &Call) -> String {
    let name = call.name;
    let all = parameters(call);
    let types = vec!["Word"; all.len()].join(", ");
    let mut text = String::new();
    let mut line = |words: &str| writeln!(text, "{words}").unwrap();
    line(&format!(
        "unsafe extern \"C-unwind\" fn fortran_{name}({}, caller: Caller, entry: Address) -> Word {{",
        typed(&all)
    ));
    line("    // SAFETY: the program passes what the function takes, and it is passed on, or read as such.");
    line("    unsafe {");
    line("    let entry: &'static fortran::Entry = entry.as_ref();");
    line(&format!("    let real: unsafe extern \"C-unwind\" fn({types}) -> Word = std::mem::transmute(entry.real());"));
    line(&format!(
        "    if state::{1}() || !fortran::understood(entry) {{ return real({0}) }}
    let Some(inside) = enter::enter(op::{name}, caller) else {{ return real({0}) }};
    let thread = inside.thread();",
        all.join(", "),
        unseen(call)
    ));
    line("    let own_error = Cell::new(0);");
    line("    let ierror = fortran::given(ierror, &own_error);");
    let length = call.arguments().iter().find(|argument| argument.kind == "length").map_or("", |found| found.name);
    let mut given = String::new();
    let mut refresh = String::new();
    for argument in seen(call) {
        let (before, word, after) = translated(argument, length);
        if let Some(before) = before {
            // By reference: what forwards the call is given words.
            line(&format!("    let {}_c = &{before};", argument.name));
            if argument.kind == "requests" {
                // It is not moved any more.
                line(&format!("    {}_c.refresh();", argument.name));
            }
        }
        given += &format!("{word}, ");
        refresh += &after;
    }
    // Where all have completed, nobody asks for their handles any more.
    if name == "MPI_Waitall" {
        refresh = format!("if code != 0 {{ {refresh}}} ");
    }
    let passed: Vec<String> = all
        .iter()
        .map(|name| match status(call) {
            Some(status) if status.name == name => format!("{name}_c.passed({name}_given)"),
            _ => name.clone(),
        })
        .collect();
    let makes_file = call.arguments().iter().any(|argument| argument.kind == "newfile");
    let before = if makes_file { "fortran::clear_stack(); " } else { "" };
    let is_status = |argument: &Argument| status(call).is_some_and(|status| status.name == argument.name);
    let taken: Vec<_> = forwarded(call)
        .into_iter()
        .map(|argument| if is_status(argument) { format!("{}_given", argument.name) } else { "_".to_owned() })
        .collect();
    line(&format!(
        "    let forward = move |{}| {{ let code = fortran::forward(thread, op::{name}, entry, ierror, || {{ {before}real({}); }}); {refresh}code }};",
        taken.join(", "),
        passed.join(", ")
    ));
    if let Some(other) = from_nobody(call) {
        line(&format!(
            "    if volume::is_nobody(fortran::int(source)) {{ body::{other}(thread, {given}forward); return 0; }}"
        ));
    }
    line(&format!("    body::{name}(thread, {given}forward);\n    0"));
    line("}}\n");
    text
}

/// What is made of an argument before the call, what the body is given, and how it is read again after the call.
fn translated(argument: &Argument, length: &str) -> (Option<String>, String, String) {
    let name = argument.name;
    let kept = |made: String| (Some(made), format!("{name}_c.place()"), format!("{name}_c.refresh(); "));
    let statuses = || (Some(format!("fortran::Statuses::new({name})")), format!("{name}_c.place()"), String::new());
    let plain = |word: String| (None, word, String::new());
    let handle = |object: &str, made: String| {
        let (place, refresh) =
            (format!("{name}_c.place(Object::{object})"), format!("{name}_c.refresh(Object::{object}); "));
        (Some(format!("fortran::Handle::{made}")), place, refresh)
    };
    let new = |object: &str| handle(object, format!("new({name})"));
    let old = |object: &str| handle(object, format!("holding(Object::{object}, {name})"));
    match argument.kind {
        "int" | "fact" | "length" => plain(format!("fortran::int({name})")),
        "count" => plain(format!("fortran::count({name}, entry)")),
        "mpicount" => plain(format!("fortran::long({name})")),
        "counts" => plain(format!("volume::Counts {{ place: {name}, large: entry.large }}")),
        "types" => plain(format!("volume::Types::Fortran({name})")),
        "buf" => plain(format!("volume::Buffer::Fortran(fortran::address({name}, entry))")),
        "comm" => plain(format!("fortran::comm({name})")),
        "type" => plain(format!("fortran::datatype({name})")),
        "op" => plain(format!("fortran::handle(Object::Op, {name})")),
        "win" => plain(format!("fortran::handle(Object::Win, {name})")),
        "file" => plain(format!("fortran::handle(Object::File, {name})")),
        "requestvalue" => plain(format!("fortran::handle(Object::Request, {name})")),
        "newwin" => new("Win"),
        "oldwin" => old("Win"),
        "newfile" => new("File"),
        "oldfile" => old("File"),
        "newcomm" => new("Comm"),
        "oldcomm" => old("Comm"),
        "newrequest" => new("Request"),
        "request" => old("Request"),
        "newmessage" => new("Message"),
        "message" => old("Message"),
        "requests" => kept(format!("fortran::Requests::new({name}, fortran::int({length}))")),
        "latecomm" => plain(format!("HandleAddress::Fortran({name})")),
        "status" | "statuses" => statuses(),
        "index" => kept(format!("fortran::Indices::new({name}, 1, entry)")),
        "indices" => kept(format!("fortran::Indices::new({name}, fortran::int({length}), entry)")),
        "text" => {
            (Some(format!("fortran::Text::new({name}, {name}_length)")), format!("{name}_c.place()"), String::new())
        }
        "flag" | "outcount" => plain(name.to_owned()),
        other => panic!("no translation for {other}"),
    }
}

fn entry(text: &mut String, call: &Call, form: &Form) {
    let all = parameters(call);
    let Form { name, large, descriptors } = form;
    // Of the ways to write a name each library has some.
    let lower = call.name.to_lowercase();
    let is_usual = *name == format!("{lower}_") || *name == format!("{lower}_f08_");
    let late = if *large || call.since > EVERYWHERE || !is_usual { "late " } else { "" };
    let name_in_c = call.name;
    let flags = format!("{}, {large}, {descriptors}", name.contains("_f08"));
    let names = all.join(", ");
    writeln!(
        text,
        "fortran_entry! {{ {late}{name}, ENTRY_{name}, c\"{name}\", ({flags}), fortran_{name_in_c}({names}) }}"
    )
    .unwrap();
}
