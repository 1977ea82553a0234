/* What UCX's headers declare, one number per line: for the declarations in profiler/hooks/ucx/src/abi/. */
#include <stddef.h>
#include <stdio.h>

#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

#define SAY(name, value) printf("%s %lld\n", name, (long long)(value))
#define PLACE(operation) SAY(#operation, offsetof(uct_iface_ops_t, operation) / sizeof(void *))
#define FIELD(type, field) SAY(#type "." #field, offsetof(type, field))
#define SIZE(type) SAY(#type, sizeof(type))
#define VALUE(name) SAY(#name, name)

int main(void)
{
    SIZE(ucs_status_t), SIZE(ucp_dt_iov_t), SIZE(ucp_generic_dt_ops_t), SIZE(ucp_tag_recv_info_t);
    SIZE(ucp_worker_address_attr_t), SIZE(uct_iface_ops_t), SIZE(uct_completion_t), SIZE(uct_iov_t);
    SIZE(uct_tl_resource_desc_t);
    FIELD(ucp_request_param_t, op_attr_mask), FIELD(ucp_request_param_t, flags), FIELD(ucp_request_param_t, request);
    FIELD(ucp_request_param_t, cb), FIELD(ucp_request_param_t, datatype), FIELD(ucp_request_param_t, user_data);
    FIELD(ucp_request_param_t, reply_buffer), FIELD(ucp_request_param_t, memory_type);
    FIELD(ucp_request_param_t, recv_info), FIELD(ucp_request_param_t, memh);
    FIELD(ucp_tag_recv_info_t, length), FIELD(ucp_generic_dt_ops_t, packed_size), FIELD(ucp_dt_iov_t, length);
    FIELD(ucp_ep_params_t, address), FIELD(ucp_context_attr_t, request_size);
    FIELD(ucp_worker_address_attr_t, worker_uid);
    FIELD(uct_iface_params_t, open_mode), FIELD(uct_iface_params_t, mode.device.tl_name);
    FIELD(uct_iface_params_t, mode.device.dev_name), FIELD(uct_completion_t, count), FIELD(uct_completion_t, status);
    FIELD(uct_iov_t, length), FIELD(uct_iov_t, count), FIELD(uct_ep_t, iface), FIELD(uct_iface_t, ops);
    FIELD(uct_tl_resource_desc_t, dev_name), FIELD(uct_tl_resource_desc_t, dev_type);
    VALUE(UCS_OK), VALUE(UCS_INPROGRESS), VALUE(UCS_ERR_UNSUPPORTED), VALUE(UCS_ERR_LAST);
    VALUE(UCP_AM_SEND_FLAG_EAGER), VALUE(UCP_OP_ATTR_FIELD_REQUEST), VALUE(UCP_OP_ATTR_FIELD_CALLBACK), VALUE(UCP_OP_ATTR_FIELD_USER_DATA);
    VALUE(UCP_OP_ATTR_FIELD_DATATYPE), VALUE(UCP_OP_ATTR_FIELD_FLAGS), VALUE(UCP_OP_ATTR_FIELD_REPLY_BUFFER);
    VALUE(UCP_OP_ATTR_FIELD_MEMORY_TYPE), VALUE(UCP_OP_ATTR_FIELD_RECV_INFO), VALUE(UCP_OP_ATTR_FIELD_MEMH);
    VALUE(UCP_OP_ATTR_FLAG_NO_IMM_CMPL), VALUE(UCP_OP_ATTR_FLAG_FAST_CMPL), VALUE(UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL);
    VALUE(UCP_OP_ATTR_FLAG_MULTI_SEND), VALUE(UCP_DATATYPE_SHIFT), VALUE(UCP_DATATYPE_CONTIG), VALUE(UCP_DATATYPE_IOV);
    VALUE(UCP_DATATYPE_GENERIC);
    VALUE(UCP_EP_PARAM_FIELD_REMOTE_ADDRESS), VALUE(UCP_ATTR_FIELD_REQUEST_SIZE);
    VALUE(UCP_WORKER_ADDRESS_ATTR_FIELD_UID), VALUE(UCT_IFACE_PARAM_FIELD_OPEN_MODE);
    VALUE(UCT_IFACE_PARAM_FIELD_DEVICE), VALUE(UCT_IFACE_OPEN_MODE_DEVICE), VALUE(UCT_DEVICE_TYPE_NET);
    VALUE(UCT_DEVICE_TYPE_SHM), VALUE(UCT_DEVICE_TYPE_ACC), VALUE(UCT_DEVICE_TYPE_SELF), VALUE(UCT_AM_ID_MAX);
    VALUE(UCP_ATOMIC_OP_ADD == (int)UCP_ATOMIC_FETCH_OP_FADD && UCP_ATOMIC_OP_XOR == (int)UCP_ATOMIC_FETCH_OP_FXOR);
    PLACE(ep_put_short), PLACE(ep_put_bcopy), PLACE(ep_put_zcopy), PLACE(ep_get_short), PLACE(ep_get_bcopy);
    PLACE(ep_get_zcopy), PLACE(ep_am_short), PLACE(ep_am_short_iov), PLACE(ep_am_bcopy), PLACE(ep_am_zcopy);
    PLACE(ep_atomic_cswap64), PLACE(ep_atomic_cswap32), PLACE(ep_atomic32_post), PLACE(ep_atomic64_post);
    PLACE(ep_atomic32_fetch), PLACE(ep_atomic64_fetch), PLACE(ep_tag_eager_short), PLACE(ep_tag_eager_bcopy);
    PLACE(ep_tag_eager_zcopy), PLACE(ep_tag_rndv_zcopy), PLACE(ep_tag_rndv_cancel), PLACE(ep_tag_rndv_request);
    return 0;
}
