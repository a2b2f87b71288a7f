/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One adapter with one queue pair, whose peer's packets are made by hand.  Include after <cmocka.h>.
 */
#ifndef ROCELAB_TESTS_NIC_LONE_H
#define ROCELAB_TESTS_NIC_LONE_H

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "nic/nic.h"
#include "nic/nic_int.h"
#include "packet/opcode.h"
#include "packet/telemetry.h"

#define POOL 64u
#define MTU 256u
#define PEER 1u
#define KEY 0x100u
#define VA 0x10000u
#define NAK_ACCESS 0x62u
#define NAK_INVALID 0x61u

static struct pkt hot[POOL];
static struct pkt_cold cold[POOL];
static struct pkt_int telemetry[POOL];
static uint32_t unused[POOL];
static struct pktpool pool;
static struct nic_io io;
static struct nic *nic;
static struct nic_config config;
static struct nic_qp_config qp_config;
static struct nic_qp *qp;
static struct nic_wr sq[512];
static struct nic_recv rq[8];
static struct nic_resource resource[4];
static struct nic_cqe cqes[64];
static struct nic_cq cq;
static void *selective;
static ps_t now;

static inline int set_up(void **state)
{
    (void)state;
    pool = (struct pktpool){
        .hot = hot, .cold = cold, .telemetry = telemetry, .free = unused, .free_capacity = POOL, .free_count = POOL};
    for (uint32_t i = 0; i < POOL; i++)
        unused[i] = i;
    io = (struct nic_io){.pool = &pool};
    now = PS_MS;
    config = nic_config_default(100000000000, 9);
    config.max_mrs = 4;
    nic_cq_init(&cq, cqes, 64);
    qp_config = nic_qp_config_default();
    qp_config.mtu = MTU;
    qp_config.remote = PEER;
    qp_config.remote_qp = 77;
    qp_config.pd = 7;
    qp_config.send_cq = qp_config.recv_cq = &cq;
    qp_config.sq = sq;
    qp_config.sq_size = 512;
    qp_config.rq = rq;
    qp_config.rq_size = 8;
    qp_config.resource = resource;
    qp_config.resource_size = 4;
    selective = calloc(1, nic_selective_bytes(64));
    assert_non_null(selective);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    if (nic) nic_audit(nic, &pool);
    free(nic);
    free(selective);
    nic = NULL;
    return 0;
}

static inline void region(uint8_t rights, bool live)
{
    struct nic_mr mr = {.va = VA, .bytes = 4096, .key = KEY, .pd = 7, .rights = rights, .live = live};
    assert_int_equal(nic_mr_set(nic, &mr), 0);
}

static inline void start(void)
{
    size_t bytes = (nic_memory_bytes(&config) + 63) & ~(size_t)63;
    void *memory = aligned_alloc(64, bytes);

    assert_non_null(memory);
    memset(memory, 0, bytes);
    nic = nic_init(memory, &config);
    assert_int_equal(nic_qp_create(nic, 0, &qp_config, now, &qp), 0);
    region(NIC_REMOTE_ALL, true);
}

static inline void start_selective(void)
{
    qp_config.recovery = NIC_SELECTIVE;
    qp_config.selective = selective;
    qp_config.selective_size = 64;
    start();
}

static inline struct pkt packet(uint8_t opcode, uint32_t psn, uint16_t payload)
{
    return (struct pkt){.kind = PKT_ROCE,
                        .opcode = opcode,
                        .flags = PKT_ACK_REQUEST,
                        .src_node = PEER,
                        .dest_qp = nic_qp_number(qp),
                        .psn = psn,
                        .payload_bytes = payload,
                        .frame_bytes = 100};
}

static inline void give(struct pkt p)
{
    pkt_t id = pktpool_get(&pool);
    assert_int_not_equal(id, PKT_NONE);
    hot[id] = p;
    telemetry[id] = (struct pkt_int){.hops = 0};
    nic_rx(nic, id, now, &io);
}

static inline void give_rdma(uint8_t opcode, uint32_t psn, uint16_t payload, uint32_t key, uint64_t va, uint32_t length)
{
    struct pkt p = packet(opcode, psn, payload);
    p.rdma.rkey = key;
    p.rdma.va = va;
    p.rdma.dma_bytes = length;
    give(p);
}

/* The next packet out; NULL: none. */
static inline const struct pkt *out(void)
{
    static struct pkt p;
    pkt_t id = nic_tx(nic, now, &io);

    if (id == PKT_NONE) return NULL;
    p = hot[id];
    pktpool_put(&pool, id);
    return &p;
}

static inline void expect_out(uint8_t opcode, uint32_t psn, uint8_t syndrome)
{
    const struct pkt *p = out();
    assert_non_null(p);
    assert_int_equal(p->opcode, opcode);
    assert_int_equal(p->psn, psn);
    if (opcode == OPCODE_RC_ACK) assert_int_equal(p->ack.syndrome, syndrome);
}

static inline void expect_nothing(void)
{
    assert_null(out());
}

#define LONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
