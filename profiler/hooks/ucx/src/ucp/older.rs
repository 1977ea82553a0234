//! Older functions, as what they are posted.
//!
//! An older function has no place for user data, by which a completion finds its record. So it is posted as the newer one that the library
//! itself calls in it, with what the library passes there. Its callback is called with one argument more, which it does not take: that
//! does no harm in the calling conventions that there are. Buffers, counts, tags, endpoints and keys go on as they are, and no memory type
//! is named. The request is the newer function's own, and lives as long.
//!
//! | older | posted as | mask | beyond that |
//! |---|---|---|---|
//! | `ucp_tag_send_nb` | `ucp_tag_send_nbx` | callback, datatype | |
//! | `ucp_tag_send_sync_nb` | `ucp_tag_send_sync_nbx` | callback, datatype | |
//! | `ucp_tag_send_nbr` | `ucp_tag_send_nbx` | request, datatype, fast completion | returns `UCS_INPROGRESS` for a request |
//! | `ucp_tag_recv_nb` | `ucp_tag_recv_nbx` | callback, datatype, no immediate completion | the callback comes in any case, with a request |
//! | `ucp_tag_recv_nbr` | `ucp_tag_recv_nbx` | request, datatype, no immediate completion | returns `UCS_OK` for a request, done or not |
//! | `ucp_tag_msg_recv_nb` | `ucp_tag_msg_recv_nbx` | callback, datatype, no immediate completion | as `ucp_tag_recv_nb` |
//! | `ucp_am_send_nb` | `ucp_am_send_nbx` | callback, datatype, flags | no header; `UCP_AM_SEND_FLAG_EAGER` is added: handlers of the older form know no rendezvous |
//! | `ucp_stream_send_nb` | `ucp_stream_send_nbx` | callback, datatype, flags | |
//! | `ucp_put_nb` | `ucp_put_nbx` | callback | no datatype: the count is one of bytes |
//! | `ucp_get_nb` | `ucp_get_nbx` | callback | the same |
//! | `ucp_atomic_fetch_nb` | `ucp_atomic_op_nbx` | callback, datatype, reply buffer | the datatype is so many bytes in one piece; one element, which is read before the call returns; both forms number their operations alike |
//! | `ucp_ep_flush_nb` | `ucp_ep_flush_nbx` | callback | the library ignores the flags of the older form |
//! | `ucp_worker_flush_nb` | `ucp_worker_flush_nbx` | callback | the same |
//!
//! Read in the sources of UCX 1.13.1, and in the code of the releases 1.14.1, 1.15.0, 1.16.0, 1.17.0, 1.18.1, 1.19.0, 1.20.1, 1.21.0 and 1.22.0:
//! each builds that mask and calls that function. 1.11 and 1.12 were not at hand. Active messages are eager there, too: every handler takes
//! such.
//!
//! All other functions are called by their own names, and with their own arguments: `ucp_put`, `ucp_put_nbi`, `ucp_get`, `ucp_get_nbi`,
//! `ucp_atomic_post`, the atomic operations with a size in their names, `ucp_ep_flush`, `ucp_worker_flush`. Newer functions get another callback and
//! user data ([`super::prepare`]), except for `ucp_atomic_op_nbx` without a place for an answer. And `ucp_request_free` of what is pending becomes
//! `ucp_request_release` ([`super::request`]).

use std::ffi::{c_uint, c_void};

use super::params::EMPTY;
use crate::abi::ucp::{AM_SEND_FLAG_EAGER, DATATYPE_SHIFT, Datatype, RequestParam, attribute};

/// Puts, gets and flushes.
pub fn plain(callback: usize) -> RequestParam {
    RequestParam { op_attr_mask: attribute::CALLBACK, callback, ..EMPTY }
}

pub fn send(datatype: Datatype, callback: usize) -> RequestParam {
    RequestParam { op_attr_mask: attribute::CALLBACK | attribute::DATATYPE, callback, datatype, ..EMPTY }
}

pub fn receive(datatype: Datatype, callback: usize) -> RequestParam {
    let sent = send(datatype, callback);
    RequestParam { op_attr_mask: sent.op_attr_mask | attribute::NO_IMM_CMPL, ..sent }
}

pub fn send_with_request(datatype: Datatype, request: *mut c_void) -> RequestParam {
    let op_attr_mask = attribute::REQUEST | attribute::DATATYPE | attribute::FAST_CMPL;
    RequestParam { op_attr_mask, request, datatype, ..EMPTY }
}

pub fn receive_with_request(datatype: Datatype, request: *mut c_void) -> RequestParam {
    let op_attr_mask = attribute::REQUEST | attribute::DATATYPE | attribute::NO_IMM_CMPL;
    RequestParam { op_attr_mask, request, datatype, ..EMPTY }
}

pub fn stream(datatype: Datatype, callback: usize, flags: c_uint) -> RequestParam {
    let sent = send(datatype, callback);
    RequestParam { op_attr_mask: sent.op_attr_mask | attribute::FLAGS, flags, ..sent }
}

pub fn active(datatype: Datatype, callback: usize, flags: c_uint) -> RequestParam {
    stream(datatype, callback, flags | AM_SEND_FLAG_EAGER)
}

pub fn fetch(bytes: usize, result: *mut c_void, callback: usize) -> RequestParam {
    let sent = send((bytes as u64) << DATATYPE_SHIFT, callback);
    RequestParam { op_attr_mask: sent.op_attr_mask | attribute::REPLY_BUFFER, reply_buffer: result, ..sent }
}
