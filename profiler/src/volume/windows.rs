//! One-sided communication: the bytes of the origin's buffers.

use super::*;

#[inline(always)]
pub fn put(context: &mut impl Context, count: i64, datatype: Word, target: c_int) -> Volume {
    send(context, count, datatype, target)
}

#[inline(always)]
pub fn get(context: &mut impl Context, count: i64, datatype: Word, target: c_int) -> Volume {
    let put = send(context, count, datatype, target);
    Volume { sent: 0, received: put.sent, message_bytes: put.message_bytes }
}

#[inline(always)]
pub fn get_accumulate(
    context: &mut impl Context,
    origin_count: i64,
    origin_type: Word,
    result_count: i64,
    result_type: Word,
    target: c_int,
    operator: Word,
) -> Volume {
    // With MPI_NO_OP the origin's arguments mean nothing, and its datatype may be none.
    let sent = if is_no_op(operator) { 0 } else { context.block(origin_count, origin_type) };
    if target >= 0 {
        if !is_no_op(operator) {
            context.described(origin_type, origin_count as u64);
        }
        context.described(result_type, result_count as u64);
    }
    exchange(context, target, sent, context.block(result_count, result_type))
}

#[inline(always)]
pub fn fetch_and_op(context: &mut impl Context, datatype: Word, target: c_int, operator: Word) -> Volume {
    let element = context.block(1, datatype);
    if target >= 0 {
        context.described(datatype, 1);
    }
    exchange(context, target, if is_no_op(operator) { 0 } else { element }, element)
}

#[inline(always)]
pub fn compare_and_swap(context: &mut impl Context, datatype: Word, target: c_int) -> Volume {
    let element = context.block(1, datatype);
    if target >= 0 {
        context.described(datatype, 1);
    }
    exchange(context, target, element, element)
}

/// Bytes to a window and back from it in one call; the matrix holds the larger of both.
#[inline(always)]
fn exchange(context: &mut impl Context, target: c_int, sent: u64, received: u64) -> Volume {
    if target < 0 {
        // Only MPI_PROC_NULL succeeds.
        return Volume::default();
    }
    let message_bytes = sent.max(received);
    context.message(target, message_bytes);
    Volume { sent, received, message_bytes }
}

#[inline(always)]
fn is_no_op(operator: Word) -> bool {
    operator & abi().mask == abi().no_op
}
