//! Streams of what processes counted: however they are merged they become the same profile, and what is summed up on the way says
//! what the parts say.

#[path = "../benches/scale/shapes.rs"]
#[allow(dead_code)]
mod shapes;

use std::path::{Path, PathBuf};

use bytemuck::Zeroable;
use commsee::calls::op;
use commsee::profile::Writer;
use commsee::shard::{Cell, FIRST_COMM, File, FileCell, Shard, set_text};
use commsee::stream::{Decoder, Detail, Encoder, Merge, MergedShards, ProcessStream, Source};
use rusqlite::{Connection, Row};
use shapes::{SHAPES, Shape};

const DETAILS: [Detail; 3] = [Detail::Rank, Detail::Node, Detail::Comm];

/// With a file that all ranks open, and one that few do: each under a number of its own, which differs from rank to rank.
fn shard(shape: Shape, rank: u32, ranks: u32) -> Shard {
    let mut shard = shapes::shard(shape, rank, ranks);
    let hashes = [7, 100 + u64::from(rank % 5)];
    let ordered = if rank.is_multiple_of(2) { [0, 1] } else { [1, 0] };
    for (number, at) in (1..).zip(ordered) {
        let mut file = File { number, hash: hashes[at], ..File::zeroed() };
        set_text(&mut file.name, &format!("file-{}", hashes[at]));
        shard.files.push(file);
        for (operation, bucket) in [(op::MPI_File_open, 0), (op::MPI_File_write_at, 0), (op::MPI_File_write_at, 1)] {
            let key = Cell::key(FIRST_COMM, operation, bucket);
            let (calls, ticks) = (1 + u64::from(rank), 10 * u64::from(rank + 1));
            shard.file_cells.push(FileCell { calls, bytes_written: 8 * calls, ticks, ..FileCell::new(key, number) });
        }
    }
    shard
}

fn leaf(shape: Shape, rank: u32, ranks: u32, detail: Detail) -> Box<dyn Source> {
    Box::new(ProcessStream::new(shard(shape, rank, ranks), detail, false))
}

fn encoded(mut source: impl Source) -> Vec<u8> {
    let mut encoder = Encoder::default();
    while let Some(item) = source.next() {
        encoder.push(&item);
    }
    encoder.take()
}

/// As the gathering merges: a rank with its children, each of which sends bytes.
fn up_the_tree(shape: Shape, first: u32, count: u32, ranks: u32, detail: Detail) -> Vec<u8> {
    let mut sources = vec![leaf(shape, first, ranks, detail)];
    for step in (0..u32::BITS).map(|bit| 1 << bit).take_while(|step| *step < count) {
        let child = up_the_tree(shape, first + step, step.min(count - step), ranks, detail);
        sources.push(Box::new(Decoder::new(child)));
    }
    encoded(Merge::new(sources))
}

fn piled(shape: Shape, order: impl Iterator<Item = u32>, ranks: u32, detail: Detail) -> Vec<u8> {
    let mut merged = MergedShards::new(detail, false);
    order.for_each(|rank| merged.add(shard(shape, rank, ranks)));
    encoded(merged.stream())
}

/// A timeline that is long enough for several blocks of a stream.
fn short((name, shape): (&str, Shape)) -> (&str, Shape) {
    (name, if let Shape::Ring(_) = shape { Shape::Ring(700) } else { shape })
}

#[test]
fn the_way_of_merging_does_not_matter() {
    for (name, shape) in SHAPES.map(short) {
        for detail in DETAILS {
            for ranks in [1, 2, 37, 100] {
                let all = Merge::new((0..ranks).map(|rank| leaf(shape, rank, ranks, detail)).collect());
                let at_once = encoded(all);
                assert!(at_once == up_the_tree(shape, 0, ranks, ranks, detail), "{name} {detail:?} {ranks}: a tree");
                let backwards = piled(shape, (0..ranks).rev(), ranks, detail);
                assert!(at_once == backwards, "{name} {detail:?} {ranks}: a merged");
            }
        }
    }
}

#[test]
fn bytes_that_are_cut_off_end_a_stream() {
    let whole = up_the_tree(Shape::Grid, 0, 9, 9, Detail::Rank);
    for length in [1, 5000, whole.len() / 2, whole.len() - 1] {
        let mut decoder = Decoder::new(whole[..length].to_vec());
        let mut encoder = Encoder::default();
        while let Some(item) = decoder.next() {
            encoder.push(&item);
        }
        let read = encoder.take();
        assert!(
            whole.starts_with(&read) && decoder.is_whole() == (read.len() == length),
            "{length} of {}",
            whole.len()
        );
    }
    for place in (0..whole.len()).step_by(7) {
        let mut spoiled = whole.clone();
        spoiled[place] ^= 0x55;
        // It may mean something else; it must end.
        let mut decoder = Decoder::new(spoiled);
        while decoder.next().is_some() {}
    }
}

fn profile(shape: Shape, ranks: u32, detail: Detail, folder: &Path) -> Connection {
    let mut merged = MergedShards::new(detail, false);
    (0..ranks).for_each(|rank| merged.add(shard(shape, rank, ranks)));
    let wanted: PathBuf = folder.join("profile.db");
    let written = Writer::create(&wanted).unwrap().write(detail, &mut merged.stream()).unwrap();
    assert_eq!(written.ranks, u64::from(ranks));
    Connection::open(written.path).unwrap()
}

/// All rows of a query, as text.
fn rows(db: &Connection, sql: &str) -> Vec<String> {
    let text = |row: &Row| -> rusqlite::Result<String> {
        let count = row.as_ref().column_count();
        (0..count)
            .map(|column| Ok(format!("{:?}", row.get_ref(column)?)))
            .collect::<Result<Vec<_>, _>>()
            .map(|all| all.join(" "))
    };
    let mut query = db.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    query.query_map([], text).unwrap().collect::<Result<_, _>>().unwrap()
}

/// The sums as they follow from the cells of single ranks; of equal extremes the lowest rank.
const SUMS_OF_CELLS: &str = "SELECT comm, op, bucket, phase, count(*), sum(calls), max(calls), sum(failed), max(failed), \
     sum(bytes_sent), sum(bytes_recv), sum(time_ns), min(time_ns), \
     (SELECT min(rank) FROM cells y WHERE (y.comm, y.op, y.bucket, y.phase, y.time_ns) = (x.comm, x.op, x.bucket, x.phase, min(x.time_ns))), \
     max(time_ns), \
     (SELECT min(rank) FROM cells y WHERE (y.comm, y.op, y.bucket, y.phase, y.time_ns) = (x.comm, x.op, x.bucket, x.phase, max(x.time_ns))), \
     min(time_min_ns), \
     (SELECT min(rank) FROM cells y WHERE (y.comm, y.op, y.bucket, y.phase, y.time_min_ns) = (x.comm, x.op, x.bucket, x.phase, min(x.time_min_ns))), \
     max(time_max_ns), \
     (SELECT min(rank) FROM cells y WHERE (y.comm, y.op, y.bucket, y.phase, y.time_max_ns) = (x.comm, x.op, x.bucket, x.phase, max(x.time_max_ns))) \
     FROM cells x GROUP BY comm, op, bucket, phase ORDER BY comm, op, bucket, phase";

const SUMS: &str = "SELECT comm, op, bucket, phase, ranks, calls, calls_max, failed, failed_max, bytes_sent, bytes_recv, time_ns, \
     rank_min_ns, rank_min, rank_max_ns, rank_max, time_min_ns, time_min_rank, time_max_ns, time_max_rank \
     FROM summary ORDER BY comm, op, bucket, phase";

const COMMUNICATORS: &str = "SELECT * FROM communicator c LEFT JOIN members m ON m.id = c.members ORDER BY c.id";

#[test]
fn sums_are_those_of_the_cells_in_every_detail() {
    for (name, shape) in SHAPES.map(short) {
        let ranks = 70;
        let folder = tempfile::tempdir().unwrap();
        let [by_rank, by_node, by_comm] = DETAILS.map(|detail| profile(shape, ranks, detail, folder.path()));
        let sums = rows(&by_rank, SUMS);
        assert!(!sums.is_empty());
        assert_eq!(sums, rows(&by_rank, SUMS_OF_CELLS), "{name}");
        assert_eq!(sums, rows(&by_node, SUMS), "{name}: nodes");
        assert_eq!(sums, rows(&by_comm, SUMS), "{name}: communicators");
        for other in [&by_node, &by_comm] {
            assert_eq!(rows(&by_rank, COMMUNICATORS), rows(other, COMMUNICATORS), "{name}");
            assert_eq!(rows(&by_rank, "SELECT * FROM process"), rows(other, "SELECT * FROM process"), "{name}");
        }

        // 64 ranks to a node: its lowest one stands for all.
        let of_nodes = "comm, op, bucket, rank / 64 * 64 AS node, sum(calls), sum(bytes_sent), sum(bytes_recv), sum(time_ns), \
             min(time_min_ns), max(time_max_ns) FROM cells GROUP BY comm, op, bucket, node ORDER BY 1, 2, 3, 4";
        let lowest = "comm, op, bucket, (SELECT min(p.rank) FROM process p JOIN process q USING (host) WHERE q.rank = x.rank), \
             calls, bytes_sent, bytes_recv, time_ns, time_min_ns, time_max_ns FROM cells x ORDER BY 1, 2, 3, 4";
        assert_eq!(
            rows(&by_rank, &format!("SELECT {of_nodes}")),
            rows(&by_node, &format!("SELECT {lowest}")),
            "{name}"
        );
        let matrix = |node: &str| {
            format!(
                "SELECT comm, op, src{node} AS a, dst{node} AS b, sum(calls), sum(bytes) FROM matrix GROUP BY 1, 2, 3, 4"
            )
        };
        assert_eq!(rows(&by_rank, &matrix(" / 64 * 64")), rows(&by_node, &matrix("")), "{name}: the matrix of nodes");
        assert_eq!(rows(&by_comm, "SELECT * FROM matrix").len() + rows(&by_comm, "SELECT * FROM cell").len(), 0);
        assert_eq!(
            rows(&by_comm, "SELECT count(*) FROM profile WHERE rank IS NULL"),
            rows(&by_comm, "SELECT count(*) FROM summary")
        );
    }
}

/// What repeats is stored once.
#[test]
fn the_same_members_and_the_same_counts_are_stored_once() {
    let folder = tempfile::tempdir().unwrap();
    let db = profile(Shape::Nekbone, 64, Detail::Rank, folder.path());
    assert_eq!(
        rows(&db, "SELECT count(*), (SELECT count(*) FROM communicators) FROM members"),
        ["Integer(1) Integer(103)"]
    );
    // Only the ranks that MPI_Bcast treats differently from most have counts of their own.
    let own = "SELECT DISTINCT o.name, x.id - s.first_cell FROM uneven_cell x JOIN summary s ON x.id BETWEEN s.first_cell AND \
         s.last_cell JOIN operation o ON o.id = s.op";
    assert_eq!(rows(&db, own), ["Text([77, 80, 73, 95, 66, 99, 97, 115, 116]) Integer(0)"]);
}

/// A row takes fewer bytes than the 32 of the reference tool, whose rows know neither failed calls nor received bytes nor extremes.
#[test]
fn a_row_takes_less_than_32_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let db = profile(Shape::Nekbone, 128, Detail::Rank, folder.path());
    let bytes: i64 = db
        .query_row("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", [], |row| row.get(0))
        .unwrap();
    let cells: i64 = db.query_row("SELECT count(*) FROM profile", [], |row| row.get(0)).unwrap();
    assert_eq!(cells, 128 * (52 * 4 + 51 * 5));
    assert!(bytes < 32 * cells, "{bytes} bytes for {cells} rows");
}
