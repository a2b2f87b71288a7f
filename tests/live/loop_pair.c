/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and connects the two ends; see loop_pair.h.
 */
#include "loop_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include "live/live_int.h"

#define POLLS_MAX 20000000u

static struct device_info device_named(const char *ifname)
{
    struct device_info *list, found = {.gids = 0};
    unsigned count;

    assert_int_equal(device_list(&list, &count), 0);
    for (unsigned i = 0; i < count; i++)
        if (ifname ? strcmp(list[i].ifname, ifname) == 0 : list[i].loopback) found = list[i];
    free(list);
    assert_true(found.gids > 0);
    return found;
}

static void open_end(struct loop_end *end, const struct loop_options *o, const char *ifname, uint32_t pd)
{
    struct device_info device = device_named(ifname);
    char why[200];

    if (live_open_alone(&device, &end->live, why, sizeof why) < 0) fail_msg("open: %s", why);
    end->pd = pd;
    end->bytes = o->bytes;
    end->memory = mmap(NULL, o->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(end->memory != MAP_FAILED);
    assert_int_equal(device_mr_create(end->live, pd, end->memory, o->bytes, (uintptr_t)end->memory,
                                      NIC_REMOTE_ALL | DEVICE_LOCAL_WRITE | DEVICE_MW_BIND, &end->mr),
                     0);
    if (o->events) assert_int_equal(device_channel_create(end->live, &end->channel), 0);
    assert_int_equal(device_cq_create(end->live, 1024, end->channel, end, &end->cq), 0);
    end->recv_cq = end->cq;
    if (o->two_queues) assert_int_equal(device_cq_create(end->live, 1024, end->channel, end, &end->recv_cq), 0);
    if (o->srq) assert_int_equal(device_srq_create(end->live, pd, 64, 4, end, &end->srq), 0);
    struct device_qp_init init = {.transport = o->transport,
                                  .pd = pd,
                                  .send_entries = 128,
                                  .recv_entries = 128,
                                  .send_sges = 4,
                                  .recv_sges = 4,
                                  .inline_bytes = 256,
                                  .send_cq = end->cq,
                                  .recv_cq = end->recv_cq,
                                  .srq = end->srq,
                                  .app = end};
    assert_int_equal(device_qp_create(end->live, &init, &end->qp), 0);
}

static struct device_path path_between(const struct loop_end *from, const struct loop_end *to)
{
    (void)from;
    return (struct device_path){.gid_index = 0, .remote = device_info_of(to->live)->gid[0].addr, .hop_limit = 64};
}

static void connect_qp(struct loop_pair *pair, int e, uint8_t tos, struct device_qp *qp, const struct device_qp *far)
{
    struct loop_end *end = &pair->end[e], *other = &pair->end[!e];
    struct device_qp_attr init = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_ACCESS | DEVICE_ATTR_QKEY,
                                  .state = NIC_INIT,
                                  .access = NIC_REMOTE_ALL,
                                  .qkey = 0x11111111};
    struct device_qp_attr rtr = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_MTU | DEVICE_ATTR_PATH |
                                         DEVICE_ATTR_REMOTE_QP | DEVICE_ATTR_EXPECT_PSN | DEVICE_ATTR_MIN_RNR |
                                         DEVICE_ATTR_MAX_READ_ACCEPT,
                                 .state = NIC_RTR,
                                 .mtu = pair->mtu,
                                 .path = path_between(end, other),
                                 .remote_qp = device_qp_number(far),
                                 .expect_psn = (0xfffff0u + pair->psn + (uint32_t)!e) & 0xffffffu,
                                 .min_rnr_timer = 1,
                                 .max_read_accept = 16};
    struct device_qp_attr rts = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_SEND_PSN | DEVICE_ATTR_TIMEOUT |
                                         DEVICE_ATTR_RETRY | DEVICE_ATTR_RNR_RETRY | DEVICE_ATTR_MAX_READ,
                                 .state = NIC_RTS,
                                 .send_psn = (0xfffff0u + pair->psn + (uint32_t)e) & 0xffffffu,
                                 .timeout = pair->timeout,
                                 .retry = 7,
                                 .rnr_retry = 7,
                                 .max_read = 16};
    rtr.path.tos = tos;
    if (pair->transport == NIC_UD) {
        rtr.mask = DEVICE_ATTR_STATE;
        rts.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_SEND_PSN;
    }
    assert_int_equal(device_qp_modify(qp, &init), 0);
    assert_int_equal(device_qp_modify(qp, &rtr), 0);
    assert_int_equal(device_qp_modify(qp, &rts), 0);
    assert_int_equal(device_qp_state(qp), NIC_RTS);
}

void pair_connect(struct loop_pair *pair, int e)
{
    connect_qp(pair, e, 0, pair->end[e].qp, pair->end[!e].qp);
}

void pair_more(struct loop_pair *pair, uint8_t tos, struct device_qp *ret[2])
{
    for (int e = 0; e < 2; e++) {
        struct loop_end *end = &pair->end[e];
        struct device_qp_init init = {.transport = NIC_RC,
                                      .pd = end->pd,
                                      .send_entries = 128,
                                      .recv_entries = 128,
                                      .send_sges = 4,
                                      .recv_sges = 4,
                                      .send_cq = end->cq,
                                      .recv_cq = end->recv_cq,
                                      .app = end};
        assert_int_equal(device_qp_create(end->live, &init, &ret[e]), 0);
    }
    for (int e = 0; e < 2; e++)
        connect_qp(pair, e, tos, ret[e], ret[!e]);
}

void pair_open(struct loop_pair *pair, const struct loop_options *options)
{
    struct loop_options o = *options;

    if (o.bytes == 0) o.bytes = 4 << 20;
    *pair = (struct loop_pair){
        .mtu = o.mtu ? o.mtu : 1024, .transport = o.transport, .timeout = o.timeout ? o.timeout : LOOP_PATIENT};
    for (int e = 0; e < 2; e++) {
        if (o.recovery[e]) setenv("ROCELAB_RECOVERY", o.recovery[e], 1);
        if (o.enter) o.enter(e);
        open_end(&pair->end[e], &o, e && o.far_ifname ? o.far_ifname : o.ifname, 7u + (uint32_t)e);
        if (o.recovery[e]) unsetenv("ROCELAB_RECOVERY");
    }
    for (int e = 0; e < 2; e++) {
        struct device_path path = path_between(&pair->end[e], &pair->end[!e]);
        assert_int_equal(device_path_get(pair->end[e].live, &path, &pair->end[e].path), 0);
        pair_connect(pair, e);
    }
}

void pair_close(struct loop_pair *pair)
{
    for (int e = 0; e < 2; e++) {
        struct loop_end *end = &pair->end[e];
        device_path_put(end->live, end->path);
        assert_int_equal(device_qp_destroy(end->qp), 0);
        if (end->srq) assert_int_equal(device_srq_destroy(end->srq), 0);
        if (end->recv_cq != end->cq) assert_int_equal(device_cq_destroy(end->recv_cq), 0);
        assert_int_equal(device_cq_destroy(end->cq), 0);
        if (end->channel) assert_int_equal(device_channel_destroy(end->channel), 0);
        device_mr_destroy(end->mr);
        device_close(end->live);
        if (end->bytes) munmap(end->memory, end->bytes);
    }
}

struct device_sge pair_sge(const struct loop_end *end, uint64_t offset, uint32_t bytes)
{
    return (struct device_sge){.addr = (uintptr_t)end->memory + offset, .length = bytes, .key = device_mr_key(end->mr)};
}

int pair_recv(struct loop_end *end, uint64_t wr_id, uint64_t offset, uint32_t bytes)
{
    struct device_sge sge = pair_sge(end, offset, bytes);
    struct device_recv recv = {.wr_id = wr_id, .sge = &sge, .sges = 1};
    return end->srq ? device_post_srq(end->srq, &recv) : device_post_recv(end->qp, &recv);
}

int pair_send(struct loop_pair *pair, int from, struct nic_wr wr, uint64_t offset, uint32_t bytes,
              uint64_t remote_offset)
{
    struct loop_end *end = &pair->end[from], *other = &pair->end[!from];
    struct device_sge sge = pair_sge(end, offset, bytes);
    struct device_send send = {.wr = wr, .sge = &sge, .sges = 1};

    if (wr.rkey == 0) send.wr.rkey = device_mr_key(other->mr);
    send.wr.remote_va = (uintptr_t)other->memory + remote_offset;
    if (pair->transport == NIC_UD) {
        send.wr.dest = end->path;
        send.wr.dest_qp = device_qp_number(other->qp);
        send.wr.qkey = wr.qkey ? wr.qkey : 0x11111111;
    }
    send.wr.flags |= NIC_SIGNALED;
    return device_post_send(end->qp, &send, false);
}

struct nic_cqe pair_wait(struct loop_pair *pair, int end)
{
    struct nic_cqe cqe;

    /* The other end's completions stay in their queue; its progress is its thread's. */
    for (unsigned i = 0; i < POLLS_MAX; i++)
        if (device_poll(pair->end[end].cq, &cqe, 1) == 1) return cqe;
    fail_msg("end %d: no completion came", end);
    return cqe;
}

unsigned pair_idle(struct loop_pair *pair, unsigned polls)
{
    unsigned count = 0;
    struct nic_cqe cqe;

    for (unsigned i = 0; i < polls; i++)
        for (int e = 0; e < 2; e++)
            if (device_poll(pair->end[e].cq, &cqe, 1) == 1) count++;
    return count;
}

static uint8_t byte_at(uint64_t at, uint32_t seed)
{
    return (uint8_t)((at * 2654435761u + seed * 40503u) >> 8);
}

void pair_fill(struct loop_end *end, uint64_t offset, uint64_t bytes, uint32_t seed)
{
    for (uint64_t i = 0; i < bytes; i++)
        end->memory[offset + i] = byte_at(i, seed);
}

bool pair_filled(const struct loop_end *end, uint64_t offset, uint64_t bytes, uint32_t seed)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (end->memory[offset + i] != byte_at(i, seed)) return false;
    return true;
}
