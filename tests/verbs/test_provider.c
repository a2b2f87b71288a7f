/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another device under the verbs library: one in the memory of this test, which has no adapter, wire or thread, named
 * to device_provider().  A program's calls of libibverbs reach it, and nothing of the live adapter is opened.
 *
 * It does what the test needs: RC, SEND and WRITE between two of its own queue pairs, done when they are posted.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include <cmocka.h>

#include "device/device.h"

#define OBJECTS 8u
#define RING 16u
#define FIRST_KEY 0x100u
#define FIRST_QPN 0x40u

static const struct device_ops memory_ops;

struct memory_mr {
    const struct device_ops *ops;
    uint8_t *addr;
    uint64_t iova, bytes;
    uint32_t key;
};

struct memory_cq {
    const struct device_ops *ops;
    struct nic_cqe ring[RING];
    unsigned head, tail;
};

struct memory_qp {
    const struct device_ops *ops;
    struct memory_cq *send_cq, *recv_cq;
    uint32_t qpn, remote;
    enum nic_state state;
    struct {
        uint64_t wr_id;
        struct device_sge sge;
    } recv[RING];
    unsigned recv_head, recv_tail;
};

struct memory_watch {
    const struct device_ops *ops;
    int fd;
};

static struct memory_device { /* as a struct device */
    const struct device_ops *ops;
    struct device_info device;
    struct memory_mr *mr[OBJECTS];
    struct memory_qp *qp[OBJECTS];
    unsigned mrs, qps, opens, posts, polls;
} the_device;

static void fill(struct device_info *device)
{
    *device = (struct device_info){.ops = &memory_ops, .ifindex = 1, .if_mtu = 9000, .guid = 7, .up = true, .gids = 1};
    device->line_bps = 100000000000u;
    snprintf(device->name, sizeof device->name, "memory0");
    snprintf(device->ifname, sizeof device->ifname, "none");
    device->gid[0] = (struct device_gid){.addr = {{0xfd, [15] = 1}}, .net = PKT_NET_IPV6, .usable = true};
}

static int memory_devices(struct device_info **ret, unsigned *ret_count)
{
    *ret = calloc(1, sizeof **ret);
    if (*ret == NULL) return -ENOMEM;
    fill(*ret);
    *ret_count = 1;
    return 0;
}

static int memory_device_refresh(struct device_info *device)
{
    fill(device);
    return 0;
}

static int memory_open(const struct device_info *device, struct device **ret, char *why, size_t why_bytes)
{
    (void)why;
    (void)why_bytes;
    the_device.ops = &memory_ops;
    the_device.device = *device;
    the_device.opens++;
    *ret = (struct device *)&the_device;
    return 0;
}

static void memory_close(struct device *live)
{
    assert_ptr_equal(live, &the_device);
    the_device.opens--;
}

static const struct device_info *memory_info_of(const struct device *live)
{
    return &((const struct memory_device *)live)->device;
}

static int memory_mr_create(struct device *live, uint32_t pd, void *addr, uint64_t bytes, uint64_t iova,
                            uint32_t access, struct device_mr **ret)
{
    struct memory_device *device = (struct memory_device *)live;
    struct memory_mr *mr = malloc(sizeof *mr);

    (void)pd;
    (void)access;
    assert_true(mr && device->mrs < OBJECTS);
    *mr = (struct memory_mr){&memory_ops, addr, iova, bytes, FIRST_KEY + device->mrs};
    device->mr[device->mrs++] = mr;
    *ret = (struct device_mr *)mr;
    return 0;
}

static int memory_mr_destroy(struct device_mr *mr)
{
    free(mr);
    return 0;
}

static uint32_t memory_mr_key(const struct device_mr *mr)
{
    return ((const struct memory_mr *)mr)->key;
}

static int memory_cq_create(struct device *live, uint32_t entries, struct device_channel *channel, void *app,
                            struct device_cq **ret)
{
    struct memory_cq *cq = calloc(1, sizeof *cq);

    (void)live;
    (void)app;
    assert_true(cq && entries <= RING && channel == NULL);
    cq->ops = &memory_ops;
    *ret = (struct device_cq *)cq;
    return 0;
}

static int memory_cq_destroy(struct device_cq *cq)
{
    free(cq);
    return 0;
}

static uint32_t memory_cq_entries(const struct device_cq *cq)
{
    (void)cq;
    return RING;
}

static int memory_poll(struct device_cq *device_cq, struct nic_cqe *ret, unsigned max)
{
    struct memory_cq *cq = (struct memory_cq *)device_cq;
    unsigned count = 0;

    the_device.polls++;
    while (count < max && cq->head != cq->tail)
        ret[count++] = cq->ring[cq->head++ % RING];
    return (int)count;
}

static int memory_qp_create(struct device *live, const struct device_qp_init *init, struct device_qp **ret)
{
    struct memory_device *device = (struct memory_device *)live;
    struct memory_qp *qp = calloc(1, sizeof *qp);

    assert_true(qp && device->qps < OBJECTS && init->transport == NIC_RC);
    *qp = (struct memory_qp){.ops = &memory_ops,
                             .send_cq = (struct memory_cq *)init->send_cq,
                             .recv_cq = (struct memory_cq *)init->recv_cq,
                             .qpn = FIRST_QPN + device->qps};
    device->qp[device->qps++] = qp;
    *ret = (struct device_qp *)qp;
    return 0;
}

static int memory_qp_modify(struct device_qp *device_qp, const struct device_qp_attr *attr)
{
    struct memory_qp *qp = (struct memory_qp *)device_qp;

    if (attr->mask & DEVICE_ATTR_STATE) qp->state = attr->state;
    if (attr->mask & DEVICE_ATTR_REMOTE_QP) qp->remote = attr->remote_qp;
    return 0;
}

static enum nic_state memory_qp_state(struct device_qp *qp)
{
    return ((struct memory_qp *)qp)->state;
}

static uint32_t memory_qp_number(const struct device_qp *qp)
{
    return ((const struct memory_qp *)qp)->qpn;
}

static int memory_qp_destroy(struct device_qp *qp)
{
    free(qp);
    return 0;
}

static void complete(struct memory_cq *cq, const struct nic_cqe *cqe)
{
    assert_true(cq->tail - cq->head < RING);
    cq->ring[cq->tail++ % RING] = *cqe;
}

static int memory_post_recv(struct device_qp *device_qp, const struct device_recv *recv)
{
    struct memory_qp *qp = (struct memory_qp *)device_qp;

    assert_int_equal(recv->sges, 1);
    qp->recv[qp->recv_tail % RING].wr_id = recv->wr_id;
    qp->recv[qp->recv_tail++ % RING].sge = recv->sge[0];
    return 0;
}

static int memory_post_send(struct device_qp *device_qp, const struct device_send *send, bool more)
{
    struct memory_qp *qp = (struct memory_qp *)device_qp, *peer = the_device.qp[qp->remote - FIRST_QPN];
    struct nic_cqe sent = {.wr_id = send->wr.wr_id, .qpn = qp->qpn, .verb = send->wr.verb, .bytes = send->sge->length};

    (void)more;
    the_device.posts++;
    if (send->wr.verb == NIC_WRITE) {
        const struct memory_mr *mr = the_device.mr[send->wr.rkey - FIRST_KEY];
        memcpy(mr->addr + (send->wr.remote_va - mr->iova), (void *)(uintptr_t)send->sge->addr, send->sge->length);
    } else {
        assert_true(peer->recv_head != peer->recv_tail);
        unsigned at = peer->recv_head++ % RING;
        struct nic_cqe came = {.wr_id = peer->recv[at].wr_id,
                               .qpn = peer->qpn,
                               .verb = NIC_SEND,
                               .bytes = send->sge->length,
                               .receive = true};
        memcpy((void *)(uintptr_t)peer->recv[at].sge.addr, (void *)(uintptr_t)send->sge->addr, send->sge->length);
        complete(peer->recv_cq, &came);
    }
    if (send->wr.flags & NIC_SIGNALED) complete(qp->send_cq, &sent);
    return 0;
}

static int memory_watch_create(struct device *live, struct device_watch **ret)
{
    struct memory_watch *watch = malloc(sizeof *watch);

    (void)live;
    assert_non_null(watch);
    *watch = (struct memory_watch){&memory_ops, eventfd(0, EFD_CLOEXEC)};
    *ret = (struct device_watch *)watch;
    return 0;
}

static void memory_watch_hook(struct device_watch *watch, const struct device_watch_hooks *hooks)
{
    (void)watch;
    (void)hooks;
}

static void memory_watch_destroy(struct device_watch *watch)
{
    close(((struct memory_watch *)watch)->fd);
    free(watch);
}

static int memory_watch_fd(const struct device_watch *watch)
{
    return ((const struct memory_watch *)watch)->fd;
}

static const struct device_ops memory_ops = {
    .list = memory_devices,
    .refresh = memory_device_refresh,
    .open = memory_open,
    .close = memory_close,
    .info_of = memory_info_of,
    .mr_create = memory_mr_create,
    .mr_destroy = memory_mr_destroy,
    .mr_key = memory_mr_key,
    .cq_create = memory_cq_create,
    .cq_destroy = memory_cq_destroy,
    .cq_entries = memory_cq_entries,
    .poll = memory_poll,
    .qp_create = memory_qp_create,
    .qp_modify = memory_qp_modify,
    .qp_state = memory_qp_state,
    .qp_number = memory_qp_number,
    .qp_destroy = memory_qp_destroy,
    .post_send = memory_post_send,
    .post_recv = memory_post_recv,
    .watch_create = memory_watch_create,
    .watch_hook = memory_watch_hook,
    .watch_destroy = memory_watch_destroy,
    .watch_fd = memory_watch_fd,
};

/* --- the program --- */

static struct ibv_qp *connected(struct ibv_pd *pd, struct ibv_cq *cq)
{
    struct ibv_qp_init_attr init = {.send_cq = cq,
                                    .recv_cq = cq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(pd, &init);

    assert_non_null(qp);
    return qp;
}

static void to_rts(struct ibv_context *context, struct ibv_qp *qp, uint32_t remote)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
                              .path_mtu = IBV_MTU_1024,
                              .dest_qp_num = remote,
                              .ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64}};
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};

    assert_int_equal(ibv_query_gid(context, 1, 0, &rtr.ah_attr.grh.dgid), 0);
    assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
    assert_int_equal(ibv_modify_qp(qp, &rtr,
                                   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
                     0);
    assert_int_equal(ibv_modify_qp(qp, &rts,
                                   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                       IBV_QP_MAX_QP_RD_ATOMIC),
                     0);
    assert_int_equal(qp->state, IBV_QPS_RTS);
}

static void send(struct ibv_qp *qp, const struct ibv_mr *mr, enum ibv_wr_opcode opcode, uint64_t wr_id, size_t from,
                 size_t to)
{
    struct ibv_sge sge = {(uintptr_t)mr->addr + from, 16, mr->lkey};
    struct ibv_send_wr wr = {.wr_id = wr_id,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = opcode,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.rdma = {(uintptr_t)mr->addr + to, mr->rkey}},
                       *bad;
    assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

static void move_bytes(struct ibv_context *context)
{
    uint8_t memory[64] = "a message of 16.and another one.";
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    struct ibv_cq *cq = ibv_create_cq(context, 8, NULL, NULL, 0);
    struct ibv_qp *a = connected(pd, cq), *b = connected(pd, cq);
    struct ibv_sge room = {(uintptr_t)memory + 32, 16, mr->lkey};
    struct ibv_recv_wr recv = {.wr_id = 9, .sg_list = &room, .num_sge = 1}, *bad;
    struct ibv_wc wc[4];

    assert_int_equal(a->qp_num, FIRST_QPN);
    to_rts(context, a, b->qp_num);
    to_rts(context, b, a->qp_num);
    assert_int_equal(ibv_post_recv(b, &recv, &bad), 0);
    send(a, mr, IBV_WR_SEND, 1, 0, 0);
    send(a, mr, IBV_WR_RDMA_WRITE, 2, 16, 48);
    assert_int_equal(ibv_poll_cq(cq, 4, wc), 3);
    assert_true(wc[0].wr_id == 9 && wc[0].opcode == IBV_WC_RECV && wc[0].byte_len == 16 && wc[0].qp_num == b->qp_num);
    assert_true(wc[1].wr_id == 1 && wc[1].opcode == IBV_WC_SEND && wc[1].status == IBV_WC_SUCCESS);
    assert_true(wc[2].wr_id == 2 && wc[2].opcode == IBV_WC_RDMA_WRITE);
    assert_memory_equal(memory, memory + 32, 32);
    assert_int_equal(ibv_destroy_qp(a), 0);
    assert_int_equal(ibv_destroy_qp(b), 0);
    assert_int_equal(ibv_destroy_cq(cq), 0);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void test_program(void **state)
{
    struct ibv_port_attr port;
    int count = 0;

    (void)state;
    device_provider(&memory_ops);
    struct ibv_device **list = ibv_get_device_list(&count);
    assert_int_equal(count, 1);
    assert_string_equal(ibv_get_device_name(list[0]), "memory0");
    struct ibv_context *context = ibv_open_device(list[0]);
    assert_non_null(context);
    assert_int_equal(the_device.opens, 1);
    assert_int_equal(ibv_query_port(context, 1, &port), 0);
    assert_int_equal(port.state, IBV_PORT_ACTIVE);
    move_bytes(context);
    assert_int_equal(the_device.posts, 2);
    assert_int_equal(the_device.polls, 1);
    assert_int_equal(ibv_close_device(context), 0);
    assert_int_equal(the_device.opens, 0);
    ibv_free_device_list(list);
}

/* Who is named no more is not asked; the live adapter finds the loopback. */
static void test_live_again(void **state)
{
    int count = 0;

    (void)state;
    device_provider(NULL);
    setenv("ROCELAB_DEVICE", "lo", 1);
    struct ibv_device **list = ibv_get_device_list(&count);
    assert_int_equal(count, 1);
    assert_string_equal(ibv_get_device_name(list[0]), "rocelab0");
    ibv_free_device_list(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_program), cmocka_unit_test(test_live_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
