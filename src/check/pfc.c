/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PFC: who pauses whom, for what, and whether the other side listens.
 *
 * A link is looked at once, from the end with the lower number; the end that departs from the lossless classes of the
 * file is the one at fault.  An adapter at fault is HOST001's, so that each wrong thing is said once.
 */
#include "check/rule.h"

static uint8_t both_ways(const struct fabric_settings *settings)
{
    return settings->pfc_rx | settings->pfc_tx;
}

/* A port that obeys pauses of all priorities and sends some (asymmetric PFC) means those: PFC009 tells of the rest. */
static uint8_t meant(const struct fabric_settings *settings)
{
    return settings->pfc_rx == 0xff && settings->pfc_tx ? settings->pfc_tx : both_ways(settings);
}

RULE_FUNCTION(pfc_ends)
{
    const struct fabric *fabric = check->fabric;
    char here[32], there[32], name[FABRIC_NAME], other[FABRIC_NAME];
    uint8_t wanted = lossless_anywhere(fabric);

    for (uint32_t p = 0; p < fabric->ports; p++) {
        uint32_t q = fabric->port[p].peer;
        if (q < p || !port_known(check, p)) continue;
        uint8_t a = meant(settings_of(fabric, p)), b = meant(settings_of(fabric, q));
        if (a == b) continue;
        if (!is_switch_port(fabric, p) && b == wanted) continue;
        bool first = b == wanted;
        uint32_t at = first ? p : q, far = first ? q : p;
        check_find(check, CHECK_ERROR, fabric->port[at].node, at, "pfc",
                   "%s has PFC for priority %s, its peer %s for %s", port_label(fabric, at, name),
                   priorities_text(first ? a : b, here), port_label(fabric, far, other),
                   priorities_text(first ? b : a, there));
    }
}

RULE_FUNCTION(pfc_every_hop)
{
    const struct fabric *fabric = check->fabric;
    uint8_t wanted = lossless_anywhere(fabric);
    char name[FABRIC_NAME], other[FABRIC_NAME];

    if (!wanted) { /* parts of a configuration may have nothing to do with it */
        for (uint32_t n = 0; n < fabric->nodes; n++)
            if (node_unknown(fabric, n)) return;
        check_find(check, CHECK_ERROR, FABRIC_NONE, FABRIC_NONE, "classes", "no class is lossless: RDMA has no PFC");
        return;
    }
    for (uint32_t p = 0; p < fabric->ports; p++) {
        uint32_t q = fabric->port[p].peer;
        if (q < p || !port_known(check, p)) continue;
        uint8_t on = both_ways(settings_of(fabric, p)) | both_ways(settings_of(fabric, q));
        if (on & wanted) continue;
        uint32_t at = is_switch_port(fabric, p) ? p : q, far = at == p ? q : p;
        check_find(check, CHECK_ERROR, fabric->port[at].node, at, "pfc",
                   "neither end of the link of %s and %s has PFC for a lossless class", port_label(fabric, at, name),
                   port_label(fabric, far, other));
    }
}

RULE_FUNCTION(pfc_count)
{
    const struct fabric *fabric = check->fabric;
    char text[32], name[FABRIC_NAME], path[96];
    bool raised = fabric->switches > 0;

    for (uint32_t s = 0; s < fabric->switches; s++)
        raised = raised && fabric->sw[s].raise_bounce;
    if (raised) return;
    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        const struct fabric_settings *settings = settings_of(fabric, p);
        /* What a port only obeys takes no headroom; nor does a class that nothing leads to. */
        uint8_t bits = (settings->lossless | settings->pfc_tx) & fed_classes(settings);
        int count = __builtin_popcount(bits);
        if (!port_used(check, p) || count < 2) continue;
        check_find(check, count > 2 ? CHECK_ERROR : CHECK_INFO, fabric->port[p].node, p,
                   class_path(fabric, 31u - (unsigned)__builtin_clz(bits), "lossless", path),
                   "%s has %d lossless priorities (%s): each takes headroom of its own", port_label(fabric, p, name),
                   count, priorities_text(bits, text));
    }
}

static bool of_a_class(const struct fabric *fabric, uint8_t dscp)
{
    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (fabric->classes[c].dscps >> dscp & 1) return true;
    return false;
}

RULE_FUNCTION(pfc_lossy_dscps)
{
    static const struct {
        uint8_t dscp;
        const char *what;
    } control[] = {{0, "best effort"}, {48, "network control"}, {56, "network control"}};
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], path[32];
    uint64_t cnp = 0; /* MAP005 looks at those */

    for (uint32_t n = 0; n < fabric->nics; n++) {
        if (fabric->nic[n].cnp_class != FABRIC_NONE) cnp |= fabric->classes[fabric->nic[n].cnp_class].dscps;
        if (fabric->nic[n].cnp_dscp != FABRIC_UNSAID) cnp |= UINT64_C(1) << fabric->nic[n].cnp_dscp;
    }
    for (uint32_t p = 0; p < fabric->ports; p++) { /* adapters have such a map too */
        const struct fabric_settings *settings = settings_of(fabric, p);
        if (!port_used(check, p) || settings->trust != SW_TRUST_DSCP) continue;
        if (node_unknown(fabric, fabric->port[p].node)) continue;
        for (unsigned i = 0; i < sizeof(control) / sizeof(control[0]); i++) {
            uint8_t dscp = control[i].dscp, tc = settings->dscp_to_tc[dscp];
            if (!(settings->lossless >> tc & 1) || cnp >> dscp & 1) continue;
            if (!is_switch_port(fabric, p) && of_a_class(fabric, dscp)) continue; /* HOST001 */
            snprintf(path, sizeof(path), "dscp-map.%u", dscp);
            check_find(check, CHECK_ERROR, fabric->port[p].node, p, path,
                       "%s puts DSCP %u (%s) into the lossless class '%s'", port_label(fabric, p, name), dscp,
                       control[i].what, class_name(fabric, tc));
        }
    }
}

RULE_FUNCTION(pfc_and_pause)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], text[32];

    for (uint32_t p = 0; p < fabric->ports; p++) {
        const struct fabric_settings *settings = settings_of(fabric, p);
        if (!settings->pause_all || !both_ways(settings) || !port_used(check, p)) continue;
        check_find(check, CHECK_ERROR, fabric->port[p].node, p, "pause",
                   "%s has 802.3x pause, and PFC for priority %s: they exclude each other", port_label(fabric, p, name),
                   priorities_text(both_ways(settings), text));
    }
}

RULE_FUNCTION(pfc_forced)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME];

    for (uint32_t p = 0; p < fabric->ports; p++) {
        const struct fabric_settings *settings = settings_of(fabric, p);
        if (!settings->pfc_auto || !both_ways(settings) || !port_used(check, p)) continue;
        check_find(check, CHECK_WARNING, fabric->port[p].node, p, "pfc-mode",
                   "%s negotiates PFC: it is on only if DCBX agrees with the peer", port_label(fabric, p, name));
    }
}

/* `value`: a DSCP of the class, or its priority where PCP is trusted. */
static void priority_of_class(struct check *check, uint32_t p, const struct fabric_class *as, unsigned value)
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_settings *settings = settings_of(fabric, p);
    bool dscp = settings->trust == SW_TRUST_DSCP;
    uint8_t tc = dscp ? settings->dscp_to_tc[value] : settings->pcp_to_tc[value];
    char name[FABRIC_NAME], path[32];

    /* Where it goes to a lossy class there are no pauses at all: MAP001. */
    if (tc == as->priority || !(settings->lossless >> tc & 1)) return;
    snprintf(path, sizeof(path), "%s-map.%u", dscp ? "dscp" : "pcp", value);
    check_find(check, CHECK_ERROR, fabric->port[p].node, p, path,
               "%s pauses priority %u for %s %u of class '%s', which peers send as priority %u",
               port_label(fabric, p, name), tc, dscp ? "DSCP" : "PCP", value, as->name, as->priority);
}

RULE_FUNCTION(pfc_priority)
{
    const struct fabric *fabric = check->fabric;
    uint8_t wanted = lossless_anywhere(fabric);

    for (uint32_t p = 0; p < fabric->ports; p++) {
        if (!port_used(check, p) || node_unknown(fabric, fabric->port[p].node)) continue;
        for (uint32_t c = 0; c < fabric->class_count; c++) {
            const struct fabric_class *as = &fabric->classes[c];
            if (!(wanted >> as->priority & 1)) continue;
            if (settings_of(fabric, p)->trust != SW_TRUST_DSCP) priority_of_class(check, p, as, as->priority);
            for (unsigned d = 0; d < 64 && settings_of(fabric, p)->trust == SW_TRUST_DSCP; d++)
                if (as->dscps >> d & 1) priority_of_class(check, p, as, d);
        }
    }
}

#define ROCE_DSCP 26 /* by custom, where no class says otherwise */

/* The priority that RDMA gets on this port: by the class of data, or by custom; FABRIC_PRIOS: it is in none of its
 * own. */
static uint8_t rdma_priority(const struct fabric *fabric, const struct fabric_settings *settings)
{
    unsigned dscp = ROCE_DSCP;

    if (settings->trust != SW_TRUST_DSCP) return FABRIC_PRIOS;
    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (fabric->classes[c].lossless && fabric->classes[c].dscps >> ROCE_DSCP & 1)
            return fabric->classes[c].priority;
    return settings->dscp_to_tc[dscp] == settings->dscp_to_tc[0] ? FABRIC_PRIOS : settings->dscp_to_tc[dscp];
}

RULE_FUNCTION(pfc_of_rdma)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], text[32];

    for (uint32_t p = 0; p < fabric->ports; p++) {
        const struct fabric_settings *settings = settings_of(fabric, p);
        uint8_t on = both_ways(settings), rdma = rdma_priority(fabric, settings);
        if (!on || rdma == FABRIC_PRIOS || on >> rdma & 1 || on & fed_classes(settings)) continue;
        if (!port_used(check, p) || node_unknown(fabric, fabric->port[p].node)) continue;
        if (settings->dscp_to_tc[ROCE_DSCP] != rdma) continue; /* the map is wrong: MAP001, HOST001 */
        check_find(check, CHECK_ERROR, fabric->port[p].node, p, "pfc",
                   "%s has PFC for priority %s, which nothing is in, and RDMA (DSCP %u) is in priority %u",
                   port_label(fabric, p, name), priorities_text(on, text), ROCE_DSCP, rdma);
    }
}

RULE_FUNCTION(pfc_unused)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], text[32];

    if (!check->places) return;
    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        const struct fabric_settings *settings = settings_of(fabric, p);
        uint8_t on = both_ways(settings);
        if (fabric->port[p].peer != FABRIC_NONE || !on) continue;
        /* Ports that only lie between numbers in use are not meant. */
        if (!fabric_says(check->places, fabric->port[p].node, p, "pfc")) continue;
        check_find(check, CHECK_INFO, fabric->port[p].node, p, "pfc", "%s is not cabled and has PFC on for priority %s",
                   port_label(fabric, p, name), priorities_text(on, text));
    }
}

RULE_FUNCTION(pfc_one_way)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], rx[32], tx[32];

    for (uint32_t p = 0; p < fabric->ports; p++) {
        const struct fabric_settings *settings = settings_of(fabric, p);
        if (settings->pfc_rx == settings->pfc_tx || !port_used(check, p)) continue;
        check_find(check, CHECK_WARNING, fabric->port[p].node, p, "pfc",
                   "%s obeys pauses of priority %s and sends them for %s", port_label(fabric, p, name),
                   priorities_text(settings->pfc_rx, rx), priorities_text(settings->pfc_tx, tx));
    }
}
