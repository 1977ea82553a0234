//! Partitioned communication: what is set up, of which each partition is a message.

use super::*;

/// A send in partitions: the message that is kept is that of one partition.
pub fn psend(context: &mut impl Context, count: i64, datatype: Word, destination: c_int) -> Volume {
    let partition = send(context, count, datatype, destination);
    Volume { sent: 0, ..partition }
}

pub fn precv(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    context.described(datatype, count as u64);
    Volume { message_bytes: context.block(count, datatype), ..Volume::default() }
}
