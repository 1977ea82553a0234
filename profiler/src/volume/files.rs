//! Reading and writing of files.

use super::*;

pub fn write(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    context.described(datatype, count as u64);
    let bytes = context.block(count, datatype);
    Volume { sent: bytes, received: 0, message_bytes: bytes }
}

pub unsafe fn read(context: &mut impl Context, count: i64, datatype: Word, status: Word) -> Volume {
    context.described(datatype, count as u64);
    let asked = context.block(count, datatype);
    // SAFETY: the caller passes a status that the library has filled.
    Volume { sent: 0, received: unsafe { status::bytes_read(status) }, message_bytes: asked }
}

/// A read whose completion will tell what it brought.
pub fn read_begin(context: &mut impl Context, count: i64, datatype: Word) -> Volume {
    context.described(datatype, count as u64);
    Volume { message_bytes: context.block(count, datatype), ..Volume::default() }
}
