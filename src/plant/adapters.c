/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapters where they stand in a fabric: what the switch beside one, its classes and its peers ask of it.
 */
#include <errno.h>
#include <stdlib.h>

#include "plant/plant_int.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

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

    if (peer == FABRIC_NONE) return false;
    return fabric->settings[fabric->port[peer].settings].trust == SW_TRUST_PCP;
}

static const struct fabric_class *class_of(const struct fabric *fabric, uint32_t index)
{
    return index == FABRIC_NONE ? NULL : &fabric->classes[index];
}

/* Any adapter may be the receiver of any other.  All data may be marked, whoever listens: reports tell of marks under
 * any congestion control. */
struct nic_config plant_adapter(const struct plant *plant, uint32_t endpoint)
{
    const struct fabric *fabric = plant->fabric;
    uint32_t index = fabric->endpoint[endpoint].nic;
    const struct fabric_nic *nic = &fabric->nic[index];
    bool hpcc_ns3 = fabric->behaviour == FABRIC_HPCC_NS3;
    struct plant_nic from = {.line_bps = fabric->port[fabric->endpoint[endpoint].port].rate_bps,
                             .endpoint = endpoint,
                             .hpcc_ns3 = hpcc_ns3,
                             .tagged = tags(fabric, endpoint),
                             .nic = nic,
                             .cc = &plant->cc[index],
                             .peers = &plant->needs,
                             .ack_class = class_of(fabric, nic->ack_class),
                             .cnp_class = class_of(fabric, nic->cnp_class)};
    struct nic_config config = plant_nic_config(&from);

    config.ecn = fabric_system(fabric)->ecn;
    config.rtt |= plant->options.rtt;
    plant_lanes_adapter(plant, endpoint, &config);
    if (!hpcc_ns3) config.pause_forever = !pauses_expire(fabric, endpoint);
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
