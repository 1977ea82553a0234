//! A Parquet file: flat columns, each optional, row group by row group, so that millions of rows take no memory.
//! <https://parquet.apache.org/docs/file-format/>. Written by hand: the package `parquet` takes longer to build than all of `through`,
//! and most of it reads.

use std::io::{self, Write};

use super::column::{Chunk, Column, Kind};
use super::thrift::Struct;

const MAGIC: &[u8] = b"PAR1";
/// Readers work through row groups in parallel; each costs a description of every column.
const ROWS: usize = 1 << 17;
const BYTES: usize = 32 << 20;

pub struct File<'a> {
    out: &'a mut dyn Write,
    offset: u64,
    pub columns: Vec<Column>,
    rows: usize,
    all_rows: u64,
    groups: Vec<(usize, Vec<Chunk>)>,
}

impl<'a> File<'a> {
    pub fn begin(columns: Vec<(String, Kind)>, out: &'a mut dyn Write) -> io::Result<File<'a>> {
        out.write_all(MAGIC)?;
        let columns = columns.into_iter().map(|(name, kind)| Column::new(name, kind)).collect();
        Ok(File { out, offset: MAGIC.len() as u64, columns, rows: 0, all_rows: 0, groups: Vec::new() })
    }

    /// Each column was given one value more.
    pub fn row(&mut self) -> io::Result<()> {
        self.rows += 1;
        let bytes: usize = self.columns.iter().map(Column::size).sum();
        if self.rows >= ROWS || bytes >= BYTES { self.group() } else { Ok(()) }
    }

    fn group(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut chunks = Vec::new();
        for column in &mut self.columns {
            let chunk = column.write(self.offset, self.out)?;
            self.offset += chunk.packed_bytes() as u64;
            chunks.push(chunk);
        }
        self.all_rows += self.rows as u64;
        self.groups.push((std::mem::take(&mut self.rows), chunks));
        Ok(())
    }

    pub fn end(mut self) -> io::Result<()> {
        self.group()?;
        let mut schema = vec![Struct::default().text(4, "schema").i32(5, self.columns.len() as i32)];
        schema.extend(self.columns.iter().map(Column::schema));
        let groups = self.groups.iter().map(|(rows, chunks)| {
            let columns = self.columns.iter().zip(chunks).map(|(column, chunk)| column.chunk(chunk)).collect();
            let bytes: usize = chunks.iter().map(Chunk::bytes).sum();
            Struct::default().structs(1, columns).i64(2, bytes as i64).i64(3, *rows as i64)
        });
        let created_by = concat!("commsee version ", env!("CARGO_PKG_VERSION"), " (build release)");
        let footer = Struct::default().i32(1, 1).structs(2, schema).i64(3, self.all_rows as i64);
        let footer = footer.structs(4, groups.collect()).text(6, created_by).end();
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.out.write_all(MAGIC)
    }
}
