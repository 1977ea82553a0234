//! How the arguments of a function appear in C, in Fortran and in a body.

use vocabulary::calls::{Argument, Call, RULES, Rule, Shape};

/// The version of the standard that all libraries implement which are in use.
pub const EVERYWHERE: (u8, u8) = (3, 1);

/// Of functions that are written in assembly where that is known (`src/wrappers/shell.rs`).
pub const NAKED: &str = "#[cfg_attr(any(target_arch = \"x86_64\", target_arch = \"aarch64\"), unsafe(naked))]";

pub fn rule(call: &Call) -> &'static Rule {
    RULES.iter().find(|rule| rule.name == call.rule).expect("build.rs of commsee checked it")
}

/// Whether what arrives is read off a status.
pub fn receives(call: &Call) -> bool {
    matches!(call.rule, "recv" | "sendrecv" | "sendrecv_replace" | "read")
}

/// The argument whose place the body may take for a status of its own: its `forward` is given the place to use.
pub fn status(call: &Call) -> Option<&Argument> {
    let found = call.arguments().iter().find(|argument| ["status", "statuses"].contains(&argument.kind))?;
    (call.shape == Shape::Hand || receives(call)).then_some(found)
}

/// The arguments that `forward` takes: the [`status`]. A call that completes requests gives it all that it is given itself: a closure that held them, too,
/// would take registers for them twice.
pub fn forwarded(call: &Call) -> Vec<&Argument> {
    if completes(call) { seen(call).collect() } else { status(call).into_iter().collect() }
}

/// Whether it is `MPI_Wait`, `MPI_Test`, or one of these over several requests.
fn completes(call: &Call) -> bool {
    ["MPI_Wait", "MPI_Test"].iter().any(|kind| {
        let rest = call.name.strip_prefix(kind);
        rest.is_some_and(|rest| ["", "all", "any", "some"].contains(&rest))
    })
}

/// The tag of what the call sends.
pub fn tag(call: &Call) -> Option<&'static str> {
    let sends = matches!(call.rule, "send" | "sendrecv" | "sendrecv_replace") && call.shape != Shape::Hand;
    let name = if call.rule == "send" { "tag" } else { "sendtag" };
    (sends && call.arguments().iter().any(|argument| argument.name == name)).then_some(name)
}

/// The arguments that the body is given, in the order of the function.
pub fn seen(call: &Call) -> impl Iterator<Item = &Argument> {
    let generated = ["comm", "win", "file", "newcomm", "newrequest"];
    let by_hand = [
        "comm",
        "newcomm",
        "oldcomm",
        "latecomm",
        "newwin",
        "oldwin",
        "file",
        "newfile",
        "oldfile",
        "request",
        "requests",
        "newrequest",
        "requestvalue",
        "message",
        "newmessage",
        "flag",
        "index",
        "indices",
        "outcount",
        "length",
        "fact",
        "text",
    ];
    call.arguments().iter().filter(move |argument| {
        let kinds: &[&str] = if call.shape == Shape::Hand { &by_hand } else { &generated };
        kinds.contains(&argument.kind)
            || (rule(call).arguments.contains(&argument.name) && call.shape != Shape::Creator)
            || status(call).is_some_and(|status| status.name == argument.name)
            || tag(call) == Some(argument.name)
    })
}

/// The type of an argument of the C function.
pub fn c_type(argument: &Argument, large: bool) -> &'static str {
    match argument.kind {
        "int" | "fact" | "length" => "c_int",
        "count" if large => "i64",
        "count" => "c_int",
        "mpicount" => "i64",
        _ => "Word",
    }
}

/// The type of an argument of a body, which serves the plain and the large-count form, C and Fortran.
pub fn body_type(argument: &Argument) -> &'static str {
    match argument.kind {
        "int" | "fact" | "length" => "c_int",
        "count" | "mpicount" => "i64",
        "counts" => "volume::Counts",
        "types" => "volume::Types",
        "buf" => "volume::Buffer",
        "latecomm" => "HandleAddress",
        _ => "Word",
    }
}

/// Which of the functions of `guest::state` tells that the call is only passed on. Those of requests and communicators are followed also while
/// recording pauses.
pub fn unseen(call: &Call) -> &'static str {
    if call.shape == Shape::Blocking { "is_not_on" } else { "is_off" }
}

pub fn names(call: &Call) -> String {
    call.arguments().iter().map(|argument| argument.name).collect::<Vec<_>>().join(", ")
}

/// The body of a call where its message comes from nobody, which is told before it: otherwise it would keep its source for that.
pub fn from_nobody(call: &Call) -> Option<&'static str> {
    (call.name == "MPI_Irecv").then_some("receive_from_nobody")
}
