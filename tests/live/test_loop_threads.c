/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads on one device: each drives a queue pair of its own with random operations and sizes over a wire that
 * loses, doubles, reorders and damages, and compares every byte; another makes and destroys objects meanwhile.
 * Every work request completes exactly once.  And the progress thread keeps out of a busy program's way.
 */
#include <pthread.h>
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

#include <cmocka.h>

#include "../seed.h"
#include "base/rng.h"
#include "live/live_int.h"
#include "torture_alone.h"

#define SEED test_seed_or(20250911)
#define THREADS 4
#define OPERATIONS 600u
#define BYTES 60000u

struct side {
    struct device *live;
    struct device_cq *cq;
    struct device_qp *qp;
    struct device_mr *mr;
    uint8_t *memory;
};

struct driver {
    struct side side[2];
    uint64_t seed;
    unsigned failed; /* the operation that went wrong, plus one */
};

static struct device *device[2];
static struct pkt_addr address;
static bool stop;

static void side_open(struct side *side, struct device *live, uint32_t pd)
{
    struct device_qp_init init = {
        .transport = NIC_RC, .pd = pd, .send_entries = 16, .recv_entries = 16, .send_sges = 1, .recv_sges = 1};

    side->live = live;
    side->memory = calloc(1, 2 * BYTES);
    assert_non_null(side->memory);
    assert_int_equal(device_mr_create(live, pd, side->memory, 2 * BYTES, (uintptr_t)side->memory, 15, &side->mr), 0);
    assert_int_equal(device_cq_create(live, 64, NULL, NULL, &side->cq), 0);
    init.send_cq = init.recv_cq = side->cq;
    assert_int_equal(device_qp_create(live, &init, &side->qp), 0);
}

static void side_connect(struct side *side, const struct side *other)
{
    struct device_qp_attr to[] = {
        {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_ACCESS, .state = NIC_INIT, .access = NIC_REMOTE_ALL},
        {.mask =
             DEVICE_ATTR_STATE | DEVICE_ATTR_MTU | DEVICE_ATTR_PATH | DEVICE_ATTR_REMOTE_QP | DEVICE_ATTR_EXPECT_PSN,
         .state = NIC_RTR,
         .mtu = 1024,
         .path = {.remote = address, .hop_limit = 64},
         .remote_qp = device_qp_number(other->qp)},
        {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_SEND_PSN | DEVICE_ATTR_TIMEOUT | DEVICE_ATTR_RETRY |
                 DEVICE_ATTR_RNR_RETRY | DEVICE_ATTR_MAX_READ,
         .state = NIC_RTS,
         .timeout = 17,
         .retry = NIC_RETRY_FOREVER,
         .rnr_retry = 7,
         .max_read = 4}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(device_qp_modify(side->qp, &to[i]), 0);
}

static void side_close(struct side *side)
{
    device_qp_destroy(side->qp);
    device_cq_destroy(side->cq);
    device_mr_destroy(side->mr);
    free(side->memory);
}

static bool wait_one(struct side *side, uint64_t wr_id)
{
    struct nic_cqe cqe;
    int count;

    while ((count = device_poll(side->cq, &cqe, 1)) == 0)
        sched_yield();
    return count == 1 && cqe.status == NIC_SUCCESS && cqe.wr_id == wr_id;
}

/* One operation from side `a` to side `b`: false: wrong data, or a wrong completion. */
static bool operate(struct driver *d, struct rng *rng, uint64_t wr_id)
{
    static const uint8_t verbs[] = {NIC_SEND, NIC_WRITE, NIC_READ};
    int from = (int)(rng_u32(rng) & 1);
    struct side *a = &d->side[from], *b = &d->side[!from];
    uint8_t verb = verbs[rng_u32(rng) % 3];
    uint32_t bytes = rng_u32(rng) % (rng_u32(rng) & 1 ? BYTES : 2000u);
    uint8_t *source = verb == NIC_READ ? b->memory : a->memory;
    uint8_t *target = (verb == NIC_READ ? a->memory : b->memory) + BYTES;

    for (uint32_t i = 0; i < bytes; i++)
        source[i] = (uint8_t)(wr_id + i * 7);
    memset(target, 0xee, bytes);
    struct device_sge sge = {(uintptr_t)(verb == NIC_READ ? target : source), bytes, device_mr_key(a->mr)};
    struct device_sge room = {(uintptr_t)target, bytes, device_mr_key(b->mr)};
    if (verb == NIC_SEND &&
        device_post_recv(b->qp, &(struct device_recv){.wr_id = wr_id + 1000000, .sge = &room, .sges = 1}) != 0)
        return false;
    struct device_send send = {.wr = {.wr_id = wr_id,
                                      .verb = verb,
                                      .flags = NIC_SIGNALED,
                                      .rkey = device_mr_key(b->mr),
                                      .remote_va = (uintptr_t)(verb == NIC_READ ? source : target)},
                               .sge = &sge,
                               .sges = 1};
    if (device_post_send(a->qp, &send, false) != 0 || !wait_one(a, wr_id)) return false;
    if (verb == NIC_SEND && !wait_one(b, wr_id + 1000000)) return false;
    return memcmp(target, source, bytes) == 0;
}

static void *drive(void *argument)
{
    struct driver *d = argument;
    struct rng rng;

    rng_init(&rng, d->seed, 1);
    for (unsigned i = 0; i < OPERATIONS && d->failed == 0; i++)
        if (!operate(d, &rng, i)) d->failed = i + 1;
    return NULL;
}

static void *disturb(void *argument)
{
    uint8_t memory[4096];
    unsigned *made = argument;

    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        struct device_mr *mr;
        struct device_cq *cq;
        struct device_qp *qp;
        struct device_qp_init init = {.transport = NIC_UD, .pd = 99, .send_entries = 4, .recv_entries = 4};
        if (device_mr_create(device[0], 99, memory, sizeof memory, 0, 0, &mr) != 0) break;
        if (device_cq_create(device[0], 8, NULL, NULL, &cq) != 0) break;
        init.send_cq = init.recv_cq = cq;
        if (device_qp_create(device[0], &init, &qp) != 0) break;
        device_qp_destroy(qp);
        device_cq_destroy(cq);
        device_mr_destroy(mr);
        (*made)++;
        usleep(200);
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct driver driver[THREADS] = {{.failed = 0}};
    pthread_t thread[THREADS], disturber;
    unsigned made = 0;
    uint64_t seed = SEED;

    (void)state;
    for (uint32_t i = 0; i < THREADS; i++) {
        driver[i].seed = seed + i;
        for (int s = 0; s < 2; s++)
            side_open(&driver[i].side[s], device[s], 10 + i);
        for (int s = 0; s < 2; s++)
            side_connect(&driver[i].side[s], &driver[i].side[!s]);
    }
    assert_int_equal(pthread_create(&disturber, NULL, disturb, &made), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, drive, &driver[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(disturber, NULL);
    for (int i = 0; i < THREADS; i++)
        if (driver[i].failed)
            fail_msg("seed %llu thread %d: operation %u went wrong", (unsigned long long)seed, i, driver[i].failed - 1);
    assert_true(made > 0);
    assert_true(live_counters(device[0])->retransmitted_packets > 0);
    for (int i = 0; i < THREADS; i++)
        for (int s = 0; s < 2; s++)
            side_close(&driver[i].side[s]);
    for (int s = 0; s < 2; s++) { /* nothing is left behind: every descriptor is in the pool or waits to be sent */
        live_enter(device[s]);
        nic_audit(device[s]->nic, &device[s]->pool);
        assert_int_equal(nic_qp_count(device[s]->nic), 0);
        live_leave(device[s]);
    }
}

/* A program that has the lock whenever the thread looks, and polls: the thread does not queue for the lock, however
 * often it finds it taken. */
static void test_lock_left(void **state)
{
    struct device *live = device[0];
    unsigned left = 0;

    (void)state;
    if (shard_many(live)) skip(); /* there a caller has the lock for a moment, and the thread waits */
    pthread_mutex_lock(&live->lock);
    __atomic_store_n(&live->polled_at, live_now() + 100 * PS_S, __ATOMIC_RELAXED); /* no slow machine makes it old */
    unsigned before = __atomic_load_n(&live->lock_left, __ATOMIC_RELAXED);
    eventfd_write(live->wake_fd, 1);
    for (int turn = 0; turn < 5000 && left < 16; turn++) {
        usleep(1000);
        left = __atomic_load_n(&live->lock_left, __ATOMIC_RELAXED) - before;
    }
    __atomic_store_n(&live->polled_at, live_now(), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&live->lock);
    assert_true(left >= 16);
}

static char folder[ALONE_FOLDER];

static int begin(void **state)
{
    struct device_info *list;
    unsigned count;
    char text[80];

    (void)state;
    alone_begin(folder);
    snprintf(text, sizeof text, "loss=0.5%%,duplicate=0.3%%,reorder=0.3%%,corrupt=0.2%%,seed=%llu",
             (unsigned long long)SEED);
    setenv("ROCELAB_FAULT", text, 1);
    if (device_list(&list, &count) < 0 || count == 0) return -1;
    address = list[0].gid[0].addr;
    for (int s = 0; s < 2; s++)
        if (live_open_alone(&list[0], &device[s], text, sizeof text) < 0) return -1;
    free(list);
    return 0;
}

static int done(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++)
        device_close(device[s]);
    alone_end(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads), cmocka_unit_test(test_lock_left)};
    return cmocka_run_group_tests(tests, begin, done);
}
