/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Cumulus Linux switch prints: NVUE's JSON of RoCE and QoS counters, of the pause watchdog and of interfaces,
 * `ethtool -S`, and lldpd's neighbours.
 *
 * One file an interface, whose name ends with the interface, where the output does not say which it is of.  RoCE is
 * what is lossless; CNPs have the class of the first NIC that names one.  Usage of pools is left out: the switch counts
 * groups and queues.  Ports without a cable are left out.
 */
#include <inttypes.h>

#include "systems.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

static const char *text_number(unsigned number, char buf[8])
{
    snprintf(buf, 8, "%u", number);
    return buf;
}

struct sums { /* over some priorities of a port */
    uint64_t rx_pause_us, rx_pfc, tx_pause_us, tx_pfc, marks;
    uint64_t rx_packets, rx_bytes, pg_drops, pg_bytes, pg_most;
    uint64_t tx_packets, tx_bytes, queue_drops, queue_bytes, queue_most;
};

static struct sums sum(const struct moment_port *from, uint8_t prios)
{
    struct sums all = {0};

    for (unsigned p = 0; p < DUMP_PRIOS; p++) {
        const struct sw_prio_counters *prio = &from->sw.prio[p];
        if (!(prios >> p & 1)) continue;
        all.rx_pause_us += prio->rx_pause_ps / PS_US;
        all.tx_pause_us += prio->tx_pause_ps / PS_US;
        all.rx_pfc += moment_rx_pfc(from, p);
        all.tx_pfc += moment_tx_pfc(from, p);
        all.marks += prio->ecn_marked;
        all.rx_packets += prio->rx_packets;
        all.rx_bytes += prio->rx_bytes;
        all.pg_drops += from->pg_drops[p];
        all.pg_bytes += from->queue[p].group_bytes;
        all.pg_most += prio->pg_max_bytes;
        all.tx_packets += prio->tx_packets;
        all.tx_bytes += prio->tx_bytes;
        all.queue_drops += from->queue_drops[p];
        all.queue_bytes += from->queue[p].queue_bytes;
        all.queue_most += prio->queue_max_bytes;
    }
    return all;
}

static unsigned cnp_priority(const struct fabric *fabric)
{
    for (uint32_t i = 0; i < fabric->nics; i++)
        if (fabric->nic[i].cnp_class != FABRIC_NONE) return fabric->classes[fabric->nic[i].cnp_class].priority;
    return 6;
}

static void rx_stats(struct jout *json, const char *name, const char *kind, const struct sums *of)
{
    char key[32];

    jout_open(json, name, '{');
    jout_u64(json, "no-buffer-discard", of->pg_drops);
    jout_u64(json, "pg-max-usage", of->pg_most);
    jout_u64(json, "pg-usage", of->pg_bytes);
    snprintf(key, sizeof key, "%s-bytes", kind);
    jout_u64(json, key, of->rx_bytes);
    snprintf(key, sizeof key, "%s-packets", kind);
    jout_u64(json, key, of->rx_packets);
    jout_close(json);
}

static void tx_stats(struct jout *json, const char *name, const char *kind, const struct sums *of)
{
    char key[32];

    jout_open(json, name, '{');
    snprintf(key, sizeof key, "%s-bytes", kind);
    jout_u64(json, key, of->tx_bytes);
    snprintf(key, sizeof key, "%s-packets", kind);
    jout_u64(json, key, of->tx_packets);
    jout_u64(json, "tc-max-usage", of->queue_most);
    jout_u64(json, "tc-usage", of->queue_bytes);
    jout_u64(json, "unicast-no-buffer-discard", of->queue_drops);
    jout_close(json);
}

static void pauses(struct jout *json, const char *name, uint64_t us, uint64_t frames)
{
    jout_open(json, name, '{');
    jout_u64(json, "pause-duration", us);
    jout_u64(json, "pause-packets", frames);
    jout_close(json);
}

static void roce_counters(struct out *out, const struct moment *m, uint32_t port, const char *name)
{
    uint8_t lossless = moment_settings(m, port)->lossless;
    unsigned cnp = cnp_priority(m->fabric);
    struct sums roce = sum(&m->port[port], lossless), others = sum(&m->port[port], (uint8_t)~lossless);
    struct sums notices = sum(&m->port[port], (uint8_t)(1u << cnp));
    struct jout *json = &out->json;

    if (!out_begin(out, "json", "nv show interface qos roce counters %s", name)) return;
    jout_open(json, NULL, '{');
    jout_open(json, "rx-stats", '{');
    rx_stats(json, "rx-non-roce-stats", "non-roce", &others);
    pauses(json, "rx-pfc-stats", roce.rx_pause_us, roce.rx_pfc);
    rx_stats(json, "rx-roce-stats", "roce", &roce);
    jout_close(json);
    jout_open(json, "tx-stats", '{');
    tx_stats(json, "tx-cnp-stats", "cnp", &notices);
    jout_open(json, "tx-ecn-stats", '{');
    jout_u64(json, "ecn-marked-packets", roce.marks);
    jout_close(json);
    pauses(json, "tx-pfc-stats", roce.tx_pause_us, roce.tx_pfc);
    tx_stats(json, "tx-roce-stats", "roce", &roce);
    jout_close(json);
    jout_close(json);
    out_end(out);
}

static void qos_counters(struct out *out, const struct moment *m, uint32_t port, const char *name)
{
    const struct moment_port *from = &m->port[port];
    struct jout *json = &out->json;
    char number[8];

    if (!out_begin(out, "json", "nv show interface counters qos %s", name)) return;
    jout_open(json, NULL, '{');
    jout_open(json, "egress-queue-stats", '{');
    for (unsigned p = 0; p < DUMP_PRIOS; p++) {
        jout_open_line(json, text_number(p, number), '{');
        jout_u64(json, "ecn-marked-frames", from->sw.prio[p].ecn_marked);
        jout_u64(json, "tx-bytes", from->sw.prio[p].tx_bytes);
        jout_u64(json, "tx-frames", from->sw.prio[p].tx_packets);
        jout_u64(json, "tx-uc-buffer-discards", from->queue_drops[p]);
        jout_u64(json, "wred-discards", 0);
        jout_close(json);
    }
    jout_close(json);
    jout_open(json, "ingress-buffer-stats", '{');
    for (unsigned p = 0; p < DUMP_PRIOS; p++) {
        jout_open_line(json, text_number(p, number), '{');
        jout_u64(json, "rx-buffer-discards", from->pg_drops[p]);
        jout_u64(json, "rx-frames", from->sw.prio[p].rx_packets);
        jout_u64(json, "rx-shared-buffer-discards", 0);
        jout_close(json);
    }
    jout_close(json);
    jout_open(json, "pfc-stats", '{');
    for (unsigned p = 0; p < DUMP_PRIOS; p++) {
        jout_open_line(json, text_number(p, number), '{');
        jout_u64(json, "rx-pause-duration", from->sw.prio[p].rx_pause_ps / PS_US);
        jout_u64(json, "rx-pause-frames", moment_rx_pfc(from, p));
        jout_u64(json, "tx-pause-duration", from->sw.prio[p].tx_pause_ps / PS_US);
        jout_u64(json, "tx-pause-frames", moment_tx_pfc(from, p));
        jout_close(json);
    }
    jout_close(json);
    jout_close(json);
    out_end(out);
}

static void watchdog(struct out *out, const struct moment *m, uint32_t port, const char *name)
{
    uint8_t watched = moment_watched(m, port);
    struct jout *json = &out->json;
    char number[8];

    if (!out_begin(out, "json", "nv show interface qos pfc-watchdog %s", name)) return;
    jout_open(json, NULL, '{');
    jout_text(json, "state", watched ? "enabled" : "disabled");
    jout_open(json, "status", '{');
    for (unsigned p = 0; p < DUMP_PRIOS; p++) {
        const struct sw_prio_counters *raw = &m->port[port].raw->prio[p];
        if (!(watched >> p & 1)) continue;
        jout_open_line(json, text_number(p, number), '{');
        jout_u64(json, "deadlock-count", m->port[port].sw.prio[p].watchdog_detected);
        jout_text(json, "status", raw->watchdog_detected > raw->watchdog_restored ? "DEADLOCK" : "OK");
        jout_close(json);
    }
    jout_close(json);
    jout_close(json);
    out_end(out);
}

static void line(struct out *out, const char *name, uint64_t value)
{
    fprintf(out->file, "     %s: %" PRIu64 "\n", name, value);
}

static uint64_t buffer_drops(const struct moment_port *from)
{
    uint64_t all = 0;

    for (unsigned p = 0; p < DUMP_PRIOS; p++)
        all += from->pg_drops[p];
    return all;
}

static void ethtool(struct out *out, const struct moment *m, uint32_t port, const char *name)
{
    const struct moment_port *from = &m->port[port];

    if (!out_begin(out, "txt", "ethtool -S %s", name)) return;
    fputs("NIC statistics:\n", out->file);
    line(out, "HwIfInOctets", from->sw.rx_bytes);
    line(out, "HwIfInUcastPkts", from->sw.rx_packets);
    line(out, "HwIfInBcastPkts", 0);
    line(out, "HwIfInMcastPkts", 0);
    line(out, "HwIfOutOctets", from->sw.tx_bytes);
    line(out, "HwIfOutUcastPkts", from->sw.tx_packets);
    line(out, "HwIfOutMcastPkts", 0);
    line(out, "HwIfOutBcastPkts", 0);
    line(out, "HwIfInDiscards", moment_in_discards(from));
    line(out, "HwIfInL3Drops", from->sw.drop[SW_DROP_ttl] + from->sw.drop[SW_DROP_no_route]);
    line(out, "HwIfInBufferDrops", buffer_drops(from));
    line(out, "HwIfInAclDrops", 0);
    line(out, "HwIfInDot3LengthErrors", from->sw.drop[SW_DROP_mtu]);
    line(out, "HwIfInErrors", from->crc_errors + from->sw.drop[SW_DROP_mtu]);
    line(out, "HwIfInDot3FrameErrors", from->crc_errors);
    line(out, "HwIfInPausePkt", 0);
    line(out, "HwIfOutErrors", 0);
    line(out, "HwIfOutDiscards", moment_out_discards(from));
    line(out, "HwIfOutQDrops", moment_out_discards(from));
    line(out, "HwIfOutNonQDrops", 0);
    line(out, "HwIfOutPausePkt", 0);
    line(out, "HwIfOutWredDrops", 0);
    for (unsigned p = 0; p < DUMP_PRIOS; p++)
        fprintf(out->file, "     HwIfInPfc%uPkt: %" PRIu64 "\n", p, moment_rx_pfc(from, p));
    for (unsigned p = 0; p < DUMP_PRIOS; p++)
        fprintf(out->file, "     HwIfOutPfc%uPkt: %" PRIu64 "\n", p, moment_tx_pfc(from, p));
    out_end(out);
}

static void link_json(struct out *out, const struct moment *m, uint32_t port)
{
    const struct moment_port *from = &m->port[port];
    uint32_t mtu = moment_settings(m, port)->mtu_bytes;
    bool up = moment_up(m, port);
    uint64_t downs = from->downs, ups = downs - (!up && downs);
    struct jout *json = &out->json;
    char text[32];

    jout_open(json, "link", '{');
    jout_text(json, "admin-status", m->fabric->port[port].up ? "up" : "down");
    jout_text(json, "oper-status", up ? "up" : "down");
    jout_text(json, "duplex", "full");
    jout_u64(json, "mtu", mtu && mtu < 9216 ? mtu : 9216);
    snprintf(text, sizeof text, "%" PRIu64 "G", moment_speed_mbps(m, port) / 1000);
    jout_text(json, "speed", text);
    moment_mac(m, port, text);
    jout_text(json, "mac-address", text);
    jout_open_line(json, "stats", '{');
    jout_u64(json, "carrier-down-count", downs);
    jout_u64(json, "carrier-transitions", downs + ups);
    jout_u64(json, "carrier-up-count", ups);
    jout_u64(json, "in-bytes", from->sw.rx_bytes);
    jout_u64(json, "in-drops", moment_in_discards(from));
    jout_u64(json, "in-errors", from->crc_errors + from->sw.drop[SW_DROP_mtu]);
    jout_u64(json, "in-pkts", from->sw.rx_packets);
    jout_u64(json, "out-bytes", from->sw.tx_bytes);
    jout_u64(json, "out-drops", moment_out_discards(from));
    jout_u64(json, "out-errors", 0);
    jout_u64(json, "out-pkts", from->sw.tx_packets);
    jout_close(json);
    jout_close(json);
}

static void interfaces(struct out *out, const struct moment *m, uint32_t node)
{
    char name[FABRIC_NAME], peer[2 * FABRIC_NAME];

    if (!out_begin(out, "json", "nv show interface")) return;
    jout_open(&out->json, NULL, '{');
    EACH_PORT(m, node, port)
    {
        jout_open(&out->json, moment_port_name(m, port, name), '{');
        jout_text(&out->json, "description", moment_peer(m, port, peer));
        link_json(out, m, port);
        jout_text(&out->json, "type", "swp");
        jout_close(&out->json);
    }
    jout_close(&out->json);
    out_end(out);
}

static void neighbour(struct out *out, const struct moment *m, uint32_t port)
{
    uint32_t peer = m->fabric->port[port].peer, other = m->fabric->port[peer].node;
    struct jout *json = &out->json;
    char name[FABRIC_NAME], here[2 * FABRIC_NAME], mac[18];

    moment_mac(m, m->fabric->node[other].first_port, mac);
    jout_open_line(json, NULL, '{');
    jout_open(json, moment_port_name(m, port, name), '{');
    jout_text(json, "via", "LLDP");
    out_json_string(out, "rid", m->fabric->port[port].index + 1u);
    jout_text(json, "age", "0 day, 01:00:00");
    jout_open(json, "chassis", '{');
    jout_open(json, m->fabric->node[other].name, '{');
    jout_open(json, "id", '{');
    jout_text(json, "type", "mac");
    jout_text(json, "value", mac);
    jout_close(json);
    jout_open(json, "capability", '[');
    jout_open(json, NULL, '{');
    jout_text(json, "type", other < m->fabric->hosts ? "Station" : "Bridge");
    jout_bool(json, "enabled", true);
    for (int i = 0; i < 4; i++)
        jout_close(json);
    jout_open(json, "port", '{');
    jout_open(json, "id", '{');
    jout_text(json, "type", "ifname");
    jout_text(json, "value", moment_port_name(m, peer, name));
    jout_close(json);
    jout_text(json, "descr", moment_peer(m, peer, here));
    jout_text(json, "ttl", "120");
    for (int i = 0; i < 3; i++)
        jout_close(json);
}

static void lldp(struct out *out, const struct moment *m, uint32_t node)
{
    if (!out_begin(out, "json", "lldpctl -f json")) return;
    jout_open(&out->json, NULL, '{');
    jout_open(&out->json, "lldp", '{');
    jout_open(&out->json, "interface", '[');
    EACH_PORT(m, node, port)
    {
        if (!fabric_node_unknown(m->fabric, m->fabric->port[m->fabric->port[port].peer].node)) neighbour(out, m, port);
    }
    for (int i = 0; i < 3; i++)
        jout_close(&out->json);
    out_end(out);
}

void dump_cumulus(struct out *out, const struct moment *m, uint32_t node)
{
    char name[FABRIC_NAME];

    dump_version(out, m, node, "nv show system", "build             Cumulus Linux\nproduct-release   ");
    EACH_PORT(m, node, port)
    {
        moment_port_name(m, port, name);
        roce_counters(out, m, port, name);
        qos_counters(out, m, port, name);
        watchdog(out, m, port, name);
        ethtool(out, m, port, name);
    }
    interfaces(out, m, node);
    lldp(out, m, node);
    out_config(out, m, node, "txt", "nv config show");
}
