/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop end to end: two adapters in one process over the udp wire on the loopback; every verb, many sizes, data
 * compared, errors of either side, shared receive queues, datagrams, events; with loss too.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "live/counters.h"
#include "live/live_int.h"
#include "loop_pair.h"
#include "torture_alone.h"

#if defined(__has_feature)
#define THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define THREAD_SANITIZER 0
#endif

static const uint32_t size_list[] = {0, 1, 3, 4, 255, 256, 257, 1023, 1024, 1025, 4096, 4097, 65536, 100001, 1000000};
#define SIZES (sizeof size_list / sizeof size_list[0])
#define HALF (2u << 20)

/* Exercises SEND, WRITE and READ in both directions with every size. */
static void transfers(struct loop_pair *pair)
{
    for (uint32_t i = 0; i < 2 * SIZES; i++) {
        uint32_t bytes = size_list[i / 2];
        int from = (int)(i & 1);
        struct loop_end *a = &pair->end[from], *b = &pair->end[!from];

        pair_fill(a, 0, bytes, i);
        memset(b->memory + HALF, 0, bytes);
        assert_int_equal(pair_recv(b, 100 + i, HALF, bytes), 0);
        assert_int_equal(
            pair_send(pair, from, (struct nic_wr){.wr_id = i, .verb = NIC_SEND_IMM, .imm = i}, 0, bytes, 0), 0);
        struct nic_cqe got = pair_wait(pair, !from), sent = pair_wait(pair, from);
        assert_int_equal(got.status, NIC_SUCCESS);
        assert_int_equal(got.wr_id, 100 + i);
        assert_int_equal(got.bytes, bytes);
        assert_true(got.receive && got.has_imm);
        assert_int_equal(got.imm, i);
        assert_int_equal(sent.wr_id, i);
        assert_int_equal(sent.status, NIC_SUCCESS);
        assert_true(pair_filled(b, HALF, bytes, i));
        if (pair->transport == NIC_UC && bytes > pair->mtu) continue; /* unreliable: a loss would be no error */

        pair_fill(a, 0, bytes, i + 1000);
        assert_int_equal(pair_send(pair, from, (struct nic_wr){.wr_id = i, .verb = NIC_WRITE}, 0, bytes, HALF), 0);
        assert_int_equal(pair_wait(pair, from).status, NIC_SUCCESS);
        if (pair->transport == NIC_UC) continue;
        assert_true(pair_filled(b, HALF, bytes, i + 1000));

        pair_fill(b, 0, bytes, i + 2000);
        assert_int_equal(pair_send(pair, from, (struct nic_wr){.wr_id = i, .verb = NIC_READ}, HALF, bytes, 0), 0);
        assert_int_equal(pair_wait(pair, from).status, NIC_SUCCESS);
        assert_true(pair_filled(a, HALF, bytes, i + 2000));
    }
}

static void test_rc(void **state)
{
    static const uint16_t mtu[] = {256, 1024, 4096};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct loop_pair pair;
        pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .mtu = mtu[i]});
        transfers(&pair);
        for (int e = 0; e < 2; e++) {
            const struct nic_counters *c = live_counters(pair.end[e].live);
            assert_int_equal(live_wire_counters(pair.end[e].live)->tx_shm_packets, 0);
            assert_true(live_wire_counters(pair.end[e].live)->tx_udp_packets > 0);
            if (c->retransmitted_packets)
                print_message("mtu %u end %d: %llu packets sent again, %llu timeouts, %llu NAKs\n", mtu[i], e,
                              (unsigned long long)c->retransmitted_packets,
                              (unsigned long long)c->local_ack_timeout_err, (unsigned long long)c->packet_seq_err);
        }
        pair_close(&pair);
    }
}

static void test_rc_loss(void **state)
{
    struct loop_pair pair;

    (void)state;
    setenv("ROCELAB_FAULT", "loss=1%,duplicate=0.5%,reorder=0.5%,corrupt=0.5%,seed=11", 1);
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .mtu = 1024});
    unsetenv("ROCELAB_FAULT");
    transfers(&pair);
    assert_true(live_counters(pair.end[0].live)->retransmitted_packets > 0);
    assert_true(live_wire_counters(pair.end[0].live)->fault_lost > 0);
    pair_close(&pair);
}

static void test_atomics(void **state)
{
    struct loop_pair pair;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC});
    uint64_t *here = (uint64_t *)(void *)pair.end[0].memory, *there = (uint64_t *)(void *)pair.end[1].memory;
    for (uint64_t i = 0; i < 50; i++) {
        there[3] = 1000 * i;
        assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_FETCH_ADD, .swap = i}, 0, 8, 24), 0);
        assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
        assert_int_equal(here[0], 1000 * i);
        assert_int_equal(there[3], 1001 * i);
        uint64_t compare = i & 1 ? there[3] : there[3] + 1;
        struct nic_wr cas = {.verb = NIC_CAS, .compare = compare, .swap = 77};
        assert_int_equal(pair_send(&pair, 0, cas, 8, 8, 24), 0);
        assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
        assert_int_equal(here[1], 1001 * i);
        assert_int_equal(there[3], i & 1 ? 77 : 1001 * i);
    }
    pair_close(&pair);
}

static void test_uc(void **state)
{
    struct loop_pair pair;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_UC, .mtu = 4096});
    transfers(&pair);
    pair_close(&pair);
}

static void test_ud(void **state)
{
    struct loop_pair pair;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_UD, .mtu = 4096});
    for (uint32_t i = 0; i < 11; i++) {
        uint32_t bytes = size_list[i];
        pair_fill(&pair.end[0], 0, bytes, i);
        assert_int_equal(pair_recv(&pair.end[1], i, HALF, 40 + 4096), 0);
        assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.wr_id = i, .verb = NIC_SEND}, 0, bytes, 0), 0);
        assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
        struct nic_cqe got = pair_wait(&pair, 1);
        assert_int_equal(got.status, NIC_SUCCESS);
        assert_int_equal(got.bytes, 40 + bytes);
        assert_int_equal(got.src_qp, device_qp_number(pair.end[0].qp));
        assert_true(pair_filled(&pair.end[1], HALF + 40, bytes, i));
        const uint8_t *ip = pair.end[1].memory + HALF + 20;
        static const uint8_t address[4] = {127, 0, 0, 1};
        assert_int_equal(ip[0], 0x45);
        assert_memory_equal(ip + 12, address, 4);
        assert_memory_equal(ip + 16, address, 4);
    }
    /* a wrong Q_Key is dropped, silently */
    assert_int_equal(pair_recv(&pair.end[1], 99, HALF, 4136), 0);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_SEND, .qkey = 5}, 0, 8, 0), 0);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_SEND, .wr_id = 1}, 0, 9, 0), 0);
    assert_int_equal(pair_wait(&pair, 1).bytes, 49);
    assert_int_equal(live_counters(pair.end[1].live)->drop[NIC_DROP_qkey], 1);
    pair_close(&pair);
}

static void test_multicast(void **state)
{
    struct loop_pair pair;
    struct pkt_addr group = {{[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 7, [14] = 7, [15] = 7}};
    struct device_path path = {.remote = group, .hop_limit = 1};
    uint32_t number;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_UD, .mtu = 1024});
    for (int e = 0; e < 2; e++)
        assert_int_equal(device_multicast(pair.end[e].qp, &group, true), 0);
    assert_int_equal(device_path_get(pair.end[0].live, &path, &number), 0);
    for (uint32_t i = 0; i < 10; i++) {
        struct device_sge sge = pair_sge(&pair.end[0], 0, 500);
        struct device_send send = {
            .wr = {.verb = NIC_SEND, .flags = NIC_SIGNALED, .dest = number, .dest_qp = 0xffffff, .qkey = 0x11111111},
            .sge = &sge,
            .sges = 1};
        pair_fill(&pair.end[0], 0, 500, i);
        for (int e = 0; e < 2; e++)
            assert_int_equal(pair_recv(&pair.end[e], 70, HALF, 540), 0);
        assert_int_equal(device_post_send(pair.end[0].qp, &send, false), 0);
        /* the sender is a member too: its own copy and its send complete in either order */
        for (int n = 0; n < 2; n++)
            assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
        struct nic_cqe got = pair_wait(&pair, 1);
        assert_int_equal(got.bytes, 540);
        for (int e = 0; e < 2; e++)
            assert_true(pair_filled(&pair.end[e], HALF + 40, 500, i));
    }
    assert_int_equal(device_multicast(pair.end[1].qp, &group, false), 0);
    assert_int_equal(device_multicast(pair.end[1].qp, &group, false), -EINVAL);
    device_path_put(pair.end[0].live, number);
    pair_close(&pair);
}

/* A window is bound, used, and invalidated: then its key is worth nothing. */
static void test_window(void **state)
{
    struct loop_pair pair;
    struct device_mw *mw;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC});
    struct loop_end *b = &pair.end[1];
    assert_int_equal(device_mw_create(b->live, b->pd, 2, &mw), 0);
    struct device_send bind = {.wr = {.verb = NIC_BIND_MW, .flags = NIC_SIGNALED},
                               .mw = mw,
                               .mr = b->mr,
                               .mw_addr = (uintptr_t)b->memory + 4096,
                               .mw_bytes = 4096,
                               .mw_access = NIC_REMOTE_WRITE,
                               .mw_key = (device_mw_key(mw) & ~255u) | ((device_mw_key(mw) + 1) & 255u)};
    assert_int_equal(device_post_send(b->qp, &bind, false), 0);
    assert_int_equal(pair_wait(&pair, 1).status, NIC_SUCCESS);
    uint32_t key = device_mw_key(mw);
    pair_fill(&pair.end[0], 0, 4096, 8);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_WRITE, .rkey = key}, 0, 4096, 4096), 0);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
    assert_true(pair_filled(b, 4096, 4096, 8));
    struct device_send invalidate = {.wr = {.verb = NIC_LOCAL_INV, .flags = NIC_SIGNALED, .imm = key}};
    assert_int_equal(device_post_send(b->qp, &invalidate, false), 0);
    assert_int_equal(pair_wait(&pair, 1).status, NIC_SUCCESS);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_WRITE, .rkey = key}, 0, 64, 4096), 0);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_REM_ACCESS_ERR);
    assert_int_equal(device_mw_destroy(mw), 0);
    pair_close(&pair);
}

static void test_srq(void **state)
{
    struct loop_pair pair;
    uint32_t seen = 0;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .srq = true});
    for (int round = 0; round < 40; round++) {
        for (uint32_t i = 0; i < 8; i++)
            assert_int_equal(pair_recv(&pair.end[1], 500 + i, HALF + 4096 * i, 4096), 0);
        for (uint32_t i = 0; i < 8; i++) {
            pair_fill(&pair.end[0], 0, 3000, i);
            assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_SEND}, 0, 3000, 0), 0);
            assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
            struct nic_cqe got = pair_wait(&pair, 1);
            assert_int_equal(got.wr_id, 500 + i);
            assert_true(pair_filled(&pair.end[1], HALF + 4096 * i, 3000, i));
            seen++;
        }
    }
    assert_int_equal(seen, 320);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(pair_recv(&pair.end[1], i, HALF, 16), 0);
    assert_int_equal(pair_recv(&pair.end[1], 64, HALF, 16), -ENOMEM);
    pair_close(&pair);
}

/* What fails at the far end: the sender's completion, and the far QP's state. */
static void refused(struct nic_wr wr, uint64_t remote_offset, uint32_t bytes, enum nic_status status)
{
    struct loop_pair pair;

    pair_open(&pair, &(struct loop_options){.transport = NIC_RC});
    uint8_t before = pair.end[1].memory[0];
    assert_int_equal(pair_send(&pair, 0, wr, 0, bytes, remote_offset), 0);
    assert_int_equal(pair_wait(&pair, 0).status, status);
    assert_int_equal(pair.end[1].memory[0], before);
    assert_int_equal(device_qp_state(pair.end[0].qp), NIC_ERROR);
    /* in error, everything is flushed at once */
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_WRITE}, 0, 8, 0), 0);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_WR_FLUSH_ERR);
    pair_close(&pair);
}

static void test_remote_errors(void **state)
{
    (void)state;
    refused((struct nic_wr){.verb = NIC_WRITE, .rkey = 0x123456}, 0, 64, NIC_REM_ACCESS_ERR);
    refused((struct nic_wr){.verb = NIC_READ, .rkey = 0x123456}, 0, 64, NIC_REM_ACCESS_ERR);
    refused((struct nic_wr){.verb = NIC_WRITE}, (4 << 20) - 10, 64, NIC_REM_ACCESS_ERR);
    refused((struct nic_wr){.verb = NIC_READ}, (4 << 20) - 10, 64, NIC_REM_ACCESS_ERR);
    refused((struct nic_wr){.verb = NIC_CAS, .rkey = 0x123456}, 0, 8, NIC_REM_ACCESS_ERR);
}

static void test_local_errors(void **state)
{
    struct loop_pair pair;
    struct device_sge sge;
    struct device_send send = {.wr = {.verb = NIC_WRITE, .flags = NIC_SIGNALED}, .sge = &sge, .sges = 1};

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC});
    sge = pair_sge(&pair.end[0], 0, 64);
    sge.key ^= 0x100;
    send.wr.rkey = device_mr_key(pair.end[1].mr);
    send.wr.remote_va = (uintptr_t)pair.end[1].memory;
    assert_int_equal(device_post_send(pair.end[0].qp, &send, false), 0);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_LOC_PROT_ERR);
    pair_close(&pair);

    /* a receive with a wrong key */
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC});
    sge = pair_sge(&pair.end[1], 0, 64);
    sge.key ^= 0x100;
    assert_int_equal(device_post_recv(pair.end[1].qp, &(struct device_recv){.wr_id = 5, .sge = &sge, .sges = 1}), 0);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_SEND}, 0, 64, 0), 0);
    struct nic_cqe got = pair_wait(&pair, 1);
    assert_int_equal(got.status, NIC_LOC_PROT_ERR);
    assert_int_equal(got.wr_id, 5);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_REM_OP_ERR);
    pair_close(&pair);

    /* longer than the receive */
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC});
    assert_int_equal(pair_recv(&pair.end[1], 6, 0, 100), 0);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_SEND}, 0, 101, 0), 0);
    assert_int_equal(pair_wait(&pair, 1).status, NIC_LOC_LEN_ERR);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_REM_INV_REQ_ERR);
    pair_close(&pair);
}

/* Memory that is registered and gone. */
static void unmapped(int gone, uint8_t verb, enum nic_status status)
{
    struct loop_pair pair;

    pair_open(&pair, &(struct loop_options){.transport = NIC_RC});
    if (verb == NIC_SEND) assert_int_equal(pair_recv(&pair.end[1], 1, 0, 20000), 0);
    /* nothing else may come to lie there, such as a ring that the wire makes at the first packet */
    assert_true(mmap(pair.end[gone].memory, pair.end[gone].bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                     -1, 0) == pair.end[gone].memory);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = verb}, 0, verb == NIC_CAS ? 8 : 20000, 0), 0);
    struct nic_cqe cqe = pair_wait(&pair, 0);
    if (cqe.status != status) fail_msg("gone %d verb %d: %s", gone, verb, nic_status_name(cqe.status));
    assert_int_equal(device_qp_state(pair.end[0].qp), NIC_ERROR);
    pair_close(&pair);
}

static void test_unmapped(void **state)
{
    (void)state;
    unmapped(0, NIC_SEND, NIC_LOC_PROT_ERR);
    unmapped(0, NIC_WRITE, NIC_LOC_PROT_ERR);
    unmapped(0, NIC_READ, NIC_LOC_PROT_ERR);
    unmapped(1, NIC_SEND, NIC_REM_OP_ERR);
    unmapped(1, NIC_WRITE, NIC_REM_OP_ERR);
    unmapped(1, NIC_READ, NIC_REM_OP_ERR);
    unmapped(1, NIC_CAS, NIC_REM_OP_ERR);
}

static void test_inline_and_lists(void **state)
{
    struct loop_pair pair;
    struct device_sge sge[4];

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .mtu = 1024});
    pair_fill(&pair.end[0], 0, 4000, 9);
    for (unsigned i = 0; i < 4; i++) /* 1000 bytes each, last first, so that the far side sees them turned round */
        sge[i] = pair_sge(&pair.end[0], 1000 * (3 - i), 1000);
    struct device_send send = {
        .wr = {.verb = NIC_WRITE, .flags = NIC_SIGNALED, .rkey = device_mr_key(pair.end[1].mr)}, .sge = sge, .sges = 4};
    send.wr.remote_va = (uintptr_t)pair.end[1].memory;
    assert_int_equal(device_post_send(pair.end[0].qp, &send, false), 0);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
    for (unsigned i = 0; i < 4; i++)
        assert_memory_equal(pair.end[1].memory + 1000 * i, pair.end[0].memory + 1000 * (3 - i), 1000);

    uint8_t own[200];
    memset(own, 0x5a, sizeof own);
    struct device_sge copied = {.addr = (uintptr_t)own, .length = sizeof own}; /* no key: not looked at */
    send.sge = &copied;
    send.sges = 1;
    send.copy = true;
    assert_int_equal(device_post_send(pair.end[0].qp, &send, true), 0);
    memset(own, 0, sizeof own);
    send.wr.remote_va += 200;
    assert_int_equal(device_post_send(pair.end[0].qp, &send, false), 0);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
    assert_int_equal(pair.end[1].memory[0], 0x5a);
    assert_int_equal(pair.end[1].memory[199], 0x5a);
    assert_int_equal(pair.end[1].memory[200], 0);
    copied.length = 300;
    assert_int_equal(device_post_send(pair.end[0].qp, &send, false), -EINVAL);
    pair_close(&pair);
}

static void test_events(void **state)
{
    struct loop_pair pair;
    struct device_cq *cq;
    void *app;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .events = true});
    struct loop_end *b = &pair.end[1];
    struct pollfd fd = {.fd = device_channel_fd(b->channel), .events = POLLIN};
    for (int i = 0; i < 20; i++) {
        bool solicited = i & 1;
        assert_int_equal(device_cq_arm(b->cq, solicited), 0);
        assert_int_equal(poll(&fd, 1, 0), 0);
        assert_int_equal(pair_recv(b, 1, 0, 64), 0);
        if (solicited) { /* one that is not solicited makes no event */
            assert_int_equal(pair_recv(b, 2, 0, 64), 0);
            assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_SEND}, 0, 64, 0), 0);
            assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
            assert_int_equal(poll(&fd, 1, 0), 0);
        }
        struct nic_wr wr = {.verb = NIC_SEND, .flags = NIC_SOLICITED};
        assert_int_equal(pair_send(&pair, 0, wr, 0, 64, 0), 0);
        assert_int_equal(device_channel_wait(b->channel, &cq, &app), 0); /* nobody polls: the thread's work */
        assert_ptr_equal(cq, b->cq);
        assert_ptr_equal(app, b);
        device_cq_ack_events(cq, 1);
        assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
        assert_int_equal(pair_wait(&pair, 1).status, NIC_SUCCESS);
        if (solicited) assert_int_equal(pair_wait(&pair, 1).status, NIC_SUCCESS);
    }
    pair_close(&pair);
}

/* A queue that stays armed for a solicited completion while others come and go looks at each of them once: a program
 * that lets its adapter wake it for nothing else (UCX over UD) has millions between two events. */
static void test_armed_for_solicited(void **state)
{
    struct loop_pair pair;
    struct device_cq *told;
    void *app;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .events = true});
    struct loop_end *b = &pair.end[1];
    struct pollfd fd = {.fd = device_channel_fd(b->channel), .events = POLLIN};
    for (int later = 0; later < 2; later++) { /* then armed for all that follow, too */
        assert_int_equal(device_cq_arm(b->cq, true), 0);
        for (int i = 0; i < 20; i++) {
            assert_int_equal(pair_recv(b, 1, 0, 64), 0);
            assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_SEND}, 0, 64, 0), 0);
            assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
            assert_int_equal(pair_wait(&pair, 1).status, NIC_SUCCESS);
            assert_int_equal(live_enter(b->live), 0);
            uint32_t looked_at = b->cq->notice.from, came = b->cq->ready->tail;
            live_leave(b->live);
            assert_int_equal(looked_at, came);
        }
        if (later) assert_int_equal(device_cq_arm(b->cq, false), 0);
        assert_int_equal(poll(&fd, 1, 0), 0);
        assert_int_equal(pair_recv(b, 1, 0, 64), 0);
        struct nic_wr wr = {.verb = NIC_SEND, .flags = later ? 0 : NIC_SOLICITED};
        assert_int_equal(pair_send(&pair, 0, wr, 0, 64, 0), 0);
        assert_int_equal(device_channel_wait(b->channel, &told, &app), 0);
        assert_ptr_equal(told, b->cq);
        device_cq_ack_events(told, 1);
        assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
        assert_int_equal(pair_wait(&pair, 1).status, NIC_SUCCESS);
    }
    pair_close(&pair);
}

static void test_async_events(void **state)
{
    struct loop_pair pair;
    struct device_watch *watch;
    struct device_event event;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC});
    assert_int_equal(device_watch_create(pair.end[1].live, &watch), 0);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_WRITE, .rkey = 0x4242}, 0, 64, 0), 0);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_REM_ACCESS_ERR);
    do {
        assert_int_equal(device_watch_wait(watch, &event), 0);
    } while (event.kind == DEVICE_EVENT_COMM_EST);
    assert_int_equal(event.kind, DEVICE_EVENT_QP_ACCESS);
    assert_ptr_equal(event.app, &pair.end[1]);
    device_watch_destroy(watch);
    pair_close(&pair);
}

/* A peer that is not there: retries, then an error; the sender's thread does it alone. */
static void test_silence(void **state)
{
    struct loop_pair pair;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .timeout = 12});
    assert_int_equal(
        device_qp_modify(pair.end[1].qp, &(struct device_qp_attr){.mask = DEVICE_ATTR_STATE, .state = NIC_RESET}), 0);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_WRITE}, 0, 64, 0), 0);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_RETRY_EXC_ERR);
    /* and both come back, as verbs programs do: with other PSNs */
    pair.timeout = LOOP_PATIENT;
    pair.psn = 1000;
    assert_int_equal(
        device_qp_modify(pair.end[0].qp, &(struct device_qp_attr){.mask = DEVICE_ATTR_STATE, .state = NIC_RESET}), 0);
    pair_connect(&pair, 0);
    pair_connect(&pair, 1);
    pair_fill(&pair.end[0], 0, 5000, 3);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_WRITE}, 0, 5000, 0), 0);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
    assert_true(pair_filled(&pair.end[1], 0, 5000, 3));
    pair_close(&pair);
}

static void test_counters(void **state)
{
    struct loop_pair pair;
    struct device_counter_set *set;
    unsigned count, found = 0;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC});
    assert_int_equal(live_counters_read(&set, &count), 0);
    for (unsigned i = 0; i < count; i++) {
        if (set[i].pid != (uint32_t)getpid()) continue;
        found++;
        assert_string_equal(set[i].counter[0].name, "tx_packets");
        assert_true(set[i].counters > 50 && set[i].counters < DEVICE_COUNTERS_MAX);
    }
    free(set);
    assert_int_equal(found, 2);
    pair_close(&pair);
}

static unsigned count_kind(const struct device_counter_set *set, enum record_event_kind kind)
{
    unsigned count = 0;

    for (unsigned i = 0; i < set->events; i++)
        count += set->event[i].kind == kind;
    return count;
}

/* Of our device that has noted most; free() the answer. */
static struct device_counter_set *most_events(void)
{
    struct device_counter_set *set, *most = NULL;
    unsigned count;

    assert_int_equal(live_counters_read(&set, &count), 0);
    for (unsigned i = 0; i < count; i++)
        if (set[i].pid == (uint32_t)getpid() && (most == NULL || set[i].noted > most->noted)) most = &set[i];
    assert_non_null(most);
    memmove(set, most, sizeof *set);
    return set;
}

/* Retries that are used up again and again, seen from outside: in order, with what they mean, and the last ones. */
static void test_events_are_shown(void **state)
{
    enum { ROUNDS = 40, RETRIES = 8 };
    struct loop_pair pair;
    struct device_counter_set *set;

    (void)state;
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .timeout = 4});
    assert_int_equal(
        device_qp_modify(pair.end[1].qp, &(struct device_qp_attr){.mask = DEVICE_ATTR_STATE, .state = NIC_RESET}), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_WRITE}, 0, 64, 0), 0);
        assert_int_equal(pair_wait(&pair, 0).status, NIC_RETRY_EXC_ERR);
        assert_int_equal(
            device_qp_modify(pair.end[0].qp, &(struct device_qp_attr){.mask = DEVICE_ATTR_STATE, .state = NIC_RESET}),
            0);
        pair_connect(&pair, 0);
    }
    for (unsigned looks = 0; (set = most_events())->noted < ROUNDS * (RETRIES + 1); looks++) {
        free(set);
        assert_true(looks < 20000);
        pair_idle(&pair, 1);
        usleep(1000);
    }
    assert_int_equal(set->noted, ROUNDS * (RETRIES + 1)); /* all time out, and one more fails */
    assert_int_equal(set->events, DEVICE_EVENTS_KEPT - 1);
    assert_int_equal(count_kind(set, RECORD_TIMEOUT) + count_kind(set, RECORD_FAILED), set->events);
    assert_int_equal(set->event[set->events - 1].kind, RECORD_FAILED);
    assert_int_equal(set->event[set->events - 1].b, NIC_RETRY_EXC_ERR);
    assert_int_equal(set->event[set->events - 2].kind, RECORD_TIMEOUT);
    assert_int_equal(set->event[set->events - 2].b, 0); /* none was left */
    assert_int_equal(set->event[set->events - 3].b, 1);
    for (unsigned i = 1; i < set->events; i++)
        assert_true(set->event[i - 1].at <= set->event[i].at);
    free(set);
    pair_close(&pair);
}

static void test_fork(void **state)
{
    struct loop_pair pair;
    struct nic_cqe cqe;

    (void)state;
#if defined(__SANITIZE_THREAD__) || THREAD_SANITIZER
    skip(); /* the sanitizer does not support fork() of a program with threads */
#endif
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .events = true});
    /* An event waits at each descriptor, which parent and child share: it is the parent's. */
    struct loop_end *b = &pair.end[1];
    struct device_watch *watch;
    struct device_event event;
    struct device_cq *cq;
    void *app;
    assert_int_equal(device_watch_create(b->live, &watch), 0);
    assert_int_equal(device_cq_arm(b->cq, false), 0);
    assert_int_equal(pair_recv(b, 1, 0, 64), 0);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_SEND}, 0, 64, 0), 0);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
    struct pollfd fd[2] = {{.fd = device_channel_fd(b->channel), .events = POLLIN},
                           {.fd = device_watch_fd(watch), .events = POLLIN}};
    assert_int_equal(device_qp_modify(b->qp, &(struct device_qp_attr){.mask = DEVICE_ATTR_STATE, .state = NIC_ERROR}),
                     0);
    live_enter(b->live);
    events_push(b->live, DEVICE_EVENT_GID_CHANGE, NULL);
    live_leave(b->live);
    assert_int_equal(poll(&fd[0], 1, 60000), 1); /* the sender hears of the ACK before the adapter tells its owner */
    assert_int_equal(poll(&fd[1], 1, 60000), 1);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        if (device_poll(pair.end[0].cq, &cqe, 1) != -ENODEV) _exit(1);
        if (device_channel_wait(b->channel, &cq, &app) != -ENODEV) _exit(2);
        if (device_watch_wait(watch, &event) != -ENODEV) _exit(3);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(poll(fd, 2, 0), 2);
    assert_int_equal(device_channel_wait(b->channel, &cq, &app), 0);
    device_cq_ack_events(cq, 1);
    assert_int_equal(device_watch_wait(watch, &event), 0);
    device_watch_destroy(watch);
    for (int e = 0; e < 2; e++)
        assert_int_equal(
            device_qp_modify(pair.end[e].qp, &(struct device_qp_attr){.mask = DEVICE_ATTR_STATE, .state = NIC_RESET}),
            0);
    pair_connect(&pair, 0);
    pair_connect(&pair, 1);
    assert_int_equal(pair_send(&pair, 0, (struct nic_wr){.verb = NIC_WRITE}, 0, 64, 0), 0);
    assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
    pair_close(&pair);
}

/* Without the thread, polls take what other processes hand over. */
static void test_forwarded_without_thread(void **state)
{
    struct loop_pair pair;
    struct nic_cqe cqe;
    uint8_t junk[5] = {0xff};

    (void)state;
    setenv("ROCELAB_THREAD", "off", 1);
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC});
    unsetenv("ROCELAB_THREAD");
    struct wire_packet packet = {.data = junk, .bytes = sizeof junk, .net = PKT_NET_IPV4};
    uint32_t slot = registry_slot(pair.end[1].live->registry);
    assert_int_equal(registry_forward(pair.end[0].live->registry, slot, &packet), 0);
    assert_int_equal(device_poll(pair.end[1].cq, &cqe, 1), 0);
    assert_int_equal(pair.end[1].live->own.rx_malformed, 1);
    pair_close(&pair);
}

static void test_wrong_environment(void **state)
{
    static const char *const wrong[][2] = {{"ROCELAB_WIRE", "string"}, {"ROCELAB_CC", "dcqcn"},
                                           {"ROCELAB_PORT", "0"},      {"ROCELAB_RATE", "25"},
                                           {"ROCELAB_FAULT", "loss"},  {"ROCELAB_THREAD", "maybe"}};
    struct device_info *list;
    unsigned count;

    (void)state;
    assert_int_equal(device_list(&list, &count), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct device *live;
        char why[200];
        char before[80];
        const char *set = getenv(wrong[i][0]);
        snprintf(before, sizeof before, "%s", set ? set : "");
        setenv(wrong[i][0], wrong[i][1], 1);
        assert_int_equal(device_open(&list[0], &live, why, sizeof why), -EINVAL);
        assert_non_null(strstr(why, wrong[i][0]));
        assert_non_null(strstr(why, wrong[i][1]));
        setenv(wrong[i][0], before, 1);
    }
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rc),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_inline_and_lists),
        cmocka_unit_test(test_uc),
        cmocka_unit_test(test_ud),
        cmocka_unit_test(test_multicast),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_srq),
        cmocka_unit_test(test_remote_errors),
        cmocka_unit_test(test_local_errors),
        cmocka_unit_test(test_unmapped),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_armed_for_solicited),
        cmocka_unit_test(test_async_events),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_events_are_shown),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_forwarded_without_thread),
        cmocka_unit_test(test_wrong_environment),
        cmocka_unit_test(test_rc_loss),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
