//! Where SQLite finds the numbers of views: in the sums where these tell, by the rowids of cells, or by a scan of them.

use clap::Parser;
use rusqlite::Connection;
use tempfile::TempDir;
use through::Cli;
use through_core::query::Error;
use through_core::query::catalog::Catalog;
use through_core::query::filter::Filter;
use through_core::query::open::Profile;
use through_core::query::source::{Relation, Source};

/// A profile with an empty table of cells, of a program with or without phases.
fn profile(folder: &TempDir, is_phased: bool) -> Profile {
    let path = folder.path().join(format!("{is_phased}.db"));
    let db = Connection::open(&path).unwrap();
    db.execute_batch(&commsee::profile::SCHEMA).unwrap();
    db.execute_batch(
        "INSERT INTO phase VALUES (0, ''); INSERT INTO bucket VALUES (0, 0, 128), (1, 128, NULL); \
         INSERT INTO operation VALUES (7, 'MPI_Send', 'p2p'), (8, 'MPI_Allreduce', 'collective'); \
         INSERT INTO communicator (id, name, time_ranks, time_ns) VALUES (0, '-', 0, 0), (1, '*', 0, 0), (2, 'W0.0', 4, 9); \
         INSERT INTO process (rank, host, pid, wall_ns, mpi_ns, state) VALUES (0, 'n', 1, 1, 1, 'finished'), (1, 'n', 1, 1, 1, 'finished')",
    )
    .unwrap();
    db.pragma_update(None, "user_version", commsee::profile::SCHEMA_VERSION).unwrap();
    if is_phased {
        db.execute_batch("INSERT INTO phase VALUES (1, 'set up'), (2, 'solve')").unwrap();
    }
    db.close().unwrap();
    Profile::open(&path).unwrap()
}

fn with<T>(
    profile: &Profile,
    words: &[&str],
    ask: impl Fn(&Source) -> Result<Relation, Error>,
    see: impl Fn(&str) -> T,
) -> T {
    let cli = Cli::try_parse_from(["through"].iter().chain(words)).unwrap();
    let catalog = Catalog::read(profile).unwrap();
    let filter = Filter::resolve(&cli.show.select.selection(), &catalog).unwrap();
    let relation = ask(&Source::new(profile, &catalog, &filter)).unwrap();
    see(&profile.plan(&relation.sql, relation.values).unwrap())
}

type Ask = fn(&Source) -> Result<Relation, Error>;

#[test]
fn sums_answer_what_they_can_without_a_cell() {
    let folder = tempfile::tempdir().unwrap();
    let groups: [Ask; 3] =
        [|source| source.groups(true), |source| source.groups(false), |source| source.groups_by_phase()];
    for profile in [profile(&folder, false), profile(&folder, true)] {
        for words in [
            &[][..],
            &["--comm", "W0.0"],
            &["--op", "send"],
            &["-p"],
            &["--bytes", "1K:"],
            &["--bucket", "0"],
            &["--phase="],
        ] {
            for ask in groups {
                with(&profile, words, ask, |plan| {
                    assert!(plan.starts_with("SCAN t") && !plan.contains(" x"), "{words:?}: {plan}");
                });
            }
        }
        for words in [&[][..], &["--comm", "W0.0"]] {
            with(&profile, words, |source| Ok(source.spreads().unwrap()), |plan| assert_eq!(plan, "SCAN c"));
        }
    }
}

#[test]
fn cells_are_found_by_their_number() {
    let folder = tempfile::tempdir().unwrap();
    let all: [Ask; 4] = [
        |source| source.groups(true),
        |source| source.groups_by_phase(),
        |source| source.parts(),
        |source| source.rows(),
    ];
    for profile in [profile(&folder, false), profile(&folder, true)] {
        for words in [
            &["--rank", "1"][..],
            &["--rank", "0-1"],
            &["--time", "0.1:"],
            &["--time", "0.1:", "--rank", "1", "--op", "send"],
            &["--rank", "0", "--comm", "W0.0"],
            &["--rank", "1", "--phase="],
        ] {
            for ask in all {
                with(&profile, words, ask, |plan| {
                    assert!(
                        plan.contains("SEARCH x USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
                        "{words:?}: {plan}"
                    );
                    assert!(!plan.contains("SCAN x") && !plan.contains("SCAN cell"), "{words:?}: {plan}");
                });
            }
        }
    }
    let another = tempfile::tempdir().unwrap();
    let several = ["--phase", "set up,solve"];
    with(
        &profile(&another, true),
        &several,
        |source| source.groups(true),
        |plan| {
            assert!(plan.contains("SEARCH x USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"), "{plan}");
        },
    );
}
