/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts: what adapters and NCCL are set to, against the classes and the switches.
 *
 * Rules about what a file may leave unsaid (NCCL, DCBX) speak only where the file describes hosts at all; a file that
 * is there to simulate is not asked for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bins.h"
#include "check/rule.h"
#include "fabric/switches.h"

#define DIALECTS 3 /* fabric_dcbx_names[] */

/* The data class: the first that is lossless and has a DSCP. */
static const struct fabric_class *data_class(const struct fabric *fabric)
{
    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (fabric->classes[c].lossless && fabric->classes[c].dscps) return &fabric->classes[c];
    return NULL;
}

#define EACH_ENDPOINT(fabric, e)                                                                                       \
    for (uint32_t e = 0; e < (fabric)->endpoints; e++)                                                                 \
        if (port_known(check, e))
/* The same for what an adapter has by itself, whatever it is cabled to. */
#define EACH_ADAPTER(fabric, e)                                                                                        \
    for (uint32_t e = 0; e < (fabric)->endpoints; e++)                                                                 \
        if (!node_unknown(fabric, (fabric)->endpoint[e].host))

static void adapter_map(struct check *check, uint32_t e, const struct fabric_class *as, unsigned dscp)
{
    const struct fabric_settings *settings = settings_of(check->fabric, e);
    uint8_t tc = settings->dscp_to_tc[dscp];
    char name[FABRIC_NAME], path[32];

    /* To another lossless class: PFC007. */
    if (tc == as->priority || (as->lossless && settings->lossless >> tc & 1)) return;
    /* Of configurations the number of a lossy class is the switch's own, as CNPs in the highest group of a Nexus. */
    if (check->imported && !as->lossless && !((settings->pfc_rx | settings->pfc_tx) >> tc & 1)) return;
    snprintf(path, sizeof(path), "dscp-map.%u", dscp);
    check_find(check, CHECK_ERROR, check->fabric->endpoint[e].host, e, path,
               "%s puts DSCP %u of '%s' into priority %u, not %u", port_label(check->fabric, e, name), dscp, as->name,
               tc, as->priority);
}

RULE_FUNCTION(host_qos)
{
    const struct fabric *fabric = check->fabric;
    uint8_t wanted = lossless_anywhere(fabric), usual = usual_trust(check);
    char name[FABRIC_NAME], other[FABRIC_NAME], a[48], b[48];

    EACH_ENDPOINT(fabric, e)
    {
        const struct fabric_settings *settings = settings_of(fabric, e);
        const struct fabric_settings *peer = settings_of(fabric, fabric->port[e].peer);
        uint8_t on = settings->pfc_rx | settings->pfc_tx, theirs = peer->pfc_rx | peer->pfc_tx;
        uint32_t host = fabric->endpoint[e].host;

        port_label(fabric, e, name);
        port_label(fabric, fabric->port[e].peer, other);
        if (settings->trust != peer->trust && settings->trust != usual) /* else MAP003 */
            check_find(check, CHECK_ERROR, host, e, "trust", "%s trusts %s, the switch at %s %s", name,
                       settings->trust == SW_TRUST_DSCP ? "DSCP" : "PCP", other,
                       peer->trust == SW_TRUST_DSCP ? "DSCP" : "PCP");
        if (on != theirs && theirs == wanted)
            check_find(check, CHECK_ERROR, host, e, "pfc", "%s has PFC %s, the switch at %s has it %s", name,
                       pfc_text(on, a), other, pfc_text(theirs, b));
        if (settings->trust != SW_TRUST_DSCP) continue;
        for (uint32_t c = 0; c < fabric->class_count; c++)
            for (unsigned d = 0; d < 64; d++)
                if (fabric->classes[c].dscps >> d & 1) adapter_map(check, e, &fabric->classes[c], d);
    }
}

static bool number(const char *text, unsigned long *ret)
{
    char *end;

    errno = 0;
    *ret = strtoul(text, &end, 0);
    return errno == 0 && end != text && *end == 0;
}

/* Of configurations: is this DSCP in a priority with PFC at the adapter, and at its switch where that is known?  Then
 * it is one of several that lead there. */
static bool is_protected(const struct check *check, uint32_t e, unsigned dscp)
{
    const struct fabric_settings *own = settings_of(check->fabric, e);

    if (!((own->pfc_rx | own->pfc_tx) >> own->dscp_to_tc[dscp] & 1)) return false;
    if (!port_known(check, e)) return true;
    const struct fabric_settings *peer = settings_of(check->fabric, check->fabric->port[e].peer);
    return peer->trust == SW_TRUST_DSCP && peer->lossless >> peer->dscp_to_tc[dscp] & 1;
}

/* An adapter alone is judged by what it says itself: by PFC and a map of DSCPs. */
static bool tc_matters(const struct check *check, uint32_t e)
{
    const struct fabric_settings *own = settings_of(check->fabric, e);

    return port_known(check, e) || (check->imported && own->trust == SW_TRUST_DSCP && (own->pfc_rx | own->pfc_tx));
}

static void tc_of(struct check *check, uint32_t e, const struct fabric_param *param, const struct fabric_class *as)
{
    unsigned long tc = 0;
    char path[64], name[FABRIC_NAME];
    bool good = number(param->value, &tc) && tc < 256;

    if (good && tc >> 2 == as->dscp) return;
    if (!tc_matters(check, e) || (good && check->imported && is_protected(check, e, (unsigned)tc >> 2))) return;
    snprintf(path, sizeof(path), "nccl.%.40s", param->name);
    check_find(check, port_known(check, e) ? CHECK_ERROR : CHECK_WARNING, check->fabric->endpoint[e].host, e, path,
               "%s: %s is %s (DSCP %lu); class '%s' has DSCP %u, which is %u, or %u with ECT(0)",
               port_label(check->fabric, e, name), param->name, param->value, good ? tc >> 2 : 0, as->name, as->dscp,
               as->dscp << 2, as->dscp << 2 | 2);
}

RULE_FUNCTION(host_nccl_tc)
{
    static const char *const names[] = {"NCCL_IB_TC", "NCCL_IB_FIFO_TC", "NCCL_GIN_IB_TC"};
    const struct fabric *fabric = check->fabric;
    const struct fabric_class *as = data_class(fabric);
    char name[FABRIC_NAME];

    if (!as || !hosts_described(fabric)) return;
    EACH_ADAPTER(fabric, e)
    {
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[e].nic];
        bool elsewhere = check->imported && !nic->nccls; /* jobs set NCCL's variables, where a text says none of them */
        if (port_known(check, e) && !elsewhere && !nccl_of(nic, names[0]))
            check_find(check, CHECK_ERROR, fabric->endpoint[e].host, e, "nccl.NCCL_IB_TC",
                       "%s: NCCL_IB_TC is not set: NCCL sends with DSCP 0, not %u", port_label(fabric, e, name),
                       as->dscp);
        for (int i = 0; i < 3; i++) {
            const struct fabric_param *param = nccl_of(nic, names[i]);
            if (param) tc_of(check, e, param, as);
        }
    }
}

RULE_FUNCTION(host_gid)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME];
    unsigned long value;

    EACH_ADAPTER(fabric, e)
    {
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[e].nic];
        const struct fabric_param *gid = nccl_of(nic, "NCCL_IB_GID_INDEX");
        const struct fabric_param *version = nccl_of(nic, "NCCL_IB_ROCE_VERSION_NUM");
        uint32_t host = fabric->endpoint[e].host;
        if (gid && strcmp(gid->value, "-1") != 0 && (!number(gid->value, &value) || value % 2 == 0))
            check_find(check, CHECK_WARNING, host, e, "nccl.NCCL_IB_GID_INDEX",
                       "%s: GID index %s is one of RoCEv1 where GIDs come in pairs", port_label(fabric, e, name),
                       gid->value);
        if (version && strcmp(version->value, "2") != 0)
            check_find(check, CHECK_WARNING, host, e, "nccl.NCCL_IB_ROCE_VERSION_NUM",
                       "%s: NCCL looks for GIDs of RoCE version %s, the fabric is of version 2",
                       port_label(fabric, e, name), version->value);
    }
}

/* Adapters that say DCQCN is on, and that they have something else. */
static void other_than_said(struct check *check)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME];

    EACH_ENDPOINT(fabric, e)
    {
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[e].nic];
        if (uses_dcqcn(nic) || (nic->dcqcn_rp != 1 && nic->dcqcn_np != 1)) continue;
        check_find(check, CHECK_ERROR, fabric->endpoint[e].host, e, "congestion",
                   "%s has congestion control '%s', and DCQCN's %s point is said to be on", port_label(fabric, e, name),
                   nic->congestion, nic->dcqcn_rp == 1 ? "reaction" : "notification");
    }
}

/* Adapters with another algorithm than most: one side would send CNPs that the other does not understand. */
static void same_algorithm(struct check *check)
{
    const struct fabric *fabric = check->fabric;
    uint32_t with = 0, without = 0;
    char name[FABRIC_NAME];

    EACH_ENDPOINT(fabric, e)
    {
        if (uses_dcqcn(&fabric->nic[fabric->endpoint[e].nic]))
            with++;
        else
            without++;
    }
    if (!with) other_than_said(check);
    if (!with || !without) return;
    EACH_ENDPOINT(fabric, e)
    {
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[e].nic];
        if (uses_dcqcn(nic) == (with >= without)) continue;
        check_find(check, CHECK_ERROR, fabric->endpoint[e].host, e, "congestion",
                   "%s has congestion control '%s', most adapters have %sDCQCN", port_label(fabric, e, name),
                   nic->congestion, with >= without ? "" : "another than ");
    }
}

RULE_FUNCTION(host_dcqcn)
{
    const struct fabric *fabric = check->fabric;
    uint32_t votes[2] = {0}, first = FABRIC_NONE;
    char name[FABRIC_NAME];

    EACH_ENDPOINT(fabric, e)
    {
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[e].nic];
        if (nic->dcqcn_rp == FABRIC_UNSAID && nic->dcqcn_np == FABRIC_UNSAID) continue;
        if (nic->dcqcn_rp <= 1) votes[nic->dcqcn_rp]++;
        if (nic->dcqcn_np <= 1) votes[nic->dcqcn_np]++;
        if (first == FABRIC_NONE) first = e;
    }
    same_algorithm(check);
    if (first == FABRIC_NONE) return;
    uint8_t usual = votes[1] >= votes[0];
    EACH_ENDPOINT(fabric, e)
    {
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[e].nic];
        bool rp = nic->dcqcn_rp == usual, np = nic->dcqcn_np == usual;
        if (rp && np) continue;
        if (!rp)
            check_find(check, CHECK_ERROR, fabric->endpoint[e].host, e, "dcqcn.rp",
                       "%s: DCQCN's reaction point is %s, the fabric's are %s: CNPs are %s",
                       port_label(fabric, e, name),
                       nic->dcqcn_rp == FABRIC_UNSAID ? "not stated"
                       : usual                        ? "off"
                                                      : "on",
                       usual ? "on" : "off", usual ? "ignored" : "waited for in vain");
        if (!np)
            check_find(check, CHECK_ERROR, fabric->endpoint[e].host, e, "dcqcn.np",
                       "%s: DCQCN's notification point is %s, the fabric's are %s: CNPs are %s",
                       port_label(fabric, e, name),
                       nic->dcqcn_np == FABRIC_UNSAID ? "not stated"
                       : usual                        ? "off"
                                                      : "on",
                       usual ? "on" : "off", usual ? "not sent" : "sent to nobody");
    }
}

/* Adapters that speak another DCBX than most of those that say which. */
static void other_dialects(struct check *check)
{
    const struct fabric *fabric = check->fabric;
    uint32_t votes[DIALECTS] = {0};
    uint8_t usual = 0;
    char name[FABRIC_NAME];

    EACH_ADAPTER(fabric, e)
    {
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[e].nic];
        if (nic->dcbx_mode < DIALECTS) votes[nic->dcbx_mode]++;
    }
    for (uint8_t mode = 1; mode < DIALECTS; mode++)
        if (votes[mode] > votes[usual]) usual = mode;
    EACH_ADAPTER(fabric, e)
    {
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[e].nic];
        if (nic->dcbx_mode == FABRIC_UNSAID || nic->dcbx_mode == usual) continue;
        check_find(check, CHECK_WARNING, fabric->endpoint[e].host, e, "dcbx.mode",
                   "%s has DCBX '%s', most adapters have '%s'", port_label(fabric, e, name),
                   fabric_dcbx_names[nic->dcbx_mode], fabric_dcbx_names[usual]);
    }
}

RULE_FUNCTION(host_willing)
{
    const struct fabric *fabric = check->fabric;
    bool described = hosts_described(fabric);
    char name[FABRIC_NAME];

    EACH_ADAPTER(fabric, e)
    {
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[e].nic];
        if (nic->dcbx_willing == 0 || (nic->dcbx_willing == FABRIC_UNSAID && !described)) continue;
        check_find(check, nic->dcbx_willing == FABRIC_UNSAID ? CHECK_INFO : CHECK_WARNING, fabric->endpoint[e].host, e,
                   "dcbx.willing",
                   nic->dcbx_willing == FABRIC_UNSAID
                       ? "%s: nothing says that DCBX is not willing, which is the default"
                       : "%s takes its PFC settings from whatever the peer announces",
                   port_label(fabric, e, name));
    }
    other_dialects(check);
}

/* Links of a switch towards hosts and towards switches above it. */
static void links_of(const struct check *check, uint32_t node, uint32_t *ret_down, uint32_t *ret_up)
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_node *as = &fabric->node[node];

    *ret_down = *ret_up = 0;
    for (uint32_t p = as->first_port; p < as->first_port + as->ports; p++) {
        if (!port_known(check, p)) continue;
        if (peer_is_switch(fabric, p))
            ++*ret_up;
        else
            ++*ret_down;
    }
}

/* Most that a job has of a connection; 0: nothing that a hash could spread badly.  An incast's flows all wait for the
 * receiver's link, whichever way they come. */
static uint32_t queue_pairs(const struct fabric *fabric)
{
    uint32_t most = 0;
    unsigned long value;

    for (uint32_t j = 0; j < fabric->jobs; j++)
        if (fabric->job[j].qps > most && fabric->job[j].kind != FABRIC_JOB_INCAST) most = fabric->job[j].qps;
    for (uint32_t n = 0; n < fabric->nics; n++) {
        const struct fabric_param *param = nccl_of(&fabric->nic[n], "NCCL_IB_QPS_PER_CONNECTION");
        if (param && number(param->value, &value) && value < 1024 && value > most) most = (uint32_t)value;
    }
    return most;
}

#define THROWN_ABOUT 4000000u /* balls in all trials: the second digit of two over two is right */
#define TRIALS_LEAST 64u
#define TRIALS_MOST 65536u

struct uneven {
    uint32_t balls, bins;
    uint32_t hundredths; /* the fullest of the bins over the mean, as expected */
    uint32_t *scratch;
};

/* Switches of a tier are alike: what the last one had is kept. */
static void expect_imbalance(struct check *check, uint32_t balls, uint32_t bins, struct uneven *ret)
{
    uint32_t trials = THROWN_ABOUT / (balls + bins);

    if (ret->balls == balls && ret->bins == bins) return;
    if (!ret->scratch || ret->bins < bins) ret->scratch = ARENA_NEW(&check->arena, uint32_t, bins);
    trials = trials < TRIALS_LEAST ? TRIALS_LEAST : trials > TRIALS_MOST ? TRIALS_MOST : trials;
    uint64_t most = bins_throw(balls, ret->scratch, bins, trials).most_sum, one = (uint64_t)balls * trials;
    ret->hundredths = (uint32_t)((most * bins * 100 + one / 2) / one);
    ret->balls = balls;
    ret->bins = bins;
}

RULE_FUNCTION(host_entropy)
{
    const struct fabric *fabric = check->fabric;
    uint32_t qps = queue_pairs(fabric);
    struct uneven uneven = {0};

    if (!qps) return;
    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_switch *sw = &fabric->sw[s];
        uint32_t down, up;
        links_of(check, fabric->hosts + s, &down, &up);
        if (!down || up < 2 || sw->balance.kind != SW_ECMP) continue;
        /* A hash that does not see queue pairs is TOP004's. */
        if (!(sw->hash_fields & (SW_HASH_SPORT | SW_HASH_QP)) || down * qps >= 2 * up) continue;
        expect_imbalance(check, down * qps, up, &uneven);
        check_find(
            check, CHECK_WARNING, fabric->hosts + s, FABRIC_NONE, "ecmp",
            "%s hashes %u flows (%u hosts' links, %u queue pairs each) over %u uplinks: the fullest is expected to "
            "have %u.%02u times the mean",
            fabric->node[fabric->hosts + s].name, down * qps, down, qps, up, uneven.hundredths / 100,
            uneven.hundredths % 100);
    }
}

/* Shorter gaps than a queue takes in which marking begins (125 KB at 100G) let a flowlet overtake the one before. */
#define OVERTAKEN_PS (10 * PS_US)

/* The switch chooses for some destination, and may send two packets of a flow by two ways. */
static bool changes_order(const struct fabric *fabric, uint32_t s)
{
    const struct fabric_balance *balance = &fabric->sw[s].balance;
    bool chooses = false;

    for (uint32_t g = 0; g < fabric->route[s].groups; g++)
        chooses = chooses || fabric->route[s].group[g].count > 1;
    if (balance->kind == SW_FLOWLET || (balance->kind == SW_ADAPTIVE && balance->by_flowlet))
        return chooses && balance->gap_ps < OVERTAKEN_PS;
    return chooses && (balance->kind == SW_ADAPTIVE || balance->kind == SW_SPRAY);
}

RULE_FUNCTION(host_reorder)
{
    static const char *const how[] = {[SW_FLOWLET] = "by flowlets with a short gap",
                                      [SW_ADAPTIVE] = "by adaptive routing",
                                      [SW_SPRAY] = "by spraying"};
    const struct fabric *fabric = check->fabric;
    uint32_t strict = FABRIC_NONE;
    char name[FABRIC_NAME];

    EACH_ADAPTER(fabric, e)
    {
        if (strict == FABRIC_NONE && !fabric->nic[fabric->endpoint[e].nic].reorder_packets) strict = e;
    }
    if (strict == FABRIC_NONE || check->imported) return; /* of configurations nobody knows */
    for (uint32_t s = 0; s < fabric->switches; s++)
        if (changes_order(fabric, s))
            check_find(check, CHECK_WARNING, fabric->hosts + s, FABRIC_NONE, "balance",
                       "%s sends packets of one flow by several ways (%s), and %s takes what comes out of order for "
                       "lost: write `reorder: true` under nics",
                       fabric->node[fabric->hosts + s].name, how[fabric->sw[s].balance.kind],
                       port_label(fabric, strict, name));
}

/* The frames that most ports of switches take; of as many, the larger. */
static uint32_t usual_mtu(struct check *check)
{
    const struct fabric *fabric = check->fabric;
    uint32_t *votes = ARENA_NEW(&check->arena, uint32_t, fabric->settings_count), usual = 0, most = 0;

    for (uint32_t p = fabric->endpoints; votes && p < fabric->ports; p++)
        votes[fabric->port[p].settings] += port_used(check, p);
    for (uint32_t s = 0; votes && s < fabric->settings_count; s++) {
        uint32_t mtu = fabric->settings[s].mtu_bytes, sum = 0;
        for (uint32_t other = 0; votes[s] && other < fabric->settings_count; other++)
            if (fabric->settings[other].mtu_bytes == mtu) sum += votes[other];
        if (sum > most || (sum == most && mtu > usual)) {
            most = sum;
            usual = mtu;
        }
    }
    return usual;
}

RULE_FUNCTION(mtu_ends)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], other[FABRIC_NAME];
    uint32_t usual = usual_mtu(check);

    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        uint32_t q = fabric->port[p].peer, mtu = settings_of(fabric, p)->mtu_bytes;
        if (!port_known(check, p)) continue;
        port_label(fabric, p, name);
        port_label(fabric, q, other);
        if (!is_switch_port(fabric, q)) {
            uint32_t payload = fabric->nic[fabric->endpoint[q].nic].mtu_bytes;
            uint32_t need = payload + packet_overhead_bytes(fabric);
            if (payload > ROCE_MTU_MAX)
                check_find(check, CHECK_WARNING, fabric->port[q].node, q, "mtu",
                           "%s has an mtu of %u; a RoCE packet carries %u B at most", other, payload, ROCE_MTU_MAX);
            if (mtu < need)
                check_find(check, CHECK_ERROR, fabric->port[p].node, p, "mtu",
                           "%s takes frames of %u B; packets of %s need %u", name, mtu, other, need);
            continue;
        }
        uint32_t theirs = settings_of(fabric, q)->mtu_bytes;
        if (q < p || mtu == theirs) continue;
        /* The end that most ports are not like; of two such, the one that drops. */
        bool both = mtu != usual && theirs != usual;
        uint32_t at = both ? (mtu < theirs ? p : q) : (mtu != usual ? p : q);
        check_find(check, CHECK_ERROR, fabric->port[at].node, at, "mtu", "%s takes frames of %u B, its peer %s of %u B",
                   at == p ? name : other, at == p ? mtu : theirs, at == p ? other : name, at == p ? theirs : mtu);
    }
}
