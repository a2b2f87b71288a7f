/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adapter and its queue pairs from what a fabric says of a NIC: the one way to nic_config and nic_qp_config, in a
 * fabric (adapters.c) or without one (src/live).  It needs no loaded fabric, so a program's library has it without the
 * loader.
 */
#include "fabric/nics.h"
#include "fabric/switches.h"
#include "fabric/systems.h"
#include "packet/codec.h"
#include "plant/plant.h"

#define SLOW_BUFFER_BYTES (1u << 20)

static void bus_and_buffer(struct nic_config *config, const struct fabric_nic *nic)
{
    config->rx_bps = nic->rx_rate_bps;
    config->tx_bps = nic->tx_rate_bps;
    config->tx_behind_bytes = nic->tx_behind_bytes;
    config->rx_buffer_bytes = (uint32_t)nic->rx_buffer_bytes;
    config->rx_xoff_bytes = (uint32_t)nic->rx_xoff_bytes;
    config->rx_xon_bytes = (uint32_t)nic->rx_xon_bytes;
    if (config->rx_buffer_bytes) return;
    /* of no matter unless something makes the host slow */
    config->rx_buffer_bytes = SLOW_BUFFER_BYTES;
    config->rx_xoff_bytes = SLOW_BUFFER_BYTES / 2;
    config->rx_xon_bytes = SLOW_BUFFER_BYTES / 4;
}

static uint8_t network_of(uint8_t system)
{
    if (system == FABRIC_ROCEV1) return PKT_NET_V1;
    return system == FABRIC_INFINIBAND ? PKT_NET_NONE : PKT_NET_IPV4;
}

static void frame_headers(struct nic_config *config, uint8_t system, bool tagged)
{
    const struct fabric_system_row *row = &fabric_systems[system];

    config->net = network_of(system);
    config->header_bytes = row->header_bytes;
    config->line_overhead_bytes = (uint16_t)(row->line.before + row->line.after + row->line.gap);
    config->tagged = tagged;
    if (config->tagged) config->header_bytes = (uint16_t)(config->header_bytes + PROTO_VLAN_BYTES);
    if (config->telemetry) config->header_bytes = (uint16_t)(config->header_bytes + CODEC_TELEMETRY_BYTES);
}

struct nic_config plant_nic_config(const struct plant_nic *from)
{
    struct nic_config config = from->hpcc_ns3
                                   ? nic_config_hpcc_ns3(from->line_bps, from->endpoint, from->peers->telemetry)
                                   : nic_config_default(from->line_bps, from->endpoint);

    nic_config_cc(&config, from->cc, from->peers);
    config.nak_repeat_ps = from->nic->nak_repeat_ps;
    bus_and_buffer(&config, from->nic);
    if (from->ack_class) {
        config.ack_tos = (uint8_t)(from->ack_class->dscp << 2);
        config.ack_prio = from->ack_class->priority;
    }
    if (from->hpcc_ns3) {
        config.cnp_off = config.echo_ce = true; /* marks travel in ACKs */
        return config;
    }
    frame_headers(&config, from->nic->system, from->tagged);
    if (from->cnp_class) {
        config.cnp_tos = (uint8_t)(from->cnp_class->dscp << 2);
        config.cnp_prio = from->cnp_class->priority;
    }
    return config;
}

struct nic_qp_config plant_qp_config(const struct fabric_nic *nic, const struct cc_config *cc)
{
    struct nic_qp_config config = nic_qp_config_default();

    config.cc = cc;
    config.mtu = (uint16_t)nic->mtu_bytes;
    config.recovery = nic->recovery;
    config.timeout = nic->timeout;
    config.adaptive_ps = nic->adaptive_ps;
    config.adaptive_each = (uint8_t)nic->adaptive_each;
    config.retry = nic->retry;
    config.rnr_retry = nic->rnr_retry;
    config.min_rnr_timer = nic->min_rnr_timer;
    config.max_read = (uint8_t)nic->max_read;
    config.ack_every = (uint16_t)nic->ack_every;
    config.ack_request_every = (uint16_t)nic->ack_request_every;
    config.window_packets = nic->window_packets;
    if (nic->recovery == NIC_SELECTIVE) {
        config.reorder_window = nic->reorder_packets;
        config.reorder_ps = nic->reorder_packets ? nic->reorder_ps : 0;
    }
    return config;
}
