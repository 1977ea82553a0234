//! A shard of any bytes, and what a profile becomes of it. The first byte says what the rest is: the whole file, or what
//! stands in a header that is otherwise whole, and behind it blocks. The way is that of `MPI_Finalize`, or over files that
//! `through recover` finds, in jobs of any size: for long only the first, with four ranks, so that nothing was seen of lists of
//! ranks that left no shard.

use bytemuck::{Zeroable, bytes_of};
use commsee::calls::TABLE_HASH;
use commsee::profile::Writer;
use commsee::profile::recover::{self, shard_name};
use commsee::ranks::Ranks;
use commsee::shard::{FORMAT, HEADER_BYTES, Header, MAGIC, Moment, Shard};
use commsee::stream::{Detail, Extent, MergedShards};

pub fn drive(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    match kind % 8 {
        0 | 4 => _ = Shard::parse(rest),
        1 | 5 => _ = Shard::parse(&sealed(rest)),
        2 | 3 => profile(rest, kind % 8 == 2),
        _ => files(rest, kind % 8 == 6),
    }
}

/// Any header whose checksum is right.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut whole = bytes.to_vec();
    whole.resize(whole.len().max(HEADER_BYTES), 0);
    let mut header: Header = bytemuck::pod_read_unaligned(&whole[..HEADER_BYTES]);
    (header.magic, header.format, header.table_hash) = (MAGIC, FORMAT, TABLE_HASH);
    header.seal();
    whole[..HEADER_BYTES].copy_from_slice(bytes_of(&header));
    whole
}

/// Numbers of ranks, of which a reader takes all but the last two.
const SIZES: [u32; 6] = [4, 1 << 12, (1 << 23) + 1, 1 << 24, (1 << 24) + 1, u32::MAX];

/// What `through recover` makes of such shards as files.
fn files(bytes: &[u8], twice: bool) {
    let Some((facts, blocks)) = bytes.split_at_checked(FACTS) else { return };
    let mut header = header(facts, blocks);
    header.world_size = SIZES[usize::from(facts[62]) % SIZES.len()];
    let folder = tempfile::tempdir().unwrap();
    let mut ranks = Vec::new();
    for rank in [header.world_rank, header.world_size - 1].into_iter().take(1 + usize::from(twice)) {
        header.world_rank = rank;
        header.seal();
        ranks.push(rank);
        std::fs::write(folder.path().join(shard_name(header.run, rank)), [bytes_of(&header), blocks].concat()).unwrap();
    }
    let found = recover::find(&[folder.path().to_owned()]);
    assert_eq!(found.len(), 1, "the headers are whole");
    match recover::recover(&found[0], &folder.path().join("a.db")) {
        Ok(recovered) => {
            let present: Ranks = ranks.into_iter().collect();
            assert_eq!(recovered.missing_ranks, Ranks::first(header.world_size.into()).without(&present));
        }
        Err(error) => assert!(header.world_size > 1 << 24, "{error}"),
    }
    found[0].remove().unwrap();
    assert!(recover::find(&[folder.path().to_owned()]).is_empty());
}

const FACTS: usize = 64;

/// Whatever stands in the blocks: there is a profile of it, of one process or of two that saw the same.
fn profile(bytes: &[u8], twice: bool) {
    let Some((facts, blocks)) = bytes.split_at_checked(FACTS) else { return };
    let mut header = header(facts, blocks);
    let folder = tempfile::tempdir().unwrap();
    let detail = [Detail::Rank, Detail::Node, Detail::Comm][usize::from(facts[63] % 3)];
    let mut shards = Vec::new();
    for rank in [header.world_rank, header.world_rank ^ 1].into_iter().take(1 + usize::from(twice)) {
        header.world_rank = rank;
        header.seal();
        shards.push(Shard::parse(&[bytes_of(&header), blocks].concat()).expect("the header is whole"));
    }
    let extent = shards.iter().map(Extent::of).fold(Extent::default(), Extent::and);
    let mut merged = MergedShards::new(detail, extent.is_phased);
    let count = shards.len() as u64;
    shards.into_iter().for_each(|shard| merged.add(shard));
    let writer = Writer::create(&folder.path().join("a.db")).unwrap();
    let written = writer.write(detail, &mut merged.stream()).expect("any shard fits into a profile");
    assert_eq!(written.ranks, count, "what was written can be read");
    let db = rusqlite::Connection::open(written.path).unwrap();
    let orphans: i64 = db.query_row("SELECT count(*) FROM pragma_foreign_key_check()", [], |row| row.get(0)).unwrap();
    assert_eq!(orphans, 0, "what a row refers to is there");
    let cells = "SELECT count(*) FROM cells WHERE rank IS NOT NULL AND (calls < 0 OR typeof(calls) <> 'integer')";
    assert_eq!(db.query_row::<i64, _, _>(cells, [], |row| row.get(0)).unwrap(), 0, "counts are counts");
}

/// A header that is whole, with such facts in it.
fn header(facts: &[u8], blocks: &[u8]) -> Header {
    let word = |at: usize| u64::from_ne_bytes(facts[at..at + 8].try_into().unwrap());
    let half = |at: usize| u32::from_ne_bytes(facts[at..at + 4].try_into().unwrap());
    let mut header = Header {
        magic: MAGIC,
        format: FORMAT,
        table_hash: TABLE_HASH,
        state: half(0),
        world_size: 4,
        world_rank: u32::from(facts[4] % 4),
        clock: u32::from(facts[5]),
        family: u32::from(facts[6]),
        thread_level: u32::from(facts[7]),
        start_realtime_ns: word(8),
        entered: Moment { ticks: word(16), monotonic_ns: word(24) },
        started: Moment { ticks: 0, monotonic_ns: word(32) },
        latest: Moment { ticks: word(40), monotonic_ns: word(48) },
        lost_calls: half(56),
        edge_count: 3,
        used_bytes: (HEADER_BYTES + blocks.len()) as u64 + u64::from(half(60) & 0xff),
        ..Header::zeroed()
    };
    header.edges_bytes[..3].copy_from_slice(&[128, 1024, 8192]);
    header.host = [facts[0]; 256];
    header.command[..FACTS].copy_from_slice(facts);
    header
}
