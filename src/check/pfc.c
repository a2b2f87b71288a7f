/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PFC: who pauses whom, for what, and whether the other side listens.
 *
 * A link is looked at once, from the end with the lower number; the end that departs from the lossless classes of the
 * file is the one at fault.  An adapter at fault is HOST001's, so that each wrong thing is said once.
 */
#include "check/rule.h"

#include "fabric/places.h"
#include "fabric/switches.h"

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
    char here[48], there[48], name[FABRIC_NAME], other[FABRIC_NAME];
    uint8_t wanted = lossless_anywhere(fabric);

    for (uint32_t p = 0; p < fabric->ports; p++) {
        uint32_t q = fabric->port[p].peer;
        if (q < p || !port_known(check, p)) continue;
        uint8_t a = meant(settings_of(fabric, p)), b = meant(settings_of(fabric, q));
        if (a == b) continue;
        if (!is_switch_port(fabric, p) && b == wanted) continue;
        bool first = b == wanted;
        uint32_t at = first ? p : q, far = first ? q : p;
        check_find(check, CHECK_ERROR, fabric->port[at].node, at, "pfc", "%s has PFC %s, its peer %s has it %s",
                   port_label(fabric, at, name), pfc_text(first ? a : b, here), port_label(fabric, far, other),
                   pfc_text(first ? b : a, there));
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

#define OF_PFC 2u /* what speaks for a priority, for each port that says it */
#define OF_ECN 2u
#define OF_WATCHDOG 1u
#define OF_MAP 1u

static bool marks(const struct fabric_settings *settings, unsigned tc)
{
    return settings->queue[settings->tc_to_queue[tc]].ecn.on;
}

/* Of a configuration: the priority that most of a switch speaks for as that of RDMA; FABRIC_PRIOS: none. */
static uint8_t meant_priority(const struct check *check, const struct fabric_node *node)
{
    uint64_t votes[FABRIC_PRIOS] = {0};
    uint8_t best = FABRIC_PRIOS;

    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
        const struct fabric_settings *settings = settings_of(check->fabric, p);
        uint8_t map = settings->trust == SW_TRUST_DSCP ? settings->dscp_to_tc[ROCE_DSCP] : 0;
        uint8_t fed =
            settings->trust == SW_TRUST_DSCP ? fed_classes(settings) : 0xff; /* nothing is RDMA's by marking alone */
        if (!port_used(check, p) || !both_ways(settings)) continue;
        for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
            if (meant(settings) >> tc & 1) votes[tc] += OF_PFC;
            if (marks(settings, tc) && settings->tc_to_queue[tc] == tc && fed >> tc & 1 &&
                tc != settings->dscp_to_tc[0])
                votes[tc] += OF_ECN;
            if (settings->watched >> tc & 1 && settings->watched != both_ways(settings)) votes[tc] += OF_WATCHDOG;
        }
        if (map != settings->dscp_to_tc[0]) votes[map] += OF_MAP;
    }
    for (uint8_t tc = 0; tc < FABRIC_PRIOS; tc++)
        if (votes[tc] && (best == FABRIC_PRIOS || votes[tc] > votes[best])) best = tc;
    return best;
}

/* A priority with PFC besides that of RDMA: its queue does not mark, and it has no buffer, no queue or no
 * turn of its own. */
static bool is_beside(const struct check *check, uint32_t p, unsigned tc, uint8_t rdma)
{
    const struct fabric_settings *settings = settings_of(check->fabric, p);
    uint8_t best_effort = settings->tc_to_queue[settings->trust == SW_TRUST_DSCP ? settings->dscp_to_tc[0] : 0];

    bool own = settings->tc_to_queue[tc] != best_effort;
    if (tc == rdma || !(meant(settings) >> tc & 1) || (own && marks(settings, tc)) || !marks(settings, rdma))
        return false;
    return !(fed_classes(settings) >> tc & 1) || !settings->pg[settings->tc_to_pg[tc]].lossless || !own ||
           !turn_said(check, p, (uint8_t)tc)[0];
}

/* Does any port of the switch with PFC lead a DSCP there? */
static bool is_led_to(const struct check *check, const struct fabric_node *node, uint8_t rdma)
{
    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
        const struct fabric_settings *settings = settings_of(check->fabric, p);
        if (port_used(check, p) && both_ways(settings) && settings->trust == SW_TRUST_DSCP &&
            fed_classes(settings) >> rdma & 1)
            return true;
    }
    return false;
}

/* The map leads nothing to what pauses.  A port without any classification is odd where others have one; else nothing
 * is known of how packets come by their class. */
static bool map_is_odd(const struct check *check, uint32_t p, uint8_t rdma)
{
    const struct fabric_settings *settings = settings_of(check->fabric, p);
    uint8_t fed = fed_classes(settings);

    if (settings->trust != SW_TRUST_DSCP || fed >> rdma & 1) return false;
    return __builtin_popcount(fed) > 1 || is_led_to(check, &check->fabric->node[check->fabric->port[p].node], rdma);
}

/* Has no other port of the switch PFC for the same priorities? */
static bool pauses_alone(const struct check *check, uint32_t p)
{
    const struct fabric_node *node = &check->fabric->node[check->fabric->port[p].node];
    uint8_t on = meant(settings_of(check->fabric, p));

    for (uint32_t q = node->first_port; q < node->first_port + node->ports; q++)
        if (q != p && port_used(check, q) && meant(settings_of(check->fabric, q)) == on) return false;
    return true;
}

static void judge_port(struct check *check, uint32_t p, uint8_t rdma)
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_settings *settings = settings_of(fabric, p);
    uint8_t on = meant(settings), led = settings->dscp_to_tc[ROCE_DSCP];
    uint32_t node = fabric->port[p].node;
    char name[FABRIC_NAME], text[48], path[96];

    port_label(fabric, p, name);
    if (!(on >> rdma & 1)) {
        /* of one port alone at the port, of several where they are told so */
        static const char words[] = "%s has PFC %s, but the rest of the configuration puts RDMA into priority %u";
        if (pauses_alone(check, p))
            check_find_own(check, CHECK_ERROR, p, "pfc", words, name, pfc_text(on, text), rdma);
        else
            check_find(check, CHECK_ERROR, node, p, "pfc", words, name, pfc_text(on, text), rdma);
        return;
    }
    if (map_is_odd(check, p, rdma)) {
        snprintf(path, sizeof(path), "dscp-map.%u", ROCE_DSCP);
        check_find(check, CHECK_ERROR, node, p, path,
                   "%s puts DSCP %u into class %u, but PFC is %s: no traffic of this port uses it", name, ROCE_DSCP,
                   led, pfc_text(on, text));
        return;
    }
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        if (is_beside(check, p, tc, rdma))
            check_find(
                check, CHECK_WARNING, node, p,
                switch_of(fabric, p)->nos == FABRIC_NOS_SONIC ? "pfc" : class_path(fabric, tc, "lossless", path),
                "%s has PFC for priority %u too, which has no marking, buffer, queue or share of its own: RDMA is in "
                "priority %u",
                name, tc, rdma);
}

static void pfc_of_configurations(struct check *check)
{
    const struct fabric *fabric = check->fabric;

    for (uint32_t n = fabric->hosts; n < fabric->nodes; n++) {
        const struct fabric_node *node = &fabric->node[n];
        uint8_t rdma = node_unknown(fabric, n) ? FABRIC_PRIOS : meant_priority(check, node);
        for (uint32_t p = node->first_port; rdma < FABRIC_PRIOS && p < node->first_port + node->ports; p++)
            if (port_used(check, p) && both_ways(settings_of(fabric, p))) judge_port(check, p, rdma);
    }
}

RULE_FUNCTION(pfc_of_rdma)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], text[32];

    if (check->imported) pfc_of_configurations(check);
    for (uint32_t p = 0; p < (check->imported ? fabric->endpoints : fabric->ports); p++) {
        const struct fabric_settings *settings = settings_of(fabric, p);
        uint8_t on = both_ways(settings), rdma = rdma_priority(fabric, settings);
        if (!on || rdma == FABRIC_PRIOS || on >> rdma & 1 || on & fed_classes(settings)) continue;
        if (!port_used(check, p) || node_unknown(fabric, fabric->port[p].node)) continue;
        if (settings->dscp_to_tc[ROCE_DSCP] != rdma) continue; /* the map is wrong: MAP001, HOST001 */
        check_find(check, CHECK_ERROR, fabric->port[p].node, p, "pfc",
                   "%s has PFC for priority %s, which has no traffic, but RDMA (DSCP %u) is in priority %u",
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
    char name[FABRIC_NAME], rx[48], tx[48];

    for (uint32_t p = 0; p < fabric->ports; p++) {
        const struct fabric_settings *settings = settings_of(fabric, p);
        if (settings->pfc_rx == settings->pfc_tx || !port_used(check, p)) continue;
        check_find(check, CHECK_WARNING, fabric->port[p].node, p, "pfc",
                   "%s has PFC one way only: receiving is %s, sending is %s", port_label(fabric, p, name),
                   pfc_text(settings->pfc_rx, rx), pfc_text(settings->pfc_tx, tx));
    }
}
