//! What UCX gets instead of the program's parameters, and what the program gets instead of UCX's answer.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use super::callbacks::{received, received_data, sent};
use super::datatype::{self, Data};
use super::params;
use crate::abi::ucp::{
    self, DatatypeIov, LengthCallback, RequestParam, SendCallback, TagRecvCallback, TagRecvInfo, attribute,
};
use crate::abi::ucs::{self, StatusPtr};
use crate::inflight::operation::{AtOnce, Operation};
use crate::inflight::thread;
use crate::module::functions::Function;
use crate::module::protocol::Protocol;
use crate::module::{self, memory};

/// Fills in a copy of the parameters. False where it asks for what is not known here.
///
/// # Safety
/// The record is that of a post of this thread, which `data` and `param` describe.
#[inline(always)]
pub unsafe fn prepare(
    operation: *mut Operation,
    data: Data,
    param: *const RequestParam,
    own: &mut MaybeUninit<RequestParam>,
) -> bool {
    // SAFETY: as demanded. What the mask does not name is not read.
    unsafe {
        if !params::copy(param, own) {
            return false;
        }
        let own = &mut *own.as_mut_ptr();
        measure(operation, data, own);
        let has_callback = own.op_attr_mask & attribute::CALLBACK != 0;
        (*operation).callback.set(if has_callback { own.callback } else { 0 });
        // What a program does not pass it gets back as null.
        let has_user_data = own.op_attr_mask & attribute::USER_DATA != 0;
        (*operation).user_data = if has_user_data { own.user_data } else { null_mut() };
        own.user_data = operation.cast();
        own.op_attr_mask |= attribute::CALLBACK | attribute::USER_DATA;
        let arrives = (*operation).function.described().arrives();
        own.callback = if arrives { prepare_arrival(operation, own) } else { sent as SendCallback as usize };
        true
    }
}

/// The bytes of the message, and where they lie if they are in one piece.
///
/// # Safety
/// The record is that of a post of this thread, which `data` and `param` describe.
#[inline(always)]
pub unsafe fn measure(operation: *mut Operation, data: Data, param: &RequestParam) {
    // SAFETY: the record is this post's, the thread this one's, and `data` what the program describes by that datatype.
    unsafe {
        let is_typed = param.op_attr_mask & attribute::DATATYPE != 0;
        let datatype = if is_typed { param.datatype } else { datatype::BYTES };
        let (mut bytes, mut is_generic, mut begin) = (0, false, data.buffer as usize);
        (*operation).buffer = (0, 0);
        match datatype & ((1 << ucp::DATATYPE_SHIFT) - 1) {
            ucp::DATATYPE_CONTIG => {
                bytes = data.count.wrapping_mul((datatype >> ucp::DATATYPE_SHIFT) as usize) as u64;
                (*operation).buffer = (begin, begin.wrapping_add(bytes as usize));
            }
            ucp::DATATYPE_IOV => {
                bytes = datatype::bytes_of_iov(data);
                if bytes > 0 {
                    begin = (*data.buffer.cast::<DatatypeIov>()).buffer as usize;
                }
            }
            ucp::DATATYPE_GENERIC => {
                (*thread::own()).packed_bytes = 0;
                is_generic = true;
            }
            _ => {}
        }
        (*operation).bytes = bytes.wrapping_add(data.more_bytes as u64);
        (*operation).is_generic = is_generic;
        if (*operation).function.described().protocol != Protocol::None {
            let told = (param.op_attr_mask & attribute::MEMORY_TYPE != 0).then_some(param.memory_type);
            let is_empty = bytes == 0 && !is_generic;
            (*operation).memory = if is_empty { memory::HOST } else { memory::of(begin, told) };
            charge_to_object(operation, begin);
        }
    }
}

/// What lies in a device's memory counts for the line of the program that allocated it, where a module tells that.
///
/// # Safety
/// As above.
#[inline(always)]
unsafe fn charge_to_object(operation: *mut Operation, begin: usize) {
    // SAFETY: as demanded.
    unsafe {
        if !matches!((*operation).memory, memory::NONE | memory::HOST)
            && let Some(module) = module::get()
        {
            let (near, far) = (begin as u64, 0);
            let arrives = (*operation).function.described().arrives();
            let (source, target) = if arrives { (far, near) } else { (near, far) };
            module.moves(&mut (*operation).call, source, target);
        }
    }
}

/// Sees to it that what arrived is told even if the receive is done at once. UCX 1.13 fills in no `recv_info` then, so it is
/// asked for a request and a callback in any case, and [`finish_at_once`] makes of them what the program expects.
unsafe fn prepare_arrival(operation: *mut Operation, own: &mut RequestParam) -> usize {
    // SAFETY: as above; libucp writes into the record until it completes the operation, which it is kept for.
    unsafe {
        let is_active = (*operation).function == Function::ucp_am_recv_data_nbx;
        (*operation).info = TagRecvInfo { sender_tag: 0, length: (*operation).bytes as usize };
        let has_place = own.op_attr_mask & attribute::RECV_INFO != 0;
        (*operation).program_info = if has_place { own.recv_info } else { null_mut() };
        (*operation).at_once = AtOnce::No;
        if own.op_attr_mask & attribute::NO_IMM_CMPL == 0 {
            if is_active || own.op_attr_mask & attribute::FORCE_IMM_CMPL != 0 {
                if !has_place {
                    own.op_attr_mask |= attribute::RECV_INFO;
                    let info = &raw mut (*operation).info;
                    own.recv_info = if is_active { (&raw mut (*info).length).cast() } else { info.cast() };
                }
            } else {
                let keeps = own.op_attr_mask & attribute::REQUEST != 0;
                (*operation).at_once = if keeps { AtOnce::KeepRequest } else { AtOnce::FreeRequest };
                own.op_attr_mask |= attribute::NO_IMM_CMPL;
            }
        }
        if is_active { received_data as LengthCallback as usize } else { received as TagRecvCallback as usize }
    }
}

/// A receive that the program may find done when it is posted, and that was: it has no callback, and no request is left.
///
/// # Safety
/// libucp has completed the operation, and returned this request.
#[cold]
pub unsafe fn finish_at_once(operation: *mut Operation, request: *mut c_void) -> StatusPtr {
    // SAFETY: as demanded, libucp leaves its request to whom it returned it. The place is null or the program's.
    unsafe {
        if (*operation).at_once == AtOnce::FreeRequest
            && let Some(free) = real!(Ucp, ucp_request_free, unsafe extern "C-unwind" fn(*mut c_void))
        {
            free(request);
        }
        if let Some(info) = (*operation).program_info.cast::<TagRecvInfo>().as_mut() {
            *info = (*operation).info;
        }
        ucs::as_pointer((*operation).status)
    }
}

/// How much arrived.
///
/// # Safety
/// libucp has returned that the receive is done.
pub unsafe fn told_at_once(operation: *mut Operation) -> u64 {
    // SAFETY: libucp returned that it is done, so it has filled in the place that it was given: the program's, of that function's type,
    // or the record's.
    unsafe {
        let info = (*operation).program_info;
        if info.is_null() {
            (*operation).info.length as u64
        } else if (*operation).function == Function::ucp_am_recv_data_nbx {
            *info.cast::<usize>() as u64
        } else {
            (*info.cast::<TagRecvInfo>()).length as u64
        }
    }
}
