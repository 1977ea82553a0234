//! What `MPI_Finalize` has to do beyond this machine: `cargo bench --bench scale [-- --shape NAME] [--detail rank|node|comm]
//! [--ranks 1024,16384]…`
//!
//! Makes the shards of so many ranks (shapes.rs), merges them up the tree that the gathering uses, one rank after the other, and
//! lets a process of its own do what rank 0 does: it reads what its children would send, chunk by chunk, and writes the
//! profile. Printed are the rows of single ranks and events that went in, what rank 0 receives, how long it takes, its peak memory and the
//! size of the profile; and `inner s`, the time that its largest child takes to merge what it receives, at the same time in a real run.

mod shapes;

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::time::Instant;

use commsee::profile::Writer;
use commsee::stream::{Decoder, Detail, Encoder, Extent, Item, Merge, ProcessStream, Source};
use shapes::{SHAPES, Shape};

/// As in the gathering.
const CHUNK_BYTES: usize = 256 << 10;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [first, folder, detail] = &words[..]
        && first == "--as-rank-0"
    {
        return rank_0(Path::new(folder), detail_named(detail));
    }
    let mut shapes = SHAPES.to_vec();
    let mut detail = Detail::Rank;
    let mut ranks = vec![1024, 4096, 16384];
    for pair in words.chunks(2) {
        match pair {
            [flag, name] if flag == "--shape" => shapes.retain(|(known, _)| known == name),
            [flag, name] if flag == "--detail" => detail = detail_named(name),
            [flag, list] if flag == "--ranks" => {
                ranks = list.split(',').map(|word| word.parse().expect("a number")).collect()
            }
            _ => usage(),
        }
    }
    println!(
        "{:<8} {:>8} {:<5} {:>11} {:>10} {:>9} {:>8} {:>9} {:>10} {:>10} {:>9} {:>8}",
        "shape",
        "ranks",
        "keeps",
        "rank rows",
        "received",
        "messages",
        "inner s",
        "rank 0 s",
        "rows/s",
        "profile",
        "bytes/row",
        "peak MB"
    );
    for (name, shape) in shapes {
        ranks.iter().for_each(|ranks| measure(name, shape, *ranks, detail));
    }
}

fn usage() -> ! {
    let names: Vec<&str> = SHAPES.iter().map(|(name, _)| *name).collect();
    eprintln!(
        "usage: cargo bench --bench scale [-- --shape {}] [--detail rank|node|comm] [--ranks N,M]",
        names.join("|")
    );
    exit(2);
}

fn detail_named(name: &str) -> Detail {
    Detail::parse(name).flatten().unwrap_or_else(|| usage())
}

fn measure(name: &str, shape: Shape, ranks: u32, detail: Detail) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("scale-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let (mut rows, mut inner_s) = (0, 0.0);
    let mut messages = 0;
    // Rank 0 reads its own shard like those of its children.
    let mut subtrees = vec![(0, 1)];
    subtrees.extend(
        (0..u32::BITS)
            .map_while(|bit| 1u32.checked_shl(bit))
            .take_while(|child| *child < ranks)
            .map(|child| (child, child)),
    );
    for (first, count) in subtrees {
        let count = count.min(ranks - first);
        let mut tree = Tree { shape, ranks, detail, rows: 0, top_s: 0.0 };
        let part = tree.subtree(first, count);
        rows += tree.rows;
        inner_s = tree.top_s;
        let chunks = store(&folder.join(format!("{first:010}")), part);
        // The extent before, and a size and the data of each chunk.
        messages += if first == 0 { 0 } else { 1 + 2 * chunks };
    }
    let received: u64 = sizes(&folder).iter().skip(1).sum();
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--as-rank-0".as_ref(), folder.as_os_str(), detail.name().as_ref()])
        .output()
        .expect("it runs again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let facts: Vec<f64> = said.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let [seconds, profile_bytes, peak_bytes] = facts[..] else { panic!("{said}") };
    println!(
        "{name:<8} {ranks:>8} {:<5} {rows:>11} {:>10} {messages:>9} {inner_s:>8.2} {seconds:>9.2} {:>10.0} {:>10} {:>9.1} {:>8.1}",
        detail.name(),
        megabytes(received as f64),
        rows as f64 / seconds,
        megabytes(profile_bytes),
        profile_bytes / rows as f64,
        peak_bytes / 1e6
    );
    let _ = fs::remove_dir_all(folder);
}

fn megabytes(bytes: f64) -> String {
    format!("{:.2} MB", bytes / 1e6)
}

struct Tree {
    shape: Shape,
    ranks: u32,
    detail: Detail,
    /// Rows of single ranks.
    rows: u64,
    /// The last merge alone.
    top_s: f64,
}

impl Tree {
    /// What the root of a subtree sends to its parent.
    fn subtree(&mut self, first: u32, count: u32) -> Vec<u8> {
        let children = (0..u32::BITS).map_while(|bit| 1u32.checked_shl(bit)).take_while(|step| *step < count);
        let parts: Vec<Vec<u8>> = children.map(|step| self.subtree(first + step, step.min(count - step))).collect();
        let begin = Instant::now();
        let shard = shapes::shard(self.shape, first, self.ranks);
        self.rows += Extent::of(&shard).rows + shard.events.len() as u64;
        let mut sources: Vec<Box<dyn Source>> = vec![Box::new(ProcessStream::new(shard, self.detail, false))];
        sources.extend(parts.into_iter().map(|part| Box::new(Decoder::new(part)) as Box<dyn Source>));
        let mut merge = Merge::new(sources);
        let mut encoder = Encoder::default();
        while let Some(item) = merge.next() {
            encoder.push(&item);
        }
        self.top_s = begin.elapsed().as_secs_f64();
        encoder.take()
    }
}

/// Writes a part as the chunks in which it would be sent; returns how many.
fn store(path: &Path, part: Vec<u8>) -> u64 {
    let mut file = BufWriter::new(File::create(path).expect("a file"));
    let (mut whole, mut encoder, mut chunks) = (Decoder::new(part), Encoder::default(), 0);
    let mut write = |chunk: Vec<u8>| {
        chunks += 1;
        file.write_all(&(chunk.len() as u64).to_ne_bytes())
            .and_then(|()| file.write_all(&chunk))
            .expect("room in the file");
    };
    while let Some(item) = whole.next() {
        encoder.push(&item);
        if encoder.len() >= CHUNK_BYTES {
            write(encoder.take());
        }
    }
    write(encoder.take());
    assert!(whole.is_whole());
    chunks
}

fn sizes(folder: &Path) -> Vec<u64> {
    let mut files: Vec<_> = fs::read_dir(folder).expect("the folder").flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.iter().map(|path| path.metadata().map_or(0, |facts| facts.len())).collect()
}

/// Reads a stored part like one that arrives.
struct Stored {
    file: BufReader<File>,
    chunk: Decoder,
}

impl Source for Stored {
    fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.chunk.next() {
                return Some(item);
            }
            let mut length = [0; 8];
            self.file.read_exact(&mut length).ok()?;
            let mut chunk = vec![0; u64::from_ne_bytes(length) as usize];
            self.file.read_exact(&mut chunk).ok()?;
            self.chunk = Decoder::new(chunk);
        }
    }
}

/// Prints seconds, bytes of the profile and bytes of memory.
fn rank_0(folder: &Path, detail: Detail) {
    let begin = Instant::now();
    let parts = fs::read_dir(folder).expect("the folder").flatten().map(|entry| entry.path());
    let open = |path: PathBuf| Stored {
        file: BufReader::new(File::open(path).expect("a part")),
        chunk: Decoder::new(Vec::new()),
    };
    let mut merge = Merge::new(parts.map(open).collect());
    let writer = Writer::create(&folder.join("profile.db")).expect("a profile");
    let written = writer.write(detail, &mut merge).expect("a profile");
    let seconds = begin.elapsed().as_secs_f64();
    let status = fs::read_to_string("/proc/self/status").expect("/proc");
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM").trim().trim_end_matches(" kB");
    let bytes = written.path.metadata().expect("the profile").len();
    println!("{seconds} {bytes} {}", peak.parse::<u64>().expect("a number") * 1024);
}
