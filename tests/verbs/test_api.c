/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs interface in one process: two queue pairs on the loopback device, every kind of work request, the
 * rules of objects and their lifetimes, what is refused and with which error.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include <cmocka.h>

#define POLL_SECONDS 30 /* a guard: nothing is measured by it */
#define BYTES 65536u
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct lab {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    uint8_t *memory; /* the first half is a's, the second b's */
    struct ibv_qp *a, *b;
};

static struct ibv_qp *make_qp(struct lab *lab, enum ibv_qp_type type)
{
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = lab->cq,
        .recv_cq = lab->cq,
        .qp_type = type,
        .cap = {.max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 128},
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = lab->pd,
        .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
    };

    if (type == IBV_QPT_RC)
        attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
                               IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                               IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV;
    return ibv_create_qp_ex(lab->context, &attr);
}

static struct ibv_ah_attr path(struct lab *lab)
{
    struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}};

    assert_int_equal(ibv_query_gid(lab->context, 1, 0, &attr.grh.dgid), 0);
    return attr;
}

static void to_init(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS, .qkey = 0x11};
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

    assert_int_equal(ibv_modify_qp(qp, &attr, mask | (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
                     0);
}

static void to_rts(struct lab *lab, struct ibv_qp *qp, uint32_t remote)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = IBV_MTU_1024,
                               .dest_qp_num = remote,
                               .rq_psn = 0xfffff0,
                               .max_dest_rd_atomic = 4,
                               .min_rnr_timer = 1,
                               .ah_attr = path(lab)};
    int mask = IBV_QP_STATE;

    if (qp->qp_type != IBV_QPT_UD) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (qp->qp_type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    assert_int_equal(ibv_modify_qp(qp, &attr, mask), 0);
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = 0xfffff0;
    attr.timeout = 14;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 4;
    mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (qp->qp_type == IBV_QPT_RC)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    assert_int_equal(ibv_modify_qp(qp, &attr, mask), 0);
}

static void lab_open(struct lab *lab, enum ibv_qp_type type)
{
    struct ibv_device **list;
    int count;

    setenv("ROCELAB_DEVICE", "lo", 1);
    list = ibv_get_device_list(&count);
    assert_non_null(list);
    assert_int_equal(count, 1);
    lab->context = ibv_open_device(list[0]);
    ibv_free_device_list(list); /* an opened device outlives its list */
    assert_non_null(lab->context);
    assert_string_equal(ibv_get_device_name(lab->context->device), "rocelab0");
    lab->pd = ibv_alloc_pd(lab->context);
    lab->cq = ibv_create_cq(lab->context, 256, lab, NULL, 0);
    assert_non_null(lab->cq);
    lab->memory = aligned_alloc(4096, BYTES);
    for (unsigned i = 0; i < BYTES; i++)
        lab->memory[i] = (uint8_t)(i * 7 + i / 251);
    lab->mr = ibv_reg_mr(lab->pd, lab->memory, BYTES, ACCESS | IBV_ACCESS_MW_BIND);
    assert_non_null(lab->mr);
    lab->a = make_qp(lab, type);
    lab->b = make_qp(lab, type);
    assert_non_null(lab->a);
    assert_non_null(lab->b);
    to_init(lab->a);
    to_init(lab->b);
    to_rts(lab, lab->a, lab->b->qp_num);
    to_rts(lab, lab->b, lab->a->qp_num);
}

static void lab_close(struct lab *lab)
{
    assert_int_equal(ibv_destroy_qp(lab->a), 0);
    assert_int_equal(ibv_destroy_qp(lab->b), 0);
    assert_int_equal(ibv_dereg_mr(lab->mr), 0);
    assert_int_equal(ibv_destroy_cq(lab->cq), 0);
    assert_int_equal(ibv_dealloc_pd(lab->pd), 0);
    assert_int_equal(ibv_close_device(lab->context), 0);
    free(lab->memory);
}

static struct ibv_wc take(struct lab *lab)
{
    const time_t until = time(NULL) + POLL_SECONDS;
    struct ibv_wc wc;
    int got;

    while ((got = ibv_poll_cq(lab->cq, 1, &wc)) == 0)
        assert_true(time(NULL) < until);
    assert_int_equal(got, 1);
    return wc;
}

/* Two completions of one operation, in any order: the sender's and the receiver's. */
static void take_both(struct lab *lab, struct ibv_wc *ret_send, struct ibv_wc *ret_recv)
{
    for (int i = 0; i < 2; i++) {
        struct ibv_wc wc = take(lab);

        *(wc.opcode & IBV_WC_RECV ? ret_recv : ret_send) = wc;
    }
}

static struct ibv_sge sge_of(const struct lab *lab, uint32_t offset, uint32_t bytes)
{
    return (struct ibv_sge){(uintptr_t)lab->memory + offset, bytes, lab->mr->lkey};
}

static void post_recv(struct lab *lab, uint64_t id, uint32_t offset, uint32_t bytes)
{
    struct ibv_sge sge = sge_of(lab, offset, bytes);
    struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;

    assert_int_equal(ibv_post_recv(lab->b, &wr, &bad), 0);
}

static void test_send_and_write_with_immediate(void **state)
{
    struct lab lab;
    struct ibv_wc send, recv;
    struct ibv_sge sge;
    struct ibv_send_wr wr, *bad;

    (void)state;
    lab_open(&lab, IBV_QPT_RC);
    post_recv(&lab, 1, 32768, 8192);
    sge = sge_of(&lab, 0, 5000);
    wr = (struct ibv_send_wr){.wr_id = 2,
                              .sg_list = &sge,
                              .num_sge = 1,
                              .opcode = IBV_WR_SEND_WITH_IMM,
                              .send_flags = IBV_SEND_SIGNALED,
                              .imm_data = htonl(0x12345678)};
    assert_int_equal(ibv_post_send(lab.a, &wr, &bad), 0);
    take_both(&lab, &send, &recv);
    assert_int_equal(send.status, IBV_WC_SUCCESS);
    assert_int_equal(send.wr_id, 2);
    assert_int_equal(send.opcode, IBV_WC_SEND);
    assert_int_equal(recv.status, IBV_WC_SUCCESS);
    assert_int_equal(recv.wr_id, 1);
    assert_int_equal(recv.byte_len, 5000);
    assert_int_equal(recv.qp_num, lab.b->qp_num);
    assert_true(recv.wc_flags & IBV_WC_WITH_IMM);
    assert_int_equal(ntohl(recv.imm_data), 0x12345678);
    assert_memory_equal(lab.memory, lab.memory + 32768, 5000);

    post_recv(&lab, 3, 60000, 16);
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.wr.rdma.remote_addr = (uintptr_t)lab.memory + 40000;
    wr.wr.rdma.rkey = lab.mr->rkey;
    assert_int_equal(ibv_post_send(lab.a, &wr, &bad), 0);
    take_both(&lab, &send, &recv);
    assert_int_equal(send.opcode, IBV_WC_RDMA_WRITE);
    assert_int_equal(recv.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    assert_int_equal(recv.byte_len, 5000);
    assert_memory_equal(lab.memory, lab.memory + 40000, 5000);
    lab_close(&lab);
}

static void test_builders_read_atomics_inline(void **state)
{
    struct lab lab;
    struct ibv_qp_ex *ex;
    struct ibv_wc wc;
    uint64_t *word, found;
    char text[] = "inline";

    (void)state;
    lab_open(&lab, IBV_QPT_RC);
    ex = ibv_qp_to_qp_ex(lab.a);
    assert_non_null(ex);
    word = (uint64_t *)(lab.memory + 40960);
    *word = 40;
    ibv_wr_start(ex);
    ex->wr_flags = IBV_SEND_SIGNALED;
    ex->wr_id = 1;
    ibv_wr_rdma_read(ex, lab.mr->rkey, (uintptr_t)lab.memory + 32768);
    ibv_wr_set_sge(ex, lab.mr->lkey, (uintptr_t)lab.memory, 6000);
    ex->wr_id = 2;
    ibv_wr_atomic_fetch_add(ex, lab.mr->rkey, (uintptr_t)word, 2);
    ibv_wr_set_sge(ex, lab.mr->lkey, (uintptr_t)lab.memory + 8192, 8);
    ex->wr_id = 3;
    ibv_wr_atomic_cmp_swp(ex, lab.mr->rkey, (uintptr_t)word, 42, 7);
    ibv_wr_set_sge(ex, lab.mr->lkey, (uintptr_t)lab.memory + 8200, 8);
    ex->wr_id = 4;
    ibv_wr_rdma_write(ex, lab.mr->rkey, (uintptr_t)lab.memory + 50000);
    ibv_wr_set_inline_data(ex, text, sizeof text);
    assert_int_equal(ibv_wr_complete(ex), 0);
    memset(text, 0, sizeof text); /* inline: taken when it was posted */
    for (uint64_t id = 1; id <= 4; id++) {
        wc = take(&lab);
        assert_int_equal(wc.status, IBV_WC_SUCCESS);
        assert_int_equal(wc.wr_id, id);
    }
    assert_memory_equal(lab.memory, lab.memory + 32768, 6000);
    memcpy(&found, lab.memory + 8192, 8);
    assert_int_equal(found, 40);
    memcpy(&found, lab.memory + 8200, 8);
    assert_int_equal(found, 42);
    assert_int_equal(*word, 7);
    assert_string_equal((char *)lab.memory + 50000, "inline");

    ibv_wr_start(ex); /* an abandoned list leaves no trace */
    ibv_wr_send(ex);
    ibv_wr_abort(ex);
    ibv_wr_start(ex); /* too much inline: none is posted */
    ibv_wr_send(ex);
    ibv_wr_set_inline_data(ex, lab.memory, 4096);
    assert_int_equal(ibv_wr_complete(ex), EINVAL);
    assert_int_equal(ibv_poll_cq(lab.cq, 1, &wc), 0);
    lab_close(&lab);
}

static void test_windows(void **state)
{
    struct lab lab;
    struct ibv_mw *one, *two;
    struct ibv_qp *idle;
    struct ibv_mw_bind bind;
    struct ibv_send_wr wr, *bad;
    struct ibv_sge sge;
    uint32_t before;

    (void)state;
    lab_open(&lab, IBV_QPT_RC);
    one = ibv_alloc_mw(lab.pd, IBV_MW_TYPE_1);
    two = ibv_alloc_mw(lab.pd, IBV_MW_TYPE_2);
    assert_non_null(one);
    assert_non_null(two);
    before = one->rkey;
    bind = (struct ibv_mw_bind){.wr_id = 1,
                                .send_flags = IBV_SEND_SIGNALED,
                                .bind_info = {lab.mr, (uintptr_t)lab.memory + 32768, 4096, IBV_ACCESS_REMOTE_WRITE}};
    idle = make_qp(&lab, IBV_QPT_RC); /* in RESET: refused, and the key stays the one the adapter has */
    assert_int_equal(ibv_bind_mw(idle, one, &bind), EINVAL);
    assert_int_equal(one->rkey, before);
    assert_int_equal(ibv_destroy_qp(idle), 0);
    assert_int_equal(ibv_bind_mw(lab.b, one, &bind), 0);
    assert_int_not_equal(one->rkey, before);
    assert_int_equal(take(&lab).status, IBV_WC_SUCCESS);
    sge = sge_of(&lab, 0, 64);
    wr = (struct ibv_send_wr){.wr_id = 2,
                              .sg_list = &sge,
                              .num_sge = 1,
                              .opcode = IBV_WR_RDMA_WRITE,
                              .send_flags = IBV_SEND_SIGNALED,
                              .wr = {.rdma = {(uintptr_t)lab.memory + 32768, one->rkey}}};
    assert_int_equal(ibv_post_send(lab.a, &wr, &bad), 0);
    assert_int_equal(take(&lab).status, IBV_WC_SUCCESS);
    assert_memory_equal(lab.memory, lab.memory + 32768, 64);

    wr = (struct ibv_send_wr){
        .wr_id = 3,
        .opcode = IBV_WR_BIND_MW,
        .send_flags = IBV_SEND_SIGNALED,
        .bind_mw = {two, ibv_inc_rkey(two->rkey), {lab.mr, (uintptr_t)lab.memory + 40960, 64, IBV_ACCESS_REMOTE_READ}}};
    assert_int_equal(ibv_post_send(lab.b, &wr, &bad), 0);
    assert_int_equal(take(&lab).status, IBV_WC_SUCCESS);
    wr = (struct ibv_send_wr){.wr_id = 4,
                              .sg_list = &sge,
                              .num_sge = 1,
                              .opcode = IBV_WR_RDMA_WRITE,
                              .send_flags = IBV_SEND_SIGNALED,
                              .wr = {.rdma = {(uintptr_t)lab.memory + 40960, ibv_inc_rkey(two->rkey)}}};
    assert_int_equal(ibv_post_send(lab.a, &wr, &bad), 0); /* the window may be read only */
    assert_int_equal(take(&lab).status, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(ibv_dereg_mr(lab.mr), EBUSY); /* both are bound to it */
    assert_int_equal(ibv_dealloc_mw(one), 0);
    assert_int_equal(ibv_dereg_mr(lab.mr), EBUSY);
    assert_int_equal(ibv_dealloc_mw(two), 0);
    lab_close(&lab);
}

static void test_memory_rules(void **state)
{
    struct lab lab;
    void *hole = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_mr *mr;
    struct ibv_pd *other;

    (void)state;
    lab_open(&lab, IBV_QPT_RC);
    munmap(hole, 8192);
    assert_null(ibv_reg_mr(lab.pd, hole, 8192, IBV_ACCESS_LOCAL_WRITE));
    assert_int_equal(errno, EFAULT);
    assert_null(ibv_reg_mr(lab.pd, lab.memory, 64, IBV_ACCESS_REMOTE_WRITE));
    assert_int_equal(errno, EINVAL);
    assert_null(ibv_reg_mr(lab.pd, lab.memory, 64, IBV_ACCESS_ON_DEMAND));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_null(ibv_reg_dmabuf_mr(lab.pd, 0, 4096, 0, -1, 0));
    assert_int_equal(errno, EOPNOTSUPP);
    mr = ibv_reg_mr_iova(lab.pd, lab.memory, 4096, 0x1000, IBV_ACCESS_LOCAL_WRITE);
    assert_non_null(mr);
    other = ibv_alloc_pd(lab.context);
    assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
    assert_ptr_equal(mr->pd, other);
    assert_int_equal(ibv_dealloc_pd(other), EBUSY);
    assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, lab.memory + 4096, 100, 0), 0);
    assert_int_equal(mr->length, 100);
    assert_int_equal(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    assert_int_equal(ibv_dealloc_pd(other), 0);
    lab_close(&lab);
}

static void test_modify_refuses(void **state)
{
    struct lab lab;
    struct ibv_qp *qp;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_qp_init_attr init;
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;

    (void)state;
    lab_open(&lab, IBV_QPT_RC);
    qp = make_qp(&lab, IBV_QPT_RC);
    attr.port_num = 2;
    errno = 0;
    assert_int_equal(ibv_modify_qp(qp, &attr, mask), EINVAL);
    assert_int_equal(errno, EINVAL);
    attr.port_num = 1;
    assert_int_equal(ibv_modify_qp(qp, &attr, mask & ~IBV_QP_PORT), EINVAL);
    assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
    assert_int_equal(attr.qp_state, IBV_QPS_RESET);
    to_init(qp);
    attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = 1, .ah_attr = path(&lab)};
    mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
           IBV_QP_MIN_RNR_TIMER;
    attr.ah_attr.is_global = 0;
    assert_int_equal(ibv_modify_qp(qp, &attr, mask), EINVAL);
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.sgid_index = 99;
    assert_int_equal(ibv_modify_qp(qp, &attr, mask), EINVAL);
    attr.ah_attr.grh.sgid_index = 0;
    attr.max_dest_rd_atomic = 200;
    assert_int_equal(ibv_modify_qp(qp, &attr, mask), EINVAL);
    attr.max_dest_rd_atomic = 1;
    attr.path_mtu = (enum ibv_mtu)9;
    assert_int_equal(ibv_modify_qp(qp, &attr, mask), EINVAL);
    attr.path_mtu = IBV_MTU_4096;
    assert_int_equal(ibv_modify_qp(qp, &attr, mask), 0);
    assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
    assert_int_equal(attr.qp_state, IBV_QPS_RTR);
    assert_int_equal(attr.path_mtu, IBV_MTU_4096);
    assert_int_equal(init.cap.max_send_wr, 64);
    assert_int_equal(ibv_destroy_qp(qp), 0);
    lab_close(&lab);
}

static void test_flush_and_lifetimes(void **state)
{
    struct lab lab;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    (void)state;
    lab_open(&lab, IBV_QPT_RC);
    assert_int_equal(ibv_destroy_cq(lab.cq), EBUSY);
    assert_int_equal(ibv_dealloc_pd(lab.pd), EBUSY);
    post_recv(&lab, 77, 0, 64);
    assert_int_equal(ibv_modify_qp(lab.b, &attr, IBV_QP_STATE), 0);
    attr.qp_state = IBV_QPS_RESET;
    assert_int_equal(take(&lab).status, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(ibv_modify_qp(lab.b, &attr, IBV_QP_STATE), 0);
    lab_close(&lab);
}

static void test_datagrams_and_answers(void **state)
{
    struct lab lab;
    struct ibv_ah_attr attr;
    struct ibv_ah *ah, *back;
    struct ibv_wc send, recv;
    struct ibv_sge sge;
    struct ibv_send_wr wr, *bad;

    (void)state;
    lab_open(&lab, IBV_QPT_UD);
    attr = path(&lab);
    ah = ibv_create_ah(lab.pd, &attr);
    assert_non_null(ah);
    post_recv(&lab, 1, 32768, 2048);
    sge = sge_of(&lab, 0, 1000);
    wr = (struct ibv_send_wr){.wr_id = 2,
                              .sg_list = &sge,
                              .num_sge = 1,
                              .opcode = IBV_WR_SEND,
                              .send_flags = IBV_SEND_SIGNALED,
                              .wr = {.ud = {ah, lab.b->qp_num, 0x11}}};
    assert_int_equal(ibv_post_send(lab.a, &wr, &bad), 0);
    take_both(&lab, &send, &recv);
    assert_int_equal(recv.status, IBV_WC_SUCCESS);
    assert_int_equal(recv.byte_len, 1040);
    assert_int_equal(recv.src_qp, lab.a->qp_num);
    assert_true(recv.wc_flags & IBV_WC_GRH);
    assert_memory_equal(lab.memory, lab.memory + 32768 + 40, 1000);
    memset(&attr, 0, sizeof attr);
    assert_int_equal(ibv_init_ah_from_wc(lab.context, 1, &recv, (struct ibv_grh *)(lab.memory + 32768), &attr), 0);
    assert_int_equal(attr.is_global, 1);
    assert_int_equal(attr.grh.dgid.raw[12], 127);
    back = ibv_create_ah_from_wc(lab.pd, &recv, (struct ibv_grh *)(lab.memory + 32768), 1);
    assert_non_null(back);
    assert_int_equal(ibv_destroy_ah(back), 0);
    assert_int_equal(ibv_destroy_ah(ah), 0);
    lab_close(&lab);
}

/* By each of the functions that the library stands before (waits.c). */
static void await_readable(int fd, int way)
{
    const struct timespec guard = {.tv_sec = POLL_SECONDS};
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd}, told = {.data.fd = -1};
    int set = epoll_create1(EPOLL_CLOEXEC);

    assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), 0);
    if (way == 0) assert_int_equal(poll(&wanted, 1, -1), 1);
    if (way == 1) assert_int_equal(ppoll(&wanted, 1, &guard, NULL), 1);
    if (way == 2) assert_int_equal(epoll_wait(set, &told, 1, 1000 * POLL_SECONDS), 1);
    if (way == 3) assert_int_equal(epoll_pwait(set, &told, 1, -1, NULL), 1);
    assert_int_equal(way < 2 ? (uint32_t)wanted.revents : told.events, POLLIN);
    assert_int_equal(told.data.fd, way < 2 ? -1 : fd);
    close(set);
}

static void await_nothing(int fd)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    struct epoll_event event = {.events = EPOLLIN};
    int set = epoll_create1(EPOLL_CLOEXEC);

    assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), 0);
    for (int ms = 0; ms < 2; ms++) {
        assert_int_equal(poll(&wanted, 1, ms), 0);
        assert_int_equal(epoll_wait(set, &event, 1, ms), 0);
    }
    close(set);
}

static void test_events_and_cq_ex(void **state)
{
    struct lab lab;
    struct ibv_comp_channel *channel;
    struct ibv_cq_init_attr_ex attr = {.cqe = 16,
                                       .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
    struct ibv_poll_cq_attr none = {0};
    struct ibv_cq *plain, *kept, *got;
    struct ibv_cq_ex *cq;
    struct ibv_sge sge;
    struct ibv_send_wr wr, *bad;
    void *context;

    (void)state;
    lab_open(&lab, IBV_QPT_RC);
    channel = ibv_create_comp_channel(lab.context);
    assert_non_null(channel);
    attr.channel = channel;
    attr.cq_context = &lab;
    cq = ibv_create_cq_ex(lab.context, &attr);
    assert_non_null(cq);
    assert_int_equal(ibv_destroy_comp_channel(channel), EBUSY);
    assert_int_equal(ibv_destroy_qp(lab.a), 0);
    kept = lab.cq;
    plain = ibv_cq_ex_to_cq(cq);
    lab.cq = plain;
    lab.a = make_qp(&lab, IBV_QPT_RC);
    assert_int_equal(ibv_destroy_qp(lab.b), 0);
    lab.b = make_qp(&lab, IBV_QPT_RC);
    to_init(lab.a);
    to_init(lab.b);
    to_rts(&lab, lab.a, lab.b->qp_num);
    to_rts(&lab, lab.b, lab.a->qp_num);
    assert_int_equal(ibv_start_poll(cq, &none), ENOENT);
    sge = sge_of(&lab, 0, 100);
    wr = (struct ibv_send_wr){.wr_id = 9,
                              .sg_list = &sge,
                              .num_sge = 1,
                              .opcode = IBV_WR_RDMA_WRITE,
                              .send_flags = IBV_SEND_SIGNALED,
                              .wr = {.rdma = {(uintptr_t)lab.memory + 32768, lab.mr->rkey}}};
    for (int way = 0; way < 5; way++) {
        assert_int_equal(ibv_req_notify_cq(plain, 0), 0);
        await_nothing(channel->fd);
        assert_int_equal(ibv_post_send(lab.a, &wr, &bad), 0);
        if (way < 4) await_readable(channel->fd, way);
        assert_int_equal(ibv_get_cq_event(channel, &got, &context), 0);
        assert_ptr_equal(got, plain);
        assert_ptr_equal(context, &lab);
        ibv_ack_cq_events(got, 1);
        assert_int_equal(ibv_start_poll(cq, &none), 0);
        assert_int_equal(cq->wr_id, 9);
        if (way < 4) ibv_end_poll(cq);
    }
    assert_int_equal(cq->status, IBV_WC_SUCCESS);
    assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RDMA_WRITE);
    assert_int_equal(ibv_wc_read_qp_num(cq), lab.a->qp_num);
    assert_true(ibv_wc_read_completion_ts(cq) > 0);
    assert_int_equal(ibv_next_poll(cq), ENOENT);
    ibv_end_poll(cq);
    assert_int_equal(ibv_resize_cq(plain, 500), 0);
    assert_true(plain->cqe >= 500);
    assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(ibv_get_cq_event(channel, &got, &context), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(ibv_destroy_qp(lab.a), 0);
    assert_int_equal(ibv_destroy_qp(lab.b), 0);
    assert_int_equal(ibv_destroy_cq(plain), 0);
    assert_int_equal(ibv_destroy_comp_channel(channel), 0);
    lab.cq = kept;
    lab.a = make_qp(&lab, IBV_QPT_RC);
    lab.b = make_qp(&lab, IBV_QPT_RC);
    lab_close(&lab);
}

static void test_srq_and_its_limit(void **state)
{
    struct lab lab;
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 32, .max_sge = 2}};
    struct ibv_srq_attr attr = {.srq_limit = 4};
    struct ibv_srq *srq;

    (void)state;
    lab_open(&lab, IBV_QPT_RC);
    srq = ibv_create_srq(lab.pd, &init);
    assert_non_null(srq);
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
    assert_int_equal(ibv_query_srq(srq, &attr), 0);
    assert_int_equal(attr.srq_limit, 4);
    assert_true(attr.max_wr >= 32);
    attr.srq_limit = 1000;
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
    attr.max_wr = 64;
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0); /* and the limit stays */
    assert_int_equal(ibv_query_srq(srq, &attr), 0);
    assert_int_equal(attr.srq_limit, 4);
    attr.srq_limit = 0; /* unarmed */
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
    assert_int_equal(ibv_query_srq(srq, &attr), 0);
    assert_int_equal(attr.srq_limit, 0);
    assert_int_equal(ibv_destroy_srq(srq), 0);
    init.attr.max_wr = 1u << 30;
    assert_null(ibv_create_srq(lab.pd, &init));
    assert_int_equal(errno, EINVAL);
    lab_close(&lab);
}

static void test_what_is_not_supported(void **state)
{
    struct lab lab;
    struct ibv_xrcd_init_attr xrcd = {0};
    struct ibv_qp_init_attr qp = {.qp_type = IBV_QPT_RAW_PACKET};
    struct ibv_td_init_attr td_attr = {0};
    struct ibv_parent_domain_init_attr parent_attr = {0};
    struct ibv_td *td;
    struct ibv_pd *parent;

    (void)state;
    lab_open(&lab, IBV_QPT_RC);
    assert_null(ibv_open_xrcd(lab.context, &xrcd));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_null(ibv_alloc_null_mr(lab.pd));
    assert_int_equal(errno, EOPNOTSUPP);
    qp.send_cq = qp.recv_cq = lab.cq;
    assert_null(ibv_create_qp(lab.pd, &qp));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_null(ibv_import_device(0));
    assert_int_equal(errno, EOPNOTSUPP);
    td = ibv_alloc_td(lab.context, &td_attr);
    parent_attr.pd = lab.pd;
    parent_attr.td = td;
    parent = ibv_alloc_parent_domain(lab.context, &parent_attr);
    assert_non_null(parent);
    assert_int_equal(ibv_dealloc_td(td), EBUSY);
    assert_int_equal(ibv_dealloc_pd(parent), 0);
    assert_int_equal(ibv_dealloc_td(td), 0);
    lab_close(&lab);
}

static void test_device_memory_and_imports(void **state)
{
    struct lab lab;
    struct ibv_alloc_dm_attr attr = {.length = 64};
    struct ibv_context *other;
    struct ibv_dm *dm, *same;
    struct ibv_mr *mr, *mr_again;
    struct ibv_pd *pd;
    char text[8] = "";

    (void)state;
    lab_open(&lab, IBV_QPT_RC);
    dm = ibv_alloc_dm(lab.context, &attr);
    assert_non_null(dm);
    assert_int_equal(ibv_memcpy_to_dm(dm, 8, "seven..", 8), 0);
    assert_int_equal(ibv_memcpy_to_dm(dm, 6, "seven..", 8), EINVAL);
    assert_int_equal(ibv_memcpy_to_dm(dm, 60, "seven..", 8), EINVAL);
    other = ibv_import_device(dup(lab.context->cmd_fd));
    assert_non_null(other);
    same = ibv_import_dm(other, dm->handle);
    assert_non_null(same);
    assert_int_equal(ibv_memcpy_from_dm(text, same, 8, 8), 0);
    assert_string_equal(text, "seven..");
    ibv_unimport_dm(same);
    pd = ibv_import_pd(other, lab.pd->handle);
    assert_non_null(pd);
    mr = ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
    assert_non_null(mr);
    assert_int_equal(ibv_free_dm(dm), EBUSY);
    assert_null(ibv_reg_dm_mr(pd, dm, 4, 64, IBV_ACCESS_ZERO_BASED));
    mr_again = ibv_import_mr(lab.pd, mr->handle);
    assert_non_null(mr_again);
    assert_int_equal(mr_again->rkey, mr->rkey);
    ibv_unimport_mr(mr_again);
    assert_null(ibv_import_mr(lab.pd, 0xdead));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    ibv_unimport_pd(pd);
    assert_int_equal(ibv_free_dm(dm), 0);
    assert_int_equal(ibv_close_device(other), 0);
    attr.length = 1u << 30;
    assert_null(ibv_alloc_dm(lab.context, &attr));
    lab_close(&lab);
}

/* More than the queue holds: none is posted, and the queue pair goes on. */
static void test_builders_are_all_or_nothing(void **state)
{
    struct lab lab;
    struct ibv_qp_ex *ex;
    struct ibv_wc wc;

    (void)state;
    lab_open(&lab, IBV_QPT_RC);
    ex = ibv_qp_to_qp_ex(lab.a);
    ibv_wr_start(ex);
    for (unsigned i = 0; i < 65; i++) {
        ex->wr_id = 100 + i;
        ex->wr_flags = IBV_SEND_SIGNALED;
        ibv_wr_rdma_write(ex, lab.mr->rkey, (uintptr_t)lab.memory + 32768);
        ibv_wr_set_sge(ex, lab.mr->lkey, (uintptr_t)lab.memory, 8);
    }
    assert_int_equal(ibv_wr_complete(ex), ENOMEM);
    ibv_wr_start(ex);
    ex->wr_id = 7;
    ex->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(ex, lab.mr->rkey, (uintptr_t)lab.memory + 32768);
    ibv_wr_set_sge(ex, lab.mr->lkey, (uintptr_t)lab.memory, 8);
    assert_int_equal(ibv_wr_complete(ex), 0);
    wc = take(&lab);
    assert_int_equal(wc.wr_id, 7);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(ibv_poll_cq(lab.cq, 1, &wc), 0);
    lab_close(&lab);
}

/* An object's event goes to the context that made it, the port's to all. */
static void test_events_of_ones_own(void **state)
{
    struct lab lab;
    struct ibv_context *other;
    struct ibv_async_event event;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};

    (void)state;
    lab_open(&lab, IBV_QPT_RC);
    other = ibv_import_device(dup(lab.context->cmd_fd));
    assert_non_null(other);
    assert_int_equal(fcntl(other->async_fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(ibv_modify_qp(lab.b, &attr, IBV_QP_STATE), 0); /* who does not ask is not told */
    assert_int_equal(ibv_modify_qp(lab.a, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
    do {
        assert_int_equal(ibv_get_async_event(lab.context, &event), 0);
        ibv_ack_async_event(&event);
    } while (event.event_type != IBV_EVENT_SQ_DRAINED);
    assert_ptr_equal(event.element.qp, lab.a);
    assert_int_equal(ibv_get_async_event(other, &event), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(ibv_close_device(other), 0);
    lab_close(&lab);
}

static void test_queries(void **state)
{
    struct lab lab;
    struct ibv_device_attr_ex attr;
    struct ibv_port_attr port;
    struct ibv_gid_entry entry, table[32];
    __be16 pkey;

    (void)state;
    lab_open(&lab, IBV_QPT_RC);
    assert_int_equal(ibv_query_device_ex(lab.context, NULL, &attr), 0);
    assert_int_equal(attr.orig_attr.phys_port_cnt, 1);
    assert_true(attr.orig_attr.max_qp > 10000);
    assert_int_equal(ibv_query_port(lab.context, 1, &port), 0);
    assert_int_equal(port.state, IBV_PORT_ACTIVE);
    assert_int_equal(port.link_layer, IBV_LINK_LAYER_ETHERNET);
    assert_int_equal(port.active_mtu, IBV_MTU_4096);
    assert_int_equal(ibv_query_port(lab.context, 2, &port), EINVAL);
    assert_int_equal(ibv_query_gid_ex(lab.context, 1, 0, &entry, 0), 0);
    assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
    assert_true(ibv_query_gid_table(lab.context, table, 32, 0) >= 1);
    assert_memory_equal(table[0].gid.raw, entry.gid.raw, 16);
    assert_int_equal(ibv_query_gid_ex(lab.context, 1, 15, &entry, 0), ENODATA);
    assert_int_equal(ibv_query_pkey(lab.context, 1, 0, &pkey), 0);
    assert_int_equal(ntohs(pkey), 0xffff);
    assert_int_equal(ibv_query_pkey(lab.context, 1, 1, &pkey), -1);
    assert_string_equal(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR), "transport retry counter exceeded");
    assert_string_equal(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
    assert_int_equal(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
    assert_int_equal(mult_to_ibv_rate(16), IBV_RATE_40_GBPS);
    lab_close(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_send_and_write_with_immediate),
        cmocka_unit_test(test_builders_read_atomics_inline),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_memory_rules),
        cmocka_unit_test(test_modify_refuses),
        cmocka_unit_test(test_flush_and_lifetimes),
        cmocka_unit_test(test_datagrams_and_answers),
        cmocka_unit_test(test_events_and_cq_ex),
        cmocka_unit_test(test_srq_and_its_limit),
        cmocka_unit_test(test_device_memory_and_imports),
        cmocka_unit_test(test_builders_are_all_or_nothing),
        cmocka_unit_test(test_events_of_ones_own),
        cmocka_unit_test(test_what_is_not_supported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
