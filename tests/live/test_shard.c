/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device that is shared out over four shards, and one beside it: queue pairs spread; one completion queue over all of
 * them hands out everything once and each queue pair's in order; regions go away in the middle of traffic; events,
 * resizing, windows, destruction and counters hold over the parts.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
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

#include "base/rng.h"
#include "live/counters.h"
#include "live/live_int.h"
#include "runtime/runtime.h"
#include "torture_alone.h"

#define SHARDS 4u
#define QPS 16u
#define SLOT (256u << 10)
#define PD 7u
#define POLLS_MAX 50000000u

struct side {
    struct device *live;
    struct device_channel *channel;
    struct device_cq *cq;
    struct device_mr *mr;
    struct device_qp *qp[QPS];
    uint8_t *memory; /* QPS slots to send from, QPS to receive in */
};

static struct side side[2];

static struct device_info loopback(void)
{
    struct device_info *list, found = {.gids = 0};
    unsigned count;

    assert_int_equal(device_list(&list, &count), 0);
    found = list[0];
    free(list);
    return found;
}

static void make_qp(struct side *s, struct device_cq *cq, struct device_qp **ret)
{
    struct device_qp_init init = {.transport = NIC_RC,
                                  .pd = PD,
                                  .send_entries = 64,
                                  .recv_entries = 64,
                                  .send_sges = 1,
                                  .recv_sges = 1,
                                  .inline_bytes = 64,
                                  .send_cq = cq,
                                  .recv_cq = cq,
                                  .app = s};
    assert_int_equal(device_qp_create(s->live, &init, ret), 0);
}

static void connect_qp(struct device_qp *qp, struct device_qp *other)
{
    struct device_qp_attr init = {
        .mask = DEVICE_ATTR_STATE | DEVICE_ATTR_ACCESS, .state = NIC_INIT, .access = NIC_REMOTE_ALL};
    struct device_qp_attr rtr = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_MTU | DEVICE_ATTR_PATH |
                                         DEVICE_ATTR_REMOTE_QP | DEVICE_ATTR_MIN_RNR | DEVICE_ATTR_MAX_READ_ACCEPT,
                                 .state = NIC_RTR,
                                 .mtu = 1024,
                                 .path = {.remote = loopback().gid[0].addr, .hop_limit = 64},
                                 .remote_qp = device_qp_number(other),
                                 .min_rnr_timer = 1,
                                 .max_read_accept = 4};
    struct device_qp_attr rts = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_TIMEOUT | DEVICE_ATTR_RETRY |
                                         DEVICE_ATTR_RNR_RETRY | DEVICE_ATTR_MAX_READ,
                                 .state = NIC_RTS,
                                 .timeout = 17,
                                 .retry = NIC_RETRY_FOREVER,
                                 .rnr_retry = 7,
                                 .max_read = 4};

    assert_int_equal(device_qp_modify(qp, &init), 0);
    assert_int_equal(device_qp_modify(qp, &rtr), 0);
    assert_int_equal(device_qp_modify(qp, &rts), 0);
}

static int begin(void **state)
{
    struct device_info device = loopback();
    char why[200];

    (void)state;
    for (int e = 0; e < 2; e++) {
        struct side *s = &side[e];
        assert_int_equal(live_open_alone(&device, &s->live, why, sizeof why), 0);
        s->memory = mmap(NULL, 2 * QPS * SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(s->memory != MAP_FAILED);
        assert_int_equal(device_mr_create(s->live, PD, s->memory, 2 * QPS * SLOT, (uintptr_t)s->memory,
                                          NIC_REMOTE_ALL | DEVICE_LOCAL_WRITE | DEVICE_MW_BIND, &s->mr),
                         0);
        assert_int_equal(device_channel_create(s->live, &s->channel), 0);
        assert_int_equal(device_cq_create(s->live, 4096, s->channel, s, &s->cq), 0);
        for (unsigned q = 0; q < QPS; q++)
            make_qp(s, s->cq, &s->qp[q]);
    }
    for (int e = 0; e < 2; e++)
        for (unsigned q = 0; q < QPS; q++)
            connect_qp(side[e].qp[q], side[!e].qp[q]);
    return 0;
}

/* Everything goes, and nothing is left in any shard. */
static int end(void **state)
{
    (void)state;
    for (int e = 0; e < 2; e++) {
        struct side *s = &side[e];
        assert_int_equal(device_cq_destroy(s->cq), -EBUSY);
        for (unsigned q = 0; q < QPS; q++)
            assert_int_equal(device_qp_destroy(s->qp[q]), 0);
        assert_int_equal(device_cq_destroy(s->cq), 0);
        assert_int_equal(device_channel_destroy(s->channel), 0);
        device_mr_destroy(s->mr);
        assert_int_equal(shard_enter_all(s->live), 0);
        for (unsigned i = 0; i < s->live->shards; i++) {
            const struct device *shard = s->live->shard[i];
            if (shard == NULL) continue;
            assert_null(shard->qps);
            assert_null(shard->parts);
            assert_null(shard->armed);
            assert_int_equal(nic_qp_count(shard->nic), 0);
            nic_audit(shard->nic, &shard->pool);
        }
        shard_leave_all(s->live);
        device_close(s->live);
        munmap(s->memory, 2 * QPS * SLOT);
    }
    return 0;
}

static uint8_t byte_of(uint32_t seed, uint32_t at)
{
    return (uint8_t)((at * 2654435761u + seed * 40503u) >> 11);
}

static void fill(uint8_t *at, uint32_t bytes, uint32_t seed)
{
    for (uint32_t i = 0; i < bytes; i++)
        at[i] = byte_of(seed, i);
}

static bool right(const uint8_t *at, uint32_t bytes, uint32_t seed)
{
    for (uint32_t i = 0; i < bytes; i++)
        if (at[i] != byte_of(seed, i)) return false;
    return true;
}

static int post(int e, unsigned q, uint8_t verb, uint64_t wr_id, uint32_t bytes, uint32_t key, uint32_t rkey)
{
    struct device_sge sge = {.addr = (uintptr_t)side[e].memory + q * SLOT, .length = bytes, .key = key};
    struct device_send send = {.wr = {.wr_id = wr_id,
                                      .verb = verb,
                                      .flags = NIC_SIGNALED,
                                      .remote_va = (uintptr_t)side[!e].memory + (QPS + q) * SLOT,
                                      .rkey = rkey},
                               .sge = &sge,
                               .sges = 1};
    return device_post_send(side[e].qp[q], &send, false);
}

static int receive(int e, unsigned q, uint64_t wr_id)
{
    struct device_sge sge = {
        .addr = (uintptr_t)side[e].memory + (QPS + q) * SLOT, .length = SLOT, .key = device_mr_key(side[e].mr)};
    return device_post_recv(side[e].qp[q], &(struct device_recv){.wr_id = wr_id, .sge = &sge, .sges = 1});
}

static struct nic_cqe wait_any(int e)
{
    struct nic_cqe cqe;

    for (unsigned i = 0; i < POLLS_MAX; i++)
        if (device_poll(side[e].cq, &cqe, 1) == 1) return cqe;
    fail_msg("side %d: no completion came", e);
    return cqe;
}

static unsigned queue_of(int e, uint32_t qpn)
{
    for (unsigned q = 0; q < QPS; q++)
        if (device_qp_number(side[e].qp[q]) == qpn) return q;
    fail_msg("a completion of QP %x, which is not there", qpn);
    return 0;
}

static void test_spread(void **state)
{
    unsigned count[SHARDS] = {0};
    struct device_qp *ud;
    struct device_qp_init init = {.transport = NIC_UD, .pd = PD, .send_cq = side[0].cq, .recv_cq = side[0].cq};

    (void)state;
    assert_int_equal(side[0].live->shards, SHARDS);
    for (unsigned q = 0; q < QPS; q++)
        count[side[0].qp[q]->device->number]++;
    for (unsigned i = 0; i < SHARDS; i++) {
        assert_int_equal(count[i], QPS / SHARDS);
        for (unsigned j = 0; j < i; j++)
            assert_int_not_equal(registry_slot(side[0].live->shard[i]->registry),
                                 registry_slot(side[0].live->shard[j]->registry));
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(device_qp_create(side[0].live, &init, &ud), 0);
        assert_ptr_equal(ud->device, side[0].live);
        assert_int_equal(device_qp_destroy(ud), 0);
    }
}

/* --- random traffic both ways, verified --- */

#define ROUNDS 40u
#define DEPTH 4u

struct flow { /* of one direction of a queue pair */
    uint32_t sent, done, received, bytes;
};

static void send_next(int e, unsigned q, struct flow *f, struct rng *rng)
{
    uint32_t seed = f->sent * 2 * QPS + q * 2 + (uint32_t)e;

    /* sizes below and far above what a caller sends itself */
    f->bytes = 1 + (uint32_t)rng_u64(rng) % (rng_u64(rng) % 4 ? 2000u : SLOT);
    fill(side[e].memory + q * SLOT, f->bytes, seed);
    assert_int_equal(receive(!e, q, f->sent), 0);
    assert_int_equal(post(e, q, NIC_SEND, f->sent, f->bytes, device_mr_key(side[e].mr), 0), 0);
    f->sent++;
}

static void take_one(int e, struct flow flow[2][QPS], const struct nic_cqe *cqe)
{
    unsigned q = queue_of(e, cqe->qpn);

    assert_int_equal(cqe->status, NIC_SUCCESS);
    if (!cqe->receive) {
        assert_int_equal(cqe->wr_id, flow[e][q].done);
        flow[e][q].done++;
        return;
    }
    struct flow *f = &flow[!e][q];
    uint32_t seed = f->received * 2 * QPS + q * 2 + (uint32_t)!e;
    assert_int_equal(cqe->wr_id, f->received);
    assert_int_equal(cqe->bytes, f->bytes);
    assert_true(right(side[e].memory + (QPS + q) * SLOT, f->bytes, seed));
    f->received++;
}

static void test_traffic(void **state)
{
    static struct flow flow[2][QPS];
    struct rng rng;
    const char *text = getenv("ROCELAB_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : 1, left = 2ull * QPS * ROUNDS * 2;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    rng_init(&rng, seed, 0);
    memset(flow, 0, sizeof flow);
    for (unsigned q = 0; q < QPS; q++)
        for (int e = 0; e < 2; e++)
            send_next(e, q, &flow[e][q], &rng);
    for (unsigned polls = 0; left && polls < POLLS_MAX; polls++) {
        int e = (int)(polls & 1);
        struct nic_cqe cqe[4];
        int got = device_poll(side[e].cq, cqe, 1 + polls % 4);
        assert_true(got >= 0);
        for (int i = 0; i < got; i++, left--) {
            take_one(e, flow, &cqe[i]);
            for (int d = 0; d < 2; d++) {
                unsigned q = queue_of(e, cqe[i].qpn);
                struct flow *f = &flow[d][q];
                if (f->done == f->sent && f->received == f->sent && f->sent < ROUNDS) send_next(d, q, f, &rng);
            }
        }
    }
    assert_int_equal(left, 0);
    for (int e = 0; e < 2; e++) {
        struct nic_cqe more;
        assert_int_equal(device_poll(side[e].cq, &more, 1), 0);
    }
}

/* Many requests of every queue pair at once, more than the ring that is polled holds but no more than each shard's
 * part does beside it: each comes once, in order. */
static void test_once_in_order(void **state)
{
    uint32_t next[QPS] = {0};

    (void)state;
    assert_int_equal(device_cq_resize(side[0].cq, 32 * QPS / SHARDS), 0);
    for (uint64_t i = 0; i < 32; i++)
        for (unsigned q = 0; q < QPS; q++)
            assert_int_equal(post(0, q, NIC_WRITE, i, 100, device_mr_key(side[0].mr), device_mr_key(side[1].mr)), 0);
    for (unsigned i = 0; i < 32 * QPS; i++) {
        struct nic_cqe cqe = wait_any(0);
        unsigned q = queue_of(0, cqe.qpn);
        assert_int_equal(cqe.status, NIC_SUCCESS);
        assert_int_equal(cqe.wr_id, next[q]++);
    }
    assert_int_equal(device_cq_resize(side[0].cq, 4096), 0);
}

/* --- regions that go while bytes move --- */

static void *register_and_forget(void *stop)
{
    unsigned made = 0;
    void *at = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED) || made == 0) {
        struct device_mr *mr;
        if (device_mr_create(side[0].live, PD, at, 1 << 16, (uintptr_t)at, DEVICE_LOCAL_WRITE, &mr) < 0) break;
        device_mr_destroy(mr);
        made++;
        sched_yield();
    }
    munmap(at, 1 << 16);
    return (void *)(uintptr_t)made;
}

static void test_regions_come_and_go(void **state)
{
    bool stop = false;
    pthread_t thread;
    void *made;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, register_and_forget, &stop), 0);
    test_once_in_order(state);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, &made);
    assert_true((uintptr_t)made > 0);
}

/* After a region is gone no shard touches its memory: what still comes is refused. */
static void test_deregister_under_traffic(void **state)
{
    struct device_mr *mr;
    uint8_t *at = mmap(NULL, QPS * SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned failed = 0;

    (void)state;
    assert_true(at != MAP_FAILED);
    assert_int_equal(device_mr_create(side[1].live, PD, at, QPS * SLOT, (uintptr_t)side[1].memory + QPS * SLOT,
                                      NIC_REMOTE_ALL | DEVICE_LOCAL_WRITE, &mr),
                     0);
    for (unsigned q = 0; q < QPS; q++) {
        fill(side[0].memory + q * SLOT, SLOT, q);
        for (uint64_t i = 0; i < 32; i++)
            assert_int_equal(post(0, q, NIC_WRITE, i, SLOT, device_mr_key(side[0].mr), device_mr_key(mr)), 0);
    }
    (void)wait_any(0);
    device_mr_destroy(mr);
    memset(at, 0x5a, QPS * SLOT);
    for (unsigned i = 1; i < 32 * QPS; i++)
        failed += wait_any(0).status != NIC_SUCCESS;
    assert_true(failed > 0);
    for (uint32_t i = 0; i < QPS * SLOT; i++)
        if (at[i] != 0x5a) fail_msg("byte %u was written after the region was gone", i);
    munmap(at, QPS * SLOT);
    for (int e = 0; e < 2; e++)
        for (unsigned q = 0; q < QPS; q++) /* out of the error, and what is left of it forgotten */
            assert_int_equal(device_qp_modify(side[e].qp[q],
                                              &(struct device_qp_attr){.mask = DEVICE_ATTR_STATE, .state = NIC_RESET}),
                             0);
    for (int e = 0; e < 2; e++)
        for (unsigned q = 0; q < QPS; q++)
            connect_qp(side[e].qp[q], side[!e].qp[q]);
}

/* --- events --- */

static void test_events(void **state)
{
    struct pollfd fd = {.fd = device_channel_fd(side[1].channel), .events = POLLIN};
    struct device_cq *cq;
    struct nic_cqe cqe;
    void *app;

    (void)state;
    for (unsigned q = 0; q < QPS; q++) { /* one event for one arming, whichever shard it comes from */
        assert_int_equal(device_cq_arm(side[1].cq, false), 0);
        assert_int_equal(device_poll(side[1].cq, &cqe, 1), 0);
        assert_int_equal(poll(&fd, 1, 0), 0);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(receive(1, (q + i) % QPS, i), 0);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(post(0, (q + i) % QPS, NIC_SEND, i, 64, device_mr_key(side[0].mr), 0), 0);
        assert_int_equal(device_channel_wait(side[1].channel, &cq, &app), 0);
        assert_ptr_equal(cq, side[1].cq);
        assert_ptr_equal(app, &side[1]);
        device_cq_ack_events(cq, 1);
        for (unsigned i = 0; i < 3; i++) {
            assert_true(wait_any(1).receive);
            assert_int_equal(wait_any(0).status, NIC_SUCCESS);
        }
        assert_int_equal(poll(&fd, 1, 0), 0);
    }
}

/* An asynchronous event of a queue pair of the last shard reaches the device's listener. */
static void test_asynchronous(void **state)
{
    struct device_watch *watch;
    struct device_event event;

    (void)state;
    assert_int_equal(device_watch_create(side[1].live, &watch), 0);
    unsigned q = 0;
    while (side[1].qp[q]->device->number != SHARDS - 1)
        q++;
    assert_int_equal(post(0, q, NIC_WRITE, 0, 64, device_mr_key(side[0].mr), 0xdead00), 0);
    assert_int_equal(wait_any(0).status, NIC_REM_ACCESS_ERR);
    do
        assert_int_equal(device_watch_wait(watch, &event), 0);
    while (event.kind != DEVICE_EVENT_QP_ACCESS);
    assert_ptr_equal(event.app, &side[1]);
    device_watch_destroy(watch);
    for (int e = 0; e < 2; e++)
        assert_int_equal(
            device_qp_modify(side[e].qp[q], &(struct device_qp_attr){.mask = DEVICE_ATTR_STATE, .state = NIC_RESET}),
            0);
    for (int e = 0; e < 2; e++)
        connect_qp(side[e].qp[q], side[!e].qp[q]);
}

/* A window of type 2, bound through queue pairs of one shard after the other. */
static void test_window_moves(void **state)
{
    struct device_mw *mw;

    (void)state;
    assert_int_equal(device_mw_create(side[1].live, PD, 2, &mw), 0);
    for (unsigned q = 0; q < 2 * SHARDS; q++) {
        struct device_send bind = {.wr = {.verb = NIC_BIND_MW, .flags = NIC_SIGNALED},
                                   .mw = mw,
                                   .mr = side[1].mr,
                                   .mw_addr = (uintptr_t)side[1].memory + (QPS + q) * SLOT,
                                   .mw_bytes = 4096,
                                   .mw_access = NIC_REMOTE_WRITE,
                                   .mw_key = (device_mw_key(mw) & ~255u) | ((device_mw_key(mw) + 1) & 255u)};
        assert_int_equal(device_post_send(side[1].qp[q], &bind, false), 0);
        assert_int_equal(wait_any(1).status, NIC_SUCCESS);
        fill(side[0].memory + q * SLOT, 4096, q);
        assert_int_equal(post(0, q, NIC_WRITE, 0, 4096, device_mr_key(side[0].mr), device_mw_key(mw)), 0);
        assert_int_equal(wait_any(0).status, NIC_SUCCESS);
        assert_true(right(side[1].memory + (QPS + q) * SLOT, 4096, q));
        struct device_send inv = {.wr = {.verb = NIC_LOCAL_INV, .flags = NIC_SIGNALED, .imm = device_mw_key(mw)}};
        assert_int_equal(device_post_send(side[1].qp[q], &inv, false), 0);
        assert_int_equal(wait_any(1).status, NIC_SUCCESS);
    }
    assert_int_equal(device_mw_destroy(mw), 0);
}

static void bind_window(unsigned q, struct device_mw *mw, unsigned bytes)
{
    struct device_send bind = {.wr = {.verb = NIC_BIND_MW, .flags = NIC_SIGNALED},
                               .mw = mw,
                               .mr = side[1].mr,
                               .mw_addr = (uintptr_t)side[1].memory + QPS * SLOT,
                               .mw_bytes = bytes,
                               .mw_access = NIC_REMOTE_WRITE};
    assert_int_equal(device_post_send(side[1].qp[q], &bind, false), 0);
    assert_int_equal(wait_any(1).status, NIC_SUCCESS);
}

/* A window of type 1, bound through any queue pair: every queue pair may use it, and none the key it had before. */
static void test_window_of_all(void **state)
{
    struct device_mw *mw;

    (void)state;
    assert_int_equal(device_mw_create(side[1].live, PD, 1, &mw), 0);
    for (unsigned binder = 0; binder < SHARDS; binder++) {
        uint32_t before = device_mw_key(mw);
        bind_window(binder, mw, QPS * SLOT);
        assert_int_not_equal(device_mw_key(mw), before);
        assert_int_equal(device_mr_destroy(side[1].mr), -EBUSY);
        for (unsigned q = 0; q < 2 * SHARDS; q++) {
            fill(side[0].memory + q * SLOT, 4096, q + binder);
            assert_int_equal(post(0, q, NIC_WRITE, 0, 4096, device_mr_key(side[0].mr), device_mw_key(mw)), 0);
            assert_int_equal(wait_any(0).status, NIC_SUCCESS);
            assert_true(right(side[1].memory + (QPS + q) * SLOT, 4096, q + binder));
        }
        for (unsigned i = 0; i < SHARDS; i++) {
            assert_int_equal(shard_enter_all(side[1].live), 0);
            assert_null(nic_mr_find(side[1].live->shard[i]->nic, before));
            shard_leave_all(side[1].live);
        }
    }
    bind_window(0, mw, 0); /* to nothing */
    for (unsigned i = 0; i < SHARDS; i++) {
        assert_int_equal(shard_enter_all(side[1].live), 0);
        assert_int_equal(nic_mr_find(side[1].live->shard[i]->nic, device_mw_key(mw))->bytes, 0);
        shard_leave_all(side[1].live);
    }
    assert_int_equal(device_mw_destroy(mw), 0);
}

/* Counted over all shards, here and for another process. */
static void test_counters(void **state)
{
    struct device_counter_set *list;
    unsigned count, sets = 0;
    uint64_t sum = 0, slot = registry_slot(side[0].live->registry);

    (void)state;
    assert_int_equal(shard_enter_all(side[0].live), 0);
    for (unsigned i = 0; i < SHARDS; i++) {
        uint64_t sent = nic_counters(side[0].live->shard[i]->nic)->tx_packets;
        assert_true(sent > 0);
        sum += sent;
        counters_export(side[0].live->shard[i], live_now());
    }
    shard_leave_all(side[0].live);
    assert_true(live_counters(side[0].live)->tx_packets >= sum);
    assert_int_equal(live_counters_read(&list, &count), 0);
    for (unsigned i = 0; i < count; i++) {
        if (list[i].pid != (uint32_t)getpid() || list[i].slot != slot) continue;
        sets++;
        for (unsigned c = 0; c < list[i].counters; c++)
            if (strcmp(list[i].counter[c].name, "tx_packets") == 0) assert_true(list[i].counter[c].value >= sum);
    }
    free(list);
    assert_int_equal(sets, 1);
}

#define FILES 16u
typedef char file_name[RUNTIME_PATH + 300];

/* The files of our counters, one a shard. */
static unsigned counters_files(file_name ret[FILES])
{
    char folder[RUNTIME_PATH];
    unsigned pid, slot, count = 0;
    int rc;

    for (unsigned n = 0; (rc = runtime_folder(n, false, folder)) != -ENOENT; n++) {
        DIR *all = rc == 0 ? opendir(folder) : NULL;
        for (const struct dirent *entry; all && (entry = readdir(all));)
            if (sscanf(entry->d_name, "counters-%u-%u", &pid, &slot) == 2 && pid == (unsigned)getpid() && count < FILES)
                snprintf(ret[count++], sizeof(file_name), "%s/%s", folder, entry->d_name);
        if (all) closedir(all);
    }
    return count;
}

static void write_pid(const char *name, uint32_t pid)
{
    int file = open(name, O_RDWR | O_CLOEXEC);

    assert_int_equal(pwrite(file, &pid, sizeof pid, 16), sizeof pid); /* behind the magic number and the length */
    close(file);
}

static unsigned sets_of(uint32_t pid)
{
    struct device_counter_set *list;
    unsigned count, sets = 0;

    assert_int_equal(live_counters_read(&list, &count), 0);
    for (unsigned i = 0; i < count; i++)
        sets += list[i].pid == pid;
    free(list);
    return sets;
}

/* Whoever lives holds a lock.  Its number says nothing: in another pid namespace it is another process, or none. */
static void test_counters_of_the_dead(void **state)
{
    static file_name name[FILES];
    static char page[16384], copy[sizeof(file_name) + 8];
    uint32_t pid = (uint32_t)getpid(), nobody = 0x7ffffff0;
    unsigned sets = sets_of(pid), files = counters_files(name);

    (void)state;
    assert_int_equal(files, 2 * SHARDS);
    for (unsigned i = 0; i < files; i++)
        write_pid(name[i], nobody);
    assert_int_equal(sets_of(nobody), sets);
    for (unsigned i = 0; i < files; i++)
        write_pid(name[i], pid);

    int file = open(name[0], O_RDONLY | O_CLOEXEC);
    ssize_t bytes = read(file, page, sizeof page);
    close(file);
    snprintf(copy, sizeof copy, "%s-copy", name[0]);
    file = open(copy, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(bytes > 0 && write(file, page, (size_t)bytes) == bytes);
    close(file);
    assert_int_equal(sets_of(pid), sets);
    assert_int_equal(access(copy, F_OK), -1); /* nobody holds it: removed, whoever has its number now */
    assert_int_equal(counters_files(name), files);
}

/* In a child of fork every call is refused, whatever the threads were at. */
static void test_fork(void **state)
{
    int status;

    (void)state;
    for (unsigned q = 0; q < QPS; q++)
        assert_int_equal(post(0, q, NIC_WRITE, 0, SLOT, device_mr_key(side[0].mr), device_mr_key(side[1].mr)), 0);
    pid_t child = fork();
    if (child == 0) {
        struct nic_cqe cqe;
        bool inert = device_poll(side[0].cq, &cqe, 1) == -ENODEV && device_cq_arm(side[0].cq, false) == -ENODEV &&
                     receive(0, 1, 1) == -ENODEV &&
                     post(0, 1, NIC_WRITE, 0, 8, device_mr_key(side[0].mr), device_mr_key(side[1].mr)) == -ENODEV;
        _exit(inert ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (unsigned q = 0; q < QPS; q++)
        assert_int_equal(wait_any(0).status, NIC_SUCCESS);
}

/* What is not for several adapters has one. */
static void test_count(void **state)
{
    struct live_environment env;
    char why[200];

    (void)state;
    assert_int_equal(live_environment_read(&env, why, sizeof why), 0);
    assert_int_equal(shard_count(&env), SHARDS);
    struct live_environment one = env;
    one.thread = false;
    assert_int_equal(shard_count(&one), 1);
    one = env;
    one.rate_bps = 1;
    assert_int_equal(shard_count(&one), 1);
    one = env;
    one.pcap = "file";
    assert_int_equal(shard_count(&one), 1);
    one = env;
    one.wire = LIVE_WIRE_PACKET;
    assert_int_equal(shard_count(&one), 1);
    setenv("ROCELAB_SHARDS", "9", 1);
    assert_int_equal(live_environment_read(&env, why, sizeof why), -EINVAL);
    assert_string_equal(why, "ROCELAB_SHARDS=9: a number from 1 to 8 is expected");
    setenv("ROCELAB_SHARDS", "4", 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count),
        cmocka_unit_test_setup_teardown(test_spread, begin, end),
        cmocka_unit_test_setup_teardown(test_traffic, begin, end),
        cmocka_unit_test_setup_teardown(test_once_in_order, begin, end),
        cmocka_unit_test_setup_teardown(test_regions_come_and_go, begin, end),
        cmocka_unit_test_setup_teardown(test_deregister_under_traffic, begin, end),
        cmocka_unit_test_setup_teardown(test_events, begin, end),
        cmocka_unit_test_setup_teardown(test_asynchronous, begin, end),
        cmocka_unit_test_setup_teardown(test_window_moves, begin, end),
        cmocka_unit_test_setup_teardown(test_window_of_all, begin, end),
        cmocka_unit_test_setup_teardown(test_fork, begin, end),
    };
    const struct CMUnitTest counted[] = {cmocka_unit_test(test_traffic), cmocka_unit_test(test_counters),
                                         cmocka_unit_test(test_counters_of_the_dead)};
    int failed;

    alone_begin(alone_folder);
    if (argc > 1) setenv("ROCELAB_WIRE", argv[1], 1);
    setenv("ROCELAB_SHARDS", "4", 1);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += cmocka_run_group_tests(counted, begin, end);
    alone_end(alone_folder);
    return failed;
}
