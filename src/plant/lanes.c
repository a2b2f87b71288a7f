/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credits and virtual lanes where they stand in a fabric: what each port promises and is promised, and how a switch
 * keeps the promise.
 *
 * The buffer of a lane is its group's reserve; nothing is shared, so a packet that was allowed to come has room.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/credit.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "plant/plant_int.h"

#define SHARED_BYTES 65536u /* a switch wants to share something; nobody may use it */

#define CBFC_UPDATE_BYTES 262144u /* of line: an update at least so often */

static uint32_t block_bytes(const struct fabric *fabric)
{
    return CREDIT_BLOCK_BYTES << fabric->lanes.block_extra;
}

static uint32_t blocks_of(const struct fabric *fabric, uint64_t bytes)
{
    return (uint32_t)(bytes / block_bytes(fabric));
}

static bool is_host(const struct fabric *fabric, uint32_t port)
{
    return fabric->port[port].node < fabric->hosts;
}

static uint32_t promised_by(const struct fabric *fabric, uint32_t port)
{
    return blocks_of(fabric, is_host(fabric, port) ? fabric->lanes.nic_bytes : fabric->lanes.switch_bytes);
}

static ps_t latency_of(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_port *at = &fabric->port[port];

    if (!is_host(fabric, port)) return fabric->sw[at->node - fabric->hosts].latency_ps;
    return fabric->nic[fabric->endpoint[fabric->first_endpoint[at->node] + at->index].nic].latency_ps;
}

/* Data is behind a word by what forwarding takes longer than the reaction to the word. */
static ps_t skew_of(const struct fabric *fabric, uint32_t port)
{
    ps_t latency = latency_of(fabric, port), reaction = fabric->port[port].pause_reaction_ps;

    return latency > reaction ? latency - reaction : 0;
}

/* What the sender must know of when a word leaves, so that it never waits for the next: what it sends in a loop, and an
 * eighth and a packet to spare.  CBFC's words are as often as its control ordered sets allow. */
static uint32_t calm_of(const struct fabric *fabric, uint32_t port)
{
    uint64_t loop = (fabric_credit_loop(fabric, port) + CREDIT_BLOCK_BYTES - 1) / CREDIT_BLOCK_BYTES;
    uint64_t calm = loop + promised_by(fabric, port) / CREDIT_SHARE + fabric_packet_blocks(fabric);

    return fabric->lanes.cbfc || calm > UINT32_MAX / 4 ? 0 : (uint32_t)calm;
}

static ps_t period_of(const struct fabric *fabric, uint32_t port)
{
    struct rate rate = rate_of(fabric->port[port].rate_bps);
    ps_t skew = skew_of(fabric, port), period = rate_take(&rate, CBFC_UPDATE_BYTES);

    if (!fabric->lanes.cbfc || fabric->port[port].rate_bps == 0) return 0;
    return period > 2 * skew ? period : 2 * skew;
}

static struct sw_credit_port credit_port(const struct fabric *fabric, uint32_t port)
{
    uint32_t peer = fabric->port[port].peer;
    bool host = peer != FABRIC_NONE && is_host(fabric, peer);

    return (struct sw_credit_port){.own_blocks = promised_by(fabric, port),
                                   .peer_blocks = peer == FABRIC_NONE ? 0 : promised_by(fabric, peer),
                                   .calm_blocks = calm_of(fabric, port),
                                   .skew_ps = skew_of(fabric, port),
                                   .period_ps = period_of(fabric, port),
                                   .says_nothing = fabric->port[port].llr,
                                   .lifetime_ps = host ? fabric->lanes.host_lifetime_ps : fabric->lanes.lifetime_ps};
}

/* A port's settings as a line with credits has them: the queue and the group of a packet are its lane. */
static void lanes_of_port(const struct fabric *fabric, struct sw_port_config *config)
{
    config->pfc_rx = config->pfc_tx = 0;
    for (uint32_t i = 0; i < SW_PRIOS; i++) {
        config->tc_to_queue[i] = config->tc_to_pg[i] = fabric->lanes.vl_of[i];
        if (!fabric->lanes.cbfc) config->queue[i].strict = false;
        config->queue[i].limit_bytes = FABRIC_UNLIMITED;
        config->queue[i].alpha_num = 0;
        config->pg[i] = (struct sw_pg_config){.lossless = true};
        if (fabric->lanes.used >> i & 1)
            config->pg[i].reserved_bytes =
                (uint64_t)blocks_of(fabric, fabric->lanes.switch_bytes) * block_bytes(fabric);
    }
}

int plant_lanes(struct plant *plant)
{
    const struct fabric *fabric = plant->fabric;

    if (!fabric->lanes.vls) return 0;
    plant->credit_port = calloc(fabric->ports + 1u, sizeof(*plant->credit_port));
    if (plant->credit_port == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < fabric->ports; i++)
        plant->credit_port[i] = credit_port(fabric, i);
    for (uint32_t i = 0; i < fabric->settings_count; i++)
        lanes_of_port(fabric, &plant->port_config[i]);
    return 0;
}

void plant_lanes_switch(const struct plant *plant, uint32_t index, struct sw_config *config)
{
    const struct fabric *fabric = plant->fabric;
    const struct fabric_lanes *lanes = &fabric->lanes;

    if (!lanes->vls) return;
    config->cell_bytes = block_bytes(fabric);
    config->headroom_pool_bytes = 0;
    config->buffer_bytes = config->ports * lanes->vls * (lanes->switch_bytes + block_bytes(fabric)) + SHARED_BYTES;
    config->credit =
        (struct sw_credit_config){.vls = (uint8_t)lanes->vls,
                                  .used = lanes->used,
                                  .block_extra = lanes->block_extra,
                                  .packet_blocks = (uint16_t)fabric_packet_blocks(fabric),
                                  .added_bytes = fabric_system(fabric)->line.after,
                                  .port = plant->credit_port + fabric->node[fabric->hosts + index].first_port,
                                  .mark_bytes = UINT64_MAX,
                                  .arbitration = lanes->cbfc ? NULL : &lanes->arbitration};
}

/* Thresholds are weights: 15 leaves a sixteenth of a lane's buffer unmarked, 1 all but one of it, 0 all. */
void plant_lanes_mark(struct plant *plant)
{
    const struct fabric_lanes *lanes = &plant->fabric->lanes;

    if (!lanes->vls || lanes->cbfc || !lanes->fecn_threshold || !plant->needs.cnp) return;
    for (uint32_t i = 0; i < plant->fabric->switches; i++) {
        struct sw_credit_config *credit = &plant->sw[i].config.credit;
        credit->mark_bytes = lanes->switch_bytes * (16u - lanes->fecn_threshold) / 16;
        credit->mark_rate = lanes->fecn_rate;
        credit->mark_blocks = lanes->fecn_blocks;
    }
}

struct credit_port_config plant_credit_port(const struct fabric *fabric, uint32_t endpoint)
{
    const struct fabric_lanes *lanes = &fabric->lanes;
    uint32_t port = fabric->endpoint[endpoint].port, peer = fabric->port[port].peer;
    struct credit_port_config config = {.vls = (uint8_t)lanes->vls,
                                        .used = lanes->used,
                                        .block_extra = lanes->block_extra,
                                        .says_nothing = fabric->port[port].llr,
                                        .packet_blocks = (uint16_t)fabric_packet_blocks(fabric),
                                        .added_bytes = fabric_system(fabric)->line.after,
                                        .own_blocks = promised_by(fabric, port),
                                        .peer_blocks = peer == FABRIC_NONE ? 0 : promised_by(fabric, peer),
                                        .calm_blocks = calm_of(fabric, port),
                                        .skew_ps = skew_of(fabric, port),
                                        .period_ps = period_of(fabric, port)};
    const struct fabric_settings *settings =
        &fabric->settings[fabric->port[peer == FABRIC_NONE ? port : peer].settings];

    for (uint32_t p = 0; p < NIC_PRIOS; p++)
        config.vl_of_prio[p] = lanes->vl_of[p];
    for (uint32_t d = 0; d < 64; d++)
        config.vl_of_dscp[d] = lanes->vl_of[settings->dscp_to_tc[d]];
    return config;
}

void plant_lanes_adapter(const struct plant *plant, uint32_t endpoint, struct nic_config *config)
{
    if (!plant->fabric->lanes.vls) return;
    /* The receive buffer is the lanes': what slows the host down holds back credits, not packets. */
    config->rx_buffer_bytes = config->rx_xoff_bytes = config->rx_xon_bytes = UINT32_MAX;
    config->credit = plant_credit_port(plant->fabric, endpoint);
}
