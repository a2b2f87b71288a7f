/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam for programs: hosts that may have some run jobs exactly as hosts that may not, and a program (here: a few
 * functions of the test) posts at its time, has its bytes moved, and is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/fabric.h"
#include "plant/plant.h"
#include "sim/programs.h"
#include "support.h"

#define CLASSES                                                                                                        \
    "classes:\n"                                                                                                       \
    "  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 50KB, max: 200KB, probability: 10%}}\n"        \
    "  - {name: cnp, dscp: 48, priority: 6, strict: true}\n"                                                           \
    "  - {name: default, priority: 0}\n"
#define FABRIC                                                                                                         \
    "rocelab: 1\ntopology: {leaf-spine: {leaves: 2, spines: 2, hosts: 4}}\n"                                           \
    "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}\n" CLASSES

#define BYTES 40000u
#define QPN 0x4000u
#define POST_AT (10 * PS_US)
#define KEY 0x1200u
#define PD 7u

struct owner {
    struct sim *sim;
    ps_t post_at, completed_at;
    bool made, done;
    uint64_t asked;
    uint8_t from[BYTES], to[BYTES];
    uint8_t *kept; /* [packet] payload under way */
    uint32_t packets, unknown;
    struct nic_wr sq[4];
    struct nic_cqe cqe[4];
    struct nic_cq cq;
};

static ps_t next(void *owner, uint32_t host)
{
    const struct owner *own = owner;
    return host == 0 ? own->post_at : PS_NEVER;
}

static struct nic *nic_of(const struct owner *own, uint32_t host)
{
    return sim_host_node(own->sim, host)->adapter[0].nic;
}

static struct nic_qp *make(struct owner *own, uint32_t host, uint32_t peer, ps_t now)
{
    const struct plant *plant = sim_plant(own->sim);
    struct nic_qp_config config = plant_qp_config(&plant->fabric->nic[0], &plant->cc[0]);
    struct nic_qp *qp;

    config.app = own;
    config.remote = peer;
    config.remote_qp = QPN;
    config.tos = 26 << 2;
    config.prio = 3;
    config.pd = PD;
    config.access = NIC_REMOTE_ALL;
    config.sq = own->sq;
    config.sq_size = 4;
    config.send_cq = config.recv_cq = &own->cq;
    assert_int_equal(nic_qp_create(nic_of(own, host), QPN, &config, now, &qp), 0);
    return qp;
}

static void turn(void *owner, uint32_t host, ps_t now, struct node_io *io)
{
    struct owner *own = owner;
    const struct nic_mr region = {
        .va = 0x10000, .bytes = BYTES, .key = KEY, .pd = PD, .rights = NIC_REMOTE_ALL, .live = true};
    const struct nic_wr wr = {
        .verb = NIC_WRITE, .flags = NIC_SIGNALED, .length = BYTES, .rkey = KEY, .remote_va = 0x10000, .wr_id = 5};

    assert_int_equal(host, 0);
    assert_int_equal(now, POST_AT);
    own->post_at = PS_NEVER;
    struct nic_qp *qp = make(own, 0, 5, now);
    (void)make(own, 5, 0, now); /* one thread runs all: the other host stands still */
    assert_int_equal(nic_mr_set(nic_of(own, 5), &region), 0);
    assert_int_equal(nic_post_send(nic_of(own, 0), qp, &wr, now, &io->nic), 0);
}

static void received(void *owner, uint32_t host, uint32_t adapter, const struct sim_arrival *packet, ps_t now,
                     struct node_io *io)
{
    struct owner *own = owner;

    (void)adapter;
    (void)now;
    if (packet->dest_qp != QPN) own->unknown++;
    if (io->nic.place.kind != NIC_PLACE_MEMORY) return;
    assert_int_equal(host, 5);
    memcpy(own->to + (io->nic.place.va - 0x10000), own->kept + (size_t)packet->id * 4096, io->nic.place.bytes);
    own->packets++;
}

static bool sends(void *owner, uint32_t host, uint32_t adapter, pkt_t id, ps_t now, struct node_io *io)
{
    const struct owner *own = owner;

    (void)adapter;
    (void)now;
    assert_int_equal(host, 0);
    memcpy(own->kept + (size_t)id * 4096, own->from + io->nic.gather.offset, io->nic.gather.bytes);
    return true;
}

static void completed(void *owner, uint32_t host, ps_t now, struct node_io *io)
{
    struct owner *own = owner;
    const struct nic_cqe *cqe = nic_cq_poll(&own->cq);

    (void)host;
    (void)io;
    own->asked++;
    if (cqe == NULL) return;
    assert_int_equal(cqe->status, NIC_SUCCESS);
    assert_int_equal(cqe->wr_id, 5);
    own->completed_at = now;
    own->done = true;
}

static bool coordinate(void *owner, ps_t now)
{
    const struct owner *own = owner;

    (void)now;
    return own->done;
}

static ps_t ended(void *owner)
{
    const struct owner *own = owner;
    return own->completed_at;
}

static const struct sim_programs calls = {
    .qps = 4,
    .mrs = 4,
    .next = next,
    .turn = turn,
    .received = received,
    .sends = sends,
    .completed = completed,
    .coordinate = coordinate,
    .ended = ended,
};

static void init(struct owner *own, struct sim_programs *hooks)
{
    *own = (struct owner){.post_at = PS_NEVER, .done = true};
    nic_cq_init(&own->cq, own->cqe, 4);
    *hooks = calls;
    hooks->owner = own;
}

/* Nobody comes: every packet of the jobs is where it is without all this. */
static void test_jobs_alone(void **state)
{
    static const char *const text[] = {
        FABRIC "jobs: [{incast: 4, size: 1MB}, {allreduce: ring, size: 2MB}]\n",
        FABRIC "nics: {recovery: selective}\njobs: [{permutation: random, size: 1MB}]\n"
               "faults: [{corrupt: h1, share: 1%, at: 0us}]\n",
        FABRIC "nics: {software: {post: 60ns, poll: 30ns}}\njobs: [{all-to-all: at-once, size: 200KB}]\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        static struct owner own;
        struct sim_programs hooks;
        struct sim_options options = options_of(3, 1);
        struct run without = run_text(text[i], options);
        init(&own, &hooks);
        options.programs = &hooks;
        struct run with = run_text(text[i], options);
        assert_int_equal(with.result.digest, without.result.digest);
        assert_int_equal(with.result.virtual_ps, without.result.virtual_ps);
        assert_int_equal(own.unknown, 0);
        run_free(&with);
        run_free(&without);
    }
}

/* The message of a program takes as long as one of a job, and its bytes arrive. */
static void test_message(void **state)
{
    static struct owner own;
    struct sim_programs hooks;
    struct sim_options options = options_of(1, 1);
    struct run job =
        run_text(FABRIC "nics: {mtu: 4096}\njobs: [{flows: [{src: h0, dst: h5, size: 40000B, at: 10us}]}]\n", options);

    (void)state;
    init(&own, &hooks);
    own.post_at = POST_AT;
    own.done = false;
    own.kept = calloc(1u << 16, 4096);
    for (uint32_t i = 0; i < BYTES; i++)
        own.from[i] = (uint8_t)(i * 2654435761u >> 13);
    options.programs = &hooks;
    options.packets_max = 1u << 16;
    struct run run = run_text_with(FABRIC "nics: {mtu: 4096}\n", options, &own.sim);
    assert_int_equal(own.packets, 10);
    assert_memory_equal(own.from, own.to, BYTES);
    assert_int_equal(own.completed_at, job.result.virtual_ps);
    assert_int_equal(run.result.virtual_ps, job.result.virtual_ps);
    run_free(&run);
    run_free(&job);
    free(own.kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_alone),
        cmocka_unit_test(test_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
