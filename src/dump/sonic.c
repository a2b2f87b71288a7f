/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `show` prints on a SONiC switch: pauses, queues, priority groups, watermarks, the pause watchdog, interfaces,
 * neighbours.
 *
 * Titles, their order and `N/A` for what a platform does not count are sonic-utilities' own.  N/A here: bytes of
 * dropped and of marked packets and the pool's high-water mark, which the switch of the simulator does not keep, and
 * when a pause was seen last.  Ports without a cable are left out.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "dump/dump_int.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define COLUMNS(list) (sizeof(list) / sizeof((list)[0]))
static void port_cell(struct out *out, const struct moment *m, uint32_t port)
{
    char name[FABRIC_NAME];

    grid_cell(out, "%s", moment_port_name(m, port, name));
}

static void pfc_table(struct out *out, const struct moment *m, uint32_t node, bool rx)
{
    static const char *const title[2][9] = {
        {"Port Tx", "PFC0", "PFC1", "PFC2", "PFC3", "PFC4", "PFC5", "PFC6", "PFC7"},
        {"Port Rx", "PFC0", "PFC1", "PFC2", "PFC3", "PFC4", "PFC5", "PFC6", "PFC7"}};

    grid_begin(out, title[rx], COLUMNS(title[0]), 0);
    EACH_PORT(m, node, port)
    {
        port_cell(out, m, port);
        for (unsigned p = 0; p < DUMP_PRIOS; p++)
            grid_count(out, rx ? moment_rx_pfc(&m->port[port], p) : moment_tx_pfc(&m->port[port], p));
    }
    grid_end(out);
}

static void pfc_counters(struct out *out, const struct moment *m, uint32_t node)
{
    static const char *const history[] = {"Port",
                                          "Priority",
                                          "RX Pause Transitions",
                                          "Total RX Pause Time US",
                                          "Recent RX Pause Time US",
                                          "Recent RX Pause Timestamp"};

    if (out_begin(out, "txt", "show pfc counters")) {
        pfc_table(out, m, node, true);
        fputc('\n', out->file);
        pfc_table(out, m, node, false);
        out_end(out);
    }
    if (!out_begin(out, "txt", "show pfc counters --history")) return;
    grid_begin(out, history, COLUMNS(history), 0);
    EACH_PORT(m, node, port)
    {
        for (unsigned p = 0; p < DUMP_PRIOS; p++) {
            port_cell(out, m, port);
            grid_cell(out, "PFC%u", p);
            grid_count(out, m->port[port].paused[p]);
            grid_count(out, m->port[port].sw.prio[p].rx_pause_ps / PS_US);
            grid_cell(out, "N/A");
            grid_cell(out, "N/A");
        }
        grid_blank(out);
    }
    grid_end(out);
    out_end(out);
}

static void queue_counters(struct out *out, const struct moment *m, uint32_t node)
{
    static const char *const title[] = {"Port", "TxQ", "Counter/pkts", "Counter/bytes", "Drop/pkts", "Drop/bytes"};
    static const char *const marks[] = {"Port",           "TxQ", "WredDrp/pkts", "WredDrp/bytes", "EcnMarked/pkts",
                                        "EcnMarked/bytes"};

    for (int wred = 0; wred < 2; wred++) {
        if (!out_begin(out, "txt", wred ? "show queue wredcounters" : "show queue counters")) return;
        EACH_PORT(m, node, port)
        {
            const struct moment_port *from = &m->port[port];
            grid_begin(out, wred ? marks : title, COLUMNS(title), 0);
            for (unsigned q = 0; q < DUMP_PRIOS; q++) {
                port_cell(out, m, port);
                grid_cell(out, "UC%u", q);
                grid_count(out, wred ? 0 : from->sw.prio[q].tx_packets);
                grid_count(out, wred ? 0 : from->sw.prio[q].tx_bytes);
                grid_count(out, wred ? from->sw.prio[q].ecn_marked : from->queue_drops[q]);
                grid_cell(out, "N/A");
            }
            grid_end(out);
            fputc('\n', out->file);
        }
        out_end(out);
    }
}

static const char *const groups[] = {"Port", "PG0", "PG1", "PG2", "PG3", "PG4", "PG5", "PG6", "PG7"};
static const char *const queues[] = {"Port", "UC0", "UC1", "UC2", "UC3", "UC4", "UC5", "UC6", "UC7"};

enum by_group { QUEUE_MOST, SHARED_MOST, HEADROOM_MOST, PG_DROPS };

static uint64_t of_group(const struct moment_port *port, enum by_group which, unsigned p)
{
    const struct sw_prio_counters *prio = &port->sw.prio[p];

    switch (which) {
    case QUEUE_MOST:
        return prio->queue_max_bytes;
    case SHARED_MOST:
        return prio->pg_max_bytes - prio->headroom_max_bytes;
    case HEADROOM_MOST:
        return prio->headroom_max_bytes;
    case PG_DROPS:
        return port->pg_drops[p];
    }
    return 0;
}

static void by_group(struct out *out, const struct moment *m, uint32_t node)
{
    static const struct {
        const char *command, *head;
        enum by_group which;
    } list[] = {
        {"show queue watermark unicast", "Egress shared pool occupancy per unicast queue:", QUEUE_MOST},
        {"show priority-group watermark shared", "Ingress shared pool occupancy per PG:", SHARED_MOST},
        {"show priority-group watermark headroom", "Ingress headroom per PG:", HEADROOM_MOST},
        {"show priority-group drop counters", "Ingress PG dropped packets:", PG_DROPS},
    };

    for (size_t i = 0; i < COLUMNS(list); i++) {
        if (!out_begin(out, "txt", "%s", list[i].command)) return;
        fprintf(out->file, "%s\n", list[i].head);
        grid_begin(out, list[i].which == QUEUE_MOST ? queues : groups, COLUMNS(groups), 0);
        EACH_PORT(m, node, port)
        {
            port_cell(out, m, port);
            for (unsigned p = 0; p < DUMP_PRIOS; p++)
                grid_cell(out, "%" PRIu64, of_group(&m->port[port], list[i].which, p));
        }
        grid_end(out);
        out_end(out);
    }
}

static void pool_watermark(struct out *out)
{
    static const char *const title[] = {"Pool", "Bytes"};

    if (!out_begin(out, "txt", "show buffer_pool watermark")) return;
    fputs("Shared pool maximum occupancy:\n", out->file);
    grid_begin(out, title, COLUMNS(title), 0);
    grid_cell(out, "ingress_lossless_pool");
    grid_cell(out, "N/A");
    grid_end(out);
    out_end(out);
}

static void watchdog(struct out *out, const struct moment *m, uint32_t node)
{
    static const char *const title[] = {"QUEUE",      "STATUS",          "STORM DETECTED/RESTORED", "TX OK/DROP",
                                        "RX OK/DROP", "TX LAST OK/DROP", "RX LAST OK/DROP"};
    char name[FABRIC_NAME];

    if (!out_begin(out, "txt", "show pfcwd stats")) return;
    grid_begin(out, title, COLUMNS(title), 0);
    EACH_PORT(m, node, port)
    {
        const struct moment_port *from = &m->port[port];
        for (unsigned p = 0; p < DUMP_PRIOS; p++) {
            const struct sw_prio_counters *prio = &from->sw.prio[p], *raw = &from->raw->prio[p];
            if (!(moment_watched(m, port) >> p & 1)) continue;
            grid_cell(out, "%s:%u", moment_port_name(m, port, name), p);
            grid_cell(out, "%s", raw->watchdog_detected > raw->watchdog_restored ? "stormed" : "operational");
            grid_cell(out, "%" PRIu64 "/%" PRIu64, prio->watchdog_detected, prio->watchdog_restored);
            grid_cell(out, "%" PRIu64 "/%" PRIu64, prio->tx_packets, from->watchdog_drops[p]);
            grid_cell(out, "%" PRIu64 "/0", prio->rx_packets);
            grid_cell(out, "0/0");
            grid_cell(out, "0/0");
        }
    }
    grid_end(out);
    out_end(out);
}

/* Bytes a second since the run began, in portstat's units. */
static void rate_cell(struct out *out, uint64_t bytes, ps_t at)
{
    uint64_t rate = at ? (uint64_t)((u128)bytes * PS_S / at) : 0;
    char text[TEXT_COUNT];

    if (rate > 10000000)
        grid_cell(out, "%s MB/s", text_fixed(rate, 1000000, 2, text));
    else if (rate > 10000)
        grid_cell(out, "%s KB/s", text_fixed(rate, 1000, 2, text));
    else
        grid_cell(out, "%s B/s", text_fixed(rate, 1, 2, text));
}

static void util_cell(struct out *out, const struct moment *m, uint32_t port, uint64_t bytes)
{
    uint64_t bps = m->at ? (uint64_t)((u128)bytes * 8 * PS_S / m->at) : 0, mbps = moment_speed_mbps(m, port);
    char text[TEXT_COUNT];

    grid_cell(out, "%s%%", text_fixed(mbps ? bps / mbps : 0, 10000, 2, text));
}

static void state_cells(struct out *out, const struct moment *m, uint32_t port)
{
    port_cell(out, m, port);
    grid_cell(out, "%s", !m->fabric->port[port].up ? "X" : moment_up(m, port) ? "U" : "D");
}

static void discard_cells(struct out *out, const struct moment_port *from, bool in)
{
    grid_count(out, in ? from->crc_errors : 0);
    grid_count(out, in ? moment_in_discards(from) : moment_out_discards(from));
    grid_count(out, in ? from->sw.drop[SW_DROP_mtu] : 0);
}

static void interface_counters(struct out *out, const struct moment *m, uint32_t node)
{
    static const char *const title[] = {"IFACE",  "STATE", "RX_OK",  "RX_BPS",  "RX_UTIL", "RX_ERR", "RX_DRP",
                                        "RX_OVR", "TX_OK", "TX_BPS", "TX_UTIL", "TX_ERR",  "TX_DRP", "TX_OVR"};
    static const char *const errors[] = {"IFACE", "STATE", "RX_ERR", "RX_DRP", "RX_OVR", "TX_ERR", "TX_DRP", "TX_OVR"};

    if (out_begin(out, "txt", "show interfaces counters")) {
        grid_begin(out, title, COLUMNS(title), 0);
        EACH_PORT(m, node, port)
        {
            const struct moment_port *from = &m->port[port];
            state_cells(out, m, port);
            grid_count(out, from->sw.rx_packets);
            rate_cell(out, from->raw->rx_bytes, m->at);
            util_cell(out, m, port, from->raw->rx_bytes);
            discard_cells(out, from, true);
            grid_count(out, from->sw.tx_packets);
            rate_cell(out, from->raw->tx_bytes, m->at);
            util_cell(out, m, port, from->raw->tx_bytes);
            discard_cells(out, from, false);
        }
        grid_end(out);
        out_end(out);
    }
    if (!out_begin(out, "txt", "show interfaces counters errors")) return;
    grid_begin(out, errors, COLUMNS(errors), 0);
    EACH_PORT(m, node, port)
    {
        state_cells(out, m, port);
        discard_cells(out, &m->port[port], true);
        discard_cells(out, &m->port[port], false);
    }
    grid_end(out);
    out_end(out);
}

/* A frame whose bits are wrong has passed FEC as a codeword that could not be corrected. */
static void fec(struct out *out, const struct moment *m, uint32_t node)
{
    static const char *const title[] = {"IFACE",          "STATE",       "FEC_CORR",    "FEC_UNCORR",
                                        "FEC_SYMBOL_ERR", "FEC_PRE_BER", "FEC_POST_BER"};

    if (!out_begin(out, "txt", "show interfaces counters fec-stats")) return;
    grid_begin(out, title, COLUMNS(title), 0);
    EACH_PORT(m, node, port)
    {
        const struct moment_port *from = &m->port[port];
        state_cells(out, m, port);
        grid_cell(out, "N/A");
        grid_count(out, from->crc_errors);
        grid_cell(out, "N/A");
        if (from->pre_fec_ber)
            grid_cell(out, "%.2e", (double)from->pre_fec_ber * 1e-18);
        else
            grid_cell(out, "N/A");
        grid_cell(out, "N/A");
    }
    grid_end(out);
    out_end(out);
}

/* A port's name has the number of its first lane. */
static void lanes_cell(struct out *out, const struct moment *m, uint32_t port)
{
    unsigned lanes = m->fabric->port[port].rate_bps > 400000000000ull ? 8 : 4;
    char name[FABRIC_NAME], text[64] = "";
    size_t used = 0;

    config_sonic.port_name(m->fabric, port, name, sizeof name);
    unsigned long first = strtoul(name + strcspn(name, "0123456789"), NULL, 10);
    for (unsigned i = 0; i < lanes && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lu", i ? "," : "", first + i);
    grid_cell(out, "%s", text);
}

static void status_row(struct out *out, const struct moment *m, uint32_t port)
{
    static const char *const fecs[] = {"N/A", "none", "fc", "rs"};
    const struct fabric_settings *settings = moment_settings(m, port);
    uint64_t mbps = moment_speed_mbps(m, port);

    port_cell(out, m, port);
    lanes_cell(out, m, port);
    if (mbps % 1000 == 0)
        grid_cell(out, "%" PRIu64 "G", mbps / 1000);
    else
        grid_cell(out, "%" PRIu64 "M", mbps);
    grid_cell(out, "%u", dump_sonic_mtu(settings->mtu_bytes));
    grid_cell(out, "%s", fecs[settings->fec]);
    grid_cell(out, "etp%u", m->fabric->port[port].index + 1u);
    grid_cell(out, "routed");
    grid_cell(out, "%s", moment_up(m, port) ? "up" : "down");
    grid_cell(out, "%s", m->fabric->port[port].up ? "up" : "down");
    grid_cell(out, "N/A");
    grid_cell(out, "%s", settings->pfc_rx == 0xff && settings->pfc_tx != 0xff ? "on" : "off");
}

static void interfaces(struct out *out, const struct moment *m, uint32_t node)
{
    static const char *const title[] = {"Interface", "Lanes", "Speed", "MTU",  "FEC",     "Alias",
                                        "Vlan",      "Oper",  "Admin", "Type", "Asym PFC"};
    static const char *const text[] = {"Interface", "Oper", "Admin", "Alias", "Description"};
    char peer[2 * FABRIC_NAME];

    if (out_begin(out, "txt", "show interfaces status")) {
        grid_begin(out, title, COLUMNS(title), 0);
        EACH_PORT(m, node, port)
        {
            status_row(out, m, port);
        }
        grid_end(out);
        out_end(out);
    }
    if (!out_begin(out, "txt", "show interfaces description")) return;
    grid_begin(out, text, COLUMNS(text), 0);
    EACH_PORT(m, node, port)
    {
        port_cell(out, m, port);
        grid_cell(out, "%s", moment_up(m, port) ? "up" : "down");
        grid_cell(out, "%s", m->fabric->port[port].up ? "up" : "down");
        grid_cell(out, "etp%u", m->fabric->port[port].index + 1u);
        grid_cell(out, "%s", moment_peer(m, port, peer));
    }
    grid_end(out);
    out_end(out);
}

static void flaps(struct out *out, const struct moment *m, uint32_t node)
{
    static const char *const title[] = {
        "Interface", "Flap Count", "Admin", "Oper", "Link Down TimeStamp(UTC)", "Link Up TimeStamp(UTC)"};

    if (!out_begin(out, "txt", "show interfaces flap")) return;
    grid_begin(out, title, COLUMNS(title), 1u | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5);
    EACH_PORT(m, node, port)
    {
        port_cell(out, m, port);
        grid_cell(out, "%" PRIu64, m->port[port].downs);
        grid_cell(out, "%s", m->fabric->port[port].up ? "Up" : "Down");
        grid_cell(out, "%s", moment_up(m, port) ? "Up" : "Down");
        grid_cell(out, "Never");
        grid_cell(out, "Never");
    }
    grid_end(out);
    out_end(out);
}

static void lldp(struct out *out, const struct moment *m, uint32_t node)
{
    static const char *const title[] = {"LocalPort", "RemoteDevice", "RemotePortID", "Capability", "RemotePortDescr"};
    unsigned total = 0;
    char name[FABRIC_NAME], here[2 * FABRIC_NAME];

    if (!out_begin(out, "txt", "show lldp table")) return;
    fputs("Capability codes: (R) Router, (B) Bridge, (O) Other\n", out->file);
    grid_begin(out, title, COLUMNS(title), 31);
    EACH_PORT(m, node, port)
    {
        uint32_t peer = m->fabric->port[port].peer, other = m->fabric->port[peer].node;
        if (fabric_node_unknown(m->fabric, other)) continue;
        port_cell(out, m, port);
        grid_cell(out, "%s", m->fabric->node[other].name);
        grid_cell(out, "%s", moment_port_name(m, peer, name));
        grid_cell(out, "%s", other < m->fabric->hosts ? "O" : "BR");
        grid_cell(out, "%s", moment_peer(m, peer, here));
        total++;
    }
    grid_end(out);
    fprintf(out->file, "--------------------------------------------------\nTotal entries displayed:  %u\n", total);
    out_end(out);
}

void dump_sonic(struct out *out, const struct moment *m, uint32_t node)
{
    dump_version(out, m, node, "show version", "SONiC Software Version: SONiC.");
    pfc_counters(out, m, node);
    queue_counters(out, m, node);
    by_group(out, m, node);
    pool_watermark(out);
    watchdog(out, m, node);
    interface_counters(out, m, node);
    fec(out, m, node);
    interfaces(out, m, node);
    flaps(out, m, node);
    lldp(out, m, node);
    dump_sonic_db(out, m, node);
    dump_sonic_config(out, m, node);
}
