/* Callbacks of UCX that do not return: one leaves by longjmp, one ends its thread, which unwinds the stack as an exception does. What
 * comes after them is counted as ever. The program speaks to UCX itself, each thread over a worker of its own, from inside an MPI call:
 * the error handler of a communicator. */
#include <setjmp.h>
#include <stdint.h>
#include <ucp/api/ucp.h>

#include "truth.h"

enum { BYTES = 64, LARGE = 1 << 20, MESSAGES = 10 };

struct port {
    ucp_worker_h worker;
    ucp_ep_h ep;
};

enum way { BY_LONGJMP, BY_END_OF_THREAD };

static ucp_context_h context;
static jmp_buf before;
static enum way way;
static __thread struct port *port;
static __thread char out[LARGE], in[LARGE];

static struct port opened(void)
{
    struct port made;
    ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE, .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    EXPECT(ucp_worker_create(context, &worker, &made.worker) == UCS_OK);
    ucp_address_t *address;
    size_t length;
    EXPECT(ucp_worker_get_address(made.worker, &address, &length) == UCS_OK);
    ucp_ep_params_t ep = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};
    EXPECT(ucp_ep_create(made.worker, &ep, &made.ep) == UCS_OK);
    ucp_worker_release_address(made.worker, address);
    return made;
}

static void leave(void *request UNUSED, ucs_status_t status UNUSED, const ucp_tag_recv_info_t *info UNUSED, void *data UNUSED)
{
    if (way == BY_LONGJMP)
        longjmp(before, 1);
    pthread_exit(NULL);
}

static void finish(void *request)
{
    EXPECT(!UCS_PTR_IS_ERR(request));
    if (request == NULL)
        return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
        ucp_worker_progress(port->worker);
    EXPECT(ucp_request_check_status(request) == UCS_OK);
    ucp_request_free(request);
}

static void exchange(ucp_tag_t tag, size_t bytes)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    memset(out, (int)tag, bytes);
    void *receive = ucp_tag_recv_nbx(port->worker, in, bytes, tag, UINT64_MAX, &param);
    finish(ucp_tag_send_nbx(port->ep, out, bytes, tag, &param));
    finish(receive);
    EXPECT(memcmp(out, in, bytes) == 0);
}

/* Never returns: the callback of the receive, in which the message arrives, leaves. */
static void stumble(void)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK, .cb.recv = leave};
    EXPECT(!UCS_PTR_IS_ERR(ucp_tag_recv_nbx(port->worker, in, BYTES, 999, UINT64_MAX, &param)));
    param.op_attr_mask = 0;
    void *sent = ucp_tag_send_nbx(port->ep, out, BYTES, 999, &param);
    EXPECT(!UCS_PTR_IS_ERR(sent));
    for (;;)
        ucp_worker_progress(port->worker);
}

static void handler(MPI_Comm *comm UNUSED, int *error UNUSED, ...)
{
    if (way == BY_LONGJMP) {
        if (setjmp(before) == 0)
            stumble();
        for (int i = 0; i < MESSAGES; i++)
            exchange(1000 + i, i % 2 ? BYTES : LARGE);
    } else {
        stumble();
    }
}

static MPI_Comm comm;

static void in_a_call(void)
{
    MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
}

static void *thread(void *unused UNUSED)
{
    struct port own = opened();
    port = &own;
    in_a_call();
    EXPECT(!"the thread has ended");
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    EXPECT(level == MPI_THREAD_MULTIPLE);
    MPI_Errhandler errors;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &errors);
    MPI_Comm_set_errhandler(comm, errors);

    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    ucp_config_t *config;
    EXPECT(ucp_config_read(NULL, NULL, &config) == UCS_OK);
    EXPECT(ucp_init(&params, config, &context) == UCS_OK);
    ucp_config_release(config);
    struct port own = opened();
    port = &own;

    for (int i = 0; i < 100; i++) {
        way = BY_LONGJMP;
        in_a_call();
    }
    for (int i = 0; i < 10; i++) {
        pthread_t other;
        way = BY_END_OF_THREAD;
        EXPECT(pthread_create(&other, NULL, thread, NULL) == 0);
        EXPECT(pthread_join(other, NULL) == 0);
    }
    MPI_Comm_free(&comm);
    MPI_Errhandler_free(&errors);
    MPI_Finalize();
    return 0;
}
