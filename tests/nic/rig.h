/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the scenario tests share: one pair of adapters with one connection, and the words to ask about them.
 * Include after <cmocka.h>.
 */
#ifndef ROCELAB_TESTS_NIC_RIG_H
#define ROCELAB_TESTS_NIC_RIG_H

#include "nic/pair.h"

static struct pair pair;
static struct pair_end end[2];
static bool connected;

static inline int rig_set_up(void **state)
{
    (void)state;
    pair_init_default(&pair, 4, 1);
    connected = false;
    return 0;
}

static inline void rig_disconnect(void)
{
    if (connected) pair_disconnect(&pair, end);
    connected = false;
}

static inline int rig_tear_down(void **state)
{
    (void)state;
    rig_disconnect();
    pair_release(&pair);
    return 0;
}

static inline void rig_connect(const struct nic_qp_config *config)
{
    pair_connect(&pair, config, end);
    connected = true;
}

static inline void expect_cqe(struct nic_cq *cq, uint64_t wr_id, enum nic_status status)
{
    const struct nic_cqe *cqe = nic_cq_poll(cq);
    assert_non_null(cqe);
    assert_int_equal(cqe->wr_id, wr_id);
    assert_string_equal(nic_status_name(cqe->status), nic_status_name(status));
}

static inline void expect_empty(struct nic_cq *cq)
{
    assert_null(nic_cq_poll(cq));
    assert_false(cq->overrun);
}

/* The i-th packet that went onto the wire. */
static inline const struct pkt *seen(uint32_t i)
{
    assert_true(i < pair.seen_count && i < PAIR_LOG);
    return &pair.seen[i].pkt;
}

static inline uint32_t count_seen(int from, uint8_t opcode)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < pair.seen_count; i++)
        n += pair.seen[i].from == from && pair.seen[i].pkt.opcode == opcode;
    return n;
}

#endif
