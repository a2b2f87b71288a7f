/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host prints of its adapters: ethtool, rdma, sysfs and lldpctl, with the names of the mlx5 driver.
 *
 * Adapter n is the interface eth<n> and the device mlx5_<n>.  Jobs move their data by RDMA, which the kernel's own
 * counters (rx_packets) do not see: those do not grow.  Two things the adapter does not count itself, and the port at
 * the other end of its cable does: for how long its pauses held (rx pause time there), and what arrived of each
 * priority (sent there).
 */
#include <inttypes.h>
#include <string.h>

#include "base/wide.h"
#include "dump/dump_int.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define LIST(list) (sizeof(list) / sizeof((list)[0]))

/* mlx5's hw_counters, in the driver's order; those that the simulator's adapter does not have are 0. */
static const char *const hw_counters[] = {"rx_write_requests",
                                          "rx_read_requests",
                                          "rx_atomic_requests",
                                          "rx_dct_connect",
                                          "out_of_buffer",
                                          "out_of_sequence",
                                          "duplicate_request",
                                          "rnr_nak_retry_err",
                                          "packet_seq_err",
                                          "implied_nak_seq_err",
                                          "local_ack_timeout_err",
                                          "resp_local_length_error",
                                          "resp_cqe_error",
                                          "req_cqe_error",
                                          "req_remote_invalid_request",
                                          "req_remote_access_errors",
                                          "resp_remote_access_errors",
                                          "resp_cqe_flush_error",
                                          "req_cqe_flush_error",
                                          "roce_adp_retrans",
                                          "roce_adp_retrans_to",
                                          "roce_slow_restart",
                                          "roce_slow_restart_cnps",
                                          "roce_slow_restart_trans",
                                          "rp_cnp_ignored",
                                          "rp_cnp_handled",
                                          "np_ecn_marked_roce_packets",
                                          "np_cnp_sent",
                                          "rx_icrc_encapsulated"};

static uint64_t hw_counter(const struct nic_counters *counters, const char *name)
{
    for (const struct nic_counter *c = nic_counter_list; c->name; c++) {
        uint64_t value;
        if (strcmp(c->name, name) != 0) continue;
        memcpy(&value, (const char *)counters + c->offset, sizeof value);
        return value;
    }
    return 0;
}

struct adapter { /* an adapter, its port and the other end of its cable */
    const struct moment *m;
    uint32_t port, peer;
    unsigned number;
    const struct moment_nic *nic;
    const struct moment_port *here;
};

static uint64_t sum_pauses(const struct nic_counters *counters, bool rx)
{
    uint64_t sum = 0;

    for (unsigned p = 0; p < DUMP_PRIOS; p++)
        sum += rx ? counters->prio[p].rx_pause + counters->prio[p].rx_resume
                  : counters->prio[p].tx_pause + counters->prio[p].tx_resume;
    return sum;
}

/* For how long this adapter's pauses held its peer, as the peer counts it. */
static uint64_t pausing_ps(const struct adapter *a, unsigned p, bool raw)
{
    const struct moment_port *peer = &a->m->port[a->peer];

    if (peer->raw) return raw ? peer->raw->prio[p].rx_pause_ps : peer->sw.prio[p].rx_pause_ps;
    const struct fabric_port *at = &a->m->fabric->port[a->peer];
    const struct moment_nic *other = &a->m->nic[a->m->fabric->first_endpoint[at->node] + at->index];
    return raw ? other->raw->prio[p].rx_pause_ps : other->counters.prio[p].rx_pause_ps;
}

/* Per cent of the time in which the host took data more slowly than it came: its receive buffer stood above the
 * threshold, and the adapter paused its peer. */
static unsigned stalled_percent(const struct adapter *a)
{
    uint64_t most = 0;

    for (unsigned p = 0; p < DUMP_PRIOS; p++)
        if (pausing_ps(a, p, true) > most) most = pausing_ps(a, p, true);
    if (a->nic->raw->rx_buffer_max_bytes == 0 || a->m->at == 0 || most == 0) return 0;
    uint64_t percent = (uint64_t)(((u128)most * 100 + a->m->at - 1) / a->m->at);
    return percent > 100 ? 100 : (unsigned)percent;
}

static void arrived(const struct adapter *a, unsigned p, uint64_t *ret_bytes, uint64_t *ret_packets)
{
    const struct moment_port *peer = &a->m->port[a->peer];

    *ret_bytes = peer->sw.prio[p].tx_bytes;
    *ret_packets = peer->sw.prio[p].tx_packets;
    if (peer->raw) return;
    const struct fabric_port *at = &a->m->fabric->port[a->peer];
    const struct nic_counters *other = &a->m->nic[a->m->fabric->first_endpoint[at->node] + at->index].counters;
    *ret_bytes = other->prio[p].tx_bytes;
    *ret_packets = other->prio[p].tx_packets;
}

static void line(struct out *out, const char *name, uint64_t value)
{
    fprintf(out->file, "     %s: %" PRIu64 "\n", name, value);
}

static void prio_line(struct out *out, const char *way, unsigned p, const char *name, uint64_t value)
{
    fprintf(out->file, "     %s_prio%u_%s: %" PRIu64 "\n", way, p, name, value);
}

static void ethtool_prio(struct out *out, const struct adapter *a, unsigned p)
{
    const struct nic_prio_counters *prio = &a->nic->counters.prio[p];
    uint64_t bytes, packets;

    arrived(a, p, &bytes, &packets);
    prio_line(out, "rx", p, "bytes", bytes);
    prio_line(out, "rx", p, "packets", packets);
    prio_line(out, "rx", p, "discards", 0);
    prio_line(out, "tx", p, "bytes", prio->tx_bytes);
    prio_line(out, "tx", p, "packets", prio->tx_packets);
}

static void ethtool_pauses(struct out *out, const struct adapter *a, unsigned p)
{
    const struct fabric_settings *settings = moment_settings(a->m, a->port);
    const struct nic_prio_counters *prio = &a->nic->counters.prio[p], *raw = &a->nic->raw->prio[p];

    if (!((settings->pfc_rx | settings->pfc_tx) >> p & 1) && raw->rx_pause == 0 && raw->tx_pause == 0) return;
    prio_line(out, "rx", p, "pause", prio->rx_pause + prio->rx_resume);
    prio_line(out, "rx", p, "pause_duration", prio->rx_pause_ps / PS_US);
    prio_line(out, "tx", p, "pause", prio->tx_pause + prio->tx_resume);
    prio_line(out, "tx", p, "pause_duration", pausing_ps(a, p, false) / PS_US);
    prio_line(out, "rx", p, "pause_transition", prio->rx_pause_transition);
}

static void ethtool_statistics(struct out *out, const struct adapter *a)
{
    const struct nic_counters *counters = &a->nic->counters;
    unsigned stalled = stalled_percent(a);

    if (!out_begin(out, "txt", "ethtool -S eth%u", a->number)) return;
    fputs("NIC statistics:\n", out->file);
    line(out, "rx_packets", 0);
    line(out, "rx_bytes", 0);
    line(out, "tx_packets", 0);
    line(out, "tx_bytes", 0);
    line(out, "rx_out_of_buffer", 0);
    line(out, "rx_vport_rdma_unicast_packets", counters->rx_packets);
    line(out, "rx_vport_rdma_unicast_bytes", counters->rx_bytes);
    line(out, "tx_vport_rdma_unicast_packets", counters->tx_packets);
    line(out, "tx_vport_rdma_unicast_bytes", counters->tx_bytes);
    line(out, "tx_packets_phy", counters->tx_packets);
    line(out, "rx_packets_phy", counters->rx_packets);
    line(out, "rx_crc_errors_phy", a->here->crc_errors);
    line(out, "tx_bytes_phy", counters->tx_bytes);
    line(out, "rx_bytes_phy", counters->rx_bytes);
    line(out, "rx_pause_ctrl_phy", sum_pauses(counters, true));
    line(out, "tx_pause_ctrl_phy", sum_pauses(counters, false));
    line(out, "rx_discards_phy", counters->drop[NIC_DROP_rx_buffer]);
    line(out, "tx_discards_phy", 0);
    line(out, "link_down_events_phy", a->here->downs);
    line(out, "outbound_pci_stalled_rd", 0);
    line(out, "outbound_pci_stalled_wr", stalled);
    line(out, "outbound_pci_stalled_rd_events", 0);
    line(out, "outbound_pci_stalled_wr_events", stalled > 30);
    for (unsigned p = 0; p < DUMP_PRIOS; p++)
        ethtool_prio(out, a, p);
    for (unsigned p = 0; p < DUMP_PRIOS; p++)
        ethtool_pauses(out, a, p);
    out_end(out);
}

static void ethtool_link(struct out *out, const struct adapter *a)
{
    bool up = moment_up(a->m, a->port);

    if (!out_begin(out, "txt", "ethtool eth%u", a->number)) return;
    fprintf(out->file, "Settings for eth%u:\n", a->number);
    if (up)
        fprintf(out->file, "\tSpeed: %" PRIu64 "Mb/s\n\tDuplex: Full\n", moment_speed_mbps(a->m, a->port));
    else
        fputs("\tSpeed: Unknown!\n\tDuplex: Unknown! (255)\n", out->file);
    fprintf(out->file,
            "\tAuto-negotiation: on\n\tPort: Direct Attach Copper\n\tPHYAD: 0\n\tTransceiver: internal\n"
            "\tLink detected: %s\n",
            up ? "yes" : "no");
    out_end(out);
}

static void sysfs_line(struct out *out, unsigned number, const char *folder, const char *name, uint64_t value)
{
    fprintf(out->file, "/sys/class/infiniband/mlx5_%u/ports/1/%s/%s:%" PRIu64 "\n", number, folder, name, value);
}

static void sysfs(struct out *out, const struct adapter *a)
{
    static const char *const none[] = {"VL15_dropped",
                                       "excessive_buffer_overrun_errors",
                                       "link_error_recovery",
                                       "local_link_integrity_errors",
                                       "multicast_rcv_packets",
                                       "multicast_xmit_packets",
                                       "port_rcv_constraint_errors",
                                       "port_rcv_remote_physical_errors",
                                       "port_rcv_switch_relay_errors",
                                       "port_xmit_constraint_errors",
                                       "port_xmit_discards",
                                       "port_xmit_wait",
                                       "symbol_error"};
    const struct nic_counters *counters = &a->nic->counters;
    const struct {
        const char *name;
        uint64_t value;
    } counted[] = {{"link_downed", a->here->downs},
                   {"port_rcv_data", counters->rx_bytes / 4}, /* in words of four bytes, as these two are */
                   {"port_rcv_errors", a->here->crc_errors},
                   {"port_rcv_packets", counters->rx_packets},
                   {"port_xmit_data", counters->tx_bytes / 4},
                   {"port_xmit_packets", counters->tx_packets},
                   {"unicast_rcv_packets", counters->rx_packets},
                   {"unicast_xmit_packets", counters->tx_packets}};

    if (!out_begin(out, "txt", "sysfs mlx5_%u", a->number)) return;
    for (size_t i = 0; i < LIST(counted); i++)
        sysfs_line(out, a->number, "counters", counted[i].name, counted[i].value);
    for (size_t i = 0; i < LIST(none); i++)
        sysfs_line(out, a->number, "counters", none[i], 0);
    for (size_t i = 0; i < LIST(hw_counters); i++)
        sysfs_line(out, a->number, "hw_counters", hw_counters[i], hw_counter(counters, hw_counters[i]));
    sysfs_line(out, a->number, "hw_counters", "lifespan", 10);
    out_end(out);
}

static void rdma_statistic(struct out *out, const struct adapter *a)
{
    fprintf(out->file, "link mlx5_%u/1", a->number);
    for (size_t i = 0; i < LIST(hw_counters); i++)
        fprintf(out->file, " %s %" PRIu64, hw_counters[i], hw_counter(&a->nic->counters, hw_counters[i]));
    fputc('\n', out->file);
}

static void rdma_link(struct out *out, const struct adapter *a)
{
    bool up = moment_up(a->m, a->port);

    fprintf(out->file, "link mlx5_%u/1 state %s physical_state %s netdev eth%u\n", a->number, up ? "ACTIVE" : "DOWN",
            up ? "LINK_UP" : "DISABLED", a->number);
}

#define RULER "-------------------------------------------------------------------------------\n"

static void neighbour(struct out *out, const struct adapter *a)
{
    const struct fabric *fabric = a->m->fabric;
    uint32_t other = fabric->port[a->peer].node;
    char mac[18], name[FABRIC_NAME], here[2 * FABRIC_NAME];

    if (fabric_node_unknown(fabric, other)) return;
    moment_mac(a->m, fabric->node[other].first_port, mac);
    fprintf(out->file, "Interface:    eth%u, via: LLDP, RID: %u, Time: 0 day, 01:00:00\n", a->number, a->number + 1);
    fprintf(out->file, "  Chassis:\n    ChassisID:    mac %s\n    SysName:      %s\n", mac, fabric->node[other].name);
    if (other >= fabric->hosts) fputs("    Capability:   Bridge, on\n    Capability:   Router, on\n", out->file);
    fprintf(out->file, "  Port:\n    PortID:       ifname %s\n", moment_port_name(a->m, a->peer, name));
    fprintf(out->file, "    PortDescr:    %s\n    TTL:          120\n" RULER, moment_peer(a->m, a->peer, here));
}

static struct adapter adapter(const struct moment *m, uint32_t endpoint)
{
    const struct fabric_endpoint *from = &m->fabric->endpoint[endpoint];

    return (struct adapter){.m = m,
                            .port = from->port,
                            .peer = m->fabric->port[from->port].peer,
                            .number = from->index,
                            .nic = &m->nic[endpoint],
                            .here = &m->port[from->port]};
}

/* One file for all adapters of the host. */
static void each_adapter(struct out *out, const struct moment *m, uint32_t node, const char *command, const char *head,
                         void (*write)(struct out *out, const struct adapter *a))
{
    if (!out_begin(out, "txt", "%s", command)) return;
    fputs(head, out->file);
    for (uint32_t i = m->fabric->first_endpoint[node]; i < m->fabric->first_endpoint[node + 1]; i++) {
        struct adapter a = adapter(m, i);
        if (a.here->cabled) write(out, &a);
    }
    out_end(out);
}

void dump_host(struct out *out, const struct moment *m, uint32_t node)
{
    for (uint32_t i = m->fabric->first_endpoint[node]; i < m->fabric->first_endpoint[node + 1]; i++) {
        struct adapter a = adapter(m, i);
        if (!a.here->cabled) continue;
        ethtool_statistics(out, &a);
        ethtool_link(out, &a);
        dump_driver(out, m, node, a.number);
        sysfs(out, &a);
    }
    each_adapter(out, m, node, "rdma statistic show", "", rdma_statistic);
    each_adapter(out, m, node, "rdma link show", "", rdma_link);
    each_adapter(out, m, node, "lldpctl", RULER "LLDP neighbors:\n" RULER, neighbour);
}
