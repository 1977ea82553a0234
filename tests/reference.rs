//! The reference pages that are written from tables (`UPDATE_PAGES=1 cargo test --test reference` rewrites them), and what all pages must
//! keep: links that lead somewhere, and a glossary of words that are in use.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use commsee::calls::{CALLS, RULES};
use commsee::counters::{Arguments, Calls, Completions, Counter, FileCalls, Merge, Messages, SiteCalls, Stored, Unit};
use commsee::environment::{FAMILIES, NAMES};
use commsee::passed_over::{PASSED_OVER, PassedOver};
use commsee::settings::VARIABLES;

fn check(page: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference").join(page);
    if env::var_os("UPDATE_PAGES").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "docs/reference/{page} is out of date: UPDATE_PAGES=1 cargo test --test reference");
}

#[test]
fn calls() {
    let mut page = String::from(
        "# Calls\n\n\
         This page is generated from `calls.table`. A call with a large-count form `NAME_c` is counted as `NAME` in both forms. A call \
         from Fortran (`mpif.h`, `use mpi`, `use mpi_f08`) is counted under the same name and by the same rules as one from C.\n\n\
         ## Rules for bytes\n\n\
         `size` is the size of the datatype in bytes. A call with `MPI_IN_PLACE` counts as it would without. A call to \
         `MPI_PROC_NULL` is counted in the first bucket. The edge of a bucket belongs \
         to the bucket below it.\nA call that fails carries no bytes.\n\n\
         | rule | bytes sent | bytes received | bucket by |\n|---|---|---|---|\n",
    );
    for rule in &RULES {
        writeln!(page, "| `{}` | {} | {} | {} |", rule.name, rule.sent, rule.received, rule.bucket).unwrap();
    }
    page += "\nBeyond the table:\n\n\
        - A nonblocking receive belongs to the bucket of the message that arrived, as a blocking one does. Until its completion is seen, \
        it counts in the first bucket without bytes. A call that tells of its completion and leaves it to others, as `MPI_Request_get_status`, \
        is as good: the bytes count then, once, also if `MPI_Request_free` follows. A combined call (`MPI_Isendrecv`) belongs to the bucket of the message that it sends.\n\
        - Setting up a persistent request carries no bytes. `MPI_Start` carries those of its request, in the bucket of its message. \
        `MPI_Startall` is one call; the bytes of its requests are added on their communicators, in its bucket.\n\
        - Where each rank may give and take another number of bytes, as in the [v,w] forms, and in `MPI_Startall`, a call is in the bucket of \
        its own bytes on this rank: what it sends or what it receives, whichever are more (`own bytes` in the table). Ranks may differ. Filters of \
        `through` by size mean this bucket, and so do all views of the profile but one: in the view \
        [`profile`](profile.md#profile--one-row-per-communicator-operation-bucket-rank-and-phase) such calls are in the first bucket, as field \
        tools have it. The same holds for `MPI_Start` of a persistent [v,w] form.\n\
        - Completion calls carry no bytes. Over requests of one communicator they belong to that communicator, over requests of several to \
        the [row `*`](glossary.md#row-), over no active request to the [row `-`](glossary.md#row--).\n\
        - A matched receive belongs to the communicator of its probe.\n\
        - Open MPI 4 has the persistent collectives of MPI 4 as an extension, in C (`<mpi-ext.h>`) and Fortran: `MPIX_Bcast_init` is counted as \
        `MPI_Bcast_init`, and so on. Other functions `MPIX_…` are not counted \
        ([what happens](../explanation/limits.md#what-is-counted)).\n\
        - Calls that make a communicator belong to its parent, `MPI_Comm_free` belongs to the communicator that is freed, and `MPI_Init` and \
        similar calls belong to `MPI_COMM_WORLD`.\n\
        - A window or a file belongs to the communicator that it was made over, even if that communicator has been freed. \
        `MPI_File_delete` belongs to the row `-`.\n\
        - In the matrix, the source of a one-sided call is the process that calls and the destination is the target, also if the data goes \
        the other way, as in `MPI_Get`. A call that gives and takes counts there with the larger size.\n\
        - Calls that move no data themselves, such as synchronization of windows, carry no bytes.\n\
        - A nonblocking read of a file adds the bytes that it read when its completion is seen, in the bucket of the size that was asked \
        for. In split collectives, a write carries its bytes at the begin, a read at the end.\n\
        - The start of a partitioned send carries no bytes: each partition is a message when a call marks it ready. The start of a \
        partitioned receive carries everything that arrived, in the bucket of the whole.\n\
        - In an intercommunicator, blocks go to and come from the remote group. In the group of the root, only the root takes part in a \
        rooted collective; the others of that group count without bytes, in the first bucket.\n\n\
        ## Functions\n\nA function of the class `comm` with a letter in the last column makes communicators whose names begin with this letter \
        ([names](names.md)). Every function is counted from C and from Fortran, and in the form `NAME_c` where the table has \"yes\" for large \
        count.\n\n\
        | function | class | since MPI | large count | rule | bytes sent | bytes received | bucket by | makes |\n\
        |---|---|---|---|---|---|---|---|---|\n";
    for call in &CALLS {
        let rule = RULES.iter().find(|rule| rule.name == call.rule).expect("every call has a rule");
        let (major, minor) = call.since;
        let large = if call.large { "yes" } else { "" };
        let letter = call.letter.map(|letter| format!("`{letter}`")).unwrap_or_default();
        writeln!(
            page,
            "| `{}` | {} | {major}.{minor} | {large} | `{}` | {} | {} | {} | {letter} |",
            call.name,
            call.class.name(),
            call.rule,
            rule.sent,
            rule.received,
            rule.bucket,
        )
        .unwrap();
    }
    check("calls.md", &page);
}

#[test]
fn environment() {
    let mut page = String::from(
        "# Environment variables\n\ncommsee reads these variables once, in `MPI_Init`; `through` reads those that name it. `through run` and `through exec` set some of them.\n\n\
         | variable | default | meaning |\n|---|---|---|\n",
    );
    for variable in VARIABLES {
        let default = if variable.default.is_empty() { String::new() } else { format!("`{}`", variable.default) };
        writeln!(page, "| `{}` | {default} | {} |", variable.name, variable.meaning).unwrap();
    }
    page += "\nThe directory of [shards](glossary.md#shard) needs 32 KiB per rank, plus 48 bytes for each (communicator, operation, bucket) \
        and 64 bytes for each communicator that a rank uses (256 more if it has a label); 256 bytes for each file that is opened by a new name, and 48 for each (file, communicator, operation, bucket). If the directory has no room, counters are kept \
        in memory, and commsee says so: they are then lost if the process dies.\n\n\
        ## Settings of other layers\n\n\
        A profile also keeps the variables that configure the MPI library and the layers below, so that [`through compare`](through.md#through-compare) \
        tells runs with different ones apart: ";
    let kept = FAMILIES.iter().map(|family| format!("`{family}*`")).chain(NAMES.iter().map(|name| format!("`{name}`")));
    page += &kept.collect::<Vec<_>>().join(", ");
    page += ". They are values of the view [`meta`](profile.md#meta), with the variable's name as the key. It keeps no other variables. What launchers \
        set for themselves, such as `OMPI_MCA_orte_*`, is left out, and so is every name with `TOKEN`, `KEY`, `SECRET`, `PASSWORD`, `COOKIE` or the like in it. \
        Values are cut at 1 KiB. Settings in files, such as `mca-params.conf`, are not read.\n\n\
        ## The cache\n\n\
        `through` keeps the names of functions and lines that it looked up, so that the next view of a profile need not read the \
        binaries again: in `$XDG_CACHE_HOME/commsee`, or `~/.cache/commsee` if that is not set, with one file for each binary or library. \
        It keeps at most 1000 files and 64 MiB, removes the oldest first, and each after 90 days. `through recover --clean --cache` removes all \
        of them. Nothing is lost: what is missing is looked up again, and `through run` writes the names into the profile itself. \
        The profiler in the job does not use this directory, and a directory that cannot be written costs time only.\n";
    check("environment.md", &page);
}

#[test]
fn call_sites() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/call-sites.md")).unwrap();
    let (head, rest) = page.split_once("| files | what they are |\n|---|---|\n").expect("the table's head");
    let foot = rest.split_once("\n\n").map_or(String::new(), |(_, foot)| format!("\n{foot}"));
    let mut table = String::from("| files | what they are |\n|---|---|\n");
    for PassedOver { what, patterns } in PASSED_OVER {
        let files = patterns.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(" ");
        writeln!(table, "| {files} | {what} |").unwrap();
    }
    check("call-sites.md", &format!("{head}{table}{foot}"));
}

#[test]
fn counters() {
    let mut page = String::from(
        "# Counters\n\n\
         This page is generated from `src/counters.rs`. It says what commsee counts, how the values of threads, phases and ranks are merged, and where \
         a profile holds them. Views show times in seconds, tables hold integer nanoseconds.\n",
    );
    for (title, about, table) in [
        (
            "Calls",
            "Per communicator, operation, message-size bucket, phase and rank, in the views `profile` and `cells`; summed over ranks in `summaries`.",
            Calls::TABLE,
        ),
        ("Messages", "Per communicator, operation, source and destination, in the view `matrix`.", Messages::TABLE),
        (
            "Calls by site",
            "Per site, communicator, operation, message-size bucket, phase and rank, in the view `call_sites`.",
            SiteCalls::TABLE,
        ),
        (
            "Completed requests",
            "Per communicator, operation and phase of the completing calls, operation, size and peer of the requests, and rank, in the view `completions`.",
            Completions::TABLE,
        ),
        (
            "Calls on files",
            "Per file, communicator, operation, message-size bucket, phase and rank, in the view `files`.",
            FileCalls::TABLE,
        ),
        (
            "Datatype arguments",
            "Per communicator, operation, datatype and rank, in the view `datatypes`.",
            Arguments::TABLE,
        ),
    ] {
        write!(page, "\n## {title}\n\n{about}\n\n| column | in tables | unit | merged by | stored | meaning |\n|---|---|---|---|---|---|\n").unwrap();
        for counter in table {
            let Counter { name, meaning, .. } = counter;
            let unit = match counter.unit {
                Unit::Count => "count",
                Unit::Bytes => "bytes",
                Unit::Nanoseconds => "time",
            };
            let merge = match counter.merge {
                Merge::Sum => "sum",
                Merge::Least(_) => "minimum",
                Merge::Most(_) => "maximum",
            };
            let stored = match counter.stored {
                Stored::Common(_) => "once if ranks agree",
                Stored::Rare(_) => "once if ranks agree; mostly zero",
                Stored::Each => "for each rank",
                Stored::Column => "in each row",
            };
            writeln!(page, "| `{}` | `{name}` | {unit} | {merge} | {stored} | {} |", counter.column(), meaning.trim())
                .unwrap();
        }
    }
    page += "\nFor these counters `summaries` also has the maximum of one rank: ";
    let most: Vec<String> = Calls::TABLE
        .iter()
        .filter(|counter| counter.has_most && !matches!(counter.stored, Stored::Rare(_)))
        .map(|counter| format!("`{}`", counter.name))
        .collect();
    page += &format!("{}.\n", most.join(", "));
    check("counters.md", &page);
}

/// The page that explains the views has a word for each counter.
#[test]
fn views_explain_their_counters() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/profile.md")).unwrap();
    let (profile, rest) = page.split_once("### summaries").unwrap();
    let summaries = rest.split_once("### cells").unwrap().0;
    for counter in Calls::TABLE {
        let column = format!("`{}`", counter.column());
        assert!(profile.contains(&column) && summaries.contains(&column), "profile.md lacks {column}");
    }
}

/// README.md and every page in docs/, with its text.
fn pages() -> BTreeMap<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = vec![root.join("README.md"), root.join("CHANGELOG.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|extension| extension == "md") => paths.push(path),
                false => {}
            }
        }
    }
    paths.into_iter().map(|path| (fs::canonicalize(&path).unwrap(), fs::read_to_string(&path).unwrap())).collect()
}

/// The lines of a page that are no code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    page.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence && !line.starts_with("    ")
    })
}

/// The addresses of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for heading in prose(page).filter(|line| line.starts_with('#')) {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let free = [anchor.clone()].into_iter().chain(numbered).find(|anchor| !anchors.contains(anchor));
        anchors.insert(free.expect("there is always a next number"));
    }
    anchors
}

/// Where the links of a line lead. Code between backticks has none.
fn links(line: &str) -> Vec<String> {
    let without_code: String = line.split('`').step_by(2).collect();
    let targets = without_code.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).collect()
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let pages = pages();
    let mut broken = Vec::new();
    let mut followed = 0;
    for (path, page) in &pages {
        for target in prose(page).flat_map(links).filter(|target| !target.contains("://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let to = match file {
                "" => Ok(path.clone()),
                _ => fs::canonicalize(path.with_file_name(file)),
            };
            let is_there = to
                .is_ok_and(|to| anchor.is_empty() || pages.get(&to).is_some_and(|page| anchors(page).contains(anchor)));
            followed += 1;
            if !is_there {
                broken.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert!(followed > 100, "only {followed} links were found: the pages are read wrong");
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn the_glossary_has_words_that_are_used_in_order() {
    let is_glossary = |path: &Path| path.ends_with("docs/reference/glossary.md");
    let (mut glossary, mut others) = (String::new(), String::new());
    for (path, page) in pages() {
        if is_glossary(&path) {
            glossary = page;
        } else if !path.ends_with("CHANGELOG.md") {
            // A line may end within a term.
            others.extend(page.to_lowercase().split_whitespace().flat_map(|word| [word, " "]));
        }
    }
    let terms: Vec<String> =
        prose(&glossary).filter_map(|line| line.strip_prefix("## ")).map(str::to_lowercase).collect();
    assert!((20..=30).contains(&terms.len()), "{} terms", terms.len());
    assert!(terms.is_sorted(), "the glossary is not in order: {terms:?}");
    let unused: Vec<&String> = terms.iter().filter(|term| !others.contains(term.as_str())).collect();
    assert!(unused.is_empty(), "no page uses {unused:?}");
}

#[test]
fn advice() {
    check(
        "advice.md",
        &through_core::advise::page(
            &through_core::advise::TOPICS.iter().chain(insight::machine::TOPICS).collect::<Vec<_>>(),
        ),
    );
}

#[test]
fn views() {
    check("views.md", &through_core::views::page(through::views(), insight::views::bench::VIEWS));
}
