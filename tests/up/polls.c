/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Polls an empty completion queue so many times; then sends to itself, has no receive for it, and polls until the
 * retries have run out.  Prints how long each took and in how many polls.
 */
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void need(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "polls: %s failed\n", what);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void connect_to_itself(struct ibv_context *context, struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    union ibv_gid gid;

    need(ibv_query_gid(context, 1, 0, &gid) == 0, "ibv_query_gid");
    need(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0, "INIT");
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                                .path_mtu = IBV_MTU_1024,
                                .dest_qp_num = qp->qp_num,
                                .min_rnr_timer = 28, /* 163.84 ms */
                                .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 64}}};
    need(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
         "RTR");
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 18, .retry_cnt = 7, .rnr_retry = 2};
    need(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                           IBV_QP_MAX_QP_RD_ATOMIC) == 0,
         "RTS");
}

int main(int argc, char **argv)
{
    struct ibv_context *context = ibv_open_device(ibv_get_device_list(NULL)[0]);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {.send_cq = cq,
                                    .recv_cq = cq,
                                    .qp_type = IBV_QPT_RC,
                                    .sq_sig_all = 1,
                                    .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(pd, &init);
    struct ibv_send_wr send = {.opcode = IBV_WR_SEND}, *bad;
    struct ibv_wc wc;
    long wanted = argc > 1 ? strtol(argv[1], NULL, 10) : 0, polls;

    need(qp != NULL, "ibv_create_qp");
    connect_to_itself(context, qp);
    int64_t begun = now_ns();
    for (polls = 0; polls < wanted; polls++)
        need(ibv_poll_cq(cq, 1, &wc) == 0, "an empty poll");
    printf("%ld polls %" PRId64 " ns\n", polls, now_ns() - begun);
    begun = now_ns();
    need(ibv_post_send(qp, &send, &bad) == 0, "ibv_post_send");
    for (polls = 0; ibv_poll_cq(cq, 1, &wc) == 0;)
        polls++;
    printf("%s after %ld polls %" PRId64 " ns\n", ibv_wc_status_str(wc.status), polls, now_ns() - begun);
    return 0;
}
