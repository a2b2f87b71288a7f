/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an NX-OS switch prints: pauses, queuing, the pause watchdog, interfaces, neighbours, as text; and what its
 * managed objects (DME) say of queues, which is where packets marked by WRED are counted.
 *
 * NX-OS counts no time of pauses, and no watermarks.  A queue has the number of its QoS group.  Ports without a cable
 * are left out.
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
        snprintf(buf, FABRIC_NAME, "Eth%s", name + 8);
    else
        snprintf(buf, FABRIC_NAME, "%s", name);
    return buf;
}

/* Auto holds where both ends agree. */
static bool pfc_runs(const struct moment *m, uint32_t port)
{
    const struct fabric_settings *own = moment_settings(m, port);
    const struct fabric_settings *peer = moment_settings(m, m->fabric->port[port].peer);
    uint8_t bits = own->pfc_rx | own->pfc_tx;

    return bits && (!own->pfc_auto || (peer->pfc_rx | peer->pfc_tx) == bits);
}

static void pfc(struct out *out, const struct moment *m, uint32_t node)
{
    static const char ruler[] = "============================================================\n";
    char name[FABRIC_NAME], oper[16];

    if (!out_begin(out, "txt", "show interface priority-flow-control")) return;
    fprintf(out->file, "%sPort               Mode Oper(VL bmap)  RxPPP      TxPPP     \n%s\n", ruler, ruler);
    EACH_PORT(m, node, port)
    {
        const struct fabric_settings *own = moment_settings(m, port);
        unsigned bits = own->pfc_rx | own->pfc_tx;
        if (pfc_runs(m, port))
            snprintf(oper, sizeof oper, "On  (%x)", bits);
        else
            snprintf(oper, sizeof oper, "Off");
        fprintf(out->file, "%-18s %-4s %-13s  %-10" PRIu64 " %-10" PRIu64 "\n", moment_port_name(m, port, name),
                own->pfc_auto ? "Auto"
                : bits        ? "On"
                              : "Off",
                oper, m->port[port].sw.rx_pfc_frames, m->port[port].sw.tx_pfc_frames);
    }
    out_end(out);
}

/* --- queuing --- */

#define BOX "+-------------------------------------------------------------------+\n"
#define LINE "----------------------------------------------------------------------------\n"

static void group_box(struct out *out, const struct moment_port *from, unsigned q)
{
    const struct {
        const char *name;
        uint64_t value;
    } row[] = {{"Tx Pkts", from->sw.prio[q].tx_packets},
               {"Tx Byts", from->sw.prio[q].tx_bytes},
               {"Dropped Pkts", from->queue_drops[q]}};

    fprintf(out->file, "|                              QOS GROUP %u                          |\n" BOX, q);
    fputs("|                |  Unicast       | OOBFC Unicast  |  Multicast     |\n" BOX, out->file);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        fprintf(out->file, "|%15s |%16" PRIu64 "|%16d|%16d|\n", row[i].name, row[i].value, 0, 0);
    fputs(BOX, out->file);
}

static const char *active(bool is)
{
    return is ? "Active" : "Inactive";
}

static bool pauses_peer(const struct moment *m, uint32_t port, unsigned p)
{
    return m->port[m->fabric->port[port].peer].paused_now >> p & 1;
}

static uint64_t mmu_drops(const struct moment_port *from)
{
    uint64_t sum = 0;

    for (unsigned p = 0; p < DUMP_PRIOS; p++)
        sum += from->pg_drops[p];
    return sum;
}

/* What a no-drop group pauses at: with a threshold that moves only its headroom is known. */
static void pause_row(struct out *out, const struct fabric_pg *pg, unsigned q)
{
    if (!pg->lossless)
        fprintf(out->file, "%7u%15s%15s%15s%16s\n", q, "-", "-", "-", "8(D)");
    else if (pg->dynamic || pg->static_bytes == FABRIC_UNLIMITED)
        fprintf(out->file, "%7u%15" PRIu64 "%15s%15s%16s\n", q, pg->headroom_bytes, "-", "-", "-");
    else
        fprintf(out->file, "%7u%15" PRIu64 "%15" PRIu64 "%15" PRIu64 "%16s\n", q, pg->static_bytes + pg->headroom_bytes,
                pg->static_bytes, pg->static_bytes > pg->xon_offset_bytes ? pg->static_bytes - pg->xon_offset_bytes : 0,
                "-");
}

static void queuing_port(struct out *out, const struct moment *m, uint32_t port)
{
    const struct moment_port *from = &m->port[port];
    const struct fabric_settings *settings = moment_settings(m, port);
    char name[FABRIC_NAME];

    moment_port_name(m, port, name);
    fprintf(out->file, "Egress Queuing for %s [System]\n" BOX, name);
    for (unsigned q = 0; q < DUMP_PRIOS; q++)
        group_box(out, from, q);
    fputs("\nPort Egress Statistics\n--------------------------------------------------------\n", out->file);
    fprintf(out->file, "WRED Drop Pkts                              0\n\nIngress Queuing for %s\n", name);
    fputs(LINE "QoS-Group#                 Pause                        QLimit\n"
               "             Buff Size       Pause Th      Resume Th\n" LINE,
          out->file);
    for (unsigned q = DUMP_PRIOS; q-- > 0;)
        pause_row(out, &settings->pg[q], q);
    fputs("\nPort Ingress Statistics\n--------------------------------------------------------\n", out->file);
    fprintf(out->file, "Ingress MMU Drop Pkts            %12" PRIu64 "\n\nPFC Statistics\n" LINE, mmu_drops(from));
    fprintf(out->file, "TxPPP: %21" PRIu64 ", RxPPP: %21" PRIu64 "\n" LINE, from->sw.tx_pfc_frames,
            from->sw.rx_pfc_frames);
    fputs(" COS QOS Group        PG   TxPause   TxCount         RxPause         RxCount\n", out->file);
    for (unsigned p = 0; p < DUMP_PRIOS; p++)
        fprintf(out->file, "%4u %9u %9u  %8s %9" PRIu64 "        %8s %15" PRIu64 "\n", p, settings->tc_to_queue[p],
                settings->tc_to_pg[p], active(pauses_peer(m, port, p)), moment_tx_pfc(from, p),
                active(from->paused_now >> p & 1), moment_rx_pfc(from, p));
    fputs(LINE "\n", out->file);
}

static void queuing(struct out *out, const struct moment *m, uint32_t node)
{
    if (!out_begin(out, "txt", "show queuing interface")) return;
    fputs("\nslot  1\n=======\n\n", out->file);
    EACH_PORT(m, node, port)
    {
        queuing_port(out, m, port);
    }
    out_end(out);
}

/* --- the same as NX-API's JSON: all values are texts --- */

static void rows_begin(struct out *out, const char *name)
{
    char key[64];

    snprintf(key, sizeof key, "TABLE_%s", name);
    jout_open(&out->json, key, '{');
    snprintf(key, sizeof key, "ROW_%s", name);
    jout_open(&out->json, key, '[');
}

static void rows_end(struct out *out)
{
    jout_close(&out->json);
    jout_close(&out->json);
}

static void egress_entry(struct out *out, const char *type, const char *units, uint64_t value)
{
    jout_open_line(&out->json, NULL, '{');
    jout_text(&out->json, "eq-stat-type", type);
    jout_text(&out->json, "eq-stat-units", units);
    out_json_string(out, "eq-uc-stat-value", value);
    jout_text(&out->json, "eq-oobfc-uc-stat-value", "0");
    jout_text(&out->json, "eq-mc-stat-value", "0");
    jout_close(&out->json);
}

static void egress_json(struct out *out, const struct moment *m, uint32_t port)
{
    const struct moment_port *from = &m->port[port];
    char name[FABRIC_NAME];

    jout_open(&out->json, NULL, '{');
    jout_text(&out->json, "dir", "Egress");
    jout_text(&out->json, "if_name_str", moment_port_name(m, port, name));
    rows_begin(out, "qosgrp_egress_stats");
    for (unsigned q = 0; q < DUMP_PRIOS; q++) {
        jout_open(&out->json, NULL, '{');
        out_json_string(out, "eq-qosgrp", q);
        rows_begin(out, "qosgrp_egress_stats_entry");
        egress_entry(out, "Tx", "Pkts", from->sw.prio[q].tx_packets);
        egress_entry(out, "Tx", "Byts", from->sw.prio[q].tx_bytes);
        egress_entry(out, "Dropped", "Pkts", from->queue_drops[q]);
        rows_end(out);
        jout_close(&out->json);
    }
    rows_end(out);
    jout_close(&out->json);
}

static void ingress_json(struct out *out, const struct moment *m, uint32_t port)
{
    const struct moment_port *from = &m->port[port];
    const struct fabric_settings *settings = moment_settings(m, port);
    struct jout *json = &out->json;
    char name[FABRIC_NAME];

    jout_open(json, NULL, '{');
    jout_text(json, "dir", "Ingress");
    jout_text(json, "if_name_str", moment_port_name(m, port, name));
    rows_begin(out, "ingress_stats_entry");
    jout_open_line(json, NULL, '{');
    jout_text(json, "ip-stat-type", "Ingress MMU Drop");
    jout_text(json, "ip-stat-units", "Pkts");
    out_json_string(out, "ip-stat-value", mmu_drops(from));
    jout_close(json);
    rows_end(out);
    out_json_string(out, "tx-ppp", from->sw.tx_pfc_frames);
    out_json_string(out, "rx-ppp", from->sw.rx_pfc_frames);
    rows_begin(out, "pfc_stats");
    for (unsigned p = 0; p < DUMP_PRIOS; p++) {
        jout_open_line(json, NULL, '{');
        out_json_string(out, "cos", p);
        out_json_string(out, "pfc-qosgrp", settings->tc_to_queue[p]);
        out_json_string(out, "pfc-pg", settings->tc_to_pg[p]);
        jout_text(json, "tx-pause-state", active(pauses_peer(m, port, p)));
        out_json_string(out, "tx-pause-count", moment_tx_pfc(from, p));
        jout_text(json, "rx-pause-state", active(from->paused_now >> p & 1));
        out_json_string(out, "rx-pause-count", moment_rx_pfc(from, p));
        jout_close(json);
    }
    rows_end(out);
    jout_close(json);
}

static void queuing_json(struct out *out, const struct moment *m, uint32_t node)
{
    struct jout *json = &out->json;

    if (!out_begin(out, "json", "show queuing interface")) return;
    jout_open(json, NULL, '{');
    jout_open(json, "TABLE_module", '{');
    jout_open(json, "ROW_module", '{');
    rows_begin(out, "queuing_interface");
    EACH_PORT(m, node, port)
    {
        egress_json(out, m, port);
        ingress_json(out, m, port);
    }
    rows_end(out);
    jout_close(json);
    jout_close(json);
    jout_close(json);
    out_end(out);
}

static const char *class_name(unsigned queue, char buf[32])
{
    if (queue == 0)
        snprintf(buf, 32, "c-out-8q-q-default");
    else
        snprintf(buf, 32, "c-out-8q-q%u", queue);
    return buf;
}

static void object(struct out *out, const struct moment *m, uint32_t port, unsigned q)
{
    const struct moment_port *from = &m->port[port];
    struct jout *json = &out->json;
    char name[FABRIC_NAME], class[32], dn[FABRIC_NAME + 128];

    class_name(q, class);
    moment_port_name(m, port, name);
    snprintf(dn, sizeof dn, "sys/ipqos/queuing/policy/out/intf-[%s%s]/queuingStatistics-[%s]",
             strncmp(name, "Ethernet", 8) == 0 ? "eth" : "", strncmp(name, "Ethernet", 8) == 0 ? name + 8 : name,
             class);
    jout_open_line(json, NULL, '{');
    jout_open(json, "ipqosQueuingStats", '{');
    jout_open(json, "attributes", '{');
    jout_text(json, "dn", dn);
    jout_text(json, "cmapName", class);
    out_json_string(out, "txPackets", from->sw.prio[q].tx_packets);
    out_json_string(out, "txBytes", from->sw.prio[q].tx_bytes);
    out_json_string(out, "dropPackets", from->queue_drops[q]);
    out_json_string(out, "randDropPackets", 0);
    out_json_string(out, "randEcnMarkedPackets", from->sw.prio[q].ecn_marked);
    out_json_string(out, "ucCurrQueueDepth", from->queue[q].queue_bytes);
    out_json_string(out, "pfcRxPpp", moment_rx_pfc(from, q));
    out_json_string(out, "pfcTxPpp", moment_tx_pfc(from, q));
    for (int i = 0; i < 3; i++)
        jout_close(json);
}

static void managed_objects(struct out *out, const struct moment *m, uint32_t node)
{
    uint32_t count = 0;

    if (!out_begin(out, "json", "ipqosQueuingStats")) return;
    EACH_PORT(m, node, port)
    {
        count += DUMP_PRIOS;
    }
    jout_open(&out->json, NULL, '{');
    out_json_string(out, "totalCount", count);
    jout_open(&out->json, "imdata", '[');
    EACH_PORT(m, node, port)
    {
        for (unsigned q = 0; q < DUMP_PRIOS; q++)
            object(out, m, port, q);
    }
    jout_close(&out->json);
    jout_close(&out->json);
    out_end(out);
}

/* --- the pause watchdog --- */

static void watchdog_group(struct out *out, const struct moment_port *from, unsigned p)
{
    static const char box[] = "+----------------------------------------------------+\n";
    const struct sw_prio_counters *prio = &from->sw.prio[p], *raw = &from->raw->prio[p];
    const struct {
        const char *name;
        uint64_t value;
    } row[] = {{"Shutdown", prio->watchdog_detected},
               {"Restored", prio->watchdog_restored},
               {"Total pkts drained", 0},
               {"Total pkts dropped", from->watchdog_drops[p]},
               {"Total pkts drained + dropped", from->watchdog_drops[p]},
               {"Aggregate pkts dropped", from->watchdog_drops[p]},
               {"Total Ingress pkts dropped", 0},
               {"Aggregate Ingress pkts dropped", 0}};

    fprintf(out->file, "%s| QOS GROUP %u [%s] PFC [YES] PFC-COS [%u]\n%s", box, p,
            raw->watchdog_detected > raw->watchdog_restored ? "Shutdown" : "Active", p, box);
    fprintf(out->file, "|                               |  Stats             |\n%s", box);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        fprintf(out->file, "|%31s|%20" PRIu64 "|\n", row[i].name, row[i].value);
    fputs(box, out->file);
}

static void watchdog(struct out *out, const struct moment *m, uint32_t node)
{
    char name[FABRIC_NAME];

    if (!out_begin(out, "txt", "show queuing pfc-queue detail")) return;
    EACH_PORT(m, node, port)
    {
        uint8_t watched = moment_watched(m, port);
        fprintf(out->file, "%s Interface PFC watchdog: [%s]\n", moment_port_name(m, port, name),
                watched ? "Enabled" : "Disabled");
        if (!watched) continue;
        fputs("Disable-action                     : No\nPFC watch-dog interface-multiplier : 0\n", out->file);
        for (unsigned p = 0; p < DUMP_PRIOS; p++)
            if (watched >> p & 1) watchdog_group(out, &m->port[port], p);
        fputc('\n', out->file);
    }
    out_end(out);
}

/* --- interfaces --- */

static uint64_t per_second(uint64_t count, ps_t at)
{
    return at ? (uint64_t)((u128)count * PS_S / at) : 0;
}

static void interface_counters(struct out *out, const struct moment_port *from)
{
    fprintf(out->file,
            "  RX\n    %" PRIu64 " unicast packets  0 multicast packets  0 broadcast packets\n    %" PRIu64
            " input packets  %" PRIu64 " bytes\n    0 jumbo packets  0 storm suppression bytes\n    0 runts  %" PRIu64
            " giants  %" PRIu64 " CRC  0 no buffer\n",
            from->sw.rx_packets, from->sw.rx_packets, from->sw.rx_bytes, from->sw.drop[SW_DROP_mtu], from->crc_errors);
    fprintf(out->file,
            "    %" PRIu64 " input error  0 short frame  0 overrun   0 underrun  0 ignored\n"
            "    0 watchdog  0 bad etype drop  0 bad proto drop  0 if down drop\n"
            "    0 input with dribble  %" PRIu64 " input discard\n    %" PRIu64 " Rx pause\n    0 Stomped CRC\n",
            from->crc_errors, moment_in_discards(from), from->sw.rx_pfc_frames);
    fprintf(out->file,
            "  TX\n    %" PRIu64 " unicast packets  0 multicast packets  0 broadcast packets\n    %" PRIu64
            " output packets  %" PRIu64 " bytes\n    0 jumbo packets\n"
            "    0 output error  0 collision  0 deferred  0 late collision\n"
            "    0 lost carrier  0 no carrier  0 babble  %" PRIu64 " output discard\n    %" PRIu64 " Tx pause\n\n",
            from->sw.tx_packets, from->sw.tx_packets, from->sw.tx_bytes, moment_out_discards(from),
            from->sw.tx_pfc_frames);
}

static void interface(struct out *out, const struct moment *m, uint32_t port)
{
    const struct moment_port *from = &m->port[port];
    uint64_t mbps = moment_speed_mbps(m, port);
    bool up = moment_up(m, port), admin = m->fabric->port[port].up;
    uint32_t mtu = moment_settings(m, port)->mtu_bytes;
    char name[FABRIC_NAME], peer[2 * FABRIC_NAME], mac[18];

    moment_mac(m, port, mac);
    fprintf(out->file, "%s is %s\nadmin state is %s, Dedicated Interface\n", moment_port_name(m, port, name),
            up       ? "up"
            : !admin ? "down (Administratively down)"
                     : "down (Link not connected)",
            admin ? "up" : "down");
    fprintf(out->file, "  Hardware: 100000/200000/400000 Ethernet, address: %.2s%.2s.%.2s%.2s.%.2s%.2s\n", mac, mac + 3,
            mac + 6, mac + 9, mac + 12, mac + 15);
    fprintf(out->file, "  Description: %s\n", moment_peer(m, port, peer));
    fprintf(out->file, "  MTU %u bytes, BW %" PRIu64 " Kbit , DLY 10 usec\n", mtu && mtu < 9216 ? mtu : 9216,
            mbps * 1000);
    fprintf(out->file,
            "  reliability 255/255, txload 1/255, rxload 1/255\n  Encapsulation ARPA, medium is broadcast\n"
            "  full-duplex, %" PRIu64
            " Gb/s\n  Beacon is turned off\n  Input flow-control is off, output flow-control is off\n"
            "  Rate mode is dedicated\n  Last clearing of \"show interface\" counters never\n",
            mbps / 1000);
    fprintf(out->file, "  %" PRIu64 " interface resets\n  Load-Interval #1: 30 seconds\n", from->downs);
    fprintf(out->file,
            "    30 seconds input rate %" PRIu64 " bits/sec, %" PRIu64
            " packets/sec\n    30 seconds output rate %" PRIu64 " bits/sec, %" PRIu64 " packets/sec\n",
            per_second(from->raw->rx_bytes, m->at) * 8, per_second(from->raw->rx_packets, m->at),
            per_second(from->raw->tx_bytes, m->at) * 8, per_second(from->raw->tx_packets, m->at));
    interface_counters(out, from);
}

#define WIDE "--------------------------------------------------------------------------------\n"

static void interfaces(struct out *out, const struct moment *m, uint32_t node)
{
    char name[FABRIC_NAME], peer[2 * FABRIC_NAME], speed[TEXT_COUNT];

    if (out_begin(out, "txt", "show interface")) {
        EACH_PORT(m, node, port)
        {
            interface(out, m, port);
        }
        out_end(out);
    }
    if (out_begin(out, "txt", "show interface status")) {
        fputs(WIDE "Port          Name               Status    Vlan      Duplex  Speed   Type\n" WIDE, out->file);
        EACH_PORT(m, node, port)
        {
            snprintf(speed, sizeof speed, "%" PRIu64, moment_speed_mbps(m, port) / 1000);
            fprintf(out->file, "%-13s %-18.18s %-9s %-9s %-7s %s%-*s %s\n", short_name(m, port, name),
                    moment_peer(m, port, peer),
                    moment_up(m, port)          ? "connected"
                    : !m->fabric->port[port].up ? "disabled"
                                                : "notconnec",
                    "routed", "full", speed, (int)(7 - strlen(speed)), "G", "--");
        }
        out_end(out);
    }
    if (!out_begin(out, "txt", "show interface counters errors")) return;
    fputs(WIDE "Port          Align-Err    FCS-Err   Xmit-Err    Rcv-Err  UnderSize OutDiscards\n" WIDE, out->file);
    EACH_PORT(m, node, port)
    {
        const struct moment_port *from = &m->port[port];
        fprintf(out->file, "%-13s %9d %10" PRIu64 " %10d %10" PRIu64 " %10d %11" PRIu64 "\n", short_name(m, port, name),
                0, from->crc_errors, 0, from->crc_errors, 0, moment_out_discards(from));
    }
    out_end(out);
}

static void lldp(struct out *out, const struct moment *m, uint32_t node)
{
    unsigned total = 0;
    char name[FABRIC_NAME], far[FABRIC_NAME];

    if (!out_begin(out, "txt", "show lldp neighbors")) return;
    fputs("Capability codes:\n  (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device\n"
          "  (W) WLAN Access Point, (P) Repeater, (S) Station, (O) Other\n"
          "Device ID            Local Intf      Hold-time  Capability  Port ID  \n",
          out->file);
    EACH_PORT(m, node, port)
    {
        uint32_t peer = m->fabric->port[port].peer, other = m->fabric->port[peer].node;
        if (fabric_node_unknown(m->fabric, other)) continue;
        fprintf(out->file, "%-20s %-15s %-10d %-11s %s\n", m->fabric->node[other].name, short_name(m, port, name), 120,
                other < m->fabric->hosts ? "S" : "BR", moment_port_name(m, peer, far));
        total++;
    }
    fprintf(out->file, "Total entries displayed: %u\n", total);
    out_end(out);
}

void dump_nxos(struct out *out, const struct moment *m, uint32_t node)
{
    dump_version(out, m, node, "show version", "Software\n  NXOS: version ");
    pfc(out, m, node);
    queuing(out, m, node);
    queuing_json(out, m, node);
    managed_objects(out, m, node);
    watchdog(out, m, node);
    interfaces(out, m, node);
    lldp(out, m, node);
    out_config(out, m, node, "txt", "show running-config");
}
