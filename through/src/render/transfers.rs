//! Every row of the view `transfers`, printed as it is read: there may be millions.

use std::cell::{Cell, RefCell};
use std::io::{self, BufWriter, Write};

use csv::WriterBuilder;
use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};

use super::csv::{io_error, names};
use super::harmless::{Harmless, Text};
use super::json;
use super::records::seconds;
use crate::error::Error;
use crate::filter::Filter;
use crate::open::Profile;
use crate::query::catalog::Catalog;
use crate::query::transfers::{End, Transfer, each};

#[derive(Debug, Default, Serialize)]
struct TransferRecord<'a> {
    comm: &'a str,
    op: &'a str,
    layer: &'a str,
    function: &'a str,
    protocol: &'a str,
    transport: &'a str,
    device: &'a str,
    kind: &'a str,
    scope: &'a str,
    src: Option<i64>,
    dst: Option<i64>,
    remote: i64,
    bucket_lo: u64,
    bucket_hi: Option<u64>,
    calls: i64,
    bytes: u64,
    later: i64,
    time_s: Option<f64>,
    time_min_s: Option<f64>,
    time_max_s: Option<f64>,
    role: &'a str,
    layer_comm: Option<&'a str>,
    within: Option<&'a str>,
}

pub struct Rows<'a> {
    profile: &'a Profile,
    catalog: &'a Catalog,
    filter: &'a Filter,
    top: Option<usize>,
    any: Cell<bool>,
    /// What the profile ran into.
    trouble: RefCell<Option<Error>>,
}

impl<'a> Rows<'a> {
    pub fn new(profile: &'a Profile, catalog: &'a Catalog, filter: &'a Filter, top: Option<usize>) -> Rows<'a> {
        Rows { profile, catalog, filter, top, any: Cell::new(false), trouble: RefCell::new(None) }
    }

    /// Whether there was any row.
    pub fn finish(self) -> Result<bool, Error> {
        match self.trouble.into_inner() {
            Some(error) => Err(error),
            None => Ok(self.any.get()),
        }
    }

    pub fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&names::<TransferRecord>()?)?;
        let mut writer = WriterBuilder::new().has_headers(false).from_writer(Harmless::new(out, Text::Csv));
        self.each(|row| writer.serialize(row).map_err(io_error))?;
        writer.flush()
    }

    pub fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let document = Document {
            profile: self.profile.path.to_string_lossy().into_owned(),
            filters: &self.filter.words,
            transfers: self,
        };
        json::write(&document, &mut BufWriter::new(out))
    }

    /// Stops where `take` fails, and tells why.
    fn each<E>(&self, mut take: impl FnMut(&TransferRecord) -> Result<(), E>) -> Result<(), E>
    where
        E: From<io::Error>,
    {
        let mut failed = None;
        let read = each(self.profile, self.filter, self.top, |row| {
            let Some(record) = self.record(&row) else { return Ok(()) };
            self.any.set(true);
            take(&record).map_err(|error| {
                failed = Some(error);
                // Any error ends the query; this one is never told.
                rusqlite::Error::QueryReturnedNoRows
            })
        });
        match (failed, read) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => {
                let text = error.to_string();
                *self.trouble.borrow_mut() = Some(error);
                Err(io::Error::other(text).into())
            }
            (None, Ok(())) => Ok(()),
        }
    }

    /// As in the view, rows of what is not listed are left out: only a damaged profile has any.
    fn record(&self, row: &Transfer) -> Option<TransferRecord<'_>> {
        let catalog = self.catalog;
        let (way, bucket) = (catalog.ways.get(&row.way)?, catalog.buckets.get(&row.bucket)?);
        let (src, dst) = if way.arrives { (row.peer, row.rank) } else { (row.rank, row.peer) };
        let sums = &row.sums;
        Some(TransferRecord {
            comm: &catalog.communicators.get(&row.comm)?.name,
            op: &catalog.operations.get(&row.op)?.name,
            layer: &way.layer,
            function: &way.function,
            protocol: &way.protocol,
            transport: &way.transport,
            device: &way.device,
            kind: &way.kind,
            scope: &way.scope,
            src: src.rank(),
            dst: dst.rank(),
            remote: i64::from(row.peer == End::Remote),
            bucket_lo: bucket.lo,
            bucket_hi: bucket.hi,
            calls: sums.calls,
            bytes: sums.bytes,
            later: sums.later,
            time_s: (sums.later > 0).then(|| seconds(sums.time_ns)),
            time_min_s: sums.time_min_ns.map(seconds),
            time_max_s: sums.time_max_ns.map(seconds),
            role: way.role.name(),
            layer_comm: row.layer_comm.and_then(|comm| Some(catalog.communicators.get(&comm)?.name.as_str())),
            within: row.within.and_then(|way| Some(catalog.ways.get(&way)?.function.as_str())),
        })
    }
}

#[derive(Serialize)]
struct Document<'a, 'b> {
    profile: String,
    filters: &'a [String],
    transfers: &'a Rows<'b>,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// The error of any serializer, which an error of the system can be put into.
        struct Wrong<E>(E);
        impl<E: serde::ser::Error> From<io::Error> for Wrong<E> {
            fn from(error: io::Error) -> Wrong<E> {
                Wrong(E::custom(error))
            }
        }
        let mut rows = serializer.serialize_seq(None)?;
        self.each(|row| rows.serialize_element(row).map_err(Wrong)).map_err(|Wrong(error)| error)?;
        rows.end().map_err(S::Error::custom)
    }
}
