/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapters from the fabric's arrays.
 */
#include <errno.h>
#include <stdlib.h>

#include "plant/plant_int.h"

#define SLOW_BUFFER_BYTES (1u << 20)
#define TAG_BYTES 4
#define INT_HEADER_BYTES 42 /* HPCC's telemetry in a data packet */

static int read_congestion(struct plant *plant, uint32_t index, struct fabric_errors *errors)
{
    struct cc_config *cc = &plant->cc[index];

    if (!plant_congestion(&plant->fabric->nic[index], cc, errors)) return -EINVAL;
    plant->needs.cnp |= cc_needs(cc)->cnp;
    plant->needs.echo |= cc_needs(cc)->echo;
    plant->needs.telemetry |= cc_needs(cc)->telemetry;
    return 0;
}

/* A switch that does not repeat its pauses counts on their being kept until it lifts them. */
static bool pauses_expire(const struct fabric *fabric, uint32_t endpoint)
{
    uint32_t peer = fabric->port[fabric->endpoint[endpoint].port].peer;
    uint32_t node = peer == FABRIC_NONE ? 0 : fabric->port[peer].node;

    return node < fabric->hosts || fabric->sw[node - fabric->hosts].refresh_pauses;
}

/* Where the port at the other end goes by the 802.1Q tag, the adapter sends one. */
static bool tags(const struct fabric *fabric, uint32_t endpoint)
{
    uint32_t peer = fabric->port[fabric->endpoint[endpoint].port].peer;

    if (peer == FABRIC_NONE || fabric->behaviour == FABRIC_HPCC_NS3) return false;
    return fabric->settings[fabric->port[peer].settings].trust == FABRIC_TRUST_PCP;
}

/* Any adapter may be the receiver of any other.  All data may be marked, whoever listens: reports tell of marks under
 * any congestion control. */
static void adapter_congestion(const struct plant *plant, const struct cc_config *cc, struct nic_config *config)
{
    nic_config_cc(config, cc, &plant->needs);
    config->ecn = true;
    config->rtt |= plant->options.rtt;
    if (plant->fabric->behaviour == FABRIC_HPCC_NS3)
        config->cnp_off = config->echo_ce = true; /* marks travel in ACKs */
}

struct nic_config plant_adapter(const struct plant *plant, uint32_t endpoint)
{
    const struct fabric *fabric = plant->fabric;
    const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[endpoint].nic];
    const struct cc_config *cc = &plant->cc[fabric->endpoint[endpoint].nic];
    uint64_t rate = fabric->port[fabric->endpoint[endpoint].port].rate_bps;
    bool hpcc = fabric->behaviour == FABRIC_HPCC_NS3;
    struct nic_config config =
        hpcc ? nic_config_hpcc_ns3(rate, endpoint, plant->needs.telemetry) : nic_config_default(rate, endpoint);

    adapter_congestion(plant, cc, &config);
    config.nak_repeat_ps = nic->nak_repeat_ps;
    config.rx_bps = nic->rx_rate_bps;
    config.rx_buffer_bytes = (uint32_t)nic->rx_buffer_bytes;
    config.rx_xoff_bytes = (uint32_t)nic->rx_xoff_bytes;
    config.rx_xon_bytes = (uint32_t)nic->rx_xon_bytes;
    if (config.rx_buffer_bytes == 0) { /* of no matter unless a fault makes the host slow */
        config.rx_buffer_bytes = SLOW_BUFFER_BYTES;
        config.rx_xoff_bytes = SLOW_BUFFER_BYTES / 2;
        config.rx_xon_bytes = SLOW_BUFFER_BYTES / 4;
    }
    if (nic->ack_class != FABRIC_NONE) {
        config.ack_tos = (uint8_t)(fabric->classes[nic->ack_class].dscp << 2);
        config.ack_prio = fabric->classes[nic->ack_class].priority;
    }
    if (hpcc) return config;
    if (config.telemetry) config.header_bytes = (uint16_t)(config.header_bytes + INT_HEADER_BYTES);
    config.tagged = tags(fabric, endpoint);
    if (config.tagged) config.header_bytes = (uint16_t)(config.header_bytes + TAG_BYTES);
    config.pause_forever = !pauses_expire(fabric, endpoint);
    if (nic->cnp_class != FABRIC_NONE) {
        config.cnp_tos = (uint8_t)(fabric->classes[nic->cnp_class].dscp << 2);
        config.cnp_prio = fabric->classes[nic->cnp_class].priority;
    }
    return config;
}

int plant_adapters(struct plant *plant, struct fabric_errors *errors)
{
    plant->cc = calloc(plant->fabric->nics + 1u, sizeof(*plant->cc));
    if (plant->cc == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < plant->fabric->nics; i++) {
        int error = read_congestion(plant, i, errors);
        if (error) return error;
    }
    return 0;
}
