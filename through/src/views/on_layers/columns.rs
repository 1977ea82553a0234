//! The columns of these tables.

use super::{OfRank, OnLayer, Row, is_on_device, timed};
use crate::document::{Style, Unit, Value};
use crate::query::layers::calls::Calls;
use crate::query::source::ALL_RANKS;
use crate::views::{Column, Context};

pub const COMMUNICATORS: &[Column<OnLayer>] = &[
    Column::new(
        "comm",
        "communicator",
        Unit::Communicator,
        "the name of the layer's communicator",
        |_, row: &OnLayer| Value::Communicator { name: &row.comm.name, label: row.comm.label.as_deref() },
    ),
    Column::record("label", Unit::Text, "its label from the hook module", |_, row| {
        Value::maybe(row.comm.label.as_deref())
    }),
    Column::record("layer", Unit::Text, "the layer", |_, row| Value::maybe(row.comm.layer.as_deref())),
    Column::record("creator", Unit::Text, "the letter of its creator", |_, row| {
        Value::maybe(row.comm.creator.as_deref())
    }),
    Column::new("made_by", "made by", Unit::Text, "the function that created it, if its letter is known", |_, row| {
        Value::text(&row.creator)
    }),
    Column::new("size", "size", Unit::Count, "its number of ranks", |_, row: &OnLayer| {
        Value::some(row.comm.size, |size| Value::Number(size as i64))
    })
    .style(Style::Blank),
    Column::new(
        "ranks",
        "ranks",
        Unit::Ranks,
        "world ranks of the processes that hold its ranks",
        |_, row: &OnLayer| Value::maybe(row.comm.ranks.as_deref()),
    )
    .style(Style::Blank)
    .optional(3)
    .widest(24),
    Column::new(
        "same_ranks",
        "same ranks as",
        Unit::Communicator,
        "the MPI communicator with the same members: its parent, else the first by name",
        |_, row: &OnLayer| Value::maybe(row.same_ranks.as_deref()),
    )
    .style(Style::Blank)
    .when(|_, rows: &[OnLayer]| rows.iter().any(|row| row.same_ranks.is_some())),
    Column::record("parent", Unit::Communicator, "its parent communicator", |_, row| {
        Value::maybe(row.comm.parent.as_deref())
    }),
    Column::record("root_rank", Unit::Rank, "the world rank of its rank 0", |_, row| {
        Value::some(row.comm.root_rank, Value::Number)
    }),
    Column::record("freed", Unit::YesNo, "whether it was freed", |_, row| Value::Flag(row.comm.freed)),
    Column::new("calls", "calls", Unit::Count, "sum over its functions, like the next columns", |_, row: &OnLayer| {
        Value::Number(row.calls)
    }),
    Column::new(
        "bytes_sent",
        "sent",
        Unit::Bytes,
        "bytes in the send buffers of calls, over all ranks",
        |_, row: &OnLayer| Value::Bytes(row.bytes_sent),
    )
    .last(),
    Column::new("bytes_recv", "received", Unit::Bytes, "bytes received, over all ranks", |_, row: &OnLayer| {
        Value::Bytes(row.bytes_recv)
    })
    .last()
    .optional(4)
    .when(|_, rows: &[OnLayer]| rows.iter().any(|row| row.bytes_recv > 0)),
    Column::new(
        "time_s",
        "time",
        Unit::Seconds,
        "time inside calls, over all ranks; operations may continue after the call",
        |_, row: &OnLayer| Value::some(timed(&row.total), |sums| Value::Time(sums.time_ns)),
    ),
    Column::record("ranks_calling", Unit::Count, "ranks that called anything on it", |_, row| {
        Value::some(row.callers, |callers| Value::Number(callers as i64))
    }),
    Column::new("rank_max_s", "max", Unit::Seconds, "of the rank with the most time", |_, row: &OnLayer| {
        Value::some(row.extremes_ns, |(most, _)| Value::Time(most))
    })
    .optional(1),
    Column::new("rank_min_s", "min", Unit::Seconds, "of the rank with the least time", |_, row: &OnLayer| {
        Value::some(row.extremes_ns, |(_, least)| Value::Time(least))
    })
    .optional(2),
    Column::new("device_s", "device", Unit::Seconds, "device time for them, if measured", |_, row: &OnLayer| {
        Value::some(row.device, |sums| Value::Time(sums.time_ns))
    })
    .when(|_, rows: &[OnLayer]| rows.iter().any(|row| row.device.is_some())),
];

/// Rows of calls, over all ranks or of one.
trait OfCalls {
    fn calls(&self) -> &Calls;
}

impl OfCalls for Row {
    fn calls(&self) -> &Calls {
        &self.calls
    }
}

impl OfCalls for OfRank {
    fn calls(&self) -> &Calls {
        &self.calls
    }
}

const fn layer<R: OfCalls>() -> Column<R> {
    Column::record("layer", Unit::Text, "the layer, such as `nccl`, or `nccl-rx` for arrivals", |_, row: &R| {
        Value::text(&row.calls().layer)
    })
}

const fn function<R: OfCalls>() -> Column<R> {
    Column::new("function", "function", Unit::Operation, "the layer's function", |_, row: &R| {
        Value::Operation(&row.calls().function)
    })
    .first()
}

const fn bucket_lo<R: OfCalls>() -> Column<R> {
    Column::record("bucket_lo", Unit::Bytes, "messages with more bytes than this", |context: &Context, row: &R| {
        Value::Bytes(context.bucket(row.calls().bucket).map(|bucket| bucket.lo).unwrap_or_default())
    })
}

const fn bucket_hi<R: OfCalls>() -> Column<R> {
    Column::record(
        "bucket_hi",
        Unit::Bytes,
        "and at most this many; empty for the last bucket",
        |context: &Context, row: &R| {
            Value::some(context.bucket(row.calls().bucket).and_then(|bucket| bucket.hi), Value::Bytes)
        },
    )
}

const fn bucket<R: OfCalls>() -> Column<R> {
    Column::shown("bytes", Unit::Bucket, |context: &Context, row: &R| {
        Value::some(context.bucket(row.calls().bucket), |bucket| Value::Bucket { lo: bucket.lo, hi: bucket.hi })
    })
    .style(Style::Blank)
    .first()
}

const fn protocol<R: OfCalls>() -> Column<R> {
    Column::new(
        "protocol",
        "algorithm",
        Unit::Text,
        "algorithm, protocol and channels that the layer chose, such as `RING/LL128 x4`; empty if unknown",
        |_, row: &R| Value::text(&row.calls().protocol),
    )
    .first()
    .when(|_, rows: &[R]| rows.iter().any(|row| !row.calls().protocol.is_empty()))
}

pub const OPERATIONS: &[Column<Row>] = &[
    Column::record("comm", Unit::Communicator, "the name of the layer's communicator", |_, row: &Row| {
        Value::text(&row.comm.comm.name)
    }),
    layer(),
    function(),
    bucket_lo(),
    bucket_hi(),
    bucket(),
    protocol(),
    Column::new("ranks", "ranks", Unit::Count, "number of ranks that called", |_, row: &Row| {
        Value::some(row.calls.callers(), |callers| Value::Number(callers as i64))
    })
    .optional(4),
    Column::new(
        "calls",
        "calls",
        Unit::Count,
        "[calls](through.md#how-calls-are-added-up): a collective once for its communicator",
        |_, row: &Row| Value::Number(row.calls.performed),
    )
    .first(),
    Column::new(
        "bytes_sent",
        "sent",
        Unit::Bytes,
        "bytes in the send buffers of calls, over all ranks",
        |_, row: &Row| Value::Bytes(row.calls.sent_and_received(row.calls.total.bytes).0),
    )
    .last(),
    Column::new("bytes_recv", "received", Unit::Bytes, "bytes received, over all ranks", |_, row: &Row| {
        Value::Bytes(row.calls.sent_and_received(row.calls.total.bytes).1)
    })
    .last()
    .optional(4)
    .when(|_, rows: &[Row]| rows.iter().any(|row| row.calls.arrives)),
    Column::new("time_s", "total", Unit::Seconds, "time inside of calls, over all ranks", |_, row: &Row| {
        Value::some(timed(&row.calls.total), |sums| Value::Time(sums.time_ns))
    })
    .optional(3),
    Column::new("rank_max_s", "max", Unit::Seconds, "of the rank with the most time", |_, row: &Row| {
        Value::some(row.calls.extremes_ns(), |(most, _)| Value::Time(most))
    }),
    Column::new("rank_avg_s", "avg", Unit::Seconds, "the mean of the ranks that called", |_, row: &Row| {
        let callers = row.calls.callers().filter(|_| timed(&row.calls.total).is_some());
        Value::some(callers, |callers| Value::Mean { sum_ns: row.calls.total.time_ns, count: callers as i64 })
    })
    .optional(1),
    Column::new("rank_min_s", "min", Unit::Seconds, "of the rank with the least time", |_, row: &Row| {
        Value::some(row.calls.extremes_ns(), |(_, least)| Value::Time(least))
    })
    .optional(2),
    Column::record("time_min_s", Unit::Seconds, "the shortest single call", |_, row| {
        Value::some(row.calls.total.time_min_ns, Value::Time)
    }),
    Column::record("time_max_s", Unit::Seconds, "the longest single call", |_, row| {
        Value::some(row.calls.total.time_max_ns, Value::Time)
    }),
    Column::new(
        "device_avg_s",
        "device",
        Unit::Seconds,
        "mean device time of one operation of a rank; this and the next columns are unknown if it was not measured",
        |_, row: &Row| {
            let sums = row.calls.device.filter(|sums| sums.later > 0);
            Value::some(sums, |sums| Value::Mean { sum_ns: sums.time_ns, count: sums.later })
        },
    )
    .when(is_on_device),
    Column::new("algbw", "algbw", Unit::Rate, "[algorithm bandwidth](glossary.md#bus-bandwidth)", |_, row: &Row| {
        Value::some(row.calls.bandwidth, |bandwidth| Value::Rate(bandwidth.algorithm))
    })
    .optional(3)
    .when(is_on_device),
    Column::new("busbw", "busbw", Unit::Rate, "[bus bandwidth](glossary.md#bus-bandwidth)", |_, row: &Row| {
        Value::some(row.calls.bandwidth, |bandwidth| Value::Rate(bandwidth.bus))
    })
    .when(is_on_device),
];

pub const ROWS: &[Column<OfRank>] = &[
    Column::new("comm", "comm", Unit::Communicator, "the name of the layer's communicator", |_, row: &OfRank| {
        Value::text(&row.comm.comm.name)
    })
    .first(),
    Column::record("comm_size", Unit::Count, "its number of ranks", |_, row: &OfRank| {
        Value::some(row.comm.comm.size, |size| Value::Number(size as i64))
    }),
    layer(),
    function(),
    bucket_lo(),
    bucket_hi(),
    bucket(),
    protocol(),
    Column::new(
        "rank",
        "rank",
        Unit::Rank,
        "the rank in `MPI_COMM_WORLD`; unknown if the profile has only sums over ranks",
        |_, row: &OfRank| Value::some(Some(row.rank).filter(|rank| *rank > ALL_RANKS), Value::Number),
    )
    .style(Style::Blank),
    Column::new("calls", "calls", Unit::Count, "calls of this rank", |_, row: &OfRank| Value::Number(row.sums.calls)),
    Column::new("bytes_sent", "sent", Unit::Bytes, "bytes in its send buffers", |_, row: &OfRank| {
        Value::Bytes(row.calls.sent_and_received(row.sums.bytes).0)
    })
    .last(),
    Column::new("bytes_recv", "received", Unit::Bytes, "bytes received", |_, row: &OfRank| {
        Value::Bytes(row.calls.sent_and_received(row.sums.bytes).1)
    })
    .last()
    .when(|_, rows: &[OfRank]| rows.iter().any(|row| row.calls.arrives)),
    Column::new("time_s", "time", Unit::Seconds, "time inside of these calls", |_, row: &OfRank| {
        Value::some(timed(&row.sums), |sums| Value::Time(sums.time_ns))
    }),
    Column::new("time_min_s", "shortest", Unit::Seconds, "of the shortest call", |_, row: &OfRank| {
        Value::some(row.sums.time_min_ns, Value::Time)
    })
    .optional(1),
    Column::new("time_max_s", "longest", Unit::Seconds, "of the longest call", |_, row: &OfRank| {
        Value::some(row.sums.time_max_ns, Value::Time)
    })
    .optional(1),
];
