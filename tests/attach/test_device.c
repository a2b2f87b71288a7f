/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs over a fabric: what a program's calls of libibverbs become, requests and posts, and what comes back of it.
 * The fabric is fake_fabric.c's.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include <cmocka.h>

#include "device/device.h"
#include "fake_fabric.h"
#include "packet/codec.h"
#include "verbs/ibverbs/behind.h"

static uint8_t memory[4096];

static struct setup {
    struct ibv_device **list;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    uint32_t cq_number, channel_number;
} s;

static int begin(void **state)
{
    (void)state;
    fake_begin();
    s.list = ibv_get_device_list(NULL);
    s.context = ibv_open_device(s.list[0]);
    if (s.context == NULL) return -1;
    s.pd = ibv_alloc_pd(s.context);
    s.mr = ibv_reg_mr(s.pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    s.channel = ibv_create_comp_channel(s.context);
    s.channel_number = fake.objects;
    s.cq = ibv_create_cq(s.context, 8, NULL, s.channel, 0);
    s.cq_number = fake.objects;
    return s.cq ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    int error = ibv_destroy_cq(s.cq) | ibv_destroy_comp_channel(s.channel) | ibv_dereg_mr(s.mr) | ibv_dealloc_pd(s.pd) |
                ibv_close_device(s.context);
    ibv_free_device_list(s.list);
    bool balanced = fake.depth == 0;
    fake_end();
    return error != 0 || !balanced;
}

static struct ibv_qp *create(enum ibv_qp_type type)
{
    struct ibv_qp_init_attr init = {
        .send_cq = s.cq,
        .recv_cq = s.cq,
        .qp_type = type,
        .cap = {.max_send_wr = 4, .max_recv_wr = 2, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 64}};
    struct ibv_qp *qp = ibv_create_qp(s.pd, &init);

    assert_non_null(qp);
    return qp;
}

/* To RTS by live.h, whose masks are short; the transitions have their own test. */
static struct ibv_qp *ready(enum ibv_qp_type type)
{
    struct ibv_qp *qp = create(type);
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
                              .path_mtu = IBV_MTU_1024,
                              .dest_qp_num = 0x99,
                              .max_dest_rd_atomic = 1,
                              .ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64}};
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .sq_psn = 17};
    const bool ud = type == IBV_QPT_UD;

    rts.max_rd_atomic = 1;
    fake.qp.state = NIC_RESET;
    assert_int_equal(
        ibv_modify_qp(qp, &init,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
        0);
    fake.qp.state = NIC_INIT;
    assert_int_equal(ibv_modify_qp(qp, &rtr,
                                   IBV_QP_STATE | (ud ? 0
                                                      : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)),
                     0);
    fake.qp.state = NIC_RTR;
    assert_int_equal(
        ibv_modify_qp(qp, &rts,
                      IBV_QP_STATE | IBV_QP_SQ_PSN |
                          (ud ? 0 : IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)),
        0);
    fake.qp.state = NIC_RTS;
    return qp;
}

static int send_one(struct ibv_qp *qp, uint64_t wr_id, unsigned flags, uint32_t length)
{
    struct ibv_sge sge[2] = {{(uintptr_t)memory, length, s.mr->lkey}, {(uintptr_t)memory + 100, 4, s.mr->lkey}};
    struct ibv_send_wr wr = {.wr_id = wr_id,
                             .sg_list = sge,
                             .num_sge = 2,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = flags,
                             .wr.rdma = {0x5000, 0x123}},
                       *bad;
    return ibv_post_send(qp, &wr, &bad);
}

static int receive_one(struct ibv_qp *qp, uint64_t wr_id)
{
    struct ibv_sge sge = {(uintptr_t)memory + 200, 50, s.mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

    return ibv_post_recv(qp, &wr, &bad);
}

/* --- tests --- */

static void test_devices(void **state)
{
    struct ibv_port_attr port;
    union ibv_gid gid;

    (void)state;
    assert_string_equal(ibv_get_device_name(s.list[0]), "rocelab0");
    assert_string_equal(ibv_get_device_name(s.list[1]), "rocelab1");
    assert_null(s.list[2]);
    assert_true(ibv_get_device_guid(s.list[1]) == htobe64(0x201));
    assert_int_equal(ibv_query_port(s.context, 1, &port), 0);
    assert_true(port.state == IBV_PORT_ACTIVE && port.active_mtu == IBV_MTU_4096 && port.active_speed == 128);
    assert_int_equal(ibv_query_gid(s.context, 1, 0, &gid), 0);
    assert_memory_equal(gid.raw + 10, "\xff\xff\x0a\0\0\1", 6);
    fake.head->nic[0].up = 0;
    assert_int_equal(ibv_query_port(s.context, 1, &port), 0);
    assert_int_equal(port.state, IBV_PORT_DOWN);
    /* the second context has the same adapter */
    struct ibv_context *again = ibv_open_device(s.list[0]);
    assert_non_null(again);
    assert_int_equal(fake.asked[ATTACH_OP_OPEN], 1);
    assert_int_equal(fake.asked[ATTACH_OP_WATCH], 2);
    assert_int_equal(ibv_close_device(again), 0);
    assert_int_equal(fake.asked[ATTACH_OP_CLOSE], 0);
}

/* What a program reads of its device beside verbs. */
static void test_files(void **state)
{
    char text[64] = "";

    (void)state;
    int fd = open("/sys/class/infiniband/rocelab1/ports/1/gid_attrs/ndevs/0", O_RDONLY);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    assert_string_equal(text, "eth1\n");
    close(fd);
}

static void test_memory(void **state)
{
    const struct attach_mr *asked = (const struct attach_mr *)fake.last[ATTACH_OP_MR_CREATE].data;

    (void)state;
    assert_true(asked->addr == (uintptr_t)memory && asked->bytes == sizeof memory && asked->iova == asked->addr);
    assert_int_equal(asked->access, NIC_REMOTE_WRITE | DEVICE_LOCAL_WRITE);
    assert_int_equal(fake.adopted, 1);
    assert_int_equal(s.mr->rkey & 0xff, 7);
}

static void test_modify(void **state)
{
    struct ibv_qp *qp = ready(IBV_QPT_RC);
    const struct device_qp_attr *attr = (const struct device_qp_attr *)fake.last[ATTACH_OP_QP_MODIFY].data;

    (void)state;
    assert_int_equal(qp->qp_num, 0x40 + fake.objects);
    assert_int_equal(fake.last[ATTACH_OP_QP_MODIFY].object, qp->qp_num);
    assert_int_equal(fake.asked[ATTACH_OP_QP_MODIFY], 3);
    assert_true(attr->state == NIC_RTS && attr->mask & DEVICE_ATTR_SEND_PSN && attr->send_psn == 17);
    const uint32_t number = qp->qp_num;
    assert_int_equal(ibv_destroy_qp(qp), 0);
    assert_int_equal(fake.last[ATTACH_OP_QP_DESTROY].object, number);
}

static void test_posts(void **state)
{
    struct ibv_qp *qp = ready(IBV_QPT_RC);

    (void)state;
    memcpy(memory, "0123456789", 10);
    memcpy(memory + 100, "abcd", 4);
    uint64_t before = fake.charged;
    assert_int_equal(send_one(qp, 11, IBV_SEND_SIGNALED, 300), 0);
    assert_int_equal(send_one(qp, 12, IBV_SEND_INLINE, 10), 0);
    assert_int_equal(receive_one(qp, 13), 0);
    assert_int_equal(ibv_req_notify_cq(s.cq, 1), 0);
    assert_int_equal(fake.posts, 4);
    assert_true(fake.charged - before == 60000 * 3); /* a receive and an arming cost half of it */

    const struct attach_post *post = fake_post(0);
    const struct device_sge *sge = (const struct device_sge *)(post + 1);
    assert_true(post->kind == ATTACH_POST_SEND && post->object == qp->qp_num && post->sges == 2 && !post->copied);
    assert_true(post->bytes % 64 == 0 && post->bytes >= sizeof *post + 32 && post->at == 1000 + before + 60000);
    assert_true(post->wr.wr_id == 11 && post->wr.verb == NIC_WRITE && post->wr.length == 304);
    assert_true(post->wr.remote_va == 0x5000 && post->wr.rkey == 0x123 && post->wr.flags == NIC_SIGNALED);
    assert_true(sge[0].addr == (uintptr_t)memory && sge[0].length == 300 && sge[1].key == s.mr->lkey);

    post = fake_post(1);
    assert_true(post->copied && post->data_bytes == 14 && post->sges == 0 && post->wr.length == 14);
    assert_memory_equal(post + 1, "0123456789abcd", 14);

    post = fake_post(2);
    assert_true(post->kind == ATTACH_POST_RECV && post->wr.wr_id == 13 && post->sges == 1);

    post = fake_post(3);
    assert_true(post->kind == ATTACH_POST_ARM && post->object == s.cq_number && post->flags == 1);
    assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* Told at once, and not posted. */
static void test_refused(void **state)
{
    struct ibv_qp *fresh = create(IBV_QPT_RC), *ud = ready(IBV_QPT_UD);
    struct ibv_ah_attr to = {.is_global = 1, .port_num = 1};
    struct ibv_ah *ah = ibv_create_ah(s.pd, &to);
    struct ibv_sge sge = {(uintptr_t)memory, 64, s.mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .wr.ud = {ah, 1, 1}}, *bad;

    (void)state;
    assert_non_null(ah);
    assert_int_equal(send_one(fresh, 1, 0, 10), EINVAL);
    assert_int_equal(receive_one(fresh, 1), EINVAL);
    assert_int_equal(ibv_post_send(ud, &wr, &bad), EINVAL);
    wr.opcode = IBV_WR_SEND;
    sge.length = 4097;
    assert_int_equal(ibv_post_send(ud, &wr, &bad), EINVAL);
    assert_int_equal(fake.posts, 0);
    sge.length = 4096;
    assert_int_equal(ibv_post_send(ud, &wr, &bad), 0);
    assert_int_equal(fake_post(0)->wr.dest, 5);
    assert_int_equal(ibv_destroy_qp(fresh), 0);
    assert_int_equal(ibv_destroy_qp(ud), 0);
    assert_int_equal(ibv_destroy_ah(ah), 0);
}

/* The fabric is asked when the queue seems full, and only then. */
static void test_room(void **state)
{
    struct ibv_qp *qp = ready(IBV_QPT_RC);
    struct ibv_wc wc[8];
    const unsigned before = fake.asked[ATTACH_OP_QP_STATE];

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(send_one(qp, i, i % 2 ? IBV_SEND_SIGNALED : 0, 8), 0);
    assert_int_equal(fake.asked[ATTACH_OP_QP_STATE], before);
    assert_int_equal(send_one(qp, 4, 0, 8), ENOMEM);
    assert_int_equal(fake.asked[ATTACH_OP_QP_STATE], before + 1);
    /* the second is told of: so the first is done too */
    fake_complete(s.cq_number, &(struct nic_cqe){.wr_id = 1, .qpn = qp->qp_num, .verb = NIC_WRITE});
    assert_int_equal(ibv_poll_cq(s.cq, 8, wc), 1);
    assert_int_equal(send_one(qp, 4, 0, 8), 0);
    assert_int_equal(send_one(qp, 5, 0, 8), 0);
    assert_int_equal(fake.asked[ATTACH_OP_QP_STATE], before + 1);
    /* of the others only the fabric knows */
    fake.qp.sent = 5;
    assert_int_equal(send_one(qp, 6, 0, 8), 0);
    assert_int_equal(fake.asked[ATTACH_OP_QP_STATE], before + 2);
    assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void test_receive_room(void **state)
{
    struct ibv_qp *qp = ready(IBV_QPT_RC);
    const struct nic_cqe came = {.qpn = qp->qp_num, .receive = true};
    struct ibv_wc wc[8];

    (void)state;
    assert_int_equal(receive_one(qp, 0), 0);
    assert_int_equal(receive_one(qp, 1), 0);
    assert_int_equal(receive_one(qp, 2), ENOMEM);
    fake.qp.taken = 1; /* known before its completion is polled ... */
    assert_int_equal(receive_one(qp, 2), 0);
    fake_complete(s.cq_number, &came);
    assert_int_equal(ibv_poll_cq(s.cq, 8, wc), 1);
    assert_int_equal(receive_one(qp, 3), ENOMEM); /* ... and not counted twice */
    assert_int_equal(ibv_destroy_qp(qp), 0);
}

static uint32_t late_qpn;

static void complete_late(void)
{
    fake_complete(s.cq_number, &(struct nic_cqe){.wr_id = 8, .qpn = late_qpn, .bytes = 5, .receive = true});
}

static void test_poll(void **state)
{
    struct ibv_qp *qp = ready(IBV_QPT_RC);
    struct ibv_wc wc[4];

    (void)state;
    late_qpn = qp->qp_num;
    uint64_t before = fake.charged;
    assert_int_equal(ibv_poll_cq(s.cq, 4, wc), 0);
    assert_true(fake.empty == 1 && fake.found == 0 && fake.charged == before);
    /* an empty poll is a wait: what comes meanwhile is found */
    fake.on_empty = complete_late;
    assert_int_equal(ibv_poll_cq(s.cq, 4, wc), 1);
    assert_true(wc[0].wr_id == 8 && wc[0].byte_len == 5 && wc[0].opcode == IBV_WC_RECV);
    assert_true(fake.empty == 2 && fake.found == 1 && fake.charged - before == 30000);
    fake.on_empty = NULL;
    for (unsigned i = 0; i < 5; i++)
        complete_late();
    assert_int_equal(ibv_poll_cq(s.cq, 4, wc), 4);
    assert_int_equal(fake.empty, 2);
    assert_int_equal(fake.cq[s.cq_number]->head, 5);
    assert_true(fake.head->counters.polls == 3);
    /* RESET: what waits is not told any more */
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    assert_int_equal(ibv_modify_qp(qp, &reset, IBV_QP_STATE), 0);
    assert_int_equal(ibv_poll_cq(s.cq, 4, wc), 0);
    assert_int_equal(fake.cq[s.cq_number]->head, 6);
    assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void test_channel(void **state)
{
    struct ibv_cq *other = ibv_create_cq(s.context, 4, NULL, s.channel, 0), *told;
    const uint32_t number = fake.objects;
    void *app;

    (void)state;
    assert_int_equal(((const struct attach_cq *)fake.last[ATTACH_OP_CQ_CREATE].data)->channel, s.channel_number);
    fake_channel_event(s.channel_number, number);
    fake_channel_event(s.channel_number, number);
    fake_channel_event(s.channel_number, s.cq_number);
    assert_int_equal(ibv_get_cq_event(s.channel, &told, &app), 0);
    assert_ptr_equal(told, other);
    ibv_ack_cq_events(told, 1);
    assert_int_equal(ibv_destroy_cq(other), 0); /* with an event that nobody takes */
    assert_int_equal(ibv_get_cq_event(s.channel, &told, &app), 0);
    assert_ptr_equal(told, s.cq);
    ibv_ack_cq_events(told, 1);
}

static void test_events(void **state)
{
    struct ibv_qp *qp = ready(IBV_QPT_RC);
    struct ibv_async_event event;

    (void)state;
    fake_event(0,
               &(struct attach_event){.kind = DEVICE_EVENT_QP_ACCESS, .object = 0x999, .of = ATTACH_QP}); /* nobody's */
    fake_event(0, &(struct attach_event){.kind = DEVICE_EVENT_PORT_DOWN, .of = ATTACH_PORT});
    fake_event(0, &(struct attach_event){.kind = DEVICE_EVENT_QP_ACCESS, .object = qp->qp_num, .of = ATTACH_QP});
    fake_event(0, &(struct attach_event){.kind = DEVICE_EVENT_CQ_ERROR, .object = s.cq_number, .of = ATTACH_CQ});
    assert_int_equal(ibv_get_async_event(s.context, &event), 0);
    assert_int_equal(event.event_type, IBV_EVENT_PORT_ERR);
    assert_int_equal(ibv_destroy_qp(qp), 0); /* with its event */
    assert_int_equal(ibv_get_async_event(s.context, &event), 0);
    assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
    assert_ptr_equal(event.element.cq, s.cq);
    ibv_ack_async_event(&event);
}

static void test_srq(void **state)
{
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 2, .max_sge = 1}};
    struct ibv_srq *srq = ibv_create_srq(s.pd, &init);
    struct ibv_sge sge = {(uintptr_t)memory, 50, s.mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = 6, .sg_list = &sge, .num_sge = 1}, *bad;

    (void)state;
    assert_non_null(srq);
    fake.srq.entries = 2;
    assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
    assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
    assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
    fake.srq.taken = 1;
    assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
    assert_true(fake_post(2)->kind == ATTACH_POST_SRQ && fake_post(2)->wr.wr_id == 6);
    assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void test_datagrams(void **state)
{
    struct device *live = device_behind(s.context);
    const struct device_path path = {.hop_limit = 64};
    struct attach_ring *ring = attach_at(fake.head, fake.head->nic[0].mads);
    uint8_t mad[DEVICE_MAD_BYTES] = {1, 2, 3};
    struct device_mad got;
    eventfd_t count;

    (void)state;
    assert_int_equal(device_mad_send(live, &path, mad), 0);
    assert_memory_equal(((const struct attach_mad *)fake.last[ATTACH_OP_MAD_SEND].data)->data, mad, sizeof mad);
    assert_int_equal(device_mad_receive(live, &got), 0);
    ((struct device_mad *)((uint8_t *)ring + ATTACH_RING_HEAD))[0].data[9] = 42;
    ring->tail = 1;
    assert_int_equal(eventfd_write(fake.fd[ATTACH_OP_OPEN], 1), 0);
    assert_int_equal(device_mad_receive(live, &got), 1);
    assert_int_equal(got.data[9], 42);
    assert_int_equal(device_mad_receive(live, &got), 0);
    assert_int_equal(eventfd_read(device_mad_fd(live), &count), -1); /* nothing waits, nothing is readable */
    assert_int_equal(device_cm_slot(live), 5);
    assert_int_equal(device_cm_slot(live), 5);
    assert_int_equal(fake.asked[ATTACH_OP_CM_SLOT], 1);
    assert_int_equal(device_cm_listen(live, 0x01061c06, NULL), 0);
    assert_int_equal(((const struct attach_service *)fake.last[ATTACH_OP_CM_LISTEN].data)->any,
                     PKT_FAMILY_IPV4 | PKT_FAMILY_IPV6);
    assert_int_equal(device_cm_alive(live, 3, &path.remote), 77);
}

/* Rings that cannot be are refused where they are made, and where they are read: nobody loops, nothing is read that was
 * not written. */
static void test_spoilt_rings(void **state)
{
    static const struct {
        uint64_t at;
        uint32_t entries;
    } wrong[] = {{4096, 0}, {4096, 12}, {4100, 16}, {ATTACH_SEGMENT_BYTES - 64, 16}, {1ull << 63, 16}, {32, 16}};
    struct attach_ring *events = attach_at(fake.head, fake.head->nic[0].events);
    struct attach_ring *mads = attach_at(fake.head, fake.head->nic[0].mads);
    struct device *device = device_behind(s.context);
    struct device_mad mad;
    struct ibv_async_event event;
    struct ibv_cq *told;
    struct ibv_wc wc;
    void *app;

    (void)state;
    const int channel_fd = fake.fd[ATTACH_OP_CHANNEL_CREATE];
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        fake.ring_at = wrong[i].at;
        fake.ring_entries = wrong[i].entries;
        assert_null(ibv_create_cq(s.context, 8, NULL, NULL, 0));
        assert_int_equal(errno, EPROTO);
        assert_null(ibv_create_comp_channel(s.context));
        assert_int_equal(ibv_resize_cq(s.cq, 16), EPROTO);
    }
    fake.ring_at = 0;
    fake.fd[ATTACH_OP_CHANNEL_CREATE] = channel_fd;
    fake.cq[s.cq_number]->tail += 9; /* of eight */
    assert_true(ibv_poll_cq(s.cq, 1, &wc) < 0);
    fake.cq[s.cq_number]->tail -= 9;
    assert_int_equal(ibv_poll_cq(s.cq, 1, &wc), 0);
    fake.channel[s.channel_number]->tail -= 2;
    fake_channel_event(s.channel_number, s.cq_number);
    assert_int_equal(ibv_get_cq_event(s.channel, &told, &app), -1);
    assert_int_equal(errno, EPROTO);
    fake.channel[s.channel_number]->tail = fake.channel[s.channel_number]->head;
    mads->tail = mads->head + ATTACH_MADS + 1;
    assert_int_equal(device_mad_receive(device, &mad), -EPROTO);
    mads->tail = mads->head;
    events->tail = UINT32_MAX - 1;
    fake_event(0, &(struct attach_event){.kind = DEVICE_EVENT_PORT_DOWN, .of = ATTACH_PORT});
    assert_int_equal(ibv_get_async_event(s.context, &event), -1);
    assert_int_equal(errno, EPROTO);
    events->tail = events->head;
}

static void test_source(void **state)
{
    struct pkt_addr to = pkt_addr_ipv4(0x0a010009), from, outside = pkt_addr_ipv4(0x7f000001);

    (void)state;
    assert_true(device_provided());
    assert_int_equal(device_source(&to, &from), 0);
    assert_memory_equal(&from, &fake.head->nic[1].gid[0].addr, sizeof from); /* the same rail */
    to = pkt_addr_ipv4(0x0a000009);
    assert_int_equal(device_source(&to, &from), 0);
    assert_memory_equal(&from, &fake.head->nic[0].gid[0].addr, sizeof from);
    assert_int_equal(device_source(&outside, &from), -ENETUNREACH);
}

/* The fabric dies: every call says so, and whoever listens hears of it once. */
static void test_gone(void **state)
{
    struct ibv_qp *qp = ready(IBV_QPT_RC);
    struct ibv_async_event event;
    struct ibv_cq *cq;
    struct ibv_wc wc;
    void *app;

    (void)state;
    fake.gone = true;
    extern struct attach_api rocelab_fabric_api;
    rocelab_fabric_api.on_gone();
    assert_int_equal(ibv_get_async_event(s.context, &event), 0);
    assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
    ibv_ack_async_event(&event);
    assert_int_equal(ibv_get_cq_event(s.channel, &cq, &app), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(send_one(qp, 1, 0, 8), EIO);
    assert_int_equal(receive_one(qp, 1), EIO);
    assert_true(ibv_poll_cq(s.cq, 1, &wc) < 0);
    assert_null(ibv_reg_mr(s.pd, memory, 10, 0));
    assert_int_equal(errno, EIO);
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
    assert_int_equal(attr.qp_state, IBV_QPS_ERR);
    assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* A child has a session of its own: what its parent made does nothing there, and asks nobody. */
static void test_fork(void **state)
{
    struct ibv_qp *qp = ready(IBV_QPT_RC);
    int status;

    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct ibv_wc wc;
        const unsigned before = fake.asked[ATTACH_OP_QP_DESTROY];
        bool good = send_one(qp, 1, 0, 8) == ENODEV && ibv_poll_cq(s.cq, 1, &wc) < 0 && ibv_destroy_qp(qp) == 0 &&
                    fake.asked[ATTACH_OP_QP_DESTROY] == before && fake.depth == 0;
        struct ibv_context *own = ibv_open_device(s.list[0]);
        _exit(good && own && fake.asked[ATTACH_OP_OPEN] == 2 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(send_one(qp, 1, 0, 8), 0);
    assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* A process that is not attached has the machine's own devices. */
static void test_not_attached(void **state)
{
    int count = 0;

    (void)state;
    setenv("ROCELAB_DEVICE", "lo", 1);
    struct ibv_device **list = ibv_get_device_list(&count);
    assert_int_equal(count, 1);
    assert_true(ibv_get_device_guid(list[0]) != htobe64(0x200));
    ibv_free_device_list(list);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_devices),   TEST(test_files),        TEST(test_memory),
        TEST(test_modify),    TEST(test_posts),        TEST(test_refused),
        TEST(test_room),      TEST(test_receive_room), TEST(test_poll),
        TEST(test_channel),   TEST(test_events),       TEST(test_srq),
        TEST(test_datagrams), TEST(test_spoilt_rings), TEST(test_source),
        TEST(test_fork),      TEST(test_gone),         cmocka_unit_test(test_not_attached)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
