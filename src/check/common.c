/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rules share: names, thresholds, the design's fan-in.
 */
#include <stdio.h>
#include <string.h>

#include "base/wide.h"
#include "check/rule.h"
#include "fabric/places.h"
#include "fabric/qos/headroom.h"
#include "fabric/switches.h"

#define FAN_IN_USUAL 8

bool node_unknown(const struct fabric *fabric, uint32_t node)
{
    return fabric_node_unknown(fabric, node);
}

bool nic_known(const struct fabric *fabric, uint32_t nic)
{
    for (uint32_t e = 0; e < fabric->endpoints; e++)
        if (fabric->endpoint[e].nic == nic && !node_unknown(fabric, fabric->endpoint[e].host)) return true;
    return false;
}

bool port_used(const struct check *check, uint32_t port)
{
    const struct fabric_port *as = &check->fabric->port[port];

    return as->peer != FABRIC_NONE && as->up && check->fabric->port[as->peer].up && !(check->out && check->out[port]);
}

bool port_known(const struct check *check, uint32_t port)
{
    const struct fabric *fabric = check->fabric;

    if (!port_used(check, port) || !port_used(check, fabric->port[port].peer)) return false;
    return !node_unknown(fabric, fabric->port[port].node) &&
           !node_unknown(fabric, fabric->port[fabric->port[port].peer].node);
}

const char *port_label(const struct fabric *fabric, uint32_t port, char buf[FABRIC_NAME])
{
    const char *const *names = fabric->operations.port_name;

    if (!names || !names[port]) return fabric_port_name(fabric, port, buf);
    snprintf(buf, FABRIC_NAME, "%.40s %.50s", node_name(fabric, port), names[port]);
    return buf;
}

bool peer_is_switch(const struct fabric *fabric, uint32_t port)
{
    uint32_t peer = fabric->port[port].peer;

    return peer != FABRIC_NONE && is_switch_port(fabric, peer);
}

uint8_t usual_trust(const struct check *check)
{
    const struct fabric *fabric = check->fabric;
    uint32_t votes[2] = {0};

    for (uint32_t p = 0; p < fabric->ports; p++)
        if (port_used(check, p) && !node_unknown(fabric, fabric->port[p].node))
            votes[settings_of(fabric, p)->trust != SW_TRUST_DSCP]++;
    return votes[1] > votes[0] ? SW_TRUST_PCP : SW_TRUST_DSCP;
}

uint8_t fed_classes(const struct fabric_settings *settings)
{
    bool dscp = settings->trust == SW_TRUST_DSCP;
    uint8_t bits = 0;

    for (unsigned f = 0; f < (dscp ? 64u : (unsigned)FABRIC_PRIOS); f++)
        bits |= (uint8_t)(1u << (dscp ? settings->dscp_to_tc[f] : settings->pcp_to_tc[f]));
    return bits;
}

/* What was imported says it of ports, not of classes: what most of those that have any say. */
static uint8_t usual_lossless(const struct fabric *fabric)
{
    uint32_t votes[256] = {0};
    uint8_t best = 0;

    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++)
        votes[settings_of(fabric, p)->lossless]++;
    for (unsigned bits = 1; bits < 256; bits++)
        if (votes[bits] && (!best || votes[bits] > votes[best])) best = (uint8_t)bits;
    return best;
}

uint8_t lossless_anywhere(const struct fabric *fabric)
{
    uint8_t bits = 0;

    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (fabric->classes[c].lossless) bits |= (uint8_t)(1u << fabric->classes[c].priority);
    return bits ? bits : usual_lossless(fabric);
}

const char *priorities_text(uint8_t bits, char buf[32])
{
    size_t used = 0;

    if (!bits) return "none";
    for (int p = 0; p < FABRIC_PRIOS; p++)
        if (bits >> p & 1) used += (size_t)snprintf(buf + used, 32 - used, "%s%d", used ? ", " : "", p);
    CHECK(used < 32);
    return buf;
}

const char *pfc_text(uint8_t bits, char buf[48])
{
    char list[32];

    if (!bits) return "off";
    snprintf(buf, 48, "on for priority %s", priorities_text(bits, list));
    return buf;
}

const char *class_name(const struct fabric *fabric, unsigned priority)
{
    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (fabric->classes[c].priority == priority) return fabric->classes[c].name;
    return "none";
}

const char *class_path(const struct fabric *fabric, unsigned priority, const char *key, char buf[96])
{
    snprintf(buf, 96, "classes.%.50s%s%.30s", class_name(fabric, priority), key[0] ? "." : "", key);
    return buf;
}

bool turn_is_said(const struct check *check, uint32_t p, uint8_t tc, const char *key)
{
    uint32_t node = check->fabric->port[p].node;
    char path[96];

    if (!check->places) return false;
    class_path(check->fabric, tc, key, path);
    return fabric_says(check->places, node, p, path) || fabric_says(check->places, node, FABRIC_NONE, path);
}

const char *turn_said(const struct check *check, uint32_t p, uint8_t tc)
{
    if (turn_is_said(check, p, tc, "strict")) return "strict";
    return turn_is_said(check, p, tc, "share") ? "share" : "";
}

uint64_t shared_bytes(const struct fabric_switch *sw)
{
    uint64_t aside = sw->reserved_sum_bytes;

    aside += sw->headroom_pool_bytes ? sw->headroom_pool_bytes : sw->headroom_sum_bytes;
    return sw->buffer_bytes > aside ? sw->buffer_bytes - aside : 0;
}

uint64_t threshold_bytes(const struct fabric_switch *sw, const struct fabric_pg *pg, uint64_t congested)
{
    if (!pg->dynamic) return pg->static_bytes;
    CHECK(pg->alpha_den > 0);
    return (uint64_t)((u128)shared_bytes(sw) * pg->alpha_num / (pg->alpha_den + (u128)congested * pg->alpha_num));
}

uint32_t design_fan_in(const struct fabric *fabric, uint32_t node)
{
    const struct fabric_node *as = &fabric->node[node];
    uint32_t cabled = 0, wanted = fabric->operations.fan_in;

    for (uint32_t p = as->first_port; p < as->first_port + as->ports; p++)
        cabled += fabric->port[p].peer != FABRIC_NONE;
    if (!wanted) {
        wanted = FAN_IN_USUAL;
        for (uint32_t j = 0; j < fabric->jobs; j++)
            if (fabric->job[j].kind == FABRIC_JOB_INCAST && fabric->job[j].degree > wanted)
                wanted = fabric->job[j].degree;
    }
    if (cabled < 2) return 1;
    return wanted < cabled - 1 ? wanted : cabled - 1;
}

uint64_t headroom_need(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_port *as = &fabric->port[port];
    const struct fabric_switch *sw = switch_of(fabric, port);

    return headroom_model(sw->model, as->rate_bps, as->cable_mm, settings_of(fabric, port)->mtu_bytes, sw->cell_bytes);
}

uint64_t hop_bytes(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_port *as = &fabric->port[port];
    ps_t round = 2 * (as->propagation_ps + switch_of(fabric, port)->latency_ps);

    return (uint64_t)((u128)as->rate_bps * round / PS_S / 8);
}

uint32_t quanta_least(uint32_t mtu_bytes)
{
    return (2 * (mtu_bytes + HEADROOM_PFC_BYTES) * 8 + 511) / 512;
}

const struct fabric_param *nccl_of(const struct fabric_nic *nic, const char *name)
{
    for (uint32_t i = 0; i < nic->nccls; i++)
        if (strcmp(nic->nccl[i].name, name) == 0) return &nic->nccl[i];
    return NULL;
}

bool hosts_described(const struct fabric *fabric)
{
    for (uint32_t n = 0; n < fabric->nics; n++) {
        const struct fabric_nic *nic = &fabric->nic[n];
        if (nic->nccls || nic->cnp_dscp != FABRIC_UNSAID || nic->dcqcn_rp != FABRIC_UNSAID ||
            nic->dcqcn_np != FABRIC_UNSAID || nic->dcbx_willing != FABRIC_UNSAID || nic->dcbx_mode != FABRIC_UNSAID)
            return true;
    }
    return false;
}

bool uses_dcqcn(const struct fabric_nic *nic)
{
    return strncmp(nic->congestion, "dcqcn", 5) == 0;
}
