/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric's shape and what it is made of: flooding, hashes, links that share traffic, rails, copper, versions.
 */
#include <string.h>

#include "check/rule.h"
#include "fabric/copper.h"
#include "fabric/switches.h"

RULE_FUNCTION(top_flooding)
{
    const struct fabric *fabric = check->fabric;

    if (!lossless_anywhere(fabric)) return;
    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_node *node = &fabric->node[fabric->hosts + s];
        bool among = false;
        for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
            among = among || peer_is_switch(fabric, p);
        if (!fabric->sw[s].bridged || fabric->sw[s].drop_unknown || !among) continue;
        check_find(check, CHECK_ERROR, fabric->hosts + s, FABRIC_NONE, "forwarding",
                   "%s is bridged: lossless frames for an address it has forgotten go to every port", node->name);
    }
}

/* A neighbour of another tier that hashes as this switch does. */
static uint32_t hashes_alike(const struct fabric *fabric, uint32_t s)
{
    const struct fabric_node *node = &fabric->node[fabric->hosts + s];

    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
        if (!peer_is_switch(fabric, p)) continue;
        uint32_t peer = fabric->port[fabric->port[p].peer].node;
        const struct fabric_switch *other = &fabric->sw[peer - fabric->hosts];
        if (fabric->node[peer].role <= node->role || other->balance.kind != SW_ECMP) continue;
        /* A neighbour with one way to everywhere has nothing to hash. */
        const struct fabric_route *route = &fabric->route[peer - fabric->hosts];
        bool chooses = false;
        for (uint32_t g = 0; g < route->groups; g++)
            chooses = chooses || route->group[g].count > 1;
        if (chooses && other->hash_seed == fabric->sw[s].hash_seed && other->hash_fields == fabric->sw[s].hash_fields)
            return peer;
    }
    return FABRIC_NONE;
}

/* Configurations without the devices above them: ports whose other ends are not known may share traffic. */
static bool may_choose(const struct check *check, uint32_t node)
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_node *as = &fabric->node[node];
    uint32_t open = 0;

    for (uint32_t p = as->first_port; p < as->first_port + as->ports; p++)
        open += port_used(check, p) && node_unknown(fabric, fabric->port[fabric->port[p].peer].node);
    return open > 1;
}

RULE_FUNCTION(top_hash)
{
    const struct fabric *fabric = check->fabric;

    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_switch *sw = &fabric->sw[s];
        uint32_t node = fabric->hosts + s;
        bool chooses = false;
        for (uint32_t g = 0; g < fabric->route[s].groups; g++)
            chooses = chooses || fabric->route[s].group[g].count > 1;
        bool blind = !(sw->hash_fields & (SW_HASH_SPORT | SW_HASH_QP));
        if (sw->balance.kind != SW_ECMP || (!chooses && !(blind && may_choose(check, node)))) continue;
        if (blind) {
            check_find(check, CHECK_WARNING, node, FABRIC_NONE, "ecmp.hash",
                       "%s does not hash the UDP source port: all flows between two adapters go one way",
                       fabric->node[node].name);
            continue;
        }
        uint32_t alike = hashes_alike(fabric, s);
        if (alike != FABRIC_NONE)
            check_find(check, CHECK_WARNING, node, FABRIC_NONE, "ecmp.seed",
                       "%s uses the same hash as %s above it: each flow can use only one of its links",
                       fabric->node[node].name, fabric->node[alike].name);
    }
}

static void group_alike(struct check *check, uint32_t s, const struct sw_group *group)
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_node *node = &fabric->node[fabric->hosts + s];
    uint32_t first = node->first_port + fabric->route_port[group->first];
    char name[FABRIC_NAME], other[FABRIC_NAME], a[UNIT_TEXT], b[UNIT_TEXT];

    for (uint32_t i = 1; i < group->count; i++) {
        uint32_t p = node->first_port + fabric->route_port[group->first + i];
        const struct fabric_port *x = &fabric->port[first], *y = &fabric->port[p];
        if (x->rate_bps != y->rate_bps && !fabric->sw[s].weighted)
            check_find(check, CHECK_WARNING, fabric->hosts + s, p, "rate",
                       "%s (%s) and %s (%s) share traffic evenly but differ in rate", port_label(fabric, p, name),
                       unit_format(UNIT_RATE, y->rate_bps, a), port_label(fabric, first, other),
                       unit_format(UNIT_RATE, x->rate_bps, b));
        else if (x->cable_mm > 4 * y->cable_mm || y->cable_mm > 4 * x->cable_mm)
            check_find(check, CHECK_WARNING, fabric->hosts + s, p, "cable",
                       "%s (%s) and %s (%s) share traffic evenly but differ in length", port_label(fabric, p, name),
                       unit_format(UNIT_LENGTH, y->cable_mm, a), port_label(fabric, first, other),
                       unit_format(UNIT_LENGTH, x->cable_mm, b));
    }
}

/* What a switch has towards hosts or lower tiers, and what it has upwards.  A leaf's other links are all upwards. */
static void rates_of(const struct check *check, uint32_t n, uint64_t *ret_down, uint64_t *ret_up)
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_node *node = &fabric->node[n];

    *ret_down = *ret_up = 0;
    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
        if (!port_known(check, p)) continue;
        uint8_t role = fabric->node[fabric->port[fabric->port[p].peer].node].role;
        if (!peer_is_switch(fabric, p) || (node->role == FABRIC_ROLE_SPINE && role == FABRIC_ROLE_LEAF))
            *ret_down += fabric->port[p].rate_bps;
        else if (node->role != FABRIC_ROLE_SPINE || role == FABRIC_ROLE_CORE)
            *ret_up += fabric->port[p].rate_bps;
    }
}

RULE_FUNCTION(top_members)
{
    const struct fabric *fabric = check->fabric;
    char a[UNIT_TEXT], b[UNIT_TEXT];

    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_node *node = &fabric->node[fabric->hosts + s];
        uint64_t down, up;
        for (uint32_t g = 0; g < fabric->route[s].groups; g++)
            group_alike(check, s, &fabric->route[s].group[g]);
        rates_of(check, fabric->hosts + s, &down, &up);
        if (!down || !up || down <= up || fabric->operations.oversubscribed) continue;
        check_find(check, CHECK_WARNING, fabric->hosts + s, FABRIC_NONE, "topology",
                   "%s has %s to %s and %s up: oversubscribed, and the file does not say so", node->name,
                   unit_format(UNIT_RATE, down, a), node->role == FABRIC_ROLE_SPINE ? "leaves" : "hosts",
                   unit_format(UNIT_RATE, up, b));
    }
}

/* How many ports of each rate have which FEC: of two ends that differ the rarer is the odd one. */
#define RATES 16
struct fec_votes {
    uint64_t rate_bps[RATES];
    uint32_t votes[RATES][FABRIC_FEC_RS + 1];
    uint32_t rates;
};

static uint32_t *fec_votes_of(struct fec_votes *fecs, uint64_t rate_bps)
{
    uint32_t r = 0;

    while (r < fecs->rates && fecs->rate_bps[r] != rate_bps)
        r++;
    if (r == RATES) return fecs->votes[RATES - 1]; /* no fabric has so many rates */
    if (r == fecs->rates) fecs->rate_bps[fecs->rates++] = rate_bps;
    return fecs->votes[r];
}

static void rail_ends(struct check *check, uint32_t p, struct fec_votes *fecs)
{
    const struct fabric *fabric = check->fabric;
    uint32_t q = fabric->port[p].peer;
    uint8_t fec = settings_of(fabric, p)->fec, theirs = settings_of(fabric, q)->fec;
    char name[FABRIC_NAME], other[FABRIC_NAME];

    if (fec == theirs || !fec || !theirs) return;
    const uint32_t *votes = fec_votes_of(fecs, fabric->port[p].rate_bps);
    uint32_t at = votes[fec] <= votes[theirs] ? p : q, far = at == p ? q : p;
    check_find(check, CHECK_ERROR, fabric->port[at].node, at, "fec",
               "%s has FEC '%s', its peer %s '%s': such a link does not come up", port_label(fabric, at, name),
               fabric_fec_names[settings_of(fabric, at)->fec], port_label(fabric, far, other),
               fabric_fec_names[settings_of(fabric, far)->fec]);
}

static uint32_t mtu_of(const struct fabric *fabric, uint32_t endpoint)
{
    return fabric->nic[fabric->endpoint[endpoint].nic].mtu_bytes;
}

static bool pauses(const struct fabric *fabric, uint32_t endpoint)
{
    return settings_of(fabric, endpoint)->pfc_rx || settings_of(fabric, endpoint)->pfc_tx;
}

/* An adapter for RDMA: where any of the host has PFC, only those are. */
static bool is_rail(const struct check *check, uint32_t h, uint32_t endpoint)
{
    const struct fabric *fabric = check->fabric;

    if (check->out && check->out[endpoint]) return false; /* of management, or of storage */
    if (pauses(fabric, endpoint)) return true;
    for (uint32_t e = fabric->first_endpoint[h]; e < fabric->first_endpoint[h + 1]; e++)
        if (pauses(fabric, e)) return false;
    return true;
}

/* The first adapter for RDMA of a host that the file knows of; FABRIC_NONE: it has none. */
static uint32_t first_adapter(const struct check *check, uint32_t h)
{
    const struct fabric *fabric = check->fabric;

    for (uint32_t e = fabric->first_endpoint[h]; e < fabric->first_endpoint[h + 1] && !node_unknown(fabric, h); e++)
        if (is_rail(check, h, e)) return e;
    return FABRIC_NONE;
}

/* Hosts whose adapters have another MTU than those of most. */
static void hosts_mtu(struct check *check)
{
    const struct fabric *fabric = check->fabric;
    uint32_t *votes = ARENA_NEW(&check->arena, uint32_t, fabric->nics), usual = FABRIC_NONE;
    char name[FABRIC_NAME], other[FABRIC_NAME];

    for (uint32_t h = 0; votes && h < fabric->hosts; h++) {
        uint32_t e = first_adapter(check, h);
        for (uint32_t n = 0; n < fabric->nics && e != FABRIC_NONE; n++)
            votes[n] += fabric->nic[n].mtu_bytes == fabric->nic[fabric->endpoint[e].nic].mtu_bytes;
    }
    for (uint32_t h = 0; votes && h < fabric->hosts; h++) {
        uint32_t e = first_adapter(check, h);
        if (e == FABRIC_NONE) continue;
        uint32_t n = fabric->endpoint[e].nic, best = usual == FABRIC_NONE ? n : fabric->endpoint[usual].nic;
        bool larger = fabric->nic[n].mtu_bytes > fabric->nic[best].mtu_bytes; /* of as many */
        if (usual == FABRIC_NONE || votes[n] > votes[best] || (votes[n] == votes[best] && larger)) usual = e;
    }
    for (uint32_t h = 0; usual != FABRIC_NONE && h < fabric->hosts; h++) {
        uint32_t e = first_adapter(check, h), mtu = fabric->nic[fabric->endpoint[usual].nic].mtu_bytes;
        if (e == FABRIC_NONE || fabric->nic[fabric->endpoint[e].nic].mtu_bytes == mtu) continue;
        check_find(check, CHECK_WARNING, h, e, "mtu", "%s has an MTU of %u, most hosts, such as %s, have %u",
                   port_label(fabric, e, name), fabric->nic[fabric->endpoint[e].nic].mtu_bytes,
                   port_label(fabric, usual, other), mtu);
    }
}

/* Rails of one host: told is the one unlike most, of as many the one with less. */
static void host_rails(struct check *check, uint32_t h)
{
    const struct fabric *fabric = check->fabric;
    uint32_t first = fabric->first_endpoint[h], end = first + fabric->node[h].gpu_ports;
    uint32_t fast = FABRIC_NONE, large = FABRIC_NONE, fast_votes = 0, large_votes = 0;
    char name[FABRIC_NAME], other[FABRIC_NAME], a[UNIT_TEXT], b[UNIT_TEXT];

    for (uint32_t e = first; e < end; e++) {
        uint32_t rates = 0, mtus = 0;
        if (!is_rail(check, h, e)) continue;
        for (uint32_t q = first; q < end; q++) {
            rates += is_rail(check, h, q) && fabric->port[q].rate_bps == fabric->port[e].rate_bps;
            mtus += is_rail(check, h, q) && mtu_of(fabric, q) == mtu_of(fabric, e);
        }
        if (rates > fast_votes || (rates == fast_votes && fabric->port[e].rate_bps > fabric->port[fast].rate_bps)) {
            fast = e;
            fast_votes = rates;
        }
        if (mtus > large_votes || (mtus == large_votes && mtu_of(fabric, e) > mtu_of(fabric, large))) {
            large = e;
            large_votes = mtus;
        }
    }
    for (uint32_t e = first; e < end; e++) {
        if (!is_rail(check, h, e)) continue;
        port_label(fabric, e, name);
        if (fabric->port[e].rate_bps != fabric->port[fast].rate_bps)
            check_find(check, CHECK_WARNING, h, e, "rate", "%s has %s, %s of the same host %s", name,
                       unit_format(UNIT_RATE, fabric->port[e].rate_bps, a), port_label(fabric, fast, other),
                       unit_format(UNIT_RATE, fabric->port[fast].rate_bps, b));
        if (mtu_of(fabric, e) != mtu_of(fabric, large))
            check_find(check, CHECK_WARNING, h, e, "mtu", "%s has an MTU of %u, %s of the same host %u", name,
                       mtu_of(fabric, e), port_label(fabric, large, other), mtu_of(fabric, large));
    }
}

RULE_FUNCTION(top_rails)
{
    const struct fabric *fabric = check->fabric;

    struct fec_votes fecs = {0};
    for (uint32_t p = 0; p < fabric->ports; p++)
        if (port_used(check, p)) fec_votes_of(&fecs, fabric->port[p].rate_bps)[settings_of(fabric, p)->fec]++;
    for (uint32_t p = 0; p < fabric->ports; p++)
        if (port_known(check, p) && fabric->port[p].peer > p) rail_ends(check, p, &fecs);
    for (uint32_t h = 0; h < fabric->hosts; h++)
        if (!node_unknown(fabric, h)) host_rails(check, h);
    hosts_mtu(check);
}

RULE_FUNCTION(cab_copper)
{
    const struct fabric *fabric = check->fabric;
    struct fabric_crowd crowd;
    char length[UNIT_TEXT];

    for (uint32_t n = fabric->hosts; n < fabric->nodes; n++) {
        if (!fabric_crowd_find(fabric, n, true, &crowd)) continue;
        check_find(
            check, CHECK_WARNING, n, crowd.port, "cable",
            "%s has %u hosts on %s of copper, which reaches %u of their size (%u rack%s): the others need longer "
            "cables",
            fabric->node[n].name, crowd.hosts, unit_format(UNIT_LENGTH, crowd.cable_mm, length), crowd.reach,
            crowd.racks, crowd.racks == 1 ? "" : "s");
    }
}

static bool is_approved(const struct fabric_approved *approved, int part, const char *version)
{
    for (uint32_t v = 0; v < approved->versions[part]; v++)
        if (strcmp(approved->version[part][v], version) == 0) return true;
    return false;
}

RULE_FUNCTION(ops_versions)
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_operations *operations = &fabric->operations;
    char path[48];

    for (uint32_t n = 0; n < fabric->nodes && operations->device; n++) {
        const struct fabric_device *device = operations->device[n];
        const struct fabric_approved *approved = &operations->approved[fabric->node[n].role];
        for (int part = 0; device && part < FABRIC_PARTS; part++) {
            if (!device->installed[part] || !approved->versions[part]) continue;
            if (is_approved(approved, part, device->installed[part])) continue;
            snprintf(path, sizeof(path), "installed.%s", fabric_part_names[part]);
            check_find(check, CHECK_WARNING, n, FABRIC_NONE, path, "%s has %s '%s'; approved is '%s'%s",
                       fabric->node[n].name, fabric_part_names[part], device->installed[part],
                       approved->version[part][0], approved->versions[part] > 1 ? " and others" : "");
        }
    }
}
