/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps and scheduling: a packet's class is the same on every hop, CNPs come through, shares add up.
 *
 * A map that differs is said once: MAP001 for lossless classes, MAP006 for the adapters' CNPs, MAP002 for all else;
 * adapters are HOST001's.
 */
#include <string.h>

#include "base/check.h"
#include "check/rule.h"
#include "fabric/switches.h"

#define SHARE_USUAL_PPM 400000
#define SHARE_SMALL_PPM 200000 /* with less than this, and a third of another class, RDMA is the one that waits */
#define ROCE_DSCP 26
#define CNP_DSCP_USUAL 48
#define CNP_DSCP_OTHER 56
#define CONTROL_DSCP 48 /* the first of CS6 */

/* Switch ports that carry traffic. */
#define EACH_PORT(fabric, p)                                                                                           \
    for (uint32_t p = (fabric)->endpoints; p < (fabric)->ports; p++)                                                   \
        if (port_used(check, p))

/* The traffic class that a class's packets get here. */
static uint8_t lands_in(const struct fabric_settings *settings, const struct fabric_class *as, unsigned dscp)
{
    return settings->trust == SW_TRUST_DSCP ? settings->dscp_to_tc[dscp] : settings->pcp_to_tc[as->priority];
}

static bool pauses_at(const struct fabric *fabric, uint32_t p)
{
    return settings_of(fabric, p)->pfc_rx || settings_of(fabric, p)->pfc_tx;
}

/* What most switch ports map it to; of configurations, those that carry RDMA, for the others have jobs of their own. */
static uint8_t usual_tc(const struct check *check, unsigned dscp)
{
    const struct fabric *fabric = check->fabric;
    uint32_t votes[FABRIC_PRIOS] = {0};
    uint8_t best = 0;

    EACH_PORT(fabric, p)
    {
        if (check->imported && !pauses_at(fabric, p)) continue;
        CHECK(settings_of(fabric, p)->dscp_to_tc[dscp] < FABRIC_PRIOS);
        votes[settings_of(fabric, p)->dscp_to_tc[dscp]]++;
    }
    for (uint8_t tc = 1; tc < FABRIC_PRIOS; tc++)
        if (votes[tc] > votes[best]) best = tc;
    return best;
}

/* A DSCP that is in the class here, and elsewhere not, in place of those that are its own; 64: none, or its own are
 * there too. */
static unsigned stand_in(const struct check *check, const struct fabric_settings *settings,
                         const struct fabric_class *as)
{
    unsigned other = 64;

    if (settings->trust != SW_TRUST_DSCP || !as->dscps) return 64;
    for (unsigned d = 64; d-- > 0;) {
        if (settings->dscp_to_tc[d] != as->priority) continue;
        if (as->dscps >> d & 1) return 64;
        other = d;
    }
    return other < 64 && usual_tc(check, other) != as->priority ? other : 64;
}

static void chain_of(struct check *check, uint32_t p, const struct fabric_class *as, unsigned dscp)
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_settings *settings = settings_of(fabric, p);
    uint8_t tc = lands_in(settings, as, dscp), queue = settings->tc_to_queue[tc];
    char name[FABRIC_NAME], path[32];

    CHECK(dscp < 64 && tc < FABRIC_PRIOS && queue < FABRIC_PRIOS && settings->tc_to_pg[tc] < FABRIC_PRIOS);
    port_label(fabric, p, name);
    snprintf(path, sizeof(path), settings->trust == SW_TRUST_DSCP ? "dscp-map.%u" : "pcp-map.%u",
             settings->trust == SW_TRUST_DSCP ? dscp : as->priority);
    if (tc != as->priority) {
        unsigned other = stand_in(check, settings, as);
        char instead[48 + FABRIC_NAME] = "";
        if (other < 64) {
            snprintf(path, sizeof(path), "dscp-map.%u", other);
            snprintf(instead, sizeof(instead), "; DSCP %u is mapped to '%s' instead", other, as->name);
        }
        if (!(settings->lossless >> tc & 1))
            check_find(check, CHECK_ERROR, fabric->port[p].node, p, path,
                       "%s puts DSCP %u of '%s' into traffic class %u ('%s'), which is lossy%s", name, dscp, as->name,
                       tc, class_name(fabric, tc), instead);
        return;
    }
    if (!(settings->lossless >> tc & 1)) {
        /* HR007; and a port may well be without RDMA where no definition says otherwise. */
        if ((settings->pfc_rx | settings->pfc_tx) >> tc & 1 || !as->lossless) return;
        if (node_unknown(fabric, fabric->port[fabric->port[p].peer].node)) return; /* nothing is known to be there */
        char key[96];
        check_find(check, CHECK_ERROR, fabric->port[p].node, p, class_path(fabric, tc, "lossless", key),
                   "'%s' is defined as lossless but is lossy on %s", as->name, name);
        return;
    }
    char entry[24];
    snprintf(entry, sizeof(entry), "group-map.%u", tc);
    if (!settings->pg[settings->tc_to_pg[tc]].lossless || settings->tc_to_pg[tc] != tc)
        check_find(check, CHECK_ERROR, fabric->port[p].node, p, entry,
                   "%s keeps '%s' in priority group %u, which sends pauses for another priority", name, as->name,
                   settings->tc_to_pg[tc]);
    for (unsigned other = 0; other < FABRIC_PRIOS; other++) {
        if (other == tc || settings->tc_to_queue[other] != queue) continue;
        snprintf(entry, sizeof(entry), "queue-map.%u", queue != tc ? tc : other); /* the one that was moved */
        check_find(check, CHECK_ERROR, fabric->port[p].node, p, entry,
                   "%s puts traffic class %u into queue %u, with '%s'", name, other, queue, as->name);
    }
}

RULE_FUNCTION(map_chain)
{
    const struct fabric *fabric = check->fabric;
    uint8_t wanted = lossless_anywhere(fabric);

    EACH_PORT(fabric, p)
    {
        const struct fabric_settings *settings = settings_of(fabric, p);
        /* Nothing says that RDMA comes by here. */
        if (!settings->pfc_rx && !settings->pfc_tx && node_unknown(fabric, fabric->port[fabric->port[p].peer].node))
            continue;
        for (uint32_t c = 0; c < fabric->class_count; c++) {
            const struct fabric_class *as = &fabric->classes[c];
            if (!(wanted >> as->priority & 1)) continue;
            if (settings->trust != SW_TRUST_DSCP) {
                chain_of(check, p, as, as->dscp);
                continue;
            }
            for (unsigned d = 0; d < 64; d++)
                if (as->dscps >> d & 1) chain_of(check, p, as, d);
        }
    }
}

/* DSCPs that other rules look at: of lossless classes, of CNPs, of network control in a lossless class. */
static uint64_t looked_after(const struct fabric *fabric)
{
    uint64_t dscps = 0;

    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (lossless_anywhere(fabric) >> fabric->classes[c].priority & 1) dscps |= fabric->classes[c].dscps;
    for (uint32_t n = 0; n < fabric->nics; n++) {
        if (fabric->nic[n].cnp_dscp != FABRIC_UNSAID)
            dscps |= UINT64_C(1) << fabric->nic[n].cnp_dscp;
        else if (fabric->nic[n].cnp_class != FABRIC_NONE)
            dscps |= UINT64_C(1) << fabric->classes[fabric->nic[n].cnp_class].dscp;
    }
    return dscps;
}

static bool is_stand_in(const struct check *check, const struct fabric_settings *settings, unsigned dscp)
{
    const struct fabric *fabric = check->fabric;

    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (lossless_anywhere(fabric) >> fabric->classes[c].priority & 1 &&
            settings->dscp_to_tc[dscp] == fabric->classes[c].priority &&
            stand_in(check, settings, &fabric->classes[c]) < 64)
            return true;
    return false;
}

/* Of configurations, which classes others have is their own matter: only what comes to RDMA, or leaves it, is asked,
 * and only of ports that carry it. */
static bool matters_to_rdma(const struct fabric *fabric, uint32_t p, uint8_t tc, uint8_t usual)
{
    const struct fabric_settings *settings = settings_of(fabric, p);

    if (!settings->pfc_rx && !settings->pfc_tx) return false;
    return settings->lossless >> tc & 1 || lossless_anywhere(fabric) >> usual & 1;
}

RULE_FUNCTION(map_content)
{
    const struct fabric *fabric = check->fabric;
    uint64_t skip = looked_after(fabric);
    char name[FABRIC_NAME], path[32];

    for (unsigned d = 0; d < 64; d++) {
        uint8_t usual = skip >> d & 1 ? 0 : usual_tc(check, d);
        if (skip >> d & 1) continue;
        EACH_PORT(fabric, p)
        {
            const struct fabric_settings *settings = settings_of(fabric, p);
            uint8_t tc = settings->dscp_to_tc[d];
            if (tc == usual || settings->trust != SW_TRUST_DSCP) continue;
            if (check->imported && !matters_to_rdma(fabric, p, tc, usual)) continue;
            if ((d == 0 || d == 48 || d == 56) && settings->lossless >> tc & 1) continue; /* PFC004 */
            if (is_stand_in(check, settings, d)) continue;                                /* MAP001 */
            snprintf(path, sizeof(path), "dscp-map.%u", d);
            check_find(check, CHECK_ERROR, fabric->port[p].node, p, path,
                       "%s puts DSCP %u into traffic class %u, most others into %u", port_label(fabric, p, name), d, tc,
                       usual);
        }
    }
}

/* A tag is looked for where there is none: all that follows from it is that. */
static bool routed_pcp(const struct fabric *fabric, uint32_t p)
{
    return settings_of(fabric, p)->trust == SW_TRUST_PCP && peer_is_switch(fabric, p) && !switch_of(fabric, p)->bridged;
}

RULE_FUNCTION(map_trust)
{
    const struct fabric *fabric = check->fabric;
    static const char *const words[] = {"DSCP", "PCP"};
    uint8_t usual = usual_trust(check);
    char name[FABRIC_NAME], other[FABRIC_NAME];

    if (!lossless_anywhere(fabric)) return; /* no class of RoCE that could end there */
    EACH_PORT(fabric, p)
    {
        const struct fabric_settings *settings = settings_of(fabric, p);
        uint32_t q = fabric->port[p].peer;
        if (routed_pcp(fabric, p)) {
            check_find(check, CHECK_ERROR, fabric->port[p].node, p, "trust",
                       "%s trusts PCP on a routed hop, where there is no tag", port_label(fabric, p, name));
            continue;
        }
        if (!peer_is_switch(fabric, p)) {
            if (port_known(check, p) && settings->trust != settings_of(fabric, q)->trust && settings->trust != usual)
                check_find(check, CHECK_ERROR, fabric->port[p].node, p, "trust",
                           "%s trusts %s, the adapter %s and most others %s", port_label(fabric, p, name),
                           words[settings->trust], port_label(fabric, q, other), words[usual]);
            continue;
        }
        if (q < p || settings->trust == settings_of(fabric, q)->trust) continue;
        bool first = settings->trust == SW_TRUST_PCP;
        uint32_t at = first ? p : q, far = first ? q : p;
        check_find(check, CHECK_ERROR, fabric->port[at].node, at, "trust", "%s trusts %s, its peer %s %s",
                   port_label(fabric, at, name), words[settings_of(fabric, at)->trust], port_label(fabric, far, other),
                   words[settings_of(fabric, far)->trust]);
    }
}

/* How CNPs come into the fabric. */
struct cnps {
    bool known;     /* adapters that send them are */
    uint32_t class; /* of adapters, FABRIC_NONE: none of their own */
    uint8_t dscp;
};

/* The traffic class of DSCP 0, by the first switch port; FABRIC_PRIOS: there is none. */
static uint8_t best_effort(const struct fabric *fabric)
{
    return fabric->ports > fabric->endpoints ? settings_of(fabric, fabric->endpoints)->dscp_to_tc[0] : FABRIC_PRIOS;
}

static struct cnps cnps_of_nic(const struct fabric *fabric, uint32_t n)
{
    const struct fabric_nic *nic = &fabric->nic[n];
    const struct fabric_class *as = nic->cnp_class == FABRIC_NONE ? NULL : &fabric->classes[nic->cnp_class];
    uint8_t dscp = as && as->dscps ? as->dscp : CNP_DSCP_USUAL;

    if (as && !as->dscps && as->priority == best_effort(fabric)) dscp = 0;
    return (struct cnps){true, nic->cnp_class, nic->cnp_dscp != FABRIC_UNSAID ? nic->cnp_dscp : dscp};
}

/* Of the adapters, of the first that uses DCQCN; where none is known, as adapters have it unless told. */
static struct cnps cnps_of(const struct check *check)
{
    const struct fabric *fabric = check->fabric;
    uint8_t told = check->cnp_dscp ? check->cnp_dscp : CNP_DSCP_USUAL;

    for (uint32_t n = 0; n < fabric->nics; n++)
        if (uses_dcqcn(&fabric->nic[n]) && fabric->nic[n].cnp_class != FABRIC_NONE && nic_known(fabric, n))
            return cnps_of_nic(fabric, n);
    return (struct cnps){false, fabric->nics ? fabric->nic[0].cnp_class : FABRIC_NONE, told};
}

/* The traffic class that CNPs get here.  Its number is the switch's own: a Nexus has them in its highest group,
 * whatever priority adapters would give them on a tagged link. */
static uint8_t cnp_lands_in(const struct fabric *fabric, uint32_t p, const struct cnps *cnps)
{
    const struct fabric_settings *settings = settings_of(fabric, p);

    if (settings->trust == SW_TRUST_DSCP) return settings->dscp_to_tc[cnps->dscp];
    return cnps->class == FABRIC_NONE ? settings->pcp_to_tc[0]
                                      : settings->pcp_to_tc[fabric->classes[cnps->class].priority];
}

static bool queue_is_shared(const struct fabric_settings *settings, uint8_t tc, uint8_t with)
{
    for (unsigned other = 0; other < FABRIC_PRIOS; other++)
        if (other != tc && with >> other & 1 && settings->tc_to_queue[other] == settings->tc_to_queue[tc]) return true;
    return false;
}

/* Into which only DSCPs of network control lead, 48 and up: protocols of the switches themselves, which are few. */
static bool is_control(const struct fabric_settings *settings, uint8_t tc)
{
    bool fed = false;

    for (unsigned d = 0; d < 64 && settings->trust == SW_TRUST_DSCP; d++) {
        if (settings->dscp_to_tc[d] != tc) continue;
        if (d < CONTROL_DSCP) return false;
        fed = true;
    }
    return fed;
}

/* Classes that anything but network control leads to. */
static uint8_t traffic_classes(const struct fabric_settings *settings)
{
    uint8_t bits = fed_classes(settings);

    for (uint8_t tc = 0; tc < FABRIC_PRIOS; tc++)
        if (is_control(settings, tc)) bits &= (uint8_t) ~(1u << tc);
    return bits;
}

static const char *cnp_wrong(const struct fabric_settings *settings, uint8_t tc)
{
    if (settings->lossless >> tc & 1) return "is lossless: CNPs can be paused";
    if (!settings->queue[settings->tc_to_queue[tc]].strict) return "is not strict: CNPs wait behind data";
    return queue_is_shared(settings, tc, traffic_classes(settings)) ? "shares its queue with another class" : NULL;
}

/* A traffic class that would be right for CNPs, into which they are not put; FABRIC_PRIOS: none, or they have one of
 * their own, and its turn is what is wrong. */
static uint8_t cnp_place(const struct check *check, const struct fabric_settings *settings, const struct cnps *cnps)
{
    const struct fabric *fabric = check->fabric;
    uint8_t own = settings->dscp_to_tc[cnps->dscp];

    if (check->imported && !cnps->known && is_control(settings, own) && !(settings->lossless >> own & 1) &&
        settings->dscp_to_tc[0] != own)
        return FABRIC_PRIOS;
    uint32_t best = cnps->class == FABRIC_NONE ? FABRIC_PRIOS : fabric->classes[cnps->class].priority;

    if (best < FABRIC_PRIOS && !cnp_wrong(settings, (uint8_t)best)) return (uint8_t)best;
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        uint8_t tc = fabric->classes[c].priority;
        if (!cnp_wrong(settings, tc)) return tc;
    }
    return FABRIC_PRIOS;
}

/* Without adapters, a port speaks of CNPs where it keeps their DSCP apart from best effort and has a lossless class. */
static bool has_cnps(const struct fabric_settings *settings, const struct cnps *cnps)
{
    if (cnps->known) return true;
    return settings->lossless && settings->trust == SW_TRUST_DSCP &&
           settings->dscp_to_tc[cnps->dscp] != settings->dscp_to_tc[0];
}

/* Without adapters it is not known with which DSCP they send CNPs: where the other one that is used for them has a
 * strict class of its own, they may be meant to be there. */
static bool has_other_cnps(const struct fabric_settings *settings, const struct cnps *cnps)
{
    uint8_t tc = settings->dscp_to_tc[CNP_DSCP_OTHER];

    return !cnps->known && cnps->dscp == CNP_DSCP_USUAL && is_control(settings, tc) && !cnp_wrong(settings, tc);
}

/* Nothing that comes in leads to what is without loss here: that is MAP001's, and where CNPs go follows from it. */
static bool unclassified(const struct fabric_settings *settings)
{
    return settings->lossless && !(fed_classes(settings) & settings->lossless);
}

RULE_FUNCTION(map_cnp_queue)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], path[96];
    struct cnps cnps = cnps_of(check);
    uint8_t lossless = lossless_anywhere(fabric);

    if (!fabric->switches) return; /* hosts alone, imported: they say what they send, and not what becomes of it */
    for (uint32_t n = 0; n < fabric->nics; n++) {
        if (!uses_dcqcn(&fabric->nic[n]) || fabric->nic[n].cnp_class != FABRIC_NONE || !nic_known(fabric, n)) continue;
        check_find(check, CHECK_ERROR, FABRIC_NONE, FABRIC_NONE, "nics.cnp-class",
                   "CNPs have no class of their own: they share the class of the data");
        return;
    }
    EACH_PORT(fabric, p)
    {
        const struct fabric_settings *settings = settings_of(fabric, p);
        uint8_t tc = cnp_lands_in(fabric, p, &cnps);
        bool asked = has_cnps(settings, &cnps) && !has_other_cnps(settings, &cnps);
        const char *wrong = asked ? cnp_wrong(settings, tc) : NULL;
        /* Where a right class is there, the map is wrong: MAP006; a lossless class in the queue is MAP001's, a tag that
         * is looked for on a routed hop MAP003's. */
        const char *key = turn_said(check, p, tc);
        if (!cnps.known && !key[0]) continue; /* nothing that was read speaks of its turn */
        if (!wrong || cnp_place(check, settings, &cnps) < FABRIC_PRIOS || queue_is_shared(settings, tc, lossless) ||
            routed_pcp(fabric, p) || (!cnps.known && unclassified(settings)))
            continue;
        check_find(check, cnps.known ? CHECK_ERROR : CHECK_WARNING, fabric->port[p].node, p,
                   class_path(fabric, tc, key, path), "%s: '%s', the class of CNPs (DSCP %u), %s",
                   port_label(fabric, p, name), class_name(fabric, tc), cnps.dscp, wrong);
    }
}

/* Adapters of which one does not send CNPs with the DSCP of their class. */
static void adapters_cnp_dscp(struct check *check)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME];

    for (uint32_t n = 0; n < fabric->nics; n++) {
        const struct fabric_nic *nic = &fabric->nic[n];
        if (!uses_dcqcn(nic) || nic->cnp_class == FABRIC_NONE || !nic_known(fabric, n)) continue;
        const struct fabric_class *as = &fabric->classes[nic->cnp_class];
        /* A class without DSCPs is that of everything else, or one whose number means nothing to the switches. */
        bool meant = as->dscps || as->priority == best_effort(fabric);
        if (nic->cnp_dscp == FABRIC_UNSAID || !meant || as->dscps >> nic->cnp_dscp & 1) continue;
        uint32_t e = 0;
        while (fabric->endpoint[e].nic != n)
            e++;
        /* what the adapter itself puts into the class is of the class */
        if (settings_of(fabric, e)->dscp_to_tc[nic->cnp_dscp] == as->priority) continue;
        check_find(check, CHECK_ERROR, fabric->endpoint[e].host, e, "cnp-dscp",
                   "%s sends CNPs with DSCP %u, class '%s' has DSCP %u", port_label(fabric, e, name), nic->cnp_dscp,
                   as->name, as->dscp);
    }
}

static void switches_cnp_dscp(struct check *check, const struct cnps *cnps)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], path[32];

    snprintf(path, sizeof(path), "dscp-map.%u", cnps->dscp);
    EACH_PORT(fabric, p)
    {
        const struct fabric_settings *settings = settings_of(fabric, p);
        uint8_t tc = settings->dscp_to_tc[cnps->dscp], place = cnp_place(check, settings, cnps);
        if (settings->trust != SW_TRUST_DSCP || place == FABRIC_PRIOS || !cnp_wrong(settings, tc)) continue;
        if (!has_cnps(settings, cnps)) continue; /* among best effort: an importer's note says so */
        if (has_other_cnps(settings, cnps)) continue;
        if (unclassified(settings) || (settings->lossless && __builtin_popcount(fed_classes(settings)) == 1)) continue;
        check_find(check, cnps->known ? CHECK_ERROR : CHECK_WARNING, fabric->port[p].node, p, path,
                   "%s puts DSCP %u of CNPs into traffic class %u ('%s'), not into the strict one, %u",
                   port_label(fabric, p, name), cnps->dscp, tc, class_name(fabric, tc), place);
    }
}

RULE_FUNCTION(map_cnp_dscp)
{
    const struct fabric *fabric = check->fabric;
    struct cnps cnps = cnps_of(check);
    uint64_t done = 0;

    adapters_cnp_dscp(check);
    if (!cnps.known) switches_cnp_dscp(check, &cnps);
    for (uint32_t n = 0; n < fabric->nics; n++) {
        if (!uses_dcqcn(&fabric->nic[n]) || fabric->nic[n].cnp_class == FABRIC_NONE || !nic_known(fabric, n)) continue;
        cnps = cnps_of_nic(fabric, n);
        uint64_t of_class = fabric->classes[cnps.class].dscps;
        if (done >> cnps.dscp & 1 || (of_class && !(of_class >> cnps.dscp & 1))) continue; /* the adapter's mistake */
        done |= UINT64_C(1) << cnps.dscp;
        switches_cnp_dscp(check, &cnps);
    }
}

/* Strict queues are served from the highest down: one below a strict lossless queue takes nothing from it.  A port
 * without a lossless class has none to starve. */
static bool served_after(const struct fabric_settings *settings, uint8_t tc)
{
    for (uint8_t other = 0; other < FABRIC_PRIOS; other++) {
        uint8_t queue = settings->tc_to_queue[other];
        if (!(settings->lossless >> other & 1)) continue;
        if (!settings->queue[queue].strict || queue <= settings->tc_to_queue[tc]) return false;
    }
    return true;
}

/* Is this the class that CNPs belong in, and the map leads another DSCP to it?  One of the upper half, in which what is
 * urgent is sent by custom. */
static bool instead_of_cnps(const struct check *check, const struct fabric_settings *settings, const struct cnps *cnps,
                            uint8_t tc)
{
    uint8_t own = settings->dscp_to_tc[cnps->dscp], usual = settings->dscp_to_tc[0];
    unsigned fed = 0, by = 0;

    for (unsigned d = 0; d < 64; d++)
        if (settings->dscp_to_tc[d] == tc) fed++, by = d;
    if (!check->imported || settings->trust != SW_TRUST_DSCP || tc == usual || fed != 1 || by < 32) return false;
    return (cnps->known || own == usual) && cnp_wrong(settings, own) && cnp_place(check, settings, cnps) == tc;
}

RULE_FUNCTION(map_strict)
{
    const struct fabric *fabric = check->fabric;
    struct cnps cnps = cnps_of(check);
    char name[FABRIC_NAME], path[96];

    EACH_PORT(fabric, p)
    {
        const struct fabric_settings *settings = settings_of(fabric, p);
        for (uint32_t c = 0; c < fabric->class_count; c++) {
            uint8_t tc = fabric->classes[c].priority;
            if (settings->lossless >> tc & 1 || !settings->queue[settings->tc_to_queue[tc]].strict) continue;
            if (!(fed_classes(settings) >> tc & 1)) continue; /* nothing is in it */
            uint8_t cnp = cnp_lands_in(fabric, p, &cnps);
            if (settings->tc_to_queue[tc] == settings->tc_to_queue[cnp] || is_control(settings, tc)) continue;
            if (cnps.class == c || routed_pcp(fabric, p)) continue;    /* MAP005, MAP006, MAP003 */
            if (instead_of_cnps(check, settings, &cnps, tc)) continue; /* MAP006 */
            if (served_after(settings, tc)) continue;
            /* RDMA is in it by custom: the map is wrong, and told. */
            if (check->imported && settings->trust == SW_TRUST_DSCP && settings->dscp_to_tc[ROCE_DSCP] == tc) continue;
            /* Queues that nobody set are strict there. */
            bool usual =
                switch_of(fabric, p)->nos == FABRIC_NOS_EOS && check->imported && tc != settings->dscp_to_tc[0];
            check_find(check, usual ? CHECK_INFO : CHECK_WARNING, fabric->port[p].node, p,
                       class_path(fabric, tc, "strict", path), "%s serves '%s' before RDMA, without a limit",
                       port_label(fabric, p, name), fabric->classes[c].name);
        }
    }
}

/* A lossless class that is strict is served before all that share: others get what it leaves. */
RULE_FUNCTION(sch_strict)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], path[96];

    EACH_PORT(fabric, p)
    {
        const struct fabric_settings *settings = settings_of(fabric, p);
        uint8_t other = settings->trust == SW_TRUST_DSCP ? settings->dscp_to_tc[0] : 0;
        uint8_t best_effort = settings->tc_to_queue[other];
        /* Queues that nobody set are served as the system likes. */
        if (check->imported && !turn_said(check, p, other)[0]) continue;
        for (uint32_t c = 0; c < fabric->class_count; c++) {
            uint8_t tc = fabric->classes[c].priority, queue = settings->tc_to_queue[tc];
            if (!(settings->lossless >> tc & 1) || !settings->queue[queue].strict) continue;
            if (settings->queue[best_effort].strict || queue == best_effort) continue;
            if (check->imported && !turn_is_said(check, p, tc, "strict")) continue;
            check_find(check, CHECK_WARNING, fabric->port[p].node, p, class_path(fabric, tc, "strict", path),
                       "%s serves the lossless class '%s' before all others, without a limit: they get what it leaves",
                       port_label(fabric, p, name), fabric->classes[c].name);
        }
    }
}

/* Shares that the file gives, of the layer that holds for this port; classes without one divide the rest. */
RULE_FUNCTION(sch_shares)
{
    const struct fabric *fabric = check->fabric;
    /* Switches alone, imported, have agreed to nothing. */
    bool agreed = fabric->operations.share_ppm || nic_known(fabric, fabric->endpoint[0].nic);
    uint32_t least = fabric->operations.share_ppm ? fabric->operations.share_ppm : SHARE_USUAL_PPM;
    char name[FABRIC_NAME], a[UNIT_TEXT], b[UNIT_TEXT], path[96];

    EACH_PORT(fabric, p)
    {
        const struct fabric_settings *settings = settings_of(fabric, p);
        uint64_t sum = 0, lossless = 0, most = 0;
        unsigned first = 0, counted = 0;
        for (uint32_t c = fabric->class_count; c-- > 0;) {
            uint8_t tc = fabric->classes[c].priority, at = settings->tc_to_queue[tc];
            if (settings->queue[at].strict || counted >> at & 1) continue;
            counted |= 1u << at;
            sum += settings->queue[at].share_ppm;
            if (!(settings->lossless >> tc & 1) && settings->queue[at].share_ppm > most)
                most = settings->queue[at].share_ppm;
            if (!(settings->lossless >> tc & 1)) continue;
            lossless += settings->queue[at].share_ppm;
            first = tc;
        }
        if (!sum || !lossless_anywhere(fabric)) continue;
        /* A lossless class that is strict has all it wants. */
        bool strict = lossless == 0;
        /* More than all is what the loader adds for classes without a share. */
        bool rest = switch_of(fabric, p)->nos == FABRIC_NOS_JUNOS; /* it is shared by the rates */
        if (check->imported && !agreed && !strict && lossless < SHARE_SMALL_PPM && lossless * 3 <= most &&
            turn_is_said(check, p, (uint8_t)first, "share"))
            check_find(check, CHECK_WARNING, fabric->port[p].node, p, class_path(fabric, first, "share", path),
                       "%s: lossless classes have %s of the line, another class %s", port_label(fabric, p, name),
                       unit_format(UNIT_SHARE, lossless, a), unit_format(UNIT_SHARE, most, b));
        else if (sum < 999990)
            check_find(check, rest ? CHECK_INFO : CHECK_WARNING, fabric->port[p].node, p,
                       class_path(fabric, first, "share", path), "%s: the shares add up to %s",
                       port_label(fabric, p, name), unit_format(UNIT_SHARE, sum, a));
        else if (!strict && lossless < least && agreed)
            check_find(check, CHECK_WARNING, fabric->port[p].node, p, class_path(fabric, first, "share", path),
                       "%s: lossless classes have %s of the line, %s was agreed", port_label(fabric, p, name),
                       unit_format(UNIT_SHARE, lossless, a), unit_format(UNIT_SHARE, least, b));
    }
}
