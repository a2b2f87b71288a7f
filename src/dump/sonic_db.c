/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SONiC switch's COUNTERS_DB as `sonic-db-dump` prints it: ports, queues and priority groups by object id, and the
 * maps from names to ids.
 *
 * Statistics have SAI's names; those that the simulator's switch does not count are not there, as on a platform that
 * does not support them.
 */
#include <inttypes.h>
#include <stdarg.h>

#include "dump/dump_int.h"

#include "fabric/fabric.h"

#define OID 32

enum kind { KIND_PORT = 0x1, KIND_QUEUE = 0x15, KIND_PG = 0x1a };

/* The type in the upper half, then a number that is the switch's own. */
static const char *oid(enum kind kind, const struct moment *m, uint32_t port, unsigned prio, char buf[OID])
{
    uint64_t number = (uint64_t)m->fabric->port[port].index * (DUMP_PRIOS + 1) + prio + 1;

    snprintf(buf, OID, "oid:0x%" PRIx64, (uint64_t)kind << 48 | number);
    return buf;
}

static void hash_begin(struct out *out, const char *key)
{
    jout_open(&out->json, key, '{');
    jout_text(&out->json, "type", "hash");
    jout_open(&out->json, "value", '{');
}

static void hash_end(struct out *out)
{
    jout_close(&out->json);
    jout_close(&out->json);
}

static void counters_begin(struct out *out, const char *id)
{
    char key[OID + 16];

    snprintf(key, sizeof key, "COUNTERS:%s", id);
    hash_begin(out, key);
}

__attribute__((format(printf, 3, 4))) static void stat(struct out *out, uint64_t value, const char *format, ...)
{
    char key[96];
    va_list args;

    va_start(args, format);
    vsnprintf(key, sizeof key, format, args);
    va_end(args);
    out_json_string(out, key, value);
}

static void port_pfc(struct out *out, const struct moment_port *from)
{
    for (unsigned p = 0; p < DUMP_PRIOS; p++) {
        stat(out, moment_rx_pfc(from, p), "SAI_PORT_STAT_PFC_%u_RX_PKTS", p);
        stat(out, moment_tx_pfc(from, p), "SAI_PORT_STAT_PFC_%u_TX_PKTS", p);
        stat(out, from->sw.prio[p].rx_pause_ps / PS_US, "SAI_PORT_STAT_PFC_%u_RX_PAUSE_DURATION_US", p);
        stat(out, from->sw.prio[p].tx_pause_ps / PS_US, "SAI_PORT_STAT_PFC_%u_TX_PAUSE_DURATION_US", p);
        stat(out, from->paused[p], "SAI_PORT_STAT_PFC_%u_ON2OFF_RX_PKTS", p);
    }
}

static void port_stats(struct out *out, const struct moment *m, uint32_t port)
{
    const struct moment_port *from = &m->port[port];
    char id[OID];

    counters_begin(out, oid(KIND_PORT, m, port, 0, id));
    stat(out, from->sw.rx_packets, "SAI_PORT_STAT_IF_IN_UCAST_PKTS");
    stat(out, from->sw.rx_bytes, "SAI_PORT_STAT_IF_IN_OCTETS");
    stat(out, from->crc_errors, "SAI_PORT_STAT_IF_IN_ERRORS");
    stat(out, moment_in_discards(from), "SAI_PORT_STAT_IF_IN_DISCARDS");
    stat(out, from->sw.tx_packets, "SAI_PORT_STAT_IF_OUT_UCAST_PKTS");
    stat(out, from->sw.tx_bytes, "SAI_PORT_STAT_IF_OUT_OCTETS");
    stat(out, 0, "SAI_PORT_STAT_IF_OUT_ERRORS");
    stat(out, moment_out_discards(from), "SAI_PORT_STAT_IF_OUT_DISCARDS");
    stat(out, from->sw.drop[SW_DROP_mtu], "SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS");
    stat(out, from->crc_errors, "SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS");
    stat(out, from->crc_errors, "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES");
    port_pfc(out, from);
    hash_end(out);
}

static void queue_stats(struct out *out, const struct moment *m, uint32_t port, unsigned q)
{
    const struct moment_port *from = &m->port[port];
    const struct sw_prio_counters *prio = &from->sw.prio[q], *raw = &from->raw->prio[q];
    char id[OID];

    counters_begin(out, oid(KIND_QUEUE, m, port, q, id));
    stat(out, prio->tx_packets, "SAI_QUEUE_STAT_PACKETS");
    stat(out, prio->tx_bytes, "SAI_QUEUE_STAT_BYTES");
    stat(out, from->queue_drops[q], "SAI_QUEUE_STAT_DROPPED_PACKETS");
    stat(out, prio->ecn_marked, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS");
    stat(out, prio->queue_max_bytes, "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES");
    stat(out, from->queue[q].queue_bytes, "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES");
    jout_text(&out->json, "SAI_QUEUE_ATTR_PAUSE_STATUS", from->paused_now >> q & 1 ? "true" : "false");
    if (moment_watched(m, port) >> q & 1) {
        jout_text(&out->json, "PFC_WD_STATUS",
                  raw->watchdog_detected > raw->watchdog_restored ? "stormed" : "operational");
        stat(out, prio->watchdog_detected, "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED");
        stat(out, prio->watchdog_restored, "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED");
        stat(out, prio->tx_packets, "PFC_WD_QUEUE_STATS_TX_PACKETS");
        stat(out, from->watchdog_drops[q], "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS");
        stat(out, prio->rx_packets, "PFC_WD_QUEUE_STATS_RX_PACKETS");
        stat(out, 0, "PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS");
    }
    hash_end(out);
}

static void group_stats(struct out *out, const struct moment *m, uint32_t port, unsigned g)
{
    const struct moment_port *from = &m->port[port];
    const struct sw_prio_counters *prio = &from->sw.prio[g];
    char id[OID];

    counters_begin(out, oid(KIND_PG, m, port, g, id));
    stat(out, prio->rx_packets, "SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS");
    stat(out, prio->rx_bytes, "SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES");
    stat(out, from->pg_drops[g], "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS");
    stat(out, prio->headroom_max_bytes, "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES");
    stat(out, prio->pg_max_bytes - prio->headroom_max_bytes, "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES");
    hash_end(out);
}

/* What the maps map: a port's name to its id; a queue's or group's, `Ethernet0:3`, to its own, to its port, to its
 * number. */
enum map { MAP_ID, MAP_PORT, MAP_INDEX };

static void map_row(struct out *out, const struct moment *m, uint32_t port, enum kind kind, unsigned prio, enum map map)
{
    char name[FABRIC_NAME], key[FABRIC_NAME + 16], id[OID], own[OID];

    oid(kind, m, port, prio, own);
    moment_port_name(m, port, name);
    if (kind == KIND_PORT)
        jout_text(&out->json, name, own);
    else if (map == MAP_ID) {
        snprintf(key, sizeof key, "%s:%u", name, prio);
        jout_text(&out->json, key, own);
    } else if (map == MAP_PORT) {
        jout_text(&out->json, own, oid(KIND_PORT, m, port, 0, id));
    } else {
        out_json_string(out, own, prio);
    }
}

static void map_out(struct out *out, const struct moment *m, uint32_t node, const char *key, enum kind kind,
                    enum map map)
{
    const struct fabric_node *from = &m->fabric->node[node];

    hash_begin(out, key);
    for (uint32_t port = from->first_port; port < from->first_port + from->ports; port++)
        for (unsigned p = 0; m->port[port].cabled && p < (kind == KIND_PORT ? 1 : DUMP_PRIOS); p++)
            map_row(out, m, port, kind, p, map);
    hash_end(out);
}

void dump_sonic_db(struct out *out, const struct moment *m, uint32_t node)
{
    const struct fabric_node *from = &m->fabric->node[node];

    if (!out_begin(out, "json", "counters_db")) return;
    jout_open(&out->json, NULL, '{');
    for (uint32_t port = from->first_port; port < from->first_port + from->ports; port++) {
        if (!m->port[port].cabled) continue;
        port_stats(out, m, port);
        for (unsigned p = 0; p < DUMP_PRIOS; p++) {
            queue_stats(out, m, port, p);
            group_stats(out, m, port, p);
        }
    }
    map_out(out, m, node, "COUNTERS_PORT_NAME_MAP", KIND_PORT, MAP_ID);
    map_out(out, m, node, "COUNTERS_QUEUE_NAME_MAP", KIND_QUEUE, MAP_ID);
    map_out(out, m, node, "COUNTERS_QUEUE_PORT_MAP", KIND_QUEUE, MAP_PORT);
    map_out(out, m, node, "COUNTERS_QUEUE_INDEX_MAP", KIND_QUEUE, MAP_INDEX);
    map_out(out, m, node, "COUNTERS_PG_NAME_MAP", KIND_PG, MAP_ID);
    map_out(out, m, node, "COUNTERS_PG_PORT_MAP", KIND_PG, MAP_PORT);
    map_out(out, m, node, "COUNTERS_PG_INDEX_MAP", KIND_PG, MAP_INDEX);
    jout_close(&out->json);
    out_end(out);
}
