//! What a layer with communicators of its own chose for its collectives, by communicator, size and function.

use super::{Column, Context};
use crate::document::{Style, Unit, Value};
use crate::query::layers::algorithms::Algorithm;

pub const COLUMNS: &[Column<Algorithm>] = &[
    Column::new(
        "comm",
        "communicator",
        Unit::Communicator,
        "the name of the layer's communicator",
        |context: &Context, row: &Algorithm| Value::Communicator {
            name: context.comm(row.comm),
            label: context.label(row.comm),
        },
    )
    .once(),
    Column::record("bucket_lo", Unit::Bytes, "messages with more bytes than this", |context, row| {
        Value::Bytes(context.bucket(row.bucket).map(|bucket| bucket.lo).unwrap_or_default())
    }),
    Column::record("bucket_hi", Unit::Bytes, "and at most this many; empty for the last bucket", |context, row| {
        Value::some(context.bucket(row.bucket).and_then(|bucket| bucket.hi), Value::Bytes)
    }),
    Column::shown("bytes", Unit::Bucket, |context: &Context, row: &Algorithm| {
        Value::some(context.bucket(row.bucket), |bucket| Value::Bucket { lo: bucket.lo, hi: bucket.hi })
    })
    .style(Style::Blank),
    Column::new("function", "function", Unit::Operation, "the layer's function", |_, row: &Algorithm| {
        Value::Operation(&row.function)
    }),
    Column::new(
        "protocol",
        "algorithm",
        Unit::Text,
        "algorithm, protocol and channels that the layer chose; empty if unknown",
        |_, row: &Algorithm| Value::text(&row.protocol),
    ),
    Column::new("calls", "calls", Unit::Count, "calls of all ranks", |_, row: &Algorithm| {
        Value::Number(row.sums.calls)
    }),
    Column::new("bytes", "sent", Unit::Bytes, "bytes in their send buffers", |_, row: &Algorithm| {
        Value::Bytes(row.sums.bytes)
    }),
    Column::new("time_s", "time", Unit::Seconds, "time inside of these calls", |_, row: &Algorithm| {
        Value::some(Some(row.sums).filter(|sums| sums.later > 0), |sums| Value::Time(sums.time_ns))
    }),
];

pub const LEGEND: &str = "Algorithm, protocol and channels that a layer with its own communicators chose, by message size; calls and bytes are \
     over all ranks.";
