/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See lab.h.
 */
#include "lab.h"

#include <stdlib.h>
#include <string.h>

void lab_defaults(struct lab *lab, uint16_t ports)
{
    memset(lab, 0, sizeof *lab);
    struct sw_port_config *plain = &lab->plain;
    for (uint32_t i = 0; i < 64; i++)
        plain->dscp_to_tc[i] = (uint8_t)(i >> 3);
    for (uint8_t i = 0; i < SW_PRIOS; i++) {
        plain->pcp_to_tc[i] = i;
        plain->tc_to_queue[i] = i;
        plain->tc_to_pg[i] = i;
        plain->queue[i] = (struct sw_queue_config){.weight_bytes = 10000, .limit_bytes = UINT64_MAX};
        plain->pg[i] = (struct sw_pg_config){.dynamic = true, .alpha_num = 1, .alpha_den = 1};
    }
    plain->pg[3].lossless = true;
    plain->pg[3].headroom_bytes = 20000;
    plain->pfc_rx = plain->pfc_tx = 1u << 3;
    plain->pause_quanta = UINT16_MAX;
    for (uint32_t i = 0; i < LAB_PORTS; i++) {
        lab->port_of[i] = plain;
        lab->rate_bps[i] = LAB_RATE;
        lab->local_port[i] = (uint16_t)i;
    }
    lab->edge_of[LAB_FAR_ENDPOINT] = LAB_FAR;
    lab->group_of[0] = UINT16_MAX;
    lab->routes = (struct sw_routes){
        .edge_of = lab->edge_of,
        .local_port = lab->local_port,
        .group_of = lab->group_of,
        .group = lab->group,
        .port = lab->member,
        .hash_fields = SW_HASH_SRC | SW_HASH_DST | SW_HASH_SPORT,
    };
    lab->config = (struct sw_config){
        .ports = ports,
        .cell_bytes = 1,
        .buffer_bytes = 1000000 + ports * 20000ull,
        .refresh_pauses = true,
        .seed = 1,
        .port = lab->port_of,
        .rate_bps = lab->rate_bps,
    };
}

void lab_start(struct lab *lab)
{
    lab->pool.hot = calloc(LAB_PACKETS, sizeof *lab->pool.hot);
    lab->pool.free = calloc(LAB_PACKETS, sizeof *lab->pool.free);
    assert_non_null(lab->pool.hot);
    assert_non_null(lab->pool.free);
    for (uint32_t i = 0; i < LAB_PACKETS; i++)
        lab->pool.free[i] = LAB_PACKETS - 1 - i;
    lab->pool.free_count = lab->pool.free_capacity = LAB_PACKETS;
    const char *problem = sw_config_problem(&lab->config);
    if (problem) fail_msg("configuration: %s", problem);
    size_t bytes = sw_memory_bytes(&lab->config);
    void *memory = aligned_alloc(64, bytes);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    lab->sw = sw_init(memory, &lab->config, &lab->routes);
    lab->io.pool = &lab->pool;
    lab->io.deadline = PS_NEVER;
}

void lab_audit(const struct lab *lab, uint32_t in_hand)
{
    sw_audit(lab->sw);
    uint64_t came = 0, left = 0, dropped = 0, trimmed = 0, queued_bytes = 0, rx_bytes = 0;
    for (uint16_t port = 0; port < lab->config.ports; port++) {
        const struct sw_port_counters *count = lab_count(lab, port);
        uint64_t by_reason = 0, by_prio = 0;
        for (uint32_t i = 0; i < SW_DROPS; i++)
            by_reason += count->drop[i];
        for (uint8_t i = 0; i < SW_PRIOS; i++) {
            by_prio += count->prio[i].drops;
            trimmed += count->prio[i].trimmed;
            queued_bytes += sw_queue_bytes(lab->sw, port, i);
        }
        assert_int_equal(by_reason, by_prio);
        came += count->rx_packets;
        left += count->tx_packets;
        dropped += by_reason;
        rx_bytes += count->rx_bytes - count->tx_bytes;
    }
    assert_int_equal(lab->pool.taken - lab->pool.given, came - left - dropped + in_hand);
    if (came == left + dropped) assert_int_equal(queued_bytes, 0);
    if (!dropped && !trimmed) assert_int_equal(queued_bytes, rx_bytes);
}

void lab_stop(struct lab *lab)
{
    lab_audit(lab, 0);
    free(lab->sw);
    free(lab->pool.hot);
    free(lab->pool.free);
}

pkt_t lab_packet(struct lab *lab, uint32_t dst, uint8_t tc, uint16_t frame_bytes)
{
    pkt_t id = pktpool_get(&lab->pool);
    assert_int_not_equal(id, PKT_NONE);
    *lab_pkt(lab, id) = (struct pkt){
        .kind = PKT_ROCE,
        .net = PKT_NET_IPV4,
        .tos = (uint8_t)(tc << 5 | PKT_ECN_ECT0),
        .pcp = tc,
        .ttl = 64,
        .frame_bytes = frame_bytes,
        .dst_node = dst,
    };
    return id;
}

void lab_clear(struct lab *lab)
{
    lab->io.pauses = lab->io.kicks = 0;
}

uint16_t lab_rx_id(struct lab *lab, uint16_t in, pkt_t id)
{
    lab_clear(lab);
    return sw_rx(lab->sw, in, id, lab->now, &lab->io);
}

uint16_t lab_rx(struct lab *lab, uint16_t in, uint32_t dst, uint8_t tc, uint16_t frame_bytes)
{
    return lab_rx_id(lab, in, lab_packet(lab, dst, tc, frame_bytes));
}

pkt_t lab_tx_id(struct lab *lab, uint16_t port)
{
    lab_clear(lab);
    return sw_tx(lab->sw, port, lab->now, &lab->io);
}

int lab_tx(struct lab *lab, uint16_t port)
{
    pkt_t id = lab_tx_id(lab, port);
    if (id == PKT_NONE) return -1;
    pktpool_put(&lab->pool, id);
    return lab_pkt(lab, id)->tc;
}

void lab_pause(struct lab *lab, uint16_t port, uint8_t enable, uint16_t quanta)
{
    uint16_t all[8];
    for (uint32_t i = 0; i < 8; i++)
        all[i] = quanta;
    lab_clear(lab);
    sw_pause(lab->sw, port, enable, all, lab->now, &lab->io);
}

void lab_tick(struct lab *lab, ps_t at)
{
    lab_clear(lab);
    lab->now = at;
    sw_tick(lab->sw, at, &lab->io);
}

void lab_run(struct lab *lab, ps_t until)
{
    while (lab->io.deadline <= until)
        lab_tick(lab, lab->io.deadline);
    lab->now = until;
}

void lab_port(struct lab *lab, uint16_t port, bool up)
{
    lab_clear(lab);
    sw_port_state(lab->sw, port, up, lab->now, &lab->io);
}
