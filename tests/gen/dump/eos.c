/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an EOS switch prints: pauses, queues, marks, the pause watchdog, interfaces, neighbours; as text, and as JSON
 * where tools ask for that.
 *
 * EOS counts pauses of a port, not of a priority, and neither their time nor watermarks.  In JSON an interface or queue
 * without an event of the watchdog is absent, and a queue that does not mark has "-".  Ports without a cable are left
 * out.
 */
#include <inttypes.h>
#include <string.h>

#include "base/wide.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "systems.h"

static const char *short_name(const struct moment *m, uint32_t port, char buf[FABRIC_NAME])
{
    char name[FABRIC_NAME];

    moment_port_name(m, port, name);
    if (strncmp(name, "Ethernet", 8) == 0)
        snprintf(buf, FABRIC_NAME, "Et%s", name + 8);
    else
        snprintf(buf, FABRIC_NAME, "%s", name);
    return buf;
}

static void port_object(struct out *out, const struct moment *m, uint32_t port)
{
    char name[FABRIC_NAME];

    jout_open_line(&out->json, moment_port_name(m, port, name), '{');
}

static void pfc(struct out *out, const struct moment *m, uint32_t node)
{
    char name[FABRIC_NAME];

    if (out_begin(out, "txt", "show priority-flow-control counters")) {
        fputs("Port             RxPfc           TxPfc      \n", out->file);
        EACH_PORT(m, node, port)
        {
            fprintf(out->file, "%-16s %-15" PRIu64 " %-15" PRIu64 "\n", short_name(m, port, name),
                    m->port[port].sw.rx_pfc_frames, m->port[port].sw.tx_pfc_frames);
        }
        out_end(out);
    }
    if (!out_begin(out, "json", "show priority-flow-control counters")) return;
    jout_open(&out->json, NULL, '{');
    jout_open(&out->json, "interfaceCounters", '{');
    EACH_PORT(m, node, port)
    {
        port_object(out, m, port);
        jout_u64(&out->json, "rxFrames", m->port[port].sw.rx_pfc_frames);
        jout_u64(&out->json, "txFrames", m->port[port].sw.tx_pfc_frames);
        jout_close(&out->json);
    }
    jout_close(&out->json);
    jout_close(&out->json);
    out_end(out);
}

static void watchdog(struct out *out, const struct moment *m, uint32_t node)
{
    char number[8];

    if (!out_begin(out, "json", "show priority-flow-control counters watchdog")) return;
    jout_open(&out->json, NULL, '{');
    jout_open(&out->json, "interfaces", '{');
    EACH_PORT(m, node, port)
    {
        uint8_t seen = 0, watched = moment_watched(m, port);
        for (unsigned q = 0; q < DUMP_PRIOS; q++)
            if (watched >> q & 1 && m->port[port].sw.prio[q].watchdog_detected) seen |= (uint8_t)(1u << q);
        if (seen == 0) continue;
        port_object(out, m, port);
        jout_open(&out->json, "txQueues", '{');
        for (unsigned q = 0; q < DUMP_PRIOS; q++) {
            if (!(seen >> q & 1)) continue;
            snprintf(number, sizeof number, "%u", q);
            jout_open(&out->json, number, '{');
            jout_u64(&out->json, "stuckCount", m->port[port].sw.prio[q].watchdog_detected);
            jout_u64(&out->json, "recoveryCount", m->port[port].sw.prio[q].watchdog_restored);
            jout_close(&out->json);
        }
        jout_close(&out->json);
        jout_close(&out->json);
    }
    jout_close(&out->json);
    jout_close(&out->json);
    out_end(out);
}

static void marks(struct out *out, const struct moment *m, uint32_t node)
{
    char number[8];

    if (!out_begin(out, "json", "show qos interfaces ecn counters queue")) return;
    jout_open(&out->json, NULL, '{');
    jout_open(&out->json, "intfQueueCounters", '{');
    EACH_PORT(m, node, port)
    {
        port_object(out, m, port);
        jout_open(&out->json, "queueCounters", '{');
        for (unsigned q = 0; q < DUMP_PRIOS; q++) {
            snprintf(number, sizeof number, "%u", q);
            if (moment_settings(m, port)->queue[q].ecn.on)
                out_json_string(out, number, m->port[port].sw.prio[q].ecn_marked);
            else
                jout_text(&out->json, number, "-");
        }
        jout_close(&out->json);
        jout_close(&out->json);
    }
    jout_close(&out->json);
    jout_close(&out->json);
    out_end(out);
}

static void queues(struct out *out, const struct moment *m, uint32_t node)
{
    char name[FABRIC_NAME];

    if (!out_begin(out, "txt", "show interfaces counters queue detail")) return;
    fputs("Port    TxQ          Counter/pkts        Counter/bytes       Drop/pkts          Drop/bytes\n"
          "------- ---- --------------------- -------------------- --------------- -------------------\n",
          out->file);
    EACH_PORT(m, node, port)
    {
        const struct moment_port *from = &m->port[port];
        for (unsigned q = 0; q < DUMP_PRIOS; q++)
            fprintf(out->file, "%-7s UC%u %22" PRIu64 " %20" PRIu64 " %15" PRIu64 " %19" PRIu64 "\n",
                    short_name(m, port, name), q, from->sw.prio[q].tx_packets, from->sw.prio[q].tx_bytes,
                    from->queue_drops[q], from->queue_drop_bytes[q]);
    }
    out_end(out);
}

static void errors(struct out *out, const struct moment *m, uint32_t node)
{
    char name[FABRIC_NAME];

    if (out_begin(out, "txt", "show interfaces counters errors")) {
        fputs("Port              FCS    Align   Symbol       Rx    Runts   Giants       Tx\n", out->file);
        EACH_PORT(m, node, port)
        {
            const struct moment_port *from = &m->port[port];
            fprintf(out->file, "%-12s %8" PRIu64 " %8d %8d %8" PRIu64 " %8d %8" PRIu64 " %8d\n",
                    short_name(m, port, name), from->crc_errors, 0, 0, from->crc_errors + from->sw.drop[SW_DROP_mtu], 0,
                    from->sw.drop[SW_DROP_mtu], 0);
        }
        out_end(out);
    }
    if (!out_begin(out, "json", "show interfaces counters errors")) return;
    jout_open(&out->json, NULL, '{');
    jout_open(&out->json, "interfaceErrorCounters", '{');
    EACH_PORT(m, node, port)
    {
        const struct moment_port *from = &m->port[port];
        port_object(out, m, port);
        jout_u64(&out->json, "inErrors", from->crc_errors + from->sw.drop[SW_DROP_mtu]);
        jout_u64(&out->json, "frameTooLongs", from->sw.drop[SW_DROP_mtu]);
        jout_u64(&out->json, "outErrors", 0);
        jout_u64(&out->json, "frameTooShorts", 0);
        jout_u64(&out->json, "fcsErrors", from->crc_errors);
        jout_u64(&out->json, "alignmentErrors", 0);
        jout_u64(&out->json, "symbolErrors", 0);
        jout_close(&out->json);
    }
    jout_close(&out->json);
    jout_close(&out->json);
    out_end(out);
}

static void discards(struct out *out, const struct moment *m, uint32_t node)
{
    uint64_t in = 0, left = 0;
    char name[FABRIC_NAME];

    if (!out_begin(out, "txt", "show interfaces counters discards")) return;
    fputs("Port            InDiscards    OutDiscards\n--------- ---------------- --------------\n", out->file);
    EACH_PORT(m, node, port)
    {
        fprintf(out->file, "%-9s %16" PRIu64 " %14" PRIu64 "\n", short_name(m, port, name),
                moment_in_discards(&m->port[port]), moment_out_discards(&m->port[port]));
        in += moment_in_discards(&m->port[port]);
        left += moment_out_discards(&m->port[port]);
    }
    fprintf(out->file, "---------        ---------      ---------\n%-9s %16" PRIu64 " %14" PRIu64 "\n", "Totals", in,
            left);
    out_end(out);
}

static uint64_t per_second(uint64_t count, ps_t at)
{
    return at ? (uint64_t)((u128)count * PS_S / at) : 0;
}

static void interface(struct out *out, const struct moment *m, uint32_t port)
{
    const struct moment_port *from = &m->port[port];
    bool up = moment_up(m, port), admin = m->fabric->port[port].up;
    uint64_t mbps = moment_speed_mbps(m, port);
    uint32_t mtu = moment_settings(m, port)->mtu_bytes;
    char name[FABRIC_NAME], peer[2 * FABRIC_NAME], mac[18];

    moment_mac(m, port, mac);
    fprintf(out->file, "%s is %s, line protocol is %s (%s)\n", moment_port_name(m, port, name),
            admin ? (up ? "up" : "down") : "administratively down", up ? "up" : "down",
            up      ? "connected"
            : admin ? "notconnect"
                    : "disabled");
    fprintf(out->file, "  Hardware is Ethernet, address is %.2s%.2s.%.2s%.2s.%.2s%.2s\n  Description: %s\n", mac,
            mac + 3, mac + 6, mac + 9, mac + 12, mac + 15, moment_peer(m, port, peer));
    fprintf(out->file, "  Ethernet MTU %u bytes, BW %" PRIu64 " kbit\n", mtu && mtu < 9214 ? mtu : 9214, mbps * 1000);
    fprintf(out->file, "  Full-duplex, %" PRIu64 "Gb/s, auto negotiation: off, uni-link: n/a\n", mbps / 1000);
    /* each link that went down came up again, unless it is down now */
    fprintf(out->file, "  %" PRIu64 " link status changes since last clear\n", 2 * from->downs - (!up && from->downs));
    fprintf(out->file,
            "  Last clearing of \"show interface\" counters never\n"
            "  5 minutes input rate %" PRIu64 " bps, %" PRIu64 " packets/sec\n"
            "  5 minutes output rate %" PRIu64 " bps, %" PRIu64 " packets/sec\n",
            per_second(from->raw->rx_bytes, m->at) * 8, per_second(from->raw->rx_packets, m->at),
            per_second(from->raw->tx_bytes, m->at) * 8, per_second(from->raw->tx_packets, m->at));
    fprintf(out->file,
            "     %" PRIu64 " packets input, %" PRIu64 " bytes\n     Received 0 broadcasts, 0 multicast\n"
            "     0 runts, %" PRIu64 " giants\n     %" PRIu64 " input errors, %" PRIu64
            " CRC, 0 alignment, 0 symbol, %" PRIu64 " input discards\n     0 PAUSE input\n",
            from->sw.rx_packets, from->sw.rx_bytes, from->sw.drop[SW_DROP_mtu],
            from->crc_errors + from->sw.drop[SW_DROP_mtu], from->crc_errors, moment_in_discards(from));
    fprintf(out->file,
            "     %" PRIu64 " packets output, %" PRIu64 " bytes\n     Sent 0 broadcasts, 0 multicast\n"
            "     0 output errors, 0 collisions\n     0 late collision, 0 deferred, %" PRIu64
            " output discards\n     0 PAUSE output\n",
            from->sw.tx_packets, from->sw.tx_bytes, moment_out_discards(from));
}

static void interfaces(struct out *out, const struct moment *m, uint32_t node)
{
    char name[FABRIC_NAME], peer[2 * FABRIC_NAME], speed[32];

    if (out_begin(out, "txt", "show interfaces")) {
        EACH_PORT(m, node, port)
        {
            interface(out, m, port);
        }
        out_end(out);
    }
    if (!out_begin(out, "txt", "show interfaces status")) return;
    fputs("Port       Name                   Status       Vlan     Duplex Speed  Type         Flags Encapsulation\n",
          out->file);
    EACH_PORT(m, node, port)
    {
        snprintf(speed, sizeof speed, "%" PRIu64 "G", moment_speed_mbps(m, port) / 1000);
        fprintf(out->file, "%-10s %-22.22s %-12s %-8s %-6s %-6s %s\n", short_name(m, port, name),
                moment_peer(m, port, peer),
                moment_up(m, port)         ? "connected"
                : m->fabric->port[port].up ? "notconnect"
                                           : "disabled",
                "routed", "full", speed, "N/A");
    }
    out_end(out);
}

static void lldp(struct out *out, const struct moment *m, uint32_t node)
{
    char name[FABRIC_NAME], far[FABRIC_NAME];

    if (!out_begin(out, "txt", "show lldp neighbors")) return;
    fputs("Last table change time   : 1:00:00 ago\nNumber of table inserts  : 0\nNumber of table deletes  : 0\n"
          "Number of table drops    : 0\nNumber of table age-outs : 0\n\n"
          "Port          Neighbor Device ID       Neighbor Port ID    TTL\n"
          "---------- ------------------------ ---------------------- ---\n",
          out->file);
    EACH_PORT(m, node, port)
    {
        uint32_t peer = m->fabric->port[port].peer, other = m->fabric->port[peer].node;
        if (fabric_node_unknown(m->fabric, other)) continue;
        fprintf(out->file, "%-13s %-24s %-19s 120\n", short_name(m, port, name), m->fabric->node[other].name,
                moment_port_name(m, peer, far));
    }
    out_end(out);
}

void dump_eos(struct out *out, const struct moment *m, uint32_t node)
{
    dump_version(out, m, node, "show version", "Software image version: ");
    pfc(out, m, node);
    watchdog(out, m, node);
    marks(out, m, node);
    queues(out, m, node);
    errors(out, m, node);
    discards(out, m, node);
    interfaces(out, m, node);
    lldp(out, m, node);
    out_config(out, m, node, "txt", "show running-config");
}
