/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the switch: counters, and what the books say now.
 *
 * What a packet counts on its way lies beside the state it changes anyway (ledger, queue); sw_port_counters() copies
 * it into the port's counters, where all that is rare is counted directly.
 */
#include "switch/switch_int.h"

const struct sw_counter sw_port_counter_list[] = {
#define PORT(name, help) {#name, help, SW_COUNTER_COUNT, offsetof(struct sw_port_counters, name)},
#define DROP(name, help)                                                                                               \
    {"drop_" #name, help, SW_COUNTER_COUNT,                                                                            \
     offsetof(struct sw_port_counters, drop) + SW_DROP_##name * sizeof(uint64_t)},
#include "switch/counters.def"
    {NULL, NULL, SW_COUNTER_COUNT, 0},
};

const struct sw_counter sw_prio_counter_list[] = {
#define PRIO(name, kind, help) {#name, help, SW_COUNTER_##kind, offsetof(struct sw_prio_counters, name)},
#include "switch/counters.def"
    {NULL, NULL, SW_COUNTER_COUNT, 0},
};

const char *const sw_drop_name[SW_DROPS] = {
#define DROP(name, help) #name,
#include "switch/counters.def"
};

const struct sw_port_counters *sw_port_counters(const struct sw *sw, uint16_t port)
{
    CHECK(port < sw->ports);
    struct sw_port_counters *count = &sw->counters[port];
    count->rx_packets = count->rx_bytes = count->tx_packets = count->tx_bytes = 0;
    for (uint32_t i = 0; i < SW_PRIOS; i++) {
        const struct sw_pg *pg = sw_pg_at(sw, port, i);
        const struct sw_queue *queue = sw_queue_at(sw, port, i);
        struct sw_prio_counters *prio = &count->prio[i];
        prio->rx_packets = pg->rx_packets;
        prio->rx_bytes = pg->rx_bytes;
        prio->pg_max_bytes = (uint64_t)pg->total_max * sw->cell_bytes;
        prio->headroom_max_bytes = (uint64_t)pg->headroom_max * sw->cell_bytes;
        prio->tx_packets = queue->tx_packets;
        prio->tx_bytes = queue->tx_bytes;
        prio->ecn_marked = queue->marked;
        prio->queue_max_bytes = queue->bytes_max;
        count->rx_packets += pg->rx_packets;
        count->rx_bytes += pg->rx_bytes;
        count->tx_packets += queue->tx_packets;
        count->tx_bytes += queue->tx_bytes;
    }
    return count;
}

uint64_t sw_queue_bytes(const struct sw *sw, uint16_t port, uint8_t queue)
{
    CHECK(port < sw->ports && queue < SW_PRIOS);
    return sw_queue_at(sw, port, queue)->bytes;
}

uint64_t sw_pg_bytes(const struct sw *sw, uint16_t port, uint8_t pg)
{
    CHECK(port < sw->ports && pg < SW_PRIOS);
    const struct sw_pg *ledger = sw_pg_at(sw, port, pg);
    return ((uint64_t)ledger->held + ledger->headroom) * sw->cell_bytes;
}

uint64_t sw_pg_headroom_bytes(const struct sw *sw, uint16_t port, uint8_t pg)
{
    CHECK(port < sw->ports && pg < SW_PRIOS);
    return (uint64_t)sw_pg_at(sw, port, pg)->headroom * sw->cell_bytes;
}

uint64_t sw_shared_bytes(const struct sw *sw)
{
    return (uint64_t)sw->shared_size * sw->cell_bytes;
}

uint64_t sw_shared_used(const struct sw *sw)
{
    return (uint64_t)sw->shared_used * sw->cell_bytes;
}

uint16_t sw_paused(const struct sw *sw, uint16_t port)
{
    CHECK(port < sw->ports);
    return sw->credits ? sw_waiting(sw, port) : sw->slow[port].paused_prio;
}

uint16_t sw_pausing(const struct sw *sw, uint16_t port)
{
    CHECK(port < sw->ports);
    return sw->slow[port].told;
}
