//! What the UCX module counts, against what the MPI library was asked: message by message above (UCP), byte by byte below (UCT).

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use common::{Launch, Mpi, Program, Run, answer, check_profile, demand, execute, hook, library, shared_library};

/// The transports over which processes on one node can talk.
const TRANSPORTS: [&str; 4] = ["posix,self", "sysv,self", "posix,sysv,cma,self", "tcp,self"];

pub fn combinations() -> impl Iterator<Item = (Mpi, &'static str)> {
    Mpi::ALL.into_iter().flat_map(|mpi| TRANSPORTS.map(|transports| (mpi, transports)))
}

/// The two generations of protocols in UCX, by what switches the newer one on.
const GENERATIONS: [&str; 2] = ["n", "y"];

fn over_ucx(launch: Launch, transports: &str) -> Launch {
    // Open MPI's own choice leaves UCX out where there is no network for it.
    let launch = launch.variable("OMPI_MCA_pml", "ucx").variable("OMPI_MCA_pml_ucx_tls", "any");
    let launch = launch.variable("OMPI_MCA_pml_ucx_devices", "any").variable("UCX_TLS", transports);
    if transports.contains("tcp") { launch.variable("UCX_NET_DEVICES", "lo") } else { launch }
}

pub fn seen(mpi: Mpi, program: &str, transports: &str) -> Launch {
    over_ucx(Launch::new(mpi, program).preload(hook("ucx")).variable("COMMSEE_HOOKS", "ucx"), transports)
}

pub fn number(path: &Path, sql: &str) -> f64 {
    Connection::open(path).expect("the profile").query_row(sql, [], |row| row.get(0)).expect(sql)
}

pub const P2P_SENDS: &str = "('MPI_Send', 'MPI_Isend', 'MPI_Issend', 'MPI_Ssend', 'MPI_Sendrecv')";
pub const P2P_RECEIVES: &str = "('MPI_Recv', 'MPI_Irecv', 'MPI_Mrecv', 'MPI_Sendrecv')";

/// Each message of the program is one operation of UCP, with its bytes, from rank to rank, and one that arrives.
pub fn messages_agree(path: &Path, of: &str) {
    let asked = format!(
        "SELECT comm, op, src, dst, sum(calls), sum(bytes) FROM matrix WHERE op IN {P2P_SENDS} GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
    );
    let done = format!(
        "SELECT comm, op, src, dst, sum(calls), sum(bytes) FROM transfers WHERE layer = 'ucp' AND op IN {P2P_SENDS} \
         AND function NOT LIKE '%flush%' GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
    );
    let (asked, done) = (answer(path, &asked), answer(path, &done));
    assert!(!asked.is_empty(), "{of}");
    assert_eq!(done, asked, "{of}");
    let asked = format!(
        "SELECT comm, op, rank, sum(calls), sum(bytes_recv) FROM profile WHERE op IN {P2P_RECEIVES} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    );
    let done = format!(
        "SELECT comm, op, dst, sum(calls), sum(bytes) FROM transfers WHERE layer = 'ucp-rx' AND op IN {P2P_RECEIVES} \
         GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    );
    assert_eq!(answer(path, &done), answer(path, &asked), "{of}");
}

/// What went below is what was asked for above, and nearly all of it is known to belong to an MPI call.
fn bytes_agree(path: &Path, of: &str) {
    let linked = |what: &str| {
        number(
            path,
            &format!(
                "SELECT 1.0 * sum(CASE WHEN op <> '-' THEN {what} END) / sum({what}) FROM transfers \
                 WHERE layer = 'uct' AND protocol <> 'wireup'"
            ),
        )
    };
    assert!(linked("bytes") >= 0.999, "{of}: {} of the bytes", linked("bytes"));
    assert!(linked("calls") >= 0.99, "{of}: {} of the operations", linked("calls"));
    // Messages to oneself are on no wire.
    let carried = "SELECT 1.0 * sum(CASE WHEN layer = 'uct' AND protocol NOT IN ('control', 'wireup') THEN bytes END) \
                   / sum(CASE WHEN layer = 'ucp' AND src IS NOT dst THEN bytes END) FROM transfers";
    assert_eq!(
        number(path, "SELECT count(*) * 1.0 FROM transfers WHERE layer = 'uct' AND transport = 'self'"),
        0.0,
        "{of}"
    );
    // Headers come in addition, 8 or 16 bytes in each packet.
    let ratio = number(path, carried);
    assert!((1.0..1.01).contains(&ratio), "{of}: {ratio}");
    // Between two processes: where a message was fetched, by who got it.
    let pairs = |layer: &str| {
        let found = answer(
            path,
            &format!(
                "SELECT min(src, dst), max(src, dst), sum(calls), sum(bytes) FROM transfers WHERE layer = '{layer}' \
                 AND protocol NOT IN ('control', 'wireup') AND src IS NOT dst GROUP BY 1, 2"
            ),
        );
        let numbers = |line: &String| line.split('|').map(|cell| cell.parse().expect("a number")).collect();
        found.iter().map(numbers).collect::<Vec<Vec<f64>>>()
    };
    let (above, below) = (pairs("ucp"), pairs("uct"));
    assert_eq!(above.len(), below.len(), "{of}: {above:?} {below:?}");
    for (asked, carried) in above.iter().zip(&below) {
        let most = asked[3] * 1.001 + 64.0 * carried[2];
        assert!(asked[..2] == carried[..2] && (asked[3]..most).contains(&carried[3]), "{of}: {asked:?} {carried:?}");
    }
}

fn note(run: &Run) -> String {
    let notes = answer(&run.profile_path(), "SELECT module, text, ranks FROM notes");
    let [note] = &notes[..] else { panic!("{notes:?}") };
    note.clone()
}

#[test]
fn messages_are_counted_above_and_below() {
    for (mpi, transports) in combinations() {
        for generation in GENERATIONS {
            for ranks in [2, 4] {
                let of = format!("{mpi} {transports} UCX_PROTO_ENABLE={generation} {ranks} ranks");
                let launch = seen(mpi, "ucx", transports).ranks(ranks).arguments(&["4194304"]);
                let run = launch.variable("UCX_PROTO_ENABLE", generation).run().succeeded();
                run.profile();
                messages_agree(&run.profile_path(), &of);
                bytes_agree(&run.profile_path(), &of);
                assert!(note(&run).ends_with(&format!(": UCP and UCT|{ranks}")), "{of}: {}", note(&run));
                let kinds = answer(&run.profile_path(), "SELECT DISTINCT kind FROM transfers WHERE layer = 'uct'");
                // No driver of a device is loaded.
                let memory = "SELECT DISTINCT layer, memory FROM transfers WHERE layer LIKE 'ucp%' AND protocol <> '' ORDER BY 1";
                assert_eq!(answer(&run.profile_path(), memory), ["ucp|host", "ucp-rx|host"], "{of}");
                assert_eq!(kinds, [if transports.contains("tcp") { "network" } else { "memory" }], "{of}");
            }
        }
    }
}

/// Messages that are alike and yet are not: each is counted where it belongs.
#[test]
fn messages_that_look_alike_are_counted_where_they_belong() {
    for (mpi, transports) in combinations() {
        for ranks in [2, 3] {
            let of = format!("{mpi} {transports} {ranks} ranks");
            let run = seen(mpi, "ucx_again", transports).ranks(ranks).run().succeeded();
            run.profile();
            messages_agree(&run.profile_path(), &of);
            let late = "SELECT count(*) FROM transfers WHERE layer = 'ucp-rx' AND later > 0 AND NOT (time_s > 0 AND time_s < 60)";
            assert_eq!(number(&run.profile_path(), late), 0.0, "{of}");
            let how = format!(
                "SELECT DISTINCT layer, protocol FROM transfers WHERE layer LIKE 'ucp%' \
                 AND (op IN {P2P_SENDS} OR op IN {P2P_RECEIVES}) ORDER BY 1"
            );
            assert_eq!(answer(&run.profile_path(), &how), ["ucp|eager", "ucp-rx|eager"], "{of}");
        }
    }
}

/// Records of receives serve for those on other communicators, too.
#[test]
fn windows_on_many_communicators_take_the_memory_of_one() {
    for (mpi, transports) in combinations() {
        let run = seen(mpi, "ucx_windows", transports).ranks(2).run().succeeded();
        let more_kib =
            run.stdout.lines().find_map(|line| line.strip_prefix("more: ")?.strip_suffix(" KiB")?.parse().ok());
        let more_kib: i64 = more_kib.unwrap_or_else(|| panic!("{}", run.stdout));
        // Kept apart, they were 40 MiB.
        assert!((-4096..8192).contains(&more_kib), "{mpi} {transports}: {more_kib} KiB");
        assert_eq!(number(&run.profile_path(), "SELECT sum(calls) FROM profile WHERE op = 'MPI_Irecv'"), 192_000.0);
    }
}

/// The same messages at once, or announced first: the environment decides, and the profile says which.
#[test]
fn eager_and_rendezvous_are_told_apart() {
    for mpi in Mpi::ALL {
        for (threshold, transports, generation, wanted) in [
            ("inf", "posix,sysv,cma,self", "n", &["eager"][..]),
            ("inf", "tcp,self", "y", &["eager"]),
            ("0", "posix,sysv,cma,self", "n", &["rndv-get"]),
            ("0", "tcp,self", "n", &["rndv-am", "rndv-get", "rndv-put"]),
            ("0", "posix,self", "n", &["rndv-am"]),
        ] {
            let of = format!("{mpi} {transports} UCX_RNDV_THRESH={threshold} UCX_PROTO_ENABLE={generation}");
            let launch = seen(mpi, "ucx", transports).arguments(&["300000"]).variable("UCX_RNDV_THRESH", threshold);
            let run = launch.variable("UCX_PROTO_ENABLE", generation).run().succeeded();
            messages_agree(&run.profile_path(), &of);
            bytes_agree(&run.profile_path(), &of);
            // An empty message has nothing to fetch, and pieces cannot be fetched.
            let protocols = answer(
                &run.profile_path(),
                "SELECT DISTINCT protocol FROM transfers WHERE layer = 'ucp' AND op = 'MPI_Issend' AND bucket_hi > 128 ORDER BY 1",
            );
            assert!(protocols.iter().all(|protocol| wanted.contains(&protocol.as_str())), "{of}: {protocols:?}");
            assert!(!protocols.is_empty(), "{of}");
            let arrived = answer(
                &run.profile_path(),
                "SELECT DISTINCT protocol FROM transfers WHERE layer = 'ucp-rx' AND op = 'MPI_Sendrecv' AND bucket_hi > 128 ORDER BY 1",
            );
            assert!(arrived.iter().all(|protocol| wanted.contains(&protocol.as_str())), "{of}: {arrived:?}");
        }
    }
}

/// Data that moves while the process is in another call belongs to the call that asked for it.
#[test]
fn overlapping_messages_are_split_exactly() {
    for (mpi, transports) in combinations() {
        for generation in GENERATIONS {
            for arguments in [&[][..], &["same"]] {
                let of = format!("{mpi} {transports} {generation} {arguments:?}");
                let launch = seen(mpi, "ucx_overlap", transports).arguments(arguments);
                let run = launch.variable("UCX_PROTO_ENABLE", generation).run().succeeded();
                let path = &run.profile_path();
                let bytes = |filter: &str| {
                    let sql = "SELECT coalesce(sum(bytes), 0) * 1.0 FROM transfers WHERE layer = 'uct' AND protocol <> 'control'";
                    number(path, &format!("{sql} AND {filter}"))
                };
                let asked = 2.0 * 10.0 * f64::from(1 << 20);
                for comm in ["d0.1", "d0.2"] {
                    let ratio = bytes(&format!("comm = '{comm}' AND op IN ('MPI_Isend', 'MPI_Irecv')")) / asked;
                    assert!((1.0..1.01).contains(&ratio), "{of} {comm}: {ratio}");
                }
                let reduced = bytes("op = 'MPI_Allreduce'");
                let above =
                    number(path, "SELECT sum(bytes) * 1.0 FROM transfers WHERE layer = 'ucp' AND op = 'MPI_Allreduce'");
                assert!((1.0..1.05).contains(&(reduced / above)), "{of}: {reduced} {above}");
            }
        }
    }
}

/// The messages of a collective call are those that its algorithm is known to send.
#[test]
fn algorithms_show_in_the_matrix() {
    const BYTES: u64 = 8192;
    let ranks = 4;
    // From a rank to another: messages and bytes.
    type Theory = fn(u64, u64) -> (u64, u64);
    let algorithms: [(&str, Theory); 3] = [
        // Recursive doubling: all of it with each partner.
        ("3", |from, to| if matches!(from ^ to, 1 | 2) { (1, BYTES) } else { (0, 0) }),
        // Ring: a block in each of 2 (ranks - 1) steps.
        ("4", |from, to| if to == (from + 1) % 4 { (6, 6 * BYTES / 4) } else { (0, 0) }),
        // Reduce-scatter by halving, then gathering by doubling: half with one partner, a quarter with the other, each way.
        ("6", |from, to| match from ^ to {
            1 => (2, BYTES),
            2 => (2, BYTES / 2),
            _ => (0, 0),
        }),
    ];
    for (algorithm, theory) in algorithms {
        let launch = seen(Mpi::OpenMpi, "ucx_allreduce", "posix,sysv,cma,self").ranks(ranks);
        let launch = launch.variable("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
        let run = launch.variable("OMPI_MCA_coll_tuned_allreduce_algorithm", algorithm).run().succeeded();
        let found = answer(
            &run.profile_path(),
            "SELECT src, dst, sum(calls), sum(bytes) FROM transfers WHERE layer = 'ucp' AND op = 'MPI_Allreduce' GROUP BY 1, 2 ORDER BY 1, 2",
        );
        let mut expected = Vec::new();
        for (from, to) in (0..4).flat_map(|from| (0..4).map(move |to| (from, to))) {
            match theory(from, to) {
                (0, _) => {}
                (calls, bytes) => expected.push(format!("{from}|{to}|{calls}|{bytes}")),
            }
        }
        assert_eq!(found, expected, "algorithm {algorithm}");
    }
}

/// Programs that state what they do get the same results and the same profile with the module.
#[test]
fn programs_run_as_without_it() {
    for mpi in Mpi::ALL {
        for (program, ranks) in [
            ("p2p", 4),
            ("completion", 4),
            ("requests", 4),
            ("persistent", 4),
            ("collectives", 4),
            ("creators", 4),
            ("nested", 4),
        ] {
            let run = seen(mpi, program, "posix,sysv,cma,self").ranks(ranks).run().succeeded();
            let profile = run.profile();
            check_profile(&run, &profile);
            let above = number(&run.profile_path(), "SELECT count(*) * 1.0 FROM transfers WHERE layer = 'ucp'");
            assert!(above > 0.0, "{mpi} {program}");
        }
    }
}

/// Large puts, gets and accumulates with datatypes that are not in one piece: active messages of MPICH, messages with tags of Open
/// MPI. The program looks at all results. Handlers of active messages of the older form know no rendezvous: MPICH waits for ever
/// where one is made.
#[test]
fn one_sided_operations_do_what_they_do_without_it() {
    for (mpi, transports) in combinations() {
        for generation in GENERATIONS {
            let of = format!("{mpi} {transports} UCX_PROTO_ENABLE={generation}");
            // With Open MPI 4.1.4 alone, accumulates of this size come to nothing (osc/ucx) or to no end (osc/pt2pt).
            let arguments: &[&str] = if mpi == Mpi::Mpich { &["accumulate"] } else { &[] };
            let launch = seen(mpi, "one_sided", transports).arguments(arguments).variable("OMPI_MCA_osc", "pt2pt");
            let run = launch.variable("UCX_PROTO_ENABLE", generation).run().succeeded();
            run.profile();
            let path = &run.profile_path();
            if mpi == Mpi::Mpich {
                let sent =
                    "SELECT DISTINCT protocol FROM transfers WHERE layer = 'ucp' AND function = 'ucp_am_send_nb'";
                assert_eq!(answer(path, sent), ["eager"], "{of}");
            }
            let largest =
                number(path, "SELECT max(1.0 * bytes / calls) FROM transfers WHERE layer = 'ucp' AND op <> '-'");
            assert!(largest >= 100_000.0, "{of}: {largest}");
        }
    }
}

/// Callbacks that leave UCX by `longjmp`, or end their thread, leave nothing behind that is not there any more.
#[test]
fn callbacks_may_leave_without_returning() {
    let link = vec!["-lucp".to_owned(), "-lucs".to_owned()];
    for mpi in Mpi::ALL {
        let program = Program { name: "ucx_leaves", link: link.clone() }.compiled(mpi);
        let launch = Launch::of(mpi, program).preload(library()).preload(hook("ucx")).variable("COMMSEE_HOOKS", "ucx");
        let run = over_ucx(launch, "posix,cma,self").ranks(1).run().succeeded();
        run.profile();
        let calls = |function: &str| {
            let counted = "SELECT coalesce(sum(calls), 0) * 1.0 FROM transfers WHERE op = '-' AND layer LIKE 'ucp%'";
            number(&run.profile_path(), &format!("{counted} AND function = '{function}'"))
        };
        // A hundred times ten messages, and 110 that were left. Some behind a jump may be missing, and none is counted twice.
        let (received, sent) = (calls("ucp_tag_recv_nbx"), calls("ucp_tag_send_nbx"));
        assert!((555.0..=1110.0).contains(&received) && (500.0..=1000.0).contains(&sent), "{mpi}: {received} {sent}");
    }
}

/// A panic must not cross into UCX, and the hot path is not guarded: so the optimized library must have none but those of its guards.
#[test]
fn nothing_panics_where_no_guard_is() {
    if cfg!(debug_assertions) {
        return;
    }
    demand("objdump", "binutils");
    let library = hook("ucx");
    let output =
        |command: &str, arguments: &[&str]| execute(Command::new(command).args(arguments).arg(&library)).stdout;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let symbols = output("nm", &["-C"]);
    let name_at: HashMap<u64, &str> =
        symbols.lines().filter_map(|line| Some((number(line.get(..16)?)?, line.get(19..)?))).collect();
    // Functions of the standard library are called by way of a table that the loader fills.
    let relocations = output("readelf", &["-rW"]);
    let called_at: HashMap<u64, &str> = relocations
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [place, _, "R_X86_64_RELATIVE" | "R_AARCH64_RELATIVE", target] = words[..] else { return None };
            Some((number(place)?, *name_at.get(&number(target)?)?))
        })
        .collect();
    let code = output("objdump", &["-d", "-C", "--no-show-raw-insn"]);
    let (mut function, mut functions, mut found) = ("", 0, Vec::new());
    for line in code.lines() {
        if let Some((_, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            function = name;
            functions += usize::from(name.contains("commsee_ucx::"));
        } else if line.contains("call") || line.contains("\tbl") {
            let by_table = line.split_once("# ").and_then(|(_, place)| number(place.split(' ').next()?));
            let called = by_table.and_then(|place| called_at.get(&place).copied()).unwrap_or(line);
            let panics =
                ["panicking::panic_fmt", "panicking::panic_bounds_check", "panicking::assert_failed", "_failed"];
            let ours = function.contains("commsee_ucx::") || function.starts_with("uc");
            if ours && panics.iter().any(|panic| called.contains(panic)) {
                found.push(format!("{function}: {called}"));
            }
        }
    }
    assert!(functions > 30 && !called_at.is_empty(), "{functions} functions, {} in the table", called_at.len());
    assert_eq!(found, Vec::<String>::new());
}

/// Threads that all send at once.
#[test]
fn threads_are_counted() {
    for mpi in Mpi::ALL {
        for program in ["threads", "thread_requests"] {
            let run = seen(mpi, program, "posix,sysv,cma,self").ranks(4).run().succeeded();
            let profile = run.profile();
            check_profile(&run, &profile);
            // Some receives of the other one are from nobody.
            if program == "threads" {
                messages_agree(&run.profile_path(), &format!("{mpi} {program}"));
            }
        }
    }
}

/// Without the core, or not asked for, it passes calls on and says nothing.
#[test]
fn alone_it_does_no_harm() {
    for mpi in Mpi::ALL {
        let run =
            over_ucx(Launch::new(mpi, "ucx").plain().preload(hook("ucx")), "posix,sysv,cma,self").run().succeeded();
        assert_eq!(run.stderr, "", "{mpi}");
        assert!(!run.profile_path().exists());
        let run = seen(mpi, "ucx", "posix,sysv,cma,self").variable("COMMSEE_HOOKS", "nccl").run().succeeded();
        run.profile();
        assert_eq!(answer(&run.profile_path(), "SELECT count(*) FROM transfer"), ["0"]);
    }
}

/// What goes to a spawned world is a transfer to a peer of another world, with its bytes.
#[test]
fn spawned_worlds_are_remote() {
    // Debian's MPICH cannot spawn.
    let run = seen(Mpi::OpenMpi, "spawn", "posix,sysv,cma,self").run().succeeded();
    for name in ["profile.db", "profile-1.db"] {
        let path = run.folder().join(name);
        let sent = answer(&path, "SELECT comm, op, src, dst, calls, bytes FROM matrix");
        let told = "SELECT comm, op, src, dst, calls, bytes FROM transfers WHERE layer = 'ucp' AND op = 'MPI_Send' AND remote = 1";
        assert_eq!((answer(&path, told), sent.len()), (sent, 1));
        // Of the merged communicator each rank reduces with one of its own world and one of the other.
        let reduced = "SELECT src, sum(remote), sum(dst IS NULL) FROM transfers WHERE layer = 'ucp' AND op = 'MPI_Allreduce' GROUP BY 1 ORDER BY 1";
        assert_eq!(answer(&path, reduced), ["0|1|1", "1|1|1"]);
    }
}

/// Every operation that belongs to a call is on the timeline, behind the begin of that call.
#[test]
fn operations_are_on_the_timeline() {
    for mpi in Mpi::ALL {
        let launch = seen(mpi, "ucx", "posix,sysv,cma,self").ranks(4).arguments(&["300000"]);
        let run = launch.variable("COMMSEE_TRACE", "64M").run().succeeded();
        let path = run.profile_path();
        let counted = "SELECT way, sum(calls) FROM transfer WHERE op <> 65535 AND way IN (SELECT id FROM way WHERE layer <> 'uct-rx') \
                       GROUP BY 1 ORDER BY 1";
        let events = "SELECT e.way, count(*) FROM event e WHERE e.kind = 1 AND e.cause_ns <= e.begin_ns AND e.begin_ns <= e.end_ns AND \
                      EXISTS (SELECT 1 FROM event c WHERE c.kind = 0 AND c.rank = e.rank AND c.thread = e.thread AND \
                      c.begin_ns = e.cause_ns AND c.comm = e.comm AND c.op = e.op) GROUP BY 1 ORDER BY 1";
        // The table has no index of its own.
        Connection::open(&path)
            .expect("the profile")
            .execute("CREATE INDEX calls ON event (rank, begin_ns)", [])
            .expect("an index");
        let counted = answer(&path, counted);
        assert!(counted.len() >= 5, "{mpi}: {counted:?}");
        assert_eq!(answer(&path, events), counted, "{mpi}");
    }
}

/// Of a UCX that is too old nothing is seen, of one that is too new what its stable interface shows. Either is said, and the program
/// does the same.
#[test]
fn unknown_versions_are_left_alone() {
    for mpi in Mpi::ALL {
        let other = |version: &str| {
            let launch = seen(mpi, "ucx", "posix,sysv,cma,self").preload(shared_library("other_ucx"));
            launch.arguments(&["300000"]).variable("OTHER_UCX", version).run().succeeded()
        };
        let old = other("1.10.1");
        let refused = "UCX 1.10.1: refused (unknown version; known: 1.11 to 1.22)";
        assert_eq!(old.stderr.matches(&format!("{refused}; UCX is not recorded")).count(), 1, "{}", old.stderr);
        old.profile();
        assert_eq!(answer(&old.profile_path(), "SELECT count(*) FROM transfer"), ["0"], "{mpi}");
        assert_eq!(answer(&old.profile_path(), "SELECT text FROM notes"), [refused], "{mpi}");

        let new = other("1.99.0");
        new.profile();
        messages_agree(&new.profile_path(), "a new version");
        assert_eq!(answer(&new.profile_path(), "SELECT DISTINCT layer FROM transfers ORDER BY 1"), ["ucp", "ucp-rx"]);
        let notes = answer(&new.profile_path(), "SELECT text FROM notes ORDER BY text");
        assert_eq!(notes[0], "UCX 1.99.0: UCP", "{notes:?}");
        let refused = |note: &String| note.ends_with(": refused (operation table of UCX 1.99.0 is not known)");
        assert!(notes.len() > 2 && notes[1..].iter().all(refused), "{notes:?}");
    }
}
