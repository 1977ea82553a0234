//! What is declared of UCX in `profiler/hooks/ucx/src/abi/` is what the installed headers say.

#[allow(dead_code)]
#[path = "../profiler/hooks/ucx/src/abi/mod.rs"]
mod abi;
#[allow(dead_code)]
#[path = "../profiler/hooks/ucx/src/uct/table.rs"]
mod table;

use std::collections::BTreeMap;
use std::mem::{offset_of, size_of};
use std::process::Command;

use abi::ucp::{self, attribute};
use abi::{ucs, uct};
use common::{demand, executable, execute};

fn said() -> BTreeMap<String, i64> {
    demand("cc", "gcc");
    let run = execute(&mut Command::new(executable("ucx_layout")));
    assert!(run.status.success(), "{}", run.stderr);
    let line = |line: &str| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a number");
        (name.to_owned(), value.parse().expect("a number"))
    };
    run.stdout.lines().map(line).collect()
}

#[test]
fn declarations_are_those_of_the_headers() {
    let mut said = said();
    let mut is = |name: &str, value: i64| assert_eq!(said.remove(name), Some(value), "{name}");

    is("ucs_status_t", size_of::<ucs::Status>() as i64);
    is("ucp_dt_iov_t", size_of::<ucp::DatatypeIov>() as i64);
    is("ucp_generic_dt_ops_t", size_of::<ucp::GenericDatatypeOps>() as i64);
    is("ucp_tag_recv_info_t", size_of::<ucp::TagRecvInfo>() as i64);
    is("ucp_worker_address_attr_t", size_of::<ucp::WorkerAddressAttr>() as i64);
    is("uct_iface_ops_t", (uct::TABLE_WORDS * size_of::<usize>()) as i64);
    is("uct_completion_t", size_of::<uct::Completion>() as i64);
    is("uct_iov_t", size_of::<uct::Iov>() as i64);
    is("uct_tl_resource_desc_t", size_of::<uct::TlResource>() as i64);

    macro_rules! fields {
        ($($name:literal $type:ty, $field:ident;)*) => {$( is($name, offset_of!($type, $field) as i64); )*};
    }
    fields! {
        "ucp_request_param_t.op_attr_mask" ucp::RequestParam, op_attr_mask;
        "ucp_request_param_t.flags" ucp::RequestParam, flags;
        "ucp_request_param_t.request" ucp::RequestParam, request;
        "ucp_request_param_t.cb" ucp::RequestParam, callback;
        "ucp_request_param_t.datatype" ucp::RequestParam, datatype;
        "ucp_request_param_t.user_data" ucp::RequestParam, user_data;
        "ucp_request_param_t.reply_buffer" ucp::RequestParam, reply_buffer;
        "ucp_request_param_t.memory_type" ucp::RequestParam, memory_type;
        "ucp_request_param_t.recv_info" ucp::RequestParam, recv_info;
        "ucp_request_param_t.memh" ucp::RequestParam, memh;
        "ucp_tag_recv_info_t.length" ucp::TagRecvInfo, length;
        "ucp_generic_dt_ops_t.packed_size" ucp::GenericDatatypeOps, packed_size;
        "ucp_dt_iov_t.length" ucp::DatatypeIov, length;
        "ucp_ep_params_t.address" ucp::EpParams, address;
        "ucp_context_attr_t.request_size" ucp::ContextAttr, request_size;
        "ucp_worker_address_attr_t.worker_uid" ucp::WorkerAddressAttr, worker_uid;
        "uct_iface_params_t.open_mode" uct::IfaceParams, open_mode;
        "uct_iface_params_t.mode.device.tl_name" uct::IfaceParams, tl_name;
        "uct_iface_params_t.mode.device.dev_name" uct::IfaceParams, dev_name;
        "uct_completion_t.count" uct::Completion, count;
        "uct_completion_t.status" uct::Completion, status;
        "uct_iov_t.length" uct::Iov, length;
        "uct_iov_t.count" uct::Iov, count;
        "uct_ep_t.iface" uct::Ep, iface;
        "uct_iface_t.ops" uct::Iface, table;
        "uct_tl_resource_desc_t.dev_name" uct::TlResource, dev_name;
        "uct_tl_resource_desc_t.dev_type" uct::TlResource, dev_type;
    }
    let last = ucs::as_pointer(-100);
    assert!(ucs::is_error(last) && !ucs::is_error(last.wrapping_byte_sub(1)));
    for (name, value) in [
        ("UCS_OK", ucs::OK.into()),
        ("UCS_INPROGRESS", ucs::INPROGRESS.into()),
        ("UCS_ERR_UNSUPPORTED", ucs::ERR_UNSUPPORTED.into()),
        ("UCS_ERR_LAST", -100),
        ("UCP_AM_SEND_FLAG_EAGER", ucp::AM_SEND_FLAG_EAGER.into()),
        ("UCP_OP_ATTR_FIELD_REQUEST", attribute::REQUEST.into()),
        ("UCP_OP_ATTR_FIELD_CALLBACK", attribute::CALLBACK.into()),
        ("UCP_OP_ATTR_FIELD_USER_DATA", attribute::USER_DATA.into()),
        ("UCP_OP_ATTR_FIELD_DATATYPE", attribute::DATATYPE.into()),
        ("UCP_OP_ATTR_FIELD_FLAGS", attribute::FLAGS.into()),
        ("UCP_OP_ATTR_FIELD_REPLY_BUFFER", attribute::REPLY_BUFFER.into()),
        ("UCP_OP_ATTR_FIELD_MEMORY_TYPE", attribute::MEMORY_TYPE.into()),
        ("UCP_OP_ATTR_FIELD_RECV_INFO", attribute::RECV_INFO.into()),
        ("UCP_OP_ATTR_FIELD_MEMH", attribute::MEMH.into()),
        ("UCP_OP_ATTR_FLAG_NO_IMM_CMPL", attribute::NO_IMM_CMPL.into()),
        ("UCP_OP_ATTR_FLAG_FAST_CMPL", attribute::FAST_CMPL.into()),
        ("UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL", attribute::FORCE_IMM_CMPL.into()),
        ("UCP_OP_ATTR_FLAG_MULTI_SEND", attribute::MULTI_SEND.into()),
        ("UCP_DATATYPE_SHIFT", ucp::DATATYPE_SHIFT.into()),
        ("UCP_DATATYPE_CONTIG", ucp::DATATYPE_CONTIG as i64),
        ("UCP_DATATYPE_IOV", ucp::DATATYPE_IOV as i64),
        ("UCP_DATATYPE_GENERIC", ucp::DATATYPE_GENERIC as i64),
        ("UCP_EP_PARAM_FIELD_REMOTE_ADDRESS", ucp::EP_PARAM_FIELD_REMOTE_ADDRESS as i64),
        ("UCP_ATTR_FIELD_REQUEST_SIZE", ucp::ATTR_FIELD_REQUEST_SIZE as i64),
        ("UCP_WORKER_ADDRESS_ATTR_FIELD_UID", ucp::WORKER_ADDRESS_ATTR_FIELD_UID as i64),
        ("UCT_IFACE_PARAM_FIELD_OPEN_MODE", uct::IFACE_PARAM_FIELD_OPEN_MODE as i64),
        ("UCT_IFACE_PARAM_FIELD_DEVICE", uct::IFACE_PARAM_FIELD_DEVICE as i64),
        ("UCT_IFACE_OPEN_MODE_DEVICE", uct::IFACE_OPEN_MODE_DEVICE as i64),
        ("UCT_AM_ID_MAX", uct::AM_ID_MAX as i64),
        ("UCP_ATOMIC_OP_ADD == (int)UCP_ATOMIC_FETCH_OP_FADD && UCP_ATOMIC_OP_XOR == (int)UCP_ATOMIC_FETCH_OP_FXOR", 1),
    ] {
        is(name, value);
    }
    for (name, device) in [("NET", "network"), ("SHM", "memory"), ("ACC", "gpu"), ("SELF", "self")] {
        let place = uct::DEVICE_TYPES.iter().position(|kind| *kind == device).expect("a kind of device");
        is(&format!("UCT_DEVICE_TYPE_{name}"), place as i64);
    }
    // The names are those of the places in the table.
    for (place, name) in table::NAMES.iter().enumerate() {
        is(name.trim_start_matches("uct_"), place as i64);
    }
    assert_eq!(said, BTreeMap::new(), "not compared");
}
