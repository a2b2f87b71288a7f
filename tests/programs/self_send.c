/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole small verbs program: a queue pair connected to itself sends messages, with a completion event each, and
 * compares what came.  Built by tests with sanitizers, and run under valgrind.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES 20
#define BYTES 3000u

static void need(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "self_send: %s failed\n", what);
    exit(1);
}

static void connect_to_itself(struct ibv_context *context, struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_LOCAL_WRITE};
    union ibv_gid gid;

    need(ibv_query_gid(context, 1, 0, &gid) == 0, "ibv_query_gid");
    need(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0, "INIT");
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                                .path_mtu = IBV_MTU_1024,
                                .dest_qp_num = qp->qp_num,
                                .min_rnr_timer = 12,
                                .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 64}}};
    need(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
         "RTR");
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7};
    need(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                           IBV_QP_MAX_QP_RD_ATOMIC) == 0,
         "RTS");
}

static void wait_for_both(struct ibv_comp_channel *channel, struct ibv_cq *cq)
{
    int done = 0;

    while (done < 2) {
        struct ibv_cq *told;
        void *context;
        struct ibv_wc wc;

        need(ibv_get_cq_event(channel, &told, &context) == 0, "ibv_get_cq_event");
        ibv_ack_cq_events(told, 1);
        need(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
        for (; ibv_poll_cq(cq, 1, &wc) == 1; done++)
            need(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
    }
}

int main(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    need(list != NULL && list[0] != NULL, "ibv_get_device_list");
    struct ibv_context *context = ibv_open_device(list[0]);
    need(context != NULL, "ibv_open_device");
    struct ibv_pd *pd = ibv_alloc_pd(context);
    unsigned char *memory = malloc(2 * BYTES);
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, 2 * BYTES, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, channel, 0);
    need(mr != NULL && cq != NULL && ibv_req_notify_cq(cq, 0) == 0, "setting up");
    struct ibv_qp_init_attr init = {.send_cq = cq,
                                    .recv_cq = cq,
                                    .qp_type = IBV_QPT_RC,
                                    .sq_sig_all = 1,
                                    .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(pd, &init);
    need(qp != NULL, "ibv_create_qp");
    connect_to_itself(context, qp);
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct ibv_sge to = {(uintptr_t)memory + BYTES, BYTES, mr->lkey}, from = {(uintptr_t)memory, BYTES, mr->lkey};
        struct ibv_recv_wr recv = {.sg_list = &to, .num_sge = 1}, *bad_recv;
        struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad_send;

        for (unsigned k = 0; k < BYTES; k++)
            memory[k] = (unsigned char)(i + k * 7);
        memset(memory + BYTES, 0, BYTES);
        need(ibv_post_recv(qp, &recv, &bad_recv) == 0 && ibv_post_send(qp, &send, &bad_send) == 0, "posting");
        wait_for_both(channel, cq);
        need(memcmp(memory, memory + BYTES, BYTES) == 0, "comparing");
    }
    need(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0 && ibv_destroy_comp_channel(channel) == 0, "destroying");
    need(ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0, "closing");
    ibv_free_device_list(list);
    free(memory);
    printf("%d messages\n", MESSAGES);
    return 0;
}
