//! The exported Fortran entry points: `mpif.h` and `use mpi` under the four ways in which compilers write a name, and
//! `use mpi_f08`. All forms of a function share one translation.

use std::fmt::Write as _;

use vocabulary::calls::{Argument, Call, Shape};

use crate::table::{EVERYWHERE, enter, forwarded, from_nobody, has_short, may_leave_to_c, seen, status};

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
    let has_buffer = call.arguments.iter().any(|argument| argument.kind == "buf");
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
    let names = call.arguments.iter().map(|argument| argument.name.to_owned());
    let texts = call.arguments.iter().filter(|argument| ["text", "string", "strings"].contains(&argument.kind));
    names.chain(["ierror".to_owned()]).chain(texts.map(|argument| format!("{}_length", argument.name))).collect()
}

fn typed(names: &[String]) -> String {
    names.iter().map(|name| format!("{name}: Word")).collect::<Vec<_>>().join(", ")
}

fn translation(call: &Call) -> String {
    let Some(other) = from_nobody(call) else { return translation_to(call, call.name, "", "") };
    let name = call.name;
    let of_these = format!("_{other}");
    // What bears this name on the other paths need not be MPI's.
    let before = format!(
        "    if P::IS_SHORT && volume::is_nobody(fortran::int(source)) {{ return fortran_{name}{of_these}::<P>({}, caller, entry); }}",
        parameters(call).join(", ")
    );
    translation_to(call, other, &of_these, "") + &translation_to(call, name, "", &before)
}

/// `body`: what counts the calls `of_these`, which is a part of the translation's name.
fn translation_to(call: &Call, body: &str, of_these: &str, before: &str) -> String {
    let name = call.name;
    let all = parameters(call);
    let types = vec!["Word"; all.len()].join(", ");
    let mut text = String::new();
    let mut line = |words: &str| writeln!(text, "{words}").unwrap();
    let has_short = has_short(call);
    let path = if has_short { "<P: Path>" } else { "" };
    line("#[inline(never)]");
    line(&format!(
        "unsafe extern \"C-unwind\" fn fortran_{name}{of_these}{path}({}, caller: Caller, entry: Address) -> Word {{",
        typed(&all)
    ));
    line("    // SAFETY: the program passes what the function takes, and it is passed on, or read as such.");
    line("    unsafe {");
    if !before.is_empty() {
        line(before);
    }
    line("    let entry: &'static fortran::Entry = entry.as_ref();");
    let found = if has_short { "if P::IS_SHORT { entry.known() } else { entry.real() }" } else { "entry.real()" };
    line(&format!("    let real: unsafe extern \"C-unwind\" fn({types}) -> Word = std::mem::transmute({found});"));
    let thread = format!(
        "entry.is_mpi().then(|| thread::{}(op::{name})).flatten().filter(|_| fortran::is_understood())",
        enter(call)
    );
    let or_pass_on = format!("let Some(thread) = {thread} else {{ return real({}) }};", all.join(", "));
    if has_short {
        let in_full = format!("return fortran_{name}::<Full>({}, caller, Address::of(entry))", all.join(", "));
        line("    let thread = if P::IS_SHORT {");
        line("        let here = thread::Here::find();");
        line(&format!("        if here.is_inside() {{ {in_full} }}"));
        line("        here.thread()");
        line(&format!("    }} else {{ {or_pass_on} thread }};"));
    } else {
        line(&format!("    {or_pass_on}"));
    }
    if has_short {
        let by = |path: &str| format!("fortran_{name}{of_these}::<{path}> as *const ()");
        let through = |path: &str| match may_leave_to_c(call) {
            true => format!("through_{name} as *const ()"),
            false => by(path),
        };
        line(&format!(
            "    if !P::IS_SHORT {{ entry.is_ready(|| fortran::Paths {{ short: {}, openmpi: {}, sited: {}, through: {}, through_sited: {} }}); }}",
            by("Short"),
            by("OpenMpi"),
            by("Sited"),
            through("Short"),
            through("Sited")
        ));
        // An argument of `mpi_f08` that may be missing.
        line(&format!(
            "    if fortran::is_simple::<P>() && ierror == 0 {{ return fortran_{name}{of_these}::<Short>({}, caller, Address::of(entry)); }}",
            all.join(", ")
        ));
    }
    let outside = if has_short { "P::IS_SHORT" } else { "false" };
    line(&format!(
        "    if {outside} {{ thread.in_flight.is_called_from_outside_by(caller) }} else {{ thread.in_flight.is_called_by(caller) }}"
    ));
    line("    let own_error = Cell::new(0);");
    let on = if has_short { "P" } else { "Full" };
    line(&format!("    let ierror = fortran::given::<{on}>(ierror, &own_error);"));
    let length = call.arguments.iter().find(|argument| argument.kind == "length").map_or("", |found| found.name);
    let mut given = Vec::new();
    let mut refresh = String::new();
    for argument in seen(call) {
        let (before, word, after) = translated(argument, length, on);
        if let Some(before) = before {
            // By reference: what forwards the call is given words.
            line(&format!("    let {}_c = &{before};", argument.name));
            if argument.kind == "requests" {
                // It is not moved any more.
                line(&format!("    {}_c.refresh();", argument.name));
            }
        }
        given.push(word);
        refresh.push_str(&after);
    }
    // Where all have completed, nobody asks for their handles any more.
    if name == "MPI_Waitall" {
        refresh = format!("if code != 0 {{ {refresh}}} ");
    }
    let passed: Vec<String> = all
        .iter()
        .map(|name| match status(call) {
            Some(status) if status.name == name => format!("{name}_c.passed::<{on}>({name}_given)"),
            _ => name.clone(),
        })
        .collect();
    let makes_file = call.arguments.iter().any(|argument| argument.kind == "newfile");
    let before = if makes_file { "fortran::clear_stack(); " } else { "" };
    let is_status = |argument: &Argument| status(call).is_some_and(|status| status.name == argument.name);
    let taken: Vec<_> = forwarded(call)
        .into_iter()
        .map(|argument| if is_status(argument) { format!("{}_given", argument.name) } else { "_".to_owned() })
        .collect();
    line(&format!(
        "    let forward = move |{}| {{ let code = fortran::forward::<{on}>(op::{name}, entry, ierror, || {{ {before}real({}); }}); {refresh}code }};",
        taken.join(", "),
        passed.join(", ")
    ));
    let comma = if given.is_empty() { "" } else { ", " };
    let given = given.join(", ");
    let path = if has_short { "::<P>" } else { "" };
    if let Some(other) = from_nobody(call).filter(|_| of_these.is_empty()) {
        line(&format!(
            "    if !P::IS_SHORT && volume::is_nobody(fortran::int(source)) {{ body::{other}{path}(thread, {given}{comma}forward); return 0; }}"
        ));
    }
    line(&format!("    body::{body}{path}(thread, {given}{comma}forward);\n    0"));
    line("}}\n");
    if may_leave_to_c(call) && of_these.is_empty() {
        let (typed, names) = (typed(&all), all.join(", "));
        line(&format!(
            "/// The library's function calls the C function, which counts.
#[inline(never)]
unsafe extern \"C-unwind\" fn through_{name}({typed}, caller: Caller, entry: Address) -> Word {{
    // SAFETY: as above.
    unsafe {{
        let here = thread::Here::find();
        if here.is_inside() {{ return fortran_{name}::<Full>({names}, caller, entry) }}
        let thread = here.thread();
        let entry: &'static fortran::Entry = entry.as_ref();
        thread.in_flight.is_called_in_fortran_by(caller, entry.layer());
        let real: unsafe extern \"C-unwind\" fn({types}) -> Word = std::mem::transmute(entry.known());
        real({names})
    }}
}}
"
        ));
    }
    text
}

/// What is made of an argument before the call, what the body is given, and how it is read again after the call. `on`: the path.
fn translated(argument: &Argument, length: &str, on: &str) -> (Option<String>, String, String) {
    let name = argument.name;
    let kept = |made: String| (Some(made), format!("{name}_c.place()"), format!("{name}_c.refresh(); "));
    let statuses =
        || (Some(format!("fortran::Statuses::new({name})")), format!("{name}_c.place::<{on}>()"), String::new());
    let plain = |word: String| (None, word, String::new());
    let handle = |object: &str, made: String| {
        let (place, refresh) =
            (format!("{name}_c.place(Object::{object})"), format!("{name}_c.refresh(Object::{object}); "));
        (Some(format!("fortran::Handle::<{on}>::{made}")), place, refresh)
    };
    let new = |object: &str| handle(object, format!("new({name})"));
    let old = |object: &str| handle(object, format!("holding(Object::{object}, {name})"));
    match argument.kind {
        "int" | "fact" | "length" => plain(format!("fortran::int({name})")),
        "count" => plain(format!("fortran::count::<{on}>({name}, entry)")),
        "mpicount" => plain(format!("fortran::long({name})")),
        "counts" => plain(format!("volume::Counts {{ place: {name}, large: entry.large }}")),
        "types" => plain(format!("volume::Types::Fortran({name})")),
        "buf" => plain(format!("volume::Buffer::Fortran(fortran::address::<{on}>({name}, entry))")),
        "comm" => plain(format!("fortran::comm::<{on}>({name})")),
        "type" => plain(format!("fortran::datatype::<{on}>({name})")),
        "op" => plain(format!("fortran::handle::<{on}>(Object::Op, {name})")),
        "win" => plain(format!("fortran::handle::<{on}>(Object::Win, {name})")),
        "file" => plain(format!("fortran::handle::<{on}>(Object::File, {name})")),
        "requestvalue" => plain(format!("fortran::handle::<{on}>(Object::Request, {name})")),
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
        "requests" => kept(format!("fortran::Requests::<{on}>::new({name}, fortran::int({length}))")),
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
    let parameters = typed(&all);
    let (full, shell) = match has_short(call) {
        true => (format!("fortran_{name_in_c}::<Full>"), format!("fortran_shell!(ENTRY_{name}, ({parameters}))")),
        false => {
            let full = format!("fortran_{name_in_c}");
            let shell = format!("fortran_shell!(ENTRY_{name}, {full}, ({parameters}))");
            (full, shell)
        }
    };
    write!(
        text,
        "static ENTRY_{name}: fortran::Entry = fortran::Entry::new(c\"{name}\", {}, {large}, {descriptors}, {full} as *const ());
where_present! {{ {late}#[cfg_attr(any(target_arch = \"x86_64\", target_arch = \"aarch64\"), unsafe(naked))] pub unsafe extern \"C-unwind\" fn {name}({parameters}) -> Word {{
    {shell}
}} }}

",
        name.contains("_f08"),
    )
    .unwrap();
}
