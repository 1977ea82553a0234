//! The values of one column until its row group is written.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::thrift::{Struct, varint};

/// What all values of a column are, if they are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Boolean,
    Integer,
    Double,
    Text,
    Binary,
}

impl Kind {
    /// `Type` of <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>
    fn physical(self) -> i32 {
        match self {
            Kind::Boolean => 0,
            Kind::Integer => 2,
            Kind::Double => 5,
            Kind::Text | Kind::Binary => 6,
        }
    }
}

const OPTIONAL: i32 = 1;
const UTF8: i32 = 0;
const DATA_PAGE: i32 = 0;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const GZIP: i32 = 2;

pub struct Column {
    pub name: String,
    pub kind: Kind,
    /// Whether each row has a value, and the values of those that have.
    present: Vec<bool>,
    values: Vec<u8>,
    flags: Vec<bool>,
}

/// Where a column of a row group lies in the file.
pub struct Chunk {
    offset: u64,
    rows: usize,
    bytes: usize,
    packed_bytes: usize,
}

impl Column {
    pub fn new(name: String, kind: Kind) -> Column {
        Column { name, kind, present: Vec::new(), values: Vec::new(), flags: Vec::new() }
    }

    pub fn null(&mut self) {
        self.present.push(false);
    }

    pub fn flag(&mut self, value: bool) {
        self.present.push(true);
        self.flags.push(value);
    }

    pub fn integer(&mut self, value: i64) {
        self.present.push(true);
        self.values.extend(value.to_le_bytes());
    }

    pub fn double(&mut self, value: f64) {
        self.present.push(true);
        self.values.extend(value.to_le_bytes());
    }

    pub fn bytes(&mut self, value: &[u8]) {
        self.present.push(true);
        // No text is that long: a row group is written before its values are.
        self.values.extend((value.len() as u32).to_le_bytes());
        self.values.extend(value);
    }

    pub fn size(&self) -> usize {
        self.values.len()
    }

    pub fn schema(&self) -> Struct {
        let element = Struct::default().i32(1, self.kind.physical()).i32(3, OPTIONAL).text(4, &self.name);
        match self.kind {
            // The second is what the first became.
            Kind::Text => element.i32(6, UTF8).inner(10, Struct::default().inner(1, Struct::default())),
            _ => element,
        }
    }

    /// Writes what there is as one page, and forgets it.
    pub fn write(&mut self, offset: u64, out: &mut dyn Write) -> io::Result<Chunk> {
        let levels = levels(&self.present);
        let mut page = (levels.len() as u32).to_le_bytes().to_vec();
        page.extend(levels);
        page.append(&mut self.values);
        page.extend(bits(&self.flags));
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&page)?;
        let packed = packed.finish()?;
        let rows = self.present.len();
        let values = Struct::default().i32(1, rows as i32).i32(2, PLAIN).i32(3, RLE).i32(4, RLE);
        let header = Struct::default().i32(1, DATA_PAGE).i32(2, page.len() as i32).i32(3, packed.len() as i32);
        let header = header.inner(5, values).end();
        out.write_all(&header)?;
        out.write_all(&packed)?;
        self.present.clear();
        self.flags.clear();
        Ok(Chunk { offset, rows, bytes: header.len() + page.len(), packed_bytes: header.len() + packed.len() })
    }

    pub fn chunk(&self, chunk: &Chunk) -> Struct {
        let meta = Struct::default().i32(1, self.kind.physical()).i32s(2, &[PLAIN, RLE]).texts(3, &[&self.name]);
        let meta = meta.i32(4, GZIP).i64(5, chunk.rows as i64).i64(6, chunk.bytes as i64);
        let meta = meta.i64(7, chunk.packed_bytes as i64).i64(9, chunk.offset as i64);
        Struct::default().i64(2, chunk.offset as i64).inner(3, meta)
    }
}

impl Chunk {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn packed_bytes(&self) -> usize {
        self.packed_bytes
    }
}

/// Which values are there, as runs of equal ones: the RLE of Parquet's hybrid with levels of one bit.
fn levels(present: &[bool]) -> Vec<u8> {
    let mut levels = Vec::new();
    for run in present.chunk_by(|a, b| a == b) {
        varint((run.len() as u64) << 1, &mut levels);
        levels.push(u8::from(run[0]));
    }
    levels
}

fn bits(flags: &[bool]) -> Vec<u8> {
    let byte = |eight: &[bool]| eight.iter().enumerate().map(|(at, flag)| u8::from(*flag) << at).sum();
    flags.chunks(8).map(byte).collect()
}
